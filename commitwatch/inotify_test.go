package commitwatch

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/hudifs/hudifs/timeline"
)

// wakes counts and lets tests wait for the next one.
type wakes chan struct{}

func (w wakes) wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}

func (w wakes) await(t *testing.T, what string) {
	t.Helper()
	select {
	case <-w:
	case <-time.After(5 * time.Second):
		t.Fatalf("no wake after %s", what)
	}
}

func (w wakes) drain() {
	for {
		select {
		case <-w:
		case <-time.After(50 * time.Millisecond):
			return
		}
	}
}

func startInotify(t *testing.T, dirs ...string) wakes {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := make(wakes, 100)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := (Inotify{Dirs: dirs, Check: 20 * time.Millisecond}).Run(ctx, w.wake); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	w.await(t, "the start")
	w.drain()
	return w
}

func put(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestInotifyWakes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".hoodie")
	tl := filepath.Join(dir, "timeline")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := startInotify(t, dir, tl)

	put(t, filepath.Join(dir, "20260101000000000.commit.requested"))
	w.await(t, "a new instant")
	w.drain()

	// The way writers publish: a temporary file linked or renamed into place.
	tmp := filepath.Join(dir, ".tmp-1")
	put(t, tmp)
	w.drain()
	if err := os.Link(tmp, filepath.Join(dir, "20260101000000000.commit")); err != nil {
		t.Fatal(err)
	}
	w.await(t, "a link")
	w.drain()
	if err := os.Rename(tmp, filepath.Join(dir, "20260101000000001.commit")); err != nil {
		t.Fatal(err)
	}
	w.await(t, "a rename")
	w.drain()
	if err := os.Remove(filepath.Join(dir, "20260101000000001.commit")); err != nil {
		t.Fatal(err)
	}
	w.await(t, "a removal")
	w.drain()

	if err := os.Mkdir(tl, 0o755); err != nil {
		t.Fatal(err)
	}
	w.await(t, "the second directory appearing")
	w.drain()
	put(t, filepath.Join(tl, "20260101000000002.commit.requested"))
	w.await(t, "an instant in the second directory")
}

func TestInotifyIgnoresTemporaries(t *testing.T) {
	s := watches{held: map[string]os.FileInfo{"/t/.hoodie": nil}}
	for name, want := range map[string]bool{
		".tmp-20260101":                   false,
		"20260101000000000.commit":        true,
		"hoodie.properties":               true,
		"archived":                        false,
		"20260101000000000.commit.tmp.~1": true,
	} {
		if got := s.concerns(fsnotify.Event{Name: "/t/.hoodie/" + name, Op: fsnotify.Create}); got != want {
			t.Errorf("concerns(%s) = %v, want %v", name, got, want)
		}
	}
	if s.concerns(fsnotify.Event{Name: "/t/.hoodie/20260101000000000.commit", Op: fsnotify.Chmod}) {
		t.Error("a chmod counts as a change")
	}
}

func TestInotifyReplacedDirectory(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, ".hoodie")
	for _, how := range []string{"removed and made again", "renamed away and made again", "parent replaced"} {
		t.Run(how, func(t *testing.T) {
			os.RemoveAll(dir)
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			w := startInotify(t, dir)
			switch how {
			case "removed and made again":
				os.RemoveAll(dir)
			case "renamed away and made again":
				os.Rename(dir, filepath.Join(base, "old"))
			case "parent replaced":
				// Keep the old one alive under another name: no event tells of it.
				os.RemoveAll(filepath.Join(base, "moved"))
				os.Rename(dir, filepath.Join(base, "moved"))
			}
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			w.await(t, "the directory was "+how)
			w.drain()
			put(t, filepath.Join(dir, "20260101000000000.commit"))
			w.await(t, "an instant in the new directory")
		})
	}
}

// TestOtherWritersCommitShows is the whole chain on a real directory: another writer's file, inotify, a look, an event.
func TestOtherWritersCommitShows(t *testing.T) {
	dir := t.TempDir()
	load := func(context.Context) (*timeline.Timeline, error) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		var list []timeline.Instant
		for _, e := range entries {
			list = append(list, timeline.Instant{Time: timeline.InstantTime(e.Name()[:17]), Action: timeline.Commit, State: timeline.Completed})
		}
		return timeline.New(1, list), nil
	}
	w, err := New(Options{Load: load, Wakers: []Waker{Inotify{Dirs: []string{dir}}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { w.Run(ctx) })
	defer wg.Wait()
	defer cancel()
	events, stop := w.Subscribe()
	defer stop()
	<-events
	begin := time.Now()
	put(t, filepath.Join(dir, "20260101000000000.commit"))
	select {
	case e := <-events:
		if len(e.Added) != 1 || e.Added[0].Time != "20260101000000000" {
			t.Errorf("event adds %v, want the new commit", e.Added)
		}
		t.Logf("seen after %v", time.Since(begin))
	case <-time.After(time.Second):
		t.Error("another writer's commit did not show within a second")
	}
}
