// Package local keeps the objects of a store as files below one directory.
//
// It knows paths, files, links and fsync. It must never know what a file means.
//
// # What a caller can rely on
//
// An object is published by one system call: link(2), which fails when the name is taken, so that exactly one of many
// creators wins, or rename(2), which replaces. Before that call the bytes are on disk (fsync of the file), and before the
// method returns the name is (fsync of the directory, and of the parents of directories that were made). So nothing
// half-written is ever visible, not even after a power cut.
//
// Bytes that are not published yet lie in files without a name (O_TMPFILE) where the file system can, and otherwise in
// files named ".hudifs-<16 hex digits>.tmp" beside their target. Listings do not show the latter, and SweepTemps removes those
// that a killed process left. Hidden files of others (".hoodie_partition_metadata", ".crc" files) are ordinary objects.
//
// Symbolic links that stay below the root are followed. One that leads out of it is an error and never read: whoever may
// put a link into the table must not be able to make a process with more rights read files elsewhere.
//
// PutReplace, PutIfMatch and Delete hold an exclusive flock(2) on the directory of the object while they change it; that
// makes PutIfMatch exact among processes that use this package, not against programs that ignore the lock.
//
// The root directory is opened once. When it is moved the store moves with it; when another directory takes its place,
// open a new store.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/internal/storage"
)

// Options of Open. The zero value is the safe default.
type Options struct {
	Create bool         // make the root directory when it is missing
	NoSync bool         // leave out every fsync: for tests and throw-away data only
	Log    *slog.Logger // nil discards
}

// Store is a storage.Store over a directory.
type Store struct {
	root    *os.Root
	dir     string // absolute path of the root, for messages
	opts    Options
	log     *slog.Logger
	escapes error       // what os.Root says of a path that leads out of it
	sys     sys         // the system calls that change something
	noAnon  atomic.Bool // files without a name do not work here

	durable struct {
		sync.Mutex
		dirs map[string]struct{} // directories whose names are known to be on disk
	}
}

var (
	_ storage.Store       = (*Store)(nil)
	_ storage.LocalOpener = (*Store)(nil)
	_ storage.Replacer    = (*Store)(nil)
	_ storage.Pruner      = (*Store)(nil)
)

// Open opens the directory root, which must exist unless o.Create.
func Open(root string, o Options) (*Store, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("open the directory %s: %w", root, err)
	}
	if o.Create {
		if err := os.MkdirAll(abs, 0o777); err != nil {
			return nil, fmt.Errorf("make the directory of a table: %w", err)
		}
	}
	r, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("open the directory of a table: %w", err)
	}
	s := &Store{root: r, dir: abs, opts: o, log: o.Log, sys: sys{noSync: o.NoSync}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.durable.dirs = map[string]struct{}{"": {}}
	var pe *fs.PathError
	if _, err := r.Stat(".."); errors.As(err, &pe) {
		s.escapes = pe.Err
	}
	return s, nil
}

// Properties: everything a store can promise.
func (s *Store) Properties() storage.Properties {
	return storage.Properties{AtomicPutIfAbsent: true, ListAfterWrite: true, ConditionalPut: true, Local: true}
}

// URL is the root as a file URL.
func (s *Store) URL() string { return "file://" + s.dir }

// Dir is the absolute path of the root.
func (s *Store) Dir() string { return s.dir }

// Close releases the root. Open objects stay readable.
func (s *Store) Close() error { return s.root.Close() }

// Stat implements storage.Store. A directory is no object.
func (s *Store) Stat(ctx context.Context, path string) (storage.Info, error) {
	if err := s.check(ctx, path); err != nil {
		return storage.Info{}, err
	}
	fi, err := s.root.Stat(path)
	if err != nil {
		return storage.Info{}, s.failed("stat", path, err)
	}
	if !fi.Mode().IsRegular() {
		return storage.Info{}, notAFile("stat", path)
	}
	return info(path, fi), nil
}

// OpenLocal opens the file itself, for reading. The caller closes it.
func (s *Store) OpenLocal(ctx context.Context, path string) (*os.File, error) {
	f, _, err := s.open(ctx, path)
	return f, err
}

func (s *Store) open(ctx context.Context, path string) (*os.File, fs.FileInfo, error) {
	if err := s.check(ctx, path); err != nil {
		return nil, nil, err
	}
	// O_NONBLOCK, or opening a pipe that somebody put there would wait for a writer.
	f, err := s.root.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, s.failed("open", path, err)
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = notAFile("open", path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, fi, nil
}

// Open implements storage.Store. The object keeps showing the version it was opened at, also when that is replaced or deleted.
func (s *Store) Open(ctx context.Context, path string) (storage.Object, error) {
	f, fi, err := s.open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &object{ctx: ctx, f: f, info: info(path, fi)}, nil
}

type object struct {
	ctx  context.Context // of Open; the contract of storage.Object
	f    *os.File
	info storage.Info
}

func (o *object) ReadAt(p []byte, off int64) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, fmt.Errorf("read %s: %w", o.info.Path, err)
	}
	return o.f.ReadAt(p, off)
}

func (o *object) Info() storage.Info { return o.info }
func (o *object) Close() error       { return o.f.Close() }

// ReadAll implements storage.Store.
func (s *Store) ReadAll(ctx context.Context, path string) ([]byte, error) {
	f, fi, err := s.open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, fi.Size())
	if _, err := io.ReadFull(f, buf); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return buf, nil
}

// check is the head of every method: a live context, a path that can name an object and that is not one of our temporaries.
func (s *Store) check(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("access %s: %w", path, err)
	}
	if err := storage.CheckPath(path); err != nil {
		return err
	}
	if isTemp(filepath.Base(path)) {
		return fmt.Errorf("object path %q is a name of temporary files: %w", path, fs.ErrInvalid)
	}
	return nil
}

// failed says what was done to which path, and maps errno to the errors of the contract.
func (s *Store) failed(op, path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err // its path is relative to a descriptor, ours says more
	}
	switch {
	case s.escapes != nil && errors.Is(err, s.escapes):
		return fmt.Errorf("%s %s: a symbolic link on the way leads out of %s; put the files themselves there: %w", op, path, s.dir, fs.ErrPermission)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG) && (op == "stat" || op == "open" || op == "delete"):
		return fmt.Errorf("%s %s: %w (%w)", op, path, fs.ErrNotExist, err)
	}
	return fmt.Errorf("%s %s: %w", op, path, err)
}

func notAFile(op, path string) error {
	return fmt.Errorf("%s %s: %w: not a regular file", op, path, fs.ErrNotExist)
}

func info(path string, fi fs.FileInfo) storage.Info {
	i := storage.Info{Path: path, Size: fi.Size(), ModTime: fi.ModTime()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		i.ETag = etag(st.Ino, st.Mtim.Nano(), fi.Size())
	}
	return i
}

// etag changes with every version that this package writes: each has an inode of its own while both exist, and a replacing
// version is never as old as what it replaces (see replace).
func etag(ino uint64, mtime, size int64) string {
	b := make([]byte, 0, 48)
	b = strconv.AppendUint(b, ino, 16)
	b = append(b, '-')
	b = strconv.AppendInt(b, mtime, 16)
	b = append(b, '-')
	return string(strconv.AppendInt(b, size, 16))
}

func statInfo(path string, st *unix.Stat_t) storage.Info {
	return storage.Info{Path: path, Size: st.Size, ModTime: time.Unix(st.Mtim.Unix()), ETag: etag(st.Ino, st.Mtim.Nano(), st.Size)}
}
