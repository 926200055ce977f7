// Package snapshot is the table as it stood after one commit: which files held its rows, shown as directories, each file as a local one. It
// only reads.
//
// It knows the timeline and the table's files. It must never know how a table changes, nor names of a mount.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/hudifs/hudifs/internal/filecache"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
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

// Materializer makes one file of a slice that can't be shown as it lies.
type Materializer interface {
	// Open returns the file's descriptor and its size in bytes.
	Open(ctx context.Context, s *Snapshot, sl fsview.FileSlice) (*os.File, int64, error)
	// Size is the size in bytes that Open would give; it may have to make the file.
	Size(ctx context.Context, s *Snapshot, sl fsview.FileSlice) (int64, error)
}

// Table is an open table. It is safe for concurrent use.
type Table struct{}

// OpenTable reads the table's properties and timeline at the store's base path. A missing table matches fs.ErrNotExist.
func OpenTable(ctx context.Context, st storage.Store, o Options) (*Table, error) {
	panic("being written")
}

// Config is the table's configuration as of the last Reload.
func (t *Table) Config() *tableconfig.Config { panic("being written") }

// Store is the store of the table's base path.
func (t *Table) Store() storage.Store { panic("being written") }

// Active writes and reads the table's instants.
func (t *Table) Active() *timeline.Active { panic("being written") }

// Timeline is the timeline as of the last Reload.
func (t *Table) Timeline() *timeline.Timeline { panic("being written") }

// Reload reads properties and timeline again; what Commits, ResolveTime and At with a nil timeline answer follows. Snapshots that are open stay as they are.
func (t *Table) Reload(ctx context.Context) (*timeline.Timeline, error) { panic("being written") }

// Use makes tl, which the caller has loaded (a watcher does), the table's timeline, as Reload does.
func (t *Table) Use(ctx context.Context, tl *timeline.Timeline) error { panic("being written") }

// Commit is one completed write whose state of the table can be read.
type Commit struct {
	timeline.Instant
	Operation string // UPSERT, COMPACT …, as the commit's metadata says; "" where it says nothing
}

// Commits returns the commits whose snapshots are whole, oldest first: by completion time where the timeline has them in names, else by instant.
// The slice is shared.
func (t *Table) Commits(ctx context.Context) ([]Commit, error) { panic("being written") }

// Latest is the last of Commits; ok is false for a table without commits.
func (t *Table) Latest(ctx context.Context) (c Commit, ok bool, err error) { panic("being written") }

// At returns the snapshot of the commit requested at at, in the timeline tl (nil: the current one). An unknown commit, or one whose files are not
// all there any more, matches ErrNoSnapshot.
func (t *Table) At(ctx context.Context, tl *timeline.Timeline, at timeline.InstantTime) (*Snapshot, error) {
	panic("being written")
}

// Now returns the state with all completed commits of tl (nil: the current one), also of a table that has none: what writers and services begin from.
func (t *Table) Now(ctx context.Context, tl *timeline.Timeline) (*Snapshot, error) {
	panic("being written")
}

// ResolveTime returns the commit that a time given by a user means: the last one requested at or before it. spec is an instant, a date, a date and
// time (with or without zone; without: the table's), 10 or 13 digits of Unix time, or -<duration> before now. ErrNoSnapshot where no commit is that old.
func (t *Table) ResolveTime(ctx context.Context, spec string, now time.Time) (timeline.InstantTime, error) {
	panic("being written")
}

// Rendering is how a snapshot's rows are shown.
type Rendering uint8

// The renderings.
const (
	Parquet   Rendering = iota // current rows, base files as they are where possible
	Optimized                  // base files without their logs
	CSV
	JSONL
)

// Snapshot is the table just after one commit. It is immutable and safe for concurrent use.
type Snapshot struct{}

// Instant is the commit's requested time; "" for the state of a table without commits.
func (s *Snapshot) Instant() timeline.InstantTime { panic("being written") }

// Commit is the commit.
func (s *Snapshot) Commit() Commit { panic("being written") }

// Table is the table.
func (s *Snapshot) Table() *Table { panic("being written") }

// Timeline is the timeline that the snapshot was taken from.
func (s *Snapshot) Timeline() *timeline.Timeline { panic("being written") }

// Committed reports whether the write requested at t belongs to this state, and its completion time. Log blocks of other instants are not to be read.
func (s *Snapshot) Committed(t timeline.InstantTime) (timeline.InstantTime, bool) {
	panic("being written")
}

// Schema is the table's schema at this commit, without Hudi's meta columns.
func (s *Snapshot) Schema(ctx context.Context) (*schema.Schema, error) { panic("being written") }

// FileSchema is the schema of the rows that the snapshot's files show: Schema, with the meta columns where the table fills them.
func (s *Snapshot) FileSchema(ctx context.Context) (*schema.Schema, error) { panic("being written") }

// Partitions returns the partitions with rows or files at this commit, sorted; "" is that of a non-partitioned table.
func (s *Snapshot) Partitions(ctx context.Context) ([]string, error) { panic("being written") }

// Slices returns the slices of a partition that hold its current rows.
func (s *Snapshot) Slices(ctx context.Context, partition string) ([]fsview.FileSlice, error) {
	panic("being written")
}

// View gives the other cuts of the same state: slices for writers, all slices of all groups for services.
func (s *Snapshot) View() *fsview.View { panic("being written") }

// As returns the same state in another rendering.
func (s *Snapshot) As(r Rendering) *Snapshot { panic("being written") }

// Entry is one name in a snapshot's directory.
type Entry struct {
	Name    string
	Dir     bool
	Size    int64 // bytes; -1: not known before Stat
	ModTime time.Time
	Key     string // identity of the bytes: the same in every snapshot and after a restart exactly while the bytes are the same; "" for directories
}

// Entries lists the directory dir ("" is the top), sorted by name: partition levels as directories, one file per slice.
func (s *Snapshot) Entries(ctx context.Context, dir string) ([]Entry, error) { panic("being written") }

// Lookup returns the entry at a path below the snapshot. A missing one matches fs.ErrNotExist.
func (s *Snapshot) Lookup(ctx context.Context, path string) (Entry, error) { panic("being written") }

// Stat returns e with its exact size. A merged or rendered file may have to be made for that.
func (s *Snapshot) Stat(ctx context.Context, e Entry) (Entry, error) { panic("being written") }

// OpenFile opens the entry's bytes as a local file.
func (s *Snapshot) OpenFile(ctx context.Context, e Entry) (*File, error) { panic("being written") }

// File is an open file of a snapshot. Close it.
type File struct {
	*os.File
	Size    int64 // bytes
	ModTime time.Time
	Direct  bool // the table's own file, not one of the cache

	release func() error
}
