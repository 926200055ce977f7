package fusefs

import (
	"context"
	"path"
	"sync"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// snapshotDir is a directory of a snapshot: its top or a level of partitions. It never changes.
type snapshotDir struct {
	gofs.Inode
	readOnly
	at  listingKey
	mod time.Time

	mu struct {
		sync.Mutex
		seen   []uint64 // bit per entry: the kernel holds its inode
		held   int      // bits set
		cached bool     // the kernel may hold the names in its cache
	}
}

var (
	_ gofs.NodeLookuper       = (*snapshotDir)(nil)
	_ gofs.NodeOpendirHandler = (*snapshotDir)(nil)
	_ gofs.NodeGetattrer      = (*snapshotDir)(nil)
)

func (f *FS) snapshotDir(ctx context.Context, parent *gofs.Inode, k listingKey, mod time.Time) knownNode {
	return f.inodes.node(ctx, parent, f, kindDir, dirKey(k), syscall.S_IFDIR, func(b nodeBase) knownNode {
		return &snapshotDir{readOnly: readOnly{b}, at: k, mod: mod}
	})
}

// shown is the path in the mount, for messages.
func (d *snapshotDir) shown(name string) string { return path.Join(d.Path(nil), name) }

func (d *snapshotDir) listing(ctx context.Context) (*listing, syscall.Errno) {
	l, err := d.f.listing(ctx, d.at)
	if err != nil {
		return nil, d.f.fail("list", d.shown(""), err)
	}
	return l, 0
}

func (d *snapshotDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	d.f.counters.lookups.Add(1)
	l, e := d.listing(ctx)
	if e != 0 {
		return nil, e
	}
	i := l.find(name)
	if i < 0 {
		return nil, syscall.ENOENT
	}
	return d.entry(ctx, l, i, out)
}

// entry returns the inode of the i-th entry and its attributes. A merged file of unknown size is made for that: the kernel and
// readers that seek from the end must never see a size that is not the file's.
func (d *snapshotDir) entry(ctx context.Context, l *listing, i int, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	e := l.entries[i]
	keep(out, longTTL, longTTL)
	if e.Dir {
		k := d.at
		k.dir = path.Join(k.dir, e.Name)
		mod := e.ModTime
		if mod.IsZero() {
			mod = d.mod
		}
		n := d.f.snapshotDir(ctx, &d.Inode, k, mod)
		d.f.dirAttr(&out.Attr, mod)
		d.saw(nil, i, len(l.entries))
		return n.EmbeddedInode(), 0
	}
	n := d.f.snapshotFile(ctx, &d.Inode, location{d.at, e})
	exact, err := n.stat(ctx)
	if err != nil {
		return nil, d.f.fail("stat", d.shown(e.Name), err)
	}
	d.f.fileAttr(&out.Attr, exact.Size, exact.ModTime)
	d.saw(n, i, len(l.entries))
	return &n.Inode, 0
}

// saw notes that the kernel holds the i-th entry.
func (d *snapshotDir) saw(n *snapshotFile, i, size int) {
	d.mu.Lock()
	if d.mu.seen == nil {
		d.mu.seen = make([]uint64, (size+63)/64)
	}
	fresh := d.mu.seen[i/64]&(1<<(i%64)) == 0
	if fresh {
		d.mu.seen[i/64] |= 1 << (i % 64)
		d.mu.held++
	}
	d.mu.Unlock()
	if fresh && n != nil {
		n.listedIn(d, i)
	}
}

// lost notes that the kernel has forgotten the i-th entry.
func (d *snapshotDir) lost(i int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.seen[i/64]&(1<<(i%64)) != 0 {
		d.mu.seen[i/64] &^= 1 << (i % 64)
		d.mu.held--
	}
}

// OpendirHandle lets the kernel keep the names, which makes later listings its own business. But while it has the names it does not
// ask for attributes with them; once it has lost most inodes (memory was short), `ls -l` would be one request per file. Then this
// one listing goes past the cache and refills the inodes.
func (d *snapshotDir) OpendirHandle(ctx context.Context, _ uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	l, e := d.listing(ctx)
	if e != 0 {
		return nil, 0, e
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	flags := uint32(fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE)
	if d.mu.cached && d.mu.held*2 < l.ready {
		flags = 0
	}
	d.mu.cached = true
	return newDirHandle(&d.Inode, &snapshotList{d, l}), flags, 0
}

func (d *snapshotDir) Getattr(ctx context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.SetTimeout(longTTL)
	return d.attr(ctx, &out.Attr)
}

func (d *snapshotDir) attr(_ context.Context, a *fuse.Attr) syscall.Errno {
	d.f.dirAttr(a, d.mod)
	return 0
}

type snapshotList struct {
	d *snapshotDir
	l *listing
}

func (s *snapshotList) size() int            { return len(s.l.entries) }
func (s *snapshotList) name(i int) string    { return s.l.entries[i].Name }
func (s *snapshotList) find(name string) int { return s.l.find(name) }

func (s *snapshotList) item(i int) fuse.DirEntry {
	e := s.l.entries[i]
	if e.Dir {
		k := s.d.at
		k.dir = path.Join(k.dir, e.Name)
		return fuse.DirEntry{Name: e.Name, Mode: syscall.S_IFDIR, Ino: s.d.f.inodes.peek(kindDir, dirKey(k))}
	}
	return fuse.DirEntry{Name: e.Name, Mode: syscall.S_IFREG, Ino: s.d.f.inodes.peek(kindFile, e.Key)}
}

func (s *snapshotList) plus(ctx context.Context, i int, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	if e := s.l.entries[i]; !e.Dir && e.Size < 0 && !s.d.f.sizeKnown(e.Key) {
		return nil, syscall.EAGAIN // listing names must merge nothing; stat will
	}
	return s.d.entry(ctx, s.l, i, out)
}
