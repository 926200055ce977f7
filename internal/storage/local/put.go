package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/internal/storage"
)

const (
	writeBuffer = 64 << 10 // bytes; larger writes pass it by
	flushEvery  = 8 << 20  // bytes after which the kernel is asked to start writing, so that the final fsync is short
	// putTries bounds how often a put starts again because its directory was pruned under it. Each time somebody else must
	// have removed a directory in a window of microseconds.
	putTries = 100
)

// Put implements storage.Store.
func (s *Store) Put(ctx context.Context, path string, data []byte, mode storage.PutMode) (storage.Info, error) {
	t, err := s.newTemp(ctx, path, mode)
	if err != nil {
		return storage.Info{}, err
	}
	if _, err := t.f.Write(data); err != nil {
		return storage.Info{}, errors.Join(s.failed("write", path, err), t.discard())
	}
	return t.publish(mode, "")
}

// PutIfMatch implements storage.Replacer. etag is that of an Info of this store.
func (s *Store) PutIfMatch(ctx context.Context, path string, data []byte, etag string) (storage.Info, error) {
	if etag == "" {
		return storage.Info{}, fmt.Errorf("put %s: the expected etag is empty: %w", path, fs.ErrInvalid)
	}
	t, err := s.newTemp(ctx, path, storage.PutReplace)
	if err != nil {
		return storage.Info{}, err
	}
	if _, err := t.f.Write(data); err != nil {
		return storage.Info{}, errors.Join(s.failed("write", path, err), t.discard())
	}
	return t.publish(storage.PutReplace, etag)
}

// Create implements storage.Store.
func (s *Store) Create(ctx context.Context, path string, mode storage.PutMode) (storage.Writer, error) {
	t, err := s.newTemp(ctx, path, mode)
	if err != nil {
		return nil, err
	}
	return &writer{t: t, mode: mode, buf: bufio.NewWriterSize(t.f, writeBuffer)}, nil
}

type writer struct {
	t       *temp
	mode    storage.PutMode
	buf     *bufio.Writer
	ended   bool
	pending int64 // bytes since the last flush to the kernel's writer
	off     int64 // bytes written so far
}

func (w *writer) Write(p []byte) (int, error) {
	if w.ended {
		return 0, fmt.Errorf("write %s after its end: %w", w.t.path, fs.ErrClosed)
	}
	n, err := w.buf.Write(p)
	if err != nil {
		return n, w.t.s.failed("write", w.t.path, err)
	}
	w.off += int64(n)
	w.pending += int64(n)
	if w.pending >= flushEvery && !w.t.s.opts.NoSync {
		// A hint, not a promise: errors come back from fsync.
		_ = unix.SyncFileRange(int(w.t.f.Fd()), w.off-w.pending, w.pending, unix.SYNC_FILE_RANGE_WRITE)
		w.pending = 0
	}
	return n, nil
}

func (w *writer) Commit() (storage.Info, error) {
	if w.ended {
		return storage.Info{}, fmt.Errorf("commit %s a second time: %w", w.t.path, fs.ErrClosed)
	}
	w.ended = true
	if err := w.buf.Flush(); err != nil {
		return storage.Info{}, errors.Join(w.t.s.failed("write", w.t.path, err), w.t.discard())
	}
	return w.t.publish(w.mode, "")
}

func (w *writer) Abort() error {
	if w.ended {
		return nil
	}
	w.ended = true
	return w.t.discard()
}

// temp is a file that is not published yet.
type temp struct {
	s    *Store
	ctx  context.Context
	path string   // where it shall be
	base string   // last element of path
	dir  *os.File // the directory of path
	f    *os.File
	name string // its name in dir; "" while it has none
}

func (s *Store) newTemp(ctx context.Context, path string, mode storage.PutMode) (*temp, error) {
	if err := s.check(ctx, path); err != nil {
		return nil, err
	}
	dir, base := split(path)
	t := &temp{s: s, ctx: ctx, path: path, base: base}
	for try := 1; ; try++ {
		d, err := s.makeDir(dir)
		if err != nil {
			return nil, t.failed(err)
		}
		t.dir = d
		if err = t.openFile(mode); err == nil {
			return t, nil
		}
		// A removed directory answers with several errors (EPERM for a file without a name): ask it, not them.
		retry := gone(d) && try < putTries
		err = errors.Join(err, d.Close())
		if !retry {
			return nil, t.failed(err)
		}
	}
}

// openFile opens the temporary: one without a name can be linked but cannot replace a file.
func (t *temp) openFile(mode storage.PutMode) error {
	if mode == storage.PutIfAbsent {
		// Loses early where it would lose anyway, before any bytes are written.
		var st unix.Stat_t
		if unix.Fstatat(int(t.dir.Fd()), t.base, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			return t.taken()
		}
		if !t.s.noAnon.Load() {
			f, err := t.s.sys.anonymous(t.dir)
			if err == nil {
				t.f, t.name = f, ""
				return nil
			}
			if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EINVAL) {
				return err
			}
			t.s.noAnon.Store(true)
		}
	}
	name := tempName()
	f, err := t.s.sys.named(t.dir, name)
	if err != nil {
		return err
	}
	t.f, t.name = f, name
	return nil
}

// failed words the error of a write; unlike a read, a parent that is a file is not a missing object.
func (t *temp) failed(err error) error {
	if errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("put %s: a parent of it is a file: %w", t.path, err)
	}
	if errors.Is(err, storage.ErrExists) {
		return err
	}
	return t.s.failed("put", t.path, err)
}

// discard removes the temporary and releases everything.
func (t *temp) discard() error {
	var err error
	if t.name != "" {
		if e := t.s.sys.unlink(t.dir, t.name); e != nil && !errors.Is(e, unix.ENOENT) {
			err = t.s.failed("remove the temporary file of", t.path, e)
		}
	}
	return errors.Join(err, t.f.Close(), t.dir.Close())
}

// publish makes the bytes durable, gives them their name and ends t. expect, if not "", is the etag of the only version
// that may be replaced.
func (t *temp) publish(mode storage.PutMode, expect string) (storage.Info, error) {
	err := t.s.sys.sync(t.f, t.path)
	if err != nil {
		err = fmt.Errorf("fsync %s: %w", t.path, err)
	}
	if err == nil {
		err = t.ctx.Err() // the last moment at which nothing has changed
	}
	if err != nil {
		return storage.Info{}, errors.Join(t.failed(err), t.discard())
	}
	if mode == storage.PutIfAbsent {
		err = t.link()
	} else {
		err = t.replace(expect)
	}
	if err != nil {
		return storage.Info{}, errors.Join(err, t.discard())
	}
	return t.finish()
}

// finish forces the new name to disk. From here on the object is visible: a failure means that it may not outlive a power cut.
func (t *temp) finish() (storage.Info, error) {
	fi, err := t.f.Stat()
	dir, _ := split(t.path)
	if e := t.s.sys.sync(t.dir, dir+"/"); e != nil {
		err = errors.Join(err, fmt.Errorf("fsync of its directory: %w", e))
	}
	err = errors.Join(err, t.f.Close(), t.dir.Close())
	if err != nil {
		return storage.Info{}, fmt.Errorf("put %s: it is visible but may not be on disk: %w: %w", t.path, storage.ErrAmbiguous, err)
	}
	return info(t.path, fi), nil
}

// link publishes under a name that must be free.
func (t *temp) link() error {
	if t.name == "" {
		for try := 1; ; try++ {
			err := t.s.sys.linkAnonymous(t.f, t.dir, t.base)
			switch {
			case err == nil:
				return nil
			case errors.Is(err, unix.EEXIST):
				return t.taken()
			case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.EIO), errors.Is(err, unix.EROFS):
				return t.failed(err)
			case gone(t.dir) && try < putTries:
				if err := t.reopenDir(); err != nil {
					return t.failed(err)
				}
				continue
			}
			// No /proc, or a file system that cannot link such files: go on with a named copy.
			t.s.log.Debug("files without a name cannot be published here", "path", t.path, "err", err)
			t.s.noAnon.Store(true)
			if err := t.copyToNamed(); err != nil {
				return t.failed(err)
			}
			break
		}
	}
	err := t.s.sys.linkNamed(t.dir, t.name, t.base)
	switch {
	case err == nil:
		// The second name goes; when that fails the file is published all the same and SweepTemps will find it.
		if err := t.s.sys.unlink(t.dir, t.name); err != nil {
			t.s.log.Warn("a temporary file stays", "path", t.path, "name", t.name, "err", err)
		}
		return nil
	case errors.Is(err, unix.EEXIST):
		return t.taken()
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EMLINK):
		return t.renameNoReplace(err)
	}
	return t.failed(err)
}

// renameNoReplace is for file systems without hard links.
func (t *temp) renameNoReplace(linkErr error) error {
	err := t.s.sys.renameNoReplace(t.dir, t.name, t.base)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EEXIST):
		return t.taken()
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("put %s: the file system of %s has neither hard links (%w) nor renames that do not replace (%w), so two writers could both win; move the table to another file system",
			t.path, t.s.dir, linkErr, err)
	}
	return t.failed(err)
}

func (t *temp) reopenDir() error {
	dir, _ := split(t.path)
	d, err := t.s.makeDir(dir)
	if err != nil {
		return err
	}
	old := t.dir
	t.dir = d
	return old.Close()
}

func (t *temp) copyToNamed() error {
	name := tempName()
	f, err := t.s.sys.named(t.dir, name)
	if err != nil {
		return err
	}
	old := t.f
	t.f, t.name = f, name
	if _, err := old.Seek(0, io.SeekStart); err != nil {
		return errors.Join(err, old.Close())
	}
	if _, err := io.Copy(f, old); err != nil {
		return errors.Join(err, old.Close())
	}
	return errors.Join(t.s.sys.sync(f, t.path), old.Close())
}

// taken says what holds the name.
func (t *temp) taken() error {
	var st unix.Stat_t
	if err := unix.Fstatat(int(t.dir.Fd()), t.base, &st, unix.AT_SYMLINK_NOFOLLOW); err == nil {
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			return fmt.Errorf("put %s: a directory has that name: %w", t.path, unix.EISDIR)
		case unix.S_IFLNK:
			if _, err := t.s.root.Stat(t.path); err != nil {
				return t.s.failed("put over the symbolic link", t.path, err)
			}
		}
	}
	return fmt.Errorf("put %s: %w", t.path, storage.ErrExists)
}

// replace publishes over what is there, under the lock of the directory.
func (t *temp) replace(expect string) error {
	unlock, ok, err := t.s.sys.lock(t.ctx, t.dir)
	if err != nil {
		return t.failed(err)
	}
	defer unlock()
	if !ok && expect != "" {
		return fmt.Errorf("put %s if it is %s: directories cannot be locked on this file system: %w", t.path, expect, errors.ErrUnsupported)
	}
	var old, mine unix.Stat_t
	err = ignoringEINTR(func() error { return unix.Fstatat(int(t.dir.Fd()), t.base, &old, unix.AT_SYMLINK_NOFOLLOW) })
	switch {
	case errors.Is(err, unix.ENOENT) && expect != "":
		return fmt.Errorf("put %s: it is gone: %w (%w)", t.path, storage.ErrPrecondition, fs.ErrNotExist)
	case errors.Is(err, unix.ENOENT):
		return t.renameOver()
	case err != nil:
		return t.failed(err)
	}
	if have := etag(old.Ino, old.Mtim.Nano(), old.Size); expect != "" && have != expect {
		return fmt.Errorf("put %s: have version %s, want %s: %w", t.path, have, expect, storage.ErrPrecondition)
	}
	// The clock of the file system ticks in milliseconds and inode numbers are used again: without this, a version could
	// get the etag of one before it.
	if err := unix.Fstat(int(t.f.Fd()), &mine); err != nil {
		return t.failed(err)
	}
	if mine.Mtim.Nano() <= old.Mtim.Nano() {
		ts := unix.NsecToTimespec(old.Mtim.Nano() + 1)
		if err := unix.UtimesNanoAt(int(t.dir.Fd()), t.name, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return t.failed(err)
		}
	}
	return t.renameOver()
}

func (t *temp) renameOver() error {
	if err := t.s.sys.rename(t.dir, t.name, t.base); err != nil {
		return t.failed(err)
	}
	t.name = ""
	return nil
}

// Delete implements storage.Store. Directories that become empty stay; see PruneEmpty.
func (s *Store) Delete(ctx context.Context, path string) error {
	if err := s.check(ctx, path); err != nil {
		return err
	}
	dir, base := split(path)
	d, err := s.openDir(dir)
	if err != nil {
		return s.failed("delete", path, err)
	}
	defer d.Close()
	if err := s.unlink(ctx, d, base); err != nil {
		return s.failed("delete", path, err)
	}
	if err := s.sys.sync(d, dir+"/"); err != nil {
		return fmt.Errorf("delete %s: it is gone but may come back after a power cut: %w: %w", path, storage.ErrAmbiguous, err)
	}
	return nil
}

func (s *Store) unlink(ctx context.Context, d *os.File, base string) error {
	unlock, _, err := s.sys.lock(ctx, d)
	if err != nil {
		return err
	}
	defer unlock()
	var st unix.Stat_t
	if err := unix.Fstatat(int(d.Fd()), base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if k := st.Mode & unix.S_IFMT; k != unix.S_IFREG && k != unix.S_IFLNK {
		return fmt.Errorf("%w: not a regular file", fs.ErrNotExist)
	}
	return s.sys.unlink(d, base)
}
