package record

import (
	"unsafe"

	"github.com/parquet-go/parquet-go"
)

// chunkBytes and chunkValues size the arena's chunks: large enough to make allocations rare, small enough not to waste much.
const (
	chunkBytes  = 256 << 10
	chunkValues = 8 << 10
)

// Arena keeps rows beyond the reader's buffers: Clone copies values and bytes into large chunks. The zero Arena is ready. Not safe for concurrent use.
type Arena struct {
	bytes  []byte
	values []Value
	size   int64
}

// Clone returns a copy of row that lives as long as the arena's memory is referenced.
func (a *Arena) Clone(row Row) Row {
	if row == nil {
		return nil
	}
	if len(row) > cap(a.values)-len(a.values) {
		n := max(chunkValues, len(row))
		a.values = make([]Value, 0, n)
		a.size += int64(n) * int64(unsafe.Sizeof(Value{}))
	}
	start := len(a.values)
	a.values = append(a.values, row...)
	out := a.values[start:len(a.values):len(a.values)]
	for i := range out {
		switch out[i].Kind() {
		case parquet.ByteArray:
			if b := out[i].ByteArray(); len(b) > 0 {
				out[i] = relevel(parquet.ByteArrayValue(a.Bytes(b)), out[i])
			}
		case parquet.FixedLenByteArray:
			if b := out[i].ByteArray(); len(b) > 0 {
				out[i] = relevel(parquet.FixedLenByteArrayValue(a.Bytes(b)), out[i])
			}
		}
	}
	return out
}

// relevel returns v with the levels and column of as.
func relevel(v, as Value) Value {
	return v.Level(as.RepetitionLevel(), as.DefinitionLevel(), as.Column())
}

// Bytes returns a copy of b in the arena.
func (a *Arena) Bytes(b []byte) []byte {
	if len(b) > cap(a.bytes)-len(a.bytes) {
		n := max(chunkBytes, len(b))
		a.bytes = make([]byte, 0, n)
		a.size += int64(n)
	}
	start := len(a.bytes)
	a.bytes = append(a.bytes, b...)
	return a.bytes[start:len(a.bytes):len(a.bytes)]
}

// String returns a copy of s in the arena.
func (a *Arena) String(s string) string {
	if s == "" {
		return ""
	}
	b := a.Bytes(unsafe.Slice(unsafe.StringData(s), len(s)))
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Size is the number of bytes held.
func (a *Arena) Size() int64 { return a.size }
