package fusefs

import (
	"context"
	"errors"
	iofs "io/fs"
	"path"
	"sort"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// ingestTree is one ingest directory with everything below it.
type ingestTree struct {
	f    *FS
	name string   // path in the mount: "ingest", "operations/delete"
	ing  Ingester // nil: takes nothing
	top  *ingestDir
}

// closed reports whether this directory refuses changes.
func (t *ingestTree) closed() bool { return t.ing == nil || t.f.cfg.ReadOnly }

func (t *ingestTree) key(id uint64) string { return t.name + "\x00" + strconv.FormatUint(id, 10) }

func (t *ingestTree) fail(op, p string, err error) syscall.Errno {
	return t.f.fail(op, path.Join(t.name, p), err)
}

// sealWait is for requests whose answer says whether rows are committed.
func (f *FS) sealWait() waiting { return waiting{limit: f.cfg.SealTimeout, firm: true} }

// addIngest puts ingest/ and operations/ into the root.
func (f *FS) addIngest(root *fixedDir) {
	root.add(f.ingestChild(root, nameIngest, nameIngest, f.cfg.Ingest))
	if len(f.cfg.Operations) == 0 {
		return
	}
	ops := fixedDir{path: root.path + "/" + nameOperations}
	for name, ing := range f.cfg.Operations {
		ops.add(f.ingestChild(&ops, name, nameOperations+"/"+name, ing))
	}
	root.add(f.fixed(root, nameOperations, syscall.S_IFDIR, func(b nodeBase) knownNode {
		return &fixedDir{readOnly: readOnly{b}, path: ops.path, children: ops.children}
	}))
}

func (f *FS) ingestChild(dir *fixedDir, name, full string, ing Ingester) fixedChild {
	t := &ingestTree{f: f, name: full, ing: ing}
	t.top = &ingestDir{tree: t}
	return f.fixed(dir, name, syscall.S_IFDIR, func(b nodeBase) knownNode {
		if t.top.f == nil { // the table of inodes holds its lock
			t.top.nodeBase = b
		}
		return t.top
	})
}

// ingestDir is an ingest directory or one below it. The kernel keeps nothing of it: drops come, change and go by themselves.
type ingestDir struct {
	fs.Inode
	readOnly
	tree *ingestTree
	id   uint64      // 0: the top
	gone atomic.Bool // has lost its name
}

var (
	_ fs.NodeLookuper       = (*ingestDir)(nil)
	_ fs.NodeOpendirHandler = (*ingestDir)(nil)
	_ fs.NodeGetattrer      = (*ingestDir)(nil)
	_ fs.NodeCreater        = (*ingestDir)(nil)
	_ fs.NodeMkdirer        = (*ingestDir)(nil)
	_ fs.NodeUnlinker       = (*ingestDir)(nil)
	_ fs.NodeRmdirer        = (*ingestDir)(nil)
	_ fs.NodeRenamer        = (*ingestDir)(nil)
	_ fs.NodeSetattrer      = (*ingestDir)(nil)
)

// at is the path of a name in this directory, relative to the ingest directory; "" for the directory's own.
func (d *ingestDir) at(name string) string {
	if d == d.tree.top {
		return name
	}
	return path.Join(d.Path(&d.tree.top.Inode), name)
}

func (d *ingestDir) attr(ctx context.Context, a *fuse.Attr) syscall.Errno {
	if d.tree.ing == nil {
		d.f.dirAttr(a, time.Time{})
		return 0
	}
	i, err := await(ctx, d.f, d.f.openWait(), func(ctx context.Context) (DropInfo, error) {
		return d.tree.ing.Stat(ctx, d.at(""))
	}, nil)
	if d.gone.Load() && errors.Is(err, iofs.ErrNotExist) {
		i, err = DropInfo{}, nil // removed and open
	}
	if err != nil {
		return d.tree.fail("stat", d.at(""), err)
	}
	d.dirAttr(a, i)
	return 0
}

func (d *ingestDir) dirAttr(a *fuse.Attr, i DropInfo) {
	d.f.dirAttr(a, i.ModTime)
	a.Ino = d.ino
	if d.tree.closed() {
		return
	}
	mode := d.f.cfg.IngestMode
	if i.Mode != 0 && i.ID != 0 && d != d.tree.top {
		mode = uint32(i.Mode.Perm())
	}
	a.Mode = syscall.S_IFDIR | mode
	if d != d.tree.top {
		a.Uid, a.Gid = i.UID, i.GID
	}
	if d.gone.Load() {
		a.Nlink = 0
	}
}

func (d *ingestDir) Getattr(ctx context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return d.attr(ctx, &out.Attr)
}

func (d *ingestDir) Access(context.Context, uint32) syscall.Errno {
	if d.tree.closed() {
		return d.readOnly.Access(context.Background(), accessWrite)
	}
	return 0
}

// child returns the inode of what i describes.
func (d *ingestDir) child(ctx context.Context, i DropInfo, out *fuse.EntryOut) *fs.Inode {
	mode := uint32(syscall.S_IFREG)
	if i.Dir {
		mode = syscall.S_IFDIR
	}
	n := d.f.inodes.node(ctx, &d.Inode, d.f, kindDrop, d.tree.key(i.ID), mode, func(b nodeBase) knownNode {
		if i.Dir {
			return &ingestDir{readOnly: readOnly{b}, tree: d.tree, id: i.ID}
		}
		return &dropNode{readOnly: readOnly{b}, tree: d.tree, id: i.ID}
	})
	switch n := n.(type) {
	case *ingestDir:
		n.dirAttr(&out.Attr, i)
	case *dropNode:
		n.fill(&out.Attr, i)
	}
	return n.EmbeddedInode()
}

func (d *ingestDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if d.tree.ing == nil {
		return nil, syscall.ENOENT
	}
	i, err := await(ctx, d.f, d.f.openWait(), func(ctx context.Context) (DropInfo, error) {
		return d.tree.ing.Stat(ctx, d.at(name))
	}, nil)
	if err != nil {
		return nil, d.tree.fail("lookup", d.at(name), err)
	}
	return d.child(ctx, i, out), 0
}

func (d *ingestDir) OpendirHandle(ctx context.Context, _ uint32) (fs.FileHandle, uint32, syscall.Errno) {
	l, e := d.list(ctx)
	if e != 0 {
		return nil, 0, e
	}
	h := newDirHandle(&d.Inode, l)
	h.reload = d.list
	return h, 0, 0
}

func (d *ingestDir) list(ctx context.Context) (dirList, syscall.Errno) {
	if d.tree.ing == nil {
		return &dropList{d: d}, 0
	}
	l, err := await(ctx, d.f, d.f.openWait(), func(ctx context.Context) ([]DropInfo, error) {
		return d.tree.ing.List(ctx, d.at(""))
	}, nil)
	if err != nil {
		return nil, d.tree.fail("list", d.at(""), err)
	}
	return &dropList{d, l}, 0
}

type dropList struct {
	d     *ingestDir
	infos []DropInfo
}

func (l *dropList) size() int         { return len(l.infos) }
func (l *dropList) name(i int) string { return l.infos[i].Name }

func (l *dropList) item(i int) fuse.DirEntry {
	mode := uint32(syscall.S_IFREG)
	if l.infos[i].Dir {
		mode = syscall.S_IFDIR
	}
	return fuse.DirEntry{Name: l.infos[i].Name, Mode: mode, Ino: l.d.f.inodes.peek(kindDrop, l.d.tree.key(l.infos[i].ID))}
}

func (l *dropList) find(name string) int {
	i := sort.Search(len(l.infos), func(i int) bool { return l.infos[i].Name >= name })
	if i == len(l.infos) || l.infos[i].Name != name {
		return -1
	}
	return i
}

func (l *dropList) plus(ctx context.Context, i int, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return l.d.child(ctx, l.infos[i], out), 0
}

func (d *ingestDir) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if d.tree.closed() {
		return nil, nil, 0, syscall.EROFS
	}
	w := callerWriter(ctx, &d.f.procs)
	drop, err := await(ctx, d.f, d.f.openWait(), func(ctx context.Context) (Drop, error) {
		return d.tree.ing.Create(ctx, d.at(name), CreateOptions{Mode: iofs.FileMode(mode & 0o777), Writer: w})
	}, closeDrop)
	if errors.Is(err, iofs.ErrExist) && flags&syscall.O_EXCL == 0 {
		return nil, nil, 0, syscall.ESTALE // made by another process meanwhile: the kernel looks again and opens it
	}
	if err != nil {
		return nil, nil, 0, d.tree.fail("create", d.at(name), err)
	}
	child := d.child(ctx, drop.Info(), out)
	n, ok := child.Operations().(*dropNode)
	if !ok {
		closeDrop(drop)
		return nil, nil, 0, d.tree.fail("create", d.at(name), errors.New("the ingester made a directory"))
	}
	h, fuseFlags := n.handle(drop, flags|syscall.O_WRONLY, w)
	return child, h, fuseFlags, 0
}

func closeDrop(d Drop) { d.Close() }

func (d *ingestDir) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if d.tree.closed() {
		return nil, syscall.EROFS
	}
	o := CreateOptions{Mode: iofs.FileMode(mode & 0o777), Writer: callerWriter(ctx, &d.f.procs)}
	i, err := await(ctx, d.f, d.f.openWait(), func(ctx context.Context) (DropInfo, error) {
		return d.tree.ing.Mkdir(ctx, d.at(name), o)
	}, nil)
	if err != nil {
		return nil, d.tree.fail("mkdir", d.at(name), err)
	}
	return d.child(ctx, i, out), 0
}

// change runs a change of names, whose answer may be that of a commit.
func (d *ingestDir) change(ctx context.Context, op, name string, fn func(ctx context.Context) error) syscall.Errno {
	if d.tree.closed() {
		return syscall.EROFS
	}
	d.f.sealing.Add(1)
	defer d.f.sealing.Add(-1)
	_, err := await(ctx, d.f, d.f.sealWait(), func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) }, nil)
	if err != nil {
		return d.tree.fail(op, d.at(name), err)
	}
	return 0
}

func (d *ingestDir) Unlink(ctx context.Context, name string) syscall.Errno {
	e := d.change(ctx, "unlink", name, func(ctx context.Context) error { return d.tree.ing.Remove(ctx, d.at(name)) })
	if e == 0 {
		unlinked(d.GetChild(name))
	}
	return e
}

// unlinked notes that an inode has lost its name; nil is none.
func unlinked(i *fs.Inode) {
	if i == nil {
		return
	}
	switch n := i.Operations().(type) {
	case *dropNode:
		n.gone.Store(true)
	case *ingestDir:
		n.gone.Store(true)
	}
}

func (d *ingestDir) Rmdir(ctx context.Context, name string) syscall.Errno {
	e := d.change(ctx, "rmdir", name, func(ctx context.Context) error { return d.tree.ing.RemoveDir(ctx, d.at(name)) })
	if e == 0 {
		unlinked(d.GetChild(name))
	}
	return e
}

const renameNoReplace = 1 // RENAME_NOREPLACE

// Rename moves within one ingest directory. From elsewhere or to elsewhere is EXDEV, upon which mv copies and removes.
func (d *ingestDir) Rename(ctx context.Context, name string, newParent fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	to, ok := newParent.(*ingestDir)
	switch {
	case !ok, d.tree.closed():
		return syscall.EROFS
	case to.tree != d.tree:
		return syscall.EXDEV
	case flags&^renameNoReplace != 0:
		return syscall.EINVAL // exchange and whiteout
	}
	mode := RenameReplace
	if flags&renameNoReplace != 0 {
		mode = RenameNoReplace
	}
	source, target := d.at(name), to.at(newName)
	moved, over := d.childDrop(name), to.GetChild(newName)
	settle := moved.beforeSeal()
	e := d.change(ctx, "rename", name, func(ctx context.Context) error { return d.tree.ing.Rename(ctx, source, target, mode) })
	if e != 0 {
		return e
	}
	settle()
	if over != nil && (moved == nil || over != &moved.Inode) {
		unlinked(over)
	}
	if i, err := d.tree.ing.Stat(d.f.life, target); err == nil && i.State == DropCommitted {
		d.f.counters.seals.Add(1)
		d.f.refreshAfterCommit(ctx)
	}
	return 0
}

// childDrop is the drop that the kernel knows by a name, nil for none.
func (d *ingestDir) childDrop(name string) *dropNode {
	c := d.GetChild(name)
	if c == nil {
		return nil
	}
	n, _ := c.Operations().(*dropNode)
	return n
}

// refreshAfterCommit makes a commit of our own visible before the writer goes on. It waits a little and no longer: the rows are safe.
func (f *FS) refreshAfterCommit(ctx context.Context) {
	c, cancel := context.WithTimeout(f.life, refreshTimeout)
	defer cancel()
	if err := f.Refresh(c); err != nil && f.life.Err() == nil {
		f.log.Warn("the new commit will show a little later", "err", err)
	}
}

// Links and devices are refused as on FAT; programs that use them as locks fall back.

func (d *ingestDir) refuse() syscall.Errno {
	if d.tree.closed() {
		return syscall.EROFS
	}
	return syscall.EPERM
}

func (d *ingestDir) Link(context.Context, fs.InodeEmbedder, string, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, d.refuse()
}

func (d *ingestDir) Symlink(context.Context, string, string, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, d.refuse()
}

func (d *ingestDir) Mknod(context.Context, string, uint32, uint32, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, d.refuse()
}

func (d *ingestDir) Tmpfile(context.Context, uint32, uint32, *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if d.tree.closed() {
		return nil, nil, 0, syscall.EROFS
	}
	return nil, nil, 0, syscall.ENOTSUP
}

func (d *ingestDir) Setxattr(context.Context, string, []byte, uint32) syscall.Errno {
	return notSupported(d.tree)
}

func (d *ingestDir) Removexattr(context.Context, string) syscall.Errno { return notSupported(d.tree) }

func notSupported(t *ingestTree) syscall.Errno {
	if t.closed() {
		return syscall.EROFS
	}
	return syscall.ENOTSUP
}

// Setattr stores modes and times of staged directories; those of the ingest directory itself stay as the mount was made.
func (d *ingestDir) Setattr(ctx context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if d.tree.closed() {
		return syscall.EROFS
	}
	if d != d.tree.top {
		if e := d.tree.setAttr(ctx, d.id, d.at(""), in); e != 0 {
			return e
		}
	}
	return d.attr(ctx, &out.Attr)
}

// setAttr stores what chmod, chown and utimens say. Giving a file to someone else is root's privilege, as on a disk.
func (t *ingestTree) setAttr(ctx context.Context, id uint64, p string, in *fuse.SetAttrIn) syscall.Errno {
	var c AttrChange
	if m, ok := in.GetMode(); ok {
		perm := iofs.FileMode(m & 0o777)
		c.Mode = &perm
	}
	if u, ok := in.GetUID(); ok {
		c.UID = &u
	}
	if g, ok := in.GetGID(); ok {
		c.GID = &g
	}
	if m, ok := in.GetMTime(); ok {
		c.ModTime = &m
	}
	if c == (AttrChange{}) {
		return 0
	}
	_, err := await(ctx, t.f, t.f.openWait(), func(ctx context.Context) (struct{}, error) {
		if in.Uid != 0 || in.Gid != 0 || c.UID != nil || c.GID != nil {
			if err := t.mayOwn(ctx, id, in.Caller, &c); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, t.ing.SetAttr(ctx, id, c)
	}, nil)
	if err != nil {
		return t.fail("setattr", p, err)
	}
	return 0
}

func (t *ingestTree) mayOwn(ctx context.Context, id uint64, who fuse.Caller, c *AttrChange) error {
	if who.Uid == 0 || c.UID == nil && c.GID == nil {
		return nil
	}
	i, err := t.ing.StatID(ctx, id)
	if err != nil {
		return err
	}
	if c.UID != nil && *c.UID != i.UID || c.GID != nil && *c.GID != i.GID && *c.GID != who.Gid {
		return refusal{RefusedSealed, "only root gives a drop to another owner"}
	}
	return nil
}

// refusal is a refusal of this package's own.
type refusal struct{ kind, msg string }

func (r refusal) Error() string   { return r.msg }
func (r refusal) Refusal() string { return r.kind }
