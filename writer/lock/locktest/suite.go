// Package locktest is the contract of a lock.Provider as a test suite.
package locktest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hudifs/hudifs/writer/lock"
)

// Run checks a provider of a fresh, unlocked table.
func Run(t *testing.T, fresh func(t *testing.T) lock.Provider) {
	t.Run("second taker is refused", func(t *testing.T) {
		p, ctx := fresh(t), t.Context()
		a := take(t, p)
		if _, err := p.TryLock(ctx, "b", lock.TTL); !errors.Is(err, lock.ErrHeld) {
			t.Fatalf("TryLock while held = %v, want ErrHeld", err)
		}
		if err := a.Renew(ctx); err != nil {
			t.Fatalf("Renew of a held lease = %v, want nil", err)
		}
		if err := a.Unlock(ctx); err != nil {
			t.Fatalf("Unlock = %v, want nil", err)
		}
		b := take(t, p)
		if b.Token() <= a.Token() {
			t.Errorf("token of the later lease = %d, want more than %d", b.Token(), a.Token())
		}
		if err := a.Unlock(ctx); !errors.Is(err, lock.ErrLost) {
			t.Errorf("Unlock of an old lease = %v, want ErrLost", err)
		}
		if err := a.Renew(ctx); !errors.Is(err, lock.ErrLost) {
			t.Errorf("Renew of an old lease = %v, want ErrLost", err)
		}
		if _, err := p.TryLock(ctx, "c", lock.TTL); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("TryLock after an old lease's Unlock = %v, want ErrHeld: the new holder was robbed", err)
		}
	})
	t.Run("one at a time", func(t *testing.T) {
		p := fresh(t)
		var inside, most, sum atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 5 {
					err := lock.Do(t.Context(), p, "racer", func(context.Context, uint64) error {
						most.Store(max(most.Load(), inside.Add(1)))
						sum.Add(1)
						inside.Add(-1)
						return nil
					})
					if err != nil {
						t.Errorf("Do = %v, want nil", err)
					}
				}
			})
		}
		wg.Wait()
		if most.Load() != 1 || sum.Load() != 40 {
			t.Errorf("at most %d inside at once and %d runs, want 1 and 40", most.Load(), sum.Load())
		}
	})
	t.Run("given back after an error", func(t *testing.T) {
		p, boom := fresh(t), errors.New("boom")
		if err := lock.Do(t.Context(), p, "a", func(context.Context, uint64) error { return boom }); !errors.Is(err, boom) {
			t.Fatalf("Do = %v, want the function's error", err)
		}
		take(t, p)
	})
	t.Run("a cancelled wait ends", func(t *testing.T) {
		p := fresh(t)
		take(t, p)
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		if err := lock.Do(ctx, p, "b", func(context.Context, uint64) error { t.Error("ran without the lock"); return nil }); err == nil {
			t.Error("Do with a dead context = nil, want an error")
		}
	})
}

func take(t *testing.T, p lock.Provider) lock.Lease {
	t.Helper()
	l, err := p.TryLock(t.Context(), "a", lock.TTL)
	if err != nil {
		t.Fatalf("TryLock of a free lock = %v, want nil", err)
	}
	return l
}
