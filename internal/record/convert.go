package record

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/hudifs/hudifs/internal/schema"
)

// Converter carries out a conversion that schema.Project has planned: it takes a value of from that is not null and returns it as a value of
// to, without levels. It returns nil where values can be taken as they are. The functions are safe for concurrent use.
func Converter(c schema.Conversion, to, from *schema.Type) func(Value) (Value, error) {
	switch c {
	case schema.IntToLong:
		return func(v Value) (Value, error) { return Int64(int64(v.Int32())), nil }
	case schema.IntToFloat:
		return func(v Value) (Value, error) { return Float32(float32(v.Int32())), nil }
	case schema.IntToDouble:
		return func(v Value) (Value, error) { return Float64(float64(v.Int32())), nil }
	case schema.LongToFloat:
		return func(v Value) (Value, error) { return Float32(float32(v.Int64())), nil }
	case schema.LongToDouble:
		return func(v Value) (Value, error) { return Float64(float64(v.Int64())), nil }
	case schema.FloatToDouble:
		return floatToDouble
	case schema.ToString:
		return func(v Value) (Value, error) {
			s, err := JavaText(v, from)
			return String(s), err
		}
	case schema.StringToBytes:
		return nil
	case schema.BytesToString:
		return bytesToString
	case schema.FixedToBytes:
		return func(v Value) (Value, error) { return Bytes(v.ByteArray()), nil }
	case schema.StringToDate:
		return func(v Value) (Value, error) {
			d, err := ParseDate(string(v.ByteArray()))
			return Int32(d), err
		}
	case schema.Rescale:
		return func(v Value) (Value, error) { return DecimalValue(DecimalOf(v.ByteArray(), from.Scale), to) }
	case schema.ToDecimal:
		return func(v Value) (Value, error) { return toDecimal(v, to, from) }
	case schema.MillisToMicros:
		return scaleUp(1000, from)
	case schema.MicrosToNanos:
		return scaleUp(1000, from)
	case schema.MillisToNanos:
		return scaleUp(1_000_000, from)
	case schema.MicrosToMillis, schema.NanosToMicros:
		return scaleDown(1000)
	case schema.NanosToMillis:
		return scaleDown(1_000_000)
	}
	return nil
}

// floatToDouble goes by the shortest decimal, so that 0.1 stays 0.1: the one rule for base files and logs alike.
func floatToDouble(v Value) (Value, error) {
	f := v.Float()
	if d := float64(f); d == math.Trunc(d) || d != d {
		return Float64(d), nil
	}
	var b [32]byte
	d, err := strconv.ParseFloat(string(strconv.AppendFloat(b[:0], float64(f), 'g', -1, 32)), 64)
	return Float64(d), err
}

func bytesToString(v Value) (Value, error) {
	if !utf8.Valid(v.ByteArray()) {
		return v, fmt.Errorf("bytes %.20x are not UTF-8 and cannot be read as a string", v.ByteArray())
	}
	return Bytes(v.ByteArray()), nil
}

func scaleUp(by int64, from *schema.Type) func(Value) (Value, error) {
	if from.Kind == schema.Int {
		return func(v Value) (Value, error) { return Int64(int64(v.Int32()) * by), nil }
	}
	return func(v Value) (Value, error) {
		n := v.Int64()
		if n > math.MaxInt64/by || n < math.MinInt64/by {
			return v, fmt.Errorf("time %d does not fit the finer unit", n)
		}
		return Int64(n * by), nil
	}
}

// scaleDown rounds to the past, as Spark does, so that times before 1970 keep their order.
func scaleDown(by int64) func(Value) (Value, error) {
	return func(v Value) (Value, error) {
		n := v.Int64()
		q := n / by
		if n%by < 0 {
			q--
		}
		return Int64(q), nil
	}
}

func toDecimal(v Value, to, from *schema.Type) (Value, error) {
	text, err := JavaText(v, from)
	if err != nil {
		return v, err
	}
	d, err := ParseDecimal(text)
	if err != nil {
		return v, err
	}
	return DecimalValue(d, to)
}

// DecimalValue returns d as a value of the decimal type t. It fails where digits would be lost.
func DecimalValue(d *Decimal, t *schema.Type) (Value, error) {
	r, ok := d.Rescale(t.Scale)
	if !ok || r.Precision() > t.Precision {
		return Value{}, fmt.Errorf("%s does not fit decimal(%d,%d)", d, t.Precision, t.Scale)
	}
	if t.Kind == schema.Fixed {
		b, ok := r.Fixed(t.Size)
		if !ok {
			return Value{}, fmt.Errorf("%s does not fit %d bytes", d, t.Size)
		}
		return FixedBytes(b), nil
	}
	return Bytes(r.Bytes()), nil
}

// LeafValue turns a Go value into a value of primitive type t, without levels: bool, int, int32, int64, float32, float64, string, []byte,
// *Decimal. It fails where the value does not fit. []byte and string are kept, not copied.
func LeafValue(v any, t *schema.Type) (Value, error) {
	switch t.Kind {
	case schema.Boolean:
		if b, ok := v.(bool); ok {
			return Bool(b), nil
		}
	case schema.Int, schema.Long:
		if n, ok := wholeNumber(v); ok {
			if t.Kind == schema.Long {
				return Int64(n), nil
			}
			if n == int64(int32(n)) {
				return Int32(int32(n)), nil
			}
			return Value{}, fmt.Errorf("%d does not fit 32 bits", n)
		}
	case schema.Float:
		switch f := v.(type) {
		case float32:
			return Float32(f), nil
		case float64:
			if float64(float32(f)) == f || f != f {
				return Float32(float32(f)), nil
			}
			return Value{}, fmt.Errorf("%v does not fit a float", f)
		}
	case schema.Double:
		switch f := v.(type) {
		case float32:
			return floatToDouble(Float32(f))
		case float64:
			return Float64(f), nil
		}
	case schema.String:
		switch s := v.(type) {
		case string:
			return String(s), nil
		case []byte:
			return Bytes(s), nil
		}
	case schema.Enum:
		if s, ok := v.(string); ok {
			return enumValue(s, t)
		}
	case schema.Bytes, schema.Fixed:
		return byteValue(v, t)
	}
	return Value{}, fmt.Errorf("a Go %T does not fit %s", v, t.Kind)
}

func wholeNumber(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int32:
		return int64(n), true
	case int64:
		return n, true
	}
	return 0, false
}

func enumValue(s string, t *schema.Type) (Value, error) {
	for _, sym := range t.Symbols {
		if sym == s {
			return String(sym), nil
		}
	}
	return Value{}, fmt.Errorf("%q is not a symbol of enum %s", s, t.FullName())
}

func byteValue(v any, t *schema.Type) (Value, error) {
	switch b := v.(type) {
	case *Decimal:
		if t.Logical == schema.Decimal {
			return DecimalValue(b, t)
		}
	case []byte:
		if t.Kind == schema.Bytes {
			return Bytes(b), nil
		}
		if len(b) == t.Size {
			return FixedBytes(b), nil
		}
		return Value{}, fmt.Errorf("%d bytes do not fit fixed(%d)", len(b), t.Size)
	case string:
		if t.Kind == schema.Bytes && t.Logical != schema.Decimal {
			return String(b), nil
		}
	}
	return Value{}, fmt.Errorf("a Go %T does not fit %s", v, t.Kind)
}

// GoValue turns a value of primitive type t that is not null into a Go value: bool, int32, int64, float32, float64, string (also enums),
// []byte, *Decimal. Strings and bytes are copies.
func GoValue(v Value, t *schema.Type) any {
	switch t.Kind {
	case schema.Boolean:
		return v.Boolean()
	case schema.Int:
		return v.Int32()
	case schema.Long:
		return v.Int64()
	case schema.Float:
		return v.Float()
	case schema.Double:
		return v.Double()
	case schema.String, schema.Enum:
		return string(v.ByteArray())
	}
	if t.Logical == schema.Decimal {
		return DecimalOf(v.ByteArray(), t.Scale)
	}
	return append([]byte{}, v.ByteArray()...)
}
