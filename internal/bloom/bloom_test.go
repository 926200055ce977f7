package bloom

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestMurmur(t *testing.T) {
	for key, want := range map[string]int32{"abc": 1775488903, "TXN-007": -693178798, "é": -384040333, "": 0} {
		if got := murmur(key, 0); got != want {
			t.Errorf("murmur(%q) = %d, want %d", key, got, want)
		}
	}
	f := &Filter{bits: 2587966}
	var h int32
	for i, want := range []uint32{2191876, 2327249, 2515256, 1981199} {
		h = murmur("TXN-007", h)
		if got := f.position(h); got != want {
			t.Errorf("position %d = %d, want %d", i, got, want)
		}
	}
}

// plainMurmur is the hash written as in Hadoop, step by step.
func plainMurmur(b []byte, seed int32) int32 {
	const m = uint32(0x5bd1e995)
	h := uint32(seed) ^ uint32(len(b))
	for i := range len(b) / 4 {
		k := binary.LittleEndian.Uint32(b[4*i:]) * m
		h = h*m ^ (k^k>>24)*m
	}
	if l, left := len(b), len(b)%4; left != 0 {
		if left >= 3 {
			h ^= uint32(int32(int8(b[l-3])) << 16)
		}
		if left >= 2 {
			h ^= uint32(int32(int8(b[l-2])) << 8)
		}
		h ^= uint32(int32(int8(b[l-1])))
		h *= m
	}
	h = (h ^ h>>13) * m
	return int32(h ^ h>>15)
}

func FuzzMurmur(f *testing.F) {
	f.Add("TXN-007", int32(0))
	f.Add("é\xff\x80", int32(-5))
	f.Fuzz(func(t *testing.T, key string, seed int32) {
		if got, want := murmur(key, seed), plainMurmur([]byte(key), seed); got != want {
			t.Errorf("murmur(%q, %d) = %d, want %d", key, seed, got, want)
		}
	})
}

func TestSize(t *testing.T) {
	for _, c := range []struct {
		n    int
		p    float64
		bits int32
		k    int
	}{{60000, 1e-9, 2587966, 30}, {10000, 1e-9, 431328, 30}, {10, 1e-6, 288, 20}} {
		if m, k := Size(c.n, c.p); m != c.bits || k != c.k {
			t.Errorf("Size(%d, %v) = %d, %d, want %d, %d", c.n, c.p, m, k, c.bits, c.k)
		}
	}
	if got := len(Default().String()); got != 431380 {
		t.Errorf("the default filter has %d characters, want 431380", got)
	}
}

func FuzzFastMod(f *testing.F) {
	f.Add(int32(-2147483648), int32(2587966))
	f.Add(int32(2147483647), int32(2))
	f.Fuzz(func(t *testing.T, h, n int32) {
		if n < 2 {
			return
		}
		want := int64(h) % int64(n)
		if want < 0 {
			want = -want
		}
		b := &Filter{bits: n}
		if got := b.position(h); int64(got) != want {
			t.Errorf("|%d mod %d| = %d, want %d", h, n, got, want)
		}
	})
}

func TestFilters(t *testing.T) {
	for _, typeCode := range []string{Simple, DynamicV0} {
		f, err := New(typeCode, 100, 1e-6, 350)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for i := range 900 {
			keys = append(keys, fmt.Sprintf("key-%d-é\xff", i*i))
		}
		for i, k := range keys {
			f.Add(k)
			if i == 99 && typeCode == DynamicV0 && (len(f.rows) != 1 || f.current != 100) {
				t.Errorf("after 100 keys: %d rows, %d in the last", len(f.rows), f.current)
			}
			if i == 100 && typeCode == DynamicV0 && (len(f.rows) != 2 || f.current != 1) {
				t.Errorf("after 101 keys: %d rows, %d in the last", len(f.rows), f.current)
			}
		}
		if typeCode == DynamicV0 && (len(f.rows) != 4 || f.current != 600) {
			t.Errorf("after 900 keys: %d rows, %d in the last, want 4 and 600", len(f.rows), f.current)
		}
		back, err := Parse(typeCode, f.String())
		if err != nil {
			t.Fatal(err)
		}
		if back.String() != f.String() || back.TypeCode() != typeCode {
			t.Errorf("%s: parsing and printing changed the filter", typeCode)
		}
		for _, k := range keys {
			if !f.Has(k) || !back.Has(k) {
				t.Fatalf("%s: key %q is lost", typeCode, k)
			}
		}
	}
}

func TestFalsePositives(t *testing.T) {
	f, err := New(DynamicV0, 1000, 0.01, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		f.Add(fmt.Sprint("in-", i))
	}
	wrong := 0
	for i := range 10000 {
		if f.Has(fmt.Sprint("out-", i)) {
			wrong++
		}
	}
	if wrong > 200 {
		t.Errorf("%d of 10000 absent keys are reported, want about 100", wrong)
	}
}

func TestAddAllIsAdd(t *testing.T) {
	var keys []string
	for i := range 1003 {
		keys = append(keys, strings.Repeat("é", i/97)+fmt.Sprint("k", i))
	}
	for _, typeCode := range []string{Simple, DynamicV0} {
		one, err := New(typeCode, 100, 1e-9, 450)
		if err != nil {
			t.Fatal(err)
		}
		all, err := New(typeCode, 100, 1e-9, 450)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			one.Add(k)
		}
		all.AddAll(keys[:5])
		all.AddAll(keys[5:])
		all.AddAll(nil)
		if one.String() != all.String() {
			t.Errorf("%s: AddAll gives another filter than Add", typeCode)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		typ string
		n   int
		p   float64
	}{{"BLOOM", 1, 0.1}, {Simple, 0, 0.1}, {Simple, 1, 0}, {Simple, 1, 1}, {DynamicV0, -1, 0.5}} {
		if _, err := New(c.typ, c.n, c.p, 10); err == nil {
			t.Errorf("New(%v): no error", c)
		}
	}
}

func TestParseDamage(t *testing.T) {
	for _, typeCode := range []string{Simple, DynamicV0} {
		f, err := New(typeCode, 10, 1e-6, 20)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 15 {
			f.Add(fmt.Sprint(i))
		}
		good, err := f.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(good) {
			if _, err := ParseBinary(typeCode, good[:n]); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s cut at %d of %d: error %v", typeCode, n, len(good), err)
			}
		}
		if _, err := ParseBinary(typeCode, append(good, 0)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s with a byte too many: error %v", typeCode, err)
		}
		huge := append([]byte{}, good...)
		binary.BigEndian.PutUint32(huge[9:], 0x7fffffff)
		if _, err := ParseBinary(typeCode, huge); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s of 2^31 bits: error %v", typeCode, err)
		}
	}
	if _, err := Parse(Simple, "not base64!"); !errors.Is(err, ErrDamaged) {
		t.Errorf("no base64: error %v", err)
	}
	if _, err := Parse("NEW_TYPE", ""); err == nil || !strings.Contains(err.Error(), "NEW_TYPE") {
		t.Errorf("another type: error %v", err)
	}
	if f, err := New(Simple, 10, 1e-6, 0); err != nil {
		t.Fatal(err)
	} else if old, err := Parse("", f.String()); err != nil || old.TypeCode() != Simple {
		t.Errorf("without a type code: %v, %v", old, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, typeCode := range []string{Simple, DynamicV0} {
		b, err := New(typeCode, 10, 0.01, 20)
		if err != nil {
			f.Fatal(err)
		}
		b.Add("x")
		data, err := b.AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(typeCode == Simple, data)
	}
	f.Fuzz(func(t *testing.T, simple bool, data []byte) {
		typeCode := DynamicV0
		if simple {
			typeCode = Simple
		}
		b, err := ParseBinary(typeCode, append([]byte{}, data...))
		if err != nil {
			return
		}
		if again, err := b.AppendBinary(nil); err != nil || string(again) != string(data) {
			t.Fatalf("%x printed as %x", data, again)
		}
		b.Add("key")
		if !b.Has("key") {
			t.Fatal("a key that was added is absent")
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	f := Default()
	for b.Loop() {
		f.Add("trip-0000012345")
	}
}

func BenchmarkAddAll(b *testing.B) {
	f := Default()
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprintf("trip-%010d", i*7919)
	}
	for b.Loop() {
		f.AddAll(keys)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/key")
}

func BenchmarkHas(b *testing.B) {
	f := Default()
	f.Add("trip-0000012345")
	for b.Loop() {
		f.Has("trip-0000012345")
	}
}
