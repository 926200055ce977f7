package storagetest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hudifs/hudifs/internal/storage"
)

// raceOneWinner: of many that create one object, one wins, all the others know that they lost, and the object is the winner's.
func raceOneWinner(t *testing.T, s storage.Store) {
	const rounds, racers = 60, 8
	for r := range rounds {
		path := fmt.Sprintf("race/dir%d/%d.requested", r%7, r)
		var winner atomic.Int64
		winner.Store(-1)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for g := range racers {
			wg.Go(func() {
				<-start
				data := fill(100+g, byte(g))
				switch err := create(t, s, path, data, g%2 == 0); {
				case err == nil:
					if !winner.CompareAndSwap(-1, int64(g)) {
						t.Errorf("round %d: both %d and %d have created %s", r, winner.Load(), g, path)
					}
				case !errors.Is(err, storage.ErrExists):
					t.Errorf("round %d: a loser got %v, want ErrExists", r, err)
				}
			})
		}
		close(start)
		wg.Wait()
		g := winner.Load()
		if g < 0 {
			t.Fatalf("round %d: nobody won", r)
		}
		wantBytes(t, s, path, fill(100+int(g), byte(g)))
	}
}

func create(t *testing.T, s storage.Store, path string, data []byte, whole bool) error {
	if whole {
		_, err := s.Put(t.Context(), path, data, storage.PutIfAbsent)
		return err
	}
	w, err := s.Create(t.Context(), path, storage.PutIfAbsent)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return errors.Join(err, w.Abort())
	}
	_, err = w.Commit()
	return err
}

// raceReplace: readers of an object that is being replaced see one version, whole.
func raceReplace(t *testing.T, s storage.Store) {
	const versions = 40
	version := func(k int) []byte { return bytes.Repeat([]byte{byte(k)}, 20_000+100*k) }
	mustPut(t, s, "current", version(0))
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for !done.Load() {
				b, err := s.ReadAll(t.Context(), "current")
				if err != nil {
					t.Errorf("ReadAll while it is replaced: %v", err)
					return
				}
				if len(b) == 0 || !bytes.Equal(b, version(int(b[0]))) {
					t.Errorf("ReadAll gives %d bytes that are no version", len(b))
					return
				}
			}
		})
	}
	for k := range versions {
		mustPut(t, s, "current", version(k))
	}
	done.Store(true)
	wg.Wait()
}

// raceIfMatch: no increment of a counter is lost.
func raceIfMatch(t *testing.T, s storage.Store) {
	r, ok := storage.As[storage.Replacer](s)
	if !ok {
		t.Skip("the store cannot replace one version of an object")
	}
	const racers, increments = 4, 15
	mustPut(t, s, "counter", []byte("0"))
	var wg sync.WaitGroup
	for range racers {
		wg.Go(func() {
			for done := 0; done < increments; {
				i, err := s.Stat(t.Context(), "counter")
				if err != nil {
					t.Error(err)
					return
				}
				b, err := s.ReadAll(t.Context(), "counter")
				if err != nil {
					t.Error(err)
					return
				}
				n, err := strconv.Atoi(string(b))
				if err != nil {
					t.Error(err)
					return
				}
				// Between Stat and ReadAll another version may have come; then the etag is old and the put must fail.
				_, err = r.PutIfMatch(t.Context(), "counter", strconv.AppendInt(nil, int64(n+1), 10), i.ETag)
				switch {
				case err == nil:
					done++
				case !errors.Is(err, storage.ErrPrecondition):
					t.Errorf("PutIfMatch: %v, want success or ErrPrecondition", err)
					return
				}
			}
		})
	}
	wg.Wait()
	wantBytes(t, s, "counter", strconv.AppendInt(nil, racers*increments, 10))
}

// raceList: a listing beside writers shows every object that was there before it began, once, and no half-written one.
func raceList(t *testing.T, s storage.Store) {
	for i := range 50 {
		mustPut(t, s, fmt.Sprintf("l/%02d/old", i), []byte("whole"))
	}
	var wg sync.WaitGroup
	var done atomic.Bool
	wg.Go(func() {
		defer done.Store(true)
		for i := range 150 {
			path := fmt.Sprintf("l/%02d/new%d", i%50, i)
			mustPutIn(t, s, path, []byte("whole"))
			if i%3 == 0 {
				if err := s.Delete(t.Context(), path); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for again := true; again; {
		again = !done.Load()
		old := 0
		last := ""
		for i, err := range s.List(t.Context(), "l/", storage.ListOptions{Recursive: true}) {
			if err != nil {
				t.Fatalf("List beside writers: %v", err)
			}
			if i.Path <= last {
				t.Errorf("List shows %q after %q", i.Path, last)
			}
			if last = i.Path; i.Size != int64(len("whole")) {
				t.Errorf("List shows %q with %d bytes", i.Path, i.Size)
			}
			if i.Path[len(i.Path)-4:] == "/old" {
				old++
			}
		}
		if old != 50 {
			t.Errorf("List beside writers shows %d of 50 older objects", old)
		}
	}
	wg.Wait()
}

func mustPutIn(t *testing.T, s storage.Store, path string, data []byte) {
	if _, err := s.Put(t.Context(), path, data, storage.PutIfAbsent); err != nil {
		t.Errorf("Put(%q): %v", path, err)
	}
}
