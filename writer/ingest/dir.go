package ingest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// Dir is the ingest directory of one operation. It does for the mount what fusefs.Ingester says, in this package's own types.
type Dir struct {
	q   *Queue
	top *node
}

// Process says who makes a change.
type Process struct{ UID, GID, PID uint32 }

// Info describes one name.
type Info struct {
	ID      uint64
	Name    string
	Dir     bool
	State   State
	Size    int64 // bytes now
	ModTime time.Time
	Mode    fs.FileMode // permission bits
	UID     uint32
	GID     uint32
}

// info describes a node; the caller holds mu.
func (q *Queue) info(n *node) Info {
	i := Info{ID: n.ID, Name: n.Name, Dir: n.Dir, State: n.State, Mode: n.Mode, UID: n.UID, GID: n.GID}
	if !n.Dir {
		if st, err := os.Stat(q.spool.data(n.ID)); err == nil {
			i.Size, i.ModTime = st.Size(), st.ModTime()
		}
	}
	if n.ModTime != nil {
		i.ModTime = *n.ModTime
	} else if i.ModTime.IsZero() {
		i.ModTime = q.started
	}
	return i
}

// Stat describes the drop or directory at p; "" is the ingest directory.
func (d *Dir) Stat(_ context.Context, p string) (Info, error) {
	d.q.mu.Lock()
	defer d.q.mu.Unlock()
	n, err := d.top.find(p)
	if err != nil {
		return Info{}, err
	}
	return d.q.info(n), nil
}

// StatID describes a drop by its ID.
func (d *Dir) StatID(_ context.Context, id uint64) (Info, error) {
	d.q.mu.Lock()
	defer d.q.mu.Unlock()
	n, err := d.q.byID(id)
	if err != nil {
		return Info{}, err
	}
	return d.q.info(n), nil
}

func (q *Queue) byID(id uint64) (*node, error) {
	n := q.nodes[id]
	if n == nil {
		return nil, &fs.PathError{Op: "find drop", Path: fmt.Sprint(id), Err: fs.ErrNotExist}
	}
	return n, nil
}

// List returns the names in a directory, sorted.
func (d *Dir) List(_ context.Context, dir string) ([]Info, error) {
	d.q.mu.Lock()
	defer d.q.mu.Unlock()
	n, err := d.top.find(dir)
	if err != nil {
		return nil, err
	}
	if !n.Dir {
		return nil, refuse(refusedNotDir, "%s is not a directory", dir)
	}
	var out []Info
	for _, c := range n.list() {
		out = append(out, d.q.info(c))
	}
	return out, nil
}

// place finds the directory for a new name; the caller holds mu.
func (d *Dir) place(p string) (*node, string, error) {
	dir, name := path.Split(p)
	if name == "" || name == "." || name == ".." || len(name) > 255 || strings.ContainsRune(name, 0) {
		return nil, "", refuse(refusedInvalid, "%q is no name for a drop", p)
	}
	parent, err := d.top.find(strings.TrimSuffix(dir, "/"))
	if err != nil {
		return nil, "", err
	}
	if !parent.Dir {
		return nil, "", refuse(refusedNotDir, "%s is not a directory", dir)
	}
	if parent.children[name] != nil {
		return parent, name, &fs.PathError{Op: "create", Path: p, Err: fs.ErrExist}
	}
	return parent, name, nil
}

// Create makes a new drop and opens it for writing.
func (d *Dir) Create(_ context.Context, p string, mode fs.FileMode, w Process) (*Drop, error) {
	q := d.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.open(); err != nil {
		return nil, err
	}
	parent, name, err := d.place(p)
	if err != nil {
		return nil, err
	}
	if q.o.MaxStaged > 0 && q.staged >= q.o.MaxStaged {
		return nil, refuse(refusedNoSpace, "staging holds %d bytes, its cap is %d; wait until drops are committed", q.staged, q.o.MaxStaged)
	}
	n := q.newNode(d.top, false, mode, w)
	f, err := os.OpenFile(q.spool.data(n.ID), os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
	if err != nil {
		delete(q.nodes, n.ID)
		return nil, fmt.Errorf("create spool file of %s: %w", p, err)
	}
	n.attach(parent, name)
	if err := q.spool.save(&n.entry, false); err != nil {
		f.Close()
		q.forget(n)
		return nil, err
	}
	return q.handle(n, f, true), nil
}

// open refuses changes once the queue has stopped.
func (q *Queue) open() error {
	if q.stopped {
		return refuse(refusedStorage, "the mount is ending")
	}
	return nil
}

// Mkdir makes a directory.
func (d *Dir) Mkdir(_ context.Context, p string, mode fs.FileMode, w Process) (Info, error) {
	q := d.q
	q.mu.Lock()
	defer q.mu.Unlock()
	parent, name, err := d.place(p)
	if err != nil {
		return Info{}, err
	}
	n := q.newNode(d.top, true, mode, w)
	n.attach(parent, name)
	if err := q.spool.save(&n.entry, true); err != nil {
		q.forget(n)
		return Info{}, err
	}
	return q.info(n), nil
}

// Remove unlinks a drop.
func (d *Dir) Remove(_ context.Context, p string) error {
	q := d.q
	q.mu.Lock()
	defer q.mu.Unlock()
	n, err := d.top.find(p)
	if err != nil {
		return err
	}
	if n.Dir {
		return refuse(refusedIsDir, "%s is a directory", p)
	}
	switch {
	case n.State == Committing || n.sealing:
		return refuse(refusedBusy, "%s is being committed", p)
	case n.State == Sealed:
		q.unqueue(n, refuse(refusedRejected, "%s was removed before it was committed", p))
	}
	if n.State != Committed {
		q.events.add("withdrawn", n, "")
	}
	q.drop(n)
	q.forget(n)
	return nil
}

// drop takes the bytes of a drop that ends uncommitted off the count of staged bytes. The caller holds mu.
func (q *Queue) drop(n *node) {
	if n.State != Committed {
		q.staged -= n.seal.size
		n.seal.size = 0
	}
}

// unqueue withdraws a sealed drop. The caller holds mu.
func (q *Queue) unqueue(n *node, why error) {
	for i, p := range q.pending {
		if p == n {
			q.pending = append(q.pending[:i:i], q.pending[i+1:]...)
			break
		}
	}
	if n.done != nil && !isClosed(n.done) {
		n.err = why
		close(n.done)
	}
}

// RemoveDir removes an empty directory.
func (d *Dir) RemoveDir(_ context.Context, p string) error {
	q := d.q
	q.mu.Lock()
	defer q.mu.Unlock()
	n, err := d.top.find(p)
	switch {
	case err != nil:
		return err
	case !n.Dir:
		return refuse(refusedNotDir, "%s is not a directory", p)
	case n.parent == nil:
		return refuse(refusedBusy, "the ingest directory itself stays")
	case len(n.children) > 0:
		return refuse(refusedNotEmpty, "%s is not empty", p)
	}
	q.forget(n)
	return nil
}

// AttrChange is what chmod, chown and utimens set; nil fields stay.
type AttrChange struct {
	Mode     *fs.FileMode
	UID, GID *uint32
	ModTime  *time.Time
}

// SetAttr stores attributes, in every state.
func (d *Dir) SetAttr(_ context.Context, id uint64, c AttrChange) error {
	q := d.q
	q.mu.Lock()
	defer q.mu.Unlock()
	n, err := q.byID(id)
	if err != nil {
		return err
	}
	if c.Mode != nil {
		n.Mode = c.Mode.Perm()
	}
	if c.UID != nil {
		n.UID = *c.UID
	}
	if c.GID != nil {
		n.GID = *c.GID
	}
	if c.ModTime != nil {
		t := *c.ModTime
		n.ModTime = &t
	}
	if n.parent == nil && n.Dir || n.dead {
		return nil
	}
	return q.spool.save(&n.entry, false)
}
