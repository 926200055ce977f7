package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"strings"
	"time"
)

func sortBySeal(all []*node) {
	sort.SliceStable(all, func(i, j int) bool {
		if !all[i].entry.Sealed.Equal(all[j].entry.Sealed) {
			return all[i].entry.Sealed.Before(all[j].entry.Sealed)
		}
		return all[i].ID < all[j].ID
	})
}

// seal queues a drop whose bytes are complete. settled: a name that looks temporary has waited long enough. It returns before the drop is committed.
func (q *Queue) seal(n *node, settled bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n.dead || !n.attached() && n.State == Writing || !commits(n.path(), q.o.Never) {
		return nil
	}
	if !settled && n.State == Writing && looksTemporary(n) {
		n.later = q.now().Add(q.o.Settle)
		return nil
	}
	return q.enqueue([]*node{n}, 0)
}

// enqueue makes the bytes of drops durable and queues those that have rows to commit. A drop whose bytes changed since it was sealed is queued anew. The caller holds mu, which is
// given up for the time of the disk's work.
func (q *Queue) enqueue(all []*node, group uint64) error {
	if err := q.open(); err != nil {
		return err
	}
	for _, n := range all {
		if err := q.prepare(n, group); err != nil {
			return err
		}
	}
	for _, n := range all {
		if n.sealing {
			n.sealing = false
			if n.State != Committing {
				q.pending = append(q.pending, n)
			}
		}
	}
	q.poke()
	return nil
}

// prepare seals one drop: fsync of its bytes, then its record. n.sealing says afterwards that it is to be queued.
func (q *Queue) prepare(n *node, group uint64) error {
	if n.sealing {
		return nil
	}
	st, err := os.Stat(q.spool.data(n.ID))
	if err != nil {
		return fmt.Errorf("seal %s: %w", n.Name, err)
	}
	now := stamp{st.Size(), st.ModTime().UnixNano()}
	switch {
	case now.size <= n.Skip:
		return nil // nothing was written: touch, or a shell that opens before it writes
	case n.State == Sealed:
		n.seal, n.Size = now, now.size // not begun yet: the committer reads what is there
		return nil
	case n.State == Committing:
		return nil // the committer sees that the bytes changed, and reads them again
	case n.State == Committed && now == n.seal:
		return nil
	}
	n.sealing = true
	q.mu.Unlock()
	err = syncFile(q.spool.data(n.ID))
	q.mu.Lock()
	if err != nil {
		n.sealing = false
		return fmt.Errorf("seal %s: %w", n.Name, err)
	}
	q.staged += now.size - n.seal.size
	n.seal = now
	n.entry.State, n.Key, n.Path, n.Size, n.Group = Sealed, newKey(), n.path(), now.size, group
	n.entry.Sealed, n.Since, n.Instant, n.Reason = q.now().UTC(), "", "", ""
	n.done, n.err, n.later, n.tries = make(chan struct{}), nil, time.Time{}, 0
	if err := q.spool.save(&n.entry, true); err != nil {
		n.sealing, n.State = false, Writing
		return err
	}
	q.events.add("sealed", n, "")
	return nil
}

func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// wait returns when the drop is acknowledged. When ctx ends first the commit goes on.
func (q *Queue) wait(ctx context.Context, n *node) error {
	q.mu.Lock()
	done, state := n.done, n.State
	q.mu.Unlock()
	if done == nil || state == Writing || state == Abandoned {
		return nil
	}
	if q.o.Ack == AckStage && !isClosed(done) {
		return nil
	}
	select {
	case <-done:
	case <-ctx.Done():
		return ctx.Err()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return n.err
}

// Rename moves a name within the ingest directory; from a name that is never committed to one that is, it seals, and waits as Seal does. When it
// returns an error the old name is as it was.
func (d *Dir) Rename(ctx context.Context, from, to string, replace bool) error {
	m, err := d.move(from, to, replace)
	if err != nil || len(m.seal) == 0 {
		return err
	}
	for _, n := range m.seal {
		if werr := d.q.wait(ctx, n); werr != nil && err == nil {
			err = werr
		}
	}
	if err != nil && ctx.Err() == nil {
		d.undo(m)
	}
	d.q.mu.Lock()
	for _, n := range m.seal {
		n.keep = false
	}
	d.q.mu.Unlock()
	return err
}

// moved is a rename that may have to be undone.
type moved struct {
	n      *node
	parent *node
	name   string
	victim *node
	seal   []*node
}

func (d *Dir) move(from, to string, replace bool) (*moved, error) {
	q := d.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.open(); err != nil {
		return nil, err
	}
	n, err := d.top.find(from)
	if err != nil {
		return nil, err
	}
	if n.parent == nil || to == from+"/" || strings.HasPrefix(to, from+"/") {
		return nil, refuse(refusedInvalid, "%s can't be moved into itself", from)
	}
	m := &moved{n: n, parent: n.parent, name: n.Name}
	parent, name, err := d.place(to)
	if errors.Is(err, fs.ErrExist) && replace {
		m.victim = parent.children[name]
		err = replaceable(n, m.victim, to)
	}
	if err != nil || m.victim == n {
		return m, err
	}
	was := commits(from, q.o.Never) && !looksTemporary(n)
	if m.victim != nil {
		m.victim.detach()
	}
	n.detach()
	n.attach(parent, name)
	if commits(to, q.o.Never) {
		for _, x := range n.drops() {
			if (x.State == Writing && !was || x.State == Abandoned) && commits(x.path(), q.o.Never) && !(looksTemporary(x) && !n.Dir) {
				m.seal = append(m.seal, x)
			}
		}
	}
	if err := q.sealMoved(m); err != nil {
		d.restore(m)
		return nil, err
	}
	if err := q.spool.save(&n.entry, true); err != nil {
		d.restore(m)
		return nil, err
	}
	if m.victim != nil && len(m.seal) == 0 {
		q.giveWay(m.victim)
	}
	return m, nil
}

// sealMoved queues what a rename completes: the drops of a directory are one commit. The caller holds mu.
func (q *Queue) sealMoved(m *moved) error {
	if len(m.seal) == 0 {
		return nil
	}
	group := uint64(0)
	if m.n.Dir {
		group = m.n.ID
	}
	for _, x := range m.seal {
		x.keep = true
	}
	if err := q.enqueue(m.seal, group); err != nil {
		return err
	}
	if m.victim != nil {
		q.giveWay(m.victim)
	}
	return nil
}

func replaceable(n, victim *node, to string) error {
	switch {
	case victim == n:
		return nil
	case victim.Dir && !n.Dir:
		return refuse(refusedIsDir, "%s is a directory", to)
	case !victim.Dir && n.Dir:
		return refuse(refusedNotDir, "%s is not a directory", to)
	case victim.Dir && len(victim.children) > 0:
		return refuse(refusedNotEmpty, "%s is not empty", to)
	}
	return nil
}

// giveWay ends a name that another drop took over: what is sealed is committed all the same, what is not is withdrawn. The caller holds mu.
func (q *Queue) giveWay(n *node) {
	if n.State == Sealed || n.State == Committing {
		n.Hidden = true
		if err := q.spool.save(&n.entry, true); err != nil {
			q.log.Error("a replaced drop could not be saved", "name", n.Name, "err", err)
		}
		return
	}
	q.drop(n)
	q.forget(n)
}

func (d *Dir) undo(m *moved) {
	d.q.mu.Lock()
	defer d.q.mu.Unlock()
	d.restore(m)
	for _, n := range m.seal {
		if n.State == Sealed || n.State == Committing {
			continue // the queue stopped: it is committed at the next start
		}
		n.State, n.done = Writing, nil
		if err := d.q.spool.save(&n.entry, true); err != nil {
			d.q.log.Error("a drop could not be put back", "name", n.Name, "err", err)
		}
	}
}

// restore puts a moved name back. The caller holds mu.
func (d *Dir) restore(m *moved) {
	m.n.detach()
	if m.parent.children[m.name] == nil {
		m.n.attach(m.parent, m.name)
	} else {
		m.n.attach(m.parent, fmt.Sprintf("%s~%d", m.name, m.n.ID))
	}
	if m.victim != nil && !m.victim.dead && !m.victim.Hidden && m.victim.parent.children[m.victim.Name] == nil {
		m.victim.attach(m.victim.parent, m.victim.Name)
	}
	if err := d.q.spool.save(&m.n.entry, false); err != nil {
		d.q.log.Error("a drop could not be put back", "name", m.name, "err", err)
	}
}
