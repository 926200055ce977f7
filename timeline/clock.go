package timeline

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Clock gives instant times. Every time is greater than all that it gave or was shown before.
type Clock interface {
	Now(ctx context.Context) (InstantTime, error)
}

// TableClock is a Clock in a table's zone. Two processes agree because each shows its clock the timeline (Observe) under the table lock
// before it takes a time there. It never goes back: not when the wall clock is set back, not in the hour that autumn repeats.
type TableClock struct {
	zone *time.Location
	now  func() time.Time
	mu   struct {
		sync.Mutex
		last InstantTime
	}
}

var _ Clock = (*TableClock)(nil)

// NewClock returns a clock of the zone, as tableconfig.Config.Zone gives it.
func NewClock(zone *time.Location) *TableClock { return NewClockFrom(zone, time.Now) }

// NewClockFrom returns a clock that reads the wall clock by now.
func NewClockFrom(zone *time.Location, now func() time.Time) *TableClock {
	return &TableClock{zone: zone, now: now}
}

// Observe makes every later time greater than at. Times that are no dates, such as the first ones of metadata tables, are smaller anyway.
func (c *TableClock) Observe(at ...InstantTime) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range at {
		if t > c.mu.last {
			c.mu.last = t
		}
	}
}

// Now returns the wall clock's time, or the one after the last where that is not greater. It fails where the timeline holds a time that
// no date can follow.
func (c *TableClock) Now(ctx context.Context) (InstantTime, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	t := FormatInstantTime(c.now().In(c.zone))
	c.mu.Lock()
	defer c.mu.Unlock()
	if t <= c.mu.last {
		next, err := c.mu.last.Next()
		if err != nil {
			return "", fmt.Errorf("the timeline holds the instant %s, after which no new one can be made: %w", c.mu.last, err)
		}
		t = next
	}
	c.mu.last = t
	return t, nil
}
