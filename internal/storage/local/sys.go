package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// sys is every system call that changes a directory or forces bytes to disk, in one place, so that a test can see their
// order and make each of them fail. Directories are held open: a name is always relative to one, and no path is walked twice.
type sys struct {
	noSync bool
	hook   func(op, name string) error // tests only: called before each call, an error replaces it
}

func (y *sys) before(op, name string) error {
	if y.hook == nil {
		return nil
	}
	return y.hook(op, name)
}

// anonymous opens a file without a name in the file system of dir.
func (y *sys) anonymous(dir *os.File) (*os.File, error) {
	if err := y.before("tmpfile", ""); err != nil {
		return nil, err
	}
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "temporary file"), nil
}

// named creates a temporary file and locks it, so that SweepTemps of another process leaves it alone.
func (y *sys) named(dir *os.File, name string) (*os.File, error) {
	if err := y.before("create", name); err != nil {
		return nil, err
	}
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o666)
	if err != nil {
		return nil, err
	}
	_ = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) // without locks the age still protects it
	return os.NewFile(uintptr(fd), name), nil
}

func (y *sys) sync(f *os.File, what string) error {
	if err := y.before("fsync", what); err != nil {
		return err
	}
	if y.noSync {
		return nil
	}
	return f.Sync()
}

func (y *sys) linkAnonymous(f, dir *os.File, name string) error {
	if err := y.before("link-fd", name); err != nil {
		return err
	}
	proc := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	return ignoringEINTR(func() error {
		return unix.Linkat(unix.AT_FDCWD, proc, int(dir.Fd()), name, unix.AT_SYMLINK_FOLLOW)
	})
}

func (y *sys) linkNamed(dir *os.File, from, to string) error {
	if err := y.before("link", to); err != nil {
		return err
	}
	return ignoringEINTR(func() error { return unix.Linkat(int(dir.Fd()), from, int(dir.Fd()), to, 0) })
}

func (y *sys) rename(dir *os.File, from, to string) error {
	if err := y.before("rename", to); err != nil {
		return err
	}
	return ignoringEINTR(func() error { return unix.Renameat(int(dir.Fd()), from, int(dir.Fd()), to) })
}

func (y *sys) renameNoReplace(dir *os.File, from, to string) error {
	if err := y.before("rename-noreplace", to); err != nil {
		return err
	}
	return ignoringEINTR(func() error {
		return unix.Renameat2(int(dir.Fd()), from, int(dir.Fd()), to, unix.RENAME_NOREPLACE)
	})
}

func (y *sys) unlink(dir *os.File, name string) error {
	if err := y.before("unlink", name); err != nil {
		return err
	}
	return ignoringEINTR(func() error { return unix.Unlinkat(int(dir.Fd()), name, 0) })
}

func (y *sys) rmdir(dir *os.File, name string) error {
	if err := y.before("rmdir", name); err != nil {
		return err
	}
	return ignoringEINTR(func() error { return unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR) })
}

func (y *sys) mkdir(root *os.Root, path string) error {
	if err := y.before("mkdir", path); err != nil {
		return err
	}
	return root.Mkdir(path, 0o777)
}

// lockWait bounds the wait for the lock of a directory; its holders do a handful of system calls.
const lockWait = 30 * time.Second

// lock takes the exclusive lock of dir and returns its release. dir must be an open file of the caller's own. ok is false
// where directories cannot be locked (some network file systems).
func (y *sys) lock(ctx context.Context, dir *os.File) (unlock func(), ok bool, err error) {
	fd := int(dir.Fd())
	deadline := time.Now().Add(lockWait)
	for wait := 20 * time.Microsecond; ; wait = min(2*wait, 5*time.Millisecond) {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = unix.Flock(fd, unix.LOCK_UN) }, true, nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return func() {}, false, nil
		case time.Now().After(deadline):
			return nil, false, fmt.Errorf("another process holds the lock of directory %s for over %v", dir.Name(), lockWait)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, false, ctx.Err()
		case <-t.C:
		}
	}
}

func ignoringEINTR(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
