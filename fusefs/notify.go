package fusefs

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
)

// notice is one message to the kernel: forget what you know.
type notice struct {
	dir  *fs.Inode // with name: the entry name of dir
	name string
	done chan struct{} // instead: closed when everything queued before has been sent
}

// maxNotices bounds the queue. A caller that finds it full waits; the sender never waits for a caller.
const maxNotices = 4096

// notifier is the one sender of kernel notifications. Sending from a handler, or with a lock held that a handler needs, deadlocks: the
// kernel waits for requests in the directory that it is told to forget.
type notifier struct {
	queue chan notice
}

func newNotifier() *notifier { return &notifier{queue: make(chan notice, maxNotices)} }

// entry queues: the name in dir may mean something else now. It must not be called by the sender.
func (n *notifier) entry(ctx context.Context, dir *fs.Inode, name string) {
	select {
	case n.queue <- notice{dir: dir, name: name}:
	case <-ctx.Done():
	}
}

// flush waits until everything queued before has been sent.
func (n *notifier) flush(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case n.queue <- notice{done: done}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run sends until ctx ends.
func (n *notifier) run(ctx context.Context, f *FS) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-n.queue:
			if m.done != nil {
				close(m.done)
				continue
			}
			f.counters.notices.Add(1)
			// ENOENT: the kernel has no such entry, which is as good.
			if e := m.dir.NotifyEntry(m.name); e != 0 && e != syscall.ENOENT {
				f.log.Warn("kernel notification", "name", m.name, "errno", e.Error())
			}
		}
	}
}
