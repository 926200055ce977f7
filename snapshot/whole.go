package snapshot

import (
	"context"
	"slices"
	"sort"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// ghosts are files that commits wrote or cleans removed and that are not there, by file group. A commit whose state would show one of
// them is broken: it is not listed, because a snapshot is whole or absent. Ghosts are forgotten once the commits that they break are
// known.
type ghosts map[fsview.FileGroupID]*ghostGroup

type ghostGroup struct {
	fsview.Listed
	until map[string]timeline.InstantTime // path → first commit that whoever removed the file has spared; "": nobody said
}

// add notes the file of the partition unless the index lists it. Names that are no data files are passed over.
func (g ghosts) add(ctx context.Context, x *fsview.Index, partition, name string, until timeline.InstantTime) error {
	path := name
	if partition != "" {
		path = partition + "/" + name
	}
	made := fsview.Group(partition, []storage.Info{{Path: path}})
	if len(made) == 0 {
		return nil // a name that no reader would have looked at
	}
	add := made[0]
	have, err := x.Group(ctx, add.ID)
	if err != nil || have != nil && have.Has(path) {
		return err
	}
	gg := g[add.ID]
	if gg == nil {
		gg = &ghostGroup{Listed: fsview.Listed{ID: add.ID}, until: map[string]timeline.InstantTime{}}
		g[add.ID] = gg
	}
	if until != "" {
		gg.until[path] = until
	}
	if !gg.Has(path) {
		gg.Bases, gg.Logs = append(gg.Bases, add.Bases...), append(gg.Logs, add.Logs...)
	}
	return nil
}

// forget drops the ghosts that the index lists after all.
func (g ghosts) forget(ctx context.Context, x *fsview.Index) error {
	for id, gg := range g {
		have, err := x.Group(ctx, id)
		if err != nil {
			return err
		}
		if have == nil {
			continue
		}
		gg.Bases = slices.DeleteFunc(gg.Bases, func(f fsview.BaseFile) bool { return have.Has(f.Path) })
		gg.Logs = slices.DeleteFunc(gg.Logs, func(f fsview.LogFile) bool { return have.Has(f.Path) })
		if len(gg.Bases)+len(gg.Logs) == 0 {
			delete(g, id)
		}
	}
	return nil
}

// checkFiles looks for every file that the commit wrote.
func (b *builder) checkFiles(ctx context.Context, m body) error {
	for p, stats := range m.meta.Stats {
		for i := range stats {
			if stats[i].Path == "" {
				continue
			}
			_, name := splitPath(stats[i].Path)
			if err := b.ghosts.add(ctx, b.index, p, name, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// readCleans looks for the files that cleans have deleted, or, where they are not completed, may have deleted already.
func (b *builder) readCleans(ctx context.Context) error {
	for _, i := range b.tl.Completed(timeline.Clean).All() {
		if b.prev != nil && b.prev.cleans[i.File] {
			b.cleans[i.File] = true
			continue
		}
		m, err := action.Read[action.CleanMetadata](ctx, b.active, i)
		if err != nil {
			b.table.log.Warn("clean cannot be read: snapshots that it removed may be listed", "instant", i.Time, "err", err)
			continue
		}
		b.cleans[i.File] = true
		until := timeline.InstantTime(m.EarliestToRetain)
		if until == "" {
			until = i.Time // by versions: the newest slices of that moment were kept
		}
		for p, c := range m.Partitions {
			b.touched[p] = true
			for _, f := range c.Deleted {
				b.removed = append(b.removed, removedFile{p, f, until})
			}
		}
	}
	for _, i := range b.tl.Pending(timeline.Clean).All() {
		m, err := action.ReadPlan[action.CleanPlan](ctx, b.active, i)
		if err != nil {
			continue // without a plan nothing was deleted
		}
		for p, files := range m.Files {
			b.touched[p] = true
			for _, f := range files {
				b.removed = append(b.removed, removedFile{p, f.Path, ""})
			}
		}
		for p, files := range m.OldFiles {
			b.touched[p] = true
			for _, f := range files {
				b.removed = append(b.removed, removedFile{p, f, ""})
			}
		}
	}
	return nil
}

// removedFile is a file that a clean names, by name or whole path. A clean spares every state from its limit on, which is therefore whole as
// far as the clean goes, also where nothing tells any more that the file's group was replaced.
type removedFile struct {
	partition, name string
	until           timeline.InstantTime
}

// vanished notes the files that the previous state listed and that are gone.
func (b *builder) vanished(ctx context.Context) error {
	for p := range b.touched {
		old, err := b.prev.index.Groups(ctx, p)
		if err != nil {
			return err
		}
		for _, g := range old {
			for _, f := range g.Bases {
				if err := b.ghosts.add(ctx, b.index, p, f.String(), ""); err != nil {
					return err
				}
			}
			for _, f := range g.Logs {
				if err := b.ghosts.add(ctx, b.index, p, f.String(), ""); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// readSavepoints checks the files that savepoints name: they are exactly those of the savepointed state.
func (b *builder) readSavepoints(ctx context.Context) error {
	for _, i := range b.tl.Completed(timeline.Savepoint).All() {
		if b.prev != nil {
			if whole, ok := b.prev.savepoint[i.Time]; ok {
				b.savepoint[i.Time] = whole
				continue
			}
		}
		m, err := action.Read[action.SavepointMetadata](ctx, b.active, i)
		if err != nil {
			b.table.log.Warn("savepoint cannot be read", "instant", i.Time, "err", err)
			continue
		}
		missing := ghosts{}
		for p, s := range m.Partitions {
			for _, name := range s.Files {
				_, name = splitPath(name)
				if err := missing.add(ctx, b.index, p, name, ""); err != nil {
					return err
				}
			}
		}
		b.savepoint[i.Time] = len(missing) == 0
	}
	return nil
}

// findBroken marks the commits whose state would show a ghost.
func (b *builder) findBroken(ctx context.Context) error {
	if err := b.beforeRetained(ctx); err != nil {
		return err
	}
	for id, gg := range b.ghosts {
		if err := b.breakGroup(ctx, id, gg); err != nil {
			return err
		}
	}
	b.ghosts = nil
	for t, whole := range b.savepoint {
		if _, ok := b.pos[t]; ok {
			b.broken[t] = !whole
		}
	}
	return nil
}

// breakGroup walks the commits at which the group's latest slice can change, and breaks those between one whose slice has a ghost and the
// next.
func (b *builder) breakGroup(ctx context.Context, id fsview.FileGroupID, gg *ghostGroup) error {
	listed, err := b.index.Group(ctx, id)
	if err != nil {
		return err
	}
	all := &fsview.Listed{ID: id}
	if listed != nil {
		all = listed
	}
	all = all.With(gg.Bases, gg.Logs)
	points := b.changePoints(all)
	for k, from := range points {
		to := len(b.order)
		if k+1 < len(points) {
			to = points[k+1]
		}
		rules := b.rules(&b.order[from])
		s, ok, err := rules.Latest(ctx, all)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for _, i := range b.order[from:to] {
			b.broken[i.Time] = b.broken[i.Time] || gg.in(s, i.Time)
		}
	}
	return nil
}

// in reports whether the slice has one of the ghosts, as the latest slice of the state after commit at.
func (g *ghostGroup) in(s fsview.FileSlice, at timeline.InstantTime) bool {
	missing := func(path string) bool {
		until := g.until[path]
		return g.Has(path) && (until == "" || at.Compare(until) < 0)
	}
	return s.File != nil && missing(s.File.Path) || slices.ContainsFunc(s.Logs, func(l fsview.LogFile) bool { return missing(l.Path) })
}

// changePoints are the positions in the order of commits at which something of the group becomes visible or is replaced.
func (b *builder) changePoints(g *fsview.Listed) []int {
	var out []int
	at := func(t timeline.InstantTime) {
		if _, ok := b.done[t]; ok {
			if p := b.position(t); p < len(b.order) {
				out = append(out, p)
			}
		}
	}
	for _, f := range g.Bases {
		at(f.Instant)
	}
	for _, f := range g.Logs {
		at(f.Instant)
		for _, t := range b.writers[f.Path] {
			at(t)
		}
	}
	for _, t := range b.replaced[g.ID] {
		at(t)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// position is the first commit whose state shows the instant.
func (s *state) position(t timeline.InstantTime) int {
	return sort.Search(len(s.order), func(k int) bool { _, ok := s.shows(&s.order[k], t); return ok })
}

// beforeRetained breaks commits older than the last clean's limit where commits and cleans before them are archived in layout 1: what the
// archived ones wrote and deleted is not at hand, so that nothing proves those states whole. In layout 2 cleans are archived no earlier
// than the commits they could harm.
func (b *builder) beforeRetained(ctx context.Context) error {
	if b.cfg.Features.LSMHistory {
		return nil
	}
	last, ok := b.tl.Completed(timeline.Clean).Last()
	if !ok {
		return nil
	}
	archived := false
	for f, err := range b.table.st.List(ctx, b.cfg.HistoryDir(), storage.ListOptions{}) {
		if err != nil {
			return err
		}
		_, name := splitPath(f.Path)
		archived = archived || !f.Prefix && isArchive(name)
	}
	if !archived {
		return nil
	}
	m, err := action.Read[action.CleanMetadata](ctx, b.active, last)
	if err != nil {
		return nil // it was said when the cleans were read
	}
	for _, i := range b.order {
		if string(i.Time) < m.EarliestToRetain {
			b.broken[i.Time] = true
		}
	}
	return nil
}

// isArchive reports whether name is that of an archive log file of layout 1 (timeline.md §6.1).
func isArchive(name string) bool {
	const prefix = ".commits_.archive."
	return len(name) > len(prefix) && name[:len(prefix)] == prefix && name[len(prefix)] >= '0' && name[len(prefix)] <= '9'
}
