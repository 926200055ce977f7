package faultstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/local"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
)

func TestSuiteWithoutFaults(t *testing.T) {
	t.Run("mem", func(t *testing.T) {
		storagetest.Run(t, func(*testing.T) storage.Store { return New(storagetest.NewMem()) })
	})
	t.Run("local", func(t *testing.T) {
		storagetest.Run(t, func(t *testing.T) storage.Store {
			s, err := local.Open(t.TempDir(), local.Options{NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			return New(s)
		})
	})
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"", "a/b", true}, {"b", "a/b", true}, {"c", "a/b", false}, {"*", "", true}, {"a*", "a/b", true}, {"*b", "a/b", true}, {"a*b", "a/b", true},
		{"a*b*", "a/b", true}, {"b*", "a/b", false}, {"*a", "a/b", false}, {"a*a", "a", false}, {"*.parquet", "p=1/x.parquet", true}, {"a*x*b", "a/b", false},
	} {
		if got := match(c.pattern, c.path); got != c.want {
			t.Errorf("match(%q, %q) = %v, want %v", c.pattern, c.path, got, c.want)
		}
	}
}

// ops is one call of each kind.
func ops(ctx context.Context, s *Store) map[Op]func() error {
	return map[Op]func() error{
		Stat: func() error { _, err := s.Stat(ctx, "there"); return err },
		Open: func() error { _, err := s.Open(ctx, "there"); return err },
		Read: func() error { _, err := s.ReadAll(ctx, "there"); return err },
		Put:  func() error { _, err := s.Put(ctx, "put", []byte("x"), storage.PutIfAbsent); return err },
		PutIfMatch: func() error {
			i, _ := s.inner.Stat(ctx, "there")
			_, err := s.PutIfMatch(ctx, "there", []byte("y"), i.ETag)
			return err
		},
		Create: func() error { _, err := s.Create(ctx, "created", storage.PutIfAbsent); return err },
		Write: func() error {
			w, _ := s.inner.Create(ctx, "w", 0)
			_, err := (&writer{w, s, ctx, "w"}).Write([]byte("x"))
			return err
		},
		Commit: func() error {
			w, _ := s.inner.Create(ctx, "committed", 0)
			_, err := (&writer{w, s, ctx, "committed"}).Commit()
			return err
		},
		List: func() error {
			for _, err := range s.List(ctx, "", storage.ListOptions{}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		Delete: func() error { return s.Delete(ctx, "doomed") },
	}
}

func fresh(t *testing.T) *Store {
	m := storagetest.NewMem()
	for _, p := range []string{"there", "doomed"} {
		if _, err := m.Put(t.Context(), p, []byte("x"), storage.PutReplace); err != nil {
			t.Fatal(err)
		}
	}
	return New(m)
}

func TestEveryOperationFails(t *testing.T) {
	for i := range opNames {
		op := Op(1) << i
		for _, when := range []When{Before, After} {
			s := fresh(t)
			s.Inject(Fault{Ops: op, When: when})
			for other, f := range ops(t.Context(), s) {
				err := f()
				if got, want := errors.Is(err, ErrInjected), other == op; got != want {
					t.Errorf("fault on %v: %v gives %v", op, other, err)
				}
			}
		}
	}
}

func TestBeforeAndAfter(t *testing.T) {
	for _, when := range []When{Before, After} {
		for op, path := range map[Op]string{Put: "put", Commit: "committed", Delete: "doomed"} {
			s := fresh(t)
			s.Inject(Fault{Ops: op, When: when})
			err := ops(t.Context(), s)[op]()
			if got, want := errors.Is(err, storage.ErrAmbiguous), when == After; got != want {
				t.Errorf("%v, when %d: %v; ErrAmbiguous = %v, want %v", op, when, err, got, want)
			}
			_, serr := s.inner.Stat(t.Context(), path)
			if got, want := errors.Is(serr, fs.ErrNotExist), (when == Before) != (op == Delete); got != want {
				t.Errorf("%v, when %d: object missing = %v, want %v", op, when, got, want)
			}
		}
	}
}

func TestSkipTimesRemoveErrDo(t *testing.T) {
	s := fresh(t)
	mine := errors.New("mine")
	remove := s.Inject(Fault{Ops: Stat | Delete, Path: "the", Skip: 1, Times: 2, Err: mine})
	var got []bool
	for range 5 {
		_, err := s.Stat(t.Context(), "there")
		got = append(got, errors.Is(err, mine))
	}
	if want := "[false true true false false]"; fmt.Sprint(got) != want {
		t.Errorf("failures = %v, want %s", got, want)
	}
	remove()
	s.Inject(Fault{Do: func(op Op, path string) {
		if op == Stat {
			_ = s.inner.Delete(context.Background(), path)
		}
	}})
	if _, err := s.Stat(t.Context(), "there"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat after Do deleted the object: %v, want fs.ErrNotExist", err)
	}
	if n := s.Count(Stat); n != 6 {
		t.Errorf("Count(Stat) = %d, want 6", n)
	}
	if n := s.Count(Mutation); n != 0 {
		t.Errorf("Count(Mutation) = %d, want 0", n)
	}
}

// The scenario publishes three objects in order; after a crash at any operation a prefix of them is there, and whole.
func TestCrashSweep(t *testing.T) {
	order := []string{"1", "2", "3"}
	scenario := func(s *Store) error {
		for _, p := range order {
			w, err := s.Create(t.Context(), p, storage.PutIfAbsent)
			if err != nil {
				return err
			}
			for range 2 {
				if _, err := w.Write([]byte("half")); err != nil {
					return errors.Join(err, w.Abort())
				}
			}
			if _, err := w.Commit(); err != nil {
				return err
			}
		}
		return nil
	}
	for _, when := range []When{Before, After} {
		seen := map[int]bool{}
		for n := 0; ; n++ {
			m := storagetest.NewMem()
			s := New(m)
			s.CrashAt(Any, n, when)
			err := scenario(s)
			if !s.Crashed() {
				if err != nil {
					t.Fatal(err)
				}
				if n != 12 {
					t.Errorf("the sweep ends after %d operations, want 12", n)
				}
				break
			}
			if !errors.Is(err, ErrCrashed) {
				t.Errorf("crash at %d: %v, want ErrCrashed", n, err)
			}
			if _, err := s.Stat(t.Context(), "1"); !errors.Is(err, ErrCrashed) {
				t.Errorf("Stat after the crash: %v, want ErrCrashed", err)
			}
			got := m.Paths()
			seen[len(got)] = true
			for i, p := range got {
				b, err := m.ReadAll(t.Context(), p)
				if p != order[i] || err != nil || !bytes.Equal(b, []byte("halfhalf")) {
					t.Errorf("crash at %d leaves %q = %q, %v", n, p, b, err)
				}
			}
		}
		if want := 3 + int(when); len(seen) != want {
			t.Errorf("when %d: the sweep has seen %d numbers of objects, want %d", when, len(seen), want)
		}
	}
}

func TestLatencyAndLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fresh(t)
		s.SetLatency(1, time.Second, 3*time.Second)
		start := time.Now()
		if _, err := s.Stat(t.Context(), "there"); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < time.Second || d > 3*time.Second {
			t.Errorf("Stat took %v, want 1 s to 3 s", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := s.Delete(ctx, "there"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Delete with a short deadline: %v", err)
		}
		s.SetLatency(0, 0, 0)
		reveal := s.HideNew()
		if s.Properties().ListAfterWrite {
			t.Error("ListAfterWrite is promised while lists lag")
		}
		if _, err := s.Put(t.Context(), "new", nil, storage.PutIfAbsent); err != nil {
			t.Fatal(err)
		}
		count := func() (n int) {
			for range s.List(t.Context(), "", storage.ListOptions{}) {
				n++
			}
			return n
		}
		if n := count(); n != 2 {
			t.Errorf("a lagging list shows %d, want 2", n)
		}
		if _, err := s.Stat(t.Context(), "new"); err != nil {
			t.Errorf("Stat of a hidden object: %v", err)
		}
		reveal()
		if n := count(); n != 3 {
			t.Errorf("the list shows %d, want 3", n)
		}
	})
}
