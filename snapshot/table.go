// Package snapshot is the table as it stood after one commit: which files held its rows, shown as directories, each file as a local one. It
// only reads.
//
// It knows the timeline and the table's files. It must never know how a table changes, nor names of a mount.
//
// A Table holds one state: what is true for one timeline. The state is made when it is first asked for, from one listing of the files and
// one reading of each commit's metadata, and kept while the timeline stays; the next state takes over everything that the new instants
// did not touch. A Snapshot is a window on a state: no list of files per commit is ever kept.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hudifs/hudifs/internal/filecache"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/timeline/history"
)

// ErrNeedsMerge is matched by the error for a slice with log files where nothing can merge them. Its base file alone would hold old
// versions of rows, so it is never shown in its place.
var ErrNeedsMerge = errors.New("the file slice has log files that must be merged")

// ErrNoSnapshot says that the table has no such commit, or no longer all of its files. It matches fs.ErrNotExist.
var ErrNoSnapshot = fmt.Errorf("no such snapshot: %w", fs.ErrNotExist)

// ErrExpired says that files of a snapshot were removed while it was in use, by a cleaner or a restore. It matches fs.ErrNotExist.
var ErrExpired = fmt.Errorf("the snapshot's files were removed: %w", fs.ErrNotExist)

// Options are what a table is opened with. The zero value reads copy-on-write tables on local disk.
type Options struct {
	Log          *slog.Logger     // nil: discard
	Cache        *filecache.Cache // where files of buckets, merged and rendered files are kept; nil: there are none
	Materializer Materializer     // nil: the built-in one where there is a Cache, else none
	UnifySchema  bool             // rewrite base files that only lack later nullable columns, too
	Lister       fsview.Lister    // nil: the store is walked
}

// Table is an open table. It is safe for concurrent use.
type Table struct {
	st    storage.Store
	opts  Options
	log   *slog.Logger
	state atomic.Pointer[state]
	use   sync.Mutex // one change of state at a time; held across no I/O but that of making the next state's timeline

	tickets atomic.Uint64 // of Reloads, in the order in which they began
	applied uint64        // the ticket of the current state; guarded by use

	past    atomic.Pointer[pastOf]
	bodies  bodyCache
	made    snapshotCache
	schemas schemaCache
}

// OpenTable reads the table's properties and timeline at the store's base path. A missing table matches fs.ErrNotExist.
func OpenTable(ctx context.Context, st storage.Store, o Options) (*Table, error) {
	t := &Table{st: st, opts: o, log: o.Log}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	if t.opts.Materializer == nil && o.Cache != nil {
		t.opts.Materializer = newMaterializer(t)
	}
	if _, err := t.Reload(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

// Config is the table's configuration as of the last Reload.
func (t *Table) Config() *tableconfig.Config { return t.state.Load().cfg }

// Store is the store of the table's base path.
func (t *Table) Store() storage.Store { return t.st }

// Active writes and reads the table's instants.
func (t *Table) Active() *timeline.Active { return t.state.Load().active }

// Timeline is the timeline as of the last Reload.
func (t *Table) Timeline() *timeline.Timeline { return t.state.Load().tl }

// Reload reads properties and timeline again; what Commits, ResolveTime and At with a nil timeline answer follows. Snapshots that are open
// stay as they are.
func (t *Table) Reload(ctx context.Context) (*timeline.Timeline, error) {
	ticket := t.tickets.Add(1)
	cfg, err := tableconfig.Load(ctx, t.st)
	if err != nil {
		return nil, err
	}
	if err := checkFormat(cfg); err != nil {
		return nil, err
	}
	active := timeline.NewActive(t.st, cfg)
	tl, err := active.Load(ctx)
	if err != nil {
		return nil, err
	}
	t.replace(ticket, cfg, active, tl)
	return tl, nil
}

// Use makes tl, which the caller has loaded (a watcher does), the table's timeline, as Reload does.
func (t *Table) Use(ctx context.Context, tl *timeline.Timeline) error {
	old := t.state.Load()
	if old.cfg.Layout != tl.Layout() {
		_, err := t.Reload(ctx) // an upgrade happened: the properties changed too
		return err
	}
	t.replace(t.tickets.Add(1), old.cfg, old.active, tl)
	return nil
}

// replace makes the state of tl the current one, unless the current one shows the same instants, or was read by a Reload that began later: what one began to read
// earlier may be older.
func (t *Table) replace(ticket uint64, cfg *tableconfig.Config, active *timeline.Active, tl *timeline.Timeline) {
	t.use.Lock()
	defer t.use.Unlock()
	if ticket < t.applied {
		return
	}
	t.applied = ticket
	old := t.state.Load()
	if old != nil && slices.Equal(old.tl.All(), tl.All()) && reflect.DeepEqual(old.cfg, cfg) {
		return
	}
	t.state.Store(newState(t, cfg, active, tl, old))
}

// pastOf is the history of one configuration of the table.
type pastOf struct {
	layout int
	*history.History
}

// history returns the reader of archived instants, which remembers what it has read.
func (t *Table) history(cfg *tableconfig.Config) *history.History {
	if p := t.past.Load(); p != nil && p.layout == cfg.Layout {
		return p.History
	}
	p := &pastOf{cfg.Layout, history.New(t.st, cfg)}
	t.past.Store(p)
	return p.History
}

// checkFormat refuses base file formats that cannot be read, up front and not on the first file.
func checkFormat(cfg *tableconfig.Config) error {
	switch ext := cfg.BaseFormat.Extension(); ext {
	case ".parquet", ".hfile":
		return nil
	default:
		return fmt.Errorf("table %s: base file format %s cannot be read: %w", cfg.Name, cfg.BaseFormat, tableconfig.ErrUnsupported)
	}
}

// Commit is one completed write whose state of the table can be read.
type Commit struct {
	timeline.Instant
	Operation action.WriteOperation // as the commit's metadata says; "" where it says nothing
}

// Commits returns the commits whose snapshots are whole, oldest first: by completion time where the timeline has them in names, else by
// instant. The slice is shared.
func (t *Table) Commits(ctx context.Context) ([]Commit, error) {
	s := t.state.Load()
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	if len(s.commits) == 0 && len(s.order) > 0 {
		// Commits and cleans went on while the files were listed, so far that nothing of this timeline is left: it is out of date.
		if _, err := t.Reload(ctx); err != nil {
			return nil, err
		}
		s = t.state.Load()
		if err := s.prepare(ctx); err != nil {
			return nil, err
		}
	}
	return s.commits, nil
}

// Latest is the last of Commits; ok is false for a table without commits.
func (t *Table) Latest(ctx context.Context) (c Commit, ok bool, err error) {
	all, err := t.Commits(ctx)
	if err != nil || len(all) == 0 {
		return Commit{}, false, err
	}
	return all[len(all)-1], true, nil
}

// At returns the snapshot of the commit requested at at, in the timeline tl (nil: the current one). An unknown commit, or one whose files
// are not all there any more, matches ErrNoSnapshot.
func (t *Table) At(ctx context.Context, tl *timeline.Timeline, at timeline.InstantTime) (*Snapshot, error) {
	s, err := t.stateOf(ctx, tl)
	if err != nil {
		return nil, err
	}
	i, ok := s.pos[at]
	if !ok {
		return nil, fmt.Errorf("commit %q: %w", at, ErrNoSnapshot)
	}
	if s.broken[at] {
		return nil, fmt.Errorf("commit %s: files of its state were cleaned away: %w", at, ErrNoSnapshot)
	}
	if err := s.readable(&s.order[i]); err != nil {
		return nil, err
	}
	return t.made.get(s, at, func() *Snapshot { return newSnapshot(s, &s.order[i]) }), nil
}

// Now returns the state with all completed commits of tl (nil: the current one), also of a table that has none: what writers and services
// begin from.
func (t *Table) Now(ctx context.Context, tl *timeline.Timeline) (*Snapshot, error) {
	s, err := t.stateOf(ctx, tl)
	if err != nil {
		return nil, err
	}
	if err := s.readable(nil); err != nil {
		return nil, err
	}
	return t.made.get(s, "", func() *Snapshot { return newSnapshot(s, nil) }), nil
}

// stateOf returns the prepared state of tl.
func (t *Table) stateOf(ctx context.Context, tl *timeline.Timeline) (*state, error) {
	s := t.state.Load()
	if tl != nil && tl != s.tl && !slices.Equal(s.tl.All(), tl.All()) {
		return t.aside(ctx, s, tl)
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	if len(s.damaged) > 0 && time.Since(s.made) > retryDamaged {
		return t.again(ctx, s)
	}
	return s, nil
}

// aside makes the state of a timeline that is not the current one, and leaves the current one alone. Who asks with a timeline gets the state of that very timeline, whatever
// others reload meanwhile: a writer that began on it must not read files of another state.
func (t *Table) aside(ctx context.Context, from *state, tl *timeline.Timeline) (*state, error) {
	if from.cfg.Layout != tl.Layout() {
		// An upgrade happened: the properties changed too.
		if _, err := t.Reload(ctx); err != nil {
			return nil, err
		}
		if from = t.state.Load(); from.cfg.Layout != tl.Layout() {
			return nil, fmt.Errorf("the timeline is of layout %d, the table's properties say %d", tl.Layout(), from.cfg.Layout)
		}
	}
	s := newState(t, from.cfg, from.active, tl, from)
	return s, s.prepare(ctx)
}

// retryDamaged is how long a commit that could not be read is left alone. A Java writer on a local disk does not publish whole files, so that
// a reader may meet a half-written one.
const retryDamaged = time.Second

// again makes the state anew, reading what could not be read.
func (t *Table) again(ctx context.Context, s *state) (*state, error) {
	t.use.Lock()
	if t.state.Load() == s {
		t.state.Store(newState(t, s.cfg, s.active, s.tl, s))
	}
	s = t.state.Load()
	t.use.Unlock()
	return s, s.prepare(ctx)
}

// snapshotsKept is how many snapshots stay made: more only cost memory, fewer cost a few milliseconds each.
const snapshotsKept = 16

// snapshotCache keeps the last few snapshots, so that their directories are made once.
type snapshotCache struct {
	mu   sync.Mutex
	list []*Snapshot // most recent last
}

func (c *snapshotCache) get(s *state, at timeline.InstantTime, make func() *Snapshot) *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, have := range c.list {
		if have.state == s && have.at == at {
			c.list = append(slices.Delete(c.list, i, i+1), have)
			return have
		}
	}
	made := make()
	c.list = append(c.list, made)
	if len(c.list) > snapshotsKept {
		c.list = slices.Delete(c.list, 0, 1)
	}
	return made
}
