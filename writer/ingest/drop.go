package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// Drop is one open handle on a drop.
type Drop struct {
	q     *Queue
	n     *node
	f     *os.File
	write bool
	once  sync.Once
}

// handle makes a handle; the caller holds mu.
func (q *Queue) handle(n *node, f *os.File, write bool) *Drop {
	n.handles++
	if write {
		n.writers++
	}
	return &Drop{q: q, n: n, f: f, write: write}
}

// OpenMode says how a drop is opened.
type OpenMode struct {
	Write, Truncate, Append bool
}

// Open opens the drop with this ID. Opening a drop for writing that is sealed or further begins a new one under its name: with Truncate an empty
// one, with Append one whose rows are those written behind the old bytes.
func (d *Dir) Open(_ context.Context, id uint64, m OpenMode, w Process) (*Drop, error) {
	q := d.q
	q.mu.Lock()
	defer q.mu.Unlock()
	n, err := q.byID(id)
	if err != nil {
		return nil, err
	}
	if n.Dir {
		return nil, refuse(refusedIsDir, "%s is a directory", n.path())
	}
	write := m.Write || m.Truncate || m.Append
	if write {
		if err := q.open(); err != nil {
			return nil, err
		}
		if n.State != Writing && n.State != Abandoned || n.sealing {
			if n, err = q.succeed(d.top, n, m, w); err != nil {
				return nil, err
			}
			m.Truncate = false
		}
	}
	flags := os.O_RDONLY
	if write {
		flags = os.O_RDWR
	}
	if m.Truncate {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(q.spool.data(n.ID), flags, 0)
	if err != nil {
		return nil, fmt.Errorf("open spool file of %s: %w", n.path(), err)
	}
	if write && n.State == Abandoned {
		n.State, n.Reason = Writing, ""
		if err := q.spool.save(&n.entry, false); err != nil {
			f.Close()
			return nil, err
		}
	}
	n.later = time.Time{}
	return q.handle(n, f, write), nil
}

// succeed puts a new drop under the name of one that is sealed. The caller holds mu.
func (q *Queue) succeed(top, old *node, m OpenMode, w Process) (*node, error) {
	if !m.Truncate && !m.Append {
		return nil, refuse(refusedSealed, "%s is %s: its rows can't be changed by writing into it; write the file anew", old.path(), old.State)
	}
	if !old.attached() {
		return nil, refuse(refusedSealed, "%s has lost its name to a newer drop", old.Name)
	}
	if m.Append && !appendable(old.Name) {
		return nil, refuse(refusedSealed, "%s is %s, and rows can be appended to plain CSV, TSV and JSON lines only", old.path(), old.State)
	}
	n := q.newNode(top, false, old.Mode, w)
	if err := q.fill(n, old, m.Append); err != nil {
		delete(q.nodes, n.ID)
		os.Remove(q.spool.data(n.ID))
		return nil, err
	}
	if err := q.spool.save(&n.entry, true); err != nil {
		return nil, err
	}
	parent := old.parent
	old.detach()
	old.Hidden = true
	n.attach(parent, old.Name)
	if err := errors.Join(q.spool.save(&old.entry, true), q.spool.save(&n.entry, false)); err != nil {
		return nil, err
	}
	if old.State == Committed {
		q.forget(old)
	}
	return n, nil
}

// fill makes the new drop's bytes: none, or those of the old one.
func (q *Queue) fill(n, old *node, appending bool) error {
	dst, err := os.OpenFile(q.spool.data(n.ID), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("create spool file of %s: %w", old.Name, err)
	}
	if appending {
		var src *os.File
		if src, err = os.Open(q.spool.data(old.ID)); err == nil {
			n.Skip, err = io.Copy(dst, src)
			err = errors.Join(err, src.Close())
		}
	}
	return errors.Join(err, dst.Close())
}

func appendable(name string) bool {
	d, c, ok := format(name)
	return ok && c.ext == "" && (d.ext == ".csv" || d.ext == ".tsv" || d.ext == ".jsonl" || d.ext == ".ndjson")
}

// Info describes the drop now.
func (d *Drop) Info() Info {
	d.q.mu.Lock()
	defer d.q.mu.Unlock()
	return d.q.info(d.n)
}

// File is the spool file, opened for this handle.
func (d *Drop) File() *os.File { return d.f }

// Unlimited reports that no limit has to be checked at each write.
func (d *Drop) Unlimited() bool { return d.q.o.MaxDrop == 0 && d.q.o.MaxStaged == 0 }

// reserveWait is how long a writer is slowed down before it is refused.
const reserveWait = 5 * time.Second

// Reserve is asked before a write that would end at byte end.
func (d *Drop) Reserve(ctx context.Context, end int64) error {
	if limit := d.q.o.MaxDrop; limit > 0 && end > limit {
		return refuse(refusedTooBig, "a drop may have %d bytes", limit)
	}
	if d.q.o.MaxStaged == 0 {
		return nil
	}
	deadline := time.Now().Add(reserveWait)
	for {
		if d.reserve(end) {
			return nil
		}
		if time.Now().After(deadline) {
			return refuse(refusedNoSpace, "staging has reached its cap of %d bytes; wait until drops are committed", d.q.o.MaxStaged)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (d *Drop) reserve(end int64) bool {
	d.q.mu.Lock()
	defer d.q.mu.Unlock()
	more := end - d.n.seal.size
	if more <= 0 {
		return true
	}
	if d.q.staged+more > d.q.o.MaxStaged {
		return false
	}
	d.q.staged += more
	d.n.seal.size = end
	return true
}

// Sync makes the bytes durable; of a sealed drop it waits as Seal does.
func (d *Drop) Sync(ctx context.Context) error {
	if err := d.f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", d.n.Name, err)
	}
	d.q.mu.Lock()
	waiting := d.n.State == Sealed || d.n.State == Committing
	d.q.mu.Unlock()
	if waiting {
		return d.q.wait(ctx, d.n)
	}
	return nil
}

// Seal says that the file is complete, and waits for its acknowledgement.
func (d *Drop) Seal(ctx context.Context) error {
	if err := d.q.seal(d.n, false); err != nil {
		return err
	}
	return d.q.wait(ctx, d.n)
}

// Abandon says that the writer died.
func (d *Drop) Abandon(_ context.Context, reason string) error {
	q := d.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if d.n.State != Writing || d.n.sealing || !commits(d.n.path(), q.o.Never) {
		return nil
	}
	if st, err := d.f.Stat(); err == nil && st.Size() == 0 {
		return nil
	}
	d.n.State, d.n.Reason = Abandoned, reason
	q.stats.Abandoned++
	q.events.add("abandoned", d.n, reason)
	return q.spool.save(&d.n.entry, true)
}

// Close ends the handle.
func (d *Drop) Close() error {
	var err error
	d.once.Do(func() {
		err = d.f.Close()
		d.q.mu.Lock()
		defer d.q.mu.Unlock()
		d.n.handles--
		if d.write {
			d.n.writers--
		}
		if d.n.dead && d.n.handles == 0 {
			delete(d.q.nodes, d.n.ID)
			err = errors.Join(err, d.q.spool.remove(d.n.ID))
		}
	})
	return err
}

// looksTemporary reports whether a name may be renamed soon.
func looksTemporary(n *node) bool {
	return matches(perhapsTemporary, strings.TrimPrefix(n.Name, "/"))
}
