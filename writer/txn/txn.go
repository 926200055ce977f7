// Package txn is the commit protocol: how a write begins, publishes, or is taken back, so that at any kill the table holds either all of it or
// nothing (timeline.md §7).
//
// It knows instants, markers, heartbeats and the lock. It must never know rows.
package txn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer/conflict"
	"github.com/hudifs/hudifs/writer/lock"
)

// ErrGone says that the transaction's instant was rolled back by somebody else, because its heartbeat seemed dead. Nothing of it is visible; the write may be tried again.
var ErrGone = errors.New("the write was rolled back by another writer")

// Options are what a Manager is made of. Lock and Active are required.
type Options struct {
	Store  storage.Store // of the table's base path
	Config *tableconfig.Config
	Active *timeline.Active
	Clock  *timeline.TableClock
	Lock   lock.Provider
	Owner  string       // names this process in the lock and in heartbeats; default host, boot, process and its start
	Log    *slog.Logger // nil: discard

	// HeartbeatInterval is how often a running write says that it is alive; default and Hudi's: one minute.
	HeartbeatInterval time.Duration
	// Abandoned is how long a pending write without a heartbeat must have been still before it counts as failed; default ten minutes. Java's
	// single writers send no heartbeats.
	Abandoned time.Duration
	// Mirror, where not nil, applies the action to the metadata table before it becomes visible.
	Mirror func(ctx context.Context, i timeline.Instant, done timeline.InstantTime, r action.Result) error
	// Undo, where not nil, takes back what deleting files can't: log blocks in layout 1. It returns the log files that it wrote, with sizes.
	Undo func(ctx context.Context, i timeline.Instant, by timeline.InstantTime, m []Marker) (map[string]map[string]int64, error)
}

// Manager begins transactions on one table. Safe for concurrent use.
type Manager struct {
	o Options
}

// NewManager returns a manager.
func NewManager(o Options) *Manager {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.HeartbeatInterval == 0 {
		o.HeartbeatInterval = time.Minute
	}
	if o.Abandoned == 0 {
		o.Abandoned = 10 * time.Minute
	}
	if o.Owner == "" {
		o.Owner = processName()
	}
	if o.Clock == nil {
		o.Clock = timeline.NewClock(o.Config.Zone)
	}
	return &Manager{o: o}
}

// Txn is one write under way. Exactly one of Commit and Rollback ends it.
type Txn struct {
	m       *Manager
	instant timeline.Instant
	begin   *timeline.Timeline // as loaded when the write began: what it reads and what it conflicts with is judged by it
	beat    *heartbeat
	mu      struct {
		sync.Mutex
		partitions map[string]bool // whose metafile is there
		marked     bool
		ended      bool
	}
}

// Begin requests an instant of action a, greater than everything on the timeline. plan is a service's plan or nil.
func (m *Manager) Begin(ctx context.Context, a timeline.Action, plan []byte) (*Txn, error) {
	var t *Txn
	err := lock.Do(ctx, m.o.Lock, m.o.Owner, func(ctx context.Context, _ uint64) error {
		tl, err := m.o.Active.Load(ctx)
		if err != nil {
			return err
		}
		if p := tl.Pending(timeline.Restore); p.Len() > 0 {
			i, _ := p.First()
			return fmt.Errorf("begin %s: the restore %s is not finished; run it again before anything is written", a, i.Time)
		}
		t, err = m.request(ctx, tl, a, plan)
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (m *Manager) request(ctx context.Context, tl *timeline.Timeline, a timeline.Action, plan []byte) (*Txn, error) {
	m.o.Clock.Observe(tl.Greatest())
	for {
		at, err := m.o.Clock.Now(ctx)
		if err != nil {
			return nil, err
		}
		// The heartbeat comes first: no other writer may see the instant without one.
		beat, err := m.startHeartbeat(ctx, at, storage.PutIfAbsent)
		if errors.Is(err, storage.ErrExists) {
			continue // another writer is about to request this time; its heartbeat must neither be taken over nor deleted
		}
		if err != nil {
			return nil, err
		}
		i, err := m.o.Active.Request(ctx, at, a, plan)
		if err == nil {
			t := &Txn{m: m, instant: i, begin: tl, beat: beat}
			t.mu.partitions = map[string]bool{}
			m.o.Log.Debug("instant requested", "instant", at, "action", a)
			return t, nil
		}
		stopErr := beat.stop(ctx)
		if !errors.Is(err, storage.ErrExists) {
			return nil, errors.Join(err, stopErr)
		}
		// A writer that shares no lock with us took the time: take the next.
	}
}

// Schedule puts a plan on the timeline. build makes it under the lock, from the timeline as it is then; its error is returned as it is.
func (m *Manager) Schedule(ctx context.Context, a timeline.Action, build func(ctx context.Context, tl *timeline.Timeline, at timeline.InstantTime) ([]byte, error)) (timeline.Instant, error) {
	var out timeline.Instant
	err := lock.Do(ctx, m.o.Lock, m.o.Owner, func(ctx context.Context, _ uint64) error {
		tl, err := m.o.Active.Load(ctx)
		if err != nil {
			return err
		}
		m.o.Clock.Observe(tl.Greatest())
		for {
			at, err := m.o.Clock.Now(ctx)
			if err != nil {
				return err
			}
			plan, err := build(ctx, tl, at)
			if err != nil {
				return err
			}
			if out, err = m.o.Active.Request(ctx, at, a, plan); !errors.Is(err, storage.ErrExists) {
				return err
			}
		}
	})
	return out, err
}

// ErrBusy says that another process executes a plan, as its heartbeat shows.
var ErrBusy = errors.New("another process is at work on this instant")

// Resume takes a pending service action up, with the plan that is on the timeline. What an attempt that died has left is taken back first.
func (m *Manager) Resume(ctx context.Context, i timeline.Instant) (*Txn, error) {
	have, err := m.pending(ctx, i)
	if err != nil {
		return nil, err
	}
	if l, err := m.writerOf(ctx, i.Time); err != nil {
		return nil, err
	} else if l == running {
		return nil, fmt.Errorf("resume %s: %w", i, ErrBusy)
	}
	if have.State == timeline.Inflight {
		if err := m.rollback(ctx, have, false); err != nil {
			return nil, fmt.Errorf("take back the attempt before: %w", err)
		}
	}
	beat, err := m.startHeartbeat(ctx, i.Time, storage.PutReplace)
	if err != nil {
		return nil, err
	}
	if have, err = m.pending(ctx, i); err != nil {
		return nil, errors.Join(err, beat.stop(ctx))
	}
	tl, err := m.o.Active.Load(ctx)
	if err != nil {
		return nil, errors.Join(err, beat.stop(ctx))
	}
	t := &Txn{m: m, instant: have, begin: tl, beat: beat}
	t.mu.partitions = map[string]bool{}
	return t, nil
}

// pending finds a service action that is not finished.
func (m *Manager) pending(ctx context.Context, i timeline.Instant) (timeline.Instant, error) {
	tl, err := m.o.Active.Load(ctx)
	if err != nil {
		return timeline.Instant{}, err
	}
	have, ok := tl.FindAction(i.Time, i.Action)
	if !ok || have.State == timeline.Completed {
		return timeline.Instant{}, fmt.Errorf("resume %s: %w: it is not pending any more", i, timeline.ErrState)
	}
	return have, nil
}

// Instant is the write's instant in its present state.
func (t *Txn) Instant() timeline.Instant { return t.instant }

// Time is the instant's time.
func (t *Txn) Time() timeline.InstantTime { return t.instant.Time }

// Timeline is the timeline on which the write began.
func (t *Txn) Timeline() *timeline.Timeline { return t.begin }

// Start makes the instant inflight. body is the workload profile, or nil.
func (t *Txn) Start(ctx context.Context, body []byte) error {
	i, err := t.m.o.Active.Start(ctx, t.instant, body)
	if err != nil {
		return err
	}
	t.instant = i
	return nil
}

// Commit publishes the write: under the lock it reloads the timeline, checks for conflicts, deletes files of attempts that are not part of the
// result, mirrors into the metadata table, and creates the completed instant. conflict.ErrConflict: another writer was faster; the
// transaction still has to be rolled back. check, where not nil, runs under the lock on the reloaded timeline, for conflicts that only the caller can see.
func (t *Txn) Commit(ctx context.Context, r action.Result, body []byte, check func(ctx context.Context, now *timeline.Timeline) error) (timeline.Instant, error) {
	m := t.m
	err := lock.Do(ctx, m.o.Lock, m.o.Owner, func(ctx context.Context, _ uint64) error {
		if err := t.beat.alive(ctx); err != nil {
			return err
		}
		now, err := m.o.Active.Load(ctx)
		if err != nil {
			return err
		}
		if err := t.mine(ctx, now); err != nil {
			return err
		}
		if err := conflict.Check(ctx, m.o.Active, conflict.Input{Mine: t.instant, Result: r, Begin: t.begin, Now: now}); err != nil {
			return err
		}
		if check != nil {
			if err := check(ctx, now); err != nil {
				return err
			}
		}
		if err := t.reconcile(ctx, r); err != nil {
			return err
		}
		m.o.Clock.Observe(now.Greatest())
		done, err := m.o.Clock.Now(ctx)
		if err != nil {
			return err
		}
		if m.o.Mirror != nil {
			if err := m.o.Mirror(ctx, t.instant, done, r); err != nil {
				return fmt.Errorf("mirror %s into the metadata table: %w", t.instant, err)
			}
		}
		// A process that was stopped for long may have lost the lock without having noticed.
		if err := lock.Verify(ctx); err != nil {
			return err
		}
		i, err := m.o.Active.Complete(ctx, t.instant, done, body)
		if err != nil {
			return err
		}
		t.instant = i
		return nil
	})
	if err != nil {
		done, ok := t.completed(ctx)
		if !ok {
			return timeline.Instant{}, err
		}
		t.instant = done
	}
	t.end(ctx)
	m.o.Log.Info("committed", "instant", t.instant.Time, "action", t.instant.Action, "completion", t.instant.Completion)
	return t.instant, nil
}

// mine fails where somebody else ended the write, or has begun to: whoever planned to roll it back goes on to do so, whether or not it completes meanwhile.
func (t *Txn) mine(ctx context.Context, now *timeline.Timeline) error {
	have, ok := now.FindAction(t.instant.Time, t.instant.Action)
	if !ok || have.State == timeline.Completed {
		return fmt.Errorf("commit %s: %w", t.instant, ErrGone)
	}
	_, plan, err := t.m.pendingRollback(ctx, now, t.instant)
	if err == nil && plan != nil {
		err = fmt.Errorf("commit %s: %w", t.instant, ErrGone)
	}
	return err
}

// completed finds out whether a commit that ended in an error is there all the same: a write whose outcome is unknown must be looked up, not repeated.
func (t *Txn) completed(ctx context.Context) (timeline.Instant, bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	tl, err := t.m.o.Active.Load(ctx)
	if err != nil {
		return timeline.Instant{}, false
	}
	have, ok := tl.FindAction(t.instant.Time, t.instant.Action)
	return have, ok && have.State == timeline.Completed
}

// end cleans up after a completed instant. What stays behind means nothing any more and is removed by archival.
func (t *Txn) end(ctx context.Context) {
	t.mu.Lock()
	marked := t.mu.marked
	t.mu.ended = true
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if marked {
		if err := t.m.deleteMarkers(ctx, t.instant.Time); err != nil {
			t.m.o.Log.Warn("markers of a completed instant stay behind", "instant", t.instant.Time, "err", err)
		}
	}
	if err := t.beat.stop(ctx); err != nil {
		t.m.o.Log.Warn("heartbeat of a completed instant stays behind", "instant", t.instant.Time, "err", err)
	}
}

// Rollback takes the write back. It works on after the caller's context has ended: an aborted write must not wait for another process to clean up.
func (t *Txn) Rollback(ctx context.Context) error {
	t.mu.Lock()
	ended := t.mu.ended
	t.mu.ended = true
	t.mu.Unlock()
	if ended {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Minute)
	defer cancel()
	err := t.m.rollback(ctx, t.instant, false)
	return errors.Join(err, t.beat.stop(ctx))
}

// Leave ends the transaction without touching the instant: a service's plan stays for another try.
func (t *Txn) Leave(ctx context.Context) error {
	t.mu.Lock()
	t.mu.ended = true
	t.mu.Unlock()
	return t.beat.stop(context.WithoutCancel(ctx))
}
