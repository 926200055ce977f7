// Package commitwatch notices that somebody else changed the table.
//
// It knows timelines and what wakes it: inotify on local disks, a clock on buckets. It must never know snapshots, nor how a table is
// written. A waker only ever says "look again"; what has changed is found by reading the timeline, so nothing is lost when wakers are
// late, doubled or overflow.
package commitwatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hudifs/hudifs/timeline"
)

// Waker says when it is worth looking. Run calls wake, which never blocks, and returns when ctx ends. Another return is reported and
// leaves the work to the other wakers.
type Waker interface {
	Run(ctx context.Context, wake func()) error
}

// Options configure a Watcher. Load is needed.
type Options struct {
	// Load reads the whole timeline. It runs once at a time.
	Load   func(ctx context.Context) (*timeline.Timeline, error)
	Wakers []Waker
	// Settle is how long to wait after a waker before looking: one commit makes several files. 0 means 10ms.
	Settle time.Duration
	// Retry is how long to wait after a failed look. 0 means 1s.
	Retry time.Duration
	Log   *slog.Logger // nil: discard
}

const (
	defaultSettle = 10 * time.Millisecond
	defaultRetry  = time.Second
)

// Watcher keeps the current timeline and tells subscribers what is new. Poke and Current work whether or not Run does.
type Watcher struct {
	o       Options
	log     *slog.Logger
	current atomic.Pointer[timeline.Timeline]
	turn    chan struct{} // holds one token: the right to load
	wakeups chan struct{}
	loads   struct {
		sync.Mutex
		begun  uint64 // looks begun so far
		lastOK uint64 // number of the last look that succeeded
	}
	subs struct {
		sync.Mutex
		list []*subscriber
	}
}

// New returns a watcher; nothing runs before Run.
func New(o Options) (*Watcher, error) {
	if o.Load == nil {
		return nil, errors.New("commit watcher: no way to load the timeline")
	}
	if o.Settle == 0 {
		o.Settle = defaultSettle
	}
	if o.Retry == 0 {
		o.Retry = defaultRetry
	}
	w := &Watcher{o: o, log: o.Log, turn: make(chan struct{}, 1), wakeups: make(chan struct{}, 1)}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	w.turn <- struct{}{}
	return w, nil
}

// Current is the timeline as of the last successful look; nil before the first.
func (w *Watcher) Current() *timeline.Timeline { return w.current.Load() }

// Wake asks for a look soon. It never blocks.
func (w *Watcher) Wake() {
	select {
	case w.wakeups <- struct{}{}:
	default: // one is due already
	}
}

// Poke looks now and returns when subscribers have been told: the way to make a commit of our own visible at once. Callers that come
// together share a look that begins after the last of them came.
func (w *Watcher) Poke(ctx context.Context) error {
	w.loads.Lock()
	asked := w.loads.begun
	w.loads.Unlock()
	select {
	case <-w.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { w.turn <- struct{}{} }()
	w.loads.Lock()
	if w.loads.lastOK > asked {
		w.loads.Unlock()
		return nil
	}
	w.loads.begun++
	me := w.loads.begun
	w.loads.Unlock()

	tl, err := w.o.Load(ctx)
	if err != nil {
		return fmt.Errorf("read the timeline: %w", err)
	}
	w.loads.Lock()
	w.loads.lastOK = me
	w.loads.Unlock()
	w.publish(tl)
	return nil
}

// Run looks once, then whenever a waker says so, until ctx ends.
func (w *Watcher) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, k := range w.o.Wakers {
		wg.Go(func() {
			if err := k.Run(ctx, w.Wake); err != nil && ctx.Err() == nil {
				w.log.Warn("watching for commits is impaired", "waker", fmt.Sprintf("%T", k), "err", err)
			}
		})
	}
	var wait time.Duration
	for {
		if err := w.Poke(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			w.log.Warn("cannot see new commits; trying again", "err", err, "after", w.o.Retry)
			wait = w.o.Retry
			w.Wake()
		} else {
			wait = w.o.Settle
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.wakeups:
		}
		if !sleep(ctx, wait) {
			return nil
		}
		select { // what came while waiting is covered by the look that follows
		case <-w.wakeups:
		default:
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
