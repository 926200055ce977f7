package fusefs

import (
	"context"
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"slices"
	"sort"
	"strconv"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// rejected returns the directories of rejected drops, each once.
func (f *FS) rejected() []Rejected {
	var out []Rejected
	add := func(i Ingester) {
		if i == nil {
			return
		}
		if r := i.Rejected(); r != nil && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	add(f.cfg.Ingest)
	names := make([]string, 0, len(f.cfg.Operations))
	for n := range f.cfg.Operations {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		add(f.cfg.Operations[n])
	}
	return out
}

// rejectedDir shows drops that could not become rows, with reasons. Removing one acknowledges it; nothing else changes here.
type rejectedDir struct {
	fs.Inode
	readOnly
	from []Rejected
}

var (
	_ fs.NodeLookuper       = (*rejectedDir)(nil)
	_ fs.NodeOpendirHandler = (*rejectedDir)(nil)
	_ fs.NodeUnlinker       = (*rejectedDir)(nil)
	_ fs.NodeOpener         = (*rejectedNode)(nil)
)

type rejectedEntry struct {
	RejectedFile
	from Rejected
}

const pathRejected = nameControl + "/" + nameRejected

func (d *rejectedDir) files(ctx context.Context) ([]rejectedEntry, syscall.Errno) {
	l, err := await(ctx, d.f, d.f.openWait(), func(ctx context.Context) ([]rejectedEntry, error) {
		var out []rejectedEntry
		for _, r := range d.from {
			files, err := r.List(ctx)
			if err != nil {
				return nil, err
			}
			for _, f := range files {
				out = append(out, rejectedEntry{f, r})
			}
		}
		sort.SliceStable(out, func(i, j int) bool { return out[i].Name < out[j].Name })
		return slices.CompactFunc(out, func(a, b rejectedEntry) bool { return a.Name == b.Name }), nil
	}, nil)
	if err != nil {
		return nil, d.f.fail("list", pathRejected, err)
	}
	return l, 0
}

func (d *rejectedDir) child(ctx context.Context, e rejectedEntry, out *fuse.EntryOut) *fs.Inode {
	n := d.f.inodes.node(ctx, &d.Inode, d.f, kindRejected, strconv.FormatUint(e.ID, 10), syscall.S_IFREG, func(b nodeBase) knownNode {
		return &rejectedNode{readOnly: readOnly{b}, e: e}
	})
	d.f.fileAttr(&out.Attr, e.Size, e.ModTime)
	return n.EmbeddedInode()
}

func (d *rejectedDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	l, e := d.files(ctx)
	if e != 0 {
		return nil, e
	}
	i := (&rejectedList{d, l}).find(name)
	if i < 0 {
		return nil, syscall.ENOENT
	}
	return d.child(ctx, l[i], out), 0
}

func (d *rejectedDir) OpendirHandle(ctx context.Context, _ uint32) (fs.FileHandle, uint32, syscall.Errno) {
	l, e := d.files(ctx)
	if e != 0 {
		return nil, 0, e
	}
	h := newDirHandle(&d.Inode, &rejectedList{d, l})
	h.reload = func(ctx context.Context) (dirList, syscall.Errno) {
		l, e := d.files(ctx)
		return &rejectedList{d, l}, e
	}
	return h, 0, 0
}

func (d *rejectedDir) Getattr(ctx context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return d.attr(ctx, &out.Attr)
}

func (d *rejectedDir) attr(_ context.Context, a *fuse.Attr) syscall.Errno {
	d.f.dirAttr(a, time.Time{})
	if !d.f.cfg.ReadOnly {
		a.Mode = syscall.S_IFDIR | d.f.cfg.IngestMode
	}
	return 0
}

func (d *rejectedDir) Unlink(ctx context.Context, name string) syscall.Errno {
	if d.f.cfg.ReadOnly {
		return syscall.EROFS
	}
	l, e := d.files(ctx)
	if e != 0 {
		return e
	}
	i := (&rejectedList{d, l}).find(name)
	if i < 0 {
		return syscall.ENOENT
	}
	_, err := await(ctx, d.f, d.f.openWait(), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, l[i].from.Acknowledge(ctx, name)
	}, nil)
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return d.f.fail("unlink", pathRejected+"/"+name, err)
	}
	return 0
}

// Rename out of here is EXDEV: mv then copies, say back into ingest, and removes.
func (d *rejectedDir) Rename(_ context.Context, _ string, to fs.InodeEmbedder, _ string, _ uint32) syscall.Errno {
	if _, ok := to.(*ingestDir); ok && !d.f.cfg.ReadOnly {
		return syscall.EXDEV
	}
	return syscall.EROFS
}

type rejectedList struct {
	d *rejectedDir
	l []rejectedEntry
}

func (r *rejectedList) size() int         { return len(r.l) }
func (r *rejectedList) name(i int) string { return r.l[i].Name }

func (r *rejectedList) item(i int) fuse.DirEntry {
	return fuse.DirEntry{Name: r.l[i].Name, Mode: syscall.S_IFREG, Ino: r.d.f.inodes.peek(kindRejected, strconv.FormatUint(r.l[i].ID, 10))}
}

func (r *rejectedList) find(name string) int {
	i := sort.Search(len(r.l), func(i int) bool { return r.l[i].Name >= name })
	if i == len(r.l) || r.l[i].Name != name {
		return -1
	}
	return i
}

func (r *rejectedList) plus(ctx context.Context, i int, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return r.d.child(ctx, r.l[i], out), 0
}

type rejectedNode struct {
	fs.Inode
	readOnly
	e rejectedEntry
}

func (n *rejectedNode) open(ctx context.Context) (*os.File, error) {
	return await(ctx, n.f, n.f.openWait(), func(ctx context.Context) (*os.File, error) {
		return n.e.from.Open(ctx, n.e.Name)
	}, func(f *os.File) { f.Close() })
}

func (n *rejectedNode) Getattr(ctx context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.f.fileAttr(&out.Attr, n.e.Size, n.e.ModTime)
	return 0
}

func (n *rejectedNode) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if wantsWrite(flags) {
		return nil, 0, syscall.EROFS
	}
	f, err := n.open(ctx)
	if err != nil {
		return nil, 0, n.f.fail("open", pathRejected+"/"+n.e.Name, err)
	}
	return &localHandle{f}, fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH, 0
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) }
