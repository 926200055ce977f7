package schema

import (
	"math"
	"slices"
)

// logicalNames are the logical types as Avro spells them, and the kinds that may carry them.
var logicalNames = map[string]struct {
	logical Logical
	kinds   []Kind
}{
	"date":                   {Date, []Kind{Int}},
	"time-millis":            {TimeMillis, []Kind{Int}},
	"time-micros":            {TimeMicros, []Kind{Long}},
	"timestamp-millis":       {TimestampMillis, []Kind{Long}},
	"timestamp-micros":       {TimestampMicros, []Kind{Long}},
	"timestamp-nanos":        {TimestampNanos, []Kind{Long}},
	"local-timestamp-millis": {LocalTimestampMillis, []Kind{Long}},
	"local-timestamp-micros": {LocalTimestampMicros, []Kind{Long}},
	"local-timestamp-nanos":  {LocalTimestampNanos, []Kind{Long}},
	"decimal":                {Decimal, []Kind{Bytes, Fixed}},
	"uuid":                   {UUID, []Kind{String, Fixed}},
}

// String returns the Avro name of the logical type, "" for none.
func (l Logical) String() string {
	for name, e := range logicalNames {
		if e.logical == l {
			return name
		}
	}
	return ""
}

// String returns the Avro name of the kind.
func (k Kind) String() string {
	names := [...]string{"null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed", "enum", "record", "array", "map", "union"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// setLogical reads o's logical type into t. As Java does, one that does not fit the kind is ignored and left among the properties.
func setLogical(t *Type, o *object) {
	name, _ := o.vals["logicalType"].(string)
	e, ok := logicalNames[name]
	if !ok || !slices.Contains(e.kinds, t.Kind) {
		return
	}
	switch e.logical {
	case Decimal:
		p, ok := o.number("precision")
		if !ok {
			return
		}
		s, _ := o.number("scale")
		if !validDecimal(t, p, s) {
			return
		}
		t.Precision, t.Scale = p, s
	case UUID:
		if t.Kind == Fixed && t.Size != 16 {
			return
		}
	}
	t.Logical = e.logical
}

// validDecimal reports whether t can hold decimals of precision p and scale s.
func validDecimal(t *Type, p, s int) bool {
	if p < 1 || s < 0 || s > p {
		return false
	}
	return t.Kind == Bytes || t.Size >= DecimalSize(p)
}

// DecimalSize is the smallest number of bytes whose two's complement holds every decimal of precision p: 15 → 7, 38 → 16 (data.md §2.3).
func DecimalSize(p int) int {
	if p < 1 {
		return 1
	}
	bits := math.Floor(float64(p)*math.Log2(10)) + 1 // of 10^p-1; p·log2(10) is never near a whole number for p that occur
	return int((bits + 1 + 7) / 8)
}

// typeKeys are the JSON keys that the tree has understood of a type.
func typeKeys(t *Type) []string {
	keys := []string{"type", "name", "namespace", "aliases"}
	if t.Doc != "" {
		keys = append(keys, "doc")
	}
	switch t.Kind {
	case Record:
		keys = append(keys, "fields")
	case Enum:
		keys = append(keys, "symbols")
	case Fixed:
		keys = append(keys, "size")
	}
	if t.Logical != NoLogical {
		keys = append(keys, "logicalType")
	}
	if t.Logical == Decimal {
		keys = append(keys, "precision", "scale")
	}
	return keys
}

// props are o's other keys.
func props(o *object, known ...string) []Prop {
	var out []Prop
	for _, k := range o.keys {
		if !slices.Contains(known, k) {
			out = append(out, Prop{Name: k, Value: plain(o.vals[k])})
		}
	}
	return out
}

// named reports whether the type has a name of its own.
func (t *Type) named() bool { return t.Kind == Record || t.Kind == Enum || t.Kind == Fixed }

// FullName is the name with its namespace.
func (t *Type) FullName() string {
	if t.Namespace == "" {
		return t.Name
	}
	return t.Namespace + "." + t.Name
}

// Primitive reports whether the type is a leaf column by itself.
func (t *Type) Primitive() bool { return t.Kind >= Boolean && t.Kind <= Enum }
