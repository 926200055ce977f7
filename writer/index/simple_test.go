package index_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/bloom"
	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/faultstore"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/writer/index"
)

const keySchema = `{"type":"record","name":"r","fields":[{"name":"_hoodie_record_key","type":["null","string"],"default":null},{"name":"v","type":["null","string"],"default":null}]}`

type footers func(keys []string, set func(k, v string))

func filterOf(keys []string) *bloom.Filter {
	f := bloom.Default()
	f.AddAll(keys)
	return f
}

func with(lo, hi string) footers {
	return func(keys []string, set func(k, v string)) {
		f := filterOf(keys)
		set("hoodie_bloom_filter_type_code", f.TypeCode())
		set("org.apache.hudi.bloomfilter", f.String())
		set("hoodie_min_record_key", lo)
		set("hoodie_max_record_key", hi)
	}
}

func byteOrder(keys []string, set func(k, v string)) {
	with(slices.Min(keys), slices.Max(keys))(keys, set)
}

func unitOrder(keys []string, set func(k, v string)) {
	with(slices.MinFunc(keys, record.CompareUTF16), slices.MaxFunc(keys, record.CompareUTF16))(keys, set)
}

// file writes a base file of the keys and returns its slice.
func file(t *testing.T, st storage.Store, name string, f footers, keys ...string) fsview.FileSlice {
	t.Helper()
	s, err := schema.Parse(keySchema)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	w, err := parquetfile.NewWriter(&buf, s, parquetfile.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		v := record.String(k).Level(0, 1, 0)
		if k == "NULL" {
			v = record.Null(0, 0, 0)
		}
		if err := w.WriteRow(record.Row{v, record.String("v").Level(0, 1, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	if f != nil {
		f(keys, w.SetFooter)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Put(t.Context(), name, buf.Bytes(), storage.PutReplace); err != nil {
		t.Fatal(err)
	}
	return fsview.FileSlice{File: &fsview.BaseFile{Path: name, Size: int64(buf.Len())}}
}

// find returns key@slice:row, sorted.
func find(t *testing.T, st storage.Store, slicesOf []fsview.FileSlice, keys ...string) ([]string, error) {
	t.Helper()
	byKey := map[string]int32{}
	for i, k := range keys {
		byKey[k] = int32(i)
	}
	out := []string{}
	ix := &index.Simple{Store: st}
	err := ix.Find(t.Context(), slicesOf, index.Keys{ByKey: byKey}, func(f index.Found) { out = append(out, fmt.Sprintf("%s@%d:%d", keys[f.Key], f.Slice, f.Pos)) })
	slices.Sort(out)
	return out, err
}

// D3: whatever the footer says, or does not say, no key that is there is missed.
func TestEveryKeyIsFound(t *testing.T) {
	sets := [][]string{
		{"a", "é", "中", "😀", "Z", "", "\uE000", "\uFFFD", "😀x"},
		{"\uFFFD", "😀"}, // U+FFFD is the greater one by UTF-16 units, the smaller by bytes
		{"😀", "𐀀", "\uE000"},
		{"only"},
		{"id:a,name:x", "id:a,name:__null__", "id:__empty__,name:y"},
	}
	for name, f := range map[string]footers{
		"none": nil, "bytes": byteOrder, "units": unitOrder, "inverted": with("z", "a"),
		"no filter": func(_ []string, set func(k, v string)) {
			set("hoodie_min_record_key", "")
			set("hoodie_max_record_key", "\U0010FFFF")
		},
		"damaged filter": func(k []string, set func(k, v string)) { byteOrder(k, set); set("org.apache.hudi.bloomfilter", "???") },
		"unknown type": func(k []string, set func(k, v string)) {
			byteOrder(k, set)
			set("hoodie_bloom_filter_type_code", "CUCKOO")
		},
		"no range": func(k []string, set func(k, v string)) { set("org.apache.hudi.bloomfilter", filterOf(k).String()) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, keys := range sets {
				st := storagetest.NewMem()
				all := []fsview.FileSlice{file(t, st, "f1", f, keys...), {}, file(t, st, "f2", f, "other", "another")}
				for i, k := range keys {
					got, err := find(t, st, all, k, "absent", "never")
					if want := []string{fmt.Sprintf("%s@0:%d", k, i)}; err != nil || !slices.Equal(got, want) {
						t.Errorf("key %q of %q: found %q (%v), want %q", k, keys, got, err, want)
					}
				}
			}
		})
	}
}

// D10: a key that is there more than once is found each time, in one file and in several.
func TestDuplicatesAreAllFound(t *testing.T) {
	st := storagetest.NewMem()
	all := []fsview.FileSlice{file(t, st, "f1", byteOrder, "a", "b", "a"), file(t, st, "f2", byteOrder, "a", "c")}
	got, err := find(t, st, all, "a", "c")
	if want := []string{"a@0:0", "a@0:2", "a@1:0", "c@1:1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("found %q (%v), want %q", got, err, want)
	}
}

// A file whose footer proves that it holds none of the keys is not read beyond it.
func TestFootersSpareReading(t *testing.T) {
	mem := storagetest.NewMem()
	keys := make([]string, 20_000) // more than a read of the footer brings along
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%016x", rng.Uint64())
	}
	all := []fsview.FileSlice{file(t, mem, "f", byteOrder, keys...)}
	reads := func(want int, ask ...string) int {
		t.Helper()
		st := faultstore.New(mem)
		got, err := find(t, st, all, ask...)
		if err != nil || len(got) != want {
			t.Fatalf("found %q (%v), want %d", got, err, want)
		}
		return st.Count(faultstore.Read)
	}
	read := reads(1, keys[7])
	for name, ask := range map[string][]string{"below the range": {"a", "b"}, "above": {"zz"}, "within, not in the filter": {keys[7] + "x"}} {
		if got := reads(0, ask...); got >= read {
			t.Errorf("%s: %d reads, want fewer than the %d of reading the keys", name, got, read)
		}
	}
	// So many keys that the filter is not asked are found all the same.
	if got := reads(len(keys), append(slices.Clone(keys), "absent")...); got < read {
		t.Errorf("all keys in %d reads", got)
	}
}

func TestRandomKeysAgainstAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("ab\u00e9\u4e2d\ud7ff\ue000\ufffd\U00010000\U0010ffff")
	random := func() string {
		var b strings.Builder
		for range 1 + rng.IntN(3) {
			b.WriteRune(alphabet[rng.IntN(len(alphabet))])
		}
		return b.String()
	}
	for range 40 {
		st := storagetest.NewMem()
		var all []fsview.FileSlice
		want := map[string][]string{}
		for n := range 3 {
			var keys []string
			for pos := range 1 + rng.IntN(6) {
				k := random()
				keys = append(keys, k)
				want[k] = append(want[k], fmt.Sprintf("%s@%d:%d", k, n, pos))
			}
			all = append(all, file(t, st, fmt.Sprint("f", n), []footers{byteOrder, unitOrder}[rng.IntN(2)], keys...))
		}
		k := random()
		got, err := find(t, st, all, k)
		w := append([]string{}, want[k]...)
		slices.Sort(w)
		if err != nil || !slices.Equal(got, w) {
			t.Fatalf("key %q: found %q (%v), want %q", k, got, err, w)
		}
	}
}

func TestNothingToLookFor(t *testing.T) {
	st := storagetest.NewMem()
	got, err := find(t, st, []fsview.FileSlice{{File: &fsview.BaseFile{Path: "missing"}}})
	if err != nil || len(got) != 0 {
		t.Errorf("without keys: %q, %v, want nothing and no look at files", got, err)
	}
	got, err = find(t, st, []fsview.FileSlice{file(t, st, "empty", nil)}, "a")
	if err != nil || len(got) != 0 {
		t.Errorf("in a file without rows: %q, %v, want nothing", got, err)
	}
}

func TestBadFilesAreErrors(t *testing.T) {
	st := storagetest.NewMem()
	good := file(t, st, "good", byteOrder, "a", "b")
	if _, err := find(t, st, []fsview.FileSlice{good, {File: &fsview.BaseFile{Path: "missing"}}}, "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v, want fs.ErrNotExist: its rows would be written twice", err)
	}
	if _, err := find(t, st, []fsview.FileSlice{file(t, st, "null", byteOrder, "a", "NULL")}, "a"); err == nil || !strings.Contains(err.Error(), "row 1") {
		t.Errorf("a row without a key: %v, want an error that names it", err)
	}
	body, err := st.ReadAll(t.Context(), "good")
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{0, 3, len(body) / 2, len(body) - 1} {
		if _, err := st.Put(t.Context(), "cut", body[:cut], storage.PutReplace); err != nil {
			t.Fatal(err)
		}
		if _, err := find(t, st, []fsview.FileSlice{{File: &fsview.BaseFile{Path: "cut", Size: int64(cut)}}}, "a"); !corrupt.Is(err) {
			t.Errorf("cut to %d bytes: %v, want a damaged file", cut, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ix := &index.Simple{Store: st}
	if err := ix.Find(ctx, []fsview.FileSlice{good}, index.Keys{ByKey: map[string]int32{"a": 0}}, func(index.Found) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("Find with a dead context = %v, want context.Canceled", err)
	}
}
