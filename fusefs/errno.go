package fusefs

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/hudifs/hudifs/internal/corrupt"
)

// Errors of this package that errno knows.
var (
	errKilled   = errors.New("the calling process is being killed")
	errTooSlow  = errors.New("took longer than a request may wait; the work goes on, try again later")
	errStopping = errors.New("the mount is being stopped")
)

// passed are the error numbers of the local disk that mean the same to the user of the mount.
var passed = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.ENAMETOOLONG, syscall.ENFILE, syscall.ENOMEM}

// refusals is what a process sees of an ingester's refusal.
var refusals = map[Refusal]syscall.Errno{
	RefusedSealed:   syscall.EPERM,
	RefusedBusy:     syscall.EBUSY,
	RefusedNotEmpty: syscall.ENOTEMPTY,
	RefusedNoSpace:  syscall.ENOSPC,
	RefusedTooBig:   syscall.EFBIG,
	RefusedRejected: syscall.EINVAL,
	RefusedReadOnly: syscall.EROFS,
	RefusedStorage:  syscall.EIO,
	RefusedInvalid:  syscall.EINVAL,
	RefusedIsDir:    syscall.EISDIR,
	RefusedNotDir:   syscall.ENOTDIR,
}

// errno is the one map from errors to what a process sees. Damaged bytes and everything it does not know are EIO: an answer that no
// tool takes for "the file is not there".
func errno(err error) syscall.Errno {
	var refused interface{ Refusal() string }
	switch {
	case err == nil:
		return 0
	case corrupt.Is(err):
		return syscall.EIO
	case errors.As(err, &refused):
		if e, ok := refusals[refused.Refusal()]; ok {
			return e
		}
		return syscall.EIO
	case errors.Is(err, errKilled), errors.Is(err, context.Canceled):
		return syscall.EINTR
	case errors.Is(err, fs.ErrNotExist):
		return syscall.ENOENT
	case errors.Is(err, fs.ErrExist):
		return syscall.EEXIST
	case errors.Is(err, fs.ErrPermission):
		return syscall.EACCES
	case errors.Is(err, syscall.EMFILE):
		return syscall.ENFILE // ours, not the caller's limit
	}
	for _, e := range passed {
		if errors.Is(err, e) {
			return e
		}
	}
	return syscall.EIO
}

// logAgain is how long the same failure of the same file is not logged again: a reader that retries must not fill the log.
const logAgain = time.Minute

// maxRecent bounds the memory of failures logged lately.
const maxRecent = 1024

// failureLog logs failures once a minute each.
type failureLog struct {
	log *slog.Logger
	now func() time.Time
	mu  struct {
		sync.Mutex
		recent map[string]time.Time
	}
}

func (l *failureLog) first(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if at, ok := l.mu.recent[key]; ok && now.Sub(at) < logAgain {
		return false
	}
	if l.mu.recent == nil || len(l.mu.recent) >= maxRecent {
		l.mu.recent = map[string]time.Time{}
	}
	l.mu.recent[key] = now
	return true
}

// fail logs path, operation and cause, and returns the number that the process will see instead of them.
func (f *FS) fail(op, path string, err error) syscall.Errno {
	e := errno(err)
	switch e {
	case 0:
		return 0
	case syscall.ENOENT, syscall.EEXIST, syscall.EINTR, syscall.ENOTEMPTY:
		f.log.Debug("refused", "op", op, "path", path, "errno", e.Error(), "err", err)
		return e
	}
	f.counters.failures.Add(1)
	if !f.failures.first(op + "\x00" + path + "\x00" + err.Error()) {
		return e
	}
	if e == syscall.EIO {
		f.log.Error("failed", "op", op, "path", path, "errno", e.Error(), "err", err)
	} else {
		f.log.Warn("refused", "op", op, "path", path, "errno", e.Error(), "err", err)
	}
	return e
}
