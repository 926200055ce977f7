package ingest

import (
	"errors"
	"fmt"
)

// The refusals, spelled as the mount's contract has them.
const (
	refusedSealed   = "sealed"
	refusedBusy     = "busy"
	refusedNotEmpty = "not empty"
	refusedNoSpace  = "no space"
	refusedTooBig   = "too big"
	refusedRejected = "rejected"
	refusedStorage  = "storage"
	refusedInvalid  = "invalid"
	refusedIsDir    = "is a dir"
	refusedNotDir   = "not a dir"
)

// refusal is an error that says by its Refusal method which answer a process gets.
type refusal struct {
	what string
	err  error
}

func (r *refusal) Error() string   { return r.err.Error() }
func (r *refusal) Unwrap() error   { return r.err }
func (r *refusal) Refusal() string { return r.what }

func refuse(what, format string, args ...any) error {
	return &refusal{what, fmt.Errorf(format, args...)}
}

// outcome wraps the error of a drop that was not committed.
func outcome(err error) error {
	if errors.Is(err, ErrRejected) {
		return &refusal{refusedRejected, err}
	}
	return &refusal{refusedStorage, err}
}
