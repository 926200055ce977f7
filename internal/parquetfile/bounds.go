package parquetfile

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/hudifs/hudifs/internal/schema"
)

// order is how a column's values compare for minimum and maximum (the format's type-defined order, data.md §2.8).
type order uint8

const (
	orderNone order = iota // no bounds are kept
	orderBool
	orderInt32
	orderInt64
	orderFloat
	orderDouble
	orderBytes   // unsigned bytes
	orderDecimal // big-endian two's complement
)

// orderOf is the order of a row's leaf.
func orderOf(t *schema.Type) order {
	switch t.Kind {
	case schema.Boolean:
		return orderBool
	case schema.Int:
		return orderInt32
	case schema.Long:
		return orderInt64
	case schema.Float:
		return orderFloat
	case schema.Double:
		return orderDouble
	}
	if t.Logical == schema.Decimal {
		return orderDecimal
	}
	return orderBytes
}

// orderOfColumn is the order of a column as the file declares it; orderNone where its bounds cannot be used here.
func orderOfColumn(n *node) order {
	if n.unsigned() > 0 {
		return orderNone // nothing here asks for them
	}
	_, _, dec := n.isDecimal()
	switch n.typ {
	case physBool:
		return orderBool
	case physInt32:
		return orderInt32
	case physInt64:
		return orderInt64
	case physFloat:
		return orderFloat
	case physDouble:
		return orderDouble
	case physBytes, physFixed:
		if n.logical.id == logFloat16 || n.converted == convInterval || n.logical.id > logFloat16 {
			return orderNone
		}
		if dec {
			return orderDecimal
		}
		return orderBytes
	}
	return orderNone
}

// width is the length of a bound, 0 where it varies.
func (o order) width() int {
	switch o {
	case orderBool:
		return 1
	case orderInt32, orderFloat:
		return 4
	case orderInt64, orderDouble:
		return 8
	}
	return 0
}

// compare orders two plain values.
func (o order) compare(a, b []byte) int {
	switch o {
	case orderBool:
		return int(a[0]) - int(b[0])
	case orderInt32:
		return cmp(int32(binary.LittleEndian.Uint32(a)), int32(binary.LittleEndian.Uint32(b)))
	case orderInt64:
		return cmp(int64(binary.LittleEndian.Uint64(a)), int64(binary.LittleEndian.Uint64(b)))
	case orderFloat:
		return cmp(math.Float32frombits(binary.LittleEndian.Uint32(a)), math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case orderDouble:
		return cmp(math.Float64frombits(binary.LittleEndian.Uint64(a)), math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case orderDecimal:
		return compareUnscaled(a, b)
	}
	return bytes.Compare(a, b)
}

func cmp[T int32 | int64 | float32 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// compareUnscaled compares big-endian two's complement numbers of any length.
func compareUnscaled(a, b []byte) int {
	na, nb := len(a) > 0 && a[0]&0x80 != 0, len(b) > 0 && b[0]&0x80 != 0
	switch {
	case na && !nb:
		return -1
	case nb && !na:
		return 1
	case len(a) == len(b):
		return bytes.Compare(a, b)
	}
	sign := byte(0)
	if na {
		sign = 0xFF
	}
	at := func(x []byte, i, n int) byte { // the i-th of n bytes, sign extended
		if i -= n - len(x); i < 0 {
			return sign
		}
		return x[i]
	}
	n := max(len(a), len(b))
	for i := range n {
		if x, y := at(a, i, n), at(b, i, n); x != y {
			return int(x) - int(y)
		}
	}
	return 0
}

// bounds are the smallest and largest value of some values. The zero bounds are those of no values.
type bounds struct {
	min, max []byte
	any      bool // there was a value
	unknown  bool // there was a value that has no place in the order, or one that was not looked at: no bounds
}

// add widens b by other.
func (b *bounds) add(o order, other *bounds) {
	b.unknown = b.unknown || other.unknown
	if !other.any || b.unknown {
		b.any = b.any || other.any
		return
	}
	if !b.any || o.compare(other.min, b.min) < 0 {
		b.min = append([]byte{}, other.min...)
	}
	if !b.any || o.compare(other.max, b.max) > 0 {
		b.max = append([]byte{}, other.max...)
	}
	b.any = true
}

// addValue widens b by one plain value.
func (b *bounds) addValue(o order, v []byte) {
	if b.unknown {
		return
	}
	if nan(o, v) {
		b.unknown = true
		return
	}
	if !b.any {
		b.min, b.max, b.any = append(b.min[:0], v...), append(b.max[:0], v...), true
		return
	}
	if o.compare(v, b.min) < 0 {
		b.min = append(b.min[:0], v...)
	} else if o.compare(v, b.max) > 0 {
		b.max = append(b.max[:0], v...)
	}
}

// nan reports whether v is not a number. A column with one gets no bounds at all, as Java's writers do: Spark holds NaN to be the largest
// number, so bounds that leave it out would lose rows.
func nan(o order, v []byte) bool {
	switch o {
	case orderFloat:
		f := math.Float32frombits(binary.LittleEndian.Uint32(v))
		return f != f
	case orderDouble:
		f := math.Float64frombits(binary.LittleEndian.Uint64(v))
		return f != f
	}
	return false
}

// addRaw widens b by values of fixed width.
func (b *bounds) addRaw(o order, raw []byte, width int) {
	if len(raw) == 0 || b.unknown {
		return
	}
	switch o {
	case orderInt32:
		lo, hi := int32(math.MaxInt32), int32(math.MinInt32)
		for i := 0; i+4 <= len(raw); i += 4 {
			v := int32(binary.LittleEndian.Uint32(raw[i:]))
			lo, hi = min(lo, v), max(hi, v)
		}
		b.addValue(o, binary.LittleEndian.AppendUint32(nil, uint32(lo)))
		b.addValue(o, binary.LittleEndian.AppendUint32(nil, uint32(hi)))
	case orderInt64:
		lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
		for i := 0; i+8 <= len(raw); i += 8 {
			v := int64(binary.LittleEndian.Uint64(raw[i:]))
			lo, hi = min(lo, v), max(hi, v)
		}
		b.addValue(o, binary.LittleEndian.AppendUint64(nil, uint64(lo)))
		b.addValue(o, binary.LittleEndian.AppendUint64(nil, uint64(hi)))
	case orderDouble:
		b.addDoubles(raw)
	default:
		for i := 0; i+width <= len(raw); i += width {
			b.addValue(o, raw[i:i+width])
		}
	}
}

func (b *bounds) addDoubles(raw []byte) {
	first := math.Float64frombits(binary.LittleEndian.Uint64(raw))
	lo, hi, sum := first, first, false
	for i := 0; i+8 <= len(raw); i += 8 {
		v := math.Float64frombits(binary.LittleEndian.Uint64(raw[i:]))
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
		sum = sum || v != v
	}
	if sum {
		b.any, b.unknown = true, true
		return
	}
	b.addValue(orderDouble, binary.LittleEndian.AppendUint64(nil, math.Float64bits(lo)))
	b.addValue(orderDouble, binary.LittleEndian.AppendUint64(nil, math.Float64bits(hi)))
}

// signedZero gives zero bounds the sign that the format asks for: -0 as minimum, +0 as maximum, so that either zero is found.
func signedZero(o order, lo, hi []byte) (min, max []byte) {
	w := o.width()
	if o != orderFloat && o != orderDouble {
		return lo, hi
	}
	zero := func(b []byte) bool {
		return bytes.Equal(b[:w-1], make([]byte, w-1)) && b[w-1]&0x7F == 0
	}
	if zero(lo) {
		lo = make([]byte, w)
		lo[w-1] = 0x80
	}
	if zero(hi) {
		hi = make([]byte, w)
	}
	return lo, hi
}

// indexBytes is the length to which bounds of text are cut in the column index, as parquet-mr does. Bounds of column chunks are never cut:
// Hudi's column statistics take them for values (data.md §2.8).
const indexBytes = 64

// cutMin shortens a lower bound: a prefix is never greater.
func cutMin(o order, v []byte) []byte {
	if o != orderBytes || len(v) <= indexBytes {
		return v
	}
	return cutText(v)
}

// cutText cuts at a character's edge where the text is UTF-8.
func cutText(v []byte) []byte {
	n := indexBytes
	if utf8.Valid(v) {
		for n > 0 && !utf8.RuneStart(v[n]) {
			n--
		}
	}
	return v[:n]
}

// cutMax shortens an upper bound: a prefix whose last character is raised by one is never smaller. A value where that is impossible stays.
func cutMax(o order, v []byte) []byte {
	if o != orderBytes || len(v) <= indexBytes {
		return v
	}
	p := append([]byte{}, cutText(v)...)
	if !utf8.Valid(v) {
		for i := len(p) - 1; i >= 0; i-- {
			if p[i] != 0xFF {
				p[i]++
				return p[:i+1]
			}
		}
		return v
	}
	for len(p) > 0 {
		r, size := utf8.DecodeLastRune(p)
		p = p[:len(p)-size]
		switch {
		case r == 0xD7FF:
			return utf8.AppendRune(p, 0xE000)
		case r < utf8.MaxRune:
			return utf8.AppendRune(p, r+1)
		}
	}
	return v
}
