package history

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

func mustEncode[T action.Body](t testing.TB, layout int, v *T) []byte {
	t.Helper()
	b, err := action.Encode(layout, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// threeStates returns the records of an instant that completed.
func threeStates(n int, requested, completed timeline.Action, plan, inflight, body []byte) []StateRecord {
	return []StateRecord{
		{at(n), requested, timeline.Requested, at(n + 1), plan},
		{at(n), requested, timeline.Inflight, at(n + 2), inflight},
		{at(n), completed, timeline.Completed, at(n + 3), body},
	}
}

// archivedStates is one instant of every action that is archived.
func archivedStates(t testing.TB) ([]StateRecord, map[int]Entry) {
	commit := &action.CommitMetadata{Operation: action.OpUpsert, Extra: map[string]string{"schema": "s"},
		Stats: map[string][]action.WriteStat{"p": {{FileID: "f", Path: "p/f.parquet", PrevCommit: action.NullCommit, PartitionPath: "p", NumWrites: 3, FileSizeInBytes: 9}}}}
	replace := &action.CommitMetadata{Operation: action.OpInsertOverwrite, Replace: true, Stats: commit.Stats, Extra: commit.Extra, ReplacedFileIDs: map[string][]string{"p": {"old"}}}
	compaction := &action.CompactionPlan{Version: 2, Operations: []action.CompactionOperation{{BaseInstant: "1", FileID: "f", DeltaFiles: []string{".f.log.1"}, Partition: "p"}}}
	cleanPlan := &action.CleanPlan{Policy: "KEEP_LATEST_COMMITS", Version: 2}
	clean := &action.CleanMetadata{StartTime: "1", Version: 2, Partitions: map[string]action.CleanPartition{"p": {Partition: "p", Policy: "x"}}}
	rollback := &action.RollbackMetadata{StartTime: "1", Commits: []string{"2"}, Version: 1}
	request := &action.RequestedReplace{}
	planned := &action.CommitMetadata{Operation: action.OpInsertOverwrite}

	var records []StateRecord
	records = append(records, threeStates(0, timeline.DeltaCommit, timeline.DeltaCommit, nil, mustEncode(t, 1, planned), mustEncode(t, 1, commit))...)
	records = append(records, threeStates(10, timeline.Compaction, timeline.Commit, mustEncode(t, 1, compaction), nil, mustEncode(t, 1, commit))...)
	records = append(records, threeStates(20, timeline.ReplaceCommit, timeline.ReplaceCommit, mustEncode(t, 1, request), mustEncode(t, 1, planned), mustEncode(t, 1, replace))...)
	records = append(records, threeStates(30, timeline.Clean, timeline.Clean, mustEncode(t, 1, cleanPlan), nil, mustEncode(t, 1, clean))...)
	records = append(records, threeStates(40, timeline.Rollback, timeline.Rollback, nil, nil, mustEncode(t, 1, rollback))...)
	want := map[int]Entry{
		0:  {Action: timeline.DeltaCommit, Metadata: mustEncode(t, 2, commit)},
		10: {Action: timeline.Commit, Metadata: mustEncode(t, 2, commit), Plan: mustEncode(t, 2, compaction)},
		20: {Action: timeline.ReplaceCommit, Metadata: mustEncode(t, 2, replace), Plan: mustEncode(t, 2, planned)},
		30: {Action: timeline.Clean, Metadata: mustEncode(t, 2, clean), Plan: mustEncode(t, 2, cleanPlan)},
		40: {Action: timeline.Rollback, Metadata: mustEncode(t, 2, rollback)},
	}
	return records, want
}

func TestArchiveLog(t *testing.T) {
	st := storagetest.NewMem()
	h := New(st, config(t, 6, nil))
	records, want := archivedStates(t)
	if err := h.AppendStates(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	if got, want := st.Paths(), []string{".hoodie/archived/.commits_.archive.1_1-0-1"}; !slices.Equal(got, want) {
		t.Fatalf("files %v, want %v", got, want)
	}
	data, err := st.ReadAll(t.Context(), st.Paths()[0])
	if err != nil {
		t.Fatal(err)
	}
	// timeline.md §12.11: magic, block length, format version 1, AVRO_DATA, one header, SCHEMA.
	if head := string(data[:6]) + fmt.Sprintf("%x", data[14:30]); head != "#HUDI#00000001000000030000000100000002" {
		t.Errorf("the file begins with %s", head)
	}
	got := map[int]bool{}
	for e, err := range h.Entries(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		n := len(got) * 10
		got[n] = true
		w := want[n]
		w.Time, w.Completion = at(n), at(n+3)
		sameEntry(t, e, w)
	}
	if len(got) != len(want) {
		t.Errorf("%d entries, want %d", len(got), len(want))
	}
	if ts := times(t, h); !slices.Equal(ts, wantTimes(5)) {
		t.Errorf("times %v, want %v", ts, wantTimes(5))
	}
}

// sameEntry compares entries by what their bodies say.
func sameEntry(t *testing.T, got, want Entry) {
	t.Helper()
	i := timeline.Instant{Time: want.Time, Action: want.Action}
	for _, pair := range [][2]*[]byte{{&got.Metadata, &want.Metadata}, {&got.Plan, &want.Plan}} {
		for _, b := range pair {
			if len(*b) == 0 {
				*b = nil
				continue
			}
			text, err := action.ToJSON(2, i, *b)
			if err != nil {
				t.Fatal(err)
			}
			*b = text
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("entry %s %s\n%s\n%s\nwant %s %s\n%s\n%s", got.Time, got.Action, got.Metadata, got.Plan, want.Time, want.Action, want.Metadata, want.Plan)
	}
}

// TestArchiveSplit has blocks that cut an instant's states in two, several files, and the same instant twice.
func TestArchiveSplit(t *testing.T) {
	st := storagetest.NewMem()
	h := New(st, config(t, 6, nil))
	var records []StateRecord
	for n := range 12 {
		records = append(records, threeStates(10*n, timeline.Commit, timeline.Commit, nil, nil, mustEncode(t, 1, &action.CommitMetadata{}))...)
	}
	for _, part := range [][]StateRecord{records[:21], records[18:30], records[30:]} {
		if err := h.AppendStates(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name string) {
		t.Helper()
		if _, err := st.Put(t.Context(), h.dir+name, []byte("x"), storage.PutIfAbsent); err != nil {
			t.Fatal(err)
		}
	}
	put(".commits_.archive.1_1-0-1.crc")
	put(".commits_.archive.x")
	put("notes")
	if got := times(t, h); !slices.Equal(got, wantTimes(12)) {
		t.Errorf("times %v, want %v", got, wantTimes(12))
	}
	ix, err := h.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if ix.Covers("20200101000000000") || !ix.Covers(at(5)) {
		t.Error("an archive log covers what it begins with, not what is older")
	}
	if last := h.dir + ".commits_.archive.4_1-0-1"; true {
		if err := h.AppendStates(t.Context(), threeStates(990, timeline.Commit, timeline.Commit, nil, nil, mustEncode(t, 1, &action.CommitMetadata{}))); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Stat(t.Context(), last); err != nil {
			t.Errorf("the next file is not %s: %v", last, err)
		}
	}
}

// TestArchiveTorn cuts an archive log: instants of whole blocks stay known, and nothing is called a stray any more.
func TestArchiveTorn(t *testing.T) {
	base := storagetest.NewMem()
	h := New(base, config(t, 6, nil))
	var records []StateRecord
	for n := range 10 {
		records = append(records, threeStates(10*n, timeline.Commit, timeline.Commit, nil, nil, mustEncode(t, 1, &action.CommitMetadata{}))...)
	}
	if err := h.AppendStates(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	path := base.Paths()[0]
	data, err := base.ReadAll(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	st := base.Clone()
	if _, err := st.Put(t.Context(), path, data[:len(data)-5], storage.PutReplace); err != nil {
		t.Fatal(err)
	}
	ix, err := New(st, config(t, 6, nil)).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if ix.Len() != 6 || ix.Covers(at(5)) {
		t.Errorf("a torn archive has %d instants (want the 6 of two whole blocks) and covers %v (want false)", ix.Len(), ix.Covers(at(5)))
	}
	if _, err := st.Put(t.Context(), path, []byte("nonsense here"), storage.PutReplace); err != nil {
		t.Fatal(err)
	}
	if _, err := New(st, config(t, 6, nil)).Load(t.Context()); !corrupt.Is(err) || !strings.Contains(err.Error(), path) {
		t.Errorf("no log file at all: %v, want a corrupt error that names it", err)
	}
}

func TestArchiveMerge(t *testing.T) {
	base := storagetest.NewMem()
	h := New(base, config(t, 6, nil))
	body := mustEncode(t, 1, &action.CommitMetadata{})
	for n := range 2 {
		if err := h.AppendStates(t.Context(), threeStates(10*n, timeline.Commit, timeline.Commit, nil, nil, body)); err != nil {
			t.Fatal(err)
		}
	}
	const one, two, merged = ".commits_.archive.1_1-0-1", ".commits_.archive.2_1-0-1", ".commits_.archive.3_1-0-1"
	put := func(name string, data []byte) {
		t.Helper()
		if _, err := base.Put(t.Context(), h.dir+name, data, storage.PutReplace); err != nil {
			t.Fatal(err)
		}
	}
	put(mergePlanFile, mustEncode(t, 1, &action.MergeArchivePlan{Candidates: []string{"file:/t/.hoodie/archived/" + one, two}, Merged: merged}))
	put(merged, []byte("half-written"))
	if got := times(t, New(base, config(t, 6, nil))); !slices.Equal(got, wantTimes(2)) {
		t.Errorf("while a merge is written the history is %v", got)
	}
	whole, err := archiveLog(append(threeStates(0, timeline.Commit, timeline.Commit, nil, nil, body), threeStates(10, timeline.Commit, timeline.Commit, nil, nil, body)...))
	if err != nil {
		t.Fatal(err)
	}
	put(merged, whole)
	for _, name := range []string{one, two} {
		if err := base.Delete(t.Context(), h.dir+name); err != nil {
			t.Fatal(err)
		}
		if got := times(t, New(base, config(t, 6, nil))); !slices.Equal(got, wantTimes(2)) {
			t.Errorf("after %s was merged the history is %v", name, got)
		}
	}
	put(mergePlanFile, []byte("Obj"))
	if got := times(t, New(base, config(t, 6, nil))); !slices.Equal(got, wantTimes(2)) {
		t.Errorf("with a half-written merge plan the history is %v", got)
	}
}

func TestArchiveRefused(t *testing.T) {
	st := storagetest.NewMem()
	h := New(st, config(t, 6, nil))
	if err := New(st, config(t, 9, nil)).AppendStates(t.Context(), threeStates(0, timeline.Commit, timeline.Commit, nil, nil, nil)); !errors.Is(err, ErrLayout) {
		t.Errorf("AppendStates in layout 2 = %v, want ErrLayout", err)
	}
	for name, r := range map[string]StateRecord{
		"no time":        {"x", timeline.Commit, timeline.Completed, "", nil},
		"unknown action": {at(1), "dance", timeline.Completed, "", nil},
		"damaged body":   {at(1), timeline.Clean, timeline.Completed, "", []byte("?")},
	} {
		if err := h.AppendStates(t.Context(), []StateRecord{r}); err == nil {
			t.Errorf("%s: AppendStates succeeded", name)
		}
	}
	if len(st.Paths()) != 0 {
		t.Errorf("refused records left %v", st.Paths())
	}
	var b strings.Builder
	if _, err := logfile.NewWriter(&b).Rollback("2", "1"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Put(t.Context(), h.dir+".commits_.archive.1_1-0-1", []byte(b.String()), storage.PutIfAbsent); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Load(t.Context()); !corrupt.Is(err) {
		t.Errorf("a command block in an archive: %v, want a corrupt error", err)
	}
}
