// Package fusefs shows a table as directories: names, inodes, errno.
//
// It knows FUSE and what programs do to files. It sees the table through Source and drops through Ingester, both declared here; it
// must never know how a commit is written.
//
// Nodes hold a name and what it takes to find an immutable snapshot; listings and open snapshots are kept in bounded caches. What
// the kernel may keep: things inside a snapshot for an hour, names that can go away (snapshots, latest) for an hour and until a
// notification says otherwise, everything else not at all. Only notifier sends notifications.
//
// No request waits without bound: work that others may share (a merge, a listing, a commit) runs detached, and requests wait for
// it with a limit (await). Errors become numbers in errno.go and nowhere else, and are logged there with path and cause.
package fusefs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/hudifs/hudifs/timeline"
)

// Config is what a mount is made of. Only Source is needed.
type Config struct {
	Source Source
	// Views are further renderings: directory name to view. "snapshots" is always there.
	Views map[string]View
	// Ingest takes drops as upserts; nil shows an ingest directory that refuses.
	Ingest Ingester
	// Operations take drops for other write operations, by directory name.
	Operations map[string]Ingester
	// Control are the generated files of .hudifs.
	Control []ControlFile
	// Reload makes Source current, so that a commit of our own is seen at once; nil: it always is.
	Reload func(ctx context.Context) error
	// Changed says that Source has changed (another writer's commit was seen).
	Changed <-chan struct{}

	ReadOnly bool // every change gives EROFS, also below ingest
	// UID and GID own what is shown; zero values mean the daemon's own.
	UID, GID uint32
	// IngestMode are the permission bits of the ingest directories; 0 means 0755.
	IngestMode uint32
	// SpaceDir is a directory on the disk that holds staged drops: its free space is what df shows.
	SpaceDir string
	// TableSize is the size of the table's files in bytes, for df; nil: unknown.
	TableSize func() int64

	OpenTimeout time.Duration // how long stat and open wait for a file to be made; 0 means 30s
	SealTimeout time.Duration // how long close, fsync and rename wait for a commit; 0 means 5m
	Log         *slog.Logger  // nil: discard
}

// Defaults of Config.
const (
	defaultOpenTimeout = 30 * time.Second
	defaultSealTimeout = 5 * time.Minute
	refreshTimeout     = 2 * time.Second // how long close waits for its commit to show
)

// counters are shown in the metrics.
type counters struct {
	opens, passthrough, lookups, failures, notices, seals, abandons, refreshes atomic.Int64
}

// tableState is what the table looked like at the last refresh; immutable.
type tableState struct {
	commits []Commit
	index   map[timeline.InstantTime]int
}

func (s *tableState) find(at timeline.InstantTime) (Commit, bool) {
	i, ok := s.index[at]
	if !ok {
		return Commit{}, false
	}
	return s.commits[i], true
}

func (s *tableState) latest() (Commit, bool) {
	if len(s.commits) == 0 {
		return Commit{}, false
	}
	return s.commits[len(s.commits)-1], true
}

// FS is one mount of one table.
type FS struct {
	cfg      Config
	log      *slog.Logger
	failures failureLog
	counters counters
	procs    procs
	inodes   *inodeTable
	notify   *notifier
	backing  backing
	root     *rootDir
	views    []*viewDir
	started  time.Time

	state     atomic.Pointer[tableState]
	snapshots cache[snapshotKey, Snapshot]
	listings  cache[listingKey, *listing]
	refreshes chan chan struct{}

	life     context.Context // ends when the mount has stopped; detached work lives in it
	end      context.CancelFunc
	stopping chan struct{} // closed when requests must no longer wait
	stopOnce sync.Once
	work     sync.WaitGroup // detached work
	sealing  atomic.Int64   // requests that wait for a commit

	server     *fuse.Server
	mountpoint string
}

// Bounds of the caches.
const (
	maxSnapshots = 32      // open snapshots
	maxEntries   = 500_000 // names in cached listings, about 100 bytes each
)

// New prepares a mount; nothing runs before Mount and Run.
func New(cfg Config) (*FS, error) {
	if cfg.Source == nil {
		return nil, fmt.Errorf("mount configuration: no source")
	}
	if cfg.OpenTimeout == 0 {
		cfg.OpenTimeout = defaultOpenTimeout
	}
	if cfg.SealTimeout == 0 {
		cfg.SealTimeout = defaultSealTimeout
	}
	if cfg.IngestMode == 0 {
		cfg.IngestMode = 0o755
	}
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &FS{
		cfg:       cfg,
		log:       log,
		failures:  failureLog{log: log, now: time.Now},
		procs:     procs{root: "/proc"},
		inodes:    newInodeTable(cfg.Source.URL()),
		notify:    newNotifier(),
		started:   time.Now(),
		refreshes: make(chan chan struct{}, 64),
		stopping:  make(chan struct{}),
	}
	f.snapshots.max = maxSnapshots
	f.listings.max = maxEntries
	f.listings.cost = func(l *listing) int64 { return int64(len(l.entries)) + 1 }
	f.life, f.end = context.WithCancel(context.Background())
	f.state.Store(&tableState{})
	f.root = newRoot(f)
	return f, nil
}

// serve sends notifications and follows the table until ctx ends.
func (f *FS) serve(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { f.notify.run(ctx, f) })
	wg.Go(func() { f.follow(ctx) })
	wg.Wait()
}

// follow answers requests for a refresh, many at once where they pile up, and news from other writers.
func (f *FS) follow(ctx context.Context) {
	changed := f.cfg.Changed
	for {
		var waiters []chan struct{}
		select {
		case <-ctx.Done():
			return
		case _, ok := <-changed:
			if !ok {
				changed = nil
				continue
			}
		case w := <-f.refreshes:
			waiters = append(waiters, w)
		}
		for more := true; more; {
			select {
			case w := <-f.refreshes:
				waiters = append(waiters, w)
			default:
				more = false
			}
		}
		if err := f.reload(ctx, len(waiters) > 0); err != nil && ctx.Err() == nil {
			f.log.Error("reading the timeline; the mount shows what it knew before", "table", f.cfg.Source.URL(), "err", err)
		}
		for _, w := range waiters {
			close(w)
		}
	}
}

// Refresh makes the mount show the table as it is now and returns when the kernel knows. It must not be called by the goroutine of Run.
func (f *FS) Refresh(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case f.refreshes <- done:
	case <-ctx.Done():
		return ctx.Err()
	case <-f.stopping:
		return errStopping
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-f.stopping:
		return errStopping
	}
}

// reload reads the commits and tells the kernel what has changed.
func (f *FS) reload(ctx context.Context, again bool) error {
	f.counters.refreshes.Add(1)
	if again && f.cfg.Reload != nil {
		if err := f.cfg.Reload(ctx); err != nil {
			return err
		}
	}
	commits, err := f.cfg.Source.Commits(ctx)
	if err != nil {
		return err
	}
	old := f.state.Load()
	now := newState(commits)
	f.state.Store(now)
	for _, c := range old.commits {
		if _, ok := now.index[c.Instant]; !ok {
			f.removed(ctx, c)
		}
	}
	before, hadBefore := old.latest()
	after, hasAfter := now.latest()
	if hadBefore != hasAfter || before.Instant != after.Instant {
		f.notify.entry(ctx, f.root.EmbeddedInode(), nameLatest)
		for _, v := range f.views {
			if v.inner && v.live() {
				f.notify.entry(ctx, v.EmbeddedInode(), nameLatest)
			}
		}
	}
	return f.notify.flush(ctx)
}

// removed forgets a commit that is no longer there: cleaned, rolled back or restored away.
func (f *FS) removed(ctx context.Context, c Commit) {
	for _, v := range f.views {
		f.snapshots.drop(snapshotKey{v.view, c.Instant})
		if v.live() {
			f.notify.entry(ctx, v.EmbeddedInode(), string(c.Instant))
		}
	}
	f.listings.dropIf(func(k listingKey) bool { return k.at == c.Instant })
}

// stop lets requests that wait go with an error.
func (f *FS) stop() { f.stopOnce.Do(func() { close(f.stopping) }) }
