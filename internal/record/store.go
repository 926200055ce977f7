package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"

	"github.com/hudifs/hudifs/internal/schema"
)

// Store keeps rows of one schema compactly, for writers that need all rows of a batch before they can place the first. Beyond its memory
// budget rows go to an unlinked temporary file. Append from one goroutine; when no more is appended, Row may be called from several.
type Store struct {
	kinds  []leafKind
	chunks [][]byte // the last one is being filled
	starts []int64  // offset of each chunk
	first  int64    // offset of chunks[0]; what is before lies in the file
	end    int64
	budget int64
	held   int64
	dir    string
	file   *os.File
	buf    []byte
}

type leafKind struct {
	kind   schema.Kind
	size   int // Fixed
	maxDef int
	nested bool // has repetition or more than one level
}

// storeChunk is the unit of memory and of spilling; a row that is larger gets a chunk of its own.
const storeChunk = 1 << 20

// NewStore returns an empty store that holds about budget bytes in memory and spills to tempDir ("" is the system's).
func NewStore(s *schema.Schema, budget int64, tempDir string) *Store {
	st := &Store{budget: max(budget, 4*storeChunk), dir: tempDir}
	for _, l := range s.Leaves() {
		st.kinds = append(st.kinds, leafKind{l.Type.Kind, l.Type.Size, l.MaxDef, l.MaxRep > 0 || l.MaxDef > 1})
	}
	return st
}

// Append keeps a copy of row and returns the handle by which Row gives it back.
func (s *Store) Append(row Row) (int64, error) {
	s.buf = s.buf[:0]
	for _, v := range row {
		s.buf = s.encode(s.buf, v)
	}
	at := s.end
	var head [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(len(s.buf)))
	if err := s.room(n + len(s.buf)); err != nil {
		return 0, err
	}
	last := len(s.chunks) - 1
	c := append(s.chunks[last], head[:n]...)
	s.chunks[last] = append(c, s.buf...)
	s.end += int64(n + len(s.buf))
	return at, nil
}

// room makes the last chunk one that can take n more bytes without moving.
func (s *Store) room(n int) error {
	if last := len(s.chunks) - 1; last >= 0 && cap(s.chunks[last])-len(s.chunks[last]) >= n {
		return nil
	}
	if s.held+int64(max(storeChunk, n)) > s.budget && len(s.chunks) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.chunks = append(s.chunks, make([]byte, 0, max(storeChunk, n)))
	s.starts = append(s.starts, s.end)
	s.held += int64(max(storeChunk, n))
	return nil
}

// spill writes all chunks to the file. Their memory stays with the rows that were decoded from them.
func (s *Store) spill() error {
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, "rows-*")
		if err != nil {
			return fmt.Errorf("spill rows: %w", err)
		}
		os.Remove(f.Name())
		s.file = f
	}
	for _, c := range s.chunks {
		if _, err := s.file.WriteAt(c, s.first); err != nil {
			return fmt.Errorf("spill rows: %w", err)
		}
		s.first += int64(len(c))
	}
	s.chunks, s.starts, s.held = s.chunks[:0], s.starts[:0], 0
	return nil
}

// Row decodes the row kept under the handle at and appends it to dst[:0]. Its bytes stay valid for as long as the row is referenced.
func (s *Store) Row(at int64, dst Row) (Row, error) {
	b, err := s.bytes(at)
	if err != nil {
		return nil, err
	}
	dst = dst[:0]
	for len(b) > 0 {
		var v Value
		if v, b, err = s.decode(b); err != nil {
			return nil, err
		}
		dst = append(dst, v)
	}
	return dst, nil
}

var errStore = errors.New("row store is damaged")

func (s *Store) bytes(at int64) ([]byte, error) {
	if at >= s.first {
		i := sort.Search(len(s.starts), func(i int) bool { return s.starts[i] > at }) - 1
		if i < 0 || at-s.starts[i] >= int64(len(s.chunks[i])) {
			return nil, errStore
		}
		c := s.chunks[i][at-s.starts[i]:]
		n, w := binary.Uvarint(c)
		if w <= 0 || uint64(len(c)-w) < n {
			return nil, errStore
		}
		end := w + int(n)
		return c[w:end:end], nil
	}
	var head [512]byte
	n, err := s.file.ReadAt(head[:], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read spilled row: %w", err)
	}
	size, w := binary.Uvarint(head[:n])
	if w <= 0 || size > uint64(s.first-at) {
		return nil, errStore
	}
	out := make([]byte, size)
	if have := copy(out, head[w:n]); have < len(out) {
		if _, err := s.file.ReadAt(out[have:], at+int64(w)+int64(have)); err != nil {
			return nil, fmt.Errorf("read spilled row: %w", err)
		}
	}
	return out, nil
}

// Close frees the file.
func (s *Store) Close() error {
	s.chunks = nil
	if s.file != nil {
		return s.file.Close()
	}
	return nil
}

// Spilled is the number of bytes that went to disk.
func (s *Store) Spilled() int64 { return s.first }

// encode appends one value: column, levels (nested leaves only), presence, bytes.
func (s *Store) encode(b []byte, v Value) []byte {
	col := v.Column()
	k := &s.kinds[col]
	b = binary.AppendUvarint(b, uint64(col))
	if k.nested {
		b = append(b, byte(v.RepetitionLevel()))
	}
	b = append(b, byte(v.DefinitionLevel()))
	if v.DefinitionLevel() < k.maxDef {
		return b
	}
	switch k.kind {
	case schema.Boolean:
		if v.Boolean() {
			return append(b, 1)
		}
		return append(b, 0)
	case schema.Int:
		return binary.LittleEndian.AppendUint32(b, uint32(v.Int32()))
	case schema.Long:
		return binary.LittleEndian.AppendUint64(b, uint64(v.Int64()))
	case schema.Float:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(v.Float()))
	case schema.Double:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Double()))
	case schema.Fixed:
		return append(b, v.ByteArray()...)
	}
	b = binary.AppendUvarint(b, uint64(len(v.ByteArray())))
	return append(b, v.ByteArray()...)
}

func (s *Store) decode(b []byte) (Value, []byte, error) {
	col, w := binary.Uvarint(b)
	if w <= 0 || col >= uint64(len(s.kinds)) {
		return Value{}, nil, errStore
	}
	b = b[w:]
	k := &s.kinds[col]
	rep := 0
	if k.nested {
		if len(b) == 0 {
			return Value{}, nil, errStore
		}
		rep, b = int(b[0]), b[1:]
	}
	if len(b) == 0 {
		return Value{}, nil, errStore
	}
	def := int(b[0])
	b = b[1:]
	if def < k.maxDef {
		return Null(rep, def, int(col)), b, nil
	}
	v, b, ok := k.value(b)
	if !ok {
		return Value{}, nil, errStore
	}
	return v.Level(rep, def, int(col)), b, nil
}

func (k *leafKind) value(b []byte) (Value, []byte, bool) {
	size := 0
	switch k.kind {
	case schema.Boolean:
		size = 1
	case schema.Int, schema.Float:
		size = 4
	case schema.Long, schema.Double:
		size = 8
	case schema.Fixed:
		size = k.size
	default:
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return Value{}, nil, false
		}
		b, size = b[w:], int(n)
	}
	if size > len(b) {
		return Value{}, nil, false
	}
	raw, rest := b[:size:size], b[size:]
	switch k.kind {
	case schema.Boolean:
		return Bool(raw[0] != 0), rest, true
	case schema.Int:
		return Int32(int32(binary.LittleEndian.Uint32(raw))), rest, true
	case schema.Long:
		return Int64(int64(binary.LittleEndian.Uint64(raw))), rest, true
	case schema.Float:
		return Float32(math.Float32frombits(binary.LittleEndian.Uint32(raw))), rest, true
	case schema.Double:
		return Float64(math.Float64frombits(binary.LittleEndian.Uint64(raw))), rest, true
	case schema.Fixed:
		return FixedBytes(raw), rest, true
	}
	return Bytes(raw), rest, true
}
