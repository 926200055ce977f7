package txn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/faultstore"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer/conflict"
	"github.com/hudifs/hudifs/writer/lock"
	"github.com/hudifs/hudifs/writer/lock/filelock"
	"github.com/hudifs/hudifs/writer/txn"
)

var versions = []int{6, 8, 9}

func forVersions(t *testing.T, fn func(t *testing.T, tb *table)) {
	for _, v := range versions {
		t.Run(fmt.Sprintf("v%d", v), func(t *testing.T) { fn(t, newTable(t, v)) })
	}
}

func TestCommitLeavesOnlyTheCommit(t *testing.T) {
	forVersions(t, func(t *testing.T, tb *table) {
		x := tb.begin(tb.manager(nil), timeline.DeltaCommit)
		tb.wantPaths(".hoodie/.heartbeat/", ".hoodie/.heartbeat/"+string(x.Time()))
		kept := tb.write(x, "a", fileID, "0-1-1")
		again := tb.write(x, "a", fileID, "0-1-2") // a task that was tried twice: only one of its files is part of the result
		if err := tb.commit(x, result(kept)); err != nil {
			t.Fatal(err)
		}
		tb.wantState(x.Time(), timeline.DeltaCommit, "completed")
		tb.wantPaths("", kept.Path)
		tb.wantPaths(".hoodie/.temp/")
		tb.wantPaths(".hoodie/.heartbeat/")
		if again.Path == kept.Path {
			t.Error("the two attempts have one name: the test shows nothing")
		}
		meta, err := tb.st.ReadAll(t.Context(), "a/.hoodie_partition_metadata")
		if err != nil || !strings.Contains(string(meta), "commitTime="+string(x.Time())+"\npartitionDepth=1\n") {
			t.Errorf("partition metafile %q (%v), want commit time and depth", meta, err)
		}
		if err := x.Rollback(t.Context()); err != nil {
			t.Errorf("Rollback of an ended transaction = %v, want nil", err)
		}
		tb.wantPaths("", kept.Path)
	})
}

func TestRollbackTakesEverythingBack(t *testing.T) {
	forVersions(t, func(t *testing.T, tb *table) {
		m := tb.manager(nil)
		before := tb.begin(m, timeline.DeltaCommit)
		kept := tb.write(before, "a", fileID, "0-1-1")
		if err := tb.commit(before, result(kept)); err != nil {
			t.Fatal(err)
		}
		x := tb.begin(m, timeline.DeltaCommit)
		tb.write(x, "a", fileID, "0-1-1")
		tb.write(x, "new", fileID, "1-1-1")
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // an aborted write cleans up all the same
		if err := x.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		tb.wantState(x.Time(), timeline.DeltaCommit, "")
		tb.wantPaths("", kept.Path)
		tb.wantPaths(".hoodie/.temp/")
		tb.wantPaths(".hoodie/.heartbeat/")
		times, pending := tb.rollbacks()
		if len(times) != 1 || pending != 0 {
			t.Fatalf("rollbacks %q, %d pending, want one completed", times, pending)
		}
		i, _ := tb.timeline().FindAction(timeline.InstantTime(times[0]), timeline.Rollback)
		meta, err := action.Read[action.RollbackMetadata](t.Context(), tb.active, i)
		if err != nil {
			t.Fatal(err)
		}
		if meta.TotalFilesDeleted != 2 || len(meta.Partitions) != 2 || len(meta.Partitions["a"].Deleted) != 1 || meta.Commits[0] != string(x.Time()) {
			t.Errorf("record of the rollback: %+v, want one file in each of two partitions", meta)
		}
	})
}

// A2, A3: an instant is greater than everything on the timeline, also where a date lies in the future.
func TestInstantsGrow(t *testing.T) {
	forVersions(t, func(t *testing.T, tb *table) {
		const far = "20990101000000000"
		if _, err := tb.active.Request(t.Context(), far, timeline.DeltaCommit, nil); err != nil {
			t.Fatal(err)
		}
		x := tb.begin(tb.manager(nil), timeline.DeltaCommit)
		if x.Time() <= far {
			t.Errorf("instant %s is not greater than %s, which is on the timeline", x.Time(), far)
		}
		at, err := tb.manager(nil).Schedule(t.Context(), timeline.Compaction, func(context.Context, *timeline.Timeline, timeline.InstantTime) ([]byte, error) {
			return []byte("plan"), nil
		})
		if err != nil || at.Time <= x.Time() {
			t.Errorf("plan at %s (%v), want later than %s", at.Time, err, x.Time())
		}
	})
}

// B1, B2: managers that share neither a clock nor a lock never make one instant twice, and leave each other's heartbeats alone.
func TestManagersNeverShareAnInstant(t *testing.T) {
	tb := newTable(t, 9)
	const managers, each = 4, 20
	var mu sync.Mutex
	seen := map[timeline.InstantTime]bool{}
	var wg sync.WaitGroup
	for range managers {
		other := tb.over(tb.st)
		other.lock = newTable(t, 9).lock
		m := other.manager(nil)
		wg.Go(func() {
			for range each {
				x, err := m.Begin(t.Context(), timeline.DeltaCommit, nil)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if seen[x.Time()] {
					t.Errorf("instant %s was given twice", x.Time())
				}
				seen[x.Time()] = true
				mu.Unlock()
				defer x.Leave(t.Context())
				if _, err := tb.st.Stat(t.Context(), ".hoodie/.heartbeat/"+string(x.Time())); err != nil {
					t.Errorf("a running write has lost its heartbeat: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if got := tb.timeline().Pending().Len(); got != managers*each || len(seen) != got {
		t.Errorf("%d instants on the timeline, %d were given, want %d", got, len(seen), managers*each)
	}
}

func TestTimeTakenByHeartbeatIsPassedOver(t *testing.T) {
	tb := newTable(t, 9)
	taken := ""
	faults := faultstore.New(tb.st)
	faults.Inject(faultstore.Fault{Ops: faultstore.Put, Path: ".hoodie/.heartbeat/", Times: 1, Do: func(_ faultstore.Op, path string) {
		taken = path
		tb.put(path, "somebody else\n")
	}})
	x := tb.begin(tb.over(faults).manager(nil), timeline.DeltaCommit)
	if body, err := tb.st.ReadAll(t.Context(), taken); err != nil || string(body) != "somebody else\n" {
		t.Errorf("the other writer's heartbeat is %q (%v), want it untouched", body, err)
	}
	if string(x.Time()) == taken[len(".hoodie/.heartbeat/"):] {
		t.Error("began at the time that another writer had taken")
	}
}

// A commit whose answer is lost has happened, and ends the transaction like any other.
func TestAmbiguousComplete(t *testing.T) {
	forVersions(t, func(t *testing.T, tb *table) {
		for _, when := range []faultstore.When{faultstore.Before, faultstore.After} {
			faults := faultstore.New(tb.st)
			tc := tb.over(faults)
			x := tc.begin(tc.manager(nil), timeline.DeltaCommit)
			s := tc.write(x, "a", fileID, "0-1-1")
			done := "*" + string(x.Time()) + "*.deltacommit"
			faults.Inject(faultstore.Fault{Ops: faultstore.Put, Path: done, When: when, Err: storage.ErrAmbiguous})
			faults.Inject(faultstore.Fault{Ops: faultstore.Read | faultstore.Stat, Path: done})
			err := tc.commit(x, result(s))
			if when == faultstore.After {
				if err != nil {
					t.Errorf("Commit that took effect = %v, want nil", err)
				}
				tb.wantState(x.Time(), timeline.DeltaCommit, "completed")
				tb.wantPaths(".hoodie/.heartbeat/")
				tb.wantPaths(".hoodie/.temp/")
				continue
			}
			if !errors.Is(err, storage.ErrAmbiguous) {
				t.Errorf("Commit that had no effect = %v, want ErrAmbiguous", err)
			}
			if err := x.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
			tb.wantState(x.Time(), timeline.DeltaCommit, "")
			tb.wantPaths(".hoodie/.heartbeat/")
			if len(tb.paths("")) != 0 {
				t.Errorf("files after the rollback: %q", tb.paths(""))
			}
		}
	})
}

func TestConflictLeavesTheWritePending(t *testing.T) {
	forVersions(t, func(t *testing.T, tb *table) {
		m := tb.manager(nil)
		slow, fast := tb.begin(m, timeline.ReplaceCommit), tb.begin(m, timeline.ReplaceCommit)
		s, f := tb.write(slow, "a", fileID, "0-1-1"), tb.write(fast, "a", fileID, "0-1-1")
		if err := tb.commit(fast, result(f)); err != nil {
			t.Fatal(err)
		}
		if err := tb.commit(slow, result(s)); !errors.Is(err, conflict.ErrConflict) {
			t.Fatalf("Commit of the slower writer = %v, want ErrConflict", err)
		}
		tb.wantState(slow.Time(), timeline.ReplaceCommit, "inflight")
		if err := slow.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		tb.wantPaths("", f.Path)
	})
}

func TestBeginWaitsForARestore(t *testing.T) {
	tb := newTable(t, 9)
	if _, err := tb.active.Request(t.Context(), "20260101000000000", timeline.Restore, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := tb.manager(nil).Begin(t.Context(), timeline.DeltaCommit, nil); err == nil || !strings.Contains(err.Error(), "restore 20260101000000000") {
		t.Errorf("Begin during a restore = %v, want an error that names it", err)
	}
}

// A writer whose heartbeat stopped may be rolled back by another at any moment: it must not complete.
func TestSilentWriterDoesNotCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t, 9)
		faults := faultstore.New(tb.st)
		tc := tb.over(faults)
		x := tc.begin(tc.manager(nil), timeline.DeltaCommit)
		s := tc.write(x, "a", fileID, "0-1-1")
		time.Sleep(30*time.Minute + 30*time.Second) // between two beats: which of a beat and the fault comes first must not be chance
		if err := tc.manager(nil).Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		tb.wantState(x.Time(), timeline.DeltaCommit, "inflight") // its heart beats
		faults.Inject(faultstore.Fault{Ops: faultstore.Put, Path: ".hoodie/.heartbeat/"})
		time.Sleep(140 * time.Second)
		if err := tb.manager(nil).Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		tb.wantState(x.Time(), timeline.DeltaCommit, "inflight") // not yet dead to others
		if err := tc.commit(x, result(s)); !errors.Is(err, txn.ErrGone) {
			t.Errorf("Commit without a heartbeat = %v, want ErrGone", err)
		}
		time.Sleep(2 * time.Minute)
		if err := tb.manager(nil).Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		tb.wantState(x.Time(), timeline.DeltaCommit, "")
		tb.wantPaths("")
		_ = x.Leave(t.Context())
	})
}

// C2: a write that somebody has begun to roll back does not complete, even where its own heartbeat is fine.
func TestRollbackThatWasPlannedWins(t *testing.T) {
	forVersions(t, func(t *testing.T, tb *table) {
		x := tb.begin(tb.manager(nil), timeline.DeltaCommit)
		s := tb.write(x, "a", fileID, "0-1-1")
		body, err := action.Encode(tb.active.Layout(), &action.RollbackPlan{Target: action.InstantInfo{Time: string(x.Time()), Action: "deltacommit"}, Version: 1, Requests: []action.RollbackRequest{}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tb.active.Request(t.Context(), "20990101000000000", timeline.Rollback, body); err != nil {
			t.Fatal(err)
		}
		if err := tb.commit(x, result(s)); !errors.Is(err, txn.ErrGone) {
			t.Errorf("Commit = %v, want ErrGone", err)
		}
		if err := x.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		tb.wantState(x.Time(), timeline.DeltaCommit, "")
		if times, pending := tb.rollbacks(); len(times) != 1 || pending != 0 {
			t.Errorf("rollbacks %q, %d pending, want the one that was planned, completed", times, pending)
		}
	})
}

// C6: who was stopped for longer than the lock lasts finds out before it publishes.
func TestLostLockDoesNotCommit(t *testing.T) {
	tb := newTable(t, 9)
	p, err := filelock.New(tb.st, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	m := tb.manager(func(o *txn.Options) { o.Lock = p })
	x := tb.begin(m, timeline.DeltaCommit)
	r := result(tb.write(x, "a", fileID, "0-1-1"))
	body, err := action.Encode(tb.active.Layout(), r)
	if err != nil {
		t.Fatal(err)
	}
	_, err = x.Commit(t.Context(), r, body, func(context.Context, *timeline.Timeline) error {
		tb.put(filelock.Path, "another holder") // the lock expired while the process stood still, and was taken over
		return nil
	})
	if !errors.Is(err, lock.ErrLost) {
		t.Errorf("Commit without the lock = %v, want ErrLost", err)
	}
	tb.wantState(x.Time(), timeline.DeltaCommit, "inflight")
	if have, err := tb.st.ReadAll(t.Context(), filelock.Path); err != nil || string(have) != "another holder" {
		t.Errorf("lock file %q (%v), want the new holder's", have, err)
	}
}
