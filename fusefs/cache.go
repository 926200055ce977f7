package fusefs

import (
	"container/list"
	"context"
	"sort"
	"sync"

	"github.com/hudifs/hudifs/timeline"
)

// cache keeps the results of loading, bounded by their cost. One load per key runs at a time, detached from who waits for it. The
// zero value with max set is ready.
type cache[K comparable, V any] struct {
	max  int64
	cost func(V) int64 // nil: 1 each
	mu   struct {
		sync.Mutex
		slots map[K]*slot[K, V]
		order list.List // front: used last
		total int64
	}
}

type slot[K comparable, V any] struct {
	key  K
	done chan struct{} // closed when v and err are set
	v    V
	err  error
	cost int64
	elem *list.Element
}

// get returns the value for k, loading it if need be.
func (c *cache[K, V]) get(ctx context.Context, f *FS, w waiting, k K, load func(context.Context) (V, error)) (V, error) {
	c.mu.Lock()
	s, ok := c.mu.slots[k]
	if ok {
		c.mu.order.MoveToFront(s.elem)
	} else {
		s = c.add(k)
	}
	c.mu.Unlock()
	if !ok {
		f.work.Go(func() {
			defer close(s.done)
			s.v, s.err = load(f.life)
			c.finish(s)
		})
	}
	if err := waitFor(ctx, f, w, s.done); err != nil {
		var none V
		return none, err
	}
	return s.v, s.err
}

// add needs the lock.
func (c *cache[K, V]) add(k K) *slot[K, V] {
	s := &slot[K, V]{key: k, done: make(chan struct{})}
	s.elem = c.mu.order.PushFront(s)
	if c.mu.slots == nil {
		c.mu.slots = map[K]*slot[K, V]{}
	}
	c.mu.slots[k] = s
	return s
}

// finish accounts for a loaded value and makes room; a failed one is forgotten.
func (c *cache[K, V]) finish(s *slot[K, V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.err != nil {
		c.remove(s)
		return
	}
	if c.mu.slots[s.key] != s {
		return // dropped meanwhile
	}
	s.cost = 1
	if c.cost != nil {
		s.cost = c.cost(s.v)
	}
	c.mu.total += s.cost
	for e := c.mu.order.Back(); e != nil && c.mu.total > c.max; {
		old := e.Value.(*slot[K, V])
		e = e.Prev()
		if old != s && old.cost > 0 { // cost 0: still loading
			c.remove(old)
		}
	}
}

// remove needs the lock.
func (c *cache[K, V]) remove(s *slot[K, V]) {
	if c.mu.slots[s.key] != s {
		return
	}
	delete(c.mu.slots, s.key)
	c.mu.order.Remove(s.elem)
	c.mu.total -= s.cost
}

func (c *cache[K, V]) drop(k K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.mu.slots[k]; ok {
		c.remove(s)
	}
}

func (c *cache[K, V]) dropIf(gone func(K) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, s := range c.mu.slots {
		if gone(k) {
			c.remove(s)
		}
	}
}

type snapshotKey struct {
	view View
	at   timeline.InstantTime
}

type listingKey struct {
	snapshotKey
	dir string
}

// listing is a directory of a snapshot, sorted by name.
type listing struct {
	entries []Entry
	ready   int // entries whose attributes cost nothing
}

func newListing(entries []Entry) *listing {
	l := &listing{entries: entries}
	less := func(i, j int) bool { return entries[i].Name < entries[j].Name }
	if !sort.SliceIsSorted(entries, less) {
		l.entries = append([]Entry(nil), entries...)
		sort.Slice(l.entries, func(i, j int) bool { return l.entries[i].Name < l.entries[j].Name })
	}
	for _, e := range entries {
		if e.Dir || e.Size >= 0 {
			l.ready++
		}
	}
	return l
}

// find returns the index of a name, -1 for none.
func (l *listing) find(name string) int {
	i := sort.Search(len(l.entries), func(i int) bool { return l.entries[i].Name >= name })
	if i == len(l.entries) || l.entries[i].Name != name {
		return -1
	}
	return i
}

func (f *FS) openWait() waiting { return waiting{limit: f.cfg.OpenTimeout} }

// snapshot returns an open snapshot.
func (f *FS) snapshot(ctx context.Context, k snapshotKey) (Snapshot, error) {
	return f.snapshots.get(ctx, f, f.openWait(), k, func(ctx context.Context) (Snapshot, error) {
		return f.cfg.Source.Open(ctx, k.at, k.view)
	})
}

// listing returns a directory of a snapshot.
func (f *FS) listing(ctx context.Context, k listingKey) (*listing, error) {
	return f.listings.get(ctx, f, f.openWait(), k, func(ctx context.Context) (*listing, error) {
		s, err := f.snapshot(ctx, k.snapshotKey)
		if err != nil {
			return nil, err
		}
		entries, err := s.Entries(ctx, k.dir)
		if err != nil {
			return nil, err
		}
		return newListing(entries), nil
	})
}
