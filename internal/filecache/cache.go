// Package filecache keeps whole files on local disk, bounded in bytes.
package filecache

import (
	"context"
	"log/slog"
	"os"
)

// Cache is a directory of files by key. Safe for concurrent use.
type Cache struct{}

// Open opens the cache in dir, making it when missing. maxBytes bounds the sum of the sizes of the files kept. One process at a time owns a directory.
func Open(dir string, maxBytes int64, log *slog.Logger) (*Cache, error) { panic("being written") }

// Get returns the file of key, filling it first when it is not there. fill writes the whole file to f; however many callers
// wait for a key, fill runs once, under a context of its own that ends only with Close (a caller whose context ends leaves alone). The caller must Close the handle.
func (c *Cache) Get(ctx context.Context, key string, fill func(ctx context.Context, f *os.File) error) (*Handle, error) {
	panic("being written")
}

// Size is the size of key's file, remembered across restarts and evictions.
func (c *Cache) Size(key string) (int64, bool) { panic("being written") }

// Close waits for running fills and releases the directory.
func (c *Cache) Close() error { panic("being written") }

// Handle pins one cached file: it is not evicted before Close. Each handle has a file descriptor of its own.
type Handle struct {
	*os.File       // open for reading
	Size     int64 // bytes
}

// Close unpins.
func (h *Handle) Close() error { panic("being written") }
