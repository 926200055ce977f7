package faultstore

import "fmt"

// crashPlan is a crash that is to come.
type crashPlan struct {
	ops  Op
	left int
	when When
	set  bool
}

// CrashAt lets n more operations of the kinds ops pass; the next one, and every operation of any kind after it, fails with
// ErrCrashed. when says whether that first failing operation took effect. What was published stays, what was not is gone: go
// on with Inner.
//
// A crash sweep runs a scenario on a fresh store for n = 0, 1, 2 … until Crashed stays false, and after each run opens Inner
// anew and checks what must hold.
func (s *Store) CrashAt(ops Op, n int, when When) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.crash = crashPlan{ops: ops, left: n, when: when, set: true}
}

// Crash crashes now.
func (s *Store) Crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.crashed = true
}

// Crashed reports whether the crash point was reached.
func (s *Store) Crashed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.crashed
}

// crashes needs mu. dead says that the verdict is the crash's.
func (s *Store) crashes(op Op, path string) (v verdict, dead bool) {
	err := fmt.Errorf("%v %s: %w", op, path, ErrCrashed)
	if s.mu.crashed {
		return verdict{before: err}, true
	}
	c := &s.mu.crash
	if !c.set || c.ops&op == 0 {
		return verdict{}, false
	}
	if c.left > 0 {
		c.left--
		return verdict{}, false
	}
	s.mu.crashed = true
	if c.when == After {
		return verdict{after: err}, true
	}
	return verdict{before: err}, true
}
