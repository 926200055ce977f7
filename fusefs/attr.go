package fusefs

import (
	"os"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// longTTL is how long the kernel keeps what can't change, and names of which a notification says when they do.
const longTTL = time.Hour

const blockSize = 4096

// Permission bits. Nothing but ingest directories can be written.
const (
	modeDir  = 0o555
	modeFile = 0o444
	modeLink = 0o777
)

// owned fills the owner and the times.
func (f *FS) owned(a *fuse.Attr, mod time.Time) {
	a.Uid, a.Gid = f.owner()
	if mod.IsZero() {
		mod = f.started
	}
	a.SetTimes(&mod, &mod, &mod)
	a.Blksize = blockSize
}

func (f *FS) owner() (uid, gid uint32) {
	uid, gid = f.cfg.UID, f.cfg.GID
	if uid == 0 {
		uid = uint32(os.Geteuid())
	}
	if gid == 0 {
		gid = uint32(os.Getegid())
	}
	return uid, gid
}

func (f *FS) dirAttr(a *fuse.Attr, mod time.Time) {
	a.Mode = syscall.S_IFDIR | modeDir
	a.Nlink = 2
	a.Size = blockSize
	f.owned(a, mod)
}

func (f *FS) fileAttr(a *fuse.Attr, size int64, mod time.Time) {
	a.Mode = syscall.S_IFREG | modeFile
	a.Nlink = 1
	a.Size = uint64(size)
	a.Blocks = (a.Size + 511) / 512
	f.owned(a, mod)
}

func (f *FS) linkAttr(a *fuse.Attr, target string, mod time.Time) {
	a.Mode = syscall.S_IFLNK | modeLink
	a.Nlink = 1
	a.Size = uint64(len(target))
	f.owned(a, mod)
}

// keep tells the kernel how long it may keep an entry and its attributes.
func keep(out *fuse.EntryOut, entry, attr time.Duration) {
	out.SetEntryTimeout(entry)
	out.SetAttrTimeout(attr)
}

// statfs shows the table as used space and the staging disk's free space as free, so that programs that look before they copy do
// copy. Zeroes would make them refuse.
func (f *FS) statfs(out *fuse.StatfsOut) {
	const plenty = 1 << 30 // blocks, where nothing is known
	out.Bsize, out.Frsize, out.NameLen = blockSize, blockSize, 255
	var used uint64 = 1
	if f.cfg.TableSize != nil {
		if n := f.cfg.TableSize(); n > 0 {
			used = (uint64(n) + blockSize - 1) / blockSize
		}
	}
	free, inodes := uint64(plenty), uint64(plenty)
	if f.cfg.SpaceDir != "" {
		var st syscall.Statfs_t
		if err := syscall.Statfs(f.cfg.SpaceDir, &st); err == nil && st.Bsize > 0 {
			free = max(st.Bavail*uint64(st.Bsize)/blockSize, 1)
			if st.Ffree > 0 {
				inodes = st.Ffree
			}
		}
	}
	out.Blocks, out.Bfree, out.Bavail = used+free, free, free
	known := uint64(f.inodes.size()) + 1
	out.Files, out.Ffree = known+inodes, inodes
}
