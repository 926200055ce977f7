package parquetfile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	for _, codec := range []string{"", "zstd", "gzip", "uncompressed", "lz4_raw"} {
		for _, old := range []bool{false, true} {
			for _, n := range []int{0, 1, 7, 1000, 25000} {
				if n > 1000 && (codec != "" || old) {
					continue
				}
				t.Run(fmt.Sprintf("codec=%s/old=%v/rows=%d", codec, old, n), func(t *testing.T) {
					r := rand.New(rand.NewPCG(1, uint64(n)))
					s := mustSchema(t, wideSchema)
					rows := randomRows(t, r, s, n, !old)
					o := WriteOptions{Codec: codec, OldListShape: old, PageBytes: 4 << 10}
					b := writeRows(t, s, o, rows)
					f := openBytes(t, b)
					if f.Schema().String() != s.String() {
						t.Errorf("schema = %s, want %s", f.Schema(), s)
					}
					if f.NumRows() != int64(n) {
						t.Errorf("NumRows = %d, want %d", f.NumRows(), n)
					}
					got, err := readRows(f, s)
					if err != nil {
						t.Fatal(err)
					}
					sameRows(t, got, rows)
					if again := writeRows(t, s, o, rows); !bytes.Equal(again, b) {
						t.Errorf("the same rows gave other bytes")
					}
				})
			}
		}
	}
}

func TestRowGroups(t *testing.T) {
	s := mustSchema(t, flatSchema)
	rows := randomRows(t, rand.New(rand.NewPCG(3, 4)), s, 60000, true)
	b := writeRows(t, s, WriteOptions{RowGroupBytes: 100 << 10, PageBytes: 4 << 10, Codec: "uncompressed"}, rows)
	f := openBytes(t, b)
	if f.NumRowGroups() < 3 {
		t.Errorf("%d row groups, want several", f.NumRowGroups())
	}
	got, err := readRows(f, s)
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, got, rows)
}
