package fusefs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// dropNode is a drop as a file: one inode, one drop, one spool file. A name that is written anew gets a new inode.
type dropNode struct {
	fs.Inode
	readOnly
	tree *ingestTree
	id   uint64
	mode atomic.Int32 // passthrough or not, decided at the first open
	gone atomic.Bool  // has lost its name

	mu struct {
		sync.Mutex
		writers map[*dropHandle]struct{}
		// baseline is what the spool looked like when it last counted as done: sealed, or opened by its first writer.
		baseline fingerprint
		edits    int64  // changes that came through us
		killed   string // a writer was killed: how
	}
}

var (
	_ fs.NodeOpener    = (*dropNode)(nil)
	_ fs.NodeGetattrer = (*dropNode)(nil)
	_ fs.NodeSetattrer = (*dropNode)(nil)
	_ fs.NodeFsyncer   = (*dropNode)(nil)
)

// fingerprint tells whether a spool file has changed. The kernel may write it without telling us.
type fingerprint struct {
	size         int64
	mtime, ctime syscall.Timespec
	edits        int64
}

// print takes the fingerprint of the spool as a handle sees it. It needs the lock.
func (n *dropNode) print(h *dropHandle) fingerprint {
	var st syscall.Stat_t
	if err := syscall.Fstat(h.fd, &st); err != nil {
		return fingerprint{size: -1}
	}
	return fingerprint{st.Size, st.Mtim, st.Ctim, n.mu.edits}
}

func (n *dropNode) at() string { return n.Path(&n.tree.top.Inode) }

func (n *dropNode) fill(a *fuse.Attr, i DropInfo) {
	n.f.fileAttr(a, i.Size, i.ModTime)
	a.Mode = syscall.S_IFREG | uint32(i.Mode.Perm())
	a.Uid, a.Gid = i.UID, i.GID
	a.Ino = n.ino // the answer to a change of attributes must say it, too: /proc shows what the kernel was told last
	if n.gone.Load() {
		a.Nlink = 0
	}
}

func (n *dropNode) Getattr(ctx context.Context, h fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	i, err := await(ctx, n.f, n.f.openWait(), func(ctx context.Context) (DropInfo, error) {
		return n.tree.ing.StatID(ctx, n.id)
	}, nil)
	if dh, ok := h.(*dropHandle); ok && errors.Is(err, iofs.ErrNotExist) {
		i, err = dh.drop.Info(), nil // unlinked and open
	}
	if err != nil {
		return n.tree.fail("stat", n.at(), err)
	}
	n.fill(&out.Attr, i)
	return 0
}

func (n *dropNode) Access(_ context.Context, mask uint32) syscall.Errno {
	if mask&accessWrite != 0 && n.tree.closed() {
		return syscall.EROFS
	}
	return 0
}

// Open opens the drop. When a sealed one is written anew, the ingester has put a new drop under the name: ESTALE makes the kernel look
// the name up again and open that.
func (n *dropNode) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	write := flags&syscall.O_ACCMODE != syscall.O_RDONLY
	trunc := flags&syscall.O_TRUNC != 0
	if (write || trunc) && n.tree.closed() {
		return nil, 0, syscall.EROFS
	}
	var w Writer // who reads does not matter
	if write || trunc {
		w = callerWriter(ctx, &n.f.procs)
	}
	o := OpenOptions{Write: write || trunc, Truncate: trunc, Append: write && flags&syscall.O_APPEND != 0, Writer: w}
	drop, e := n.openDrop(ctx, o)
	if e != 0 {
		return nil, 0, e
	}
	if trunc {
		n.edited()
	}
	h, fuseFlags := n.handle(drop, flags, w)
	return h, fuseFlags, 0
}

func (n *dropNode) openDrop(ctx context.Context, o OpenOptions) (Drop, syscall.Errno) {
	drop, err := await(ctx, n.f, n.f.openWait(), func(ctx context.Context) (Drop, error) {
		return n.tree.ing.Open(ctx, n.id, o)
	}, closeDrop)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, syscall.ESTALE // the name may mean another drop by now
	}
	if err != nil {
		return nil, n.tree.fail("open", n.at(), err)
	}
	if drop.Info().ID != n.id {
		drop.Close()
		return nil, syscall.ESTALE
	}
	return drop, 0
}

// handle makes the handle of an opened drop and says how the kernel is to treat it.
func (n *dropNode) handle(drop Drop, flags uint32, w Writer) (*dropHandle, uint32) {
	file := drop.File()
	h := &dropHandle{n: n, drop: drop, file: file, fd: int(file.Fd()), opener: w.PID,
		write: flags&syscall.O_ACCMODE != syscall.O_RDONLY, append: flags&syscall.O_APPEND != 0}
	h.pass = n.decide(drop)
	var out uint32
	if h.write {
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.mu.writers) == 0 {
			n.mu.writers = map[*dropHandle]struct{}{}
			n.mu.baseline = n.print(h)
			n.mu.killed = ""
		}
		n.mu.writers[h] = struct{}{}
	} else {
		out = fuse.FOPEN_NOFLUSH
	}
	return h, out
}

// decide says whether the kernel reads and writes the spool itself: where no limit has to be checked and the disk allows it.
func (n *dropNode) decide(drop Drop) bool {
	if m := n.mode.Load(); m != modeUndecided {
		return m == modePassthrough
	}
	m := modePlain
	if drop.Unlimited() && n.f.backing.ok(drop.File()) {
		m = modePassthrough
	}
	n.mode.CompareAndSwap(modeUndecided, m)
	return n.mode.Load() == modePassthrough
}

func (n *dropNode) edited() {
	n.mu.Lock()
	n.mu.edits++
	n.mu.Unlock()
}

func (n *dropNode) Setattr(ctx context.Context, h fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if n.tree.closed() {
		return syscall.EROFS
	}
	if size, ok := in.GetSize(); ok {
		if e := n.resize(ctx, h, int64(size)); e != 0 {
			return e
		}
	}
	if e := n.tree.setAttr(ctx, n.id, n.at(), in); e != 0 {
		return e
	}
	return n.Getattr(ctx, h, out)
}

// resize is ftruncate on a handle, or truncate by name.
func (n *dropNode) resize(ctx context.Context, fh fs.FileHandle, size int64) syscall.Errno {
	if h, ok := fh.(*dropHandle); ok && h.write {
		return n.truncate(ctx, h.drop, size)
	}
	drop, e := n.openDrop(ctx, OpenOptions{Write: true, Truncate: size == 0, Writer: callerWriter(ctx, &n.f.procs)})
	if e != 0 {
		return e
	}
	defer drop.Close()
	return n.truncate(ctx, drop, size)
}

func (n *dropNode) truncate(ctx context.Context, drop Drop, size int64) syscall.Errno {
	if e := n.reserve(ctx, drop, size); e != 0 {
		return e
	}
	n.edited()
	if err := drop.File().Truncate(size); err != nil {
		return n.tree.fail("truncate", n.at(), err)
	}
	return 0
}

// reserve asks the ingester whether the spool may become this long.
func (n *dropNode) reserve(ctx context.Context, drop Drop, end int64) syscall.Errno {
	if drop.Unlimited() {
		return 0
	}
	_, err := await(ctx, n.f, n.f.openWait(), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, drop.Reserve(ctx, end)
	}, nil)
	if err != nil {
		return n.tree.fail("write", n.at(), err)
	}
	return 0
}

func (n *dropNode) Setxattr(context.Context, string, []byte, uint32) syscall.Errno {
	return notSupported(n.tree)
}

func (n *dropNode) Removexattr(context.Context, string) syscall.Errno { return notSupported(n.tree) }

// Fsync makes the bytes durable; once the drop is sealed it answers as close does.
func (n *dropNode) Fsync(ctx context.Context, fh fs.FileHandle, _ uint32) syscall.Errno {
	h, ok := fh.(*dropHandle)
	if !ok {
		return 0
	}
	err := h.waitSealed(ctx, h.drop.Sync)
	if err != nil {
		return n.tree.fail("fsync", n.at(), err)
	}
	return 0
}

// Allocate extends the spool or reserves room behind its end; other modes are not supported and the C library does without.
func (n *dropNode) Allocate(ctx context.Context, fh fs.FileHandle, off, size uint64, mode uint32) syscall.Errno {
	h, ok := fh.(*dropHandle)
	if !ok || !h.write {
		return syscall.EBADF
	}
	const keepSize = 1 // FALLOC_FL_KEEP_SIZE
	if mode&^keepSize != 0 {
		return syscall.ENOTSUP
	}
	if e := n.reserve(ctx, h.drop, int64(off+size)); e != 0 {
		return e
	}
	n.edited()
	if err := syscall.Fallocate(h.fd, mode, int64(off), int64(size)); err != nil {
		if errors.Is(err, syscall.ENOTSUP) {
			return syscall.ENOTSUP
		}
		return n.tree.fail("fallocate", n.at(), err)
	}
	return 0
}

// dropHandle is one open(2) of a drop, inherited by however many descriptors.
type dropHandle struct {
	n      *dropNode
	drop   Drop
	file   *os.File
	fd     int
	opener uint32 // process
	write  bool
	append bool
	pass   bool
	busy   sync.WaitGroup // calls on the drop that outlive their request
}

var (
	_ fs.FilePassthroughFder = (*dropHandle)(nil)
	_ fs.FileReader          = (*dropHandle)(nil)
	_ fs.FileWriter          = (*dropHandle)(nil)
	_ fs.FileFlusher         = (*dropHandle)(nil)
	_ fs.FileReleaser        = (*dropHandle)(nil)
)

// PassthroughFd hands the spool to the kernel. FLUSH, FSYNC and RELEASE still come to us.
func (h *dropHandle) PassthroughFd() (int, bool) { return h.fd, h.pass }

func (h *dropHandle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n, err := h.file.ReadAt(dest, off)
	if n == 0 && err != nil && !isEOF(err) {
		return nil, h.n.tree.fail("read", h.n.at(), err)
	}
	return fuse.ReadResultData(dest[:n]), 0
}

func (h *dropHandle) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	if !h.write {
		return 0, syscall.EBADF
	}
	n := h.n
	if h.append {
		// The kernel's idea of the end may be old where several processes append.
		st, err := h.file.Stat()
		if err != nil {
			return 0, n.tree.fail("write", n.at(), err)
		}
		off = st.Size()
	}
	if e := n.reserve(ctx, h.drop, off+int64(len(data))); e != 0 {
		return 0, e
	}
	n.edited()
	w, err := h.file.WriteAt(data, off)
	if err != nil && w == 0 {
		return 0, n.tree.fail("write", n.at(), err)
	}
	return uint32(w), 0
}

// killReason says how a writer ended.
func killReason(pid uint32, e exitState) string {
	if e.signal == 0 {
		return fmt.Sprintf("writer %d was killed by a signal", pid)
	}
	return fmt.Sprintf("writer %d was killed by signal %d (%s)", pid, e.signal, syscall.Signal(e.signal))
}
