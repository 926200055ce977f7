package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// The thrift compact protocol, as far as parquet's footer, page headers and indexes use it. It is read here and not by a library because
// the bytes are a stranger's: list sizes and nesting are checked before anything is allocated, and a field that is absent stays
// distinguishable from zero (a null count of 0 and an unknown one are different facts).

// The compact protocol's type codes.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// maxThriftDepth bounds nested structs and lists; parquet's own metadata nests less than 10 deep.
const maxThriftDepth = 32

var (
	errThriftShort = fmt.Errorf("metadata ends too early: %w", io.ErrUnexpectedEOF)
	errThriftDeep  = errors.New("metadata is nested too deeply")
	errThriftInt   = errors.New("metadata holds an integer that is too long")
)

// thriftReader reads from b at off.
type thriftReader struct {
	b     []byte
	off   int
	depth int
}

func (r *thriftReader) byte() (byte, error) {
	if r.off >= len(r.b) {
		return 0, errThriftShort
	}
	c := r.b[r.off]
	r.off++
	return c, nil
}

func (r *thriftReader) uvarint() (uint64, error) {
	v, n := binary.Uvarint(r.b[r.off:])
	if n == 0 {
		return 0, errThriftShort
	}
	if n < 0 {
		return 0, errThriftInt
	}
	r.off += n
	return v, nil
}

func (r *thriftReader) int() (int64, error) {
	u, err := r.uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}

func (r *thriftReader) int32() (int32, error) {
	v, err := r.int()
	if err == nil && (v < math.MinInt32 || v > math.MaxInt32) {
		return 0, fmt.Errorf("metadata holds %d where 32 bits are allowed", v)
	}
	return int32(v), err
}

// bytes returns a view of a binary field.
func (r *thriftReader) bytes() ([]byte, error) {
	n, err := r.uvarint()
	if err != nil {
		return nil, err
	}
	if n > uint64(len(r.b)-r.off) {
		return nil, errThriftShort
	}
	v := r.b[r.off : r.off+int(n) : r.off+int(n)]
	r.off += int(n)
	return v, nil
}

// fields calls fn for each field of a struct; fn must consume the field (skip does).
func (r *thriftReader) fields(fn func(id int16, typ byte) error) error {
	if r.depth++; r.depth > maxThriftDepth {
		return errThriftDeep
	}
	defer func() { r.depth-- }()
	var id int16
	for {
		h, err := r.byte()
		if err != nil {
			return err
		}
		if h == 0 {
			return nil
		}
		if d := h >> 4; d != 0 {
			id += int16(d)
		} else {
			v, err := r.int()
			if err != nil {
				return err
			}
			if v < math.MinInt16 || v > math.MaxInt16 {
				return fmt.Errorf("metadata holds field number %d", v)
			}
			id = int16(v)
		}
		if err := fn(id, h&0xF); err != nil {
			return err
		}
	}
}

// list calls fn for each element of a list of typ; fn must consume the element.
func (r *thriftReader) list(typ byte, fn func() error) error {
	n, elem, err := r.listHeader()
	if err != nil {
		return err
	}
	if n > 0 && elem != typ && (typ != thriftTrue || elem != thriftFalse) {
		return fmt.Errorf("metadata holds a list of type %d where %d is meant", elem, typ)
	}
	for range n {
		if err := fn(); err != nil {
			return err
		}
	}
	return nil
}

func (r *thriftReader) listHeader() (n int, elem byte, err error) {
	h, err := r.byte()
	if err != nil {
		return 0, 0, err
	}
	size := uint64(h >> 4)
	if size == 15 {
		if size, err = r.uvarint(); err != nil {
			return 0, 0, err
		}
	}
	// Every element takes at least a byte.
	if size > uint64(len(r.b)-r.off) {
		return 0, 0, errThriftShort
	}
	return int(size), h & 0xF, nil
}

// skip consumes a field of a type.
func (r *thriftReader) skip(typ byte) error {
	if r.depth++; r.depth > maxThriftDepth {
		return errThriftDeep
	}
	defer func() { r.depth-- }()
	var err error
	switch typ {
	case thriftTrue, thriftFalse:
	case thriftByte:
		_, err = r.byte()
	case thriftI16, thriftI32, thriftI64:
		_, err = r.uvarint()
	case thriftDouble:
		if len(r.b)-r.off < 8 {
			return errThriftShort
		}
		r.off += 8
	case thriftBinary:
		_, err = r.bytes()
	case thriftList, thriftSet:
		n, elem, herr := r.listHeader()
		if herr != nil {
			return herr
		}
		for ; n > 0 && err == nil; n-- {
			err = r.skipElem(elem)
		}
	case thriftMap:
		err = r.skipMap()
	case thriftStruct:
		err = r.fields(func(_ int16, t byte) error { return r.skip(t) })
	default:
		err = fmt.Errorf("metadata holds the unknown type %d", typ)
	}
	return err
}

// skipElem consumes a container's element; a boolean takes a byte there and none in a field.
func (r *thriftReader) skipElem(typ byte) error {
	if typ == thriftTrue || typ == thriftFalse {
		_, err := r.byte()
		return err
	}
	return r.skip(typ)
}

func (r *thriftReader) skipMap() error {
	n, err := r.uvarint()
	if err != nil || n == 0 {
		return err
	}
	if n > uint64(len(r.b)-r.off) {
		return errThriftShort
	}
	kv, err := r.byte()
	for ; n > 0 && err == nil; n-- {
		if err = r.skipElem(kv >> 4); err == nil {
			err = r.skipElem(kv & 0xF)
		}
	}
	return err
}

// thriftWriter appends to b.
type thriftWriter struct{ b []byte }

// thriftStructWriter writes one struct's fields, which must come in ascending order of id.
type thriftStructWriter struct {
	w    *thriftWriter
	last int16
}

func (w *thriftWriter) open() thriftStructWriter { return thriftStructWriter{w: w} }

func (w *thriftWriter) uvarint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }
func (w *thriftWriter) int(v int64)      { w.b = binary.AppendVarint(w.b, v) }

func (w *thriftWriter) bytes(v []byte) {
	w.uvarint(uint64(len(v)))
	w.b = append(w.b, v...)
}

func (w *thriftWriter) list(n int, elem byte) {
	if n < 15 {
		w.b = append(w.b, byte(n)<<4|elem)
		return
	}
	w.b = append(w.b, 0xF0|elem)
	w.uvarint(uint64(n))
}

func (s *thriftStructWriter) header(id int16, typ byte) {
	if d := id - s.last; d > 0 && d < 16 {
		s.w.b = append(s.w.b, byte(d)<<4|typ)
	} else {
		s.w.b = append(s.w.b, typ)
		s.w.int(int64(id))
	}
	s.last = id
}

func (s *thriftStructWriter) i16(id int16, v int64) { s.header(id, thriftI16); s.w.int(v) }
func (s *thriftStructWriter) i32(id int16, v int64) { s.header(id, thriftI32); s.w.int(v) }
func (s *thriftStructWriter) i64(id int16, v int64) { s.header(id, thriftI64); s.w.int(v) }

func (s *thriftStructWriter) bool(id int16, v bool) {
	if v {
		s.header(id, thriftTrue)
	} else {
		s.header(id, thriftFalse)
	}
}

func (s *thriftStructWriter) bytes(id int16, v []byte) { s.header(id, thriftBinary); s.w.bytes(v) }
func (s *thriftStructWriter) string(id int16, v string) {
	s.header(id, thriftBinary)
	s.w.uvarint(uint64(len(v)))
	s.w.b = append(s.w.b, v...)
}

func (s *thriftStructWriter) list(id int16, n int, elem byte) {
	s.header(id, thriftList)
	s.w.list(n, elem)
}

// child writes a struct field.
func (s *thriftStructWriter) child(id int16, fn func(c *thriftStructWriter)) {
	s.header(id, thriftStruct)
	s.w.element(fn)
}

// element writes a struct that stands in a list or by itself.
func (w *thriftWriter) element(fn func(c *thriftStructWriter)) {
	c := w.open()
	fn(&c)
	w.b = append(w.b, 0)
}

// cloned returns a copy of a binary field, so that a small value does not keep a large footer in memory.
func (r *thriftReader) cloned() ([]byte, error) {
	v, err := r.bytes()
	if err != nil {
		return nil, err
	}
	return append([]byte{}, v...), nil
}
