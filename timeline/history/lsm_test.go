package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/faultstore"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

func config(t testing.TB, version int, extra map[string]string) *tableconfig.Config {
	t.Helper()
	p, err := tableconfig.New(tableconfig.Options{Name: "t", UTC: true, RecordKeys: []string{"id"}, Version: version, Extra: extra})
	if err != nil {
		t.Fatal(err)
	}
	c, err := tableconfig.FromProperties(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// at is the n-th instant time of these tests.
func at(n int) timeline.InstantTime {
	return timeline.InstantTime(fmt.Sprintf("20261130%09d", n))
}

func entry(n int, a timeline.Action) Entry {
	return Entry{Time: at(n), Completion: at(n + 1), Action: a, Metadata: fmt.Appendf(nil, "body %d", n)}
}

// batches appends n batches of two commits each: times 0, 10, 20 …
func batches(t testing.TB, h *History, n, filesPerLevel int) {
	t.Helper()
	for k := range n {
		if err := h.Append(t.Context(), []Entry{entry(20*k, timeline.Commit), entry(20*k+10, timeline.DeltaCommit)}); err != nil {
			t.Fatal(err)
		}
		if err := h.Compact(t.Context(), filesPerLevel); err != nil {
			t.Fatal(err)
		}
	}
}

func times(t testing.TB, h *History) []timeline.InstantTime {
	t.Helper()
	ix, err := h.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []timeline.InstantTime
	for _, i := range ix.Instants("", "") {
		out = append(out, i.Time)
	}
	return out
}

func wantTimes(n int) []timeline.InstantTime {
	var out []timeline.InstantTime
	for k := range n {
		out = append(out, at(10*k))
	}
	return out
}

func TestAppendAndLoad(t *testing.T) {
	st := storagetest.NewMem()
	h := New(st, config(t, 9, nil))
	if ix, err := h.Load(t.Context()); err != nil || ix.Len() != 0 || ix.Covers(at(1)) {
		t.Fatalf("Load of no history = %v, %v, want an empty index that covers nothing", ix, err)
	}
	batches(t, h, 20, 3)
	for name, h := range map[string]*History{"the writer": h, "a new reader": New(st, config(t, 9, nil))} {
		if got := times(t, h); !slices.Equal(got, wantTimes(40)) {
			t.Errorf("%s sees %v, want %v", name, got, wantTimes(40))
		}
		ix, err := h.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := ix.CompletionOf(at(390)); !ok || c != at(391) {
			t.Errorf("%s: CompletionOf = %s, %v, want %s", name, c, ok, at(391))
		}
		if _, ok := ix.CompletionOf(at(5)); ok || !ix.Covers(at(5)) || !ix.Covers("0") {
			t.Errorf("%s: an instant that never was is not known as such", name)
		}
		if again, err := h.Load(t.Context()); err != nil || again != ix {
			t.Errorf("%s: Load without a change gives another index, %v", name, err)
		}
		if i, ok := ix.Find(at(10), timeline.LogCompaction); !ok || i.Action != timeline.DeltaCommit {
			t.Errorf("%s: Find = %v, %v", name, i, ok)
		}
		if got := ix.Instants(at(25), at(50)); len(got) != 3 || got[0].Time != at(30) {
			t.Errorf("%s: Instants = %v, want 30, 40, 50", name, got)
		}
	}
	checkTree(t, st, h.dir)
}

// checkTree checks that the folder holds the version file, a few manifests, and exactly the files that these name.
func checkTree(t *testing.T, st *storagetest.Mem, dir string) {
	t.Helper()
	h := New(st, config(t, 9, nil))
	named := map[string]bool{}
	manifests, levels := 0, map[string]int{}
	n, _, err := h.current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range st.Paths() {
		if k, ok := manifestNumber(strings.TrimPrefix(p, dir)); ok {
			manifests++
			m, err := h.readManifest(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range m.Files {
				named[f.Name] = true
				if k == n {
					levels[f.Name[len(f.Name)-len("0.parquet"):]]++
				}
			}
		}
	}
	for _, p := range st.Paths() {
		if name := strings.TrimPrefix(p, dir); strings.HasSuffix(name, ".parquet") && !named[name] {
			t.Errorf("%s is named by no manifest", name)
		}
	}
	if manifests < 3 || manifests > 6 {
		t.Errorf("%d manifests are kept", manifests)
	}
	for level, files := range levels {
		if files > 2 {
			t.Errorf("level %s has %d files, want at most 2", level, files)
		}
	}
}

func TestManifestBytes(t *testing.T) {
	m := manifest{[]manifestFile{{"20261130021134021_20261130021142775_2.parquet", 7770}, {"20261130021143280_20261130021143544_0.parquet", 4069}}}
	want := `{
  "files" : [ {
    "fileName" : "20261130021134021_20261130021142775_2.parquet",
    "fileLen" : 7770
  }, {
    "fileName" : "20261130021143280_20261130021143544_0.parquet",
    "fileLen" : 4069
  } ]
}`
	if got := string(m.bytes()); got != want || len(got) != 206 {
		t.Errorf("manifest prints as %d bytes\n%s\nwant 206 bytes\n%s", len(got), got, want)
	}
}

func TestEntries(t *testing.T) {
	st := storagetest.NewMem()
	h := New(st, config(t, 9, nil))
	batches(t, h, 7, 3)
	withPlan := Entry{Time: at(500), Completion: at(600), Action: timeline.Commit, Metadata: []byte("m"), Plan: []byte("p")}
	early := Entry{Time: at(15), Completion: at(700), Action: timeline.Clean}
	if err := h.Append(t.Context(), []Entry{withPlan, early}); err != nil {
		t.Fatal(err)
	}
	// An archiver that died after Append archives the same instants again, in another batch.
	if err := h.Append(t.Context(), []Entry{entry(20, timeline.Commit), entry(30, timeline.DeltaCommit), entry(40, timeline.Commit)}); err != nil {
		t.Fatal(err)
	}
	var got []Entry
	for e, err := range h.Entries(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if len(got) != 16 {
		t.Fatalf("%d entries, want 14 + 2: %v", len(got), got)
	}
	for k := 1; k < len(got); k++ {
		if got[k].Time <= got[k-1].Time {
			t.Errorf("entry %s comes after %s", got[k].Time, got[k-1].Time)
		}
	}
	if last := got[15]; string(last.Plan) != "p" || string(last.Metadata) != "m" || last.Completion != at(600) {
		t.Errorf("last entry = %+v, want %+v", last, withPlan)
	}
	if e := got[2]; e.Action != timeline.Clean || e.Metadata != nil || e.Plan != nil {
		t.Errorf("third entry = %+v, want the clean without bodies", e)
	}
	n := 0
	for e, err := range h.Entries(t.Context(), at(30), at(60)) {
		if err != nil || e.Time < at(30) || e.Time > at(60) || string(e.Metadata) != strings.TrimLeft("body "+strings.TrimLeft(string(e.Time[8:]), "0"), "") {
			t.Errorf("entry %+v, %v in the range 30 to 60", e, err)
		}
		n++
	}
	if n != 4 {
		t.Errorf("%d entries from 30 to 60, want 4", n)
	}
}

// TestAppendCrash crashes Append and Compact at every operation: what was archived before is there each time, and the batch after a retry.
func TestAppendCrash(t *testing.T) {
	base := storagetest.NewMem()
	batches(t, New(base, config(t, 9, nil)), 5, 3)
	batch := []Entry{entry(100, timeline.Commit), entry(110, timeline.DeltaCommit)}
	for _, when := range []faultstore.When{faultstore.Before, faultstore.After} {
		for n := 0; ; n++ {
			inner := base.Clone()
			f := faultstore.New(inner)
			f.CrashAt(faultstore.Any, n, when)
			step := func(st storage.Store) error {
				h := New(st, config(t, 9, nil))
				if err := h.Append(t.Context(), batch); err != nil {
					return err
				}
				return h.Compact(t.Context(), 3)
			}
			crash := step(f)
			got := times(t, New(inner, config(t, 9, nil)))
			if !slices.Equal(got, wantTimes(10)) && !slices.Equal(got, wantTimes(12)) {
				t.Fatalf("crash at %d: history is %v", n, got)
			}
			if err := step(inner); err != nil {
				t.Fatalf("crash at %d: the next archiver: %v", n, err)
			}
			if got := times(t, New(inner, config(t, 9, nil))); !slices.Equal(got, wantTimes(12)) {
				t.Fatalf("crash at %d: after a retry the history is %v", n, got)
			}
			if crash == nil && !f.Crashed() {
				break
			}
		}
	}
}

// TestReaderDuringCompaction lets a writer compact and clean between a reader's reading of the manifest and of its files.
func TestReaderDuringCompaction(t *testing.T) {
	mem := storagetest.NewMem()
	batches(t, New(mem, config(t, 9, nil)), 2, 3)
	f := faultstore.New(mem)
	f.Inject(faultstore.Fault{Ops: faultstore.Open, Times: 1, Do: func(faultstore.Op, string) {
		w := New(mem, config(t, 9, nil))
		for k := 2; k < 12; k++ {
			if err := w.Append(context.Background(), []Entry{entry(20*k, timeline.Commit), entry(20*k+10, timeline.Commit)}); err != nil {
				t.Error(err)
			}
			if err := w.Compact(context.Background(), 3); err != nil {
				t.Error(err)
			}
		}
	}})
	if got := times(t, New(f, config(t, 9, nil))); !slices.Equal(got, wantTimes(24)) {
		t.Errorf("a reader that was overtaken sees %v", got)
	}
}

func TestVersionFile(t *testing.T) {
	st := storagetest.NewMem()
	h := New(st, config(t, 9, nil))
	batches(t, h, 3, 10)
	put := func(name, data string) {
		t.Helper()
		if _, err := st.Put(t.Context(), h.dir+name, []byte(data), storage.PutReplace); err != nil {
			t.Fatal(err)
		}
	}
	put("manifest_99.0f3c", "half-writ") // a temporary file (known fault K3)
	put("notes.txt", "x")
	if err := st.Delete(t.Context(), h.dir+"_version_"); err != nil {
		t.Fatal(err)
	}
	if got := times(t, New(st, config(t, 9, nil))); !slices.Equal(got, wantTimes(6)) {
		t.Errorf("without version file the history is %v", got)
	}
	put("_version_", "x")
	if _, err := New(st, config(t, 9, nil)).Load(t.Context()); !corrupt.Is(err) || !strings.Contains(err.Error(), "_version_") {
		t.Errorf("a damaged version file: %v, want a corrupt error that names it", err)
	}
	put("_version_", "77")
	if _, err := New(st, config(t, 9, nil)).Load(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a version file that names no manifest: %v, want fs.ErrNotExist", err)
	}
	put("_version_", "3")
	for _, bad := range []string{"{", `{"files":[{"fileName":"../x_1_0.parquet","fileLen":1}]}`, `{"files":[{"fileName":"1_2_0.parquet","fileLen":-1}]}`} {
		put("manifest_3", bad)
		if _, err := New(st, config(t, 9, nil)).Load(t.Context()); !corrupt.Is(err) {
			t.Errorf("manifest %q: %v, want a corrupt error", bad, err)
		}
	}
}

// TestDamagedFile cuts and overwrites an LSM file: an error that names it, never fewer instants.
func TestDamagedFile(t *testing.T) {
	base := storagetest.NewMem()
	batches(t, New(base, config(t, 9, nil)), 1, 10)
	var name string
	for _, p := range base.Paths() {
		if strings.HasSuffix(p, ".parquet") {
			name = p
		}
	}
	data, err := base.ReadAll(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range [][]byte{data[:len(data)-1], nil, append(slices.Clone(data[:len(data)-12]), "junkjunkjunk"...)} {
		st := base.Clone()
		if _, err := st.Put(t.Context(), name, cut, storage.PutReplace); err != nil {
			t.Fatal(err)
		}
		if ix, err := New(st, config(t, 9, nil)).Load(t.Context()); !corrupt.Is(err) || !strings.Contains(err.Error(), ".parquet") {
			t.Errorf("a file cut to %d of %d bytes: %v, %v, want a corrupt error that names it", len(cut), len(data), ix, err)
		}
	}
}

func TestOddTimes(t *testing.T) {
	st := storagetest.NewMem()
	h := New(st, config(t, 9, map[string]string{tableconfig.KeyInitialVersion: "6"}))
	list := []Entry{
		{Time: "20210101000000", Completion: "20210101000001000", Action: timeline.Commit},
		{Time: "20261130022046825001", Completion: "20261130022047000", Action: timeline.Commit},
		{Time: at(10), Completion: at(11), Action: timeline.Rollback},
		{Time: at(10), Completion: at(12), Action: timeline.DeltaCommit},
	}
	if err := h.Append(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	ix, err := h.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if i, ok := ix.Find(e.Time, e.Action); !ok || i.Completion != e.Completion {
			t.Errorf("Find(%s, %s) = %v, %v", e.Time, e.Action, i, ok)
		}
	}
	if c, ok := ix.CompletionOf(at(10)); !ok || c != at(12) {
		t.Errorf("CompletionOf = %s, %v, want that of the deltacommit, %s", c, ok, at(12))
	}
	if got := ix.Instants("", ""); len(got) != 4 || got[0].Time != "20210101000000" || got[1].Action != timeline.DeltaCommit {
		t.Errorf("Instants = %v", got)
	}
	// The table was upgraded: what is older than its history may still be committed.
	if ix.Covers("20200101000000000") || !ix.Covers(at(5)) {
		t.Error("Covers does not stop at the first instant of an upgraded table")
	}
	if ix.Len() != 4 {
		t.Errorf("Len = %d, want 4", ix.Len())
	}
	bad := []Entry{{Time: "x", Completion: "1", Action: timeline.Commit}}
	if err := h.Append(t.Context(), bad); err == nil {
		t.Error("Append accepted a time that is none")
	}
	if err := New(st, config(t, 6, nil)).Append(t.Context(), list); !errors.Is(err, ErrLayout) {
		t.Errorf("Append to layout 1 = %v, want ErrLayout", err)
	}
}

// TestAttach checks the answer to the question for which a history is read (known fault A7): is an instant older than the active
// timeline committed?
func TestAttach(t *testing.T) {
	for _, version := range []int{6, 9} {
		st := storagetest.NewMem()
		cfg := config(t, version, nil)
		a := timeline.NewActive(st, cfg)
		h := New(st, cfg)
		if version == 9 {
			batches(t, h, 2, 10)
		}
		complete := func(n int, act timeline.Action, body []byte) {
			t.Helper()
			i, err := a.Request(t.Context(), at(n), act, nil)
			if err == nil {
				i, err = a.Start(t.Context(), i, nil)
			}
			if err == nil {
				_, err = a.Complete(t.Context(), i, at(n+1), body)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		complete(100, timeline.Commit, []byte("{}"))
		body, err := action.Encode(cfg.Layout, &action.RollbackMetadata{Commits: []string{string(at(7))}})
		if err != nil {
			t.Fatal(err)
		}
		complete(110, timeline.Rollback, body)
		body, err = action.Encode(cfg.Layout, &action.RestoreMetadata{Instants: []string{string(at(8))}})
		if err != nil {
			t.Fatal(err)
		}
		complete(120, timeline.Restore, body)
		tl, err := a.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			with, err := h.Attach(t.Context(), a, tl)
			if err != nil {
				t.Fatal(err)
			}
			want := map[timeline.InstantTime]bool{at(0): true, at(10): true, at(30): true, at(7): false, at(8): false, at(100): true, at(105): false}
			want[at(5)] = version == 6 // without a history older means archived; with one it is a stray
			for i, w := range want {
				if got := with.IsCompleted(i); got != w {
					t.Errorf("version %d: IsCompleted(%s) = %v, want %v", version, i, got, w)
				}
			}
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	st := storagetest.NewMem()
	h := New(st, config(b, 9, nil))
	var batch []Entry
	for n := range 100_000 {
		batch = append(batch, entry(n*10, timeline.Commit))
	}
	if err := h.Append(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if ix, err := New(st, config(b, 9, nil)).Load(b.Context()); err != nil || ix.Len() != len(batch) {
			b.Fatal(ix.Len(), err)
		}
	}
}
