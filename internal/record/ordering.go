package record

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/hudifs/hudifs/internal/schema"
)

// orderingKind is the Java class that an ordering value would have.
type orderingKind uint8

const (
	ordNone orderingKind = iota
	ordBool
	ordInt
	ordLong
	ordFloat
	ordDouble
	ordDecimal
	ordString
	ordBytes
	ordTuple
)

// Ordering is a comparable ordering value, of one or several fields. The zero Ordering is "none known" (IsZero).
//
// Logical types are their raw number: a date is an int, a timestamp a long in the column's unit.
type Ordering struct {
	kind  orderingKind
	wide  bool  // ordDecimal: the unscaled value is in s, in two's complement
	scale int32 // ordDecimal
	n     int64 // numbers, booleans, the bits of a double
	s     string
	tuple []Ordering
}

// DefaultOrdering is Java's Integer 0, the ordering value of a row without one and of a delete that wins by arrival (data.md §4.6).
var DefaultOrdering = Ordering{kind: ordInt}

// IsZero reports whether there is no ordering value.
func (o Ordering) IsZero() bool { return o.kind == ordNone }

// IsDefault reports whether the value is none, or Java's Integer 0: a delete with it wins by arrival.
func (o Ordering) IsDefault() bool { return o.kind == ordNone || o.kind == ordInt && o.n == 0 }

// SameType reports whether two values are of types that Compare orders truthfully: both numbers, or of the same kind.
func (o Ordering) SameType(p Ordering) bool {
	return o.kind == p.kind || o.number() && p.number()
}

func (o Ordering) number() bool { return o.kind >= ordInt && o.kind <= ordDecimal }

// Compare orders two values of the same fields as Java does (data.md §4.6); numbers of different width compare by value. The default value is
// below every value that is no number; other values of types that have no common order compare as equal, so that the newer one wins.
func (o Ordering) Compare(p Ordering) int {
	if o.kind == p.kind {
		return o.compareSame(p)
	}
	if o.number() && p.number() {
		return compareNumbers(o, p)
	}
	switch {
	case o.IsDefault() && p.IsDefault():
		return 0
	case o.IsZero() && p.number():
		return compareNumbers(DefaultOrdering, p)
	case p.IsZero() && o.number():
		return compareNumbers(o, DefaultOrdering)
	case o.IsDefault():
		return -1
	case p.IsDefault():
		return 1
	}
	return 0
}

func (o Ordering) compareSame(p Ordering) int {
	switch o.kind {
	case ordBool, ordInt, ordLong:
		return cmp.Compare(o.n, p.n)
	case ordFloat, ordDouble:
		return compareJavaDouble(math.Float64frombits(uint64(o.n)), math.Float64frombits(uint64(p.n)))
	case ordDecimal:
		if o.scale == p.scale && !o.wide && !p.wide {
			return cmp.Compare(o.n, p.n)
		}
		return o.decimal().Cmp(p.decimal())
	case ordString:
		return CompareUTF16(o.s, p.s)
	case ordBytes:
		return strings.Compare(o.s, p.s)
	case ordTuple:
		for i := range min(len(o.tuple), len(p.tuple)) {
			if c := o.tuple[i].Compare(p.tuple[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(o.tuple), len(p.tuple))
	}
	return 0
}

func compareNumbers(o, p Ordering) int {
	of, pf := o.kind == ordFloat || o.kind == ordDouble, p.kind == ordFloat || p.kind == ordDouble
	switch {
	case of && pf:
		return compareJavaDouble(math.Float64frombits(uint64(o.n)), math.Float64frombits(uint64(p.n)))
	case of:
		return -compareWithFloat(p, math.Float64frombits(uint64(o.n)))
	case pf:
		return compareWithFloat(o, math.Float64frombits(uint64(p.n)))
	case o.kind == ordDecimal || p.kind == ordDecimal:
		return o.decimal().Cmp(p.decimal())
	}
	return cmp.Compare(o.n, p.n)
}

// compareWithFloat compares a whole or decimal number with f exactly.
func compareWithFloat(o Ordering, f float64) int {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 1):
		return -1
	case math.IsInf(f, -1):
		return 1
	}
	r := new(big.Rat).SetFloat64(f)
	d := o.decimal()
	q := new(big.Rat).SetInt(d.Unscaled)
	if d.Scale > 0 {
		q.SetFrac(d.Unscaled, pow10(d.Scale))
	} else if d.Scale < 0 {
		q.SetInt(new(big.Int).Mul(d.Unscaled, pow10(-d.Scale)))
	}
	return q.Cmp(r)
}

// compareJavaDouble is Double.compareTo: -0.0 below 0.0, NaN above all.
func compareJavaDouble(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case math.IsNaN(a) || math.IsNaN(b):
		return sign(boolInt(math.IsNaN(a)) - boolInt(math.IsNaN(b)))
	}
	return boolInt(math.Signbit(b)) - boolInt(math.Signbit(a))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (o Ordering) decimal() *Decimal {
	if o.wide {
		return DecimalOf([]byte(o.s), int(o.scale))
	}
	return NewDecimal(o.n, int(o.scale))
}

// CompareUTF16 orders strings as Java's String.compareTo: by UTF-16 code unit, which differs from byte order only where a character beyond the
// basic plane meets one from U+E000 up.
func CompareUTF16(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		// Lead bytes from 0xF0 are characters written as surrogates, D800–DFFF; 0xEE and 0xEF lead U+E000–U+FFFF.
		if x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0) {
			return cmp.Compare(y, x)
		}
		return cmp.Compare(x, y)
	}
	return cmp.Compare(len(a), len(b))
}

// Values returns the values as Go values: bool, int32, int64, float32, float64, *Decimal, string, []byte; none for the zero Ordering.
func (o Ordering) Values() []any {
	switch o.kind {
	case ordNone:
		return nil
	case ordTuple:
		out := make([]any, 0, len(o.tuple))
		for _, p := range o.tuple {
			out = append(out, p.Values()...)
		}
		return out
	case ordBool:
		return []any{o.n != 0}
	case ordInt:
		return []any{int32(o.n)}
	case ordLong:
		return []any{o.n}
	case ordFloat:
		return []any{float32(math.Float64frombits(uint64(o.n)))}
	case ordDouble:
		return []any{math.Float64frombits(uint64(o.n))}
	case ordDecimal:
		return []any{o.decimal()}
	case ordBytes:
		return []any{[]byte(o.s)}
	}
	return []any{o.s}
}

// String prints the value for messages.
func (o Ordering) String() string {
	v := o.Values()
	if len(v) == 1 {
		return fmt.Sprint(v[0])
	}
	return fmt.Sprint(v)
}

// OrderingOf makes an ordering from Go values, as delete blocks carry them: bool, int, int32, int64, float32, float64, string, []byte, *Decimal;
// nil is the default. Without values it is the zero Ordering.
func OrderingOf(vals ...any) (Ordering, error) {
	if len(vals) == 0 {
		return Ordering{}, nil
	}
	if len(vals) == 1 {
		return orderingOf(vals[0])
	}
	o := Ordering{kind: ordTuple, tuple: make([]Ordering, len(vals))}
	for i, v := range vals {
		var err error
		if o.tuple[i], err = orderingOf(v); err != nil {
			return Ordering{}, err
		}
	}
	return o, nil
}

func orderingOf(v any) (Ordering, error) {
	switch v := v.(type) {
	case nil:
		return DefaultOrdering, nil
	case bool:
		return Ordering{kind: ordBool, n: int64(boolInt(v))}, nil
	case int:
		return Ordering{kind: ordLong, n: int64(v)}, nil
	case int32:
		return Ordering{kind: ordInt, n: int64(v)}, nil
	case int64:
		return Ordering{kind: ordLong, n: v}, nil
	case float32:
		return Ordering{kind: ordFloat, n: int64(math.Float64bits(float64(v)))}, nil
	case float64:
		return Ordering{kind: ordDouble, n: int64(math.Float64bits(v))}, nil
	case string:
		return Ordering{kind: ordString, s: v}, nil
	case []byte:
		return Ordering{kind: ordBytes, s: string(v)}, nil
	case *Decimal:
		return decimalOrdering(v.Bytes(), v.Scale), nil
	}
	return Ordering{}, fmt.Errorf("a value of Go type %T has no order", v)
}

// decimalOrdering makes a decimal from its unscaled bytes, without memory of its own where it fits 64 bits.
func decimalOrdering(b []byte, scale int) Ordering {
	o := Ordering{kind: ordDecimal, scale: int32(scale)}
	for len(b) > 8 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	if len(b) > 8 {
		o.wide, o.s = true, string(b)
		return o
	}
	if len(b) > 0 && b[0] >= 0x80 {
		o.n = -1
	}
	for _, c := range b {
		o.n = o.n<<8 | int64(c)
	}
	return o
}

// OrderingReader takes the ordering value out of rows of one schema. Safe for concurrent use.
type OrderingReader struct {
	fields []orderingField
}

type orderingField struct {
	leaf schema.Leaf
}

// NewOrderingReader returns a reader of the named (possibly dotted) fields. Without fields every row's ordering is zero.
func NewOrderingReader(s *schema.Schema, fields []string) (*OrderingReader, error) {
	r := &OrderingReader{}
	for _, name := range fields {
		i := s.LeafOf(name)
		if i < 0 {
			return nil, fmt.Errorf("ordering field %q is not a primitive field of the schema", name)
		}
		l := s.Leaves()[i]
		if l.MaxRep > 0 {
			return nil, fmt.Errorf("ordering field %q lies inside a list or map", name)
		}
		r.fields = append(r.fields, orderingField{leaf: l})
	}
	return r, nil
}

// Of returns row's ordering value. A null counts as DefaultOrdering (data.md §4.6). The value does not share the row's memory.
func (r *OrderingReader) Of(row Row) Ordering {
	switch len(r.fields) {
	case 0:
		return Ordering{}
	case 1:
		return r.fields[0].of(row)
	}
	o := Ordering{kind: ordTuple, tuple: make([]Ordering, len(r.fields))}
	for i := range r.fields {
		o.tuple[i] = r.fields[i].of(row)
	}
	return o
}

// Null returns the name of the first ordering field that is null in row, "" where none is. Such a row must not be written (data.md §4.6).
func (r *OrderingReader) Null(row Row) string {
	for i := range r.fields {
		l := &r.fields[i].leaf
		if j := Find(row, l.Index); j < 0 || IsNull(row[j], l) {
			return strings.Join(l.Path, ".")
		}
	}
	return ""
}

func (f *orderingField) of(row Row) Ordering {
	i := Find(row, f.leaf.Index)
	if i < 0 || IsNull(row[i], &f.leaf) {
		return DefaultOrdering
	}
	v := row[i]
	switch t := f.leaf.Type; t.Kind {
	case schema.Boolean:
		return Ordering{kind: ordBool, n: int64(boolInt(v.Boolean()))}
	case schema.Int:
		return Ordering{kind: ordInt, n: int64(v.Int32())}
	case schema.Long:
		return Ordering{kind: ordLong, n: v.Int64()}
	case schema.Float:
		return Ordering{kind: ordFloat, n: int64(math.Float64bits(float64(v.Float())))}
	case schema.Double:
		return Ordering{kind: ordDouble, n: int64(math.Float64bits(v.Double()))}
	case schema.String, schema.Enum:
		return Ordering{kind: ordString, s: string(v.ByteArray())}
	default:
		if t.Logical == schema.Decimal {
			return decimalOrdering(v.ByteArray(), t.Scale)
		}
		return Ordering{kind: ordBytes, s: string(v.ByteArray())}
	}
}
