package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// state is the table as one timeline tells it. It is immutable once prepare has returned nil; before that only cfg, active and tl are
// there.
type state struct {
	table  *Table
	cfg    *tableconfig.Config
	active *timeline.Active
	tl     *timeline.Timeline
	naming fsview.Naming

	order     []timeline.Instant                            // completed writes as they became visible
	pos       map[timeline.InstantTime]int                  // into order
	done      map[timeline.InstantTime]timeline.InstantTime // completion of every committed instant that a file or commit has
	facts     map[timeline.InstantTime]*facts
	archived  archived
	columns   evolutionOnce
	index     *fsview.Index
	replaced  map[fsview.FileGroupID][]timeline.InstantTime
	writers   map[string][]timeline.InstantTime // log file → commits that wrote to it, where names don't tell
	broken    map[timeline.InstantTime]bool     // commits that lack files
	savepoint map[timeline.InstantTime]bool     // savepointed commits → all files that the savepoint names are there
	cleans    map[string]bool                   // files of completed cleans that were read
	commits   []Commit
	damaged   []timeline.Instant // commits whose metadata can't be read

	made time.Time // when it was begun

	flight struct {
		sync.Mutex
		ready   bool
		prev    *state        // prepared; what can be taken over from it
		running chan struct{} // closed when the preparation under way ends
		err     error         // of the last preparation
	}
}

func newState(t *Table, cfg *tableconfig.Config, active *timeline.Active, tl *timeline.Timeline, old *state) *state {
	s := &state{table: t, cfg: cfg, active: active, tl: tl, naming: fsview.NamingOf(cfg.Features), made: time.Now()}
	if old != nil && old.cfg.Layout == cfg.Layout {
		old.flight.Lock()
		if s.flight.prev = old.flight.prev; old.flight.ready {
			s.flight.prev = old
		}
		old.flight.Unlock()
	}
	return s
}

// prepare makes the state whole, once however many callers wait. The work goes on when a caller leaves: the next one will want it.
func (s *state) prepare(ctx context.Context) error {
	s.flight.Lock()
	if s.flight.ready {
		s.flight.Unlock()
		return nil
	}
	if s.flight.running == nil {
		s.flight.running = make(chan struct{})
		go s.run(context.WithoutCancel(ctx))
	}
	running := s.flight.running
	s.flight.Unlock()
	select {
	case <-running:
		s.flight.Lock()
		defer s.flight.Unlock()
		if s.flight.ready {
			return nil
		}
		return s.flight.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *state) run(ctx context.Context) {
	s.flight.Lock()
	prev := s.flight.prev
	s.flight.Unlock()
	err := s.build(ctx, prev)
	s.flight.Lock()
	defer s.flight.Unlock()
	close(s.flight.running)
	s.flight.running = nil
	if s.flight.err = err; err == nil {
		s.flight.ready, s.flight.prev = true, nil
	}
}

// build fills the state, from prev (may be nil) where the timelines agree.
func (s *state) build(ctx context.Context, prev *state) error {
	b := &builder{state: s, prev: prev, ghosts: ghosts{}, touched: map[string]bool{}}
	b.begin()
	if prev == nil || b.relist {
		s.index = fsview.NewIndex(s.lister())
		if err := s.index.Load(ctx); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{b.readCommits, b.readCleans, b.relistTouched, b.resolveInstants, b.readSavepoints, b.findBroken} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	for _, i := range s.order {
		if s.facts[i.Time].err != nil {
			s.damaged = append(s.damaged, i)
		}
		if !s.broken[i.Time] {
			s.commits = append(s.commits, Commit{Instant: i, Operation: s.facts[i.Time].op})
		}
	}
	return nil
}

func (s *state) lister() fsview.Lister {
	if s.table.opts.Lister != nil {
		return s.table.opts.Lister
	}
	return fsview.NewStoreLister(s.table.st)
}

// builder makes one state.
type builder struct {
	*state
	prev    *state
	relist  bool // files may have changed anywhere
	touched map[string]bool
	ghosts  ghosts
	held    []body        // commits read before the index was up to date
	removed []removedFile // what cleans name
}

// begin takes over from prev what still holds, and says whether the files must be listed anew.
func (b *builder) begin() {
	s := b.state
	s.order = s.tl.Visible()
	s.pos = make(map[timeline.InstantTime]int, len(s.order))
	s.facts = make(map[timeline.InstantTime]*facts, len(s.order))
	s.broken = map[timeline.InstantTime]bool{}
	s.cleans = map[string]bool{}
	s.savepoint = map[timeline.InstantTime]bool{}
	for k, i := range s.order {
		s.pos[i.Time] = k
	}
	if b.prev == nil {
		return
	}
	for t, f := range b.prev.facts {
		if _, ok := s.pos[t]; ok && f.err == nil {
			s.facts[t] = f
			s.broken[t] = b.prev.broken[t]
		}
	}
	known := map[string]bool{}
	for _, i := range b.prev.tl.Completed(timeline.Rollback, timeline.Restore).All() {
		known[i.File] = true
	}
	for _, i := range s.tl.Completed(timeline.Rollback, timeline.Restore).All() {
		b.relist = b.relist || !known[i.File]
	}
}

// readCommits reads the metadata of the commits that are new.
func (b *builder) readCommits(ctx context.Context) error {
	var added []timeline.Instant
	for _, i := range b.order {
		if b.facts[i.Time] == nil {
			added = append(added, i)
		}
	}
	texts := map[string]*string{}
	for _, f := range b.facts {
		if f.schema != nil {
			texts[*f.schema] = f.schema
		}
	}
	intern := func(text string) *string {
		if have, ok := texts[text]; ok {
			return have
		}
		text = strings.Clone(text)
		texts[text] = &text
		return &text
	}
	keepLogs := b.naming == fsview.BaseInstant
	var failed error
	err := b.readBodies(ctx, added, func(m body) {
		b.facts[m.instant.Time] = factsOf(m, keepLogs, intern)
		if m.err != nil {
			b.table.log.Error("commit cannot be read", "instant", m.instant.Time, "action", m.instant.Action, "err", m.err)
			return
		}
		if b.index == nil {
			b.held = append(b.held, m)
			for _, p := range partitionsOf(m.meta) {
				b.touched[p] = true
			}
		} else if err := b.checkFiles(ctx, m); err != nil && failed == nil {
			failed = err
		}
	})
	if err != nil {
		return err
	}
	return failed
}

// relistTouched brings the index up to date and checks what waited for it.
func (b *builder) relistTouched(ctx context.Context) error {
	if b.index == nil {
		next, err := b.prev.index.Next(ctx, b.lister(), b.touched)
		if err != nil {
			return err
		}
		b.index = next
		if err := b.vanished(ctx); err != nil {
			return err
		}
	} else if missing := b.unlisted(ctx); len(missing) > 0 {
		next, err := b.index.Next(ctx, b.lister(), missing)
		if err != nil {
			return err
		}
		b.index = next
		if err := b.ghosts.forget(ctx, next); err != nil {
			return err
		}
	}
	for _, m := range b.held {
		if err := b.checkFiles(ctx, m); err != nil {
			return err
		}
	}
	for _, f := range b.removed {
		_, name := splitPath(f.name)
		if err := b.ghosts.add(ctx, b.index, f.partition, name, f.until); err != nil {
			return err
		}
	}
	b.held, b.removed = nil, nil
	return nil
}

// unlisted are partitions that commits name and whose files were looked for in vain: they may lack the metafile.
func (b *builder) unlisted(ctx context.Context) map[string]bool {
	partitions, err := b.index.Partitions(ctx)
	if err != nil {
		return nil
	}
	out := map[string]bool{}
	for id := range b.ghosts {
		if _, ok := slices.BinarySearch(partitions, id.Partition); !ok {
			out[id.Partition] = true
		}
	}
	return out
}

// resolveInstants finds out when everything that files and commits name was completed: from the active timeline, else from the history.
func (b *builder) resolveInstants(ctx context.Context) error {
	s := b.state
	s.done = make(map[timeline.InstantTime]timeline.InstantTime, len(s.order))
	for _, i := range s.order {
		s.done[i.Time] = i.Completion
	}
	unknown, err := b.unknownInstants(ctx)
	if err != nil {
		return err
	}
	holes := b.naming == fsview.BaseInstant && b.tl.Completed(timeline.Savepoint).Len() > 0
	if len(unknown) > 0 || holes {
		if err := b.askHistory(ctx, unknown); err != nil {
			return err
		}
	}
	s.replaced = map[fsview.FileGroupID][]timeline.InstantTime{}
	s.writers = map[string][]timeline.InstantTime{}
	for g, ts := range s.archived.replaced {
		s.replaced[g] = slices.Clone(ts)
		for _, t := range ts {
			if s.done[t] == "" {
				s.done[t], _ = s.archived.tl.CompletionOf(t)
			}
		}
	}
	for _, i := range s.order {
		f := s.facts[i.Time]
		for _, g := range f.replaced {
			s.replaced[g] = append(s.replaced[g], i.Time)
		}
		for _, l := range f.logs {
			s.writers[l] = append(s.writers[l], i.Time)
		}
	}
	return nil
}

// unknownInstants are the instants in names of files, and of files that are gone, which the active timeline doesn't have in any state.
func (b *builder) unknownInstants(ctx context.Context) (map[timeline.InstantTime]string, error) {
	known := make(map[timeline.InstantTime]bool, b.tl.Len())
	for _, i := range b.tl.All() {
		if i.Action.IsWrite() {
			known[i.Time] = true
		}
	}
	out := map[timeline.InstantTime]string{}
	note := func(t timeline.InstantTime, path string) {
		if !known[t] && out[t] == "" {
			out[t] = path
		}
	}
	each := func(g *fsview.Listed) {
		for _, f := range g.Bases {
			note(f.Instant, f.Path)
		}
		for _, f := range g.Logs {
			note(f.Instant, f.Path)
		}
	}
	if err := b.index.Each(ctx, each); err != nil {
		return nil, err
	}
	for _, g := range b.ghosts {
		each(&g.Listed)
	}
	return out, nil
}

// readable returns an error where a damaged commit leaves it open what the state after commit x (nil: now) holds: that commit itself, and
// every one after a commit that may have replaced groups or, in names that don't tell, written logs.
func (s *state) readable(x *timeline.Instant) error {
	for _, d := range s.damaged {
		if _, ok := s.shows(x, d.Time); !ok {
			continue
		}
		logs := s.naming == fsview.BaseInstant && s.cfg.Type == tableconfig.MergeOnRead
		if x == nil || x.Time == d.Time || d.Action == timeline.ReplaceCommit || logs {
			return fmt.Errorf("state after commit %s is not known: %w", d.Time, s.facts[d.Time].err)
		}
	}
	return nil
}

// shows reports whether a state after commit x (nil: now) holds the instant requested at t.
func (s *state) shows(x *timeline.Instant, t timeline.InstantTime) (timeline.InstantTime, bool) {
	c, ok := s.done[t]
	return c, ok && s.before(x, t, c)
}

// before reports whether what was requested at t and completed at c belongs to the state after commit x (nil: now): with completion times
// what had completed when x did, else what was requested no later than x (timeline.md §5.9).
func (s *state) before(x *timeline.Instant, t, c timeline.InstantTime) bool {
	switch {
	case x == nil:
		return true
	case s.cfg.Features.CompletionInName:
		return c.Compare(x.Completion) <= 0
	}
	return t.Compare(x.Time) <= 0
}

// rules are those of the state after commit x; nil: now.
func (s *state) rules(x *timeline.Instant) fsview.Rules {
	var until timeline.InstantTime
	if x != nil {
		until = x.Time
		if s.cfg.Features.CompletionInName {
			until = x.Completion // what completed by then was requested before
		}
	}
	r := fsview.Rules{
		Naming:    s.naming,
		Until:     until,
		Committed: func(t timeline.InstantTime) (timeline.InstantTime, bool) { return s.shows(x, t) },
		Replaced: func(g fsview.FileGroupID) bool {
			return slices.ContainsFunc(s.replaced[g], func(t timeline.InstantTime) bool { _, ok := s.shows(x, t); return ok })
		},
		Named: s.named,
	}
	if s.naming == fsview.BaseInstant {
		r.LogWritten = func(l fsview.LogFile) bool {
			writers := s.writers[l.Path]
			if len(writers) == 0 {
				// All writers to a slice that is on the active timeline are there too: nobody completed this file.
				_, listed := s.pos[l.Instant]
				_, committed := s.done[l.Instant]
				_, hole := s.savepoint[l.Instant] // commits behind it may be archived (timeline.md §5.1)
				return committed && (!listed || hole)
			}
			return slices.ContainsFunc(writers, func(t timeline.InstantTime) bool { _, ok := s.shows(x, t); return ok })
		}
	}
	return r
}

// named reports whether the write stats of commit t name path. Of archived commits, whose stats are not at hand, every file counts.
func (s *state) named(ctx context.Context, t timeline.InstantTime, path string) (bool, error) {
	k, ok := s.pos[t]
	if !ok {
		return true, nil
	}
	m, err := s.table.Metadata(ctx, s.order[k])
	if err != nil {
		return false, err
	}
	for _, stats := range m.Stats {
		for i := range stats {
			if stats[i].Path == path || stats[i].Log != nil && s.naming == fsview.DeltaInstant && namesLog(&stats[i], path) {
				return true, nil
			}
		}
	}
	return false, nil
}

// namesLog reports whether the stat's list of log files, which holds names without directory, has the file at path.
func namesLog(w *action.WriteStat, path string) bool {
	_, name := splitPath(path)
	dir, _ := splitPath(w.Path)
	at, _ := splitPath(path)
	return dir == at && slices.Contains(w.Log.Files, name)
}

// splitPath takes a path apart into directory and name.
func splitPath(p string) (dir, name string) {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i], p[i+1:]
	}
	return "", p
}
