package fusefs

import (
	"context"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/hudifs/hudifs/timeline"
)

// viewDir holds one directory per commit: snapshots/, or a rendering.
type viewDir struct {
	fs.Inode
	readOnly
	name  string
	view  View
	inner bool // has its own `latest`
	known atomic.Bool
}

var (
	_ fs.NodeLookuper       = (*viewDir)(nil)
	_ fs.NodeOpendirHandler = (*viewDir)(nil)
	_ fs.NodeGetattrer      = (*viewDir)(nil)
)

// adopt gives the directory its number. There is one viewDir per view for the mount's life, so that notifications find it.
func (d *viewDir) adopt(b nodeBase) *viewDir {
	if !d.known.Load() {
		d.nodeBase = b
		d.known.Store(true)
	}
	return d
}

// live reports whether the kernel may know names in this directory.
func (d *viewDir) live() bool { return d.known.Load() }

func (d *viewDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	d.f.counters.lookups.Add(1)
	if name == nameLatest && d.inner {
		if _, ok := d.f.state.Load().latest(); !ok {
			return nil, syscall.ENOENT
		}
		n := d.f.latestLink(ctx, &d.Inode, "/"+d.name+"/"+nameLatest, "")
		if e := n.(attrer).attr(ctx, &out.Attr); e != 0 {
			return nil, e
		}
		keep(out, longTTL, longTTL)
		return n.EmbeddedInode(), 0
	}
	c, ok := d.f.state.Load().find(timeline.InstantTime(name))
	if !ok {
		return nil, syscall.ENOENT
	}
	return d.commit(ctx, c, out)
}

func (d *viewDir) commit(ctx context.Context, c Commit, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n := d.f.snapshotDir(ctx, &d.Inode, listingKey{snapshotKey{d.view, c.Instant}, ""}, c.Completed)
	d.f.dirAttr(&out.Attr, c.Completed)
	keep(out, longTTL, longTTL)
	return n.EmbeddedInode(), 0
}

func (d *viewDir) OpendirHandle(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	h := newDirHandle(&d.Inode, d.list())
	h.reload = func(context.Context) (dirList, syscall.Errno) { return d.list(), 0 }
	return h, 0, 0
}

func (d *viewDir) list() *commitList {
	return &commitList{d: d, s: d.f.state.Load()}
}

func (d *viewDir) Getattr(ctx context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return d.attr(ctx, &out.Attr)
}

func (d *viewDir) attr(_ context.Context, a *fuse.Attr) syscall.Errno {
	c, _ := d.f.state.Load().latest()
	d.f.dirAttr(a, c.Completed)
	return 0
}

// commitList is the commits as of opendir, with `latest` last where there is one.
type commitList struct {
	d *viewDir
	s *tableState
}

func (l *commitList) size() int {
	n := len(l.s.commits)
	if n > 0 && l.d.inner {
		n++
	}
	return n
}

func (l *commitList) name(i int) string {
	if i == len(l.s.commits) {
		return nameLatest
	}
	return string(l.s.commits[i].Instant)
}

func (l *commitList) item(i int) fuse.DirEntry {
	if i == len(l.s.commits) {
		return fuse.DirEntry{Name: nameLatest, Mode: syscall.S_IFLNK}
	}
	at := l.s.commits[i].Instant
	return fuse.DirEntry{Name: string(at), Mode: syscall.S_IFDIR, Ino: l.d.f.inodes.peek(kindDir, dirKey(listingKey{snapshotKey{l.d.view, at}, ""}))}
}

func (l *commitList) find(name string) int {
	if i, ok := l.s.index[timeline.InstantTime(name)]; ok {
		return i
	}
	if name == nameLatest && l.d.inner {
		return len(l.s.commits)
	}
	return -1
}

func (l *commitList) plus(ctx context.Context, i int, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	// By name and through the present state: a commit that went away since opendir must not get an entry that lasts an hour.
	return l.d.Lookup(ctx, l.name(i), out)
}

// linkNode is a symbolic link. Its inode is that of its target too, so it never has to change.
type linkNode struct {
	fs.Inode
	readOnly
	target string
	mod    time.Time
	ttl    time.Duration
}

func (f *FS) link(ctx context.Context, parent *fs.Inode, path, target string, mod time.Time, ttl time.Duration) knownNode {
	return f.inodes.node(ctx, parent, f, kindLink, path+"\x00"+target, syscall.S_IFLNK, func(b nodeBase) knownNode {
		return &linkNode{readOnly: readOnly{b}, target: target, mod: mod, ttl: ttl}
	})
}

// latestLink is `latest` as of now. The kernel keeps it until the next commit's notification.
func (f *FS) latestLink(ctx context.Context, parent *fs.Inode, path, prefix string) knownNode {
	c, _ := f.state.Load().latest()
	return f.link(ctx, parent, path, prefix+string(c.Instant), c.Completed, longTTL)
}

func (n *linkNode) Readlink(context.Context) ([]byte, syscall.Errno) { return []byte(n.target), 0 }

func (n *linkNode) Getattr(ctx context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.SetTimeout(longTTL)
	return n.attr(ctx, &out.Attr)
}

func (n *linkNode) attr(_ context.Context, a *fuse.Attr) syscall.Errno {
	n.f.linkAttr(a, n.target, n.mod)
	return 0
}

func (n *linkNode) entryTTL() time.Duration { return n.ttl }

// atDir finds snapshots by time. It lists nothing: a glob or find must not walk through all times there are.
type atDir struct {
	fs.Inode
	readOnly
}

// Lookup resolves a time each time anew: "-2h" moves, and a later commit can be the answer to the same name.
func (d *atDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	at, err := await(ctx, d.f, d.f.openWait(), func(ctx context.Context) (timeline.InstantTime, error) {
		return d.f.cfg.Source.ResolveTime(ctx, name, time.Now())
	}, nil)
	if err != nil {
		return nil, d.f.fail("resolve time", nameAt+"/"+name, err)
	}
	c, ok := d.f.state.Load().find(at)
	if !ok {
		return nil, syscall.ENOENT
	}
	n := d.f.link(ctx, &d.Inode, "/at/"+name, "../"+nameSnapshots+"/"+string(at), c.Completed, 0)
	n.(*linkNode).attr(ctx, &out.Attr)
	keep(out, 0, 0)
	return n.EmbeddedInode(), 0
}

func (d *atDir) OpendirHandle(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return newDirHandle(&d.Inode, &fixedOpen{}), 0, 0
}

func (d *atDir) Getattr(ctx context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return d.attr(ctx, &out.Attr)
}

func (d *atDir) attr(_ context.Context, a *fuse.Attr) syscall.Errno {
	d.f.dirAttr(a, time.Time{})
	return 0
}

// dirKey is what a snapshot's directory is, for its inode number.
func dirKey(k listingKey) string {
	return strings.Join([]string{string(k.view), string(k.at), k.dir}, "\x00")
}
