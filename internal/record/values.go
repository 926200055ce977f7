package record

import (
	"unsafe"

	"github.com/parquet-go/parquet-go"

	"github.com/hudifs/hudifs/internal/schema"
)

// Value is one leaf value of a Row with its levels. Other packages make and read values through this file, so that only few know the library.
type Value = parquet.Value

// Null returns a null with levels rep and def for leaf col.
func Null(rep, def, col int) Value { return Value{}.Level(rep, def, col) }

// Bool, Int32, Int64, Float32, Float64, Bytes, FixedBytes and String return values without levels; give them some with Level.
func Bool(v bool) Value { return parquet.BooleanValue(v) }

// Int32 returns a value of an int leaf.
func Int32(v int32) Value { return parquet.Int32Value(v) }

// Int64 returns a value of a long leaf.
func Int64(v int64) Value { return parquet.Int64Value(v) }

// Float32 returns a value of a float leaf.
func Float32(v float32) Value { return parquet.FloatValue(v) }

// Float64 returns a value of a double leaf.
func Float64(v float64) Value { return parquet.DoubleValue(v) }

// Bytes returns a value of a bytes, string or enum leaf. It holds b itself, not a copy.
func Bytes(b []byte) Value { return parquet.ByteArrayValue(b) }

// FixedBytes returns a value of a fixed leaf. It holds b itself, not a copy.
func FixedBytes(b []byte) Value { return parquet.FixedLenByteArrayValue(b) }

// String returns a value of a string or enum leaf.
func String(s string) Value {
	return parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// Text returns the bytes of a string, enum, bytes or fixed value as a string that shares the value's memory.
func Text(v Value) string {
	b := v.ByteArray()
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// IsNull reports whether v is null in leaf l, or below something that is. It is the only right way to ask.
func IsNull(v Value, l *schema.Leaf) bool { return v.DefinitionLevel() < l.MaxDef }

// Find returns the position in row of the first value of leaf, -1 where the row has none.
func Find(row Row, leaf int) int {
	// Each leaf has at least one value, so its first is never to the left of its number.
	for i := leaf; i >= 0 && i < len(row); i++ {
		if c := row[i].Column(); c == leaf {
			return i
		} else if c > leaf {
			break
		}
	}
	return -1
}

// Span returns the positions [from,to) in row of the values of leaf.
func Span(row Row, leaf int) (from, to int) {
	from = Find(row, leaf)
	if from < 0 {
		return 0, 0
	}
	for to = from + 1; to < len(row) && row[to].Column() == leaf; to++ {
	}
	return from, to
}

// StringAt returns the text of a string leaf outside lists; ok is false where it is null. The text shares the row's memory.
func StringAt(row Row, l *schema.Leaf) (s string, ok bool) {
	i := Find(row, l.Index)
	if i < 0 || IsNull(row[i], l) {
		return "", false
	}
	return Text(row[i]), true
}

// PhysicalType is parquet's type of a value, as Value.Kind returns it.
type PhysicalType = parquet.Kind

// PhysicalKind is the kind of the parquet values that hold type t in a Row.
func PhysicalKind(t *schema.Type) PhysicalType {
	switch t.Kind {
	case schema.Boolean:
		return parquet.Boolean
	case schema.Int:
		return parquet.Int32
	case schema.Long:
		return parquet.Int64
	case schema.Float:
		return parquet.Float
	case schema.Double:
		return parquet.Double
	case schema.Fixed:
		return parquet.FixedLenByteArray
	}
	return parquet.ByteArray
}
