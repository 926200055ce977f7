// Package filecache keeps whole files on local disk, bounded in bytes.
//
// It knows keys, sizes and files. It must never know what a file means: a key names bytes that are always the same, so that a file
// that was evicted can be made again.
//
// # The directory
//
//	lock                   flock(2) of the one process that owns the directory
//	boot                   the boot of the machine that wrote last
//	sizes                  a log of what size every key's file has, also of evicted ones; one line each, with a checksum
//	tmp/                   files being filled
//	files/<key>-<suffix>   whole files; <key> is the start of the SHA-256 of the key, the suffix is new with every fill
//
// A file comes into files/ by rename, when its fill has returned. Its bytes go to disk after that, and only then the log says
// so: when the machine has gone down in between, the files that the log does not vouch for are removed, because a power cut may
// have left them short.
package filecache

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// ErrInUse is returned by Open when another process owns the directory.
var ErrInUse = errors.New("the cache directory is used by another process")

// Cache is a directory of files by key. Safe for concurrent use.
//
// A caller of Get shares one fill with all others that want the same key. The fill runs in a goroutine of its own: a caller
// whose context ends leaves alone, and the fill goes on, because the next caller will want the file. Only Close ends it early.
// A file is pinned while handles to it are open; when the files exceed the bound, unpinned ones go, least recently used first.
// The bound is exceeded while the pinned files alone exceed it, and by the files being filled.
type Cache struct {
	dir      string
	maxBytes int64
	log      *slog.Logger
	lock     *os.File
	ctx      context.Context // of fills; ends with Close
	cancel   context.CancelFunc
	wg       sync.WaitGroup // fills

	// No system call is made under mu.
	mu struct {
		sync.Mutex
		closed  bool
		entries map[id]*entry
		flights map[id]*flight
		lru     *list.List // unpinned entries, the most recently used in front
		bytes   int64      // of all entries
	}
	sizes sizes
	stats struct{ hits, fills, failures, evictions atomic.Int64 }
}

// id is the start of the SHA-256 of a key.
type id [16]byte

func idOf(key string) id {
	sum := sha256.Sum256([]byte(key))
	return id(sum[:len(id{})])
}

func (i id) String() string { return hex.EncodeToString(i[:]) }

// entry is one whole file. All but the constant fields are guarded by Cache.mu.
type entry struct {
	id   id     // constant
	name string // constant: file name in files/
	size int64  // constant

	pins    int
	gone    bool          // no longer in the index
	elem    *list.Element // in the lru; nil while pinned or gone
	touched time.Time     // when the times of the file were last set
}

// Handle pins one cached file: it is not evicted before Close. Each handle has a file descriptor of its own, for reading.
type Handle struct {
	*os.File
	Size int64 // bytes

	c      *Cache
	e      *entry
	closed atomic.Bool
}

// Close unpins. A second Close does nothing.
func (h *Handle) Close() error {
	if h.closed.Swap(true) {
		return nil
	}
	err := h.File.Close()
	h.c.unpin(h.e)
	return err
}

// Open opens the cache in dir, making it when missing, and takes over the files that are there. maxBytes bounds the sum of
// the sizes of the files kept. One process at a time owns a directory: the second gets ErrInUse.
func Open(dir string, maxBytes int64, log *slog.Logger) (*Cache, error) {
	if maxBytes <= 0 {
		return nil, fmt.Errorf("open the cache %s: its bound of %d bytes leaves room for nothing: %w", dir, maxBytes, fs.ErrInvalid)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Cache{dir: dir, maxBytes: maxBytes, log: log}
	c.mu.entries = make(map[id]*entry)
	c.mu.flights = make(map[id]*flight)
	c.mu.lru = list.New()
	if err := c.makeDirs(); err != nil {
		return nil, fmt.Errorf("open the cache: %w", err)
	}
	lock, err := takeLock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("open the cache %s: %w", dir, err)
	}
	c.lock = lock
	if err := c.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("open the cache %s: %w", dir, err), c.sizes.close(), lock.Close())
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

func (c *Cache) makeDirs() error {
	for _, d := range []string{"tmp", "files"} {
		if err := os.MkdirAll(filepath.Join(c.dir, d), 0o700); err != nil {
			return err
		}
	}
	return nil
}

func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrInUse
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close ends running fills, waits for them and releases the directory. Open handles stay readable.
func (c *Cache) Close() error {
	c.mu.Lock()
	if c.mu.closed {
		c.mu.Unlock()
		return nil
	}
	c.mu.closed = true
	c.mu.Unlock()
	c.cancel()
	c.wg.Wait()
	return errors.Join(c.sizes.close(), c.lock.Close())
}

// tries bounds how often Get makes a file again that somebody removes from under the cache.
const tries = 3

// Get returns the file of key, filling it first when it is not there. fill writes the whole file to f, which it leaves
// open; it is called once however many callers wait, and once more when the disk was full and room could be made. Its context
// ends only with Close. The caller must close the handle.
func (c *Cache) Get(ctx context.Context, key string, fill func(ctx context.Context, f *os.File) error) (*Handle, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k := idOf(key)
	for try := 1; ; try++ {
		e, f, err := c.find(k, key, fill)
		if err != nil {
			return nil, err
		}
		if e == nil {
			if e, err = c.wait(ctx, f); err != nil {
				return nil, err
			}
		}
		h, err := c.openEntry(e)
		if err == nil {
			return h, nil
		}
		c.drop(e)
		c.log.Warn("a cached file is not as it was written and is made again", "path", c.path(e.name), "err", err)
		if try == tries {
			return nil, fmt.Errorf("open the cached file of %s: %w", key, err)
		}
	}
}

// find returns the entry of k, pinned, or else the flight that makes it, with the caller counted as waiting.
func (c *Cache) find(k id, key string, fill func(context.Context, *os.File) error) (*entry, *flight, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return nil, nil, fmt.Errorf("use the cache %s: %w", c.dir, fs.ErrClosed)
	}
	if e := c.mu.entries[k]; e != nil {
		c.pinLocked(e)
		c.stats.hits.Add(1)
		return e, nil, nil
	}
	f := c.mu.flights[k]
	if f == nil {
		f = &flight{id: k, key: key, fill: fill, done: make(chan struct{})}
		c.mu.flights[k] = f
		c.wg.Go(func() { c.fly(f) })
	}
	f.waiters++
	return nil, f, nil
}

// touchEvery is how far the time of use on disk, from which a restart takes the order of eviction, may lag behind.
const touchEvery = time.Minute

// openEntry opens the file of a pinned entry and checks that it is the file that was put there.
func (c *Cache) openEntry(e *entry) (*Handle, error) {
	f, err := os.Open(c.path(e.name))
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && fi.Size() != e.size {
		err = fmt.Errorf("it has %d bytes, was written with %d", fi.Size(), e.size)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	now := time.Now()
	c.mu.Lock()
	touch := now.Sub(e.touched) >= touchEvery
	if touch {
		e.touched = now
	}
	c.mu.Unlock()
	if touch {
		if err := os.Chtimes(c.path(e.name), now, now); err != nil {
			c.log.Debug("the time of use of a cached file is not noted", "path", c.path(e.name), "err", err)
		}
	}
	return &Handle{File: f, Size: e.size, c: c, e: e}, nil
}

func (c *Cache) path(name string) string { return filepath.Join(c.dir, "files", name) }

// Has reports whether the file of key is there now.
func (c *Cache) Has(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.entries[idOf(key)] != nil
}

// Size is the size of key's file, remembered across restarts and evictions. The newest maxSizes keys are.
func (c *Cache) Size(key string) (int64, bool) { return c.sizes.get(idOf(key)) }

// Stats are counts since Open, and the state now.
type Stats struct {
	Files, Bytes, MaxBytes, PinnedBytes int64
	Filling                             int64 // fills under way
	Hits, Fills, Failures, Evictions    int64 // Fills are the successful ones
}

// Stats describes the cache.
func (c *Cache) Stats() Stats {
	s := Stats{MaxBytes: c.maxBytes, Hits: c.stats.hits.Load(), Fills: c.stats.fills.Load(), Failures: c.stats.failures.Load(), Evictions: c.stats.evictions.Load()}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Files, s.Bytes, s.Filling = int64(len(c.mu.entries)), c.mu.bytes, int64(len(c.mu.flights))
	for _, e := range c.mu.entries {
		if e.pins > 0 {
			s.PinnedBytes += e.size
		}
	}
	return s
}
