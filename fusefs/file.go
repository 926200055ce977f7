package fusefs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/hudifs/hudifs/internal/corrupt"
)

// location is where a slice's file was seen: the same file is in many snapshots.
type location struct {
	at    listingKey
	entry Entry
}

// snapshotFile is a file of snapshots. One inode for the same bytes wherever they appear, in other snapshots and in other renderings, as
// with hard links.
type snapshotFile struct {
	gofs.Inode
	readOnly
	loc  atomic.Pointer[location]
	mode atomic.Int32 // how it is read: decided once

	mu struct {
		sync.Mutex
		dirs []listedEntry
	}
}

type listedEntry struct {
	d *snapshotDir
	i int
}

// How an inode is read. The kernel answers EIO when one inode is opened in both ways at once, so the first open decides for good.
const (
	modeUndecided int32 = iota
	modePassthrough
	modePlain
)

var (
	_ gofs.NodeOpener    = (*snapshotFile)(nil)
	_ gofs.NodeGetattrer = (*snapshotFile)(nil)
)

// snapshotFile returns the inode of a slice's file and notes where it was seen.
func (f *FS) snapshotFile(ctx context.Context, parent *gofs.Inode, l location) *snapshotFile {
	n := f.inodes.node(ctx, parent, f, kindFile, l.entry.Key, syscall.S_IFREG, func(b nodeBase) knownNode {
		return &snapshotFile{readOnly: readOnly{b}}
	}).(*snapshotFile)
	n.seenAt(l)
	return n
}

// seenAt keeps the newest place: cleaning takes the oldest snapshots first. A size that is known stays known.
func (n *snapshotFile) seenAt(l location) {
	for {
		old := n.loc.Load()
		if old != nil {
			if !l.at.at.After(old.at.at) && (l.entry.Size < 0 || old.entry.Size >= 0) {
				return
			}
			if l.entry.Size < 0 {
				l.entry.Size = old.entry.Size
			}
		}
		if n.loc.CompareAndSwap(old, &l) {
			return
		}
	}
}

// sizeKnown reports whether the kernel knows the file already and its size was computed.
func (f *FS) sizeKnown(key string) bool {
	n, ok := f.inodes.lookup(kindFile, key).(*snapshotFile)
	if !ok {
		return false
	}
	l := n.loc.Load()
	return l != nil && l.entry.Size >= 0
}

func (n *snapshotFile) listedIn(d *snapshotDir, i int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.dirs = append(n.mu.dirs, listedEntry{d, i})
}

// OnForget tells the directories that their entry is no longer held.
func (n *snapshotFile) OnForget() {
	n.mu.Lock()
	dirs := n.mu.dirs
	n.mu.dirs = nil
	n.mu.Unlock()
	for _, e := range dirs {
		e.d.lost(e.i)
	}
	n.nodeBase.OnForget()
}

// stat returns the entry with its exact size.
func (n *snapshotFile) stat(ctx context.Context) (Entry, error) {
	l := n.loc.Load()
	if l.entry.Size >= 0 {
		return l.entry, nil
	}
	e, err := await(ctx, n.f, n.f.openWait(), func(ctx context.Context) (Entry, error) {
		s, err := n.f.snapshot(ctx, l.at.snapshotKey)
		if err != nil {
			return Entry{}, err
		}
		e, err := s.Stat(ctx, l.at.dir, l.entry)
		if err == nil && e.Size < 0 {
			err = errors.New("the file's size could not be computed")
		}
		if err == nil {
			n.seenAt(location{l.at, e})
		}
		return e, err
	}, nil)
	return e, err
}

func (n *snapshotFile) Getattr(ctx context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	e, err := n.stat(ctx)
	if err != nil {
		return n.f.fail("stat", n.Path(nil), err)
	}
	n.f.fileAttr(&out.Attr, e.Size, e.ModTime)
	out.SetTimeout(longTTL)
	return 0
}

// Access knows the mode without knowing the size.
func (n *snapshotFile) Access(ctx context.Context, mask uint32) syscall.Errno {
	const execute = 1
	if mask&execute != 0 {
		return syscall.EACCES
	}
	return n.readOnly.Access(ctx, mask)
}

func (n *snapshotFile) Open(ctx context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	if wantsWrite(flags) {
		return nil, 0, syscall.EROFS
	}
	n.f.counters.opens.Add(1)
	h, err := n.open(ctx)
	if err != nil {
		return nil, 0, n.f.fail("open", n.Path(nil), err)
	}
	if h.pass {
		n.f.counters.passthrough.Add(1)
		return h, fuse.FOPEN_NOFLUSH, 0
	}
	return h, fuse.FOPEN_NOFLUSH | fuse.FOPEN_KEEP_CACHE, 0
}

func (n *snapshotFile) open(ctx context.Context) (*fileHandle, error) {
	if _, err := n.stat(ctx); err != nil {
		return nil, err
	}
	h, err := await(ctx, n.f, n.f.openWait(), n.openAnywhere, (*fileHandle).close)
	if err != nil {
		return nil, err
	}
	if err := n.checkSize(h); err != nil {
		h.close()
		return nil, err
	}
	h.pass = n.decide(h.file)
	return h, nil
}

// maxSearched bounds the search for another snapshot that holds a file.
const maxSearched = 64

// openAnywhere opens the file where it was seen last. When that snapshot is gone (a restore takes the newest), another one may still
// hold it.
func (n *snapshotFile) openAnywhere(ctx context.Context) (*fileHandle, error) {
	l := n.loc.Load()
	h, err := n.openAt(ctx, *l)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return h, err
	}
	commits := n.f.state.Load().commits
	for i := len(commits) - 1; i >= 0 && i >= len(commits)-maxSearched; i-- {
		k := l.at
		k.at = commits[i].Instant
		if k.at == l.at.at {
			continue
		}
		list, e := n.f.listing(ctx, k)
		if e != nil {
			continue
		}
		j := list.find(l.entry.Name)
		if j < 0 || list.entries[j].Key != l.entry.Key {
			continue
		}
		other := location{k, list.entries[j]}
		if h, e := n.openAt(ctx, other); e == nil {
			other.entry.Size = l.entry.Size
			n.loc.Store(&other)
			return h, nil
		}
	}
	return nil, err
}

func (n *snapshotFile) openAt(ctx context.Context, l location) (*fileHandle, error) {
	s, err := n.f.snapshot(ctx, l.at.snapshotKey)
	if err != nil {
		return nil, err
	}
	file, done, err := s.OpenFile(ctx, l.at.dir, l.entry)
	if err != nil {
		return nil, err
	}
	return &fileHandle{file: file, fd: file.Fd(), done: done}, nil
}

// checkSize compares with the size that the kernel was told: passthrough reads the file and not the size.
func (n *snapshotFile) checkSize(h *fileHandle) error {
	st, err := h.file.Stat()
	if err != nil {
		return err
	}
	if want := n.loc.Load().entry.Size; st.Size() != want {
		return corrupt.At(h.file.Name(), -1, "it has %d bytes where the table's commit says %d; the file was changed or torn after its commit", st.Size(), want)
	}
	return nil
}

// decide says whether the kernel reads the file itself.
func (n *snapshotFile) decide(file *os.File) bool {
	if m := n.mode.Load(); m != modeUndecided {
		return m == modePassthrough
	}
	m := modePlain
	if n.f.backing.ok(file) {
		m = modePassthrough
	}
	n.mode.CompareAndSwap(modeUndecided, m)
	return n.mode.Load() == modePassthrough
}

// fileHandle is an open file of a snapshot.
type fileHandle struct {
	file *os.File
	fd   uintptr
	done func() error
	pass bool
}

var (
	_ gofs.FilePassthroughFder = (*fileHandle)(nil)
	_ gofs.FileReader          = (*fileHandle)(nil)
	_ gofs.FileReleaser        = (*fileHandle)(nil)
)

// PassthroughFd hands the file to the kernel, which then reads it without asking.
func (h *fileHandle) PassthroughFd() (int, bool) {
	if !h.pass {
		return 0, false
	}
	return int(h.fd), true
}

func (h *fileHandle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	return fuse.ReadResultFd(h.fd, off, len(dest)), 0
}

func (h *fileHandle) Release(context.Context) syscall.Errno {
	h.close()
	return 0
}

func (h *fileHandle) close() { h.done() } // only read: nothing to lose
