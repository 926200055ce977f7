package avrocodec

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// Magic starts every Avro container file.
const Magic = "Obj\x01"

const (
	syncSize      = 16
	maxHeader     = 32 << 20  // bytes of one header entry
	maxEntries    = 1 << 12   // header entries
	maxBlockBytes = 512 << 20 // of one block, compressed or not
	maxEmpty      = 1 << 20   // records without bytes in one block
)

// IsContainer reports whether data starts like a container file.
func IsContainer(data []byte) bool { return bytes.HasPrefix(data, []byte(Magic)) }

// ContainerReader reads a container file block by block. Damage is a corrupt.Error with the file's name. Not safe for concurrent use.
type ContainerReader struct {
	name   string
	r      *bufio.Reader
	off    int64
	schema *schema.Schema
	meta   map[string][]byte
	codec  codec
	sync   [syncSize]byte
	raw    bytes.Buffer
	plain  []byte
}

// NewContainerReader reads the header from r; name is for messages.
func NewContainerReader(r io.Reader, name string) (*ContainerReader, error) {
	return newContainerReader(r, name, schema.Parse)
}

func newContainerReader(r io.Reader, name string, parse func(string) (*schema.Schema, error)) (*ContainerReader, error) {
	size := 64 << 10
	if b, ok := r.(*bytes.Reader); ok {
		size = min(size, b.Len())
	}
	c := &ContainerReader{name: name, r: bufio.NewReaderSize(r, size), meta: map[string][]byte{}}
	var magic [len(Magic)]byte
	if err := c.full(magic[:]); err != nil {
		return nil, err
	}
	if string(magic[:]) != Magic {
		return nil, corrupt.At(name, 0, "this is no Avro container file: it starts with %q", magic[:])
	}
	if err := c.header(); err != nil {
		return nil, err
	}
	text, ok := c.meta["avro.schema"]
	if !ok {
		return nil, corrupt.At(name, 4, "the header lacks avro.schema")
	}
	var err error
	if c.schema, err = parse(string(text)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if c.codec, err = codecOf(string(c.meta["avro.codec"])); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// Schema is the writer's schema.
func (c *ContainerReader) Schema() *schema.Schema { return c.schema }

// Meta returns a header entry.
func (c *ContainerReader) Meta(key string) ([]byte, bool) {
	v, ok := c.meta[key]
	return v, ok
}

// full reads exactly len(p) bytes.
func (c *ContainerReader) full(p []byte) error {
	n, err := io.ReadFull(c.r, p)
	c.off += int64(n)
	return c.readError(err)
}

// readError turns an end within the file into damage, and leaves other errors as they are: reading again may help.
func (c *ContainerReader) readError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return corrupt.At(c.name, c.off, "the file ends within a container block or header")
	}
	return fmt.Errorf("read %s: %w", c.name, err)
}

// long reads a number. eof is true where the file ends before its first byte.
func (c *ContainerReader) long() (n int64, eof bool, err error) {
	var buf [10]byte
	for i := range buf {
		b, err := c.r.ReadByte()
		if err != nil {
			return 0, i == 0 && errors.Is(err, io.EOF), c.readError(err)
		}
		c.off++
		buf[i] = b
		if b < 0x80 {
			n, _, err := readLong(buf[:i+1], 0)
			if err != nil {
				return 0, false, corrupt.At(c.name, c.off, "%w", err)
			}
			return n, false, nil
		}
	}
	return 0, false, corrupt.At(c.name, c.off, "a number is longer than 64 bits")
}

// bytes reads size bytes into buf, growing it only as bytes really come.
func (c *ContainerReader) bytes(buf *bytes.Buffer, size, limit int64) error {
	if size < 0 || size > limit {
		return corrupt.At(c.name, c.off, "a length of %d bytes, where at most %d are taken", size, limit)
	}
	buf.Reset()
	n, err := io.CopyN(buf, c.r, size)
	c.off += n
	return c.readError(err)
}

func (c *ContainerReader) header() error {
	var buf bytes.Buffer
	for entries := 0; ; {
		n, _, err := c.long()
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if n < 0 {
			if _, _, err := c.long(); err != nil {
				return err
			}
			n = -n
		}
		if n < 0 || n > maxEntries || entries+int(n) > maxEntries {
			return corrupt.At(c.name, c.off, "the header claims %d entries", n)
		}
		entries += int(n)
		for range n {
			var pair [2]string
			for i := range pair {
				size, _, err := c.long()
				if err != nil {
					return err
				}
				if err := c.bytes(&buf, size, maxHeader); err != nil {
					return err
				}
				pair[i] = buf.String()
			}
			c.meta[pair[0]] = []byte(pair[1])
		}
	}
	return c.full(c.sync[:])
}

// NextBlock returns the records of the next block, decompressed, and how many they are; io.EOF after the last. The bytes are valid until the
// next call.
func (c *ContainerReader) NextBlock() (count int, data []byte, err error) {
	for {
		start := c.off
		n, eof, err := c.long()
		if eof {
			return 0, nil, io.EOF
		}
		if err != nil {
			return 0, nil, err
		}
		size, _, err := c.long()
		if err != nil {
			return 0, nil, err
		}
		if err := c.bytes(&c.raw, size, maxBlockBytes); err != nil {
			return 0, nil, err
		}
		var sync [syncSize]byte
		if err := c.full(sync[:]); err != nil {
			return 0, nil, err
		}
		if sync != c.sync {
			return 0, nil, corrupt.At(c.name, c.off-syncSize, "a block does not end with the file's sync marker")
		}
		data, err := c.codec.decompress(c.plain[:0], c.raw.Bytes())
		if err != nil {
			return 0, nil, corrupt.At(c.name, start, "decompress a block: %w", err)
		}
		c.plain = data
		limit := int64(len(data))
		if len(c.schema.Leaves()) == 0 {
			limit = maxEmpty
		}
		if n < 0 || n > limit {
			return 0, nil, corrupt.At(c.name, start, "a block claims %d records in %d bytes", n, len(data))
		}
		if n == 0 && len(data) == 0 {
			continue
		}
		return int(n), data, nil
	}
}

// Rows reads all records as rows of the reader's schema and hands each to fn. A row is valid during the call.
func (c *ContainerReader) Rows(reader *schema.Schema, fn func(record.Row) error) error {
	dec, err := NewDecoder(c.schema, reader)
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	var row record.Row
	return c.records(func(buf []byte) (rest []byte, err error) {
		if row, rest, err = dec.DecodeNext(buf, row[:0]); err != nil {
			return nil, c.damage(err)
		}
		return rest, fn(row)
	})
}

// damage gives an error about bytes the file's name.
func (c *ContainerReader) damage(err error) error {
	if errors.Is(err, ErrDamaged) {
		return corrupt.At(c.name, c.off, "%w", err)
	}
	return fmt.Errorf("%s: %w", c.name, err)
}

// records hands the bytes from each record on to next, which returns those behind it.
func (c *ContainerReader) records(next func([]byte) ([]byte, error)) error {
	for {
		count, data, err := c.NextBlock()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for range count {
			if data, err = next(data); err != nil {
				return err
			}
		}
		if len(data) > 0 {
			return c.damage(errLeftOver(len(data)))
		}
	}
}

// ReadContainer reads all records of a container file in memory as Go values of the reader's schema; nil takes the file's own.
func ReadContainer(data []byte, name string, reader *schema.Schema) ([][]any, error) {
	c, err := NewContainerReader(bytes.NewReader(data), name)
	if err != nil {
		return nil, err
	}
	if reader == nil {
		reader = c.schema
	}
	dec, err := NewValueDecoder(c.schema, reader)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var out [][]any
	err = c.records(func(buf []byte) ([]byte, error) {
		v, rest, err := dec.DecodeNextValue(buf)
		if err != nil {
			return nil, c.damage(err)
		}
		out = append(out, v)
		return rest, nil
	})
	return out, err
}
