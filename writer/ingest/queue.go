package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer"
)

// Ack says when close, rename and fsync of a sealed drop return.
type Ack uint8

// The acknowledgements.
const (
	AckCommit Ack = iota // when its rows are in a completed commit
	AckStage             // when its bytes are durable on this machine's disk; commits follow, many drops in one
)

// The write operations that have an ingest directory.
const (
	opUpsert     = "upsert"
	opInsert     = "insert"
	opBulkInsert = "bulk_insert"
	opDelete     = "delete"
)

var operations = map[string]action.WriteOperation{
	opUpsert: action.OpUpsert, opInsert: action.OpInsert, opBulkInsert: action.OpBulkInsert, opDelete: action.OpDelete,
}

// Options are what a Queue is made of. Dir, Table and Writer are required.
type Options struct {
	Dir    string // of the spool, on a local disk; this Queue's own
	Table  *snapshot.Table
	Writer *writer.Writer
	Log    *slog.Logger // nil: discard

	Ack       Ack
	Decode    DecodeOptions // of text drops
	Never     []string      // further names that are never committed
	MaxDrop   int64         // bytes of one drop; 0: no limit
	MaxStaged int64         // bytes of all drops that are not committed; 0: no limit
	Grace     time.Duration // how long a committed drop keeps its name; default ten minutes
	Settle    time.Duration // how long a name that looks temporary waits for its rename; default ten seconds
	Attempts  int           // tries of a commit that fails for no fault of the drop, in commit mode; default 3
	UID, GID  uint32        // of the ingest directories
}

const (
	defaultGrace    = 10 * time.Minute
	defaultSettle   = 10 * time.Second
	defaultAttempts = 3
	groupDrops      = 64        // most drops in one commit, in stage mode
	groupBytes      = 256 << 20 // and their bytes
)

// Queue owns the drops of one table, from the first byte to the commit. Run must run for anything to be committed.
type Queue struct {
	o      Options
	log    *slog.Logger
	spool  *spool
	wake   chan struct{}
	events *eventLog

	mu      sync.Mutex
	nodes   map[uint64]*node
	tops    map[string]*node // by operation
	nextID  uint64
	pending []*node // sealed, in the order in which they were sealed
	staged  int64   // bytes of drops that are not committed, as far as known
	stats   counts
	stopped bool
	started time.Time
	now     func() time.Time
}

// counts are since the start.
type counts struct {
	Committed, Rejected, Abandoned, Failed int64
	Rows                                   int64
	LastError                              string
	LastErrorAt                            time.Time
}

// New opens the spool and takes up what an earlier run left: sealed drops are queued again, drops whose writer went away with the mount are abandoned.
func New(o Options) (*Queue, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	if o.Settle == 0 {
		o.Settle = defaultSettle
	}
	if o.Attempts == 0 {
		o.Attempts = defaultAttempts
	}
	sp, err := openSpool(o.Dir)
	if err != nil {
		return nil, err
	}
	q := &Queue{o: o, log: o.Log, spool: sp, wake: make(chan struct{}, 1), nodes: map[uint64]*node{}, tops: map[string]*node{}, nextID: 16, now: time.Now, started: time.Now()}
	q.events = &eventLog{path: filepath.Join(o.Dir, "ingest.log")}
	id := uint64(1)
	for _, op := range []string{opUpsert, opInsert, opBulkInsert, opDelete} {
		n := &node{entry: entry{ID: id, Operation: op, Dir: true, Mode: 0o755, UID: o.UID, GID: o.GID}, children: map[string]*node{}}
		q.tops[op], q.nodes[id] = n, n
		id++
	}
	if err := q.recover(); err != nil {
		return nil, errors.Join(err, sp.close())
	}
	return q, nil
}

// recover rebuilds the tree.
func (q *Queue) recover() error {
	entries, err := q.spool.load()
	if err != nil {
		return err
	}
	for _, e := range entries {
		n := &node{entry: *e}
		if e.Dir {
			n.children = map[string]*node{}
		}
		q.nodes[e.ID] = n
		q.nextID = max(q.nextID, e.ID+1)
	}
	for _, e := range entries {
		if err := q.revive(q.nodes[e.ID]); err != nil {
			return err
		}
	}
	sortBySeal(q.pending)
	return nil
}

func (q *Queue) revive(n *node) error {
	parent := q.nodes[n.Parent]
	if n.Parent == 0 || parent == nil || !parent.Dir {
		if parent = q.tops[n.Operation]; parent == nil {
			parent = q.tops[opUpsert]
			n.Operation = opUpsert
		}
	}
	if !n.Hidden {
		name := n.Name
		for i := 2; parent.children[name] != nil; i++ {
			name = fmt.Sprintf("%s~%d", n.Name, i)
		}
		n.attach(parent, name)
	} else {
		n.parent = nil
	}
	if n.Dir {
		return nil
	}
	info, err := os.Stat(q.spool.data(n.ID))
	if errors.Is(err, fs.ErrNotExist) {
		n.detach()
		delete(q.nodes, n.ID)
		return q.spool.remove(n.ID)
	}
	if err != nil {
		return fmt.Errorf("read spool: %w", err)
	}
	switch n.State {
	case Sealed, Committing:
		n.State = Sealed
		n.seal = stamp{info.Size(), info.ModTime().UnixNano()}
		n.done = make(chan struct{})
		q.pending = append(q.pending, n)
		q.staged += info.Size()
	case Writing:
		n.State = Abandoned
		n.Reason = "the mount ended while it was being written"
		q.staged += info.Size()
		return q.spool.save(&n.entry, true)
	case Abandoned:
		q.staged += info.Size()
	}
	return nil
}

// Close ends the spool. Run has to have returned.
func (q *Queue) Close() error { return errors.Join(q.events.close(), q.spool.close()) }

// Dir is the ingest directory of one operation: upsert, insert, bulk_insert or delete; nil for another.
func (q *Queue) Dir(operation string) *Dir {
	top := q.tops[operation]
	if top == nil {
		return nil
	}
	return &Dir{q: q, top: top}
}

// Operations lists the operations that have an ingest directory, but for upsert, whose directory is the ingest directory itself.
func Operations() []string { return []string{opBulkInsert, opDelete, opInsert} }

// newNode makes a node; the caller holds mu.
func (q *Queue) newNode(top *node, dir bool, mode fs.FileMode, w Process) *node {
	n := &node{entry: entry{ID: q.nextID, Operation: top.Operation, Dir: dir, Mode: mode.Perm(), UID: w.UID, GID: w.GID, PID: w.PID}}
	if dir {
		n.children = map[string]*node{}
	} else {
		n.State = Writing
	}
	q.nextID++
	q.nodes[n.ID] = n
	return n
}

// poke wakes Run.
func (q *Queue) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Run commits sealed drops, one group after another, until ctx ends; the commit in hand is finished first, within a bounded time.
func (q *Queue) Run(ctx context.Context) error {
	defer q.stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		for {
			if ctx.Err() != nil {
				return nil
			}
			group := q.next()
			if len(group) == 0 {
				break
			}
			if !q.commit(ctx, group) {
				// A failure that is not the drops': wait before the next try, or for the end.
				select {
				case <-ctx.Done():
				case <-time.After(q.retryPause(group)):
				}
			}
		}
		q.sweep()
		select {
		case <-ctx.Done():
			return nil
		case <-q.wake:
		case <-tick.C:
		}
	}
}

// stop tells those who wait for an outcome that there will be none in this run.
func (q *Queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	for _, n := range q.pending {
		if n.done != nil && !isClosed(n.done) {
			n.err = refuse(refusedStorage, "the mount is ending; the drop stays sealed and is committed at the next start")
			close(n.done)
		}
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// next takes the drops of the next commit off the queue.
func (q *Queue) next() []*node {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pending) == 0 {
		return nil
	}
	first := q.pending[0]
	take := func(n *node) bool { return n == first || first.Group != 0 && n.Group == first.Group }
	if first.Group == 0 && q.o.Ack == AckStage && first.Reason == "" {
		count, bytes := 0, int64(0)
		take = func(n *node) bool {
			if n.Group != 0 || n.Operation != first.Operation || n.Reason != "" || count >= groupDrops || bytes > 0 && bytes+n.Size > groupBytes {
				return false
			}
			count++
			bytes += n.Size
			return true
		}
	}
	var group, rest []*node
	for _, n := range q.pending {
		if take(n) {
			group = append(group, n)
			n.State = Committing
		} else {
			rest = append(rest, n)
		}
	}
	q.pending = rest
	return group
}

// retryPause grows with the number of failures in a row.
func (q *Queue) retryPause([]*node) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return min(time.Duration(q.stats.Failed+1)*time.Second, 30*time.Second)
}

// sweep forgets receipts whose grace is over and seals names that looked temporary and were not renamed.
func (q *Queue) sweep() {
	q.mu.Lock()
	var late []*node
	now := q.now()
	for _, n := range q.nodes {
		switch {
		case n.State == Committed && n.handles == 0 && now.Sub(n.Done) > q.o.Grace:
			q.forget(n)
		case !n.later.IsZero() && now.After(n.later) && n.State == Writing && n.writers == 0:
			late = append(late, n)
		}
	}
	q.mu.Unlock()
	for _, n := range late {
		if err := q.seal(n, true); err != nil {
			q.log.Error("a drop with a temporary name could not be sealed", "name", n.Name, "err", err)
		}
	}
}

// forget removes a node from the tree and the spool; bytes stay for open handles. The caller holds mu.
func (q *Queue) forget(n *node) {
	n.detach()
	n.dead = true
	if n.handles > 0 {
		return
	}
	delete(q.nodes, n.ID)
	if err := q.spool.remove(n.ID); err != nil {
		q.log.Error("a drop could not be removed from the spool", "name", n.Name, "err", err)
	}
}
