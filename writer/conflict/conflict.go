// Package conflict decides whether two writes that ran at the same time may both complete (timeline.md §8.2).
//
// It knows which file groups the other write touched. It must never know how either was written.
package conflict

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// ErrConflict is matched by the error of Check. The write has to be rolled back and may then be tried again from its beginning.
var ErrConflict = errors.New("another write touched the same rows")

// Input is the question.
type Input struct {
	Mine   timeline.Instant
	Result action.Result
	Begin  *timeline.Timeline // when the write began
	Now    *timeline.Timeline // under the lock
}

// group is a file group, by partition and id.
type group struct{ partition, fileID string }

// Check returns an error that matches ErrConflict where a write that completed since Begin, or a pending clustering, touches a file group that the result touches.
func Check(ctx context.Context, a *timeline.Active, in Input) error {
	mine := touched(in.Result)
	for _, i := range Since(in.Begin, in.Now) {
		if i.Time == in.Mine.Time {
			continue
		}
		mine := mine
		switch ruleOf(in.Now.Layout(), in.Mine, i) {
		case compatible:
			continue
		case byBaseFile:
			mine = rewritten(in.Result)
		}
		m, err := action.Read[action.CommitMetadata](ctx, a, i)
		if err != nil {
			return fmt.Errorf("check conflicts with %s: %w", i, err)
		}
		if g, ok := common(mine, touched(m)); ok {
			return fmt.Errorf("%w: %s wrote file group %s of partition %q", ErrConflict, i, g.fileID, g.partition)
		}
	}
	if err := checkCompactions(ctx, a, in, mine); err != nil {
		return err
	}
	return checkClusterings(ctx, a, in, mine)
}

// Since returns the writes that completed between two loads of the timeline.
func Since(begin, now *timeline.Timeline) []timeline.Instant {
	var out []timeline.Instant
	for _, i := range now.CompletedWrites().All() {
		if have, ok := begin.FindAction(i.Time, i.Action); !ok || have.State != timeline.Completed {
			out = append(out, i)
		}
	}
	return out
}

// checkCompactions refuses what a pending compaction, planned without it, would hide.
func checkCompactions(ctx context.Context, a *timeline.Active, in Input, mine map[group]bool) error {
	for _, i := range in.Now.Pending(timeline.Compaction).All() {
		if i.Time == in.Mine.Time {
			continue
		}
		mine := mine
		switch ruleOf(in.Now.Layout(), in.Mine, i) {
		case compatible:
			continue
		case byBaseFile:
			mine = rewritten(in.Result)
		}
		plan, err := action.ReadPlan[action.CompactionPlan](ctx, a, i)
		if gone(ctx, a, i, err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("check conflicts with %s: %w", i, err)
		}
		for _, op := range plan.Operations {
			if mine[group{op.Partition, op.FileID}] {
				return fmt.Errorf("%w: %s is going to rewrite file group %s of partition %q", ErrConflict, i, op.FileID, op.Partition)
			}
		}
	}
	return nil
}

// checkClusterings refuses to write into file groups that a pending clustering replaces: its result would lose the rows.
func checkClusterings(ctx context.Context, a *timeline.Active, in Input, mine map[group]bool) error {
	for _, i := range in.Now.Pending(timeline.ReplaceCommit, timeline.Clustering).All() {
		if i.Time == in.Mine.Time {
			continue
		}
		plan, err := action.ReadPlan[action.RequestedReplace](ctx, a, i)
		if gone(ctx, a, i, err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("check conflicts with %s: %w", i, err)
		}
		if plan.Clustering == nil {
			continue
		}
		for _, g := range plan.Clustering.Groups {
			for _, s := range g.Slices {
				if mine[group{s.Partition, s.FileID}] {
					return fmt.Errorf("%w: %s is going to replace file group %s of partition %q; wait for it or roll it back", ErrConflict, i, s.FileID, s.Partition)
				}
			}
		}
	}
	return nil
}

// gone reports whether a plan can't be read because its instant was taken back since the timeline was loaded: writers of other engines do so without our lock.
func gone(ctx context.Context, a *timeline.Active, i timeline.Instant, err error) bool {
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	now, err := a.Load(ctx)
	if err != nil {
		return false
	}
	_, there := now.FindAction(i.Time, i.Action)
	return !there
}

// touched are the file groups that an action wrote to or replaced.
func touched(r action.Result) map[group]bool {
	out := map[group]bool{}
	for _, c := range r.Changes() {
		out[group{c.Partition, c.FileID}] = true
	}
	if m, ok := r.(*action.CommitMetadata); ok {
		for p, ids := range m.ReplacedFileIDs {
			for _, id := range ids {
				out[group{p, id}] = true
			}
		}
	}
	return out
}

// rewritten are the file groups in which an action replaced a base file.
func rewritten(r action.Result) map[group]bool {
	out := map[group]bool{}
	m, ok := r.(*action.CommitMetadata)
	if !ok {
		return touched(r)
	}
	for p, stats := range m.Stats {
		for _, s := range stats {
			if s.Log == nil && s.PrevCommit != action.NullCommit {
				out[group{p, s.FileID}] = true
			}
		}
	}
	return out
}

func common(a, b map[group]bool) (group, bool) {
	for g := range a {
		if b[g] {
			return g, true
		}
	}
	return group{}, false
}
