package action

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"crypto/rand"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/schema"
)

// containerMagic begins an Avro container file.
var containerMagic = []byte("Obj\x01")

// maxInflated bounds the block of a compressed container: no instant's body is larger.
const maxInflated = 1 << 30

const syncSize = 16

// readContainer returns the first record of a container file and its schema (timeline.md §4.2). name is the file's, for messages.
func readContainer(name string, data []byte) (*object, *schema.Schema, error) {
	r := &avroReader{data: data, pos: len(containerMagic)}
	fail := func(err error) (*object, *schema.Schema, error) {
		return nil, nil, corrupt.At(name, int64(r.pos), "avro container: %w", err)
	}
	text, codec, err := containerHeader(r)
	if err != nil {
		return fail(err)
	}
	s, err := parseSchema(text)
	if err != nil {
		return fail(err)
	}
	sync, err := r.bytes(syncSize)
	if err != nil {
		return fail(err)
	}
	var first *object
	for r.pos < len(data) {
		o, err := containerBlock(r, s, codec, sync)
		if err != nil {
			return fail(err)
		}
		if first == nil {
			first = o
		}
	}
	if first == nil {
		return fail(errors.New("it holds no record"))
	}
	return first, s, nil
}

// containerHeader reads the header's map.
func containerHeader(r *avroReader) (text, codec string, err error) {
	codec = "null"
	err = r.blocks(func() error {
		key, err := r.text()
		if err != nil {
			return err
		}
		value, err := r.text()
		switch key {
		case "avro.schema":
			text = value
		case "avro.codec":
			codec = value
		}
		return err
	})
	if err == nil && text == "" {
		err = errors.New("the header has no avro.schema")
	}
	if codec != "null" && codec != "deflate" && err == nil {
		err = fmt.Errorf("codec %q is not supported (null and deflate are)", codec)
	}
	return text, codec, err
}

// containerBlock reads one block and returns its first record, nil where it has none.
func containerBlock(r *avroReader, s *schema.Schema, codec string, sync []byte) (*object, error) {
	count, err := r.long()
	if err != nil {
		return nil, err
	}
	size, err := r.length()
	if err != nil {
		return nil, err
	}
	data, err := r.bytes(size)
	if err != nil {
		return nil, err
	}
	mark, err := r.bytes(syncSize)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(mark, sync) {
		return nil, errors.New("the sync marker behind a block is wrong")
	}
	if count < 0 {
		return nil, fmt.Errorf("a block has %d records", count)
	}
	if codec == "deflate" {
		if data, err = inflate(data); err != nil {
			return nil, err
		}
	}
	block := &avroReader{data: data}
	if count > int64(len(data)) {
		return nil, errShort
	}
	var first *object
	for range count {
		v, err := block.value(s.Root())
		if err != nil {
			return nil, err
		}
		if first == nil {
			first, _ = v.(*object)
		}
	}
	if block.pos != len(data) {
		return nil, fmt.Errorf("%d bytes are left behind the last record of a block", len(data)-block.pos)
	}
	return first, nil
}

func inflate(data []byte) ([]byte, error) {
	f := flate.NewReader(bytes.NewReader(data))
	out, err := io.ReadAll(io.LimitReader(f, maxInflated+1))
	if err != nil {
		return nil, fmt.Errorf("inflate: %w", err)
	}
	if len(out) > maxInflated {
		return nil, fmt.Errorf("a block inflates to more than %d bytes", maxInflated)
	}
	return out, nil
}

// appendContainer writes a container of one record, as Java does: no codec entry, one block.
func appendContainer(s *schema.Schema, o *object) ([]byte, error) {
	record, err := appendAvro(nil, s.Root(), o)
	if err != nil {
		return nil, err
	}
	text := s.String()
	b := make([]byte, 0, len(text)+len(record)+96)
	b = append(b, containerMagic...)
	b = binary.AppendVarint(b, 1)
	for _, s := range []string{"avro.schema", text} {
		b = binary.AppendVarint(b, int64(len(s)))
		b = append(b, s...)
	}
	b = append(b, 0)
	var sync [syncSize]byte
	if _, err := rand.Read(sync[:]); err != nil {
		return nil, fmt.Errorf("make sync marker: %w", err)
	}
	b = append(b, sync[:]...)
	b = binary.AppendVarint(b, 1)
	b = binary.AppendVarint(b, int64(len(record)))
	b = append(b, record...)
	return append(b, sync[:]...), nil
}
