package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/snapshot/merge"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer/handle"
	"github.com/hudifs/hudifs/writer/txn"
)

// logCompactor is the class that Java runs a log compaction plan with.
const logCompactor = "org.apache.hudi.table.action.compact.LogCompactionExecutionHelper"

// defaultLogBlocks is hoodie.log.compaction.blocks.threshold.
const defaultLogBlocks = 5

// LogCompaction merges the log files of a slice into one, the base file left alone (timeline.md §9.2).
type LogCompaction struct {
	Env
	MinLogs int // log files that a slice has at least; 0: Hudi's 5
}

// Plan lists the slices with enough log files. An empty plan is ErrNothingToDo.
func (c *LogCompaction) Plan(ctx context.Context, s *snapshot.Snapshot) (*action.CompactionPlan, error) {
	least := c.MinLogs
	if least == 0 {
		least = defaultLogBlocks
	}
	busy, err := busyGroups(ctx, c.Table, s)
	if err != nil {
		return nil, err
	}
	partitions, err := s.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	plan := &action.CompactionPlan{Extra: map[string]string{}, Version: 2, PreserveMetadata: true, MissingPartitions: []string{},
		Strategy: &action.Strategy{Class: logCompactor, Params: map[string]string{}, Version: 1}}
	for _, p := range partitions {
		slices, err := s.Slices(ctx, p)
		if err != nil {
			return nil, err
		}
		for i := range slices {
			if len(slices[i].Logs) >= least && !busy[slices[i].Group] {
				plan.Operations = append(plan.Operations, operation(&slices[i], c.MaxBytes))
			}
		}
	}
	if len(plan.Operations) == 0 {
		return nil, ErrNothingToDo
	}
	return plan, nil
}

// Schedule plans under the table lock and puts the plan on the timeline.
func (c *LogCompaction) Schedule(ctx context.Context) (timeline.Instant, error) {
	return c.Txn.Schedule(ctx, timeline.LogCompaction, func(ctx context.Context, tl *timeline.Timeline, _ timeline.InstantTime) ([]byte, error) {
		s, err := c.Table.Now(ctx, tl)
		if err != nil {
			return nil, err
		}
		plan, err := c.Plan(ctx, s)
		if err != nil {
			return nil, err
		}
		return action.Encode(c.Table.Active().Layout(), plan)
	})
}

// Execute carries out the pending log compaction i.
func (c *LogCompaction) Execute(ctx context.Context, i timeline.Instant) (timeline.Instant, error) {
	t, err := c.Txn.Resume(ctx, i)
	if err != nil {
		return timeline.Instant{}, err
	}
	done, err := c.execute(ctx, t)
	if err != nil {
		return timeline.Instant{}, errors.Join(err, t.Leave(ctx))
	}
	return done, nil
}

func (c *LogCompaction) execute(ctx context.Context, t *txn.Txn) (timeline.Instant, error) {
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
	files, err := s.FileSchema(ctx)
	if err != nil {
		return none, err
	}
	text, err := s.Schema(ctx)
	if err != nil {
		return none, err
	}
	cfg := c.Table.Config()
	env := &handle.Env{Store: c.Table.Store(), Txn: t, Schema: files, MetaFields: cfg.MetaFields, Write: c.Write, LogNamedByDelta: cfg.Features.LogNamedByDelta}
	meta := &action.CommitMetadata{Operation: action.OpLogCompact, Compacted: true, Stats: map[string][]action.WriteStat{}, Extra: map[string]string{action.ExtraSchema: text.String()}}
	for _, op := range plan.Operations {
		stats, err := compactLogs(ctx, env, s, op)
		if err != nil {
			return none, fmt.Errorf("compact logs of file group %s of partition %q: %w", op.FileID, op.Partition, err)
		}
		if len(stats) > 0 {
			meta.Stats[op.Partition] = append(meta.Stats[op.Partition], stats...)
		}
	}
	body, err := action.Encode(c.Table.Active().Layout(), meta)
	if err != nil {
		return none, err
	}
	return t.Commit(ctx, meta, body, nil)
}

func compactLogs(ctx context.Context, env *handle.Env, s *snapshot.Snapshot, op action.CompactionOperation) ([]action.WriteStat, error) {
	sl, err := planned(ctx, s, op)
	if err != nil {
		return nil, err
	}
	// The blocks name what they replace, and the names come from reading: the first pass finds them, the second writes.
	nothing := func(record.Record) error { return nil }
	instants, st, err := s.ReadLogs(ctx, sl, nothing)
	if errors.Is(err, merge.ErrPartial) || err == nil && len(instants) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h := env.NewAppend(op.Partition, &sl)
	h.Compacted(instants)
	_, _, err = s.ReadLogs(ctx, sl, func(r record.Record) error {
		if r.Row == nil {
			h.Delete(r.Key, r.Ordering)
			return nil
		}
		return h.Keep(ctx, r.Row)
	})
	if err != nil {
		return nil, errors.Join(err, h.Abort())
	}
	stats, err := h.Close(ctx)
	if err != nil {
		return nil, errors.Join(err, h.Abort())
	}
	for i := range stats {
		stats[i].PrevCommit = op.BaseInstant
		if i > 0 {
			continue
		}
		stats[i].TotalLogRecords, stats[i].TotalLogBlocks = st.LogRecords+st.LogDeletes, int64(st.Blocks)
		stats[i].TotalLogFilesCompacted = int64(len(sl.Logs))
		stats[i].TotalUpdatedRecordsCompacted = stats[i].NumWrites
		for k := range sl.Logs {
			stats[i].TotalLogSizeCompacted += sl.Logs[k].Size
		}
	}
	return stats, nil
}
