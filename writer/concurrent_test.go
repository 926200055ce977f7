package writer_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hudifs/hudifs/internal/storage/faultstore"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer"
	"github.com/hudifs/hudifs/writer/conflict"
	"github.com/hudifs/hudifs/writer/lock"
	"github.com/hudifs/hudifs/writer/lock/filelock"
	"github.com/hudifs/hudifs/writer/lock/memlock"
	"github.com/hudifs/hudifs/writer/service"
)

// meanwhile opens the table so that fn runs once, right before the writer's first marker: between its look at the table and its commit.
func meanwhile(t *testing.T, o tableconfig.Options, w writer.Options, fn func(other *table)) (*table, *table) {
	t.Helper()
	st := newTable(t, o)
	other := open(t, st, writer.Options{Lock: w.Lock})
	other.do(action.OpUpsert, "1|x|1|old", "2|y|1|old")
	faults := faultstore.New(st)
	tb := open(t, faults, w)
	faults.Inject(faultstore.Fault{Ops: faultstore.Put, Path: "*.marker.*", Times: 1, Do: func(faultstore.Op, string) { fn(other) }})
	return tb, other
}

// locks are what two writers may share.
func locks() map[string]func() lock.Provider {
	return map[string]func() lock.Provider{
		"no common lock": func() lock.Provider { return nil },
		"common lock":    func() lock.Provider { return &memlock.Table{} },
	}
}

// C8: of two writes to one file group one comes second: it tries again on top of the first, or says so; its first attempt leaves nothing.
func TestSecondWriterOnOneGroup(t *testing.T) {
	for name, o := range crashTables() {
		for how, l := range locks() {
			t.Run(name+" "+how, func(t *testing.T) {
				for _, retries := range []int{0, -1} {
					tb, other := meanwhile(t, o, writer.Options{Retries: retries, Lock: l()}, func(other *table) { other.do(action.OpUpsert, "1|x|2|first", "3|x|2|first") })
					err := tb.upsert(t.Context(), action.OpUpsert, "second", "1|x|3|second", "4|x|3|second")
					want := []string{"1|x|2|first", "2|y|1|old", "3|x|2|first"}
					if retries == 0 {
						want = []string{"1|x|3|second", "2|y|1|old", "3|x|2|first", "4|x|3|second"}
						if err != nil {
							t.Errorf("with retries: %v, want nil", err)
						}
					} else if !errors.Is(err, conflict.ErrConflict) {
						t.Errorf("without retries: %v, want ErrConflict", err)
					}
					other.want(want...)
					if p := other.tab.Timeline().Pending(); p.Len() > 0 || len(other.orphans()) > 0 {
						t.Errorf("pending %v, orphans %q, want neither", p.All(), other.orphans())
					}
				}
			})
		}
	}
}

func TestWritersOfDifferentGroupsBothWin(t *testing.T) {
	for name, o := range crashTables() {
		t.Run(name, func(t *testing.T) {
			tb, other := meanwhile(t, o, writer.Options{Retries: -1}, func(other *table) { other.do(action.OpUpsert, "2|y|2|first") })
			tb.do(action.OpUpsert, "1|x|2|second")
			other.want("1|x|2|second", "2|y|2|first")
		})
	}
}

// Both insert one key that neither saw, into different files of different groups: only one row may come of it.
func TestSameNewKeyInTwoWriters(t *testing.T) {
	for name, o := range crashTables() {
		for how, l := range locks() {
			t.Run(name+" "+how, func(t *testing.T) {
				w := writer.Options{Lock: l(), SmallFileBytes: -1}
				tb, other := meanwhile(t, o, w, func(other *table) { other.do(action.OpUpsert, "9|new|2|first", "8|new|2|first") })
				tb.do(action.OpUpsert, "9|new|3|second", "7|new|3|second")
				other.want("1|x|1|old", "2|y|1|old", "7|new|3|second", "8|new|2|first", "9|new|3|second")
				tb.do(action.OpInsert, "9|new|3|twice") // inserts keep duplicates on purpose
				if n := len(slices.DeleteFunc(other.rows(), func(r string) bool { return !strings.HasPrefix(r, "9|") })); n != 2 {
					t.Errorf("%d rows of the key after an insert, want 2", n)
				}
			})
		}
	}
}

// A compaction that is planned, or done, while a write runs.
func TestCompactionMeanwhile(t *testing.T) {
	for name, o := range crashTables() {
		if o.Type != tableconfig.MergeOnRead {
			continue
		}
		for _, finish := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s finished %v", name, finish), func(t *testing.T) {
				tb, other := meanwhile(t, o, writer.Options{}, func(other *table) {
					other.do(action.OpUpsert, "2|y|2|logged")
					_, err := other.w.ScheduleCompaction(t.Context(), service.CompactionOptions{})
					if o.Version == 6 {
						// Logs of version 6 bear their slice's name: a plan waits for the write that runs.
						if !errors.Is(err, service.ErrNothingToDo) {
							t.Errorf("plan beside a running write = %v, want ErrNothingToDo", err)
						}
						return
					}
					if err != nil {
						t.Error(err)
					}
					if finish {
						other.compact()
					}
				})
				tb.do(action.OpUpsert, "1|x|2|second", "2|y|3|second", "3|y|3|second")
				rows := []string{"1|x|2|second", "2|y|3|second", "3|y|3|second"}
				other.want(rows...)
				other.compact()
				other.want(rows...)
			})
		}
	}
}

// B1: writers that race, with and without each other's keys: every commit and every row is there.
func TestRacingWriters(t *testing.T) {
	for name, o := range crashTables() {
		t.Run(name, func(t *testing.T) {
			st := newTable(t, o)
			const writers, each = 3, 6
			var wg sync.WaitGroup
			// One lock of the process, or one file that each opens for itself.
			var shared memlock.Table
			for n := range writers {
				var l lock.Provider = &shared
				if o.Type == tableconfig.CopyOnWrite {
					var err error
					if l, err = filelock.New(st, "", 0); err != nil {
						t.Fatal(err)
					}
				}
				tb := open(t, st, writer.Options{Lock: l, Retries: 50})
				wg.Go(func() {
					for i := range each {
						if err := tb.upsert(t.Context(), action.OpUpsert, fmt.Sprintf("%d.%d", n, i), fmt.Sprintf("%d.%d|p%d|1|mine", n, i, n), fmt.Sprintf("all|shared|%d|%d", i, n)); err != nil {
							t.Errorf("writer %d: %v", n, err)
							return
						}
					}
				})
			}
			wg.Wait()
			tb := open(t, st, writer.Options{})
			rows := tb.rows()
			common := slices.DeleteFunc(slices.Clone(rows), func(r string) bool { return !strings.HasPrefix(r, "all|") })
			if len(rows) != writers*each+1 || len(common) != 1 || !strings.HasPrefix(common[0], fmt.Sprintf("all|shared|%d|", each-1)) {
				t.Errorf("%d rows, the common one %q, want %d and one with the last event", len(rows), common, writers*each+1)
			}
			if got := tb.tab.Timeline().CompletedWrites().Len(); got != writers*each {
				t.Errorf("%d commits, want %d", got, writers*each)
			}
			if p := tb.tab.Timeline().Pending(); p.Len() > 0 || len(tb.orphans()) > 0 {
				t.Errorf("pending %v, orphans %q", p.All(), tb.orphans())
			}
		})
	}
}
