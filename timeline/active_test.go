package timeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/faultstore"
	"github.com/hudifs/hudifs/internal/storage/local"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// config returns a table of the layout, with instants in UTC.
func config(t testing.TB, layout int) *tableconfig.Config {
	t.Helper()
	o := tableconfig.Options{Name: "t", UTC: true, RecordKeys: []string{"id"}, Version: tableconfig.Version6}
	if layout == 2 {
		o.Version = tableconfig.Version9
	}
	p, err := tableconfig.New(o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tableconfig.FromProperties(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func active(t testing.TB, layout int) (*Active, *storagetest.Mem) {
	st := storagetest.NewMem()
	return NewActive(st, config(t, layout)), st
}

// TestTransitions runs every action through its states in both layouts and checks the files that it makes.
func TestTransitions(t *testing.T) {
	const T, C = "20260307162628304", "20260307162629000"
	tests := []struct {
		action Action
		layout int
		want   string // files of requested, inflight, completed
	}{
		{Commit, 1, ".commit.requested .inflight .commit"},
		{Commit, 2, ".commit.requested .inflight _C.commit"},
		{DeltaCommit, 1, ".deltacommit.requested .deltacommit.inflight .deltacommit"},
		{DeltaCommit, 2, ".deltacommit.requested .deltacommit.inflight _C.deltacommit"},
		{ReplaceCommit, 1, ".replacecommit.requested .replacecommit.inflight .replacecommit"},
		{Compaction, 1, ".compaction.requested .compaction.inflight .commit"},
		{Compaction, 2, ".compaction.requested .compaction.inflight _C.commit"},
		{LogCompaction, 2, ".logcompaction.requested .logcompaction.inflight _C.deltacommit"},
		{Clustering, 2, ".clustering.requested .clustering.inflight _C.replacecommit"},
		{Clean, 1, ".clean.requested .clean.inflight .clean"},
		{Rollback, 2, ".rollback.requested .rollback.inflight _C.rollback"},
		{Restore, 2, ".restore.requested .restore.inflight _C.restore"},
		{Indexing, 2, ".indexing.requested .indexing.inflight _C.indexing"},
		{Savepoint, 1, ".savepoint.inflight .savepoint"},
		{Savepoint, 2, ".savepoint.inflight _C.savepoint"},
	}
	for _, tc := range tests {
		a, st := active(t, tc.layout)
		done, err := throughStates(t, a, tc.action, T, C)
		if err != nil {
			t.Errorf("layout %d %s: %v", tc.layout, tc.action, err)
			continue
		}
		var want []string
		for _, f := range strings.Fields(strings.ReplaceAll(tc.want, "_C", "_"+C)) {
			want = append(want, config(t, tc.layout).TimelineDir()+T+f)
		}
		slices.Sort(want)
		if got := st.Paths(); !slices.Equal(got, want) {
			t.Errorf("layout %d %s: files %v, want %v", tc.layout, tc.action, got, want)
		}
		tl, err := a.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if tl.Len() != 1 || tl.All()[0] != done || done.State != Completed || done.Action != tc.action.Completes() {
			t.Errorf("layout %d %s: timeline %v, want the completed %v", tc.layout, tc.action, tl.All(), done)
		}
		if body, err := a.Read(t.Context(), tl.All()[0]); err != nil || string(body) != "body" {
			t.Errorf("layout %d %s: Read = %q, %v", tc.layout, tc.action, body, err)
		}
		if body, err := a.ReadRequested(t.Context(), done); tc.action != Savepoint && (err != nil || string(body) != "plan") {
			t.Errorf("layout %d %s: ReadRequested of the completed instant = %q, %v", tc.layout, tc.action, body, err)
		}
		if body, err := a.ReadInflight(t.Context(), done); err != nil || len(body) != 0 {
			t.Errorf("layout %d %s: ReadInflight of the completed instant = %q, %v", tc.layout, tc.action, body, err)
		}
	}
}

// throughStates requests, starts and completes an instant.
func throughStates(t *testing.T, a *Active, act Action, at, done InstantTime) (Instant, error) {
	i := Instant{Time: at, Action: act}
	var err error
	if act != Savepoint {
		if i, err = a.Request(t.Context(), at, act, []byte("plan")); err != nil {
			return i, err
		}
	}
	if i, err = a.Start(t.Context(), i, nil); err != nil {
		return i, err
	}
	return a.Complete(t.Context(), i, done, []byte("body"))
}

func TestTransitionsRefused(t *testing.T) {
	a, st := active(t, 2)
	ctx := t.Context()
	i, err := a.Request(ctx, "100", DeltaCommit, nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, err, want error) {
		t.Helper()
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	_, err = a.Request(ctx, "100", DeltaCommit, nil)
	check("a time taken", err, storage.ErrExists)
	_, err = a.Request(ctx, "x", Commit, nil)
	check("no time", err, nil)
	_, err = a.Request(ctx, "5", Savepoint, nil)
	check("a requested savepoint", err, nil)
	_, err = a.Request(ctx, "5", "dance", nil)
	check("an unknown action", err, nil)
	_, err = NewActive(st, config(t, 1)).Request(ctx, "5", Clustering, nil)
	check("clustering in layout 1", err, nil)
	_, err = a.Complete(ctx, i, "101", []byte("b"))
	check("complete before start", err, ErrState)
	_, err = a.Start(ctx, Instant{Time: "200", Action: Commit}, nil)
	check("start before request", err, ErrState)
	i, err = a.Start(ctx, i, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Start(ctx, i, nil)
	check("start twice", err, storage.ErrExists)
	_, err = a.Complete(ctx, i, "100", []byte("b"))
	check("completion not after its own time", err, nil)
	_, err = a.Complete(ctx, i, "101", nil)
	check("complete without body", err, nil)
	done, err := a.Complete(ctx, i, "101", []byte("b"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Complete(ctx, i, "102", []byte("b"))
	check("complete twice", err, storage.ErrExists)
	check("remove a completed instant", a.Remove(ctx, done), ErrState)
	check("remove inflight of a completed instant", a.RemoveInflight(ctx, done), ErrState)
	check("remove completed of a pending instant", a.RemoveCompleted(ctx, i), ErrState)
}

func TestEmptyCompleted(t *testing.T) {
	a, st := active(t, 2)
	if _, err := st.Put(t.Context(), ".hoodie/timeline/100_101.commit", nil, storage.PutIfAbsent); err != nil {
		t.Fatal(err)
	}
	tl, err := a.Load(t.Context())
	if err != nil || tl.Len() != 1 {
		t.Fatalf("Load = %v, %v", tl, err)
	}
	if _, err := a.Read(t.Context(), tl.All()[0]); !corrupt.Is(err) || !strings.Contains(err.Error(), "100_101.commit") {
		t.Errorf("Read of an empty completed instant = %v, want a corrupt error that names it", err)
	}
	if _, err := a.Read(t.Context(), Instant{Time: "7", Action: Clean}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of a missing instant = %v, want fs.ErrNotExist", err)
	}
}

func TestRemoveAndRevert(t *testing.T) {
	for _, layout := range []int{1, 2} {
		a, st := active(t, layout)
		ctx := t.Context()
		run := func(at InstantTime, act Action) Instant {
			t.Helper()
			i, err := a.Request(ctx, at, act, []byte("plan"))
			if err == nil {
				i, err = a.Start(ctx, i, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			return i
		}
		compaction := run("100", Compaction)
		if err := a.RemoveInflight(ctx, compaction); err != nil {
			t.Fatal(err)
		}
		if tl, _ := a.Load(ctx); words(tl.All()) != "100 compaction (requested)" {
			t.Errorf("layout %d: after RemoveInflight %s", layout, words(tl.All()))
		}
		if compaction, err := a.Start(ctx, compaction, nil); err != nil {
			t.Fatal(err)
		} else if done, err := a.Complete(ctx, compaction, "101", []byte("b")); err != nil {
			t.Fatal(err)
		} else if back, err := a.Revert(ctx, done); err != nil || back.Action != Compaction || back.State != Inflight {
			t.Errorf("layout %d: Revert of a finished compaction = %v, %v, want the inflight compaction", layout, back, err)
		} else if err := a.Remove(ctx, back); err != nil {
			t.Fatal(err)
		}
		commit := run("200", Commit)
		done, err := a.Complete(ctx, commit, "201", []byte("b"))
		if err != nil {
			t.Fatal(err)
		}
		if err := a.RemovePending(ctx, done); err != nil {
			t.Fatal(err)
		}
		if n := len(st.Paths()); n != 1 {
			t.Errorf("layout %d: after RemovePending %v, want the completed file alone", layout, st.Paths())
		}
		back, err := a.Revert(ctx, done)
		if err != nil {
			t.Fatal(err)
		}
		if tl, _ := a.Load(ctx); words(tl.All()) != "200 commit (inflight)" || tl.All()[0] != back {
			t.Errorf("layout %d: after Revert %s", layout, words(tl.All()))
		}
		for range 2 {
			if err := a.Remove(ctx, back); err != nil {
				t.Fatal(err)
			}
		}
		if len(st.Paths()) != 0 {
			t.Errorf("layout %d: left over %v", layout, st.Paths())
		}
	}
}

// TestRemoveCrash checks that no crash leaves an inflight file without its requested one.
func TestRemoveCrash(t *testing.T) {
	for n := range 3 {
		a, st := active(t, 2)
		i, err := a.Request(t.Context(), "100", DeltaCommit, nil)
		if err != nil {
			t.Fatal(err)
		}
		if i, err = a.Start(t.Context(), i, nil); err != nil {
			t.Fatal(err)
		}
		f := faultstore.New(st)
		f.CrashAt(faultstore.Delete, n, faultstore.Before)
		_ = NewActive(f, config(t, 2)).Remove(t.Context(), i)
		paths := strings.Join(st.Paths(), " ")
		if strings.Contains(paths, "inflight") && !strings.Contains(paths, "requested") {
			t.Errorf("crash at deletion %d leaves %s", n, paths)
		}
	}
}

// TestAmbiguous checks that a completion whose answer was lost is decided by what is there.
func TestAmbiguous(t *testing.T) {
	for _, when := range []faultstore.When{faultstore.Before, faultstore.After} {
		a, st := active(t, 2)
		i, err := a.Request(t.Context(), "100", Commit, nil)
		if err == nil {
			i, err = a.Start(t.Context(), i, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		f := faultstore.New(st)
		f.Inject(faultstore.Fault{Ops: faultstore.Put, When: when, Err: storage.ErrAmbiguous, Times: 1})
		_, err = NewActive(f, config(t, 2)).Complete(t.Context(), i, "101", []byte("body"))
		if when == faultstore.After && err != nil {
			t.Errorf("a completion that happened is reported as %v", err)
		}
		if when == faultstore.Before && !errors.Is(err, storage.ErrAmbiguous) {
			t.Errorf("a completion that did not happen is reported as %v, want ErrAmbiguous", err)
		}
	}
}

// TestOneCompleter lets many complete one instant of layout 1: one wins.
func TestOneCompleter(t *testing.T) {
	a, _ := active(t, 1)
	i, err := a.Request(t.Context(), "100", Commit, nil)
	if err == nil {
		i, err = a.Start(t.Context(), i, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	var won atomic.Int32
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			if _, err := a.Complete(t.Context(), i, "101", fmt.Appendf(nil, "writer %d", g)); err == nil {
				won.Add(1)
			} else if !errors.Is(err, storage.ErrExists) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d writers completed one instant", won.Load())
	}
}

// TestLoadForeign lists a directory full of what occurs beside instants (known faults A6, K3): only its own files count.
func TestLoadForeign(t *testing.T) {
	for layout, dir := range map[int]string{1: ".hoodie/", 2: ".hoodie/timeline/"} {
		a, st := active(t, layout)
		for _, p := range []string{
			dir + "20260101000000001.commit.requested", dir + "20260101000000001.inflight", dir + "20260101000000002.deltacommit.requested",
			dir + "hoodie.properties", dir + "20260101000000001.commit.tmp", dir + ".20260101000000001.commit.crc", dir + "history/manifest_1",
			dir + "history/20260101000000009.commit", ".hoodie/.bucket_index/consistent_hashing_metadata/p/20260101000000003.commit",
			".hoodie/metadata/.hoodie/20260101000000004.commit", "20260101000000005.commit",
		} {
			if _, err := st.Put(t.Context(), p, []byte("x"), storage.PutIfAbsent); err != nil {
				t.Fatal(err)
			}
		}
		tl, err := a.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := words(tl.All()), "20260101000000001 commit (inflight), 20260101000000002 deltacommit (requested)"; got != want {
			t.Errorf("layout %d: %s, want %s", layout, got, want)
		}
	}
}

// TestModificationTimes checks where layout 1 and legacy instants take their completion times from.
func TestModificationTimes(t *testing.T) {
	dir := t.TempDir()
	tldir := filepath.Join(dir, ".hoodie", "timeline")
	if err := os.MkdirAll(tldir, 0o755); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 7, 16, 26, 31, 123e6, time.UTC)
	for _, path := range []string{filepath.Join(dir, ".hoodie", "20260307162628304.commit"), filepath.Join(tldir, "20260307162628304.commit")} {
		if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	st, err := local.Open(dir, local.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, layout := range []int{1, 2} {
		tl, err := Load(t.Context(), st, config(t, layout))
		if err != nil || tl.Len() != 1 {
			t.Fatalf("layout %d: %v, %v", layout, tl, err)
		}
		i := tl.All()[0]
		if i.Completion != "20260307162631123" || i.Legacy != (layout == 2) || i.FileName(layout) != "20260307162628304.commit" {
			t.Errorf("layout %d: %+v, want completion 20260307162631123", layout, i)
		}
	}
}

// BenchmarkLoad lists 10 000 commits, 30 000 files, on a local disk.
func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	tldir := filepath.Join(dir, ".hoodie", "timeline")
	if err := os.MkdirAll(tldir, 0o755); err != nil {
		b.Fatal(err)
	}
	for _, i := range manyInstants(b, 10000) {
		if err := os.WriteFile(filepath.Join(tldir, i.File), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	st, err := local.Open(dir, local.Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	cfg := config(b, 2)
	for b.Loop() {
		if _, err := Load(b.Context(), st, cfg); err != nil {
			b.Fatal(err)
		}
	}
}
