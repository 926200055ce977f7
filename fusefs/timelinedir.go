package fusefs

import (
	"context"
	"sort"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// timelineDir shows every instant as a JSON file.
type timelineDir struct {
	fs.Inode
	readOnly
}

var (
	_ fs.NodeLookuper       = (*timelineDir)(nil)
	_ fs.NodeOpendirHandler = (*timelineDir)(nil)
	_ fs.NodeGetattrer      = (*timelineDir)(nil)
)

func (d *timelineDir) files(ctx context.Context) (timelineFiles, syscall.Errno) {
	l, err := await(ctx, d.f, d.f.openWait(), d.f.cfg.Source.TimelineFiles, nil)
	if err != nil {
		return nil, d.f.fail("list", nameTimeline, err)
	}
	return l, 0
}

func (d *timelineDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	l, e := d.files(ctx)
	if e != 0 {
		return nil, e
	}
	i := l.find(name)
	if i < 0 {
		return nil, syscall.ENOENT
	}
	t := l[i]
	n := d.f.inodes.node(ctx, &d.Inode, d.f, kindTimeline, name, syscall.S_IFREG, func(b nodeBase) knownNode {
		return &textNode{readOnly: readOnly{b}, path: nameTimeline + "/" + name, mod: t.ModTime, fixed: t.Fixed,
			content: func(ctx context.Context) ([]byte, error) { return d.f.cfg.Source.ReadTimeline(ctx, name) }}
	})
	if e := n.(attrer).attr(ctx, &out.Attr); e != 0 {
		return nil, e
	}
	return n.EmbeddedInode(), 0
}

func (d *timelineDir) OpendirHandle(ctx context.Context, _ uint32) (fs.FileHandle, uint32, syscall.Errno) {
	l, e := d.files(ctx)
	if e != 0 {
		return nil, 0, e
	}
	h := newDirHandle(&d.Inode, &timelineList{d, l})
	h.reload = func(ctx context.Context) (dirList, syscall.Errno) {
		l, e := d.files(ctx)
		return &timelineList{d, l}, e
	}
	return h, 0, 0
}

func (d *timelineDir) Getattr(ctx context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return d.attr(ctx, &out.Attr)
}

func (d *timelineDir) attr(_ context.Context, a *fuse.Attr) syscall.Errno {
	d.f.dirAttr(a, time.Time{})
	return 0
}

type timelineFiles []TimelineFile

func (l timelineFiles) find(name string) int {
	i := sort.Search(len(l), func(i int) bool { return l[i].Name >= name })
	if i == len(l) || l[i].Name != name {
		return -1
	}
	return i
}

type timelineList struct {
	d *timelineDir
	timelineFiles
}

func (l *timelineList) size() int         { return len(l.timelineFiles) }
func (l *timelineList) name(i int) string { return l.timelineFiles[i].Name }

func (l *timelineList) item(i int) fuse.DirEntry {
	name := l.name(i)
	return fuse.DirEntry{Name: name, Mode: syscall.S_IFREG, Ino: l.d.f.inodes.peek(kindTimeline, name)}
}

// plus gives names alone: attributes would mean reading every instant.
func (l *timelineList) plus(context.Context, int, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, syscall.EAGAIN
}
