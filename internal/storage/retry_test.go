package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/faultstore"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
)

var (
	errTransient = fmt.Errorf("spoiled: %w", storage.ErrTransient)
	errAmbiguous = fmt.Errorf("spoiled: %w", storage.ErrAmbiguous)
)

// rig is a Retry over faults over memory with the object "there".
func rig(t *testing.T) (storage.Store, *faultstore.Store, *storagetest.Mem) {
	t.Helper()
	m := storagetest.NewMem()
	if _, err := m.Put(t.Context(), "there", []byte("old"), storage.PutReplace); err != nil {
		t.Fatal(err)
	}
	f := faultstore.New(m)
	return storage.Retry(f, storage.RetryOptions{Attempts: 4, MinWait: time.Second, MaxWait: 3 * time.Second}), f, m
}

func TestRetryTransient(t *testing.T) {
	calls := map[faultstore.Op]func(ctx context.Context, s storage.Store) error{
		faultstore.Stat: func(ctx context.Context, s storage.Store) error { _, err := s.Stat(ctx, "there"); return err },
		faultstore.Open: func(ctx context.Context, s storage.Store) error { _, err := s.Open(ctx, "there"); return err },
		faultstore.Read: func(ctx context.Context, s storage.Store) error {
			o, err := s.Open(ctx, "there")
			if err == nil {
				_, err = o.ReadAt(make([]byte, 3), 0)
			}
			return err
		},
		faultstore.Put: func(ctx context.Context, s storage.Store) error {
			_, err := s.Put(ctx, "new", []byte("x"), storage.PutIfAbsent)
			return err
		},
		faultstore.PutIfMatch: func(ctx context.Context, s storage.Store) error {
			i, err := s.Stat(ctx, "there")
			if err == nil {
				_, err = s.(storage.Replacer).PutIfMatch(ctx, "there", []byte("x"), i.ETag)
			}
			return err
		},
		faultstore.Create: func(ctx context.Context, s storage.Store) error {
			_, err := s.Create(ctx, "c", storage.PutReplace)
			return err
		},
		faultstore.Delete: func(ctx context.Context, s storage.Store) error { return s.Delete(ctx, "there") },
		faultstore.List: func(ctx context.Context, s storage.Store) error {
			for _, err := range s.List(ctx, "", storage.ListOptions{}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	for op, call := range calls {
		t.Run(op.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f, _ := rig(t)
				f.Inject(faultstore.Fault{Ops: op, Times: 3, Err: errTransient})
				start := time.Now()
				if err := call(t.Context(), s); err != nil {
					t.Errorf("after 3 errTransient failures: %v, want success at the 4th attempt", err)
				}
				// 1, 2 and 3 s, each with jitter down to half.
				if d := time.Since(start); d < 3*time.Second || d > 6*time.Second {
					t.Errorf("the waits took %v, want 3 s to 6 s", d)
				}

				s, f, _ = rig(t)
				f.Inject(faultstore.Fault{Ops: op, Err: errTransient})
				if err := call(t.Context(), s); !errors.Is(err, storage.ErrTransient) {
					t.Errorf("for ever errTransient: %v, want ErrTransient", err)
				}
				if n := f.Count(op); n != 4 {
					t.Errorf("%d attempts, want 4", n)
				}

				s, f, _ = rig(t)
				f.Inject(faultstore.Fault{Ops: op}) // neither errTransient nor errAmbiguous
				if err := call(t.Context(), s); !errors.Is(err, faultstore.ErrInjected) || f.Count(op) != 1 {
					t.Errorf("a final error: %v after %d attempts, want it at once", err, f.Count(op))
				}

				s, f, _ = rig(t)
				f.Inject(faultstore.Fault{Ops: op, Err: errTransient})
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				start = time.Now()
				if err := call(ctx, s); err == nil || time.Since(start) > 10*time.Millisecond {
					t.Errorf("with a short deadline: %v after %v, want an error at the deadline", err, time.Since(start))
				}
			})
		})
	}
}

// A create whose answer is lost is read back and compared.
func TestRetrySettlesPut(t *testing.T) {
	for _, c := range []struct {
		name   string
		mode   storage.PutMode
		faults []faultstore.Fault
		other  string // what another writer puts there in that moment
		want   error
		bytes  string // afterwards; "" for none
		puts   int    // attempts
	}{
		{name: "it happened", mode: storage.PutIfAbsent, faults: []faultstore.Fault{{Ops: faultstore.Put, Times: 1, When: faultstore.After}}, bytes: "mine", puts: 1},
		{name: "it did not happen", mode: storage.PutIfAbsent, faults: []faultstore.Fault{{Ops: faultstore.Put, Times: 1, Err: errAmbiguous}}, bytes: "mine", puts: 2},
		{name: "another won", mode: storage.PutIfAbsent, faults: []faultstore.Fault{{Ops: faultstore.Put, Times: 1, Err: errAmbiguous}}, other: "theirs", want: storage.ErrExists, bytes: "theirs", puts: 2},
		{name: "another won with as many bytes", mode: storage.PutIfAbsent, faults: []faultstore.Fault{{Ops: faultstore.Put, Times: 1, Err: errAmbiguous}}, other: "yours", want: storage.ErrExists, bytes: "yours", puts: 2},
		{name: "it happened and cannot be read back at first", mode: storage.PutIfAbsent, faults: []faultstore.Fault{
			{Ops: faultstore.Put, Times: 1, When: faultstore.After}, {Ops: faultstore.Stat, Times: 4, Err: errTransient},
		}, bytes: "mine", puts: 2},
		{name: "never an answer", mode: storage.PutIfAbsent, faults: []faultstore.Fault{{Ops: faultstore.Put, Err: errAmbiguous}}, want: storage.ErrAmbiguous, puts: 4},
		{name: "unknown, then never", mode: storage.PutIfAbsent, faults: []faultstore.Fault{
			{Ops: faultstore.Put, Times: 1, Err: errAmbiguous}, {Ops: faultstore.Put, Err: errors.New("forbidden")},
		}, want: storage.ErrAmbiguous, puts: 2},
		{name: "a replace is done once more", mode: storage.PutReplace, faults: []faultstore.Fault{{Ops: faultstore.Put, Times: 1, When: faultstore.After}}, bytes: "mine", puts: 2},
		{name: "exists", mode: storage.PutIfAbsent, other: "theirs", want: storage.ErrExists, bytes: "theirs", puts: 1},
		{name: "exists with our bytes but no lost answer", mode: storage.PutIfAbsent, other: "mine", want: storage.ErrExists, bytes: "mine", puts: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f, m := rig(t)
				if c.other != "" {
					f.Inject(faultstore.Fault{Ops: faultstore.Put, Times: 1, Do: func(faultstore.Op, string) {
						m.Put(context.Background(), "x", []byte(c.other), storage.PutReplace)
					}, Err: errOf(c.faults)})
					if len(c.faults) == 0 {
						// Only Do, no failure.
					} else {
						c.faults = c.faults[1:]
					}
				}
				for _, fault := range c.faults {
					f.Inject(fault)
				}
				i, err := s.Put(t.Context(), "x", []byte("mine"), c.mode)
				if !errors.Is(err, c.want) || (c.want == nil && err != nil) {
					t.Errorf("Put: %v, want %v", err, c.want)
				}
				if err == nil && (i.Path != "x" || i.Size != 4) {
					t.Errorf("Put = %+v", i)
				}
				if n := f.Count(faultstore.Put); n != c.puts {
					t.Errorf("%d attempts, want %d", n, c.puts)
				}
				if b, _ := m.ReadAll(context.Background(), "x"); string(b) != c.bytes {
					t.Errorf("afterwards the object is %q, want %q", b, c.bytes)
				}
			})
		})
	}
}

func errOf(faults []faultstore.Fault) error {
	if len(faults) == 0 {
		return nil
	}
	return faults[0].Err
}

func TestRetrySettlesPutIfMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f, m := rig(t)
		old, err := s.Stat(t.Context(), "there")
		if err != nil {
			t.Fatal(err)
		}
		remove := f.Inject(faultstore.Fault{Ops: faultstore.PutIfMatch, Times: 1, When: faultstore.After})
		i, err := s.(storage.Replacer).PutIfMatch(t.Context(), "there", []byte("new"), old.ETag)
		if err != nil || i.ETag == old.ETag {
			t.Errorf("PutIfMatch whose answer was lost = %+v, %v; want success with a new etag", i, err)
		}
		remove()
		f.Inject(faultstore.Fault{Ops: faultstore.PutIfMatch, Times: 1, Err: errAmbiguous, Do: func(faultstore.Op, string) {
			m.Put(context.Background(), "there", []byte("theirs"), storage.PutReplace)
		}})
		if _, err := s.(storage.Replacer).PutIfMatch(t.Context(), "there", []byte("newer"), i.ETag); !errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("PutIfMatch that another overtook: %v, want ErrPrecondition", err)
		}
	})
}

func TestRetryDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f, m := rig(t)
		f.Inject(faultstore.Fault{Ops: faultstore.Delete, Times: 1, When: faultstore.After})
		if err := s.Delete(t.Context(), "there"); err != nil {
			t.Errorf("a delete whose answer was lost: %v, want success", err)
		}
		if err := s.Delete(t.Context(), "there"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a second delete: %v, want fs.ErrNotExist", err)
		}
		if got := m.Paths(); len(got) != 0 {
			t.Errorf("%q are left", got)
		}
		f.Inject(faultstore.Fault{Ops: faultstore.Delete, Err: errAmbiguous})
		if err := s.Delete(t.Context(), "x"); !errors.Is(err, storage.ErrAmbiguous) {
			t.Errorf("a delete that never answers: %v, want ErrAmbiguous", err)
		}
	})
}

// A listing that breaks goes on behind the last entry, with none twice and none left out.
func TestRetryListGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := storagetest.NewMem()
		var want []string
		for i := range 9 {
			p := fmt.Sprintf("d%d/o", i)
			if _, err := m.Put(t.Context(), p, nil, storage.PutReplace); err != nil {
				t.Fatal(err)
			}
			want = append(want, p, fmt.Sprintf("d%d/", i))
		}
		for _, recursive := range []bool{false, true} {
			s := storage.Retry(&breaking{Store: m, every: 3}, storage.RetryOptions{Attempts: 2})
			var got []string
			for i, err := range s.List(t.Context(), "", storage.ListOptions{Recursive: recursive}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, i.Path)
			}
			if len(got) != 9 || !slices.IsSorted(got) || len(slices.Compact(got)) != 9 {
				t.Errorf("recursive %v: %q, want 9 of %q", recursive, got, want)
			}
		}
	})
}

// breaking breaks a listing after so many entries, each time it is asked.
type breaking struct {
	storage.Store
	every int
}

func (b *breaking) List(ctx context.Context, prefix string, o storage.ListOptions) iter.Seq2[storage.Info, error] {
	return func(yield func(storage.Info, error) bool) {
		n := 0
		for i, err := range b.Store.List(ctx, prefix, o) {
			if n++; n > b.every {
				yield(storage.Info{}, errTransient)
				return
			}
			if !yield(i, err) {
				return
			}
		}
	}
}

func TestRetryCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		write := func(s storage.Store, path string) (storage.Info, error) {
			w, err := s.Create(t.Context(), path, storage.PutIfAbsent)
			if err != nil {
				return storage.Info{}, err
			}
			for range 3 {
				if _, err := w.Write([]byte("part")); err != nil {
					return storage.Info{}, err
				}
			}
			return w.Commit()
		}
		s, f, m := rig(t)
		remove := f.Inject(faultstore.Fault{Ops: faultstore.Commit, When: faultstore.After})
		if i, err := write(s, "a"); err != nil || i.Size != 12 || i.Path != "a" {
			t.Errorf("a commit that happened but had no answer = %+v, %v; want success", i, err)
		}
		remove()
		remove = f.Inject(faultstore.Fault{Ops: faultstore.Commit, Err: errAmbiguous})
		if _, err := write(s, "b"); !errors.Is(err, storage.ErrAmbiguous) {
			t.Errorf("a commit that did not happen and had no answer: %v, want ErrAmbiguous", err)
		}
		remove()
		f.Inject(faultstore.Fault{Ops: faultstore.Commit, Err: errAmbiguous, Do: func(faultstore.Op, string) {
			m.Put(context.Background(), "c", []byte("PARTpartpart"), storage.PutReplace)
		}})
		if _, err := write(s, "c"); !errors.Is(err, storage.ErrAmbiguous) {
			t.Errorf("a commit in whose place another's object is: %v, want ErrAmbiguous", err)
		}
	})
}
