package bloom

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestMurmur(t *testing.T) {
	for key, want := range map[string]int32{"abc": 1775488903, "TXN-007": -693178798, "é": -384040333, "": 0} {
		if got := murmur(key, 0); got != want {
			t.Errorf("murmur(%q) = %d, want %d", key, got, want)
		}
	}
}

func TestPositions(t *testing.T) {
	f := NewDefault()
	var got []int32
	f.each("TXN-007", func(bit int32) bool { got = append(got, bit); return len(got) < 4 })
	if want := []int32{2191876, 2327249, 2515256, 1981199}; !slices.Equal(got, want) {
		t.Errorf("positions = %v, want %v", got, want)
	}
}

func TestParameters(t *testing.T) {
	for _, c := range []struct {
		n    int
		p    float64
		bits int32
		k    int
	}{{60000, 1e-9, 2587966, 30}, {10000, 1e-9, 431328, 30}, {10, 1e-6, 288, 20}} {
		if m, k := Parameters(c.n, c.p); m != c.bits || k != c.k {
			t.Errorf("Parameters(%d, %g) = %d, %d, want %d, %d", c.n, c.p, m, k, c.bits, c.k)
		}
	}
	if n := len(NewDefault().Bytes()); n != 323534 {
		t.Errorf("an empty default filter has %d bytes, want 323534", n)
	}
	if n := len(NewDefault().String()); n != 431380 {
		t.Errorf("its text has %d characters, want 431380", n)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, f := range []*Filter{New(100, 1e-6), NewDynamic(10, 1e-6, 35), NewDynamic(1000, 1e-9, 5000)} {
		for i := range 60 {
			f.Add(fmt.Sprintf("key-%d", i))
		}
		g, err := Parse(f.TypeCode(), f.String())
		if err != nil {
			t.Fatalf("Parse(%s) = %v", f.TypeCode(), err)
		}
		for i := range 60 {
			if k := fmt.Sprintf("key-%d", i); !g.MayContain(k) || !f.MayContain(k) {
				t.Errorf("%s filter lost %s", f.TypeCode(), k)
			}
		}
		if g.String() != f.String() {
			t.Errorf("%s filter changed on a round trip", f.TypeCode())
		}
	}
}

func TestDynamicRows(t *testing.T) {
	f := NewDynamic(10, 1e-6, 35)
	for i := range 100 {
		f.Add(fmt.Sprint(i))
	}
	if len(f.rows) != 4 || f.current != 10 {
		t.Errorf("100 keys at 10 a row and at most 35 made %d rows, the last with %d keys; want 4 and 10", len(f.rows), f.current)
	}
	miss := 0
	for i := range 1000 {
		if f.MayContain(fmt.Sprintf("absent-%d", i)) {
			miss++
		}
	}
	if miss > 100 {
		t.Errorf("%d of 1000 absent keys seem present: the keys went all into one row", miss)
	}
}

func TestDamage(t *testing.T) {
	f := NewDynamic(10, 1e-6, 35)
	for i := range 30 {
		f.Add(fmt.Sprint(i))
	}
	b := f.String()
	for n := range len(b) {
		if _, err := Parse(Dynamic, b[:n]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("Parse of the first %d characters = %v, want ErrDamaged", n, err)
		}
	}
	if _, err := Parse("OTHER", b); !errors.Is(err, ErrDamaged) {
		t.Errorf("Parse of an unknown type = %v, want ErrDamaged", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Dynamic, NewDynamic(10, 1e-6, 35).String())
	f.Add(Simple, New(10, 1e-6).String())
	f.Add(Simple, strings.Repeat("/", 40))
	f.Fuzz(func(t *testing.T, typ, text string) {
		g, err := Parse(typ, text)
		if err != nil {
			return
		}
		g.Add("k")
		if !g.MayContain("k") {
			t.Error("a parsed filter loses a key that is added")
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	f := NewDefault()
	for b.Loop() {
		f.Add("trip-0000012345")
	}
}
