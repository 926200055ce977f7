package merge

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"os"

	"github.com/hudifs/hudifs/internal/record"
)

// numPartitions is into how many parts spilled keys fall. One part must fit into memory: at a share of 64 MiB that is good for fifty million keys.
const numPartitions = 128

// extentSize is how much of one partition is written at a time, in bytes.
const extentSize = 16 << 10

// partitions are spilled entries, by hash of the key, each in order of arrival. They lie in extents of one file that has no name.
type partitions struct {
	seed  maphash.Seed
	file  *os.File
	size  int64
	parts [numPartitions]partition
	buf   []byte
}

type partition struct {
	extents []int64 // offsets of full extents in the file
	tail    []byte  // the extent that is being filled
}

func newPartitions(dir string) (*partitions, error) {
	f, err := tempFile(dir)
	if err != nil {
		return nil, err
	}
	return &partitions{seed: maphash.MakeSeed(), file: f}, nil
}

// tempFile makes a file that vanishes with its descriptor.
func tempFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "merge-*")
	if err != nil {
		return nil, fmt.Errorf("spill log records: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, fmt.Errorf("spill log records: %w", err)
	}
	return f, nil
}

func (p *partitions) count() int { return len(p.parts) }

func (p *partitions) bytes() int64 { return p.size }

func (p *partitions) close() error { return p.file.Close() }

// joined is errors.Join that leaves a single error as it is.
func joined(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return errors.Join(a, b)
}

// put appends an entry to its partition.
func (p *partitions) put(key string, e *entry) error {
	b := append(p.buf[:0], 0, 0, 0, 0)
	b = binary.AppendUvarint(b, uint64(len(key)))
	b = append(b, key...)
	b = binary.AppendUvarint(b, uint64(e.seq))
	b = binary.AppendVarint(b, e.row)
	b = binary.AppendVarint(b, e.pos)
	b = append(b, byte(e.op))
	b = binary.AppendUvarint(b, uint64(e.partial))
	b = appendOrdering(b, e.ord)
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	p.buf = b
	part := &p.parts[maphash.String(p.seed, key)%numPartitions]
	for len(b) > 0 {
		if part.tail == nil {
			part.tail = make([]byte, 0, extentSize)
		}
		n := min(len(b), extentSize-len(part.tail))
		part.tail, b = append(part.tail, b[:n]...), b[n:]
		if len(part.tail) < extentSize {
			continue
		}
		if _, err := p.file.WriteAt(part.tail, p.size); err != nil {
			return fmt.Errorf("spill log records: %w", err)
		}
		part.extents = append(part.extents, p.size)
		p.size += extentSize
		part.tail = part.tail[:0]
	}
	return nil
}

// reader yields the bytes of partition i.
func (p *partitions) reader(i int) io.Reader {
	part := &p.parts[i]
	rs := make([]io.Reader, 0, len(part.extents)+1)
	for _, off := range part.extents {
		rs = append(rs, io.NewSectionReader(p.file, off, extentSize))
	}
	return io.MultiReader(append(rs, bytes.NewReader(part.tail))...)
}

// read calls fn with the entries of partition i in order of arrival. The key is valid during the call.
func (p *partitions) read(i int, fn func(key []byte, e *entry) error) error {
	in := bufio.NewReaderSize(p.reader(i), extentSize)
	var head [4]byte
	var buf []byte
	for {
		if _, err := io.ReadFull(in, head[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("read spilled log records: %w", err)
		}
		n := int(binary.LittleEndian.Uint32(head[:]))
		if n > cap(buf) {
			buf = make([]byte, n+n/2)
		}
		if _, err := io.ReadFull(in, buf[:n]); err != nil {
			return fmt.Errorf("read spilled log records: %w", err)
		}
		key, e, err := parseEntry(buf[:n])
		if err != nil {
			return err
		}
		if err := fn(key, &e); err != nil {
			return err
		}
	}
}

var errSpilled = errors.New("a spilled log record is damaged")

// parseEntry is the inverse of put.
func parseEntry(b []byte) (key []byte, e entry, err error) {
	d := spillDecoder{b: b}
	key = d.bytes()
	e.seq = int64(d.uvarint())
	e.row, e.pos = d.varint(), d.varint()
	e.op = record.Op(d.byte())
	e.partial = int32(d.uvarint())
	e.ord = d.ordering()
	if d.bad || len(d.b) > 0 {
		return nil, e, errSpilled
	}
	return key, e, nil
}

// spillDecoder reads what put wrote.
type spillDecoder struct {
	b   []byte
	bad bool
}

func (d *spillDecoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.b) {
		d.bad = true
		return make([]byte, min(max(n, 0), 8))
	}
	p := d.b[:n:n]
	d.b = d.b[n:]
	return p
}

func (d *spillDecoder) byte() byte { return d.take(1)[0] }

func (d *spillDecoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.take(max(n, 0))
	d.bad = d.bad || n <= 0
	return v
}

func (d *spillDecoder) varint() int64 {
	v, n := binary.Varint(d.b)
	d.take(max(n, 0))
	d.bad = d.bad || n <= 0
	return v
}

func (d *spillDecoder) bytes() []byte {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.bad = true
		return nil
	}
	return d.take(int(n))
}

// The tags of ordering values.
const (
	tagFalse byte = iota
	tagTrue
	tagInt
	tagLong
	tagFloat
	tagDouble
	tagString
	tagBytes
	tagDecimal
)

// appendOrdering writes an ordering value: how many parts, then each with a tag.
func appendOrdering(b []byte, o record.Ordering) []byte {
	vals := o.Values()
	b = binary.AppendUvarint(b, uint64(len(vals)))
	for _, v := range vals {
		switch v := v.(type) {
		case bool:
			if v {
				b = append(b, tagTrue)
			} else {
				b = append(b, tagFalse)
			}
		case int32:
			b = binary.AppendVarint(append(b, tagInt), int64(v))
		case int64:
			b = binary.AppendVarint(append(b, tagLong), v)
		case float32:
			b = binary.LittleEndian.AppendUint32(append(b, tagFloat), math.Float32bits(v))
		case float64:
			b = binary.LittleEndian.AppendUint64(append(b, tagDouble), math.Float64bits(v))
		case string:
			b = binary.AppendUvarint(append(b, tagString), uint64(len(v)))
			b = append(b, v...)
		case []byte:
			b = binary.AppendUvarint(append(b, tagBytes), uint64(len(v)))
			b = append(b, v...)
		case *record.Decimal:
			p := v.Bytes()
			b = binary.AppendVarint(append(b, tagDecimal), int64(v.Scale))
			b = binary.AppendUvarint(b, uint64(len(p)))
			b = append(b, p...)
		}
	}
	return b
}

// ordering is the inverse of appendOrdering.
func (d *spillDecoder) ordering() record.Ordering {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.bad = true
		return record.Ordering{}
	}
	vals := make([]any, 0, n)
	for range n {
		switch d.byte() {
		case tagFalse:
			vals = append(vals, false)
		case tagTrue:
			vals = append(vals, true)
		case tagInt:
			vals = append(vals, int32(d.varint()))
		case tagLong:
			vals = append(vals, d.varint())
		case tagFloat:
			vals = append(vals, math.Float32frombits(binary.LittleEndian.Uint32(d.take(4))))
		case tagDouble:
			vals = append(vals, math.Float64frombits(binary.LittleEndian.Uint64(d.take(8))))
		case tagString:
			vals = append(vals, string(d.bytes()))
		case tagBytes:
			vals = append(vals, append([]byte{}, d.bytes()...))
		case tagDecimal:
			scale := int(d.varint())
			vals = append(vals, record.DecimalOf(d.bytes(), scale))
		default:
			d.bad = true
		}
	}
	o, err := record.OrderingOf(vals...)
	d.bad = d.bad || err != nil
	return o
}
