package writer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/faultstore"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer"
	"github.com/hudifs/hudifs/writer/service"
)

// list makes the properties list a metadata table, and puts files of one there.
func list(t *testing.T, st storage.Store, key string) {
	t.Helper()
	if _, err := tableconfig.Modify(context.WithoutCancel(t.Context()), st, func(p *tableconfig.Properties) error {
		p.Set(key, "column_stats,files")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"hoodie.properties", "files/files-0000-0_0-0-0_1.hfile"} {
		if _, err := st.Put(t.Context(), ".hoodie/metadata/"+p, []byte("x"), storage.PutReplace); err != nil {
			t.Fatal(err)
		}
	}
}

func metadataFiles(st *storagetest.Mem) (out []string) {
	for _, p := range st.Paths() {
		if strings.HasPrefix(p, ".hoodie/metadata/") {
			out = append(out, p)
		}
	}
	return out
}

// listed reports whether the properties name a metadata table.
func listed(t *testing.T, st storage.Store) bool {
	t.Helper()
	cfg, err := tableconfig.Load(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	return len(cfg.MetaPartitions)+len(cfg.MetaInflight) > 0
}

// A table with a metadata table is refused unless that may be switched off, and refusing changes nothing at all.
func TestMetadataTableIsRefused(t *testing.T) {
	for _, key := range []string{tableconfig.KeyMetaPartitions, tableconfig.KeyMetaInflight} {
		st := newTable(t, tableconfig.Options{Type: tableconfig.MergeOnRead, OrderingFields: []string{"ts"}})
		tb, err := openTable(t, st, writer.Options{Owner: deadOwner()})
		if err != nil {
			t.Fatal(err)
		}
		if err := tb.upsert(t.Context(), action.OpUpsert, "first", "a|x|1|old"); err != nil {
			t.Fatal(err)
		}
		faults := faultstore.New(st)
		dying, err := openTable(t, faults, writer.Options{Owner: deadOwner()})
		if err != nil {
			t.Fatal(err)
		}
		faults.CrashAt(faultstore.Mutation, 5, faultstore.After)
		if err := dying.upsert(t.Context(), action.OpUpsert, "dead", "a|x|2|dead"); err == nil {
			t.Fatal("the write did not crash: the test shows nothing")
		}
		list(t, st, key)
		before := st.Paths()
		for name, write := range map[string]func() error{
			"upsert":   func() error { return tb.upsert(t.Context(), action.OpUpsert, "second", "a|x|3|new") },
			"schedule": func() error { _, err := tb.w.ScheduleCompaction(t.Context(), service.CompactionOptions{}); return err },
			"logs":     func() error { _, err := tb.w.CompactLogs(t.Context(), 1); return err },
			"execute":  func() error { _, err := tb.w.ExecuteCompactions(t.Context()); return err },
		} {
			if err := write(); !errors.Is(err, writer.ErrMetadataTable) || !strings.Contains(err.Error(), "--disable-metadata-table") {
				t.Errorf("%s: %v, want ErrMetadataTable with what to do", name, err)
			}
		}
		if err := tb.w.Recover(t.Context()); err != nil {
			t.Errorf("Recover = %v, want nil", err)
		}
		if got := st.Paths(); !slices.Equal(got, before) {
			t.Errorf("files changed:\n%q\nwere\n%q", got, before)
		}
		// Allowed, the same table takes the write, and what the dead one left goes.
		may, err := openTable(t, st, writer.Options{DisableMetadataTable: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := may.upsert(t.Context(), action.OpUpsert, "third", "a|x|3|new"); err != nil {
			t.Fatal(err)
		}
		if got := may.rows(); !slices.Equal(got, []string{"a|x|3|new"}) {
			t.Errorf("rows %q", got)
		}
		if listed(t, st) || len(metadataFiles(st)) > 0 || len(may.orphans()) > 0 || may.tab.Timeline().Pending().Len() > 0 {
			t.Errorf("listed %v, files %q, orphans %q, pending %v, want nothing of them", listed(t, st), metadataFiles(st), may.orphans(), may.tab.Timeline().Pending().All())
		}
	}
}

// Switching off may crash anywhere: no reader ever finds a metadata table listed that lacks files or a commit.
func TestSwitchOffSurvivesCrashes(t *testing.T) {
	t.Parallel()
	for name, o := range crashTables() {
		if o.Version == 6 && o.Type == tableconfig.CopyOnWrite {
			continue
		}
		t.Run(name, func(t *testing.T) {
			start := newTable(t, o)
			first, err := openTable(t, start, writer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := first.upsert(t.Context(), action.OpUpsert, "first", "a|x|1|old"); err != nil {
				t.Fatal(err)
			}
			list(t, start, tableconfig.KeyMetaPartitions)
			whole := metadataFiles(start)
			points := 0
			for _, when := range []faultstore.When{faultstore.Before, faultstore.After} {
				for n := 0; ; n++ {
					st := start.Clone()
					faults := faultstore.New(st)
					tb, err := openTable(t, faults, writer.Options{DisableMetadataTable: true, Owner: deadOwner(), Retries: -1})
					if err != nil {
						t.Fatal(err)
					}
					faults.CrashAt(faultstore.Mutation, n, when)
					err = tb.upsert(t.Context(), action.OpUpsert, "second", "a|x|2|new")
					if !faults.Crashed() {
						if err != nil {
							t.Fatal(err)
						}
						break
					}
					points++
					again, err := openTable(t, st, writer.Options{DisableMetadataTable: true})
					if err != nil {
						t.Fatalf("crash at %d: reopen: %v", n, err)
					}
					if listed(t, st) {
						if got := metadataFiles(st); !slices.Equal(got, whole) || again.tab.Timeline().CompletedWrites().Len() > 1 {
							t.Fatalf("crash at %d: a metadata table is listed with %q, beside %d commits", n, got, again.tab.Timeline().CompletedWrites().Len())
						}
					}
					if err := again.upsert(t.Context(), action.OpUpsert, "second", "a|x|2|new"); err != nil {
						t.Fatalf("crash at %d: again: %v", n, err)
					}
					if err := again.upsert(t.Context(), action.OpUpsert, "third", "b|x|2|new"); err != nil {
						t.Fatalf("crash at %d: and again: %v", n, err)
					}
					if got := again.rows(); !slices.Equal(got, []string{"a|x|2|new", "b|x|2|new"}) || listed(t, st) || len(metadataFiles(st)) > 0 {
						t.Fatalf("crash at %d: rows %q, listed %v, files %q", n, got, listed(t, st), metadataFiles(st))
					}
				}
			}
			if points < 10 {
				t.Errorf("%d crash points, want at least 10", points)
			}
		})
	}
}

// Another engine makes a metadata table while a write runs: the write must not complete beside it.
func TestMetadataTableThatComesUpMeanwhile(t *testing.T) {
	for _, may := range []bool{false, true} {
		st := newTable(t, tableconfig.Options{})
		faults := faultstore.New(st)
		tb, err := openTable(t, faults, writer.Options{DisableMetadataTable: may})
		if err != nil {
			t.Fatal(err)
		}
		faults.Inject(faultstore.Fault{Ops: faultstore.Put, Path: "*.marker.*", Times: 1, Do: func(faultstore.Op, string) { list(t, st, tableconfig.KeyMetaPartitions) }})
		err = tb.upsert(t.Context(), action.OpUpsert, "first", "a|x|1|new")
		done := tb.rows()
		if may {
			if err != nil || len(done) != 1 || listed(t, st) || len(metadataFiles(st)) > 0 {
				t.Errorf("write that may switch it off: %v, rows %q, listed %v, files %q, want it written with none", err, done, listed(t, st), metadataFiles(st))
			}
			continue
		}
		if !errors.Is(err, writer.ErrMetadataTable) || len(done) != 0 || !listed(t, st) {
			t.Errorf("write that may not: %v, rows %q, listed %v, want ErrMetadataTable and no rows", err, done, listed(t, st))
		}
		if p := tb.tab.Timeline().Pending(timeline.Commit); p.Len() > 0 || len(tb.orphans()) > 0 {
			t.Errorf("pending %v, orphans %q, want neither", p.All(), tb.orphans())
		}
	}
}
