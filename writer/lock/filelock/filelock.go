// Package filelock is Hudi's FileSystemBasedLockProvider (timeline.md §8.5): the file .hoodie/lock, created by exactly one writer. Java writers that are
// configured with the same provider and path are kept out too. The file names its holder; Java's own provider never renews and, by
// default, never expires, so a lock file whose holder died must be removed by a person, unless an expiry is configured.
package filelock

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/writer/lock"
)

// Path is the lock file's default place, relative to the table base path.
const Path = ".hoodie/lock"

// Provider locks by creating a file.
type Provider struct {
	st     storage.Store
	path   string
	expire time.Duration
	now    func() time.Time
	tokens atomic.Uint64
}

var _ lock.Provider = (*Provider)(nil)

// New returns a provider on the file at path (Path where empty). A lock file older than expire is taken over; 0 means never, as in Hudi
// (hoodie.write.lock.filesystem.expire). An expiry must be longer than the longest critical section of every engine on the table.
func New(st storage.Store, path string, expire time.Duration) (*Provider, error) {
	if !st.Properties().AtomicPutIfAbsent {
		return nil, fmt.Errorf("lock file on %s: the store cannot create an object atomically; choose another lock provider", st.URL())
	}
	if _, ok := st.(storage.Replacer); expire > 0 && (!ok || !st.Properties().ConditionalPut) {
		return nil, fmt.Errorf("lock file on %s: the store cannot replace one exact version, so an expired file cannot be taken over: set no expiry", st.URL())
	}
	if path == "" {
		path = Path
	}
	return &Provider{st: st, path: path, expire: expire, now: time.Now}, nil
}

// info is the file's content: Hudi's LockInfo keys, with one of ours that says which lease this is.
type info struct {
	Created string `json:"lockCreateTime"`
	Thread  string `json:"lockThreadName"`
	Lease   string `json:"lease"`
}

// TryLock implements lock.Provider.
func (p *Provider) TryLock(ctx context.Context, owner string, _ time.Duration) (lock.Lease, error) {
	token := p.tokens.Add(1)
	now := p.now()
	body, err := json.Marshal(info{now.Format("2006-01-02 15:04:05.000"), owner, fmt.Sprintf("%s/%d/%d", owner, now.UnixNano(), token)})
	if err != nil {
		return nil, err
	}
	_, err = p.st.Put(ctx, p.path, body, storage.PutIfAbsent)
	if errors.Is(err, storage.ErrExists) {
		if err = p.takeOver(ctx, body); errors.Is(err, lock.ErrHeld) {
			return nil, err
		}
	}
	if errors.Is(err, storage.ErrAmbiguous) {
		if have, rerr := p.st.ReadAll(ctx, p.path); rerr == nil && bytes.Equal(have, body) {
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("create lock file %s: %w", p.path, err)
	}
	return &lease{p, token, body}, nil
}

// takeOver says who holds the lock, or replaces a file that has expired: exactly the version that was looked at, so that of several who find it one wins.
func (p *Provider) takeOver(ctx context.Context, body []byte) error {
	have, err := p.st.Stat(ctx, p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w (just released)", lock.ErrHeld)
	}
	if err != nil {
		return err
	}
	age := p.now().Sub(have.ModTime)
	if p.expire == 0 || age <= p.expire {
		return fmt.Errorf("%w: %s is %s old; if its holder is gone, remove the file", lock.ErrHeld, p.path, age.Round(time.Second))
	}
	_, err = p.st.(storage.Replacer).PutIfMatch(ctx, p.path, body, have.ETag)
	if errors.Is(err, storage.ErrPrecondition) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: another took the expired %s over", lock.ErrHeld, p.path)
	}
	return err
}

type lease struct {
	p     *Provider
	token uint64
	body  []byte
}

func (l *lease) Token() uint64 { return l.token }

// Renew checks that the file is still ours and, where it can expire, writes it again.
func (l *lease) Renew(ctx context.Context) error {
	if l.p.expire == 0 {
		return l.ours(ctx)
	}
	have, err := l.p.st.Stat(ctx, l.p.path) // before it is read: what is there later has another tag
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is gone", lock.ErrLost, l.p.path)
	}
	if err != nil {
		return err
	}
	if err := l.ours(ctx); err != nil {
		return err
	}
	_, err = l.p.st.(storage.Replacer).PutIfMatch(ctx, l.p.path, l.body, have.ETag)
	if errors.Is(err, storage.ErrPrecondition) {
		return fmt.Errorf("%w: %s was taken over", lock.ErrLost, l.p.path)
	}
	return err
}

func (l *lease) Unlock(ctx context.Context) error {
	if err := l.ours(ctx); err != nil {
		return err
	}
	if err := l.p.st.Delete(ctx, l.p.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove lock file %s: %w", l.p.path, err)
	}
	return nil
}

func (l *lease) ours(ctx context.Context) error {
	have, err := l.p.st.ReadAll(ctx, l.p.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(have, l.body) {
		return fmt.Errorf("%w: %s is not ours any more", lock.ErrLost, l.p.path)
	}
	return err
}
