package timeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/hudifs/hudifs/internal/storage"
)

// Remove deletes a pending instant, inflight before requested, so that a crash in between leaves a pending instant and never an orphan.
// Files that are gone already are no error: it may be run twice. Data files go first (timeline.md §13).
func (a *Active) Remove(ctx context.Context, i Instant) error {
	if i.State == Completed {
		return fmt.Errorf("remove %s: %w: it has completed; revert it first", i, ErrState)
	}
	requested, inflight := a.place.states(i)
	return a.deleteAll(ctx, append(inflight, requested...))
}

// RemoveInflight takes a service action back to its plan: the inflight file goes, the requested one stays for another try.
func (a *Active) RemoveInflight(ctx context.Context, i Instant) error {
	if i.State == Completed {
		return fmt.Errorf("remove inflight of %s: %w: it has completed", i, ErrState)
	}
	_, inflight := a.place.states(i)
	return a.deleteAll(ctx, inflight)
}

// Revert makes a completed instant pending again, which is how rolling it back begins: its earlier states are created empty where they
// are missing, then its completed file is deleted. It returns the pending instant.
func (a *Active) Revert(ctx context.Context, i Instant) (Instant, error) {
	if i.State != Completed {
		return i, nil
	}
	origin, err := a.origin(ctx, i)
	if err != nil {
		return Instant{}, err
	}
	for _, s := range []State{Requested, Inflight} {
		if s == Requested && actions[origin].noRequest {
			continue
		}
		name := Instant{Time: i.Time, Action: origin, State: s}.FileName(a.place.layout)
		if _, err := a.st.Put(ctx, a.place.dir+name, nil, storage.PutIfAbsent); err != nil && !errors.Is(err, storage.ErrExists) {
			return Instant{}, fmt.Errorf("revert %s: create %s: %w", i, name, err)
		}
	}
	if err := a.RemoveCompleted(ctx, i); err != nil {
		return Instant{}, err
	}
	out := Instant{Time: i.Time, Action: origin, State: Inflight}
	out.File = out.FileName(a.place.layout)
	return out, nil
}

// origin finds the action under which a completed instant was requested: a commit may have been a compaction.
func (a *Active) origin(ctx context.Context, i Instant) (Action, error) {
	for _, act := range []Action{i.Action, Compaction, LogCompaction, Clustering} {
		if act.Completes() != i.Action.Completes() || actions[act].onlyLayout > a.place.layout {
			continue
		}
		for _, s := range []State{Requested, Inflight} {
			name := Instant{Time: i.Time, Action: act, State: s}.FileName(a.place.layout)
			_, err := a.st.Stat(ctx, a.place.dir+name)
			if err == nil {
				return act, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("look for %s: %w", name, err)
			}
		}
	}
	return i.Action, nil
}

// RemovePending deletes the requested and inflight files of a completed instant that has been archived. The archiver calls it for all
// of a batch before it deletes the first completed file (timeline.md §6.3).
func (a *Active) RemovePending(ctx context.Context, i Instant) error {
	requested, inflight := a.place.states(i)
	return a.deleteAll(ctx, append(inflight, requested...))
}

// RemoveCompleted deletes the completed file of an instant: archived, reverted, or a dropped savepoint.
func (a *Active) RemoveCompleted(ctx context.Context, i Instant) error {
	if i.State != Completed {
		return fmt.Errorf("remove completed file of %s: %w: it is pending", i, ErrState)
	}
	name := i.File
	if name == "" {
		name = i.FileName(a.place.layout)
	}
	return a.deleteAll(ctx, []string{name})
}

func (a *Active) deleteAll(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := a.st.Delete(ctx, a.place.dir+name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete %s: %w", a.place.dir+name, err)
		}
	}
	return nil
}
