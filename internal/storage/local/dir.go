package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/internal/storage"
)

// maxDurable bounds the memory of directories known to be on disk; forgetting one costs an fsync of its parents.
const maxDurable = 1 << 14

func (s *Store) openDir(dir string) (*os.File, error) {
	if dir == "" {
		dir = "."
	}
	return s.root.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
}

// makeDir opens dir ("" for the root) for a write, making it and its parents when missing, and sees to it that its name is
// on disk: a file whose directory is lost in a power cut is lost too.
func (s *Store) makeDir(dir string) (*os.File, error) {
	for try := 1; ; try++ {
		d, err := s.tryMakeDir(dir)
		// Missing means that somebody prunes on the way down.
		if err == nil || !errors.Is(err, fs.ErrNotExist) || try == putTries {
			return d, err
		}
	}
}

func (s *Store) tryMakeDir(dir string) (*os.File, error) {
	d, err := s.openDir(dir)
	if err == nil && s.isDurable(dir) {
		return d, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		d.Close()
	}
	parent := ""
	for rest, more := dir, dir != ""; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		full := path.Join(parent, name)
		if err := s.makeOne(parent, full); err != nil {
			return nil, err
		}
		parent = full
	}
	return s.openDir(dir)
}

// makeOne makes the directory full in the existing directory parent.
func (s *Store) makeOne(parent, full string) error {
	err := s.sys.mkdir(s.root, full)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err != nil && s.isDurable(full) {
		return nil
	}
	p, err := s.openDir(parent)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := s.sys.sync(p, parent+"/"); err != nil {
		return fmt.Errorf("fsync of directory %q: %w", parent, err)
	}
	s.durable.Lock()
	defer s.durable.Unlock()
	if len(s.durable.dirs) >= maxDurable {
		s.durable.dirs = map[string]struct{}{"": {}}
	}
	s.durable.dirs[full] = struct{}{}
	return nil
}

func (s *Store) isDurable(dir string) bool {
	s.durable.Lock()
	defer s.durable.Unlock()
	_, ok := s.durable.dirs[dir]
	return ok
}

// gone reports whether the open directory has been removed.
func gone(d *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(d.Fd()), &st) == nil && st.Nlink == 0
}

// split returns the directory ("" for the root) and the last element.
func split(p string) (dir, name string) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "", p
	}
	return p[:i], p[i+1:]
}

// PruneEmpty implements storage.Pruner. Links are not followed. A directory that gets a file meanwhile stays.
func (s *Store) PruneEmpty(ctx context.Context, prefix string) error {
	if err := storage.CheckPrefix(prefix); err != nil {
		return err
	}
	dir := strings.TrimSuffix(prefix, "/")
	_, err := s.prune(ctx, dir)
	return err
}

// prune reports whether dir is gone afterwards.
func (s *Store) prune(ctx context.Context, dir string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("prune %s: %w", dir, err)
	}
	d, err := s.openDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, s.failed("prune", dir, err)
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return false, s.failed("prune", dir, err)
	}
	left := 0
	for _, e := range entries {
		if !e.IsDir() {
			left++
			continue
		}
		removed, err := s.prune(ctx, path.Join(dir, e.Name()))
		if err != nil {
			return false, err
		}
		if !removed {
			left++
		}
	}
	if left > 0 || dir == "" {
		return false, nil
	}
	return s.rmdir(dir)
}

func (s *Store) rmdir(dir string) (bool, error) {
	parent, name := split(dir)
	p, err := s.openDir(parent)
	if err != nil {
		return false, s.failed("prune", dir, err)
	}
	defer p.Close()
	err = s.sys.rmdir(p, name)
	switch {
	case errors.Is(err, unix.ENOENT):
		return true, nil
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EBUSY):
		return false, nil // somebody put a file there, it is a link, or it is a mount point
	case err != nil:
		return false, s.failed("prune", dir, err)
	}
	s.durable.Lock()
	delete(s.durable.dirs, dir)
	s.durable.Unlock()
	return true, nil
}
