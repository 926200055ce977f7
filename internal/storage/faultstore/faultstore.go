// Package faultstore is a store that fails on purpose.
package faultstore

import (
	"errors"

	"github.com/hudifs/hudifs/internal/storage"
)

// ErrInjected is matched by the errors of faults that give no other one.
var ErrInjected = errors.New("injected fault")

// ErrCrashed is matched by every error after the crash point.
var ErrCrashed = errors.New("the store has crashed")

// Op is a set of kinds of operation.
type Op uint16

// The kinds of operation. Commit is the Commit of a Writer, Read a ReadAt of an Object or a ReadAll.
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

// When says whether a failing operation takes effect.
type When uint8

// The choices of When.
const (
	Before When = iota // nothing has happened
	After              // the operation has taken effect, only its answer is lost
)

// Fault makes matching operations fail.
type Fault struct {
	Ops   Op     // which kinds; 0 means Any
	Path  string // path.Match pattern over the whole path, or a substring when it has no meta characters; "" matches all
	Skip  int    // let so many matching operations pass first
	Times int    // fail so many, then no more; 0 means for ever
	When  When
	Err   error // default: an error that matches ErrInjected, and for After also storage.ErrAmbiguous
}

// New wraps inner. With no faults it behaves as inner does.
func New(inner storage.Store) *Store { panic("being written") }

// Store is a storage.Store with faults.
type Store struct{ storage.Store }

// Inject adds a fault; remove takes it away again.
func (s *Store) Inject(f Fault) (remove func()) { panic("being written") }

// CrashAt lets n more operations of the kinds ops pass; the next one, and every operation of any kind after it, fails with
// ErrCrashed. When says whether that first failing operation took effect. What was published stays: reopen with Inner.
func (s *Store) CrashAt(ops Op, n int, when When) { panic("being written") }

// Crashed reports whether the crash point was reached.
func (s *Store) Crashed() bool { panic("being written") }

// Count is the number of operations of the kinds ops seen so far.
func (s *Store) Count(ops Op) int { panic("being written") }

// Inner is the wrapped store.
func (s *Store) Inner() storage.Store { panic("being written") }
