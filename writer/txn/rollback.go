package txn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer/lock"
)

// ownFile reports whether a data file was made by the write at at: its name says so. Nothing else is ever deleted by a rollback.
func ownFile(p string, at timeline.InstantTime) bool {
	name := path.Base(p)
	if fsview.IsLogFile(name) {
		l, err := fsview.ParseLogFileName(name)
		return err == nil && l.Instant == at
	}
	b, err := fsview.ParseBaseFileName(name)
	return err == nil && b.Instant == at
}

// rollback takes back what instant i did (timeline.md §7.7): a plan first, then files, then the instant, then the record of it. A crash at any point
// leaves a pending rollback that the next one takes up again, under the same time. explicit allows completed instants.
func (m *Manager) rollback(ctx context.Context, i timeline.Instant, explicit bool) error {
	tl, err := m.o.Active.Load(ctx)
	if err != nil {
		return err
	}
	have, ok := tl.FindAction(i.Time, i.Action)
	if !ok {
		return nil // somebody has rolled it back already
	}
	if have.State == timeline.Completed && !explicit {
		return fmt.Errorf("roll back %s: %w: it has completed", i, timeline.ErrState)
	}
	if rb, plan, err := m.pendingRollback(ctx, tl, i); err != nil {
		return err
	} else if plan != nil {
		return m.executeRollback(ctx, rb, plan)
	}
	return m.planRollback(ctx, tl, have)
}

// pendingRollback finds a rollback that was begun for i.
func (m *Manager) pendingRollback(ctx context.Context, tl *timeline.Timeline, i timeline.Instant) (timeline.Instant, *action.RollbackPlan, error) {
	for _, rb := range tl.Pending(timeline.Rollback).All() {
		plan, err := action.ReadPlan[action.RollbackPlan](ctx, m.o.Active, rb)
		if err != nil {
			return timeline.Instant{}, nil, fmt.Errorf("read plan of %s: %w", rb, err)
		}
		if plan.Target.Time == string(i.Time) {
			return rb, plan, nil
		}
	}
	return timeline.Instant{}, nil, nil
}

func (m *Manager) planRollback(ctx context.Context, tl *timeline.Timeline, i timeline.Instant) error {
	plan, err := m.rollbackPlan(ctx, i)
	if err != nil {
		return err
	}
	body, err := action.Encode(m.o.Active.Layout(), plan)
	if err != nil {
		return err
	}
	var rb timeline.Instant
	err = lock.Do(ctx, m.o.Lock, m.o.Owner, func(ctx context.Context, _ uint64) error {
		now, err := m.o.Active.Load(ctx)
		if err != nil {
			return err
		}
		if have, ok := now.FindAction(i.Time, i.Action); !ok || have.State != i.State {
			return fmt.Errorf("roll back %s: %w: it changed meanwhile", i, timeline.ErrState)
		}
		m.o.Clock.Observe(now.Greatest())
		for {
			at, err := m.o.Clock.Now(ctx)
			if err != nil {
				return err
			}
			rb, err = m.o.Active.Request(ctx, at, timeline.Rollback, body)
			if !errors.Is(err, storage.ErrExists) {
				return err
			}
		}
	})
	if err != nil {
		return err
	}
	return m.executeRollback(ctx, rb, plan)
}

// rollbackPlan lists what the write at i may have left: what its markers name, and, because markers can be lost, every file of the table that bears
// its instant.
func (m *Manager) rollbackPlan(ctx context.Context, i timeline.Instant) (*action.RollbackPlan, error) {
	plan := &action.RollbackPlan{Target: action.InstantInfo{Time: string(i.Time), Action: string(i.Action)}, Version: 1, Requests: []action.RollbackRequest{}}
	if i.State == timeline.Requested {
		// Nothing is written before the instant is inflight.
		return plan, nil
	}
	marked, found, err := m.markers(ctx, i.Time)
	if err != nil {
		return nil, err
	}
	if !found && m.o.Active.Layout() == 1 && i.Action == timeline.DeltaCommit {
		if plan.Requests, err = m.appendRequests(ctx, i); err != nil {
			return nil, err
		}
	}
	paths := map[string]bool{}
	for _, mk := range marked {
		if mk.Type == MarkAppend && m.o.Active.Layout() == 1 {
			plan.Requests = append(plan.Requests, appendRequest(mk))
		} else if ownFile(mk.Path, i.Time) {
			paths[mk.Path] = true
		}
	}
	if err := m.listFiles(ctx, i, paths); err != nil {
		return nil, err
	}
	var sorted []string
	for p := range paths {
		sorted = append(sorted, p)
	}
	sort.Strings(sorted)
	for _, p := range sorted {
		plan.Requests = append(plan.Requests, action.RollbackRequest{
			Partition: partitionOf(p), FileID: fileIDOf(p), LatestBaseInstant: string(i.Time),
			FilesToDelete: []string{m.absolute(p)}, LogBlocks: map[string]int64{},
		})
	}
	return plan, nil
}

// listFiles adds the data files whose names bear the instant. In layout 1 log files bear their slice's base instant, which a compaction at i may
// share with later writes: there only base files count.
func (m *Manager) listFiles(ctx context.Context, i timeline.Instant, paths map[string]bool) error {
	for info, err := range m.o.Store.List(ctx, "", storage.ListOptions{Recursive: true}) {
		if err != nil {
			return fmt.Errorf("look for files of %s: %w", i, err)
		}
		if strings.HasPrefix(info.Path, ".hoodie/") || !ownFile(info.Path, i.Time) {
			continue
		}
		if fsview.IsLogFile(path.Base(info.Path)) && m.o.Active.Layout() == 1 {
			continue
		}
		paths[info.Path] = true
	}
	return nil
}

// appendRequests finds the log files that a delta commit of layout 1 without markers may have appended to, by what it meant to update: its blocks bear its
// instant, but the files do not.
func (m *Manager) appendRequests(ctx context.Context, i timeline.Instant) ([]action.RollbackRequest, error) {
	requests := []action.RollbackRequest{}
	body, err := m.o.Active.ReadInflight(ctx, i)
	if err != nil || len(body) == 0 {
		return requests, err
	}
	profile, err := action.Decode[action.CommitMetadata](m.o.Active.Path(i), body)
	if err != nil {
		return nil, err
	}
	for _, partition := range slices.Sorted(maps.Keys(profile.Stats)) {
		logs := map[string]map[string]int64{} // by file id and base instant
		for info, err := range m.o.Store.List(ctx, dirOf(partition), storage.ListOptions{}) {
			if err != nil {
				return nil, fmt.Errorf("look for log files of %s: %w", i, err)
			}
			name := path.Base(info.Path)
			if l, err := fsview.ParseLogFileName(name); err == nil && !info.Prefix {
				slice := l.FileID + "_" + string(l.Instant)
				if logs[slice] == nil {
					logs[slice] = map[string]int64{}
				}
				logs[slice][name] = info.Size
			}
		}
		for _, st := range profile.Stats[partition] {
			if blocks := logs[st.FileID+"_"+st.PrevCommit]; len(blocks) > 0 {
				requests = append(requests, action.RollbackRequest{Partition: partition, FileID: st.FileID, LatestBaseInstant: st.PrevCommit, FilesToDelete: []string{}, LogBlocks: blocks})
			}
		}
	}
	return requests, nil
}

func dirOf(partition string) string {
	if partition == "" {
		return ""
	}
	return partition + "/"
}

func appendRequest(mk Marker) action.RollbackRequest {
	r := action.RollbackRequest{Partition: partitionOf(mk.Path), FileID: fileIDOf(mk.Path), LogBlocks: map[string]int64{}}
	if name := path.Base(mk.Path); fsview.IsLogFile(name) {
		if l, err := fsview.ParseLogFileName(name); err == nil {
			r.LatestBaseInstant = string(l.Instant)
			r.LogBlocks[name] = 1
		}
	} else if b, err := fsview.ParseBaseFileName(name); err == nil {
		r.LatestBaseInstant = string(b.Instant)
	}
	return r
}

func partitionOf(p string) string {
	if d := path.Dir(p); d != "." {
		return d
	}
	return ""
}

func fileIDOf(p string) string {
	name := path.Base(p)
	if fsview.IsLogFile(name) {
		l, _ := fsview.ParseLogFileName(name)
		return l.FileID
	}
	b, _ := fsview.ParseBaseFileName(name)
	return b.FileID
}

// absolute is how rollback plans spell paths: absolute, without scheme (timeline.md §4.8).
func (m *Manager) absolute(p string) string { return path.Join(m.root(), p) }

func (m *Manager) root() string { return withoutScheme(m.o.Store.URL()) }

// withoutScheme is the path of a location, as it is written: a percent sign in it belongs to a partition's name.
func withoutScheme(p string) string {
	scheme, rest, ok := strings.Cut(p, ":")
	if !ok || scheme == "" || strings.Contains(scheme, "/") {
		return p
	}
	if authority, ok := strings.CutPrefix(rest, "//"); ok {
		_, rest, _ = strings.Cut(authority, "/")
	}
	return path.Join("/", rest)
}

// relative finds a plan's path in this table; plans of other engines, or of a table that was moved since, have other roots.
func (m *Manager) relative(p string, partition string) string {
	p = withoutScheme(p)
	if rest, ok := strings.CutPrefix(p, m.root()+"/"); ok {
		return rest
	}
	return path.Join(partition, path.Base(p))
}

func (m *Manager) executeRollback(ctx context.Context, rb timeline.Instant, plan *action.RollbackPlan) error {
	began := time.Now()
	target := timeline.Instant{Time: timeline.InstantTime(plan.Target.Time), Action: timeline.Action(plan.Target.Action)}
	if rb.State == timeline.Requested {
		i, err := m.o.Active.Start(ctx, rb, nil)
		if err != nil && !errors.Is(err, storage.ErrExists) {
			return err
		}
		if err == nil {
			rb = i
		} else {
			rb.State = timeline.Inflight
			rb.File = ""
		}
	}
	if err := m.unpublish(ctx, target); err != nil {
		return err
	}
	meta := &action.RollbackMetadata{StartTime: string(rb.Time), Commits: []string{plan.Target.Time}, Version: 1,
		Instants: []action.InstantInfo{plan.Target}, Partitions: map[string]action.RollbackPartition{}}
	if err := m.deletePlanned(ctx, target, plan, meta); err != nil {
		return err
	}
	if err := m.undoLogs(ctx, target, rb, plan, meta); err != nil {
		return err
	}
	meta.TimeTakenMillis = time.Since(began).Milliseconds()
	return m.finishRollback(ctx, rb, target, meta)
}

// unpublish makes a completed instant pending before its files go, so that no reader sees it without them.
func (m *Manager) unpublish(ctx context.Context, target timeline.Instant) error {
	tl, err := m.o.Active.Load(ctx)
	if err != nil {
		return err
	}
	have, ok := tl.FindAction(target.Time, target.Action)
	if !ok || have.State != timeline.Completed {
		return nil
	}
	_, err = m.o.Active.Revert(ctx, have)
	return err
}

func (m *Manager) deletePlanned(ctx context.Context, target timeline.Instant, plan *action.RollbackPlan, meta *action.RollbackMetadata) error {
	for _, r := range plan.Requests {
		for _, f := range r.FilesToDelete {
			if !ownFile(m.relative(f, r.Partition), target.Time) {
				return fmt.Errorf("roll back %s: the plan names %s, which is not a file of that write; nothing was deleted: look at the plan", target, f)
			}
		}
	}
	for _, r := range plan.Requests {
		for _, f := range r.FilesToDelete {
			p := m.relative(f, r.Partition)
			if err := m.deleteIfThere(ctx, p); err != nil {
				return err
			}
			part := meta.Partitions[r.Partition]
			part.Partition = r.Partition
			part.Deleted = append(part.Deleted, f)
			part.Failed = []string{}
			meta.Partitions[r.Partition] = part
			meta.TotalFilesDeleted++
		}
	}
	return nil
}

// undoLogs writes rollback blocks behind log blocks that can't be deleted (layout 1).
func (m *Manager) undoLogs(ctx context.Context, target, rb timeline.Instant, plan *action.RollbackPlan, meta *action.RollbackMetadata) error {
	var marked []Marker
	undone := map[string]bool{}
	for _, r := range plan.Requests {
		if len(r.FilesToDelete) > 0 {
			continue
		}
		names := slices.Sorted(maps.Keys(r.LogBlocks))
		if len(names) == 0 && r.FileID != "" && r.LatestBaseInstant != "" {
			// Releases that marked appends with a base file's name did not know the log file's: any name of the slice finds it.
			names = []string{fmt.Sprintf(".%s_%s.log.1_1-0-1", r.FileID, r.LatestBaseInstant)}
		}
		for _, name := range names {
			l, err := fsview.ParseLogFileName(path.Base(name))
			if err != nil {
				return fmt.Errorf("roll back %s: the plan names %s, which is no log file: %w", target, name, err)
			}
			// One command for each slice, however many of its files were written to.
			slice := path.Join(r.Partition, l.FileID+"_"+string(l.Instant))
			if !undone[slice] {
				undone[slice] = true
				marked = append(marked, Marker{Path: path.Join(r.Partition, path.Base(name)), Type: MarkAppend})
			}
		}
		part := meta.Partitions[r.Partition]
		part.Partition = r.Partition
		if part.Deleted == nil {
			part.Deleted = []string{}
		}
		part.Failed = []string{}
		if part.FailedLogFiles == nil {
			part.FailedLogFiles = map[string]int64{}
		}
		maps.Copy(part.FailedLogFiles, r.LogBlocks)
		meta.Partitions[r.Partition] = part
	}
	if len(marked) == 0 {
		return nil
	}
	if m.o.Undo == nil {
		return fmt.Errorf("roll back %s: it wrote log blocks, which can't be taken back here; let Spark roll it back", target)
	}
	written, err := m.o.Undo(ctx, target, rb.Time, marked)
	if err != nil {
		return err
	}
	for p, logs := range written {
		part := meta.Partitions[p]
		part.RollbackLogs = logs
		meta.Partitions[p] = part
	}
	return nil
}

// finishRollback removes the instant and completes the record, under the lock.
func (m *Manager) finishRollback(ctx context.Context, rb, target timeline.Instant, meta *action.RollbackMetadata) error {
	body, err := action.Encode(m.o.Active.Layout(), meta)
	if err != nil {
		return err
	}
	err = lock.Do(ctx, m.o.Lock, m.o.Owner, func(ctx context.Context, _ uint64) error {
		now, err := m.o.Active.Load(ctx)
		if err != nil {
			return err
		}
		if err := m.removeTarget(ctx, now, target); err != nil {
			return err
		}
		m.o.Clock.Observe(now.Greatest())
		done, err := m.o.Clock.Now(ctx)
		if err != nil {
			return err
		}
		_, err = m.o.Active.Complete(ctx, rb, done, body)
		if errors.Is(err, storage.ErrExists) {
			return nil // another process finished the same plan
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := m.deleteMarkers(ctx, target.Time); err != nil {
		return err
	}
	if err := m.deleteIfThere(ctx, heartbeatDir+string(target.Time)); err != nil {
		return err
	}
	m.o.Log.Info("rolled back", "instant", target.Time, "action", target.Action, "files", meta.TotalFilesDeleted)
	return nil
}

// removeTarget deletes the pending instant; the plan of a table service stays for another try.
func (m *Manager) removeTarget(ctx context.Context, now *timeline.Timeline, target timeline.Instant) error {
	have, ok := now.FindAction(target.Time, target.Action)
	if !ok {
		return nil
	}
	switch have.Action {
	case timeline.Compaction, timeline.LogCompaction, timeline.Clustering:
		return m.o.Active.RemoveInflight(ctx, have)
	}
	return m.o.Active.Remove(ctx, have)
}
