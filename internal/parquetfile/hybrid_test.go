package parquetfile

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestHybrid(t *testing.T) {
	r := rand.New(rand.NewPCG(1, *seedFlag))
	for width := uint(1); width <= 24; width++ {
		for _, n := range []int{0, 1, 7, 8, 9, 63, 64, 1000} {
			for _, same := range []int{1, 3, 20, 500} {
				vals := make([]int32, n)
				for i := range vals {
					if i > 0 && r.IntN(same) > 0 {
						vals[i] = vals[i-1]
					} else {
						vals[i] = r.Int32N(1 << width)
					}
				}
				b := appendHybrid(nil, vals, width)
				h := newHybrid(b, width)
				got := make([]int32, n)
				for at := 0; at < n; {
					k := min(n-at, 1+r.IntN(100))
					if err := fillHybrid(&h, got[at:at+k]); err != nil {
						t.Fatalf("width %d, %d values: %v", width, n, err)
					}
					at += k
				}
				if !slices.Equal(got, vals) {
					t.Fatalf("width %d, %d values: got %v, want %v", width, n, got, vals)
				}
			}
		}
	}
}

// FuzzHybrid reads any bytes as runs: it must end, with an error or not, and take no more than it is asked for.
func FuzzHybrid(f *testing.F) {
	f.Add([]byte{0x03, 0x88, 0xC6, 0xFA}, uint8(3))
	f.Add([]byte{0x10, 0x01}, uint8(1))
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x01}, uint8(1))
	f.Add([]byte{}, uint8(0))
	f.Fuzz(func(t *testing.T, b []byte, width uint8) {
		h := newHybrid(b, uint(width%33))
		dst := make([]int32, 1000)
		for range 10 {
			if n, _, err := h.same(5); err == nil && n > 0 {
				h.skipRun(n)
			}
			if fillHybrid(&h, dst) != nil {
				return
			}
		}
	})
}

func FuzzDelta(f *testing.F) {
	f.Add([]byte{128, 1, 4, 5, 2, 2, 0, 0, 0, 0}, 5)
	f.Add([]byte{128, 1, 4, 255, 255, 255, 7, 2}, 1000)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		n = min(max(n, 0), 1<<16)
		for _, enc := range []int32{encDeltaInt, encDeltaLen, encDeltaBytes} {
			for _, p := range []physical{physInt32, physInt64, physBytes, physFixed} {
				out, err := decodeDelta(enc, p, 4, b, n)
				if err == nil && p == physBytes {
					if _, _, err := scanPlain(nil, out, 0, 0); err != nil {
						t.Errorf("decoded to no plain bytes: %v", err)
					}
				}
			}
		}
	})
}
