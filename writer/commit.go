package writer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer/conflict"
	"github.com/hudifs/hudifs/writer/index"
	"github.com/hudifs/hudifs/writer/txn"
)

// Commit is a completed write.
type Commit struct {
	Instant timeline.Instant
	Inserts int64
	Updates int64
	Deletes int64
}

// CommitOptions rule Batch.Commit.
type CommitOptions struct {
	Extra map[string]string // goes into the commit's extra metadata
	// Known, where not nil, is asked before each attempt, on a fresh timeline, whether the rows are committed already: then nothing is written.
	Known func(ctx context.Context, tl *timeline.Timeline) (timeline.Instant, bool, error)
}

// Commit writes the batch as one commit. It returns nil only when the commit has completed. A conflict with another writer is retried from the
// index look-up on, a bounded number of times; then the error matches conflict.ErrConflict. On any error nothing is visible.
func (b *Batch) Commit(ctx context.Context, o CommitOptions) (Commit, error) {
	release, err := b.w.turn(ctx)
	if err != nil {
		return Commit{}, err
	}
	defer release()
	for try := 0; ; try++ {
		c, err := b.attempt(ctx, o)
		if err == nil {
			return c, nil
		}
		again := errors.Is(err, conflict.ErrConflict) || errors.Is(err, txn.ErrGone)
		if !again || try >= b.w.o.Retries {
			return Commit{}, err
		}
		b.w.log.Info("write conflicts with another, trying again", "try", try+1, "err", err)
		if err := pause(ctx, try); err != nil {
			return Commit{}, err
		}
	}
}

// pause waits a random time that grows with each try.
func pause(ctx context.Context, try int) error {
	d := time.Duration(1+rand.IntN(50<<min(try, 6))) * time.Millisecond
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

func (b *Batch) attempt(ctx context.Context, o CommitOptions) (c Commit, err error) {
	w := b.w
	tl, err := w.o.Table.Reload(ctx)
	if err != nil {
		return c, err
	}
	if o.Known != nil {
		if i, ok, err := o.Known(ctx, tl); ok || err != nil {
			return Commit{Instant: i}, err
		}
	}
	if err := w.settle(ctx, tl); err != nil {
		return c, err
	}
	if p, err := w.plan(ctx); err != nil {
		return c, err
	} else if !p.rows.Equal(b.p.rows) {
		return c, fmt.Errorf("the table's schema changed while the rows were read; read them again: %w", ErrSchemaChanged)
	}
	t, err := w.txn.Begin(ctx, b.action(), nil)
	if err != nil {
		return c, err
	}
	i, meta, err := b.run(ctx, t, o)
	if err != nil {
		return c, errors.Join(err, t.Rollback(ctx))
	}
	if w.o.Committed != nil {
		w.o.Committed(i)
	}
	c.Instant = i
	for _, stats := range meta.Stats {
		for _, s := range stats {
			c.Inserts += s.NumInserts
			c.Updates += s.NumUpdateWrites
			c.Deletes += s.NumDeletes
		}
	}
	return c, nil
}

// ErrSchemaChanged says that a batch was read under a schema that is not the table's any more. The rows have to be read again.
var ErrSchemaChanged = errors.New("table schema changed")

func (b *Batch) action() timeline.Action {
	if b.logs() {
		return timeline.DeltaCommit
	}
	return timeline.Commit
}

// run does the write's steps between its beginning and its end.
func (b *Batch) run(ctx context.Context, t *txn.Txn, o CommitOptions) (timeline.Instant, *action.CommitMetadata, error) {
	var none timeline.Instant
	snap, err := b.w.o.Table.Now(ctx, t.Timeline())
	if err != nil {
		return none, nil, err
	}
	places, err := b.place(ctx, snap)
	if err != nil {
		return none, nil, err
	}
	body, err := action.Encode(b.w.o.Table.Active().Layout(), profile(b.op, places))
	if err != nil {
		return none, nil, err
	}
	if err := t.Start(ctx, body); err != nil {
		return none, nil, err
	}
	meta := &action.CommitMetadata{Operation: b.op, Extra: map[string]string{}}
	if meta.Stats, err = b.write(ctx, t, places); err != nil {
		return none, nil, err
	}
	maps.Copy(meta.Extra, o.Extra)
	meta.Extra[action.ExtraSchema] = b.p.table.String()
	if body, err = action.Encode(b.w.o.Table.Active().Layout(), meta); err != nil {
		return none, nil, err
	}
	i, err := t.Commit(ctx, meta, body, func(ctx context.Context, now *timeline.Timeline) error {
		return b.checkKeys(ctx, t, now, places)
	})
	return i, meta, err
}

// place finds out for every record which row of which file it changes, or where it goes.
func (b *Batch) place(ctx context.Context, snap *snapshot.Snapshot) ([]*assignment, error) {
	z, err := b.w.sizing(ctx, snap)
	if err != nil {
		return nil, err
	}
	grow, err := b.growable(ctx, snap)
	if err != nil {
		return nil, err
	}
	var out []*assignment
	for _, p := range b.parts {
		a := &assignment{part: p, updates: map[int][]match{}, inserts: map[int][]int32{}, fresh: map[int32]bool{}}
		if err := b.slices(ctx, snap, a); err != nil {
			return nil, err
		}
		found := make(map[int32]bool)
		if b.op != action.OpInsert && b.op != action.OpBulkInsert {
			err = b.index().Find(ctx, a.slices, index.Keys{ByKey: p.byKey}, func(f index.Found) {
				a.updates[f.Slice] = append(a.updates[f.Slice], match{f.Key, f.Pos})
				found[f.Key] = true
			})
			if err != nil {
				return nil, err
			}
		}
		var fresh []int32
		for _, r := range p.recs {
			if !found[r] && b.recs[r].op != record.OpDelete {
				fresh = append(fresh, r)
				a.fresh[r] = true
			}
		}
		if b.op == action.OpBulkInsert {
			grow = func(fsview.FileSlice) bool { return false }
		}
		assignInserts(a, fresh, z, grow)
		out = append(out, a)
	}
	return out, nil
}

// slices finds the file slices of an assignment's partition: those that hold its rows, and those that logs are appended to, which differ while a compaction is pending.
func (b *Batch) slices(ctx context.Context, snap *snapshot.Snapshot, a *assignment) (err error) {
	if a.slices, err = snap.Slices(ctx, a.part.path); err != nil || !b.logs() {
		return err
	}
	targets, err := snap.ForWrite(ctx, a.part.path)
	if err != nil {
		return err
	}
	for i := range a.slices {
		if a.slices[i].File == nil {
			return fmt.Errorf("%w: file group %s has rows in log files alone, as tables with a bucket or Flink index do; its keys can't be found, so they would be written twice",
				ErrNotWritable, a.slices[i].Group)
		}
	}
	a.targets = map[string]*fsview.FileSlice{}
	for i := range targets {
		a.targets[targets[i].Group.FileID] = &targets[i]
	}
	return nil
}

// growable says which slices may take inserts: not those that a pending clustering replaces, nor, in a table with logs, those with logs or in a pending compaction.
func (b *Batch) growable(ctx context.Context, snap *snapshot.Snapshot) (func(fsview.FileSlice) bool, error) {
	busy := map[fsview.FileGroupID]bool{}
	tl, active := snap.Timeline(), b.w.o.Table.Active()
	for _, i := range tl.Pending(timeline.ReplaceCommit, timeline.Clustering).All() {
		plan, err := action.ReadPlan[action.RequestedReplace](ctx, active, i)
		if err != nil {
			return nil, err
		}
		if plan.Clustering == nil {
			continue
		}
		for _, g := range plan.Clustering.Groups {
			for _, s := range g.Slices {
				busy[fsview.FileGroupID{Partition: s.Partition, FileID: s.FileID}] = true
			}
		}
	}
	for _, i := range tl.Pending(timeline.Compaction).All() {
		plan, err := action.ReadPlan[action.CompactionPlan](ctx, active, i)
		if err != nil {
			return nil, err
		}
		for _, op := range plan.Operations {
			busy[fsview.FileGroupID{Partition: op.Partition, FileID: op.FileID}] = true
		}
	}
	return func(s fsview.FileSlice) bool { return !busy[s.Group] && len(s.Logs) == 0 }, nil
}

func (b *Batch) index() index.Index {
	return &index.Simple{Store: b.w.o.Table.Store(), KeyOf: b.keyReader()}
}

// checkKeys looks, under the lock, whether a write that completed since this one began has inserted a key that this one inserts too: both would stay.
func (b *Batch) checkKeys(ctx context.Context, t *txn.Txn, now *timeline.Timeline, places []*assignment) error {
	if b.op == action.OpInsert || b.op == action.OpBulkInsert {
		return nil // keys may repeat
	}
	for _, i := range conflict.Since(t.Timeline(), now) {
		m, err := action.Read[action.CommitMetadata](ctx, b.w.o.Table.Active(), i)
		if err != nil {
			return fmt.Errorf("check keys against %s: %w", i, err)
		}
		if m.Operation.KeepsRows() {
			continue
		}
		for _, a := range places {
			if err := b.checkPartition(ctx, i, m.Stats[a.part.path], a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Batch) checkPartition(ctx context.Context, i timeline.Instant, stats []action.WriteStat, a *assignment) error {
	keys := map[string]int32{}
	for r := range a.fresh {
		keys[b.recs[r].key] = r
	}
	var slices []fsview.FileSlice
	for _, s := range stats {
		if s.Log != nil || s.Path == "" {
			continue
		}
		slices = append(slices, fsview.FileSlice{File: &fsview.BaseFile{Path: s.Path, Size: s.FileSizeInBytes}})
	}
	hit := ""
	err := b.index().Find(ctx, slices, index.Keys{ByKey: keys}, func(f index.Found) { hit = b.recs[f.Key].key })
	if err != nil {
		return err
	}
	if hit != "" {
		return fmt.Errorf("%w: %s inserted key %q as well", conflict.ErrConflict, i, hit)
	}
	return nil
}
