package fusefs

import (
	"context"
	"os"
	"time"

	"github.com/hudifs/hudifs/timeline"
)

// View names a rendering of snapshots: "" for the table's own files, others as the Source knows them.
type View string

// Commit is one completed write whose snapshot is whole.
type Commit struct {
	Instant   timeline.InstantTime
	Completed time.Time // shown as the snapshot's modification time
}

// Entry is one name in a directory of a snapshot.
type Entry struct {
	Name    string
	Dir     bool
	Size    int64 // bytes; -1: not known before Snapshot.Stat
	ModTime time.Time
	// Key is the identity of the file's bytes: the same in every snapshot and after a restart exactly while the bytes are the same.
	// It decides the inode number. Empty for directories.
	Key string
	// Ref is the source's own and comes back to it with the entry.
	Ref any
}

// Snapshot is the table just after one commit, immutable.
type Snapshot interface {
	// Entries lists a directory ("" is the top), sorted by name.
	Entries(ctx context.Context, dir string) ([]Entry, error)
	// Stat returns e, an entry of dir, with its exact size. It may have to make the file.
	Stat(ctx context.Context, dir string, e Entry) (Entry, error)
	// OpenFile opens the bytes of e, an entry of dir, as a local file of exactly e.Size bytes. done closes it.
	OpenFile(ctx context.Context, dir string, e Entry) (f *os.File, done func() error, err error)
}

// TimelineFile is one instant as the timeline directory shows it.
type TimelineFile struct {
	Name    string // <instant>.<action>.<state>.json
	ModTime time.Time
	Fixed   bool // its text can't change any more: the instant is complete
}

// Source is the table as the mount needs it. Missing things match fs.ErrNotExist; damaged bytes are corrupt errors.
type Source interface {
	// Name is the table's name for people.
	Name() string
	// URL is the base path without credentials.
	URL() string
	// Commits returns the commits whose snapshots are whole, oldest first, as of the last reload.
	Commits(ctx context.Context) ([]Commit, error)
	// Open returns the snapshot of a commit.
	Open(ctx context.Context, at timeline.InstantTime, v View) (Snapshot, error)
	// ResolveTime returns the commit that a time given by a user means: an instant, a date, a date and time, or -2h.
	ResolveTime(ctx context.Context, spec string, now time.Time) (timeline.InstantTime, error)
	// TimelineFiles lists the instants, sorted by name.
	TimelineFiles(ctx context.Context) ([]TimelineFile, error)
	// ReadTimeline returns an instant's body as JSON text.
	ReadTimeline(ctx context.Context, name string) ([]byte, error)
}

// ControlFile is a generated file in .hudifs.
type ControlFile struct {
	Name string
	// Content makes the text anew at each open.
	Content func(ctx context.Context) ([]byte, error)
	// Local, when set, names a local file that is shown instead: a log that grows while it is read. A missing one is empty.
	Local string
}
