package writer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/writer/service"
	"github.com/hudifs/hudifs/writer/txn"
)

// compaction returns the table's compaction service.
func (w *Writer) compaction(o service.CompactionOptions) (*service.Compaction, error) {
	cfg := w.o.Table.Config()
	if cfg.Type != tableconfig.MergeOnRead {
		return nil, fmt.Errorf("%w: table %s is copy-on-write and has no logs to compact", service.ErrNothingToDo, cfg.Name)
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &service.Compaction{Env: service.Env{Table: w.o.Table, Txn: w.txn, Write: w.writeOptions(), MaxBytes: w.o.MaxFileBytes, Log: w.log}, Options: o}, nil
}

// ScheduleCompaction puts a compaction plan on the timeline, whether or not one is due. service.ErrNothingToDo: no slice has logs that may be compacted.
func (w *Writer) ScheduleCompaction(ctx context.Context, o service.CompactionOptions) (timeline.Instant, error) {
	c, err := w.compaction(o)
	if err != nil {
		return timeline.Instant{}, err
	}
	release, err := w.turn(ctx)
	if err != nil {
		return timeline.Instant{}, err
	}
	defer release()
	tl, err := w.o.Table.Reload(ctx)
	if err != nil {
		return timeline.Instant{}, err
	}
	if err := w.settle(ctx, tl); err != nil {
		return timeline.Instant{}, err
	}
	return c.Schedule(ctx)
}

// ExecuteCompactions carries out the compactions that are planned, by whomever, oldest first. One that another process works on is passed over. Writes may go on
// meanwhile.
func (w *Writer) ExecuteCompactions(ctx context.Context) ([]timeline.Instant, error) {
	c, err := w.compaction(service.CompactionOptions{})
	if err != nil {
		return nil, err
	}
	tl, err := w.o.Table.Reload(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.settleMetadataTable(ctx); err != nil {
		return nil, err
	}
	var done []timeline.Instant
	for _, i := range tl.Pending(timeline.Compaction).All() {
		got, err := c.Execute(ctx, i)
		if errors.Is(err, txn.ErrBusy) || errors.Is(err, timeline.ErrState) {
			w.log.Info("a planned compaction is passed over", "instant", i.Time, "err", err)
			continue
		}
		if err != nil {
			return done, fmt.Errorf("compaction %s: %w", i.Time, err)
		}
		done = append(done, got)
		if w.o.Committed != nil {
			w.o.Committed(got)
		}
	}
	return done, nil
}

// CompactIfDue plans a compaction where the trigger says so, and carries out what is planned. It returns what completed.
func (w *Writer) CompactIfDue(ctx context.Context, o service.CompactionOptions) ([]timeline.Instant, error) {
	c, err := w.compaction(o)
	if err != nil {
		return nil, err
	}
	tl, err := w.o.Table.Reload(ctx)
	if err != nil {
		return nil, err
	}
	due, err := c.Due(tl, w.o.Table.Config().Zone, time.Now())
	if err != nil {
		return nil, err
	}
	if due {
		if _, err := w.ScheduleCompaction(ctx, o); err != nil && !errors.Is(err, service.ErrNothingToDo) {
			return nil, err
		}
	} else if tl.Pending(timeline.Compaction).Len() == 0 {
		return nil, nil
	}
	return w.ExecuteCompactions(ctx)
}

// CompactLogs plans a log compaction of slices with at least minLogs log files (0: Hudi's 5) and carries it out. service.ErrNothingToDo: there are none.
func (w *Writer) CompactLogs(ctx context.Context, minLogs int) (timeline.Instant, error) {
	var none timeline.Instant
	c, err := w.compaction(service.CompactionOptions{})
	if err != nil {
		return none, err
	}
	release, err := w.turn(ctx)
	if err != nil {
		return none, err
	}
	defer release()
	tl, err := w.o.Table.Reload(ctx)
	if err != nil {
		return none, err
	}
	if err := w.settle(ctx, tl); err != nil {
		return none, err
	}
	lc := &service.LogCompaction{Env: c.Env, MinLogs: minLogs}
	var done timeline.Instant
	for _, i := range tl.Pending(timeline.LogCompaction).All() {
		if done, err = lc.Execute(ctx, i); err != nil && !errors.Is(err, txn.ErrBusy) {
			return none, fmt.Errorf("log compaction %s: %w", i.Time, err)
		}
	}
	i, err := lc.Schedule(ctx)
	if errors.Is(err, service.ErrNothingToDo) && done.Time != "" {
		return done, nil
	}
	if err != nil {
		return none, err
	}
	done, err = lc.Execute(ctx, i)
	if err == nil && w.o.Committed != nil {
		w.o.Committed(done)
	}
	return done, err
}
