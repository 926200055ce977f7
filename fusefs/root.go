package fusefs

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Names at the top of the mount.
const (
	nameReadme     = "README.txt"
	nameLatest     = "latest"
	nameSnapshots  = "snapshots"
	nameAt         = "at"
	nameTimeline   = "timeline"
	nameIngest     = "ingest"
	nameOperations = "operations"
	nameControl    = ".hudifs"
	nameRejected   = "rejected"
)

// fixedChild is a name that is always there.
type fixedChild struct {
	name   string
	mode   uint32 // file type
	hidden bool   // found by name, never listed
	node   func(ctx context.Context, parent *fs.Inode) knownNode
}

// fixedDir is a directory whose names are known when the mount starts.
type fixedDir struct {
	fs.Inode
	readOnly
	path     string // in the mount, for inode numbers
	children []fixedChild
}

var (
	_ fs.NodeLookuper       = (*fixedDir)(nil)
	_ fs.NodeOpendirHandler = (*fixedDir)(nil)
	_ fs.NodeGetattrer      = (*fixedDir)(nil)
)

func (d *fixedDir) add(c fixedChild) {
	d.children = append(d.children, c)
	slices.SortFunc(d.children, func(a, b fixedChild) int { return strings.Compare(a.name, b.name) })
}

func (d *fixedDir) child(name string) *fixedChild {
	for i := range d.children {
		if d.children[i].name == name {
			return &d.children[i]
		}
	}
	return nil
}

func (d *fixedDir) OpendirHandle(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	var l fixedList
	for _, c := range d.children {
		if !c.hidden {
			l = append(l, c)
		}
	}
	return newDirHandle(&d.Inode, &fixedOpen{d, l}), 0, 0
}

// attrer fills the attributes that a looked-up node has right now.
type attrer interface {
	attr(ctx context.Context, a *fuse.Attr) syscall.Errno
}

func (d *fixedDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	c := d.child(name)
	if c == nil {
		return nil, syscall.ENOENT
	}
	n := c.node(ctx, &d.Inode)
	if a, ok := n.(attrer); ok {
		if e := a.attr(ctx, &out.Attr); e != 0 {
			return nil, e
		}
	}
	ttl := longTTL
	if t, ok := n.(interface{ entryTTL() time.Duration }); ok {
		ttl = t.entryTTL()
	}
	keep(out, ttl, 0)
	return n.EmbeddedInode(), 0
}

func (d *fixedDir) Getattr(ctx context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return d.attr(ctx, &out.Attr)
}

func (d *fixedDir) attr(_ context.Context, a *fuse.Attr) syscall.Errno {
	d.f.dirAttr(a, time.Time{})
	return 0
}

type fixedList []fixedChild

type fixedOpen struct {
	d    *fixedDir
	list fixedList
}

func (o *fixedOpen) size() int         { return len(o.list) }
func (o *fixedOpen) name(i int) string { return o.list[i].name }

func (o *fixedOpen) item(i int) fuse.DirEntry {
	c := o.list[i]
	return fuse.DirEntry{Name: c.name, Mode: c.mode, Ino: o.d.f.inodes.peek(kindFixed, o.d.path+"/"+c.name)}
}

func (o *fixedOpen) find(name string) int {
	return slices.IndexFunc(o.list, func(c fixedChild) bool { return c.name == name })
}

func (o *fixedOpen) plus(ctx context.Context, i int, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	// Reading a generated file for a listing is not worth it.
	if o.list[i].mode != syscall.S_IFDIR {
		return nil, syscall.EAGAIN
	}
	return o.d.Lookup(ctx, o.list[i].name, out)
}

// rootDir is the top of the mount.
type rootDir struct {
	fixedDir
}

// fixed makes a child with an inode number from its path.
func (f *FS) fixed(dir *fixedDir, name string, mode uint32, fresh func(nodeBase) knownNode) fixedChild {
	key := dir.path + "/" + name
	return fixedChild{name: name, mode: mode, node: func(ctx context.Context, parent *fs.Inode) knownNode {
		return f.inodes.node(ctx, parent, f, kindFixed, key, mode, fresh)
	}}
}

func newRoot(f *FS) *rootDir {
	r := &rootDir{}
	r.nodeBase = nodeBase{f: f, ino: 1}
	d := &r.fixedDir
	d.add(f.fixed(d, nameReadme, syscall.S_IFREG, func(b nodeBase) knownNode {
		return &textNode{readOnly: readOnly{b}, path: nameReadme, content: f.readme}
	}))
	f.addViews(d)
	at := f.fixed(d, nameAt, syscall.S_IFDIR, func(b nodeBase) knownNode { return &atDir{readOnly: readOnly{b}} })
	at.hidden = true
	d.add(at)
	d.add(f.fixed(d, nameTimeline, syscall.S_IFDIR, func(b nodeBase) knownNode { return &timelineDir{readOnly: readOnly{b}} }))
	f.addIngest(d)
	d.add(f.controlChild(d))
	return r
}

// addViews puts snapshots/ and the further renderings into the root.
func (f *FS) addViews(d *fixedDir) {
	views := map[string]View{nameSnapshots: ""}
	for name, v := range f.cfg.Views {
		views[name] = v
	}
	for name, v := range views {
		vd := &viewDir{name: name, view: v, inner: name != nameSnapshots}
		f.views = append(f.views, vd)
		d.add(f.fixed(d, name, syscall.S_IFDIR, func(b nodeBase) knownNode { return vd.adopt(b) }))
	}
	slices.SortFunc(f.views, func(a, b *viewDir) int { return strings.Compare(a.name, b.name) })
	d.add(fixedChild{name: nameLatest, mode: syscall.S_IFLNK, node: func(ctx context.Context, parent *fs.Inode) knownNode {
		return f.latestLink(ctx, parent, "/"+nameLatest, nameSnapshots+"/")
	}})
}

// Lookup hides `latest` while the table has no commit.
func (r *rootDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if name == nameLatest {
		if _, ok := r.f.state.Load().latest(); !ok {
			return nil, syscall.ENOENT
		}
	}
	return r.fixedDir.Lookup(ctx, name, out)
}

func (r *rootDir) OpendirHandle(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	_, hasLatest := r.f.state.Load().latest()
	var l fixedList
	for _, c := range r.children {
		if c.hidden || c.name == nameLatest && !hasLatest {
			continue
		}
		l = append(l, c)
	}
	return newDirHandle(&r.Inode, &fixedOpen{&r.fixedDir, l}), 0, 0
}
