package logfile

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/hudifs/hudifs/internal/avrocodec"
	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/hfile"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// Versions of the content of an Avro block (data.md §3.5). All that are read have the same framing.
const (
	avroVersion    = 3
	minAvroVersion = 1
)

// Schema parses the SCHEMA header.
func (b *Block) Schema() (*schema.Schema, error) {
	text := b.Header[SchemaText]
	if text == "" {
		return nil, corrupt.At(b.name, b.Offset, "%s block without the header SCHEMA", b.Type)
	}
	s, err := schema.Parse(text)
	if err != nil {
		return nil, corrupt.At(b.name, b.Offset, "header SCHEMA: %w", err)
	}
	return s, nil
}

// Plan says how rows of one writer's schema are read under another. It is compiled once for all blocks of that schema. Not safe for concurrent
// use.
type Plan struct {
	To  *schema.Schema
	dec *avrocodec.Decoder
	key int // leaf of To that HFile blocks keep in their keys, -1: none
}

// NewPlan compiles a plan. keyField is the column that HFile blocks blank because it is their key, "" where there are none.
func NewPlan(from, to *schema.Schema, keyField string) (*Plan, error) {
	dec, err := avrocodec.NewDecoder(from, to)
	if err != nil {
		return nil, err
	}
	p := &Plan{To: to, dec: dec, key: -1}
	if keyField != "" {
		p.key = to.LeafOf(keyField)
	}
	return p, nil
}

// RowReader yields the rows of one data block.
type RowReader struct {
	next  func(dst record.Row) (record.Row, error)
	close func() error
}

// Next appends the next row to dst; its bytes are valid until the next call. io.EOF ends the block.
func (r *RowReader) Next(dst record.Row) (record.Row, error) { return r.next(dst) }

// Close releases the reader.
func (r *RowReader) Close() error {
	if r.close == nil {
		return nil
	}
	return r.close()
}

// Rows reads the rows of a data or CDC block. Memory is bounded by the largest record (Avro), a few pages (Parquet) or a block of the HFile.
func (b *Block) Rows(ctx context.Context, p *Plan) (*RowReader, error) {
	switch b.Type {
	case AvroBlock, CDCBlock:
		return b.avroRows(ctx, p)
	case ParquetBlock:
		return b.parquetRows(ctx, p)
	case HFileBlock:
		return b.hfileRows(ctx, p)
	}
	return nil, fmt.Errorf("block at byte %d of %s is a %s block, which has no rows", b.Offset, b.name, b.Type)
}

// avroRows reads: version, count, then for each record its length and bytes.
func (b *Block) avroRows(ctx context.Context, p *Plan) (*RowReader, error) {
	in := newInput(b)
	version, count := in.int32(), int64(in.int32())
	if in.err == nil && (version < minAvroVersion || version > avroVersion) {
		in.err = fmt.Errorf("log file %s: avro block at byte %d has version %d, versions %d to %d can be read", b.name, b.Offset, version, minAvroVersion, avroVersion)
	}
	if in.err == nil && (count < 0 || count*4 > in.left) {
		in.fail("%d records in %d bytes", count, in.left)
	}
	if in.err != nil {
		return nil, in.err
	}
	done := int64(0)
	return &RowReader{next: func(dst record.Row) (record.Row, error) {
		if done == count {
			if in.err == nil && in.left > 0 {
				in.fail("%d bytes after the last record", in.left)
			}
			if in.err != nil {
				return nil, in.err
			}
			return nil, io.EOF
		}
		if done&0xfff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		rec := in.fixed(int(in.int32()))
		if in.err != nil {
			return nil, in.err
		}
		row, err := p.dec.Decode(rec, dst)
		if err != nil {
			in.fail("record %d: %w", done, err)
			return nil, in.err
		}
		done++
		return row, nil
	}}, nil
}

func (b *Block) parquetRows(ctx context.Context, p *Plan) (*RowReader, error) {
	f, err := parquetfile.Open(b.Section(), b.ContentSize, fmt.Sprintf("%s (block at byte %d)", b.name, b.Offset))
	if err != nil {
		return nil, err
	}
	rows, err := f.Rows(ctx, p.To)
	if err != nil {
		return nil, err
	}
	var batch [64]record.Row
	var have []record.Row
	return &RowReader{close: rows.Close, next: func(dst record.Row) (record.Row, error) {
		for len(have) == 0 {
			n, err := rows.Read(batch[:])
			if n == 0 && err != nil {
				return nil, err
			}
			have = batch[:n]
		}
		row := append(dst, have[0]...)
		have = have[1:]
		return row, nil
	}}, nil
}

// HFile opens the content of an HFile block.
func (b *Block) HFile() (*hfile.Reader, error) {
	if b.Type != HFileBlock {
		return nil, fmt.Errorf("block at byte %d of %s is a %s block, not an HFile", b.Offset, b.name, b.Type)
	}
	return hfile.Open(b.Section(), b.ContentSize, fmt.Sprintf("%s (block at byte %d)", b.name, b.Offset))
}

func (b *Block) hfileRows(ctx context.Context, p *Plan) (*RowReader, error) {
	f, err := b.HFile()
	if err != nil {
		return nil, err
	}
	pull, stop := iter.Pull2(f.Scan(nil))
	return &RowReader{close: func() error { stop(); return nil }, next: func(dst record.Row) (record.Row, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e, err, ok := pull()
		if !ok {
			return nil, io.EOF
		}
		if err != nil {
			return nil, err
		}
		start := len(dst)
		row, err := p.dec.Decode(e.Value, dst)
		if err != nil {
			return nil, corrupt.At(b.name, b.ContentOffset, "record of key %q: %w", e.Key, err)
		}
		if p.key >= 0 {
			l := &p.To.Leaves()[p.key]
			if i := record.Find(row[start:], p.key); i >= 0 {
				row[start+i] = record.Bytes(e.Key).Level(0, l.MaxDef, p.key)
			}
		}
		return row, nil
	}}, nil
}

// AvroContent builds the content of an Avro or CDC block.
type AvroContent struct {
	buf   []byte
	count int32
}

// Append adds a row of the encoder's schema.
func (c *AvroContent) Append(e *avrocodec.Encoder, row record.Row) error {
	if len(c.buf) == 0 {
		c.buf = binary.BigEndian.AppendUint32(c.buf, avroVersion)
		c.buf = binary.BigEndian.AppendUint32(c.buf, 0)
	}
	start := len(c.buf)
	buf, err := e.EncodeRow(binary.BigEndian.AppendUint32(c.buf, 0), row)
	if err != nil {
		return err
	}
	if n := len(buf) - start - 4; n > math.MaxInt32 || c.count == math.MaxInt32 {
		return fmt.Errorf("a record of %d bytes does not fit a log block", n)
	}
	binary.BigEndian.PutUint32(buf[start:], uint32(len(buf)-start-4))
	c.buf = buf
	c.count++
	return nil
}

// Len is the number of records.
func (c *AvroContent) Len() int { return int(c.count) }

// Size is the number of bytes of the content so far.
func (c *AvroContent) Size() int { return len(c.buf) }

// Bytes returns the content, valid until the next Append or Reset.
func (c *AvroContent) Bytes() []byte {
	if len(c.buf) == 0 {
		return []byte{0, 0, 0, avroVersion, 0, 0, 0, 0}
	}
	binary.BigEndian.PutUint32(c.buf[4:], uint32(c.count))
	return c.buf
}

// Reset empties the content and keeps its memory.
func (c *AvroContent) Reset() { c.buf, c.count = c.buf[:0], 0 }
