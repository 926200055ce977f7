package handle_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer/handle"
)

// A log file is never appended to: each write and each version number gets a file of its own, whoever wrote the others.
func TestLogNames(t *testing.T) {
	st := storagetest.NewMem()
	e, _ := env(t, st, first, true)
	s := create(t, e, "p", "a")[0]
	slice := &fsview.FileSlice{Group: fsview.FileGroupID{Partition: "p", FileID: s.FileID}, Base: first, File: base(t, s)}
	write := func(byDelta, parquet bool, at timeline.InstantTime) action.WriteStat {
		t.Helper()
		e, m := env(t, st, at, true)
		e.LogNamedByDelta, e.ParquetLogs = byDelta, parquet
		h := e.NewAppend("p", slice)
		if err := h.Update(t.Context(), "a", row(e, "a", "v2")); err != nil {
			t.Fatal(err)
		}
		h.Delete(record.Key{RecordKey: "b", PartitionPath: "p"}, record.Ordering{})
		stats, err := h.Close(t.Context())
		if err != nil || len(stats) != 1 {
			t.Fatalf("%d files (%v), want 1", len(stats), err)
		}
		if !slices.Equal(m.seen, []string{stats[0].Path + " LOG"}) {
			t.Errorf("marked %q", m.seen)
		}
		return stats[0]
	}
	for i, c := range []struct {
		byDelta, parquet bool
		at               timeline.InstantTime
		want             string
		version          int32
	}{
		{true, false, second, string(second) + ".log.1_", 1},
		{true, true, "20260101000000003", "20260101000000003.log.1_", 1},
		{false, false, second, string(first) + ".log.1_", 1},
		{false, true, "20260101000000003", string(first) + ".log.2_", 2},
		{false, false, "20260101000000004", string(first) + ".log.12_", 12},
	} {
		if c.version == 12 { // left by another, committed or not
			if _, err := st.Put(t.Context(), "p/."+s.FileID+"_"+string(first)+".log.11_7-8-9", []byte("#HUDI#"), storage.PutIfAbsent); err != nil {
				t.Fatal(err)
			}
		}
		got := write(c.byDelta, c.parquet, c.at)
		name := path.Base(got.Path)
		if !strings.HasPrefix(name, "."+s.FileID+"_"+c.want) || got.Log.Version != c.version || got.Log.Files[0] != name {
			t.Errorf("case %d: %s, version %d, want %s", i, name, got.Log.Version, c.want)
		}
		if got.NumWrites != 1 || got.NumUpdateWrites != 1 || got.NumDeletes != 1 {
			t.Errorf("case %d: stat %+v, want an update and a delete", i, got)
		}
		prev, baseFile := string(c.at), ""
		if !c.byDelta {
			prev, baseFile = string(first), path.Base(s.Path)
		}
		if got.PrevCommit != prev || got.Log.BaseFile != baseFile {
			t.Errorf("case %d: previous commit %s, base file %q, want %s, %q", i, got.PrevCommit, got.Log.BaseFile, prev, baseFile)
		}
	}
}

func TestNothingToAppendMakesNoFile(t *testing.T) {
	st := storagetest.NewMem()
	e, m := env(t, st, first, true)
	stats, err := e.NewAppend("p", &fsview.FileSlice{}).Close(t.Context())
	if err != nil || len(stats) != 0 || len(m.seen) != 0 || len(st.Paths()) != 0 {
		t.Errorf("%d files, %d marks, %q (%v), want nothing", len(stats), len(m.seen), st.Paths(), err)
	}
	made, err := e.NewCreate("p", "x").Close(t.Context())
	if err != nil || len(made) != 0 || len(st.Paths()) != 0 {
		t.Errorf("an empty group made %q (%v), want nothing", st.Paths(), err)
	}
}

// Version 6: the rollback command is a log file of its own behind all others of the slice.
func TestUndo(t *testing.T) {
	st := storagetest.NewMem()
	log := "p/.fid-0_" + string(first) + ".log.4_0-1-1"
	if _, err := st.Put(t.Context(), log, []byte("blocks"), storage.PutIfAbsent); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"5", "6"} {
		p, size, err := handle.Undo(t.Context(), st, log, "20260101000000009", second)
		if err != nil {
			t.Fatal(err)
		}
		if p != "p/.fid-0_"+string(first)+".log."+want+"_1-0-1" {
			t.Errorf("rollback command in %s, want version %s", p, want)
		}
		body, err := st.ReadAll(t.Context(), p)
		if err != nil || int64(len(body)) != size || !strings.HasPrefix(string(body), "#HUDI#") || !strings.Contains(string(body), string(second)) {
			t.Errorf("rollback command %q of size %d (%v)", body, size, err)
		}
	}
	if _, _, err := handle.Undo(t.Context(), st, "p/no-log", first, second); err == nil {
		t.Error("Undo of no log file = nil, want an error")
	}
}
