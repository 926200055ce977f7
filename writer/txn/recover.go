package txn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// Recover finishes rollbacks that were begun and rolls back the writes of dead writers. A pending write whose writer may live is left alone, and hides
// nothing: readers don't see it. It is called before a write begins and at the start of a daemon.
func (m *Manager) Recover(ctx context.Context) error {
	tl, err := m.o.Active.Load(ctx)
	if err != nil {
		return err
	}
	for _, rb := range tl.Pending(timeline.Rollback).All() {
		if err := m.resumeRollback(ctx, rb); err != nil {
			return fmt.Errorf("finish %s: %w", rb, err)
		}
	}
	for _, i := range tl.Pending(timeline.Commit, timeline.DeltaCommit, timeline.ReplaceCommit).All() {
		failed, err := m.failed(ctx, i)
		if err != nil {
			return err
		}
		if !failed {
			continue
		}
		m.o.Log.Warn("rolling back the write of a dead writer", "instant", i.Time, "action", i.Action)
		if err := m.rollback(ctx, i, false); err != nil && !errors.Is(err, timeline.ErrState) {
			return fmt.Errorf("roll back %s: %w", i, err)
		}
	}
	return nil
}

func (m *Manager) resumeRollback(ctx context.Context, rb timeline.Instant) error {
	plan, err := action.ReadPlan[action.RollbackPlan](ctx, m.o.Active, rb)
	if err != nil {
		return err
	}
	return m.executeRollback(ctx, rb, plan)
}

// failed decides whether the writer of a pending write is dead.
func (m *Manager) failed(ctx context.Context, i timeline.Instant) (bool, error) {
	if i.Action == timeline.ReplaceCommit {
		planned, err := m.isPlanned(ctx, i)
		if planned || err != nil {
			return false, err
		}
	}
	l, err := m.writerOf(ctx, i.Time)
	if err != nil || l == running {
		return false, err
	}
	if l == unknown {
		still, err := m.still(ctx, i)
		if !still || err != nil {
			return false, err
		}
	}
	// The writer may have completed it since the timeline was read.
	now, err := m.o.Active.Load(ctx)
	if err != nil {
		return false, err
	}
	have, ok := now.FindAction(i.Time, i.Action)
	return ok && have.State != timeline.Completed, nil
}

// isPlanned reports whether a pending replacecommit is a clustering of layout 1, whose plan another process may execute.
func (m *Manager) isPlanned(ctx context.Context, i timeline.Instant) (bool, error) {
	plan, err := action.ReadPlan[action.RequestedReplace](ctx, m.o.Active, i)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return plan.Clustering != nil, nil
}

// still reports whether nothing of the write has changed for the time after which a silent writer counts as dead.
func (m *Manager) still(ctx context.Context, i timeline.Instant) (bool, error) {
	var last time.Time
	info, err := m.o.Store.Stat(ctx, m.o.Active.Path(i))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	last = info.ModTime
	for info, err := range m.o.Store.List(ctx, tempDir+string(i.Time)+"/", storage.ListOptions{Recursive: true}) {
		if err != nil {
			return false, err
		}
		if info.ModTime.After(last) {
			last = info.ModTime
		}
	}
	return time.Since(last) > m.o.Abandoned, nil
}
