package filecache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func open(t *testing.T, dir string, maxBytes int64) *Cache {
	t.Helper()
	c, err := Open(dir, maxBytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func content(key string, n int) []byte { return bytes.Repeat([]byte(key), n/len(key)+1)[:n] }

func filler(key string, n int) func(context.Context, *os.File) error {
	return func(_ context.Context, f *os.File) error {
		_, err := f.Write(content(key, n))
		return err
	}
}

func mustGet(t *testing.T, c *Cache, key string, n int) *Handle {
	t.Helper()
	h, err := c.Get(t.Context(), key, filler(key, n))
	if err != nil {
		t.Fatalf("Get(%q): %v", key, err)
	}
	return h
}

// get gets, checks the bytes and closes.
func get(t *testing.T, c *Cache, key string, n int) {
	t.Helper()
	h := mustGet(t, c, key, n)
	check(t, h, key, n)
	if err := h.Close(); err != nil {
		t.Errorf("Close of the handle: %v", err)
	}
}

func check(t *testing.T, h *Handle, key string, n int) {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(h, 0, 1<<40))
	if err != nil || h.Size != int64(n) || !bytes.Equal(b, content(key, n)) {
		t.Errorf("the file of %q has %d bytes, Size %d, %v; want %d as filled", key, len(b), h.Size, err, n)
	}
}

func noFill(context.Context, *os.File) error { return errors.New("filled again") }

func files(t *testing.T, dir string) (n int, size int64) {
	t.Helper()
	es, err := os.ReadDir(filepath.Join(dir, "files"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		fi, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		n, size = n+1, size+fi.Size()
	}
	return n, size
}

func TestGetFillsOnce(t *testing.T) {
	c := open(t, t.TempDir(), 1000)
	get(t, c, "a", 100)
	h, err := c.Get(t.Context(), "a", noFill)
	if err != nil {
		t.Fatal(err)
	}
	check(t, h, "a", 100)
	h2, err := c.Get(t.Context(), "a", noFill)
	if err != nil {
		t.Fatal(err)
	}
	if h.Fd() == h2.Fd() {
		t.Error("two handles share a file descriptor")
	}
	for _, h := range []*Handle{h, h2, h} {
		if err := h.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := h2.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Read after Close: %v", err)
	}
	if s := c.Stats(); s.Files != 1 || s.Bytes != 100 || s.Fills != 1 || s.Hits != 2 || s.PinnedBytes != 0 {
		t.Errorf("Stats = %+v", s)
	}
	get(t, c, "empty", 0)
}

// However many callers want a key, one fill runs, and each leaves with its own context.
func TestOneFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, t.TempDir(), 1000)
		defer c.Close()
		release := make(chan struct{})
		var fills atomic.Int32
		fill := func(ctx context.Context, f *os.File) error {
			fills.Add(1)
			if _, err := f.Write([]byte("half")); err != nil {
				return err
			}
			<-release
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("the fill's context: %w", err)
			}
			_, err := f.Write([]byte("half"))
			return err
		}
		first, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				ctx := t.Context()
				if i < 3 {
					ctx = first
				}
				h, err := c.Get(ctx, "k", fill)
				if i < 3 {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("a caller that left got %v", err)
					}
					return
				}
				if err != nil {
					t.Errorf("a caller that stayed got %v", err)
					return
				}
				if b, _ := io.ReadAll(h); string(b) != "halfhalf" {
					t.Errorf("a caller read %q", b)
				}
				h.Close()
			})
			if i == 2 {
				synctest.Wait() // these three share the fill of the first
			}
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		if c.Has("k") {
			t.Error("the file shows before it is whole")
		}
		close(release)
		wg.Wait()
		if n := fills.Load(); n != 1 {
			t.Errorf("%d fills, want 1", n)
		}
	})
}

// A fill goes on when all its callers have left, and the next caller finds the file.
func TestFillOutlivesCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, t.TempDir(), 1000)
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Get(ctx, "k", func(ctx context.Context, f *os.File) error {
			time.Sleep(time.Minute)
			return filler("k", 10)(ctx, f)
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Get = %v, want DeadlineExceeded", err)
		}
		time.Sleep(2 * time.Minute)
		h, err := c.Get(t.Context(), "k", noFill)
		if err != nil {
			t.Fatal(err)
		}
		check(t, h, "k", 10)
		h.Close()
	})
}

func TestFailedFill(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 1000)
	boom := errors.New("boom")
	for range 2 {
		_, err := c.Get(t.Context(), "k", func(_ context.Context, f *os.File) error {
			f.Write([]byte("half"))
			return boom
		})
		if !errors.Is(err, boom) {
			t.Errorf("Get = %v, want boom", err)
		}
	}
	if _, ok := c.Size("k"); ok || c.Has("k") {
		t.Error("a failed fill leaves a file or a size")
	}
	if es, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(es) != 0 {
		t.Errorf("a failed fill leaves %v", es)
	}
	get(t, c, "k", 10)
	if s := c.Stats(); s.Failures != 2 || s.Fills != 1 {
		t.Errorf("Stats = %+v", s)
	}
}

func TestEvictsLeastRecentlyUsed(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 300)
	for _, k := range []string{"a", "b", "c"} {
		get(t, c, k, 100)
	}
	get(t, c, "a", 100) // now b is the oldest
	get(t, c, "d", 100)
	for k, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if got := c.Has(k); got != want {
			t.Errorf("Has(%q) = %v, want %v", k, got, want)
		}
	}
	if n, size := files(t, dir); n != 3 || size != 300 {
		t.Errorf("%d files of %d bytes on disk, want 3 of 300", n, size)
	}
	for _, k := range []string{"a", "b", "c", "d"} {
		if n, ok := c.Size(k); !ok || n != 100 {
			t.Errorf("Size(%q) = %d, %v; want 100, also when evicted", k, n, ok)
		}
	}
	if _, ok := c.Size("never"); ok {
		t.Error("Size of a key that never was")
	}
}

// Pinned files stay, even over the bound; they go when they are let go.
func TestPinned(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 250)
	var hs []*Handle
	for _, k := range []string{"a", "b", "c", "d"} {
		hs = append(hs, mustGet(t, c, k, 100))
	}
	if n, _ := files(t, dir); n != 4 {
		t.Errorf("%d files, want all 4 pinned ones", n)
	}
	if s := c.Stats(); s.PinnedBytes != 400 {
		t.Errorf("PinnedBytes = %d, want 400", s.PinnedBytes)
	}
	hs[0].Close()
	if c.Has("a") {
		t.Error("a file over the bound stays when it is let go")
	}
	check(t, hs[1], "b", 100)
	for _, h := range hs {
		h.Close()
	}
	if n, size := files(t, dir); size > 250 || n == 0 {
		t.Errorf("%d files of %d bytes are left, want 1 or 2 within 250", n, size)
	}
	get(t, c, "huge", 1000) // larger than the bound: served, not kept
	if c.Has("huge") {
		t.Error("a file larger than the bound is kept")
	}
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 1<<20)
	get(t, c, "unused", 100)
	pinned := mustGet(t, c, "pinned", 100)
	defer pinned.Close()
	calls := 0
	h, err := c.Get(t.Context(), "k", func(_ context.Context, f *os.File) error {
		if calls++; calls == 1 {
			f.Write([]byte("longer than the second try"))
			return &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
		}
		if c.Has("unused") || !c.Has("pinned") {
			t.Error("before the second try unused files should be evicted, pinned ones not")
		}
		_, err := f.Write([]byte("short"))
		return err
	})
	if err != nil || calls != 2 {
		t.Fatalf("Get = %v after %d fills, want success after 2", err, calls)
	}
	if b, _ := io.ReadAll(h); string(b) != "short" || h.Size != 5 {
		t.Errorf("the file is %q, Size %d", b, h.Size)
	}
	h.Close()
	calls = 0
	_, err = c.Get(t.Context(), "k2", func(context.Context, *os.File) error { calls++; return syscall.ENOSPC })
	if !errors.Is(err, syscall.ENOSPC) || calls != 2 || !strings.Contains(err.Error(), dir) {
		t.Errorf("Get on a disk that stays full = %v after %d fills; want ENOSPC naming %s after 2", err, calls, dir)
	}
}

func TestClose(t *testing.T) {
	c := open(t, t.TempDir(), 1000)
	h := mustGet(t, c, "a", 10)
	started := make(chan struct{})
	result := make(chan error)
	go func() {
		_, err := c.Get(context.Background(), "slow", func(ctx context.Context, f *os.File) error {
			close(started)
			<-ctx.Done()
			return nil // as if it had not noticed
		})
		result <- err
	}()
	<-started
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-result; !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a Get that was waiting got %v, want fs.ErrClosed", err)
	}
	if _, err := c.Get(t.Context(), "b", filler("b", 1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Get after Close: %v", err)
	}
	check(t, h, "a", 10)
	if err := h.Close(); err != nil {
		t.Errorf("Close of a handle after Close: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// Many callers of few keys in a small cache: always the right bytes, and within the bound at the end.
func TestRandomUse(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 5_000)
	var wg sync.WaitGroup
	for g := range 8 {
		rng := rand.New(rand.NewPCG(7, uint64(g)))
		wg.Go(func() {
			for range 150 {
				k := rng.IntN(20)
				key := fmt.Sprint("key", k)
				ctx, cancel := context.WithCancel(t.Context())
				if rng.IntN(4) == 0 {
					cancel()
				}
				h, err := c.Get(ctx, key, filler(key, 100*k))
				cancel()
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("Get(%q): %v", key, err)
					}
					continue
				}
				check(t, h, key, 100*k)
				h.Close()
			}
		})
	}
	wg.Wait()
	c.Close() // the last victims may still be on their way out
	s := c.Stats()
	n, size := files(t, dir)
	if size > 5_000 || size != s.Bytes || int64(n) != s.Files || s.PinnedBytes != 0 || s.Filling != 0 {
		t.Errorf("at the end %d files of %d bytes on disk, Stats = %+v", n, size, s)
	}
	if s.Evictions == 0 {
		t.Error("nothing was evicted: the test shows nothing")
	}
}
