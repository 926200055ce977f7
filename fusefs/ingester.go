package fusefs

import (
	"context"
	"io/fs"
	"os"
	"time"
)

// DropState is how far a drop has come. The states and the moves between them belong to the ingester; fusefs only reports what
// processes do to the file.
//
//	writing ──Seal──▶ sealed ──▶ committing ──▶ committed        (its receipt stays for a grace period)
//	   │                 │            └────────▶ rejected        (bytes and reason in .hudifs/rejected)
//	   └──Abandon──▶ abandoned ──Open for writing──▶ writing
type DropState uint8

// The states.
const (
	DropWriting DropState = iota
	DropSealed
	DropCommitting
	DropCommitted
	DropRejected
	DropAbandoned
)

func (s DropState) String() string {
	switch s {
	case DropWriting:
		return "writing"
	case DropSealed:
		return "sealed"
	case DropCommitting:
		return "committing"
	case DropCommitted:
		return "committed"
	case DropRejected:
		return "rejected"
	case DropAbandoned:
		return "abandoned"
	}
	return "unknown"
}

// DropInfo describes one name in an ingest directory.
type DropInfo struct {
	// ID identifies the drop, or the directory, for ever: it survives renames and restarts and is never used again. A name that is
	// written anew gets a new ID. It becomes the inode number; zero is not allowed.
	ID    uint64
	Name  string // last element of the path
	Dir   bool
	State DropState
	Size  int64 // bytes; for a drop that is being written its spool file's size now
	// ModTime, Mode, UID and GID are what the last SetAttr said, else the spool's times, the creator and 0644 (0755 for directories).
	ModTime time.Time
	Mode    fs.FileMode // permission bits only
	UID     uint32
	GID     uint32
}

// Writer says which process makes a change. The commit's extra metadata may name it.
type Writer struct {
	UID uint32
	GID uint32
	PID uint32 // process, not thread; 0 when unknown
}

// CreateOptions rules Ingester.Create.
type CreateOptions struct {
	Mode   fs.FileMode // permission bits
	Writer Writer
}

// OpenOptions rules Ingester.Open.
type OpenOptions struct {
	Write    bool // O_WRONLY or O_RDWR
	Truncate bool // O_TRUNC; implies Write
	Append   bool // O_APPEND; implies Write
	Writer   Writer
}

// AttrChange is what chmod, chown and utimens set; nil fields stay as they are.
type AttrChange struct {
	Mode    *fs.FileMode // permission bits
	UID     *uint32
	GID     *uint32
	ModTime *time.Time
}

// RenameMode says what Rename does when the new name is taken.
type RenameMode uint8

// The modes of Rename.
const (
	RenameReplace   RenameMode = iota // the old drop of that name gives way, as rename(2) does
	RenameNoReplace                   // fs.ErrExist
)

// Ingester is one ingest directory: a tree of names, each a drop or a directory. There is one per write operation (ingest/ is
// upsert; operations/<name>/ the others). It owns the names, the spool files and the states; fusefs owns inodes, handles and the
// question when a file has been closed for the last time.
//
// Paths are relative to the ingest directory, slash-separated, "" being the directory itself; elements are arbitrary bytes but NUL
// and slash. All methods are safe for concurrent use, survive cancelled contexts (a cancelled wait does not undo what was sealed), and
// report missing names as fs.ErrNotExist, taken names as fs.ErrExist, and other refusals as errors with a Refusal method.
//
// Names that never commit (dotfiles, *.tmp, _SUCCESS, anything below such a directory …) are ordinary staged files: they can be
// written, read, renamed and removed, and sealing them does nothing. Which names these are is the ingester's business.
type Ingester interface {
	// Stat describes the drop or directory at path. "" is the ingest directory itself.
	Stat(ctx context.Context, path string) (DropInfo, error)

	// StatID describes a drop by its ID, whatever its name has become. fs.ErrNotExist once the drop is gone (withdrawn, replaced,
	// or its receipt expired) and no handle holds it.
	StatID(ctx context.Context, id uint64) (DropInfo, error)

	// List returns the names in a directory, sorted: staged drops, and receipts until their grace period ends.
	List(ctx context.Context, dir string) ([]DropInfo, error)

	// Create makes a new drop in state writing and opens it for writing. The kernel has looked the name up before, so an existing
	// name is a race: fs.ErrExist.
	Create(ctx context.Context, path string, o CreateOptions) (Drop, error)

	// Open opens the drop with this ID.
	//
	// For reading it always succeeds while the drop exists: a writer may read what it wrote, a receipt shows the dropped bytes.
	//
	// For writing, in state writing or abandoned: the same spool goes on (Truncate empties it) and the state becomes writing.
	//
	// For writing, in any later state: without Truncate or Append a refusal RefusedSealed. With Truncate a new, empty drop takes
	// over the name; with Append a new drop takes it over whose spool begins with the old bytes and whose rows are only those
	// written behind them (the format's header line is taken from the old bytes; formats without rows per line: RefusedSealed).
	// The returned Drop then has another ID. fusefs closes it and answers ESTALE, upon which the kernel looks the name up again and
	// comes back with the new ID: opening it a second time, now in state writing, must give the same drop.
	// The old drop goes on to be committed from its own spool, and handles on it stay valid.
	Open(ctx context.Context, id uint64, o OpenOptions) (Drop, error)

	// Mkdir makes a directory.
	Mkdir(ctx context.Context, path string, o CreateOptions) (DropInfo, error)

	// Remove unlinks a drop: one that is being written, abandoned or sealed but not begun is withdrawn, a receipt disappears; one
	// that is committing is refused with RefusedBusy. Handles stay valid.
	Remove(ctx context.Context, path string) error

	// RemoveDir removes an empty directory; RefusedNotEmpty otherwise.
	RemoveDir(ctx context.Context, path string) error

	// Rename moves a drop or a directory within this ingest directory. From a name that never commits to one that does, it seals
	// (a directory with all drops below it as one commit) and returns like Seal; when it returns an error the old name stays as it
	// was. Renaming a sealed or committed drop only changes the receipt's name.
	Rename(ctx context.Context, from, to string, mode RenameMode) error

	// SetAttr stores attributes. It works in every state, also on receipts: tools set times and modes after close.
	SetAttr(ctx context.Context, id uint64, c AttrChange) error

	// Rejected returns the directory of rejected drops of this ingest directory. Several Ingesters may return the same one.
	Rejected() Rejected
}

// Drop is one open handle on a drop: one open(2), possibly inherited by many descriptors.
type Drop interface {
	// Info describes the drop now.
	Info() DropInfo

	// File is the spool file, opened so that the handle's reads (and writes, if it was opened for writing) work on it. It belongs
	// to the handle: Close closes it. Its descriptor may be handed to the kernel, which then reads and writes it without asking.
	File() *os.File

	// Unlimited reports that no limit has to be checked at each write (the disk's own ENOSPC aside), so that the kernel may
	// write the spool directly. The answer is the same for all handles of one drop.
	Unlimited() bool

	// Reserve is asked before each write that would end at byte end (exclusive), and before the file is extended, when Unlimited
	// is false. It may delay the caller for a bounded time (backpressure), and refuses with RefusedNoSpace or RefusedTooBig.
	Reserve(ctx context.Context, end int64) error

	// Sync makes the bytes written so far durable on local disk. Once the drop is sealed it waits as Seal does.
	Sync(ctx context.Context) error

	// Seal says that the file is complete. It returns nil once the drop is acknowledged: by default when its rows are in a completed
	// commit, in stage mode when the bytes and the fact of sealing are durable. It returns an error with a Refusal method
	// (RefusedRejected, …) or a plain error when the rows are not committed. Calling it again is the same as waiting for the first call.
	// If the spool's bytes changed since the first call (a descriptor outlived the close that sealed), it is a new drop of the whole
	// file under the same name. On names that never commit and on empty files Seal returns nil at once and changes nothing.
	//
	// When ctx ends first, Seal returns ctx.Err() and the commit goes on.
	Seal(ctx context.Context) error

	// Abandon says that the writer died: the drop must not be committed, its bytes stay under its name and it shows in the status
	// with this reason. It does nothing to a drop that is sealed already.
	Abandon(ctx context.Context, reason string) error

	// Close ends the handle. It never commits.
	Close() error
}

// Rejected is the directory of drops that were refused: per drop its bytes, `<drop>.reason.json`, and perhaps `<drop>.bad`.
type Rejected interface {
	// List returns the files, sorted by name.
	List(ctx context.Context) ([]RejectedFile, error)
	// Open opens one for reading.
	Open(ctx context.Context, name string) (*os.File, error)
	// Acknowledge removes one. Removing a drop's bytes removes its companions as well.
	Acknowledge(ctx context.Context, name string) error
}

// RejectedFile is one file in the directory of rejected drops.
type RejectedFile struct {
	ID      uint64 // stable as DropInfo.ID is, and different for each file
	Name    string
	Size    int64 // bytes
	ModTime time.Time
}

// Refusal is why an ingester does not do what a process asked. Errors carry it by a method `Refusal() string`, so that an ingester
// need not import this package.
type Refusal = string

// The refusals, with the error number a process sees.
const (
	RefusedSealed   Refusal = "sealed"    // EPERM: the rows are on their way or committed; write the file anew instead
	RefusedBusy     Refusal = "busy"      // EBUSY: committing right now
	RefusedNotEmpty Refusal = "not empty" // ENOTEMPTY
	RefusedNoSpace  Refusal = "no space"  // ENOSPC: staging has reached its cap
	RefusedTooBig   Refusal = "too big"   // EFBIG: larger than a drop may be
	RefusedRejected Refusal = "rejected"  // EINVAL: the bytes are no rows of this table
	RefusedReadOnly Refusal = "read-only" // EROFS: this mount takes no drops
	RefusedStorage  Refusal = "storage"   // EIO: the commit failed for no fault of the drop; it stays queued or is kept
	RefusedInvalid  Refusal = "invalid"   // EINVAL: the request makes no sense (a directory moved into itself, a name with NUL)
	RefusedIsDir    Refusal = "is a dir"  // EISDIR
	RefusedNotDir   Refusal = "not a dir" // ENOTDIR
)
