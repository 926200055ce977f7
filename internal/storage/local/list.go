package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/internal/storage"
)

// List implements storage.Store. It may show the prefix of a directory that holds no object. Entries that vanish meanwhile
// are left out; a directory that cannot be read is an error, never a shorter list.
func (s *Store) List(ctx context.Context, prefix string, o storage.ListOptions) iter.Seq2[storage.Info, error] {
	return func(yield func(storage.Info, error) bool) {
		if err := storage.CheckPrefix(prefix); err != nil {
			yield(storage.Info{}, err)
			return
		}
		l := &lister{s: s, ctx: ctx, o: o, yield: yield}
		l.walk(prefix, nil)
	}
}

type lister struct {
	s     *Store
	ctx   context.Context
	o     storage.ListOptions
	yield func(storage.Info, error) bool
}

// node identifies a directory, to notice links that lead round in a circle.
type node struct{ dev, ino uint64 }

// walk lists the directory whose path is prefix ("" or ending in a slash). It returns false when the listing is over.
func (l *lister) walk(prefix string, above []node) bool {
	if err := l.ctx.Err(); err != nil {
		return l.fail(prefix, err)
	}
	d, err := l.s.openDir(strings.TrimSuffix(prefix, "/"))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			return true
		}
		return l.fail(prefix, err)
	}
	defer d.Close()
	above, err = l.enter(d, above)
	if err != nil {
		return l.fail(prefix, err)
	}
	keys, err := l.keys(d, prefix)
	if err != nil {
		return l.fail(prefix, err)
	}
	for _, key := range keys {
		path := prefix + key
		if !strings.HasSuffix(key, "/") {
			if path <= l.o.StartAfter {
				continue
			}
			if !l.file(d, key, path) {
				return false
			}
			continue
		}
		if !l.directory(path, above) {
			return false
		}
	}
	return true
}

func (l *lister) directory(path string, above []node) bool {
	if l.o.Recursive {
		// Nothing below path can come after a greater StartAfter, unless that lies below path itself.
		if path < l.o.StartAfter && !strings.HasPrefix(l.o.StartAfter, path) {
			return true
		}
		return l.walk(path, above)
	}
	if path <= l.o.StartAfter {
		return true
	}
	return l.yield(storage.Info{Path: path, Prefix: true}, nil)
}

func (l *lister) fail(path string, err error) bool {
	l.yield(storage.Info{}, l.s.failed("list", path, err))
	return false
}

// enter puts d on the way down.
func (l *lister) enter(d *os.File, above []node) ([]node, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(d.Fd()), &st); err != nil {
		return nil, err
	}
	n := node{st.Dev, st.Ino}
	if slices.Contains(above, n) {
		return nil, errors.New("symbolic links lead round in a circle; remove the link")
	}
	return append(above, n), nil
}

// keys reads the names in d, those of directories with a final slash, in byte order. The slash makes the order that of the
// full paths: "a.b" comes before "a/x".
func (l *lister) keys(d *os.File, prefix string) ([]string, error) {
	entries, err := readDir(d)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	keys := make([]string, 0, len(entries))
	for _, e := range entries {
		mode := e.Type()
		if mode&fs.ModeSymlink != 0 {
			fi, err := l.s.root.Stat(prefix + e.Name())
			switch {
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
				continue // leads nowhere: no object
			case err != nil:
				return nil, fmt.Errorf("symbolic link %s: %w", e.Name(), err)
			}
			mode = fi.Mode().Type()
		}
		switch {
		case mode.IsDir():
			keys = append(keys, e.Name()+"/")
		case mode.IsRegular() && !isTemp(e.Name()):
			keys = append(keys, e.Name())
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// readDir reads a directory without asking for each entry's size: what os does for a directory opened through os.Root, and a lazy entry
// of a plain one does not.
func readDir(d *os.File) ([]os.DirEntry, error) {
	fd, err := unix.FcntlInt(d.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	plain := os.NewFile(uintptr(fd), d.Name())
	defer plain.Close()
	return plain.ReadDir(-1)
}

// file yields one file.
func (l *lister) file(d *os.File, name, path string) bool {
	if err := l.ctx.Err(); err != nil {
		return l.fail(path, err)
	}
	if l.o.NamesOnly {
		return l.yield(storage.Info{Path: path}, nil)
	}
	var st unix.Stat_t
	err := ignoringEINTR(func() error { return unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	switch {
	case errors.Is(err, unix.ENOENT):
		return true
	case err != nil:
		return l.fail(path, err)
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		i, err := l.s.Stat(l.ctx, path)
		if errors.Is(err, fs.ErrNotExist) {
			return true
		}
		return l.yield(i, err) && err == nil
	}
	return l.yield(statInfo(path, &st), nil)
}
