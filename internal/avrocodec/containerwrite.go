package avrocodec

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// ContainerOptions are the settings of a container file. The zero value is what Hudi writes: no codec, one schema entry in the header.
type ContainerOptions struct {
	Codec      string            // null, deflate, snappy, zstandard; "": none, and no header entry
	Meta       map[string]string // more header entries
	Sync       [syncSize]byte    // zero: random
	BlockBytes int               // uncompressed bytes after which a block is written; 0: 64000, as Java
}

// ContainerWriter writes a container file. Not safe for concurrent use.
type ContainerWriter struct {
	w     io.Writer
	enc   *Encoder
	codec codec
	sync  [syncSize]byte
	limit int
	block []byte
	count int64
	out   []byte
	err   error // first failure; later calls return it
}

// NewContainerWriter writes the header. The caller closes w after Close.
func NewContainerWriter(w io.Writer, s *schema.Schema, o ContainerOptions) (*ContainerWriter, error) {
	cod, err := codecOf(o.Codec)
	if err != nil {
		return nil, err
	}
	if cod.compress == nil {
		return nil, fmt.Errorf("codec %q can be read but not written", o.Codec)
	}
	c := &ContainerWriter{w: w, enc: NewEncoder(s), codec: cod, sync: o.Sync, limit: o.BlockBytes}
	if c.limit <= 0 {
		c.limit = 64000
	}
	if c.sync == ([syncSize]byte{}) {
		if _, err := rand.Read(c.sync[:]); err != nil {
			return nil, fmt.Errorf("make a sync marker: %w", err)
		}
	}
	meta := maps.Clone(o.Meta)
	if meta == nil {
		meta = map[string]string{}
	}
	meta["avro.schema"] = s.String()
	if o.Codec != "" {
		meta["avro.codec"] = o.Codec
	}
	head := append([]byte(Magic), appendLong(nil, int64(len(meta)))...)
	for _, k := range slices.Sorted(maps.Keys(meta)) { // Java keeps them in a sorted map
		head = appendBytes(appendBytes(head, []byte(k)), []byte(meta[k]))
	}
	head = append(append(head, 0), c.sync[:]...)
	if _, err := w.Write(head); err != nil {
		return nil, fmt.Errorf("write container header: %w", err)
	}
	return c, nil
}

// WriteRow appends a row of the schema. A row that does not fit is an error and leaves the file as it was.
func (c *ContainerWriter) WriteRow(row record.Row) error {
	if c.err != nil {
		return c.err
	}
	block, err := c.enc.EncodeRow(c.block, row)
	if err != nil {
		return err
	}
	return c.add(block)
}

func (c *ContainerWriter) add(block []byte) error {
	c.block = block
	c.count++
	if len(c.block) >= c.limit {
		return c.flush()
	}
	return nil
}

// flush writes the block in hand.
func (c *ContainerWriter) flush() error {
	if c.count == 0 {
		return nil
	}
	data, err := c.codec.compress(nil, c.block)
	if err == nil {
		c.out = appendLong(appendLong(c.out[:0], c.count), int64(len(data)))
		c.out = append(append(c.out, data...), c.sync[:]...)
		_, err = c.w.Write(c.out)
	}
	if err != nil {
		c.err = fmt.Errorf("write container block: %w", err)
	}
	c.block, c.count = c.block[:0], 0
	return c.err
}

// Close writes the last block.
func (c *ContainerWriter) Close() error {
	if c.err != nil {
		return c.err
	}
	err := c.flush()
	if c.err == nil {
		c.err = errors.New("the container file is closed")
	}
	return err
}

// WriteContainer returns a container file of records given as Go values, all in one block, as Java writes Hudi's metadata.
func WriteContainer(s *schema.Schema, o ContainerOptions, records ...[]any) ([]byte, error) {
	var b bytes.Buffer
	o.BlockBytes = maxBlockBytes
	c, err := NewContainerWriter(&b, s, o)
	if err != nil {
		return nil, err
	}
	enc := NewValueEncoder(s)
	for _, r := range records {
		block, err := enc.EncodeValue(c.block, r)
		if err != nil {
			return nil, err
		}
		if err := c.add(block); err != nil {
			return nil, err
		}
	}
	if err := c.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
