package fusefs

import (
	"context"
	"path"
	"syscall"
	"time"
)

// When is a file complete? Closing a descriptor sends FLUSH, and the last one RELEASE. Only FLUSH can tell the program that its rows
// were refused, but it is not the last close: a shell duplicates descriptors and closes the spare ones before anything is written,
// children close their copies, and a killed writer's descriptors are closed like any other. So:
//
//   - FLUSH of a changed file seals when the closing process opened the file, neither it nor a descendant has another descriptor on
//     it, nobody else has it open for writing, and it is not being killed.
//   - A writer killed by a signal (its FLUSH comes from an ending task) marks the drop, and the last RELEASE abandons it, even if a
//     shell that started the writer closes the file in peace.
//   - In every other case the last RELEASE of a changed file seals, and only the log and the rejected directory tell of failure.

// Flush answers close(2), once per descriptor.
func (h *dropHandle) Flush(ctx context.Context) syscall.Errno {
	n := h.n
	if !h.write || n.gone.Load() {
		return 0
	}
	thread := callerThread(ctx)
	end, err := n.f.procs.exit(thread)
	known := err == nil
	n.mu.Lock()
	now := n.print(h)
	changed := now != n.mu.baseline && now.size > 0
	if known && end.killed {
		if changed {
			n.mu.killed = killReason(thread, end)
		}
		n.mu.Unlock()
		return 0
	}
	alone := len(n.mu.writers) == 1 && n.mu.killed == ""
	n.mu.Unlock()
	if !changed || !alone || !known || !h.lastCloseOf(thread, end.exiting) {
		return 0
	}
	if !h.claim() {
		return 0
	}
	if err := h.seal(ctx); err != nil {
		return n.tree.fail("close", n.at(), err)
	}
	return 0
}

// lastCloseOf reports whether the process of this thread opened the file and keeps no descriptor on it, nor does a child. An ending
// process has none any more that /proc could show.
func (h *dropHandle) lastCloseOf(thread uint32, exiting bool) bool {
	p := &h.n.f.procs
	pid := p.process(thread)
	if pid == 0 || pid != h.opener {
		return false
	}
	return !p.holds(pid, h.n.ino, path.Base(h.n.at()), !exiting)
}

// claim makes the file count as sealed in its present state. It reports whether there was something to seal.
func (h *dropHandle) claim() bool {
	n := h.n
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.print(h)
	if now == n.mu.baseline || now.size <= 0 {
		return false
	}
	n.mu.baseline = now
	return true
}

// seal hands the file over and waits for the answer.
func (h *dropHandle) seal(ctx context.Context) error {
	h.n.f.counters.seals.Add(1)
	return h.waitSealed(ctx, h.drop.Seal)
}

// waitSealed runs Seal or Sync, which go on when the request leaves, and lets a commit show before it returns.
func (h *dropHandle) waitSealed(ctx context.Context, fn func(context.Context) error) error {
	f := h.n.f
	f.sealing.Add(1)
	defer f.sealing.Add(-1)
	h.busy.Add(1)
	_, err := await(ctx, f, f.sealWait(), func(ctx context.Context) (struct{}, error) {
		defer h.busy.Done()
		return struct{}{}, fn(ctx)
	}, nil)
	if err == nil && h.drop.Info().State == DropCommitted {
		f.refreshAfterCommit(ctx)
	}
	return err
}

// beforeSeal notes the present state of a file that is about to be sealed by its name; the returned function makes it count. Bytes
// written later through a descriptor that is still open then make a new drop.
func (n *dropNode) beforeSeal() func() {
	if n == nil {
		return func() {}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for h := range n.mu.writers {
		was := n.print(h)
		return func() {
			n.mu.Lock()
			n.mu.baseline = was
			n.mu.Unlock()
		}
	}
	return func() {}
}

// Release ends the handle: nobody has a descriptor from this open any more. Its answer reaches no program.
func (h *dropHandle) Release(context.Context) syscall.Errno {
	n := h.n
	if !h.write {
		h.end()
		return 0
	}
	at := n.at()
	if n.f.procs.maps(h.opener, n.ino, path.Base(at)) {
		n.f.work.Go(func() { // the handle counts as a writer until then
			h.awaitUnmapped(path.Base(at))
			h.leave(at)
		})
		return 0
	}
	h.leave(at)
	return 0
}

// leave takes the handle from the writers; the last one decides about the file.
func (h *dropHandle) leave(at string) {
	n := h.n
	n.mu.Lock()
	delete(n.mu.writers, h)
	killed := n.mu.killed
	now := n.print(h)
	changed := now != n.mu.baseline && now.size > 0
	decides := changed && len(n.mu.writers) == 0 && !n.gone.Load()
	if decides && killed == "" {
		n.mu.baseline = now
	}
	n.mu.Unlock()
	if !decides {
		h.end()
		return
	}
	n.f.work.Go(func() {
		if killed != "" {
			h.abandon(at, killed)
		} else {
			h.sealLate(at)
		}
		h.end()
	})
}

// mapPoll is how often a file that is written through a memory map is looked at.
const mapPoll = 200 * time.Millisecond

// awaitUnmapped waits while the process that opened the file has it in its memory: with passthrough such a map outlives RELEASE and
// goes on changing the file, and nothing tells us of its end.
func (h *dropHandle) awaitUnmapped(name string) {
	f := h.n.f
	for f.procs.maps(h.opener, h.n.ino, name) {
		select {
		case <-time.After(mapPoll):
		case <-f.stopping: // the drop stays as it is and is found at the next start
			return
		}
	}
}

func (h *dropHandle) abandon(at, why string) {
	f := h.n.f
	f.counters.abandons.Add(1)
	f.log.Warn("drop abandoned", "path", h.n.tree.name+"/"+at, "reason", why)
	if err := h.drop.Abandon(f.life, why); err != nil {
		h.n.tree.fail("abandon", at, err)
	}
}

// sealLate seals where no close can carry the answer.
func (h *dropHandle) sealLate(at string) {
	f := h.n.f
	f.counters.seals.Add(1)
	if err := h.drop.Seal(f.life); err != nil {
		h.n.tree.fail("seal", at, err)
		return
	}
	if h.drop.Info().State == DropCommitted {
		f.refreshAfterCommit(f.life)
	}
}

// end closes the drop's handle once nothing uses it any more.
func (h *dropHandle) end() {
	h.n.f.work.Go(func() {
		h.busy.Wait()
		if err := h.drop.Close(); err != nil {
			h.n.tree.fail("release", h.n.at(), err)
		}
	})
}
