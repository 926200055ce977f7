package filecache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestOneProcessPerDirectory(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 1000)
	if _, err := Open(dir, 1000, nil); !errors.Is(err, ErrInUse) {
		t.Errorf("a second Open: %v, want ErrInUse", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, 1000)
	if _, err := Open(t.TempDir(), 0, nil); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("Open with no room: %v", err)
	}
}

func TestRecover(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 1000)
	for i, k := range []string{"a", "b", "c"} {
		get(t, c, k, 100)
		e := c.mu.entries[idOf(k)]
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		if k == "a" {
			at = time.Now() // used last
		}
		if err := os.Chtimes(c.path(e.name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, stray := range []string{"tmp/fill-1", "files/stray", "files/" + idOf("x").String(), "files/zz-1"} {
		if err := os.WriteFile(filepath.Join(dir, stray), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "files", idOf("d").String()+"-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	c = open(t, dir, 250) // room for two
	for k, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if got := c.Has(k); got != want {
			t.Errorf("after a restart Has(%q) = %v, want %v", k, got, want)
		}
		if n, ok := c.Size(k); !ok || n != 100 {
			t.Errorf("after a restart Size(%q) = %d, %v", k, n, ok)
		}
	}
	h, err := c.Get(t.Context(), "a", noFill)
	if err != nil {
		t.Fatal(err)
	}
	check(t, h, "a", 100)
	h.Close()
	if n, size := files(t, dir); n != 2 || size != 200 {
		t.Errorf("%d files of %d bytes, want 2 of 200", n, size)
	}
	if es, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(es) != 0 {
		t.Errorf("tmp still has %v", es)
	}
}

// After the machine has gone down, only files that are known to be on disk are used.
func TestRecoverAfterPowerCut(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 1000)
	for _, k := range []string{"durable", "young", "torn"} {
		get(t, c, k, 100)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	// Another boot; the log lost its word about "young", and "torn" lost bytes that it vouches for.
	if err := os.WriteFile(filepath.Join(dir, "boot"), []byte("another boot\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(dir, "sizes"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Write(appendSize(nil, idOf("young"), 100, onlySize)); err != nil {
		t.Fatal(err)
	}
	log.Close()
	torn, _ := filepath.Glob(filepath.Join(dir, "files", idOf("torn").String()+"-*"))
	if len(torn) != 1 || os.Truncate(torn[0], 50) != nil {
		t.Fatalf("no file to tear: %v", torn)
	}
	c = open(t, dir, 1000)
	for k, want := range map[string]bool{"durable": true, "young": false, "torn": false} {
		if got := c.Has(k); got != want {
			t.Errorf("Has(%q) = %v, want %v", k, got, want)
		}
		if n, ok := c.Size(k); !ok || n != 100 {
			t.Errorf("Size(%q) = %d, %v; want it remembered", k, n, ok)
		}
		get(t, c, k, 100)
	}
}

// A process that is killed at any point leaves a directory that serves whole files or none. The kill is a copy of the directory.
func TestKilledWhileFilling(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 1000)
	get(t, c, "whole", 100)
	h, err := c.Get(t.Context(), "half", func(ctx context.Context, f *os.File) error {
		f.Write([]byte("half"))
		killed := t.TempDir()
		if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
			return err
		}
		k, err := Open(killed, 1000, nil)
		if err != nil {
			return err
		}
		defer k.Close()
		if k.Has("half") || !k.Has("whole") {
			return fmt.Errorf("after the kill: half %v, whole %v", k.Has("half"), k.Has("whole"))
		}
		get(t, k, "whole", 100)
		get(t, k, "half", 100)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
}

// Somebody removes or cuts cached files, or the whole directory: the files are made again.
func TestForeignChanges(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 1000)
	for name, harm := range map[string]func(path string) error{
		"removed": os.Remove,
		"cut":     func(p string) error { return os.Truncate(p, 3) },
		"no folder": func(p string) error {
			return errors.Join(os.RemoveAll(filepath.Dir(p)), os.RemoveAll(filepath.Join(dir, "tmp")))
		},
	} {
		get(t, c, name, 100)
		if err := harm(c.path(c.mu.entries[idOf(name)].name)); err != nil {
			t.Fatal(err)
		}
		get(t, c, name, 100)
	}
}

func TestSizesLog(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 1000)
	for i := range 50 {
		get(t, c, fmt.Sprint("key", i), i)
	}
	c.Close()
	path := filepath.Join(dir, "sizes")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Cut anywhere, or with a flipped byte anywhere, it gives sizes that are right or missing.
	for i := 0; i < len(whole); i += 7 {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 0x11
		for _, b := range [][]byte{whole[:i], flipped} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			var s sizes
			if err := s.open(path, c.log); err != nil {
				t.Fatal(err)
			}
			missing := 0
			for k := range 50 {
				n, ok := s.get(idOf(fmt.Sprint("key", k)))
				if ok && n != int64(k) {
					t.Fatalf("damage at %d: the size of key%d is %d", i, k, n)
				}
				if !ok {
					missing++
				}
			}
			if bytes.Equal(b, flipped) && missing > 2 {
				t.Errorf("a flipped byte at %d loses %d sizes", i, missing)
			}
			s.close()
		}
	}
}

func TestSizesAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sizes")
	var s sizes
	if err := s.open(path, open(t, t.TempDir(), 1).log); err != nil {
		t.Fatal(err)
	}
	key := func(i int) id { return idOf(fmt.Sprint(i)) }
	const n = maxSizes + maxSizes/2
	for i := range n {
		s.put(key(i), int64(i), onlySize)
		s.put(key(0), 0, durable) // used all the time
	}
	if len(s.known) > maxSizes || len(s.order) > 2*maxSizes {
		t.Errorf("%d sizes, order of %d", len(s.known), len(s.order))
	}
	for _, c := range []struct {
		i    int
		want bool
	}{{0, true}, {1, false}, {maxSizes / 4, false}, {n - maxSizes + 1, true}, {n - 1, true}} {
		if got, ok := s.get(key(c.i)); ok != c.want || ok && got != int64(c.i) {
			t.Errorf("size of key %d = %d, %v; want known = %v", c.i, got, ok, c.want)
		}
	}
	if fi, err := os.Stat(path); err != nil || fi.Size() > maxLog {
		t.Errorf("the log: %v bytes, %v", fi.Size(), err)
	}
	s.close()
}

func FuzzParseSize(f *testing.F) {
	f.Add(appendSize(nil, idOf("a"), 12, durable))
	f.Add([]byte("x 1 S 0\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if k, size, state, ok := parseSize(line); ok && !bytes.Equal(appendSize(nil, k, size, state), line) {
			t.Errorf("%q parses as %v %d %c", line, k, size, state)
		}
	})
}
