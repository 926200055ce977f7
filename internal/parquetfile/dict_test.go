package parquetfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestDictSpread sees that numbers that end in many zero bits do not pile up in one part of the table: a column of them would take minutes.
func TestDictSpread(t *testing.T) {
	for name, number := range map[string]func(i int) uint64{
		"small":      func(i int) uint64 { return uint64(i) },
		"doubles":    func(i int) uint64 { return math.Float64bits(float64(i)) },
		"quarters":   func(i int) uint64 { return math.Float64bits(float64(i) / 4) },
		"days in us": func(i int) uint64 { return uint64(i) * 86400_000_000 },
		"high":       func(i int) uint64 { return uint64(i) << 45 },
	} {
		t.Run(name, func(t *testing.T) {
			const n = 100000
			d := newDictBuilder(8)
			for i := range n {
				if c := d.code8(number(i)); c != int32(i) {
					t.Fatalf("code of number %d = %d", i, c)
				}
			}
			longest, run := 0, 0
			for _, c := range d.table {
				if run++; c == 0 {
					run = 0
				}
				longest = max(longest, run)
			}
			if longest > 200 {
				t.Errorf("%d full places in a row", longest)
			}
			for i := 0; i < n; i += 997 {
				if c := d.code8(number(i)); c != int32(i) {
					t.Errorf("code of number %d = %d the second time", i, c)
				}
			}
		})
	}
}

func TestDictStrings(t *testing.T) {
	d := newDictBuilder(0)
	var want []byte
	for i := range 5000 {
		v := fmt.Appendf(nil, "%*d", i%17, i)
		if c := d.code(v); c != int32(i) {
			t.Fatalf("code of %q = %d, want %d", v, c, i)
		}
		want = binary.LittleEndian.AppendUint32(want, uint32(len(v)))
		want = append(want, v...)
		if c := d.code(v); c != int32(i) {
			t.Fatalf("code of %q = %d the second time, want %d", v, c, i)
		}
	}
	if got := d.appendPlain(nil, seq(5000)); !slices.Equal(got, want) || !slices.Equal(d.raw, want) {
		t.Error("the dictionary's plain form is not that of its values")
	}
	d.truncate(10)
	if got := d.plainSize(seq(10)); got != len(d.raw) {
		t.Errorf("plainSize after truncate = %d, want %d", got, len(d.raw))
	}
	seed := seedDict(&dictionary{n: d.n, raw: d.raw, offs: d.offs}, 0)
	if c := seed.code([]byte("    3")); c != 10 {
		t.Errorf("a new value of a seeded dictionary got code %d, want 10", c)
	}
	if c := seed.code(seed.value(4)); c != 4 {
		t.Errorf("an old value of a seeded dictionary got code %d, want 4", c)
	}
}

func seq(n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}
