package snapshot

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// Rendering is how a snapshot's rows are shown.
type Rendering uint8

// The renderings.
const (
	Parquet   Rendering = iota // current rows; base files as they lie where possible
	Optimized                  // base files without their logs
	CSV
	JSONL
)

// Snapshot is the table just after one commit. It is immutable and safe for concurrent use.
type Snapshot struct {
	state     *state
	at        timeline.InstantTime
	commit    *timeline.Instant // nil: all that has completed
	rendering Rendering
	window    *window // nil: the whole state
	view      *fsview.View
	rules     fsview.Rules

	mu struct {
		sync.Mutex
		as                 map[Rendering]*Snapshot // of the Parquet rendering: the others
		tree               map[string][]string     // directory → its child directories; nil: not made yet
		dirs               map[string][]Entry      // listings made so far
		schema, fileSchema *schema.Schema          // once asked for
	}
}

func newSnapshot(s *state, commit *timeline.Instant) *Snapshot {
	n := &Snapshot{state: s, commit: commit, rules: s.rules(commit)}
	if commit != nil {
		n.at = commit.Time
	}
	n.view = fsview.NewView(s.index, n.rules)
	return n
}

// Instant is the commit's requested time. For the state with all commits it is that of the last one; "" where there is none.
func (s *Snapshot) Instant() timeline.InstantTime {
	if c, ok := s.last(); ok {
		return c.Time
	}
	return ""
}

// Commit is the commit; the zero Commit for a table without any.
func (s *Snapshot) Commit() Commit {
	c, ok := s.last()
	if !ok {
		return Commit{}
	}
	return Commit{Instant: c, Operation: s.state.facts[c.Time].op}
}

// last is the newest commit of the state.
func (s *Snapshot) last() (timeline.Instant, bool) {
	if s.commit != nil {
		return *s.commit, true
	}
	if n := len(s.state.order); n > 0 {
		return s.state.order[n-1], true
	}
	return timeline.Instant{}, false
}

// Table is the table.
func (s *Snapshot) Table() *Table { return s.state.table }

// Timeline is the timeline that the snapshot was taken from.
func (s *Snapshot) Timeline() *timeline.Timeline { return s.state.tl }

// Committed reports whether the write requested at t belongs to this state, and its completion time. Log blocks of other instants are not to
// be read.
func (s *Snapshot) Committed(t timeline.InstantTime) (timeline.InstantTime, bool) {
	if c, ok := s.state.shows(s.commit, t); ok {
		return c, true
	}
	full := s.state.archived.tl
	if i, ok := s.state.tl.Find(t); ok && i.Action.IsWrite() || s.state.done[t] != "" || full == nil {
		return "", false
	}
	// Blocks of archived instants lie in files that newer instants name (version 6): ask the history.
	c, ok := full.CompletionOf(t)
	return c, ok && s.state.before(s.commit, t, c)
}

// View gives the other cuts of the same state: slices for writers, all slices of all groups for services.
func (s *Snapshot) View() *fsview.View { return s.view }

// As returns the same state in another rendering.
func (s *Snapshot) As(r Rendering) *Snapshot {
	if r == s.rendering {
		return s
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.as == nil {
		s.mu.as = map[Rendering]*Snapshot{}
	}
	n := s.mu.as[r]
	if n == nil {
		n = &Snapshot{state: s.state, at: s.at, commit: s.commit, rules: s.rules, view: s.view, rendering: r, window: s.window}
		s.mu.as[r] = n
	}
	return n
}

// Partitions returns the partitions with rows at this commit, sorted; "" is that of a non-partitioned table. Directories that exist but
// show nothing in this state are out.
func (s *Snapshot) Partitions(ctx context.Context) ([]string, error) {
	all, err := s.view.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range all {
		sl, err := s.Slices(ctx, p)
		if err != nil {
			return nil, err
		}
		if len(sl) > 0 {
			out = append(out, p)
		}
	}
	return out, nil
}

// Slices returns the slices of a partition that hold its rows, by file id: its current rows, or in the optimized rendering those of its
// base files.
func (s *Snapshot) Slices(ctx context.Context, partition string) ([]fsview.FileSlice, error) {
	list := s.view.Latest
	if s.rendering == Optimized {
		list = s.view.LatestBase
	}
	out, err := list(ctx, partition)
	if err == nil && s.window != nil {
		out = s.touched(out)
	}
	return out, err
}

// ForWrite returns, per file group of the partition, the slice that appends go to: that of a pending compaction where there is one.
func (s *Snapshot) ForWrite(ctx context.Context, partition string) ([]fsview.FileSlice, error) {
	v, err := s.writerView(ctx)
	if err != nil {
		return nil, err
	}
	return v.ForWrite(ctx, partition)
}

// Compacting returns the file groups that pending compactions will rewrite, and the compaction's instant.
func (s *Snapshot) Compacting(ctx context.Context) (map[fsview.FileGroupID]timeline.InstantTime, error) {
	out := map[fsview.FileGroupID]timeline.InstantTime{}
	for _, i := range s.state.tl.Pending(timeline.Compaction).All() {
		plan, err := action.ReadPlan[action.CompactionPlan](ctx, s.state.active, i)
		if err != nil {
			return nil, err
		}
		for _, op := range plan.Operations {
			out[fsview.FileGroupID{Partition: op.Partition, FileID: op.FileID}] = i.Time
		}
	}
	return out, nil
}

func (s *Snapshot) writerView(ctx context.Context) (*fsview.View, error) {
	pending, err := s.Compacting(ctx)
	if err != nil {
		return nil, err
	}
	r := s.rules
	r.Compacting = func(g fsview.FileGroupID) (timeline.InstantTime, bool) { t, ok := pending[g]; return t, ok }
	return fsview.NewView(s.state.index, r), nil
}

// tree returns, for every directory of the snapshot, its child directories, sorted.
func (s *Snapshot) tree(ctx context.Context) (map[string][]string, error) {
	s.mu.Lock()
	tree := s.mu.tree
	s.mu.Unlock()
	if tree != nil {
		return tree, nil
	}
	partitions, err := s.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	sets := map[string]map[string]bool{"": {}}
	for _, p := range partitions {
		for p != "" {
			if sets[p] == nil {
				sets[p] = map[string]bool{}
			}
			parent, _ := splitPath(p)
			if sets[parent] == nil {
				sets[parent] = map[string]bool{}
			}
			sets[parent][p[strings.LastIndexByte(p, '/')+1:]] = true
			p = parent
		}
	}
	tree = make(map[string][]string, len(sets))
	for dir, children := range sets {
		tree[dir] = slices.Sorted(maps.Keys(children))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.tree = tree
	return tree, nil
}

func (s *Snapshot) String() string {
	return fmt.Sprintf("%s@%s", s.state.cfg.Name, s.Instant())
}
