package local

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	tempPrefix = ".hudifs-"
	tempSuffix = ".tmp"
	tempDigits = 16
)

func tempName() string {
	var b [tempDigits / 2]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return tempPrefix + hex.EncodeToString(b[:]) + tempSuffix
}

// isTemp reports whether name is one of ours. Only the exact form is: other programs' hidden files are objects.
func isTemp(name string) bool {
	if len(name) != len(tempPrefix)+tempDigits+len(tempSuffix) || !strings.HasPrefix(name, tempPrefix) || !strings.HasSuffix(name, tempSuffix) {
		return false
	}
	for _, c := range []byte(name[len(tempPrefix) : len(tempPrefix)+tempDigits]) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// SweepTemps removes the temporary files below the root that are older than age and that no living process is writing, and
// returns how many. It walks the whole tree: call it once, in the background.
func (s *Store) SweepTemps(ctx context.Context, age time.Duration) (int, error) {
	return s.sweep(ctx, ".", time.Now().Add(-age))
}

func (s *Store) sweep(ctx context.Context, dir string, before time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("sweep temporary files: %w", err)
	}
	d, err := s.root.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, s.failed("sweep", dir, err)
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, s.failed("sweep", dir, err)
	}
	n := 0
	for _, e := range entries {
		switch {
		case e.IsDir():
			k, err := s.sweep(ctx, path.Join(dir, e.Name()), before)
			n += k
			if err != nil {
				return n, err
			}
		case e.Type().IsRegular() && isTemp(e.Name()):
			removed, err := s.sweepOne(d, e.Name(), before)
			if err != nil {
				return n, fmt.Errorf("sweep %s/%s: %w", dir, e.Name(), err)
			}
			if removed {
				n++
				s.log.Info("removed a temporary file that a killed process left", "path", path.Join(dir, e.Name()))
			}
		}
	}
	return n, nil
}

// sweepOne removes one temporary unless it is young or its writer lives: writers hold a lock on their temporaries.
func (s *Store) sweepOne(d *os.File, name string, before time.Time) (bool, error) {
	fd, err := unix.Openat(int(d.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false, err
	}
	if !time.Unix(st.Mtim.Unix()).Before(before) {
		return false, nil
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return false, nil // in use, or locks do not work here: leave it
	}
	err = s.sys.unlink(d, name)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	return err == nil, err
}
