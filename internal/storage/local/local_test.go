package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
)

// Every way to publish keeps the whole contract: the usual one, and those of poorer file systems.
func TestSuite(t *testing.T) {
	for name, prepare := range map[string]func(s *Store){
		"usual":            func(*Store) {},
		"no unnamed files": func(s *Store) { s.noAnon.Store(true) },
		"no /proc": func(s *Store) {
			s.sys.hook = func(op, _ string) error {
				if op == "link-fd" {
					s.noAnon.Store(false) // every write finds out anew
					return unix.ENOENT
				}
				return nil
			}
		},
		"no hard links": func(s *Store) {
			s.noAnon.Store(true)
			s.sys.hook = func(op, _ string) error {
				if op == "link" {
					return unix.EPERM
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "usual" {
				t.Skip("in short runs only the usual way")
			}
			storagetest.Run(t, func(t *testing.T) storage.Store {
				s, err := Open(t.TempDir(), Options{NoSync: true})
				if err != nil {
					t.Fatal(err)
				}
				prepare(s)
				return s
			})
		})
	}
}

func put(t testing.TB, s *Store, path, data string) storage.Info {
	t.Helper()
	i, err := s.Put(t.Context(), path, []byte(data), storage.PutReplace)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func list(t testing.TB, s *Store, prefix string, o storage.ListOptions) (paths []string, err error) {
	t.Helper()
	for i, err := range s.List(t.Context(), prefix, o) {
		if err != nil {
			return paths, err
		}
		paths = append(paths, i.Path)
	}
	return paths, nil
}

func wantList(t testing.TB, s *Store, want ...string) {
	t.Helper()
	got, err := list(t, s, "", storage.ListOptions{Recursive: true})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("List = %q, %v; want %q", got, err, want)
	}
}

func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if _, err := Open(dir, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of a missing directory: %v, want fs.ErrNotExist", err)
	}
	s, err := Open(dir, Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put(t, s, "x", "1") // with fsync
	wantList(t, s, "x")
	if _, err := Open(filepath.Join(dir, "x"), Options{}); err == nil {
		t.Error("Open of a file succeeds")
	}
	if got, want := s.URL(), "file://"+dir; got != want {
		t.Errorf("URL = %q, want %q", got, want)
	}
}

// Only our own temporaries are hidden; hidden files of Java writers are objects.
func TestHiddenFiles(t *testing.T) {
	s := openT(t, Options{NoSync: true})
	temp := tempName()
	for _, p := range []string{".hoodie_partition_metadata", ".x.parquet.crc", ".hudifs-0123456789abcdeg.tmp", ".hudifs-0123456789abcdef.tmp2", temp} {
		if err := os.WriteFile(filepath.Join(s.dir, p), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wantList(t, s, ".hoodie_partition_metadata", ".hudifs-0123456789abcdef.tmp2", ".hudifs-0123456789abcdeg.tmp", ".x.parquet.crc")
	if _, err := s.Stat(t.Context(), temp); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("Stat of a temporary: %v, want fs.ErrInvalid", err)
	}
	if _, err := s.Put(t.Context(), "d/"+temp, nil, storage.PutIfAbsent); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("Put under the name of a temporary: %v, want fs.ErrInvalid", err)
	}
}

func TestTempNames(t *testing.T) {
	a, b := tempName(), tempName()
	if !isTemp(a) || !isTemp(b) || a == b {
		t.Errorf("temporary names %q and %q", a, b)
	}
	for _, name := range []string{"", ".hudifs-.tmp", ".hudifs-0123456789ABCDEF.tmp", "x.hudifs-0123456789abcdef.tmp", ".hudifs-0123456789abcdef"} {
		if isTemp(name) {
			t.Errorf("isTemp(%q) = true", name)
		}
	}
}

func TestSymbolicLinks(t *testing.T) {
	s := openT(t, Options{NoSync: true})
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, "real/f", "bytes")
	link("real", "dir")
	link("real/f", "file")
	link("nowhere", "dangling")
	wantList(t, s, "dir/f", "file", "real/f")
	got, err := list(t, s, "", storage.ListOptions{})
	if err != nil || !slices.Equal(got, []string{"dir/", "file", "real/"}) {
		t.Errorf("List of one level = %q, %v", got, err)
	}
	for _, p := range []string{"dir/f", "file"} {
		if b, err := s.ReadAll(t.Context(), p); string(b) != "bytes" || err != nil {
			t.Errorf("ReadAll(%q) = %q, %v", p, b, err)
		}
	}
	if _, err := s.Stat(t.Context(), "dangling"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat of a link that leads nowhere: %v", err)
	}
	if _, err := s.Put(t.Context(), "dangling", nil, storage.PutIfAbsent); err == nil || errors.Is(err, storage.ErrExists) {
		t.Errorf("PutIfAbsent over a link that leads nowhere: %v, want an error that is not ErrExists", err)
	}
	// A write replaces the link and not what it leads to; a delete removes the link.
	put(t, s, "file", "new")
	if b, _ := s.ReadAll(t.Context(), "real/f"); string(b) != "bytes" {
		t.Errorf("a write over a link changed its target to %q", b)
	}
	for _, c := range []struct{ target, name string }{{secret, "escape"}, {outside, "out"}, {"../../../../../../etc", "up"}} {
		link(c.target, c.name)
		path := c.name
		if c.name != "escape" {
			path += "/secret"
		}
		for what, err := range map[string]error{
			"Stat":      second(s.Stat(t.Context(), path)),
			"ReadAll":   second(s.ReadAll(t.Context(), path)),
			"OpenLocal": second(s.OpenLocal(t.Context(), path)),
		} {
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "leads out of") {
				t.Errorf("%s(%q) through a link that leads out: %v, want a refusal that says so", what, path, err)
			}
		}
		if c.name != "escape" {
			if _, err := s.Put(t.Context(), c.name+"/new", nil, storage.PutIfAbsent); err == nil {
				t.Errorf("Put through the link %s succeeds", c.name)
			}
		}
		if got, err := list(t, s, "", storage.ListOptions{Recursive: true}); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("List over the link %s = %q, %v; want a refusal, not a shorter list", c.name, got, err)
		}
		if err := s.Delete(t.Context(), c.name); err != nil {
			t.Errorf("Delete of the link %s: %v", c.name, err)
		}
	}
	if _, err := os.Stat(secret); err != nil {
		t.Errorf("the file outside: %v", err)
	}
	link(".", "loop")
	if got, err := list(t, s, "", storage.ListOptions{Recursive: true}); err == nil || !strings.Contains(err.Error(), "circle") {
		t.Errorf("List over a loop = %q, %v; want an error", got, err)
	}
}

func second[T any](_ T, err error) error { return err }

// Things that are neither files nor directories are no objects, and opening one does not wait.
func TestSpecialFiles(t *testing.T) {
	s := openT(t, Options{NoSync: true})
	if err := unix.Mkfifo(filepath.Join(s.dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	put(t, s, "a", "")
	wantList(t, s, "a")
	for what, err := range map[string]error{
		"Stat": second(s.Stat(t.Context(), "pipe")), "Open": second(s.Open(t.Context(), "pipe")), "Delete": s.Delete(t.Context(), "pipe"),
	} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of a pipe: %v, want fs.ErrNotExist", what, err)
		}
	}
	if _, err := s.Put(t.Context(), "a/below", nil, storage.PutIfAbsent); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "a parent of it is a file") {
		t.Errorf("Put below an object: %v, want an error that says so", err)
	}
	if err := os.Mkdir(filepath.Join(s.dir, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []storage.PutMode{storage.PutIfAbsent, storage.PutReplace} {
		if _, err := s.Put(t.Context(), "dir", nil, mode); err == nil || errors.Is(err, storage.ErrExists) {
			t.Errorf("Put in the place of a directory: %v, want an error that is not ErrExists", err)
		}
	}
	if _, err := s.Stat(t.Context(), strings.Repeat("n", 300)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat of a name that is too long: %v, want fs.ErrNotExist", err)
	}
	if _, err := s.Put(t.Context(), strings.Repeat("n", 300), nil, storage.PutReplace); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Put of a name that is too long: %v, want an error that is not fs.ErrNotExist", err)
	}
	if names := tempsBelow(t, s.dir); len(names) != 0 {
		t.Errorf("failed writes leave %v", names)
	}
}

// Temporaries of the dead are swept when they are old; those of the living stay.
func TestSweepTemps(t *testing.T) {
	s := openT(t, Options{NoSync: true})
	w, err := s.Create(t.Context(), "d/alive", storage.PutReplace)
	if err != nil {
		t.Fatal(err)
	}
	dead, young := filepath.Join("d", tempName()), tempName()
	for _, p := range []string{dead, young, "keep"} {
		if err := os.WriteFile(filepath.Join(s.dir, p), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range append(tempPaths(t, s.dir, "d"), filepath.Join(s.dir, "keep")) {
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(p, old, old); err != nil {
			t.Fatal(err)
		}
	}
	n, err := s.SweepTemps(t.Context(), time.Minute)
	if n != 1 || err != nil {
		t.Errorf("SweepTemps = %d, %v; want 1", n, err)
	}
	for p, want := range map[string]bool{dead: false, young: true, "keep": true} {
		if _, err := os.Stat(filepath.Join(s.dir, p)); (err == nil) != want {
			t.Errorf("after the sweep %s is there: %v, want %v", p, err == nil, want)
		}
	}
	if _, err := w.Write([]byte("bytes")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); err != nil {
		t.Errorf("Commit of a writer that lived through the sweep: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.SweepTemps(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("SweepTemps with a cancelled context: %v", err)
	}
}

func tempPaths(t *testing.T, dir, sub string) (paths []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, sub))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if isTemp(e.Name()) {
			paths = append(paths, filepath.Join(dir, sub, e.Name()))
		}
	}
	return paths
}

// Writers whose directory is pruned under them make it again.
func TestPruneBesideWriters(t *testing.T) {
	s := openT(t, Options{NoSync: true})
	stop := make(chan struct{})
	var wg, pruner sync.WaitGroup
	pruner.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := s.PruneEmpty(t.Context(), "m/"); err != nil {
					t.Errorf("PruneEmpty: %v", err)
					return
				}
			}
		}
	})
	for g := range 3 {
		wg.Go(func() {
			for i := range 60 {
				p := fmt.Sprintf("m/%d/%d/o", i%3, g)
				if err := publish(t.Context(), s, p, i); err != nil {
					t.Errorf("a write beside PruneEmpty: %v", err)
					return
				}
				if err := s.Delete(t.Context(), p); err != nil {
					t.Errorf("Delete beside PruneEmpty: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	pruner.Wait()
}

func publish(ctx context.Context, s *Store, p string, i int) error {
	if i%2 == 0 {
		_, err := s.Put(ctx, p, []byte("x"), storage.PutMode(i/2%2))
		return err
	}
	w, err := s.Create(ctx, p, storage.PutMode(i/2%2))
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte("x")); err != nil {
		return errors.Join(err, w.Abort())
	}
	_, err = w.Commit()
	return err
}

// The etag is never one that an earlier version had, however fast the versions follow each other.
func TestETagsAreNotUsedAgain(t *testing.T) {
	s := openT(t, Options{NoSync: true})
	seen := make(map[string]int)
	for i := range 2000 {
		e := put(t, s, "lock", "same").ETag
		if j, ok := seen[e]; ok {
			t.Fatalf("version %d has the etag of version %d: %s", i, j, e)
		}
		seen[e] = i
	}
}

// Also not where the clock stands still: the file system gives many versions one time.
func TestETagsWithAStandingClock(t *testing.T) {
	s := openT(t, Options{NoSync: true})
	last := put(t, s, "lock", "same")
	ahead := time.Now().Add(time.Hour) // every version now comes from the past
	if err := os.Chtimes(filepath.Join(s.dir, "lock"), ahead, ahead); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		i := put(t, s, "lock", "same")
		if !i.ModTime.After(last.ModTime) || i.ModTime.Before(ahead) {
			t.Errorf("a version has the time %v, want one after %v", i.ModTime, ahead)
		}
		last = i
	}
}

// Whatever changes a name that is there does so under the lock of its directory.
func TestChangesHoldTheLock(t *testing.T) {
	s := openT(t, Options{NoSync: true})
	i := put(t, s, "d/o", "1")
	seen := 0
	s.sys.hook = func(op, name string) error {
		if op != "rename" && (op != "unlink" || isTemp(name)) {
			return nil
		}
		seen++
		fd, err := unix.Open(filepath.Join(s.dir, "d"), unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			t.Errorf("%s %s: the lock of the directory is free (%v)", op, name, err)
		}
		return nil
	}
	if _, err := s.PutIfMatch(t.Context(), "d/o", []byte("2"), i.ETag); err != nil {
		t.Fatal(err)
	}
	put(t, s, "d/o", "3")
	put(t, s, "d/new", "1")
	if err := s.Delete(t.Context(), "d/o"); err != nil {
		t.Fatal(err)
	}
	if seen != 4 {
		t.Errorf("%d changes seen, want 4", seen)
	}
	s.sys.hook = nil

	// A writer waits for the lock, and leaves with its context.
	d, err := os.Open(filepath.Join(s.dir, "d"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	unlock, ok, err := s.sys.lock(t.Context(), d)
	if err != nil || !ok {
		t.Fatalf("lock: %v, %v", ok, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.Put(ctx, "d/new", []byte("2"), storage.PutReplace); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Put beside a holder of the lock: %v, want DeadlineExceeded", err)
	}
	unlock()
	put(t, s, "d/new", "2")
	if names := tempsBelow(t, s.dir); len(names) != 0 {
		t.Errorf("%v are left", names)
	}
}

// An object that a foreign writer cuts short while it is open gives an error, not zeros.
func TestForeignTruncation(t *testing.T) {
	s := openT(t, Options{NoSync: true})
	put(t, s, "x", "0123456789")
	o, err := s.Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := os.Truncate(filepath.Join(s.dir, "x"), 4); err != nil {
		t.Fatal(err)
	}
	if n, err := o.ReadAt(make([]byte, 6), 2); n != 2 || err != io.EOF {
		t.Errorf("ReadAt over the cut = %d, %v; want 2, io.EOF", n, err)
	}
}
