package handle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/bloom"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/faultstore"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer/handle"
)

const (
	first  = timeline.InstantTime("20260101000000001")
	second = timeline.InstantTime("20260101000000002")
)

// marks is a transaction that remembers marks, and sees that files come after them.
type marks struct {
	t    *testing.T
	st   storage.Store
	at   timeline.InstantTime
	seen []string
}

func (m *marks) Time() timeline.InstantTime { return m.at }

func (m *marks) mark(partition, name, typ string) error {
	if _, err := m.st.Stat(m.t.Context(), path.Join(partition, name)); err == nil {
		m.t.Errorf("%s was there before its marker", name)
	}
	m.seen = append(m.seen, path.Join(partition, name)+" "+typ)
	return nil
}
func (m *marks) MarkCreate(_ context.Context, p, n string) error { return m.mark(p, n, "CREATE") }
func (m *marks) MarkMerge(_ context.Context, p, n string) error  { return m.mark(p, n, "MERGE") }
func (m *marks) MarkLog(_ context.Context, p, n string) error    { return m.mark(p, n, "LOG") }

func env(t *testing.T, st storage.Store, at timeline.InstantTime, meta bool) (*handle.Env, *marks) {
	t.Helper()
	s, err := schema.Parse(`{"type":"record","name":"r","fields":[{"name":"id","type":"string"},{"name":"v","type":["null","string"],"default":null}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if meta {
		s = s.WithMetaFields()
	}
	m := &marks{t: t, st: st, at: at}
	return &handle.Env{Store: st, Txn: m, Schema: s, MetaFields: meta, LogNamedByDelta: true}, m
}

func row(e *handle.Env, id, v string) record.Row {
	var r record.Row
	n := 0
	if e.MetaFields {
		for n = range 5 {
			r = append(r, record.Null(0, 0, n))
		}
		n = 5
	}
	return append(r, record.String(id).Level(0, 0, n), record.String(v).Level(0, 1, n+1))
}

func create(t *testing.T, e *handle.Env, partition string, ids ...string) []action.WriteStat {
	t.Helper()
	h := e.NewCreate(partition, "11111111-2222-4333-8444-555555555555")
	for _, id := range ids {
		if err := h.Write(t.Context(), id, row(e, id, "v1")); err != nil {
			t.Fatal(err)
		}
	}
	stats, err := h.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

func base(t *testing.T, s action.WriteStat) *fsview.BaseFile {
	t.Helper()
	b, err := fsview.ParseBaseFileName(path.Base(s.Path))
	if err != nil {
		t.Fatal(err)
	}
	return &fsview.BaseFile{Path: s.Path, BaseName: b, Size: s.FileSizeInBytes}
}

// read returns the rows of a base file as commit|seqno|key|partition|file|id|v, and the file.
func read(t *testing.T, e *handle.Env, b *fsview.BaseFile) ([]string, *parquetfile.File) {
	t.Helper()
	f, obj, err := handle.OpenBase(t.Context(), e.Store, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { obj.Close() })
	rows, err := f.Rows(t.Context(), e.Schema)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	out := []string{}
	buf := make([]record.Row, 8)
	for {
		n, err := rows.Read(buf)
		for _, r := range buf[:n] {
			var c []string
			for _, v := range r {
				c = append(c, string(v.ByteArray()))
			}
			out = append(out, strings.Join(c, "|"))
		}
		if errors.Is(err, io.EOF) {
			return out, f
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func none(func(handle.Insert, error) bool) {}

func one(e *handle.Env, id string) iter.Seq2[handle.Insert, error] {
	return func(yield func(handle.Insert, error) bool) {
		yield(handle.Insert{Key: id, Row: row(e, id, "new")}, nil)
	}
}

// data.md §1.3: what an edit leaves alone keeps its commit time and sequence number; only the file's name follows.
func TestMetaColumns(t *testing.T) {
	st := storagetest.NewMem()
	e1, m1 := env(t, st, first, true)
	stats := create(t, e1, "p=1", "a", "b", "c")
	if len(stats) != 1 {
		t.Fatalf("%d files, want 1", len(stats))
	}
	s := stats[0]
	name1 := path.Base(s.Path)
	if !regexp.MustCompile(`^11111111-2222-4333-8444-555555555555-0_0-1-\d+_20260101000000001\.parquet$`).MatchString(name1) {
		t.Errorf("file name %s", name1)
	}
	want := []string{
		"20260101000000001|20260101000000001_0_0|a|p=1|" + name1 + "|a|v1",
		"20260101000000001|20260101000000001_0_1|b|p=1|" + name1 + "|b|v1",
		"20260101000000001|20260101000000001_0_2|c|p=1|" + name1 + "|c|v1",
	}
	if got, _ := read(t, e1, base(t, s)); !slices.Equal(got, want) {
		t.Errorf("rows:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if s.FileID != "11111111-2222-4333-8444-555555555555-0" || s.PrevCommit != "null" || s.NumWrites != 3 || s.NumInserts != 3 || s.NumUpdateWrites+s.NumDeletes != 0 || s.PartitionPath != "p=1" {
		t.Errorf("stat %+v", s)
	}
	if !slices.Equal(m1.seen, []string{s.Path + " CREATE"}) {
		t.Errorf("marked %q", m1.seen)
	}

	e2, m2 := env(t, st, second, true)
	got2, err := e2.Merge(t.Context(), base(t, s), "p=1", []handle.Change{{Pos: 0, Key: "a"}, {Pos: 2, Key: "c", Row: row(e2, "c", "v2")}}, one(e2, "d"))
	if err != nil {
		t.Fatal(err)
	}
	name2 := path.Base(got2.Path)
	want = []string{
		"20260101000000001|20260101000000001_0_1|b|p=1|" + name2 + "|b|v1",
		"20260101000000002|20260101000000002_0_2|c|p=1|" + name2 + "|c|v2",
		"20260101000000002|20260101000000002_0_3|d|p=1|" + name2 + "|d|new",
	}
	rows, f := read(t, e2, base(t, got2))
	if !slices.Equal(rows, want) {
		t.Errorf("rows:\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	if got2.FileID != s.FileID || got2.PrevCommit != string(first) || got2.PrevBaseFile != name1 || got2.NumWrites != 3 || got2.NumInserts != 1 || got2.NumUpdateWrites != 1 || got2.NumDeletes != 1 {
		t.Errorf("stat %+v", got2)
	}
	info, err := st.Stat(t.Context(), got2.Path)
	if err != nil || info.Size != got2.FileSizeInBytes || info.Size != got2.TotalWriteBytes {
		t.Errorf("size %d in the store (%v), stat says %d and %d", info.Size, err, got2.FileSizeInBytes, got2.TotalWriteBytes)
	}
	if !slices.Equal(m2.seen, []string{got2.Path + " MERGE"}) {
		t.Errorf("marked %q", m2.seen)
	}
	wantFooter(t, f, "a", "d", "b", "c", "d")
}

// wantFooter checks range and filter of a file that holds the keys.
func wantFooter(t *testing.T, f *parquetfile.File, lo, hi string, keys ...string) {
	t.Helper()
	for key, want := range map[string]string{"hoodie_min_record_key": lo, "hoodie_max_record_key": hi, "hoodie_bloom_filter_type_code": "DYNAMIC_V0", "parquet.avro.schema": f.Schema().String()} {
		if got, ok := f.Lookup(key); !ok || got != want && key != "parquet.avro.schema" || got == "" && want != "" {
			t.Errorf("footer %s = %q, want %q", key, got, want)
		}
	}
	typ, _ := f.Lookup("hoodie_bloom_filter_type_code")
	text, _ := f.Lookup("org.apache.hudi.bloomfilter")
	filter, err := bloom.Parse(typ, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if !filter.Has(k) {
			t.Errorf("the filter denies key %q, which is there", k)
		}
	}
	if filter.Has("certainly not there") {
		t.Error("the filter affirms a key that is not there")
	}
}

// Keys above the surrogates come in another order by UTF-16 units, which Java goes by; and a key that hides behind its file's bounds stays findable.
func TestFooterRange(t *testing.T) {
	st := storagetest.NewMem()
	e, _ := env(t, st, first, true)
	s := create(t, e, "", "\uFFFD", "m", "😀")[0]
	_, f := read(t, e, base(t, s))
	wantFooter(t, f, "m", "\uFFFD", "\uFFFD", "m", "😀")
	e2, _ := env(t, st, second, true)
	got, err := e2.Merge(t.Context(), base(t, s), "", []handle.Change{{Pos: 1, Key: "m"}}, none)
	if err != nil {
		t.Fatal(err)
	}
	_, f = read(t, e2, base(t, got))
	lo, _ := f.Lookup("hoodie_min_record_key")
	hi, _ := f.Lookup("hoodie_max_record_key")
	if record.CompareUTF16(lo, "😀") > 0 || hi != "\uFFFD" {
		t.Errorf("range %q to %q, want one that spans 😀 and U+FFFD by UTF-16 units", lo, hi)
	}
}

// Spark's row writer orders keys by bytes: its range is not taken over where that may say something else.
func TestFooterRangeOfRowWriter(t *testing.T) {
	st := storagetest.NewMem()
	e, _ := env(t, st, first, true)
	s := create(t, e, "", "\uFFFD", "m", "😀")[0]
	_, src := read(t, e, base(t, s))
	var buf bytes.Buffer
	w, err := parquetfile.NewWriter(&buf, e.Schema, parquetfile.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Splice(t.Context(), src, &parquetfile.Edit{}); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"org.apache.hudi.bloomfilter", "hoodie_bloom_filter_type_code", "parquet.avro.schema"} {
		v, _ := src.Lookup(k)
		w.SetFooter(k, v)
	}
	w.SetFooter("hoodie_min_record_key", "m")
	w.SetFooter("hoodie_max_record_key", "😀")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Put(t.Context(), s.Path, buf.Bytes(), storage.PutReplace); err != nil {
		t.Fatal(err)
	}
	s.FileSizeInBytes = int64(buf.Len())
	e2, _ := env(t, st, second, true)
	got, err := e2.Merge(t.Context(), base(t, s), "", nil, one(e2, "n"))
	if err != nil {
		t.Fatal(err)
	}
	_, f := read(t, e2, base(t, got))
	wantFooter(t, f, "m", "\uFFFD", "\uFFFD", "m", "n", "😀")
}

// A base file without footers, such as other engines may leave, has its keys read.
func TestFootersAreMadeWhereTheyAreMissing(t *testing.T) {
	st := storagetest.NewMem()
	bare, _ := env(t, st, first, true)
	bare.NoBloom = true
	s := create(t, bare, "p", "b", "a", "c")[0]
	if _, f := read(t, bare, base(t, s)); f != nil {
		if _, ok := f.Lookup("hoodie_min_record_key"); ok {
			t.Fatal("the file has a key range: the test shows nothing")
		}
	}
	e, _ := env(t, st, second, true)
	got, err := e.Merge(t.Context(), base(t, s), "p", nil, one(e, "d"))
	if err != nil {
		t.Fatal(err)
	}
	_, f := read(t, e, base(t, got))
	wantFooter(t, f, "a", "d", "a", "b", "c", "d")
}

func TestWithoutMetaColumns(t *testing.T) {
	st := storagetest.NewMem()
	e, _ := env(t, st, first, false)
	s := create(t, e, "p", "a", "b")[0]
	e2, _ := env(t, st, second, false)
	got, err := e2.Merge(t.Context(), base(t, s), "p", []handle.Change{{Pos: 0, Key: "a", Row: row(e2, "a", "v2")}}, none)
	if err != nil {
		t.Fatal(err)
	}
	rows, f := read(t, e2, base(t, got))
	if want := []string{"a|v2", "b|v1"}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	for _, k := range []string{"hoodie_min_record_key", "org.apache.hudi.bloomfilter"} {
		if _, ok := f.Lookup(k); ok {
			t.Errorf("footer %s is there, want none without meta columns", k)
		}
	}
}

// N2: a file all of whose rows are deleted stays as one without rows.
func TestDeleteEveryRow(t *testing.T) {
	st := storagetest.NewMem()
	e, _ := env(t, st, first, true)
	s := create(t, e, "p", "a", "b")[0]
	e2, _ := env(t, st, second, true)
	got, err := e2.Merge(t.Context(), base(t, s), "p", []handle.Change{{Pos: 0, Key: "a"}, {Pos: 1, Key: "b"}}, none)
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := read(t, e2, base(t, got))
	if len(rows) != 0 || got.NumWrites != 0 || got.NumDeletes != 2 {
		t.Errorf("%d rows, stat %+v, want none and two deletes", len(rows), got)
	}
	// And it takes rows again.
	e3, _ := env(t, st, "20260101000000003", true)
	again, err := e3.Merge(t.Context(), base(t, got), "p", nil, one(e3, "z"))
	if err != nil {
		t.Fatal(err)
	}
	if rows, f := read(t, e3, base(t, again)); len(rows) != 1 {
		t.Errorf("%d rows, want the new one", len(rows))
	} else {
		wantFooter(t, f, "z", "z", "z")
	}
}

// A file that has reached its size is followed by the next of its prefix.
func TestRolling(t *testing.T) {
	st := storagetest.NewMem()
	e, m := env(t, st, first, true)
	e.MaxBytes, e.NoBloom = 64<<10, true // the filter alone would be several times larger
	h := e.NewCreate("p", "11111111-2222-4333-8444-555555555555")
	const total = 6000
	for i := range total {
		id := fmt.Sprintf("%x-%x", i*2654435761, i*40503)
		if err := h.Write(t.Context(), id, row(e, id, id+id)); err != nil {
			t.Fatal(err)
		}
	}
	stats, err := h.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(stats) < 2 || len(m.seen) != len(stats) {
		t.Fatalf("%d files, %d marked, want several, all marked", len(stats), len(m.seen))
	}
	rows := int64(0)
	seqs := map[string]bool{}
	for i, s := range stats {
		if want := fmt.Sprintf("11111111-2222-4333-8444-555555555555-%d", i); s.FileID != want {
			t.Errorf("file %d has id %s, want %s", i, s.FileID, want)
		}
		if s.FileSizeInBytes > 2*e.MaxBytes {
			t.Errorf("file %d has %d bytes, want about %d", i, s.FileSizeInBytes, e.MaxBytes)
		}
		got, _ := read(t, e, base(t, s))
		rows += int64(len(got))
		for _, r := range got {
			seqs[strings.Split(r, "|")[1]] = true
		}
		if int64(len(got)) != s.NumWrites {
			t.Errorf("file %d has %d rows, stat says %d", i, len(got), s.NumWrites)
		}
	}
	if rows != total || len(seqs) != total {
		t.Errorf("%d rows with %d sequence numbers, want %d of each", rows, len(seqs), total)
	}
}

// Whatever write fails, an error comes back and nothing half-written is visible.
func TestFailingStore(t *testing.T) {
	for _, op := range []faultstore.Op{faultstore.Create, faultstore.Write, faultstore.Commit, faultstore.Open, faultstore.Read, faultstore.List} {
		t.Run(op.String(), func(t *testing.T) {
			mem := storagetest.NewMem()
			e1, _ := env(t, mem, first, true)
			s := create(t, e1, "p", "a", "b")[0]
			before := mem.Paths()
			faults := faultstore.New(mem)
			faults.Inject(faultstore.Fault{Ops: op})
			e, _ := env(t, faults, second, true)
			if op&(faultstore.Open|faultstore.Read|faultstore.Create|faultstore.Write|faultstore.Commit) != 0 {
				if _, err := e.Merge(t.Context(), base(t, s), "p", nil, one(e, "c")); !errors.Is(err, faultstore.ErrInjected) {
					t.Errorf("Merge = %v, want the store's error", err)
				}
			}
			if op&(faultstore.List|faultstore.Create|faultstore.Write|faultstore.Commit) != 0 {
				h := e.NewAppend("p", &fsview.FileSlice{Group: fsview.FileGroupID{Partition: "p", FileID: s.FileID}, Base: first})
				err := h.Update(t.Context(), "a", row(e, "a", "v2"))
				if err == nil {
					_, err = h.Close(t.Context())
				}
				if !errors.Is(err, faultstore.ErrInjected) {
					t.Errorf("Append = %v, want the store's error", err)
				}
				_ = h.Abort()
			}
			if got := mem.Paths(); !slices.Equal(got, before) {
				t.Errorf("files %q, want %q", got, before)
			}
		})
	}
}
