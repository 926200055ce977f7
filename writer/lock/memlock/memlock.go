// Package memlock is the lock of one process: Hudi's InProcessLockProvider (timeline.md §8.5). It keeps out other goroutines, not other processes.
package memlock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hudifs/hudifs/writer/lock"
)

// Table is the lock of one table. Share one value between all who write to the table. The zero value is unlocked.
type Table struct {
	mu struct {
		sync.Mutex
		token uint64
		owner string
		held  bool
	}
}

var _ lock.Provider = (*Table)(nil)

// TryLock implements lock.Provider. ttl has no meaning within a process: a holder that dies takes the lock with it.
func (t *Table) TryLock(ctx context.Context, owner string, ttl time.Duration) (lock.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.held {
		return nil, fmt.Errorf("%w: %s in this process", lock.ErrHeld, t.mu.owner)
	}
	t.mu.held, t.mu.owner = true, owner
	t.mu.token++
	return &lease{t, t.mu.token}, nil
}

type lease struct {
	t     *Table
	token uint64
}

func (l *lease) Token() uint64 { return l.token }

func (l *lease) Renew(context.Context) error {
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	return l.check()
}

func (l *lease) Unlock(context.Context) error {
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	if err := l.check(); err != nil {
		return err
	}
	l.t.mu.held = false
	return nil
}

func (l *lease) check() error {
	if !l.t.mu.held || l.t.mu.token != l.token {
		return lock.ErrLost
	}
	return nil
}
