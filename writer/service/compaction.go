package service

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sort"
	"time"

	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer/handle"
)

// Trigger is when a compaction is due (timeline.md §9.1). The names are Hudi's.
type Trigger string

// The triggers.
const (
	NumCommits                 Trigger = "NUM_COMMITS"
	NumCommitsAfterLastRequest Trigger = "NUM_COMMITS_AFTER_LAST_REQUEST"
	TimeElapsed                Trigger = "TIME_ELAPSED"
	NumAndTime                 Trigger = "NUM_AND_TIME"
	NumOrTime                  Trigger = "NUM_OR_TIME"
)

// CompactionStrategy is which slices a plan takes, and in which order.
type CompactionStrategy string

// The strategies: Hudi's classes without their package and the suffix.
const (
	BySize    CompactionStrategy = "LogFileSizeBased" // largest logs first, bounded I/O
	ByCount   CompactionStrategy = "LogFileNumBased"  // most log files first, bounded I/O
	BoundedIO CompactionStrategy = "BoundedIO"        // in order, bounded I/O
	Unbounded CompactionStrategy = "UnBounded"        // all
)

// CompactionOptions rule when and what is compacted; zero values are Hudi's defaults.
type CompactionOptions struct {
	Trigger      Trigger            // default NUM_COMMITS
	DeltaCommits int                // hoodie.compact.inline.max.delta.commits; default 5
	DeltaSeconds int                // hoodie.compact.inline.max.delta.seconds; default 3600
	Strategy     CompactionStrategy // default LogFileSizeBased
	TargetIOMB   int64              // hoodie.compaction.target.io; default 512000
	MinLogBytes  int64              // hoodie.compaction.logfile.size.threshold; default 0
	MinLogFiles  int                // hoodie.compaction.logfile.num.threshold; default 0
}

func (o *CompactionOptions) defaults() {
	if o.Trigger == "" {
		o.Trigger = NumCommits
	}
	if o.DeltaCommits == 0 {
		o.DeltaCommits = 5
	}
	if o.DeltaSeconds == 0 {
		o.DeltaSeconds = 3600
	}
	if o.Strategy == "" {
		o.Strategy = BySize
	}
	if o.TargetIOMB == 0 {
		o.TargetIOMB = 512000
	}
}

// Validate refuses unknown names.
func (o CompactionOptions) Validate() error {
	switch o.Trigger {
	case "", NumCommits, NumCommitsAfterLastRequest, TimeElapsed, NumAndTime, NumOrTime:
	default:
		return fmt.Errorf("unknown compaction trigger %q", o.Trigger)
	}
	switch o.Strategy {
	case "", BySize, ByCount, BoundedIO, Unbounded:
	default:
		return fmt.Errorf("unknown compaction strategy %q", o.Strategy)
	}
	return nil
}

// Compaction rewrites slices with logs as new base files.
type Compaction struct {
	Env
	Options CompactionOptions
}

// Due reports whether the trigger says that a compaction is to be planned.
func (c *Compaction) Due(tl *timeline.Timeline, zone *time.Location, now time.Time) (bool, error) {
	o := c.Options
	o.defaults()
	since := timeline.InstantTime("")
	for _, i := range tl.Completed(timeline.Commit).All() {
		since = max(since, i.Time) // in a merge-on-read table a completed commit is a compaction
	}
	last := since
	if o.Trigger == NumCommitsAfterLastRequest {
		for _, i := range tl.Pending(timeline.Compaction).All() {
			since = max(since, i.Time)
		}
	}
	count := 0
	first := timeline.InstantTime("")
	for _, i := range tl.All() {
		if i.Action != timeline.DeltaCommit {
			continue
		}
		if first == "" {
			first = i.Time
		}
		if i.Time > since {
			count++
		}
	}
	if first == "" {
		return false, nil
	}
	enough := count >= o.DeltaCommits
	if o.Trigger == NumCommits || o.Trigger == NumCommitsAfterLastRequest {
		return enough, nil
	}
	if last == "" {
		last = first
	}
	at, err := last.Time(zone)
	if err != nil {
		return false, err
	}
	old := count > 0 && now.Sub(at) >= time.Duration(o.DeltaSeconds)*time.Second
	switch o.Trigger {
	case NumAndTime:
		return enough && old, nil
	case NumOrTime:
		return enough || old, nil
	}
	return old, nil
}

// Plan lists the slices to compact in a state of the table. An empty plan is ErrNothingToDo.
func (c *Compaction) Plan(ctx context.Context, s *snapshot.Snapshot) (*action.CompactionPlan, error) {
	o := c.Options
	o.defaults()
	busy, err := busyGroups(ctx, c.Table, s)
	if err != nil {
		return nil, err
	}
	partitions, err := s.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	var ops []action.CompactionOperation
	for _, p := range partitions {
		slices, err := s.Slices(ctx, p)
		if err != nil {
			return nil, err
		}
		for i := range slices {
			if len(slices[i].Logs) > 0 && !busy[slices[i].Group] {
				ops = append(ops, operation(&slices[i], c.MaxBytes))
			}
		}
	}
	ops = choose(ops, o)
	if len(ops) == 0 {
		return nil, ErrNothingToDo
	}
	return &action.CompactionPlan{Operations: ops, Extra: map[string]string{}, Version: 2, MissingPartitions: []string{}}, nil
}

// busyGroups are in a pending compaction, log compaction or clustering.
func busyGroups(ctx context.Context, t *snapshot.Table, s *snapshot.Snapshot) (map[fsview.FileGroupID]bool, error) {
	busy := map[fsview.FileGroupID]bool{}
	tl := s.Timeline()
	for _, i := range tl.Pending(timeline.Compaction, timeline.LogCompaction).All() {
		plan, err := action.ReadPlan[action.CompactionPlan](ctx, t.Active(), i)
		if err != nil {
			return nil, err
		}
		for _, op := range plan.Operations {
			busy[fsview.FileGroupID{Partition: op.Partition, FileID: op.FileID}] = true
		}
	}
	for _, i := range tl.Pending(timeline.ReplaceCommit, timeline.Clustering).All() {
		plan, err := action.ReadPlan[action.RequestedReplace](ctx, t.Active(), i)
		if err != nil {
			return nil, err
		}
		if plan.Clustering == nil {
			continue
		}
		for _, g := range plan.Clustering.Groups {
			for _, sl := range g.Slices {
				busy[fsview.FileGroupID{Partition: sl.Partition, FileID: sl.FileID}] = true
			}
		}
	}
	return busy, nil
}

const mb = 1 << 20

func operation(sl *fsview.FileSlice, maxBytes int64) action.CompactionOperation {
	op := action.CompactionOperation{BaseInstant: string(sl.Base), FileID: sl.Group.FileID, Partition: sl.Group.Partition}
	var logs, base int64
	for i := range sl.Logs {
		op.DeltaFiles = append(op.DeltaFiles, path.Base(sl.Logs[i].Path))
		logs += sl.Logs[i].Size
	}
	if maxBytes == 0 {
		maxBytes = handle.DefaultMaxBytes
	}
	write := maxBytes / mb
	if sl.File != nil {
		op.DataFile = path.Base(sl.File.Path)
		base = sl.File.Size
		write = base / mb
	}
	read := (base + logs) / mb
	op.Metrics = map[string]float64{
		"TOTAL_LOG_FILES": float64(len(sl.Logs)), "TOTAL_LOG_FILES_SIZE": float64(logs),
		"TOTAL_IO_READ_MB": float64(read), "TOTAL_IO_WRITE_MB": float64(write), "TOTAL_IO_MB": float64(read + write),
	}
	return op
}

// choose orders and bounds the operations.
func choose(ops []action.CompactionOperation, o CompactionOptions) []action.CompactionOperation {
	by := func(metric string) {
		sort.SliceStable(ops, func(i, j int) bool { return ops[i].Metrics[metric] > ops[j].Metrics[metric] })
	}
	keep := func(metric string, least float64) {
		out := ops[:0]
		for _, op := range ops {
			if op.Metrics[metric] >= least {
				out = append(out, op)
			}
		}
		ops = out
	}
	switch o.Strategy {
	case Unbounded:
		return ops
	case BySize:
		keep("TOTAL_LOG_FILES_SIZE", float64(o.MinLogBytes))
		by("TOTAL_LOG_FILES_SIZE")
	case ByCount:
		keep("TOTAL_LOG_FILES", float64(o.MinLogFiles))
		by("TOTAL_LOG_FILES")
	}
	rest := float64(o.TargetIOMB)
	for i := range ops {
		if rest -= ops[i].Metrics["TOTAL_IO_MB"]; rest <= 0 {
			return ops[:i+1]
		}
	}
	return ops
}

// Schedule plans under the table lock and puts the plan on the timeline. From then on new log files belong to the slices that it will make.
func (c *Compaction) Schedule(ctx context.Context) (timeline.Instant, error) {
	return c.Txn.Schedule(ctx, timeline.Compaction, func(ctx context.Context, tl *timeline.Timeline, at timeline.InstantTime) ([]byte, error) {
		if tl.Layout() == 1 {
			// Log files bear their slice's base instant here: a write that began before the plan and ends after it would append to the slice that is being replaced.
			if p := tl.Pending(timeline.DeltaCommit, timeline.Commit, timeline.ReplaceCommit); p.Len() > 0 {
				i, _ := p.First()
				return nil, fmt.Errorf("the write %s is not finished; a compaction can be planned after it: %w", i.Time, ErrNothingToDo)
			}
		}
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

// Execute carries out the pending compaction i, from its plan alone. An attempt that died is taken back first.
func (c *Compaction) Execute(ctx context.Context, i timeline.Instant) (timeline.Instant, error) {
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
