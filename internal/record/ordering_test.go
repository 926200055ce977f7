package record

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/hudifs/hudifs/internal/schema"
)

func ordering(t testing.TB, v ...any) Ordering {
	t.Helper()
	o, err := OrderingOf(v...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOrderingCompare(t *testing.T) {
	dec := func(s string) *Decimal {
		d, err := ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		a, b []any
		want int
	}{
		{[]any{int32(5)}, []any{int64(5)}, 0},
		{[]any{int32(5)}, []any{int64(6)}, -1},
		{[]any{int64(1<<53 + 1)}, []any{float64(1 << 53)}, 1},
		{[]any{float32(2.5)}, []any{2.5}, 0},
		{[]any{int64(2)}, []any{2.5}, -1},
		{[]any{3.5}, []any{int32(3)}, 1},
		{[]any{math.NaN()}, []any{math.Inf(1)}, 1},
		{[]any{math.NaN()}, []any{math.NaN()}, 0},
		{[]any{math.Copysign(0, -1)}, []any{0.0}, -1},
		{[]any{int64(3)}, []any{math.NaN()}, -1},
		{[]any{int64(3)}, []any{math.Inf(-1)}, 1},
		{[]any{dec("5.25")}, []any{dec("5.250000000000000")}, 0},
		{[]any{dec("5.25")}, []any{dec("5.3")}, -1},
		{[]any{dec("-1E+30")}, []any{dec("1")}, -1},
		{[]any{dec("123456789012345678901234567890.1")}, []any{dec("123456789012345678901234567890.2")}, -1},
		{[]any{dec("2.5")}, []any{int32(2)}, 1},
		{[]any{dec("2.5")}, []any{2.5}, 0},
		{[]any{"s05"}, []any{"s10"}, -1},
		{[]any{""}, []any{"a"}, -1},
		{[]any{"\U0001F600"}, []any{"\uFF5E"}, -1}, // surrogates are below U+FF5E
		{[]any{"\U0001F600"}, []any{"\uD7FF"}, 1},
		{[]any{[]byte{0xff}}, []any{[]byte{0x01}}, 1},
		{[]any{false}, []any{true}, -1},
		{[]any{"mysql-bin.000003", int64(101)}, []any{"mysql-bin.000003", int64(99)}, 1},
		{[]any{int64(5), nil}, []any{int64(5), int64(1)}, -1},
		{[]any{int64(6), int64(0)}, []any{int64(5), int64(9)}, 1},
		{[]any{}, []any{int64(5)}, -1},
		{[]any{}, []any{int32(0)}, 0},
		{[]any{int32(0)}, []any{"x"}, -1}, // the default is below what is no number
		{[]any{"x"}, []any{}, 1},
		{[]any{"5"}, []any{int64(5)}, 0}, // no common order: the newer wins
	} {
		a, b := ordering(t, c.a...), ordering(t, c.b...)
		if got := a.Compare(b); got != c.want {
			t.Errorf("Compare(%v, %v) = %d, want %d", a, b, got, c.want)
		}
		if got := b.Compare(a); got != -c.want {
			t.Errorf("Compare(%v, %v) = %d, want %d", b, a, got, -c.want)
		}
	}
	if !ordering(t).IsZero() || !ordering(t, nil).IsDefault() || ordering(t, int64(0)).IsDefault() || ordering(t, int32(0)).IsZero() {
		t.Error("IsZero or IsDefault is wrong")
	}
	if ordering(t, "x").SameType(ordering(t, int64(1))) || !ordering(t, int32(1)).SameType(ordering(t, 1.5)) {
		t.Error("SameType is wrong")
	}
	if _, err := OrderingOf(struct{}{}); err == nil {
		t.Error("a struct has an order")
	}
}

func FuzzCompareUTF16(f *testing.F) {
	f.Add("a\U0001F600", "a\uFFFD")
	f.Add("é", "e")
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = strings.ToValidUTF8(a, "?"), strings.ToValidUTF8(b, "?")
		want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		if got := CompareUTF16(a, b); got != want {
			t.Errorf("CompareUTF16(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

func TestOrderingReader(t *testing.T) {
	s := parseSchema(t, listOfStrings+`,{"name":"ts","type":["null","long"]},{"name":"s","type":["null",{"type":"record","name":"q","fields":[{"name":"d","type":{"type":"fixed","name":"f","size":5,"logicalType":"decimal","precision":10,"scale":2}}]}]}`)
	row := func(ts any, d any) Row {
		var st any
		if d != nil {
			st = []any{d}
		}
		r, err := NewShredder(s).Shred(nil, []any{[]any{"x", "y"}, ts, st})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r, err := NewOrderingReader(s, []string{"ts"})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Of(row(int64(7), nil)); got.Compare(ordering(t, int64(7))) != 0 {
		t.Errorf("Of = %v", got)
	}
	if got := r.Of(row(nil, nil)); !got.IsDefault() || got.IsZero() || r.Null(row(nil, nil)) != "ts" {
		t.Errorf("Of(null) = %#v", got)
	}
	two, err := NewOrderingReader(s, []string{"s.d", "ts"})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(two.Of(row(int64(7), NewDecimal(-150, 2)))); got != "[-1.50 7]" {
		t.Errorf("Of = %s", got)
	}
	for _, bad := range []string{"nope", "s", "a.list.element"} {
		if _, err := NewOrderingReader(s, []string{bad}); err == nil {
			t.Errorf("ordering by %s was taken", bad)
		}
	}
	none, err := NewOrderingReader(s, nil)
	if err != nil || !none.Of(row(nil, nil)).IsZero() {
		t.Error("no ordering fields give an ordering")
	}
	if n := testing.AllocsPerRun(100, func() { r.Of(row2) }); n != 0 {
		t.Errorf("Of allocates %v times", n)
	}
}

var row2 = Row{Null(0, 0, 0), Int64(3).Level(0, 1, 1), Null(0, 0, 2)}

func TestDecimal(t *testing.T) {
	for text, c := range map[string]struct {
		unscaled string
		scale    int
		java     string
		bytes    string
	}{
		"2.50":                 {"250", 2, "2.50", "00fa"},
		"-0.01":                {"-1", 2, "-0.01", "ff"},
		"0":                    {"0", 0, "0", "00"},
		"-128":                 {"-128", 0, "-128", "80"},
		"128":                  {"128", 0, "128", "0080"},
		"0E+2":                 {"0", -2, "0E+2", "00"},
		"1e-2":                 {"1", 2, "0.01", "01"},
		"1E-10":                {"1", 10, "1E-10", "01"},
		"0.000001":             {"1", 6, "0.000001", "01"},
		"0.0000001":            {"1", 7, "1E-7", "01"},
		"12E3":                 {"12", -3, "1.2E+4", "0c"},
		"+1.5":                 {"15", 1, "1.5", "0f"},
		".5":                   {"5", 1, "0.5", "05"},
		"-9223372036854775808": {"-9223372036854775808", 0, "-9223372036854775808", "8000000000000000"},
	} {
		d, err := ParseDecimal(text)
		if err != nil {
			t.Errorf("ParseDecimal(%q): %v", text, err)
			continue
		}
		if d.Unscaled.String() != c.unscaled || d.Scale != c.scale || d.String() != c.java || fmt.Sprintf("%x", d.Bytes()) != c.bytes {
			t.Errorf("%q = %s scale %d, text %s, bytes %x, want %+v", text, d.Unscaled, d.Scale, d, d.Bytes(), c)
		}
		if back := DecimalOf(d.Bytes(), d.Scale); back.Cmp(d) != 0 {
			t.Errorf("DecimalOf(%x) = %s, want %s", d.Bytes(), back, d)
		}
	}
	for _, bad := range []string{"", "-", "+-1", "1.2.3", "1e", "e5", "1e99999", "0x10", "1_0", strings.Repeat("9", 2000)} {
		if d, err := ParseDecimal(bad); err == nil {
			t.Errorf("ParseDecimal(%.20q) = %s, want an error", bad, d)
		}
	}
	d := NewDecimal(1005, 3)
	if _, ok := d.Rescale(2); ok {
		t.Error("1.005 went into scale 2")
	}
	if r, ok := d.Rescale(5); !ok || r.String() != "1.00500" {
		t.Errorf("1.005 with scale 5 = %v", r)
	}
	if _, ok := NewDecimal(1<<40, 0).Fixed(5); ok {
		t.Error("2^40 went into 5 bytes")
	}
}

func FuzzDecimalBytes(f *testing.F) {
	f.Add([]byte{0x80, 0}, 3)
	f.Add([]byte{0xff, 0xff}, 0)
	f.Fuzz(func(t *testing.T, b []byte, scale int) {
		if len(b) == 0 || len(b) > 40 {
			return
		}
		scale %= 50
		d := DecimalOf(b, scale)
		if got := DecimalOf(d.Bytes(), scale); got.Cmp(d) != 0 || len(d.Bytes()) > len(b) {
			t.Fatalf("%x → %s → %x", b, d, d.Bytes())
		}
		if r, ok := d.Fixed(len(b)); !ok || string(r) != string(b) {
			t.Fatalf("Fixed(%d) of %s = %x, want %x", len(b), d, r, b)
		}
		p, err := ParseDecimal(d.String())
		if err != nil || p.Unscaled.Cmp(d.Unscaled) != 0 || p.Scale != d.Scale {
			t.Fatalf("%s parses as %v, %v", d, p, err)
		}
		o := decimalOrdering(b, scale)
		if o.decimal().Cmp(d) != 0 {
			t.Fatalf("ordering of %x is %s, want %s", b, o, d)
		}
		if o.wide != !d.Unscaled.IsInt64() {
			t.Fatalf("ordering of %x: wide = %v", b, o.wide)
		}
	})
}

func TestJavaText(t *testing.T) {
	for v, want := range map[float64]string{
		1: "1.0", 1e10: "1.0E10", -2.5e-7: "-2.5E-7", 0.1: "0.1", 100: "100.0", 1234567: "1234567.0", 1e7: "1.0E7", 0.001: "0.001",
		0.00099: "9.9E-4", math.Inf(1): "Infinity", math.MaxFloat64: "1.7976931348623157E308", 123456789: "1.23456789E8",
	} {
		if got := JavaDouble(v); got != want {
			t.Errorf("JavaDouble(%v) = %s, want %s", v, got, want)
		}
	}
	if JavaDouble(math.Copysign(0, -1)) != "-0.0" || JavaDouble(0) != "0.0" || JavaFloat(0.1) != "0.1" || JavaDouble(math.NaN()) != "NaN" || JavaFloat(3.4e38) != "3.4E38" {
		t.Error("zero, NaN or a float is printed wrong")
	}
	for days, want := range map[int32]string{0: "1970-01-01", -1: "1969-12-31", 19727: "2024-01-05", 2932897: "+10000-01-01", -719529: "-0001-12-31"} {
		if got := DateText(days); got != want {
			t.Errorf("DateText(%d) = %s, want %s", days, got, want)
		}
	}
	if d, err := ParseDate("1969-12-31"); err != nil || d != -1 {
		t.Errorf("ParseDate = %d, %v", d, err)
	}
	u := &schema.Type{Kind: schema.Fixed, Size: 16, Logical: schema.UUID}
	if s, err := JavaText(FixedBytes([]byte("\x0a\xd3\x4f\xbd\xdd\x1a\x4a\x9e\xb3\x66\x74\x17\x80\x08\x65\x39")), u); err != nil || s != "0ad34fbd-dd1a-4a9e-b366-741780086539" {
		t.Errorf("uuid = %s, %v", s, err)
	}
	if _, err := JavaText(Bytes([]byte{1}), &schema.Type{Kind: schema.Bytes}); err == nil {
		t.Error("bytes have a text")
	}
}

func TestConverter(t *testing.T) {
	typ := func(text string) *schema.Type {
		return parseSchema(t, `{"name":"a","type":`+text+`}`).Leaves()[0].Type
	}
	dec := func(p, s, size int) string {
		return fmt.Sprintf(`{"type":"fixed","name":"f","size":%d,"logicalType":"decimal","precision":%d,"scale":%d}`, size, p, s)
	}
	logical := func(k, l string) string { return fmt.Sprintf(`{"type":%q,"logicalType":%q}`, k, l) }
	for _, c := range []struct {
		from, to string
		in, want any // want nil: an error
	}{
		{`"int"`, `"long"`, int32(-5), int64(-5)},
		{`"int"`, `"double"`, int32(30), 30.0},
		{`"int"`, `"float"`, int32(30), float32(30)},
		{`"long"`, `"float"`, int64(3), float32(3)},
		{`"long"`, `"double"`, int64(3), 3.0},
		{`"float"`, `"double"`, float32(0.1), 0.1},
		{`"float"`, `"double"`, float32(-3), -3.0},
		{`"int"`, `"string"`, int32(7), "7"},
		{`"long"`, `"string"`, int64(-7), "-7"},
		{`"double"`, `"string"`, 1e10, "1.0E10"},
		{`"boolean"`, `"string"`, true, "true"},
		{logical("int", "date"), `"string"`, int32(-1), "1969-12-31"},
		{`"string"`, logical("int", "date"), "1969-12-31", int32(-1)},
		{`"string"`, logical("int", "date"), "yesterday", nil},
		{`"bytes"`, `"string"`, []byte("é"), "é"},
		{`"bytes"`, `"string"`, []byte{0xff}, nil},
		{`"string"`, `"bytes"`, "é", []byte("é")},
		{`{"type":"fixed","name":"x","size":2}`, `"bytes"`, []byte{1, 2}, []byte{1, 2}},
		{dec(5, 2, 3), dec(10, 3, 5), NewDecimal(-150, 2), NewDecimal(-1500, 3)},
		{dec(10, 3, 5), dec(5, 2, 3), NewDecimal(1005, 3), nil},
		{dec(10, 3, 5), dec(5, 2, 3), NewDecimal(1000000000, 3), nil},
		{dec(5, 2, 3), `{"type":"bytes","logicalType":"decimal","precision":5,"scale":2}`, NewDecimal(7, 2), NewDecimal(7, 2)},
		{dec(5, 2, 3), `"string"`, NewDecimal(250, 2), "2.50"},
		{`"int"`, dec(10, 2, 5), int32(10), NewDecimal(1000, 2)},
		{`"double"`, dec(10, 2, 5), 0.1, NewDecimal(10, 2)},
		{`"string"`, dec(10, 2, 5), "10.005", nil},
		{`"string"`, dec(10, 2, 5), "10.00", NewDecimal(1000, 2)},
		{logical("long", "timestamp-millis"), logical("long", "timestamp-micros"), int64(1720631224939), int64(1720631224939000)},
		{logical("long", "timestamp-millis"), logical("long", "timestamp-micros"), int64(math.MaxInt64), nil},
		{logical("long", "timestamp-micros"), logical("long", "timestamp-millis"), int64(-1), int64(-1)},
		{logical("long", "timestamp-micros"), logical("long", "timestamp-millis"), int64(1720631224939123), int64(1720631224939)},
		{logical("int", "time-millis"), logical("long", "time-micros"), int32(5), int64(5000)},
		{logical("long", "timestamp-nanos"), logical("long", "timestamp-millis"), int64(-1), int64(-1)},
		{logical("long", "timestamp-millis"), `"long"`, int64(5), int64(5)},
		{`"string"`, `{"type":"enum","name":"e","symbols":["A"]}`, "A", "A"},
	} {
		from, to := typ(c.from), typ(c.to)
		conv, err := schema.Convert(to, from)
		if err != nil {
			t.Errorf("%s → %s: %v", c.from, c.to, err)
			continue
		}
		v, err := LeafValue(c.in, from)
		if err != nil {
			t.Fatal(err)
		}
		if fn := Converter(conv, to, from); fn != nil {
			v, err = fn(v)
		}
		if c.want == nil {
			if err == nil {
				t.Errorf("%s → %s: %v became %v, want an error", c.from, c.to, c.in, GoValue(v, to))
			}
			continue
		}
		if err != nil {
			t.Errorf("%s → %s: %v: %v", c.from, c.to, c.in, err)
			continue
		}
		if v.Kind() != PhysicalKind(to) {
			t.Errorf("%s → %s: value of kind %s, want %s", c.from, c.to, v.Kind(), PhysicalKind(to))
		}
		got := GoValue(v, to)
		if d, ok := got.(*Decimal); ok {
			if w := c.want.(*Decimal); d.Scale != w.Scale || d.Unscaled.Cmp(w.Unscaled) != 0 {
				t.Errorf("%s → %s: %v became %s, want %s", c.from, c.to, c.in, d, w)
			}
		} else if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s → %s: %v became %v, want %v", c.from, c.to, c.in, got, c.want)
		}
	}
}
