package service

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"sort"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer/handle"
	"github.com/hudifs/hudifs/writer/txn"
)

func (c *Compaction) execute(ctx context.Context, t *txn.Txn) (timeline.Instant, error) {
	var none timeline.Instant
	plan, err := action.ReadPlan[action.CompactionPlan](ctx, c.Table.Active(), t.Instant())
	if err != nil {
		return none, err
	}
	if err := t.Start(ctx, nil); err != nil {
		return none, err
	}
	s, err := c.Table.Now(ctx, t.Timeline())
	if err != nil {
		return none, err
	}
	text, err := s.Schema(ctx)
	if err != nil {
		return none, err
	}
	meta := &action.CommitMetadata{Operation: action.OpCompact, Compacted: true, Extra: map[string]string{action.ExtraSchema: text.String()}}
	if meta.Stats, err = c.compactAll(ctx, t, s, plan); err != nil {
		return none, err
	}
	body, err := action.Encode(c.Table.Active().Layout(), meta)
	if err != nil {
		return none, err
	}
	return t.Commit(ctx, meta, body, nil)
}

func (c *Compaction) compactAll(ctx context.Context, t *txn.Txn, s *snapshot.Snapshot, plan *action.CompactionPlan) (map[string][]action.WriteStat, error) {
	files, err := s.FileSchema(ctx)
	if err != nil {
		return nil, err
	}
	cfg := c.Table.Config()
	env := &handle.Env{Store: c.Table.Store(), Txn: t, Schema: files, MetaFields: cfg.MetaFields, Write: c.Write, MaxBytes: c.MaxBytes,
		LogNamedByDelta: cfg.Features.LogNamedByDelta}
	var mu sync.Mutex
	stats := map[string][]action.WriteStat{}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, op := range plan.Operations {
		g.Go(func() error {
			st, err := compactOne(gctx, env, s, op)
			if err != nil {
				return fmt.Errorf("compact file group %s of partition %q: %w", op.FileID, op.Partition, err)
			}
			mu.Lock()
			defer mu.Unlock()
			stats[op.Partition] = append(stats[op.Partition], st)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, st := range stats {
		sort.Slice(st, func(i, j int) bool { return st[i].Path < st[j].Path })
	}
	return stats, nil
}

func compactOne(ctx context.Context, env *handle.Env, s *snapshot.Snapshot, op action.CompactionOperation) (st action.WriteStat, err error) {
	sl, err := planned(ctx, s, op)
	if err != nil {
		return st, err
	}
	m, src, done, err := s.MergeInput(ctx, sl)
	if err != nil {
		return st, err
	}
	defer func() { err = errors.Join(err, m.Close(), done()) }()
	return env.Compact(ctx, &sl, src, m)
}

// planned finds the slice that an operation names: exactly its base file and its log files, in their order.
func planned(ctx context.Context, s *snapshot.Snapshot, op action.CompactionOperation) (fsview.FileSlice, error) {
	out := fsview.FileSlice{Group: fsview.FileGroupID{Partition: op.Partition, FileID: op.FileID}, Base: timeline.InstantTime(op.BaseInstant)}
	groups, err := s.View().Groups(ctx, op.Partition)
	if err != nil {
		return out, err
	}
	logs := map[string]fsview.LogFile{}
	for _, g := range groups {
		if g.ID != out.Group {
			continue
		}
		for _, sl := range g.Slices {
			if sl.File != nil && path.Base(sl.File.Path) == path.Base(op.DataFile) && op.DataFile != "" {
				f := *sl.File
				out.File = &f
			}
			for _, l := range sl.Logs {
				logs[path.Base(l.Path)] = l
			}
		}
	}
	if op.DataFile != "" && out.File == nil {
		return out, fmt.Errorf("the plan's base file %s is not there", op.DataFile)
	}
	for _, name := range op.DeltaFiles {
		l, ok := logs[path.Base(name)]
		if !ok {
			return out, fmt.Errorf("the plan's log file %s is not there", name)
		}
		out.Logs = append(out.Logs, l)
	}
	return out, nil
}
