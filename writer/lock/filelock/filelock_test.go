package filelock_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/faultstore"
	"github.com/hudifs/hudifs/internal/storage/local"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
	"github.com/hudifs/hudifs/writer/lock"
	"github.com/hudifs/hudifs/writer/lock/filelock"
	"github.com/hudifs/hudifs/writer/lock/locktest"
)

func provider(t *testing.T, st storage.Store, expire time.Duration) *filelock.Provider {
	t.Helper()
	p, err := filelock.New(st, "", expire)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSuite(t *testing.T) {
	for name, expire := range map[string]time.Duration{"never expires": 0, "expires": time.Minute} {
		t.Run(name, func(t *testing.T) {
			locktest.Run(t, func(t *testing.T) lock.Provider { return provider(t, storagetest.NewMem(), expire) })
			locktest.Run(t, func(t *testing.T) lock.Provider {
				st, err := local.Open(t.TempDir(), local.Options{NoSync: true})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { st.Close() })
				return provider(t, st, expire)
			})
		})
	}
}

// The file is what Java's provider writes: at its place, with its keys.
func TestFileIsJavas(t *testing.T) {
	st := storagetest.NewMem()
	l, err := provider(t, st, 0).TryLock(t.Context(), "me", lock.TTL)
	if err != nil {
		t.Fatal(err)
	}
	body, err := st.ReadAll(t.Context(), ".hoodie/lock")
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ LockCreateTime, LockThreadName string }
	if err := json.Unmarshal(body, &got); err != nil || got.LockThreadName != "me" {
		t.Errorf("lock file %s (%v), want the owner as lockThreadName", body, err)
	}
	if _, err := time.Parse("2006-01-02 15:04:05.000", got.LockCreateTime); err != nil {
		t.Error(err)
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Stat(t.Context(), ".hoodie/lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("lock file after Unlock: %v, want none", err)
	}
	// Java's own file keeps us out.
	if _, err := st.Put(t.Context(), ".hoodie/lock", []byte("{}"), storage.PutIfAbsent); err != nil {
		t.Fatal(err)
	}
	if _, err := provider(t, st, 0).TryLock(t.Context(), "me", lock.TTL); !errors.Is(err, lock.ErrHeld) || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("TryLock = %v, want ErrHeld with what to do", err)
	}
}

// C6: the lock of a dead holder is taken over after its expiry, not before, by exactly one of those who wait for it.
func TestExpiredLockHasOneHeir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := storagetest.NewMem()
		old, err := provider(t, st, time.Minute).TryLock(t.Context(), "dead", lock.TTL)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Second)
		if _, err := provider(t, st, time.Minute).TryLock(t.Context(), "early", lock.TTL); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("TryLock before the expiry = %v, want ErrHeld", err)
		}
		if err := old.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Second)
		if _, err := provider(t, st, time.Minute).TryLock(t.Context(), "early", lock.TTL); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("TryLock after a renewal = %v, want ErrHeld", err)
		}
		time.Sleep(2 * time.Second)
		var wg, looked sync.WaitGroup
		var mu sync.Mutex
		var heirs []lock.Lease
		const many = 8
		looked.Add(many)
		for range many {
			faults := faultstore.New(st)
			// All have seen the expired file before the first of them acts on it.
			faults.Inject(faultstore.Fault{Ops: faultstore.PutIfMatch | faultstore.Delete, Times: 1, Do: func(faultstore.Op, string) { looked.Done(); looked.Wait() }})
			p := provider(t, faults, time.Minute)
			wg.Go(func() {
				l, err := p.TryLock(context.Background(), "heir", lock.TTL)
				if err == nil {
					mu.Lock()
					heirs = append(heirs, l)
					mu.Unlock()
				} else if !errors.Is(err, lock.ErrHeld) {
					t.Errorf("TryLock = %v, want nil or ErrHeld", err)
				}
			})
		}
		wg.Wait()
		if len(heirs) != 1 {
			t.Fatalf("%d took the expired lock, want 1", len(heirs))
		}
		for what, err := range map[string]error{"Renew": old.Renew(t.Context()), "Unlock": old.Unlock(t.Context())} {
			if !errors.Is(err, lock.ErrLost) {
				t.Errorf("%s of the old lease = %v, want ErrLost", what, err)
			}
		}
		if err := heirs[0].Renew(t.Context()); err != nil {
			t.Errorf("Renew of the heir = %v, want nil", err)
		}
	})
}

func TestAmbiguousCreateIsLookedUp(t *testing.T) {
	for _, when := range []faultstore.When{faultstore.Before, faultstore.After} {
		st := storagetest.NewMem()
		faults := faultstore.New(st)
		faults.Inject(faultstore.Fault{Ops: faultstore.Put, Times: 1, When: when, Err: storage.ErrAmbiguous})
		l, err := provider(t, faults, 0).TryLock(t.Context(), "me", lock.TTL)
		if when == faultstore.After {
			if err != nil {
				t.Errorf("TryLock whose file is there = %v, want nil", err)
			} else if err := l.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		} else if !errors.Is(err, storage.ErrAmbiguous) {
			t.Errorf("TryLock whose file is not there = %v, want ErrAmbiguous", err)
		}
	}
}

type weak struct{ storage.Store }

func (weak) Properties() storage.Properties { return storage.Properties{} }

func TestWeakStoresAreRefused(t *testing.T) {
	if _, err := filelock.New(weak{storagetest.NewMem()}, "", 0); err == nil {
		t.Error("New on a store without atomic creation = nil, want an error")
	}
}
