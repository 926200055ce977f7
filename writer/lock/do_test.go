package lock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type stuck struct{ renewals int }

func (s *stuck) TryLock(context.Context, string, time.Duration) (Lease, error) { return s, nil }
func (s *stuck) Token() uint64                                                 { return 1 }
func (s *stuck) Unlock(context.Context) error                                  { return ErrLost }
func (s *stuck) Renew(context.Context) error {
	if s.renewals--; s.renewals < 0 {
		return errors.New("store is gone")
	}
	return nil
}

func TestDoEndsWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := Do(t.Context(), &stuck{renewals: 2}, "a", func(ctx context.Context, _ uint64) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, ErrLost) {
			t.Errorf("Do after a lost lease = %v, want ErrLost", err)
		}
		if got := time.Since(began); got != TTL {
			t.Errorf("fn was told after %v, want %v (the third renewal)", got, TTL)
		}
	})
}

type never struct{}

func (never) TryLock(context.Context, string, time.Duration) (Lease, error) { return nil, ErrHeld }

func TestDoWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := Do(t.Context(), never{}, "a", func(context.Context, uint64) error { return nil })
		if !errors.Is(err, ErrTimeout) || !errors.Is(err, ErrHeld) {
			t.Errorf("Do on a lock that is never free = %v, want ErrTimeout with the last answer", err)
		}
		if got := time.Since(began); got != MaxWait {
			t.Errorf("waited %v, want %v", got, MaxWait)
		}
	})
}
