package commitwatch

import (
	"context"
	"time"
)

// Poll wakes at an even interval: for buckets, which have no events, and beside inotify for disks that other hosts write. The interval
// stays the same however long nothing happens; who waits for a commit must not wait longer because the table was quiet.
type Poll struct {
	Every time.Duration // 0 means 1s
}

// DefaultPoll is the interval of the zero Poll.
const DefaultPoll = time.Second

// Run wakes until ctx ends.
func (p Poll) Run(ctx context.Context, wake func()) error {
	every := p.Every
	if every <= 0 {
		every = DefaultPoll
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			wake()
		}
	}
}

var _ Waker = Poll{}
