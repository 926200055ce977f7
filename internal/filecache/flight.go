package filecache

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// flight is one fill under way and those who wait for it.
type flight struct {
	id   id
	key  string // for messages
	fill func(context.Context, *os.File) error
	done chan struct{} // closed when entry and err are set

	waiters int // guarded by Cache.mu, until done

	entry *entry // pinned once for each waiter
	err   error
}

// wait returns the entry that f makes, pinned for the caller.
func (c *Cache) wait(ctx context.Context, f *flight) (*entry, error) {
	select {
	case <-f.done:
		return f.entry, f.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	select {
	case <-f.done: // just now: the pin that was made for us is ours to give back
		c.mu.Unlock()
		if f.err == nil {
			c.unpin(f.entry)
		}
	default:
		f.waiters--
		c.mu.Unlock()
	}
	return nil, ctx.Err()
}

// fly makes the file of f and tells the waiters.
func (c *Cache) fly(f *flight) {
	file, e, err := c.make(f)
	c.mu.Lock()
	delete(c.mu.flights, f.id)
	var victims []*entry
	if err == nil {
		c.addLocked(e, f.waiters)
		victims = c.evictLocked(c.maxBytes)
	}
	f.entry, f.err = e, err
	close(f.done)
	c.mu.Unlock()
	c.remove(victims)
	if err != nil {
		c.stats.failures.Add(1)
		c.log.Debug("a cache fill has failed", "key", f.key, "err", err)
		return
	}
	c.stats.fills.Add(1)
	c.sizes.put(e.id, e.size, onlySize)
	// Nobody waits for the disk.
	err = file.Sync()
	if err = errors.Join(err, file.Close()); err != nil {
		c.log.Debug("a cached file may not outlive a power cut", "key", f.key, "err", err)
		return
	}
	c.sizes.put(e.id, e.size, durable)
}

// make fills a new file and gives it its name. It tries once more when the disk was full.
func (c *Cache) make(f *flight) (*os.File, *entry, error) {
	tmp, err := c.tempFile()
	if err != nil {
		return nil, nil, fmt.Errorf("make a cache file for %s: %w", f.key, err)
	}
	err = f.fill(c.ctx, tmp)
	if isFull(err) {
		victims := c.evict(0)
		c.log.Warn("the disk of the cache is full; all unused files were evicted", "dir", c.dir, "files", len(victims), "key", f.key, "err", err)
		if _, serr := tmp.Seek(0, io.SeekStart); serr != nil {
			err = errors.Join(err, serr)
		} else if terr := tmp.Truncate(0); terr != nil {
			err = errors.Join(err, terr)
		} else if err = f.fill(c.ctx, tmp); isFull(err) {
			err = fmt.Errorf("the disk of %s is full and no unused cached file is left to evict; free some space or move the cache: %w", c.dir, err)
		}
	}
	if c.ctx.Err() != nil {
		err = errors.Join(fs.ErrClosed, err) // what a fill made after it was told to stop is not to be trusted
	}
	if err == nil {
		var e *entry
		if e, err = c.publish(f.id, tmp); err == nil {
			return tmp, e, nil
		}
	}
	err = fmt.Errorf("make the cache file of %s: %w", f.key, err)
	return nil, nil, errors.Join(err, tmp.Close(), os.Remove(tmp.Name()))
}

func isFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

func (c *Cache) publish(k id, tmp *os.File) (*entry, error) {
	fi, err := tmp.Stat()
	if err != nil {
		return nil, err
	}
	var suffix [6]byte
	rand.Read(suffix[:]) // never fails (crypto/rand)
	// A name of its own: an evicted file of the same key may still be waiting for its removal.
	e := &entry{id: k, name: k.String() + "-" + hex.EncodeToString(suffix[:]), size: fi.Size(), touched: time.Now()}
	return e, os.Rename(tmp.Name(), c.path(e.name))
}

func (c *Cache) tempFile() (*os.File, error) {
	f, err := os.CreateTemp(filepath.Join(c.dir, "tmp"), "fill-")
	if errors.Is(err, fs.ErrNotExist) {
		// Somebody has cleaned up under us.
		if err := c.makeDirs(); err != nil {
			return nil, err
		}
		f, err = os.CreateTemp(filepath.Join(c.dir, "tmp"), "fill-")
	}
	if isFull(err) {
		c.evict(0)
		f, err = os.CreateTemp(filepath.Join(c.dir, "tmp"), "fill-")
	}
	return f, err
}
