// Package flock is the lock of one table among the processes of one machine: flock(2) on a file of its own in the table. The kernel
// gives it back when its holder ends, however that happens, so that nothing stale can stay behind. Java writers know nothing of it.
package flock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/writer/lock"
)

// Name is the lock file's place below the table's base path. It has the form of no instant, and stays when the lock is given back: removing a file that
// others may be about to lock would let two of them in.
const Name = ".hoodie/.hudifs.lock"

// Provider locks one file. Several providers of one table, in one process or many, keep each other out.
type Provider struct {
	path   string
	tokens atomic.Uint64
}

var _ lock.Provider = (*Provider)(nil)

// New returns the lock of the table whose base path is the local directory dir. It touches nothing.
func New(dir string) *Provider { return &Provider{path: filepath.Join(dir, filepath.FromSlash(Name))} }

// TryLock implements lock.Provider. ttl has no meaning: the lock can't outlive its holder.
func (p *Provider) TryLock(ctx context.Context, owner string, _ time.Duration) (lock.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(p.path, os.O_CREATE|os.O_RDWR, 0o666)
	if errors.Is(err, fs.ErrPermission) {
		// Another user's file: a lock needs no right to write it.
		f, err = os.Open(p.path)
	}
	if err != nil {
		return nil, fmt.Errorf("open the table's lock file: %w", err)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder := make([]byte, 256)
		n, _ := f.ReadAt(holder, 0)
		f.Close()
		return nil, fmt.Errorf("%w: %s by %s", lock.ErrHeld, p.path, strings.TrimSpace(string(holder[:n])))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", p.path, err)
	}
	l := &lease{p: p, token: p.tokens.Add(1), f: f}
	if err := l.ours(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%w: its lock file was replaced while it was taken", lock.ErrHeld)
	}
	// For people who look, and for the message above; nothing depends on it.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(owner+"\n"), 0)
	}
	return l, nil
}

type lease struct {
	p     *Provider
	token uint64
	mu    sync.Mutex
	f     *os.File // nil: given back
}

func (l *lease) Token() uint64 { return l.token }

// Renew checks that the lock still stands: a lock file that somebody removed or replaced keeps nobody out.
func (l *lease) Renew(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ours()
}

// Unlock closes the file, which ends the lock.
func (l *lease) Unlock(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return lock.ErrLost
	}
	lost := l.ours()
	err := l.f.Close()
	l.f = nil
	return errors.Join(lost, err)
}

// ours reports whether the path still names the file that is locked.
func (l *lease) ours() error {
	if l.f == nil {
		return lock.ErrLost
	}
	have, err := os.Stat(l.p.path)
	if err != nil {
		return fmt.Errorf("%w: %w", lock.ErrLost, err)
	}
	mine, err := l.f.Stat()
	if err != nil || !os.SameFile(have, mine) {
		return fmt.Errorf("%w: %s is another file now", lock.ErrLost, l.p.path)
	}
	return nil
}
