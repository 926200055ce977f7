package filecache

import (
	"errors"
	"io/fs"
	"os"
)

// The methods whose names end in Locked need mu.

func (c *Cache) pinLocked(e *entry) {
	e.pins++
	if e.elem != nil {
		c.mu.lru.Remove(e.elem)
		e.elem = nil
	}
}

// addLocked puts a new entry into the index, in the place of an older one of the same key.
func (c *Cache) addLocked(e *entry, pins int) {
	c.mu.entries[e.id] = e
	c.mu.bytes += e.size
	if e.pins = pins; pins == 0 {
		e.elem = c.mu.lru.PushFront(e)
	}
}

// forgetLocked takes an entry out of the index. Its handles stay readable.
func (c *Cache) forgetLocked(e *entry) {
	if e.gone {
		return
	}
	e.gone = true
	delete(c.mu.entries, e.id)
	c.mu.bytes -= e.size
	if e.elem != nil {
		c.mu.lru.Remove(e.elem)
		e.elem = nil
	}
}

// evictLocked forgets unpinned entries until at most limit bytes are left, and returns them for removal after mu is released.
func (c *Cache) evictLocked(limit int64) []*entry {
	var victims []*entry
	for c.mu.bytes > limit {
		last := c.mu.lru.Back()
		if last == nil {
			break // all the others are pinned; they go when they are closed
		}
		e := last.Value.(*entry)
		c.forgetLocked(e)
		victims = append(victims, e)
	}
	c.stats.evictions.Add(int64(len(victims)))
	return victims
}

func (c *Cache) evict(limit int64) []*entry {
	c.mu.Lock()
	victims := c.evictLocked(limit)
	c.mu.Unlock()
	c.remove(victims)
	return victims
}

func (c *Cache) unpin(e *entry) {
	c.mu.Lock()
	e.pins--
	var victims []*entry
	if e.pins == 0 && !e.gone {
		e.elem = c.mu.lru.PushFront(e)
		victims = c.evictLocked(c.maxBytes)
	}
	c.mu.Unlock()
	c.remove(victims)
}

// drop forgets a pinned entry whose file is not what it should be.
func (c *Cache) drop(e *entry) {
	c.mu.Lock()
	e.pins--
	first := !e.gone
	c.forgetLocked(e)
	c.mu.Unlock()
	if first {
		c.remove([]*entry{e})
	}
}

func (c *Cache) remove(victims []*entry) {
	for _, e := range victims {
		if err := os.Remove(c.path(e.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.log.Warn("an evicted file stays until the next start", "path", c.path(e.name), "err", err)
		}
	}
}
