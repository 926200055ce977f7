package faultstore

import (
	"context"
	"math/rand/v2"
	"time"
)

// latency draws the delay of each operation.
type latency struct {
	rng      *rand.Rand
	min, max time.Duration
}

type waiter struct{ d time.Duration }

// SetLatency delays every operation by a duration between min and max, drawn from seed. max 0 ends it.
func (s *Store) SetLatency(seed uint64, min, max time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.latency = latency{rng: rand.New(rand.NewPCG(seed, 0)), min: min, max: max}
}

func (l *latency) next() waiter {
	if l.max <= 0 {
		return waiter{}
	}
	return waiter{l.min + time.Duration(l.rng.Int64N(int64(max(l.max-l.min, 0))+1))}
}

func sleep(ctx context.Context, w waiter) error {
	if w.d <= 0 {
		return nil
	}
	t := time.NewTimer(w.d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// HideNew makes lists lag behind, as those of weakly consistent stores do: objects written from now on are not listed until
// reveal is called. Other operations see them.
func (s *Store) HideNew() (reveal func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.hidden = make(map[string]struct{})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mu.hidden = nil
	}
}

func (s *Store) wrote(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.hidden != nil {
		s.mu.hidden[path] = struct{}{}
	}
}

func (s *Store) isHidden(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.mu.hidden[path]
	return ok
}
