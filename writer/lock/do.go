package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The waits of Do. Hudi's lock manager waits 5 s between attempts and tries 50 times; here waits grow from short to long.
const (
	TTL     = 60 * time.Second // of a lease without renewal
	MaxWait = 60 * time.Second // for the lock, where the context sets no nearer end
	minPoll = 2 * time.Millisecond
	maxPoll = time.Second
)

// Do runs fn while holding the lock. It waits for the lock at most MaxWait. fn's context dies with ErrLost as its cause when the lease
// can't be renewed. The lock is given back even when fn panics or the caller's context is done.
func Do(ctx context.Context, p Provider, owner string, fn func(ctx context.Context, token uint64) error) error {
	lease, err := wait(ctx, p, owner)
	if err != nil {
		return err
	}
	held, lost := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		renew(held, lease, lost)
	}()
	defer func() {
		lost(nil)
		<-renewed
		unlock, cancel := context.WithTimeout(context.WithoutCancel(ctx), TTL)
		defer cancel()
		// What fn published stands, whether or not the lock could be given back; a lease that could not expires.
		_ = lease.Unlock(unlock)
	}()
	err = fn(context.WithValue(held, leaseKey{}, lease), lease.Token())
	if cause := context.Cause(held); err != nil && errors.Is(cause, ErrLost) {
		return fmt.Errorf("%w (%w)", err, ErrLost)
	}
	return err
}

// leaseKey is where Do keeps the lease in fn's context.
type leaseKey struct{}

// Verify asks the provider whether the lock that Do took is still held; ErrLost says that it is not. fn calls it right before what nobody may do without the
// lock: a process that was stopped for long finds out too late by the clock alone. Outside of Do it answers nil.
func Verify(ctx context.Context) error {
	lease, ok := ctx.Value(leaseKey{}).(Lease)
	if !ok {
		return nil
	}
	if err := lease.Renew(ctx); err != nil {
		return fmt.Errorf("make sure of the table lock: %w", err)
	}
	return nil
}

func wait(ctx context.Context, p Provider, owner string) (Lease, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, MaxWait, ErrTimeout)
	defer cancel()
	for pause := minPoll; ; pause = min(2*pause, maxPoll) {
		lease, err := p.TryLock(ctx, owner, TTL)
		if err == nil || !errors.Is(err, ErrHeld) {
			return lease, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("wait for the table lock: %w (last answer: %w)", context.Cause(ctx), err)
		case <-timer.C:
		}
	}
}

func renew(ctx context.Context, lease Lease, lost context.CancelCauseFunc) {
	t := time.NewTicker(TTL / 3)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if err := lease.Renew(ctx); err != nil && ctx.Err() == nil {
				lost(fmt.Errorf("%w: %w", ErrLost, err))
				return
			}
		}
	}
}
