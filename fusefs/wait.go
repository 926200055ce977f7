package fusefs

import (
	"context"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// patience is how long a request goes on after a signal that does not end its process. Any signal interrupts a request, also those
// that a Go program sends to itself all the time; a read of some milliseconds must not fail for that.
const patience = time.Second

// killPoll is how often an interrupted request asks whether its process is being ended.
const killPoll = 50 * time.Millisecond

// waiting says how long a request may wait for work that others may share.
type waiting struct {
	limit time.Duration // at most this long
	// firm requests end on a signal only when it ends the process: the answer of close decides whether a program believes that its
	// rows are safe, and it gets only one.
	firm bool
}

// await runs fn detached from the request and waits for it within the limits. When the request leaves first, fn goes on, and late
// is called with what it returns (to close what nobody takes).
func await[T any](ctx context.Context, f *FS, w waiting, fn func(context.Context) (T, error), late func(T)) (T, error) {
	var v T
	var err error
	done := make(chan struct{})
	f.work.Go(func() {
		defer close(done)
		v, err = fn(f.life)
	})
	if left := waitFor(ctx, f, w, done); left != nil {
		if late != nil {
			f.work.Go(func() {
				if <-done; err == nil {
					late(v)
				}
			})
		}
		var none T
		return none, left
	}
	return v, err
}

// waitFor waits until done is closed, within the limits.
func waitFor(ctx context.Context, f *FS, w waiting, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	default:
	}
	limit := time.NewTimer(w.limit)
	defer limit.Stop()
	select {
	case <-done:
		return nil
	case <-limit.C:
		return errTooSlow
	case <-f.stopping:
		return errStopping
	case <-ctx.Done():
	}
	return waitInterrupted(ctx, f, w, done, limit)
}

// waitInterrupted goes on waiting after a signal.
func waitInterrupted(ctx context.Context, f *FS, w waiting, done <-chan struct{}, limit *time.Timer) error {
	var enough <-chan time.Time
	if !w.firm {
		t := time.NewTimer(patience)
		defer t.Stop()
		enough = t.C
	}
	tick := time.NewTicker(killPoll)
	defer tick.Stop()
	for {
		if f.procs.dying(callerThread(ctx)) {
			return errKilled
		}
		select {
		case <-done:
			return nil
		case <-limit.C:
			return errTooSlow
		case <-f.stopping:
			return errStopping
		case <-enough:
			return context.Canceled
		case <-tick.C:
		}
	}
}

// callerThread is the thread that made the request, 0 when the kernel does not say.
func callerThread(ctx context.Context) uint32 {
	if c, ok := fuse.FromContext(ctx); ok {
		return c.Pid
	}
	return 0
}

func callerWriter(ctx context.Context, p *procs) Writer {
	c, ok := fuse.FromContext(ctx)
	if !ok {
		return Writer{}
	}
	return Writer{UID: c.Uid, GID: c.Gid, PID: p.process(c.Pid)}
}
