package parquetfile

import (
	"github.com/hudifs/hudifs/internal/schema"
)

// convert says how a physical value becomes a row's value.
type convert uint8

// The conversions.
const (
	asIs          convert = iota
	int96Micros           // INT96: nanoseconds of a day and a Julian day → microseconds since 1970
	uint32Long            // unsigned 32 bits in INT32
	uint64Decimal         // unsigned 64 bits in INT64 → decimal(20,0)
	intUnscaled           // decimal in INT32 or INT64
	bytesUnscaled         // decimal in bytes of another length
	uuidText              // 16 bytes → 8-4-4-4-12 hexadecimal digits
	halfFloat             // 2 bytes IEEE 754
	oldDays               // days counted in the Julian calendar before 1582
	oldMicros
	oldMillis
)

// conversion is a convert with its parameter.
type conversion struct {
	convert convert
	size    int // unscaled values: bytes of the fixed type, 0 for the bytes type
	legacy  bool
}

// canonical is the physical type that values of a leaf have in a row and in files of this package; length is that of a fixed type.
func canonical(t *schema.Type) (p physical, length int) {
	switch t.Kind {
	case schema.Boolean:
		return physBool, 0
	case schema.Int:
		return physInt32, 0
	case schema.Long:
		return physInt64, 0
	case schema.Float:
		return physFloat, 0
	case schema.Double:
		return physDouble, 0
	case schema.Fixed:
		return physFixed, t.Size
	}
	return physBytes, 0
}

// leaf types one column: the Avro hint where it says more than the column's annotation and does not contradict it, else the annotation.
func (b *binder) leaf(n *node, hint *schema.Type, at place) (*schema.Type, conversion, error) {
	t, conv, err := b.derive(n, at)
	if err != nil {
		return nil, conv, err
	}
	if hint != nil {
		if c, ok := fits(n, t, hint, conv); ok {
			return hint, c, nil
		}
	}
	b.amended = true
	return t, conv, nil
}

// fits reports whether the Avro type describes the column whose annotation gives derived, and how values become it.
func fits(n *node, derived, hint *schema.Type, conv conversion) (conversion, bool) {
	if derived.Logical == schema.Decimal {
		if hint.Logical != schema.Decimal || hint.Precision != derived.Precision || hint.Scale != derived.Scale {
			return conv, false
		}
		return decimalConversion(n, hint), conv.convert != uint64Decimal
	}
	switch hint.Kind {
	case schema.Int, schema.Long:
		return conv, derived.Kind == hint.Kind && (derived.Logical == hint.Logical || derived.Logical == schema.NoLogical && n.converted < 0 && n.logical.id == logNone)
	case schema.Enum:
		return conv, n.typ == physBytes
	case schema.String:
		return conv, derived.Kind == schema.String || derived.Kind == schema.Bytes
	case schema.Bytes:
		return conv, derived.Kind == schema.Bytes && hint.Logical != schema.Decimal ||
			derived.Kind == schema.Bytes && n.converted < 0 && n.logical.id == logNone
	case schema.Fixed:
		if n.typ == physFixed && int(n.length) == hint.Size {
			return conversion{}, derived.Kind == schema.Fixed || derived.Logical == schema.UUID
		}
		return conv, false
	}
	return conv, derived.Kind == hint.Kind && derived.Logical == hint.Logical
}

// decimalConversion is how column n becomes the decimal type t.
func decimalConversion(n *node, t *schema.Type) conversion {
	size := 0
	if t.Kind == schema.Fixed {
		size = t.Size
	}
	switch {
	case n.typ == physInt32 || n.typ == physInt64:
		return conversion{convert: intUnscaled, size: size}
	case n.typ == physFixed && t.Kind == schema.Fixed && int(n.length) == size, n.typ == physBytes && t.Kind == schema.Bytes:
		return conversion{}
	}
	return conversion{convert: bytesUnscaled, size: size}
}

// derive types a column by its annotation alone.
func (b *binder) derive(n *node, at place) (*schema.Type, conversion, error) {
	if p, s, ok := n.isDecimal(); ok {
		return deriveDecimal(n, p, s, at)
	}
	switch n.typ {
	case physBool:
		return &schema.Type{Kind: schema.Boolean}, conversion{}, nil
	case physFloat:
		return &schema.Type{Kind: schema.Float}, conversion{}, nil
	case physDouble:
		return &schema.Type{Kind: schema.Double}, conversion{}, nil
	case physInt32:
		return b.deriveInt32(n, at)
	case physInt64:
		return b.deriveInt64(n, at)
	case physInt96:
		return &schema.Type{Kind: schema.Long, Logical: schema.TimestampMicros}, conversion{convert: int96Micros, legacy: b.legacy.int96}, nil
	case physBytes:
		if n.isText() {
			return &schema.Type{Kind: schema.String}, conversion{}, nil
		}
		return &schema.Type{Kind: schema.Bytes}, conversion{}, nil
	}
	switch {
	case n.logical.id == logUUID && n.length == 16:
		return &schema.Type{Kind: schema.String, Logical: schema.UUID}, conversion{convert: uuidText}, nil
	case n.logical.id == logFloat16 && n.length == 2:
		return &schema.Type{Kind: schema.Float}, conversion{convert: halfFloat}, nil
	}
	return &schema.Type{Kind: schema.Fixed, Name: "fixed", Namespace: namespace(append(at.path, "")), Size: int(n.length)}, conversion{}, nil
}

func deriveDecimal(n *node, precision, scale int, at place) (*schema.Type, conversion, error) {
	if precision < 1 || scale < 0 || scale > precision {
		return nil, conversion{}, at.errorf("decimal(%d,%d) is not a decimal type", precision, scale)
	}
	t := &schema.Type{Kind: schema.Fixed, Logical: schema.Decimal, Precision: precision, Scale: scale, Name: "fixed", Namespace: namespace(append(at.path, ""))}
	t.Size = schema.DecimalSize(precision)
	switch n.typ {
	case physFixed:
		if int(n.length) < t.Size {
			return nil, conversion{}, at.errorf("%d bytes cannot hold a decimal of %d digits", n.length, precision)
		}
		t.Size = int(n.length)
	case physBytes:
		t = &schema.Type{Kind: schema.Bytes, Logical: schema.Decimal, Precision: precision, Scale: scale}
	case physInt32, physInt64:
		if limit := map[physical]int{physInt32: 9, physInt64: 18}[n.typ]; precision > limit {
			return nil, conversion{}, at.errorf("%s cannot hold a decimal of %d digits", n.typ, precision)
		}
	default:
		return nil, conversion{}, at.errorf("%s cannot hold a decimal", n.typ)
	}
	return t, decimalConversion(n, t), nil
}

func (b *binder) deriveInt32(n *node, at place) (*schema.Type, conversion, error) {
	unit, isTime := n.timeOfDay()
	switch {
	case n.isDate():
		conv := conversion{}
		if b.legacy.dates {
			conv.convert = oldDays
		}
		return &schema.Type{Kind: schema.Int, Logical: schema.Date}, conv, nil
	case isTime:
		if unit != unitMillis {
			return nil, conversion{}, at.errorf("a time of day in INT32 must count milliseconds")
		}
		return &schema.Type{Kind: schema.Int, Logical: schema.TimeMillis}, conversion{}, nil
	case n.unsigned() == 32:
		return &schema.Type{Kind: schema.Long}, conversion{convert: uint32Long}, nil
	}
	return &schema.Type{Kind: schema.Int}, conversion{}, nil
}

func (b *binder) deriveInt64(n *node, at place) (*schema.Type, conversion, error) {
	if unit, utc, ok := n.timestamp(); ok {
		return b.deriveTimestamp(unit, utc, at)
	}
	if unit, ok := n.timeOfDay(); ok {
		if unit != unitMicros {
			return nil, conversion{}, at.errorf("a time of day in nanoseconds has no Avro type; write it in microseconds")
		}
		return &schema.Type{Kind: schema.Long, Logical: schema.TimeMicros}, conversion{}, nil
	}
	if n.unsigned() == 64 {
		t := &schema.Type{Kind: schema.Fixed, Logical: schema.Decimal, Precision: 20, Name: "fixed", Namespace: namespace(append(at.path, "")), Size: 9}
		return t, conversion{convert: uint64Decimal, size: 9}, nil
	}
	return &schema.Type{Kind: schema.Long}, conversion{}, nil
}

func (b *binder) deriveTimestamp(unit int16, utc bool, at place) (*schema.Type, conversion, error) {
	t := &schema.Type{Kind: schema.Long}
	conv := conversion{}
	switch unit {
	case unitMillis:
		t.Logical = schema.LocalTimestampMillis
		conv.convert = oldMillis
	case unitMicros:
		t.Logical = schema.LocalTimestampMicros
		conv.convert = oldMicros
	case unitNanos:
		t.Logical = schema.LocalTimestampNanos
	default:
		return nil, conv, at.errorf("a timestamp has the unknown unit %d", unit)
	}
	if utc {
		t.Logical -= schema.LocalTimestampMillis - schema.TimestampMillis // the instants stand first, in the same order
	}
	if !b.legacy.dates || !utc {
		conv = conversion{}
	}
	return t, conv, nil
}
