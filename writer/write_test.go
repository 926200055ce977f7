package writer_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer"
	"github.com/hudifs/hudifs/writer/service"
)

// forTables runs a test on tables of every kind, with event or commit time order.
func forTables(t *testing.T, fn func(t *testing.T, o tableconfig.Options)) {
	t.Parallel()
	for name, o := range crashTables() {
		t.Run(name+" event time", func(t *testing.T) { fn(t, o) })
		o.OrderingFields, o.MergeMode = nil, ""
		t.Run(name+" commit time", func(t *testing.T) { fn(t, o) })
	}
}

func open(t *testing.T, st storage.Store, o writer.Options) *table {
	t.Helper()
	tb, err := openTable(t, st, o)
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

// names numbers the commits of do: no two have one name.
var names atomic.Int64

// do commits rows under a name of its own, which it returns, and fails the test where that fails.
func (tb *table) do(op action.WriteOperation, rows ...string) (name string) {
	tb.t.Helper()
	name = fmt.Sprintf("%s %d", op, names.Add(1))
	if err := tb.upsert(tb.t.Context(), op, name, rows...); err != nil {
		tb.t.Errorf("%s %q: %v", op, rows, err)
	}
	return name
}

// compact compacts what there is.
func (tb *table) compact() {
	tb.t.Helper()
	if tb.tab.Config().Type == tableconfig.CopyOnWrite {
		return
	}
	if _, err := tb.w.ScheduleCompaction(tb.t.Context(), service.CompactionOptions{}); err != nil && !errors.Is(err, service.ErrNothingToDo) {
		tb.t.Fatal(err)
	}
	if _, err := tb.w.ExecuteCompactions(tb.t.Context()); err != nil {
		tb.t.Fatal(err)
	}
}

func (tb *table) want(rows ...string) {
	tb.t.Helper()
	slices.Sort(rows)
	if got := tb.rows(); !slices.Equal(got, append([]string{}, rows...)) {
		tb.t.Errorf("rows %q, want %q", got, rows)
	}
}

// last is the metadata of the newest commit.
func (tb *table) last() *action.CommitMetadata {
	tb.t.Helper()
	tl, err := tb.tab.Reload(tb.t.Context())
	if err != nil {
		tb.t.Fatal(err)
	}
	i, ok := tl.CompletedWrites().Last()
	if !ok {
		tb.t.Fatal("no commit")
	}
	m, err := action.Read[action.CommitMetadata](tb.t.Context(), tb.tab.Active(), i)
	if err != nil {
		tb.t.Fatal(err)
	}
	return m
}

// D9: one key several times in a batch.
func TestSameKeyInABatch(t *testing.T) {
	forTables(t, func(t *testing.T, o tableconfig.Options) {
		tb := open(t, newTable(t, o), writer.Options{})
		want := "1|x|11|d"
		if o.OrderingFields != nil {
			want = "1|x|12|c"
		}
		for range 2 {
			tb.do(action.OpUpsert, "1|x|10|a", "1|x|12|b", "1|x|12|c", "1|x|11|d")
			tb.want(want)
		}
		tb.compact()
		tb.want(want)
	})
}

// G1: when a compaction runs changes nothing, and copy-on-write is merge-on-read.
func TestCompactionChangesNoRows(t *testing.T) {
	forTables(t, func(t *testing.T, o tableconfig.Options) {
		events := []string{"1|x|5|a5", "1|x|4|a4", "1|x|3|a3", "1|x|7|a7", "1|x|7|b7"}
		for at := -1; at < len(events); at++ {
			if at >= 0 && o.Type == tableconfig.CopyOnWrite {
				break // there is nothing to compact
			}
			tb := open(t, newTable(t, o), writer.Options{})
			best := ""
			var bestTS int
			for i, e := range events {
				tb.do(action.OpUpsert, e)
				var ts int
				fmt.Sscan(strings.Split(e, "|")[2], &ts)
				if o.OrderingFields == nil || ts >= bestTS {
					best, bestTS = e, ts
				}
				tb.want(best)
				if i == at {
					tb.compact()
					tb.want(best)
				}
			}
		}
	})
}

// D10: what was there twice before is changed twice, whichever the table's type and whenever it is compacted; but for logs of version 6, where Spark 0.15 changes
// the first copy alone and readers follow it.
func TestDuplicatesAreChangedTogether(t *testing.T) {
	forTables(t, func(t *testing.T, o tableconfig.Options) {
		updated, deleted := []string{"1|x|2|z", "1|x|2|z", "2|x|1|b"}, []string{"2|x|1|b"}
		if o.Version == 6 && o.Type == tableconfig.MergeOnRead {
			updated, deleted = []string{"1|x|1|a", "1|x|2|z", "2|x|1|b"}, []string{"1|x|1|a", "2|x|1|b"}
		}
		tb := open(t, newTable(t, o), writer.Options{})
		tb.do(action.OpBulkInsert, "1|x|1|a", "1|x|1|a", "2|x|1|b")
		tb.want("1|x|1|a", "1|x|1|a", "2|x|1|b")
		tb.do(action.OpUpsert, "1|x|2|z")
		tb.want(updated...)
		tb.do(action.OpDelete, "1|x|0|")
		tb.want(deleted...)
		tb.compact()
		tb.want(deleted...)
	})
}

// E1: inserts never look for their keys, whichever file is small.
func TestInsertsKeepDuplicates(t *testing.T) {
	forTables(t, func(t *testing.T, o tableconfig.Options) {
		for _, small := range []int64{0, -1} {
			tb := open(t, newTable(t, o), writer.Options{SmallFileBytes: small})
			tb.do(action.OpInsert, "1|x|1|a")
			tb.do(action.OpInsert, "2|x|1|a")
			tb.do(action.OpInsert, "1|x|1|b", "1|x|1|b")
			tb.want("1|x|1|a", "1|x|1|b", "1|x|1|b", "2|x|1|a")
			files := map[string]bool{}
			for _, s := range tb.last().Stats["x"] {
				files[s.PrevCommit] = true
			}
			if grown := !files[action.NullCommit]; grown != (small == 0) {
				t.Errorf("small files of %d bytes: a file was grown: %v", small, grown)
			}
		}
	})
}

// E2: nothing is inserted into a group whose compaction is pending, and both its logs and the new rows stay.
func TestInsertBesideAPendingCompaction(t *testing.T) {
	for name, o := range crashTables() {
		if o.Type != tableconfig.MergeOnRead {
			continue
		}
		t.Run(name, func(t *testing.T) {
			tb := open(t, newTable(t, o), writer.Options{})
			tb.do(action.OpUpsert, "1|x|1|a")
			tb.do(action.OpUpsert, "1|x|2|b")
			if _, err := tb.w.ScheduleCompaction(t.Context(), service.CompactionOptions{}); err != nil {
				t.Fatal(err)
			}
			tb.do(action.OpInsert, "2|x|1|new")
			tb.do(action.OpUpsert, "1|x|3|c", "3|x|1|new")
			rows := []string{"1|x|3|c", "2|x|1|new", "3|x|1|new"}
			tb.want(rows...)
			if done, err := tb.w.ExecuteCompactions(t.Context()); err != nil || len(done) != 1 {
				t.Fatalf("%d compactions (%v), want 1", len(done), err)
			}
			tb.want(rows...)
			tb.compact()
			tb.want(rows...)
			tb.do(action.OpDelete, "1|x|0|", "2|x|0|", "3|x|0|")
			tb.want()
		})
	}
}

// G9: an update that loses against the row that is there leaves it, its commit time, and in copy-on-write its file alone.
func TestLosingUpdate(t *testing.T) {
	for name, o := range crashTables() {
		t.Run(name, func(t *testing.T) {
			tb := open(t, newTable(t, o), writer.Options{})
			tb.do(action.OpUpsert, "1|x|10|a", "2|x|10|b")
			before := tb.meta("1")
			tb.do(action.OpUpsert, "1|x|5|late")
			if o.Type == tableconfig.CopyOnWrite && len(tb.last().Stats["x"]) != 0 {
				t.Errorf("a file was written for nothing: %+v", tb.last().Stats)
			}
			tb.compact()
			tb.want("1|x|10|a", "2|x|10|b")
			name := tb.do(action.OpUpsert, "1|x|5|late", "2|x|11|new")
			tb.compact()
			tb.want("1|x|10|a", "2|x|11|new")
			if got := tb.meta("1"); got != before {
				t.Errorf("commit time and sequence number of the row that won %q, want %q", got, before)
			}
			if got := tb.meta("2"); got == before || got[:17] != string(tb.timeOf(name)) {
				t.Errorf("commit time and sequence number of the new row %q", got)
			}
		})
	}
}

// N2: deleting all rows of a file, and filling it again.
func TestDeleteAllRows(t *testing.T) {
	forTables(t, func(t *testing.T, o tableconfig.Options) {
		tb := open(t, newTable(t, o), writer.Options{})
		tb.do(action.OpUpsert, "1|x|5|a", "2|x|5|b", "3|y|5|c")
		tb.do(action.OpDelete, "1|x|0|", "2|x|0|", "unknown|x|0|", "other|nowhere|0|")
		tb.want("3|y|5|c")
		tb.compact()
		tb.want("3|y|5|c")
		tb.do(action.OpUpsert, "1|x|1|again")
		tb.want("1|x|1|again", "3|y|5|c")
		tb.compact()
		tb.want("1|x|1|again", "3|y|5|c")
	})
}

// timeline.md §7.1: a write of nothing is a commit, with the schema.
func TestEmptyWrites(t *testing.T) {
	forTables(t, func(t *testing.T, o tableconfig.Options) {
		tb := open(t, newTable(t, o), writer.Options{})
		for _, op := range []action.WriteOperation{action.OpUpsert, action.OpInsert, action.OpBulkInsert, action.OpDelete} {
			tb.do(op)
			m := tb.last()
			if m.Operation != op || len(m.Stats) != 0 || m.Schema() == "" || m.Stats == nil {
				t.Errorf("%s of nothing: operation %s, stats %v, schema %q", op, m.Operation, m.Stats, m.Schema())
			}
		}
		tb.want()
		tb.do(action.OpDelete, "1|x|0|")
		tb.want()
	})
}

// I2: random writes, compactions and log compactions, against a map.
func TestRandomHistories(t *testing.T) {
	forTables(t, func(t *testing.T, o tableconfig.Options) {
		rng := rand.New(rand.NewPCG(7, uint64(len(t.Name()))))
		tb := open(t, newTable(t, o), writer.Options{SmallFileBytes: []int64{0, -1}[rng.IntN(2)], ParquetLogs: rng.IntN(2) == 0})
		type row struct {
			ts int
			v  string
		}
		model := map[string]row{}
		// A row that comes back under its deleted key is no earlier event: in logs, where a delete has no event time, it would lose against the row that was deleted.
		floor := map[string]int{}
		for step := range 18 {
			switch rng.IntN(6) {
			case 0:
				tb.compact()
			case 1:
				if o.Type == tableconfig.MergeOnRead && o.Version >= 8 {
					if _, err := tb.w.CompactLogs(t.Context(), 2); err != nil && !errors.Is(err, service.ErrNothingToDo) {
						t.Fatal(err)
					}
				}
			case 2:
				k := fmt.Sprintf("%d|%c", rng.IntN(6), 'x'+rune(rng.IntN(2)))
				tb.do(action.OpDelete, k+"|0|")
				floor[k] = max(floor[k], model[k].ts)
				delete(model, k)
			default:
				var rows []string
				for n := range 1 + rng.IntN(4) {
					k := fmt.Sprintf("%d|%c", rng.IntN(6), 'x'+rune(rng.IntN(2)))
					r := row{max(rng.IntN(10), floor[k]), fmt.Sprintf("v%d.%d", step, n)}
					rows = append(rows, fmt.Sprintf("%s|%d|%s", k, r.ts, r.v))
					if old, ok := model[k]; !ok || o.OrderingFields == nil || r.ts >= old.ts {
						model[k] = r
					}
				}
				tb.do(action.OpUpsert, rows...)
			}
			var want []string
			for k, r := range model {
				want = append(want, fmt.Sprintf("%s|%d|%s", k, r.ts, r.v))
			}
			tb.want(want...)
			if t.Failed() {
				t.Fatalf("at step %d", step)
			}
		}
		if o := tb.orphans(); len(o) > 0 {
			t.Errorf("files of no commit: %q", o)
		}
	})
}
