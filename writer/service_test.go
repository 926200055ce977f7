package writer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hudifs/hudifs/internal/storage/faultstore"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer"
	"github.com/hudifs/hudifs/writer/lock/memlock"
	"github.com/hudifs/hudifs/writer/service"
	"github.com/hudifs/hudifs/writer/txn"
)

func mergeOnRead(t *testing.T, fn func(t *testing.T, o tableconfig.Options)) {
	for name, o := range crashTables() {
		if o.Type == tableconfig.MergeOnRead {
			t.Run(name, func(t *testing.T) { fn(t, o) })
		}
	}
}

// I4: a compaction that dies at any point loses no log, neither those of its plan nor later ones, and is finished by the next process.
func TestCompactionIsResumed(t *testing.T) {
	mergeOnRead(t, func(t *testing.T, o tableconfig.Options) {
		start := newTable(t, o)
		first := open(t, start, writer.Options{})
		first.do(action.OpUpsert, "1|x|1|a", "2|x|1|a", "3|y|1|a")
		first.do(action.OpUpsert, "1|x|2|b", "3|y|2|b")
		if _, err := first.w.ScheduleCompaction(t.Context(), service.CompactionOptions{}); err != nil {
			t.Fatal(err)
		}
		first.do(action.OpUpsert, "1|x|3|c")
		first.do(action.OpDelete, "3|y|0|")
		rows := []string{"1|x|3|c", "2|x|1|a"}
		first.want(rows...)
		points := 0
		for n := 0; ; n++ {
			st := start.Clone()
			faults := faultstore.New(st)
			faults.CrashAt(faultstore.Mutation, n, faultstore.When(n%2))
			dying := open(t, faults, writer.Options{Owner: deadOwner()})
			_, err := dying.w.ExecuteCompactions(t.Context())
			if !faults.Crashed() {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			points++
			next := open(t, st, writer.Options{})
			next.want(rows...)
			next.do(action.OpUpsert, "4|x|1|between")
			next.want(append(rows, "4|x|1|between")...)
			if _, err := next.w.ExecuteCompactions(t.Context()); err != nil {
				t.Fatalf("crash at %d: the next process: %v", n, err)
			}
			next.want(append(rows, "4|x|1|between")...)
			tl := next.tab.Timeline()
			if tl.Pending().Len() > 0 || tl.Completed(timeline.Commit).Len() != 1 || len(next.orphans()) > 0 {
				t.Fatalf("crash at %d: pending %v, %d compactions, orphans %q", n, tl.Pending().All(), tl.Completed(timeline.Commit).Len(), next.orphans())
			}
			next.do(action.OpUpsert, "1|x|9|update")
			if u := next.last().Stats["x"]; len(u) != 1 || u[0].NumUpdateWrites != 1 || u[0].NumInserts != 0 {
				t.Errorf("crash at %d: the update of a compacted row is %+v", n, u)
			}
		}
		if points < 6 {
			t.Errorf("%d crash points, want at least 6", points)
		}
	})
}

func TestCompactionByAnotherProcessIsPassedOver(t *testing.T) {
	mergeOnRead(t, func(t *testing.T, o tableconfig.Options) {
		st := newTable(t, o)
		tb := open(t, st, writer.Options{})
		tb.do(action.OpUpsert, "1|x|1|a")
		tb.do(action.OpUpsert, "1|x|2|b")
		i, err := tb.w.ScheduleCompaction(t.Context(), service.CompactionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m := txn.NewManager(txn.Options{Store: st, Config: tb.tab.Config(), Active: tb.tab.Active(), Lock: &memlock.Table{}})
		x, err := m.Resume(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if done, err := tb.w.ExecuteCompactions(t.Context()); err != nil || len(done) != 0 {
			t.Errorf("ExecuteCompactions beside another = %v, %v, want nothing done", done, err)
		}
		if _, err := tb.w.ScheduleCompaction(t.Context(), service.CompactionOptions{}); !errors.Is(err, service.ErrNothingToDo) {
			t.Errorf("a second plan for the same logs = %v, want ErrNothingToDo", err)
		}
		if err := x.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		if done, err := tb.w.ExecuteCompactions(t.Context()); err != nil || len(done) != 1 {
			t.Errorf("ExecuteCompactions afterwards = %v, %v, want one", done, err)
		}
		tb.want("1|x|2|b")
	})
}

// data.md §1.3: a compaction keeps the commit time and sequence number of each row.
func TestCompactionKeepsMetaColumns(t *testing.T) {
	mergeOnRead(t, func(t *testing.T, o tableconfig.Options) {
		for _, parquet := range []bool{false, true} {
			tb := open(t, newTable(t, o), writer.Options{ParquetLogs: parquet})
			tb.do(action.OpUpsert, "1|x|1|a", "2|x|1|a")
			tb.do(action.OpUpsert, "1|x|2|b")
			before := tb.meta("1") + tb.meta("2")
			for range 2 {
				tb.compact()
				if got := tb.meta("1") + tb.meta("2"); got != before || len(got) < 40 {
					t.Errorf("commit times and sequence numbers %q, want %q", got, before)
				}
			}
			m := tb.last()
			if m.Operation != action.OpCompact || !m.Compacted || m.Schema() == "" || len(m.Stats["x"]) != 1 {
				t.Fatalf("compaction %+v", m)
			}
			s := m.Stats["x"][0]
			if s.NumWrites != 2 || s.NumUpdateWrites != 1 || s.TotalLogFilesCompacted != 1 || s.TotalLogRecords != 1 || s.PrevCommit == action.NullCommit || (s.PrevBaseFile == "") != (o.Version == 6) {
				t.Errorf("stat %+v", s)
			}
		}
	})
}

func TestCompactionTriggers(t *testing.T) {
	zone := time.UTC
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, zone)
	// d: delta commit, c: completed compaction, p: pending compaction, r: requested delta commit; one a minute, the last one right before now.
	make := func(s string) *timeline.Timeline {
		var all []timeline.Instant
		for n, c := range s {
			i := timeline.Instant{Time: timeline.FormatInstantTime(now.Add(time.Duration(n-len(s)) * time.Minute)), Action: timeline.DeltaCommit, State: timeline.Completed}
			switch c {
			case 'c':
				i.Action = timeline.Commit
			case 'p':
				i.Action, i.State = timeline.Compaction, timeline.Requested
			case 'r':
				i.State = timeline.Requested
			case 'x':
				i.Action = timeline.Clean
			}
			if i.State == timeline.Completed {
				i.Completion = i.Time
			}
			all = append(all, i)
		}
		return timeline.New(2, all)
	}
	for _, c := range []struct {
		timeline string
		o        service.CompactionOptions
		want     bool
	}{
		{"", service.CompactionOptions{}, false},
		{"dddd", service.CompactionOptions{}, false},
		{"ddddd", service.CompactionOptions{}, true},
		{"ddrrd", service.CompactionOptions{}, true},
		{"ddddx", service.CompactionOptions{}, false},
		{"dddddcdddd", service.CompactionOptions{}, false},
		{"dddddcddddd", service.CompactionOptions{}, true},
		{"dddddpdddd", service.CompactionOptions{}, true},
		{"dddddpdddd", service.CompactionOptions{Trigger: service.NumCommitsAfterLastRequest}, false},
		{"dddddpddddd", service.CompactionOptions{Trigger: service.NumCommitsAfterLastRequest}, true},
		{"d", service.CompactionOptions{DeltaCommits: 1}, true},
		{"", service.CompactionOptions{Trigger: service.TimeElapsed, DeltaSeconds: 1}, false},
		{"dd", service.CompactionOptions{Trigger: service.TimeElapsed, DeltaSeconds: 120}, true},
		{"dd", service.CompactionOptions{Trigger: service.TimeElapsed, DeltaSeconds: 121}, false},
		{"dddcd", service.CompactionOptions{Trigger: service.TimeElapsed, DeltaSeconds: 120}, true},
		{"dddcd", service.CompactionOptions{Trigger: service.TimeElapsed, DeltaSeconds: 121}, false},
		{"dddc", service.CompactionOptions{Trigger: service.TimeElapsed, DeltaSeconds: 1}, false},
		{"dd", service.CompactionOptions{Trigger: service.TimeElapsed}, false},
		{"dd", service.CompactionOptions{Trigger: service.NumAndTime, DeltaCommits: 2, DeltaSeconds: 120}, true},
		{"dd", service.CompactionOptions{Trigger: service.NumAndTime, DeltaCommits: 3, DeltaSeconds: 120}, false},
		{"dd", service.CompactionOptions{Trigger: service.NumAndTime, DeltaCommits: 2, DeltaSeconds: 121}, false},
		{"dd", service.CompactionOptions{Trigger: service.NumOrTime, DeltaCommits: 3, DeltaSeconds: 120}, true},
		{"dd", service.CompactionOptions{Trigger: service.NumOrTime, DeltaCommits: 2, DeltaSeconds: 121}, true},
		{"dd", service.CompactionOptions{Trigger: service.NumOrTime, DeltaCommits: 3, DeltaSeconds: 121}, false},
	} {
		s := &service.Compaction{Options: c.o}
		if got, err := s.Due(make(c.timeline), zone, now); err != nil || got != c.want {
			t.Errorf("%q with %+v: due %v (%v), want %v", c.timeline, c.o, got, err, c.want)
		}
	}
	for _, o := range []service.CompactionOptions{{Trigger: "SOMETIMES"}, {Strategy: "Random"}} {
		if err := o.Validate(); err == nil {
			t.Errorf("Validate of %+v = nil, want an error", o)
		}
	}
}

func TestCompactIfDue(t *testing.T) {
	mergeOnRead(t, func(t *testing.T, o tableconfig.Options) {
		tb := open(t, newTable(t, o), writer.Options{})
		for i, want := range []int{0, 0, 1, 0, 0, 1} {
			tb.do(action.OpUpsert, "1|x|"+string(rune('1'+i))+"|v")
			done, err := tb.w.CompactIfDue(t.Context(), service.CompactionOptions{DeltaCommits: 3})
			if err != nil || len(done) != want {
				t.Errorf("after %d commits: %d compactions (%v), want %d", i+1, len(done), err, want)
			}
			tb.want("1|x|" + string(rune('1'+i)) + "|v")
		}
	})
	tb := open(t, newTable(t, tableconfig.Options{}), writer.Options{})
	if _, err := tb.w.CompactIfDue(t.Context(), service.CompactionOptions{}); !errors.Is(err, service.ErrNothingToDo) {
		t.Errorf("compaction of a copy-on-write table = %v, want ErrNothingToDo", err)
	}
}

func TestCompactionStrategies(t *testing.T) {
	mergeOnRead(t, func(t *testing.T, o tableconfig.Options) {
		tb := open(t, newTable(t, o), writer.Options{SmallFileBytes: -1})
		tb.do(action.OpUpsert, "1|a|1|v", "1|b|1|v", "1|c|1|v")
		tb.do(action.OpUpsert, "1|a|2|v", "1|b|2|"+strings.Repeat("long", 500))
		tb.do(action.OpUpsert, "1|a|3|v")
		tb.want("1|a|3|v", "1|b|2|"+strings.Repeat("long", 500), "1|c|1|v")
		for _, c := range []struct {
			o    service.CompactionOptions
			want []string // partitions, in order
		}{
			{service.CompactionOptions{}, []string{"b", "a"}},
			{service.CompactionOptions{Strategy: service.ByCount}, []string{"a", "b"}},
			{service.CompactionOptions{Strategy: service.ByCount, MinLogFiles: 2}, []string{"a"}},
			{service.CompactionOptions{MinLogBytes: 2000}, []string{"b"}},
			{service.CompactionOptions{Strategy: service.Unbounded, TargetIOMB: -1}, []string{"a", "b"}},
			{service.CompactionOptions{Strategy: service.BoundedIO, TargetIOMB: -1}, []string{"a"}}, // the operation that crosses the limit is still part
			{service.CompactionOptions{Strategy: service.ByCount, MinLogFiles: 9}, nil},
		} {
			s, err := tb.tab.Now(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			comp := &service.Compaction{Env: service.Env{Table: tb.tab}, Options: c.o}
			plan, err := comp.Plan(t.Context(), s)
			if c.want == nil {
				if !errors.Is(err, service.ErrNothingToDo) {
					t.Errorf("%+v: %v, want ErrNothingToDo", c.o, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, op := range plan.Operations {
				got = append(got, op.Partition)
				if op.Metrics["TOTAL_LOG_FILES"] < 1 || op.Metrics["TOTAL_LOG_FILES_SIZE"] < 100 || strings.Contains(op.DataFile, "/") || op.BaseInstant == "" {
					t.Errorf("operation %+v", op)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v: partitions %q, want %q", c.o, got, c.want)
			}
		}
	})
}
