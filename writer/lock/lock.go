// Package lock lets one process at a time complete a commit on a table.
//
// It knows leases and how they are lost. It must never know what is done under them.
package lock

import (
	"context"
	"errors"
	"time"
)

// ErrHeld is returned by TryLock while somebody else holds the lock. It may be retried.
var ErrHeld = errors.New("the table lock is held by another writer")

// ErrLost is the cause of a context that died because its lease did. It must not be retried blindly: somebody else may hold the lock now.
var ErrLost = errors.New("the table lock was lost")

// ErrTimeout is returned by Do when the lock could not be had in time.
var ErrTimeout = errors.New("the table lock could not be taken in time")

// Provider hands out the lock of one table. Hudi calls it LockProvider.
type Provider interface {
	// TryLock takes the lock once, without waiting; ErrHeld says that another holds it. owner is for people who look at the lock.
	TryLock(ctx context.Context, owner string, ttl time.Duration) (Lease, error)
}

// Lease is the lock held.
type Lease interface {
	// Token grows with every lease of this table that this provider hands out.
	Token() uint64
	// Renew extends the lease; ErrLost says that it is gone.
	Renew(ctx context.Context) error
	// Unlock gives the lock back. Unlocking a lost lease returns ErrLost and takes nothing from its new holder.
	Unlock(ctx context.Context) error
}
