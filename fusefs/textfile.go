package fusefs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// textNode is a generated file. Its text is made anew for stat and at open, and one handle reads one text; the kernel keeps nothing
// of it, so size and bytes may differ between the two.
type textNode struct {
	gofs.Inode
	readOnly
	path    string
	content func(ctx context.Context) ([]byte, error)
	mod     time.Time // zero: now
	fixed   bool      // the text never changes: its size is made once
	size    atomic.Int64
}

var (
	_ gofs.NodeOpener    = (*textNode)(nil)
	_ gofs.NodeGetattrer = (*textNode)(nil)
)

func (n *textNode) text(ctx context.Context) ([]byte, error) {
	b, err := await(ctx, n.f, n.f.openWait(), n.content, nil)
	if err == nil {
		n.size.Store(int64(len(b)))
	}
	return b, err
}

func (n *textNode) attr(ctx context.Context, a *fuse.Attr) syscall.Errno {
	if !n.fixed || n.size.Load() == 0 {
		if _, err := n.text(ctx); err != nil {
			return n.f.fail("stat", n.path, err)
		}
	}
	mod := n.mod
	if mod.IsZero() {
		mod = time.Now()
	}
	n.f.fileAttr(a, n.size.Load(), mod)
	return 0
}

func (n *textNode) Getattr(ctx context.Context, h gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if t, ok := h.(*textHandle); ok {
		n.f.fileAttr(&out.Attr, int64(len(t.text)), n.mod)
		return 0
	}
	return n.attr(ctx, &out.Attr)
}

func (n *textNode) Open(ctx context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	if wantsWrite(flags) {
		return nil, 0, syscall.EROFS
	}
	b, err := n.text(ctx)
	if err != nil {
		return nil, 0, n.f.fail("open", n.path, err)
	}
	return &textHandle{b}, fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH, 0
}

type textHandle struct{ text []byte }

func (h *textHandle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if off >= int64(len(h.text)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(h.text[off:min(off+int64(len(dest)), int64(len(h.text)))]), 0
}

// localNode shows a local file that grows while it is read, such as a log.
type localNode struct {
	gofs.Inode
	readOnly
	path  string
	local string
}

var (
	_ gofs.NodeOpener    = (*localNode)(nil)
	_ gofs.NodeGetattrer = (*localNode)(nil)
)

func (n *localNode) attr(_ context.Context, a *fuse.Attr) syscall.Errno {
	st, err := os.Stat(n.local)
	if errors.Is(err, fs.ErrNotExist) {
		n.f.fileAttr(a, 0, time.Time{})
		return 0
	}
	if err != nil {
		return n.f.fail("stat", n.path, err)
	}
	n.f.fileAttr(a, st.Size(), st.ModTime())
	return 0
}

func (n *localNode) Getattr(ctx context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return n.attr(ctx, &out.Attr)
}

func (n *localNode) Open(_ context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	if wantsWrite(flags) {
		return nil, 0, syscall.EROFS
	}
	file, err := os.Open(n.local)
	if errors.Is(err, fs.ErrNotExist) {
		return &textHandle{}, fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH, 0
	}
	if err != nil {
		return nil, 0, n.f.fail("open", n.path, err)
	}
	return &localHandle{file}, fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH, 0
}

type localHandle struct{ file *os.File }

func (h *localHandle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n, err := h.file.ReadAt(dest, off)
	if n == 0 && err != nil && !isEOF(err) {
		return nil, errno(err)
	}
	return fuse.ReadResultData(dest[:n]), 0
}

func (h *localHandle) Release(context.Context) syscall.Errno {
	h.file.Close()
	return 0
}
