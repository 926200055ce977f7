package fusefs

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// readOnly refuses every change with EROFS. Every node embeds it; go-fuse takes some missing methods for success and gives odd
// numbers for others. Ingest directories override what they allow.
type readOnly struct {
	nodeBase
}

// Extended attributes: ENOSYS once makes the kernel stop asking, also before each write; programs see "not supported".

func (*readOnly) Getxattr(context.Context, string, []byte) (uint32, syscall.Errno) {
	return 0, syscall.ENOSYS
}

func (*readOnly) Listxattr(context.Context, []byte) (uint32, syscall.Errno) {
	return 0, syscall.ENOSYS
}

func (*readOnly) Setxattr(context.Context, string, []byte, uint32) syscall.Errno {
	return syscall.EROFS
}

func (*readOnly) Removexattr(context.Context, string) syscall.Errno { return syscall.EROFS }

func (*readOnly) Setattr(context.Context, fs.FileHandle, *fuse.SetAttrIn, *fuse.AttrOut) syscall.Errno {
	return syscall.EROFS
}

func (*readOnly) Create(context.Context, string, uint32, uint32, *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	return nil, nil, 0, syscall.EROFS
}

func (*readOnly) Tmpfile(context.Context, uint32, uint32, *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	return nil, nil, 0, syscall.EROFS
}

func (*readOnly) Mkdir(context.Context, string, uint32, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, syscall.EROFS
}

func (*readOnly) Mknod(context.Context, string, uint32, uint32, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, syscall.EROFS
}

func (*readOnly) Symlink(context.Context, string, string, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, syscall.EROFS
}

func (*readOnly) Link(context.Context, fs.InodeEmbedder, string, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, syscall.EROFS
}

func (*readOnly) Unlink(context.Context, string) syscall.Errno { return syscall.EROFS }

func (*readOnly) Rmdir(context.Context, string) syscall.Errno { return syscall.EROFS }

func (*readOnly) Rename(context.Context, string, fs.InodeEmbedder, string, uint32) syscall.Errno {
	return syscall.EROFS
}

func (*readOnly) Allocate(context.Context, fs.FileHandle, uint64, uint64, uint32) syscall.Errno {
	return syscall.EROFS
}

// CopyFileRange is left to the kernel, which reads and writes instead.
func (*readOnly) CopyFileRange(context.Context, fs.FileHandle, uint64, *fs.Inode, fs.FileHandle, uint64, uint64, uint64) (uint32, syscall.Errno) {
	return 0, syscall.ENOSYS
}

// Fsync of a file that can't change, and of any directory, has nothing to do.
func (*readOnly) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno { return 0 }

// Access is asked only in mounts of one user; the size of a merged file must not be needed for it.
func (*readOnly) Access(_ context.Context, mask uint32) syscall.Errno {
	if mask&accessWrite != 0 {
		return syscall.EROFS
	}
	return 0
}

const accessWrite = 2 // W_OK

func (r *readOnly) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	r.f.statfs(out)
	return 0
}

// wantsWrite reports whether open flags ask for a change.
func wantsWrite(flags uint32) bool {
	return flags&(syscall.O_WRONLY|syscall.O_RDWR|syscall.O_TRUNC|syscall.O_APPEND) != 0
}
