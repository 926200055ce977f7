package storage_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/local"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
)

func openLocal(t *testing.T) storage.Store {
	t.Helper()
	s, err := local.Open(t.TempDir(), local.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// closing closes also the store behind a Sub.
type closing struct {
	storage.Store
	behind storage.Store
}

func (c closing) Close() error          { return errors.Join(c.Store.Close(), c.behind.Close()) }
func (c closing) Unwrap() storage.Store { return c.Store }

func TestSuiteOfWrappers(t *testing.T) {
	sub := func(t *testing.T, s storage.Store) storage.Store {
		b, err := storage.Sub(s, ".hoodie/metadata")
		if err != nil {
			t.Fatal(err)
		}
		// Neighbours that a wrong prefix would show.
		for _, p := range []string{".hoodie/metadata.x", ".hoodie/x", "zz", ".hoodie/metadat/y"} {
			if _, err := s.Put(t.Context(), p, nil, storage.PutReplace); err != nil {
				t.Fatal(err)
			}
		}
		return closing{b, s}
	}
	for name, open := range map[string]func(t *testing.T) storage.Store{
		"SubMem":   func(t *testing.T) storage.Store { return sub(t, storagetest.NewMem()) },
		"SubLocal": func(t *testing.T) storage.Store { return sub(t, openLocal(t)) },
		"Retry": func(t *testing.T) storage.Store {
			return storage.Retry(storagetest.NewMem(), storage.RetryOptions{})
		},
		"Count": func(t *testing.T) storage.Store { return storage.Count(storagetest.NewMem(), new(storage.Counters)) },
		"All": func(t *testing.T) storage.Store {
			return sub(t, storage.Retry(storage.Count(openLocal(t), new(storage.Counters)), storage.RetryOptions{}))
		},
	} {
		t.Run(name, func(t *testing.T) { storagetest.Run(t, open) })
	}
}

func TestCheckPath(t *testing.T) {
	for _, p := range []string{"a", "a/b", ".hoodie/.aux", "...", "a..b/c", "a b", "é", "\xff", "-"} {
		if err := storage.CheckPath(p); err != nil {
			t.Errorf("CheckPath(%q): %v", p, err)
		}
		if err := storage.CheckPrefix(p + "/"); err != nil {
			t.Errorf("CheckPrefix(%q): %v", p+"/", err)
		}
		if err := storage.CheckPrefix(p); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("CheckPrefix(%q) without a slash: %v", p, err)
		}
	}
	if err := storage.CheckPrefix(""); err != nil {
		t.Errorf("CheckPrefix of the whole: %v", err)
	}
}

// plain is a store with no capability at all; its methods are Mem's.
type plain struct{ storage.Store }

func (p plain) Properties() storage.Properties {
	return storage.Properties{AtomicPutIfAbsent: true, ListAfterWrite: true}
}

func TestAs(t *testing.T) {
	l := openLocal(t)
	defer l.Close()
	var c storage.Counters
	wrapped := storage.Retry(storage.Count(l, &c), storage.RetryOptions{})
	if _, ok := storage.As[storage.LocalOpener](wrapped); !ok {
		t.Error("LocalOpener is not found behind two wrappers")
	}
	if s, ok := storage.As[*local.Store](wrapped); !ok || s != l {
		t.Error("the store itself is not found behind two wrappers")
	}
	// The capability found must count: it is the wrapper's, not one from behind it.
	o, _ := storage.As[storage.LocalOpener](wrapped)
	if _, err := o.OpenLocal(t.Context(), "nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenLocal: %v", err)
	}
	if c.Opens.Load() != 1 {
		t.Errorf("OpenLocal through As was counted %d times, want 1", c.Opens.Load())
	}
	without := storage.Retry(storage.Count(plain{storagetest.NewMem()}, &c), storage.RetryOptions{})
	if _, ok := storage.As[storage.Replacer](without); ok {
		t.Error("Replacer is found where the store behind has none")
	}
	if _, ok := storage.As[storage.LocalOpener](without); ok {
		t.Error("LocalOpener is found where the store behind has none")
	}
	if _, err := without.(storage.Replacer).PutIfMatch(t.Context(), "x", nil, "1"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a wrapper's PutIfMatch over a store without: %v, want ErrUnsupported", err)
	}
	if _, err := without.(storage.LocalOpener).OpenLocal(t.Context(), "x"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a wrapper's OpenLocal over a store without: %v, want ErrUnsupported", err)
	}
	// Paths change in a Sub, so nothing may be found behind it.
	sub, err := storage.Sub(l, "p")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := storage.As[*local.Store](sub); ok {
		t.Error("As looks behind a Sub, whose paths are others")
	}
	if err := os.MkdirAll(l.(*local.Store).Dir()+"/p/empty", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := storage.PruneEmpty(t.Context(), sub, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.(*local.Store).Dir() + "/p"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("PruneEmpty through a Sub leaves %v", err)
	}
}

func TestSub(t *testing.T) {
	m := storagetest.NewMem()
	for _, bad := range []string{"..", "a//b", "/a", "a/.."} {
		if _, err := storage.Sub(m, bad); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Sub(%q): %v, want fs.ErrInvalid", bad, err)
		}
	}
	if s, err := storage.Sub(m, ""); err != nil || s != storage.Store(m) {
		t.Errorf("Sub of the whole = %v, %v; want the store itself", s, err)
	}
	s, err := storage.Sub(m, "a/b/")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.URL(), "mem:///a/b"; got != want {
		t.Errorf("URL = %q, want %q", got, want)
	}
	if _, err := s.Put(t.Context(), "../escape", nil, storage.PutReplace); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("Put over the top: %v, want fs.ErrInvalid", err)
	}
	if _, err := s.Put(t.Context(), "x", []byte("1"), storage.PutReplace); err != nil {
		t.Fatal(err)
	}
	if got := m.Paths(); len(got) != 1 || got[0] != "a/b/x" {
		t.Errorf("the store behind has %q, want a/b/x", got)
	}
}

func TestCount(t *testing.T) {
	var c storage.Counters
	s := storage.Count(storagetest.NewMem(), &c)
	ctx := t.Context()
	for range 2 {
		s.Put(ctx, "x", []byte("12345"), storage.PutIfAbsent) // the second is an answer, no failure
	}
	w, err := s.Create(ctx, "y", storage.PutReplace)
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("123"))
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	s.ReadAll(ctx, "x")
	s.ReadAll(ctx, "missing")
	o, err := s.Open(ctx, "x")
	if err != nil {
		t.Fatal(err)
	}
	o.ReadAt(make([]byte, 10), 2)
	s.Stat(ctx, "x")
	for range s.List(ctx, "", storage.ListOptions{}) {
	}
	s.Delete(ctx, "y")
	dead, cancel := context.WithCancel(ctx)
	cancel()
	s.Stat(dead, "x")
	got := []int64{c.Puts.Load(), c.BytesWritten.Load(), c.Reads.Load(), c.BytesRead.Load(), c.Opens.Load(), c.Stats.Load(), c.Lists.Load(), c.Deletes.Load(), c.Errors.Load()}
	want := []int64{3, 8, 3, 8, 1, 2, 1, 1, 1}
	for i, name := range []string{"Puts", "BytesWritten", "Reads", "BytesRead", "Opens", "Stats", "Lists", "Deletes", "Errors"} {
		if got[i] != want[i] {
			t.Errorf("%s = %d, want %d", name, got[i], want[i])
		}
	}
}
