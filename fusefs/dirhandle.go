package fusefs

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// dirList is what a directory held when it was opened.
type dirList interface {
	size() int
	// name is the i-th name, item the i-th entry without offset.
	name(i int) string
	item(i int) fuse.DirEntry
	// find returns the index of a name, -1 for none.
	find(name string) int
	// plus looks up the i-th entry for a listing with attributes. An errno makes the kernel ask again when it needs them.
	plus(ctx context.Context, i int, out *fuse.EntryOut) (*fs.Inode, syscall.Errno)
}

// dirHandle is an open directory. Offsets are indexes plus one; "." and ".." come first.
type dirHandle struct {
	self, parent uint64 // inode numbers
	list         dirList
	reload       func(ctx context.Context) (dirList, syscall.Errno) // for rewinddir; nil: the directory never changes
	next         int
	last         int // index of the entry given last
}

const dots = 2

func newDirHandle(n *fs.Inode, list dirList) *dirHandle {
	h := &dirHandle{self: n.StableAttr().Ino, list: list}
	h.parent = h.self
	if _, p := n.Parent(); p != nil {
		h.parent = p.StableAttr().Ino
	}
	return h
}

func (h *dirHandle) Readdirent(context.Context) (*fuse.DirEntry, syscall.Errno) {
	i := h.next
	if i >= h.list.size()+dots {
		return nil, 0
	}
	var e fuse.DirEntry
	switch i {
	case 0:
		e = fuse.DirEntry{Name: ".", Mode: syscall.S_IFDIR, Ino: h.self}
	case 1:
		e = fuse.DirEntry{Name: "..", Mode: syscall.S_IFDIR, Ino: h.parent}
	default:
		e = h.list.item(i - dots)
	}
	h.last = i - dots
	h.next++
	e.Off = uint64(h.next)
	return &e, 0
}

func (h *dirHandle) Seekdir(ctx context.Context, off uint64) syscall.Errno {
	if off == 0 && h.reload != nil && h.next > 0 {
		list, e := h.reload(ctx)
		if e != 0 {
			return e
		}
		h.list = list
	}
	h.next = int(min(off, uint64(h.list.size()+dots)))
	return 0
}

// Lookup serves listings with attributes.
func (h *dirHandle) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	i := h.last
	if i < 0 || i >= h.list.size() || h.list.name(i) != name {
		if i = h.list.find(name); i < 0 {
			return nil, syscall.ENOENT
		}
	}
	return h.list.plus(ctx, i, out)
}

func (h *dirHandle) Fsyncdir(context.Context, uint32) syscall.Errno { return 0 }

var (
	_ fs.FileReaddirenter = (*dirHandle)(nil)
	_ fs.FileSeekdirer    = (*dirHandle)(nil)
	_ fs.FileLookuper     = (*dirHandle)(nil)
	_ fs.FileFsyncdirer   = (*dirHandle)(nil)
)
