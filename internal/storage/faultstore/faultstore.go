// Package faultstore is a store that fails on purpose.
//
// It knows kinds of operations and paths. It must never know what an object means. Tests put it between the engine and a real
// store, make one operation fail, or all of them from some operation on, and then look at what is left in the store behind.
package faultstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/hudifs/hudifs/internal/storage"
)

// ErrInjected is matched by the errors of faults that give no other one.
var ErrInjected = errors.New("injected fault")

// ErrCrashed is matched by every error after the crash point. It must not be retried.
var ErrCrashed = errors.New("the store has crashed")

// Op is a set of kinds of operation.
type Op uint16

// The kinds of operation. Commit is the Commit of a Writer, Write its Write; Read is a ReadAt of an Object or a ReadAll;
// Open is also OpenLocal.
const (
	Stat Op = 1 << iota
	Open
	Read
	Put
	PutIfMatch
	Create
	Write
	Commit
	List
	Delete

	Any      Op = 1<<iota - 1                        // every operation
	Mutation Op = Put | PutIfMatch | Commit | Delete // the ones that change what is stored
)

var opNames = [...]string{"stat", "open", "read", "put", "put if match", "create", "write", "commit", "list", "delete"}

func (o Op) String() string {
	var names []string
	for i, name := range opNames {
		if o&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// When says whether a failing operation takes effect.
type When uint8

// The choices of When.
const (
	Before When = iota // nothing has happened
	After              // the operation has taken effect, only its answer is lost
)

// Fault makes matching operations fail, or, with Do, runs something before them.
type Fault struct {
	Ops   Op     // which kinds; 0 means Any
	Path  string // a part of the path; or, with "*" in it, the whole path, where "*" is any run of characters; "" matches all
	Skip  int    // let so many matching operations pass first
	Times int    // act on so many, then no more; 0 means for ever
	When  When
	// Do, if not nil, runs before the operation, without any lock held: to change the store in that very moment, or to make
	// the operation wait. With Do and no Err the operation is not made to fail.
	Do func(op Op, path string)
	// Err is what the operation returns; by default an error that matches ErrInjected, and for After also storage.ErrAmbiguous.
	Err error
}

// Store is a storage.Store with faults. Faults, crash, latency and lag may be set at any time.
type Store struct {
	inner storage.Store

	mu struct {
		sync.Mutex
		faults  []*armed
		crash   crashPlan
		crashed bool
		counts  [len(opNames)]int
		latency latency
		hidden  map[string]struct{} // paths that lists do not show yet; nil when lists show all
	}
}

type armed struct {
	Fault
	seen int
}

// New wraps inner. With no faults it behaves as inner does. Closing it closes inner.
func New(inner storage.Store) *Store { return &Store{inner: inner} }

// Inner is the wrapped store.
func (s *Store) Inner() storage.Store { return s.inner }

// Inject adds a fault; remove takes it away again. The first matching fault acts.
func (s *Store) Inject(f Fault) (remove func()) {
	if f.Ops == 0 {
		f.Ops = Any
	}
	a := &armed{Fault: f}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.faults = append(s.mu.faults, a)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, have := range s.mu.faults {
			if have == a {
				s.mu.faults = append(s.mu.faults[:i:i], s.mu.faults[i+1:]...)
				return
			}
		}
	}
}

// Count is the number of operations of the kinds ops seen so far, failed ones included.
func (s *Store) Count(ops Op) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for i, c := range s.mu.counts {
		if ops&(1<<i) != 0 {
			n += c
		}
	}
	return n
}

// verdict is what enter decided about one operation.
type verdict struct{ before, after error }

// enter is called before each operation.
func (s *Store) enter(ctx context.Context, op Op, path string) verdict {
	v, do, wait := s.judge(op, path)
	if do != nil {
		do(op, path)
	}
	if err := sleep(ctx, wait); err != nil && v.before == nil {
		v.before = fmt.Errorf("%v %s: %w", op, path, err)
	}
	return v
}

// run makes one operation under its verdict.
func (v verdict) run(f func() error) error {
	if v.before != nil {
		return v.before
	}
	if err := f(); err != nil {
		return err
	}
	return v.after
}

func (s *Store) judge(op Op, path string) (v verdict, do func(Op, string), wait waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.mu.counts {
		if op == 1<<i {
			s.mu.counts[i]++
		}
	}
	wait = s.mu.latency.next()
	if v, dead := s.crashes(op, path); dead {
		return v, nil, waiter{}
	}
	for _, a := range s.mu.faults {
		if a.Ops&op == 0 || !match(a.Path, path) {
			continue
		}
		a.seen++
		if a.seen <= a.Skip || (a.Times > 0 && a.seen > a.Skip+a.Times) {
			continue
		}
		if a.Do != nil && a.Err == nil {
			return verdict{}, a.Do, wait
		}
		err := a.error(op, path)
		if a.When == After {
			return verdict{after: err}, a.Do, wait
		}
		return verdict{before: err}, a.Do, wait
	}
	return verdict{}, nil, wait
}

func (a *armed) error(op Op, path string) error {
	switch {
	case a.Err != nil:
		return fmt.Errorf("%v %s: %w", op, path, a.Err)
	case a.When == After:
		return fmt.Errorf("%v %s: %w: %w", op, path, ErrInjected, storage.ErrAmbiguous)
	}
	return fmt.Errorf("%v %s: %w", op, path, ErrInjected)
}

// match implements Fault.Path.
func match(pattern, path string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return strings.Contains(path, pattern)
	}
	path, ok := strings.CutPrefix(path, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(path, p)
		if i < 0 {
			return false
		}
		path = path[i+len(p):]
	}
	return strings.HasSuffix(path, last)
}
