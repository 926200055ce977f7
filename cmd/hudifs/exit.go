package main

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/hudifs/hudifs/fusefs"
	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/writer/lock"
)

// The exit codes, as docs/operations.md publishes them.
const (
	exitOK          = 0
	exitError       = 1
	exitPartly      = 3
	exitTimeout     = 4
	exitNoTable     = 10
	exitLocked      = 11
	exitDenied      = 12
	exitMount       = 13
	exitCorrupt     = 14
	exitUsage       = 64
	exitInterrupted = 130
)

// usageError is a call that can't be understood.
type usageError struct{ error }

// codedError carries its exit code.
type codedError struct {
	code int
	error
}

func (e codedError) Unwrap() error { return e.error }

// silentError has been told to the user already.
type silentError struct{ code int }

func (e *silentError) Error() string { return "" }

func coded(code int, err error) error {
	if err == nil {
		return nil
	}
	return codedError{code, err}
}

func exitCode(ctx context.Context, err error) int {
	var u usageError
	var c codedError
	var s *silentError
	switch {
	case errors.As(err, &u):
		return exitUsage
	case errors.As(err, &s):
		return s.code
	case errors.As(err, &c):
		return c.code
	case ctx.Err() != nil:
		return exitInterrupted
	case corrupt.Is(err):
		return exitCorrupt
	case errors.Is(err, lock.ErrTimeout):
		return exitLocked
	case errors.Is(err, fs.ErrPermission):
		return exitDenied
	case errors.Is(err, fusefs.ErrMount), errors.Is(err, syscall.ENODEV):
		return exitMount
	}
	return exitError
}
