package ingest

import (
	"sort"
	"time"
)

// Status is what people and programs are told of the queue.
type Status struct {
	Ack         string     `json:"ack"`
	Drops       []DropInfo `json:"drops"` // that are not committed, and receipts
	Queued      int        `json:"queued"`
	StagedBytes int64      `json:"staged_bytes"`
	Committed   int64      `json:"committed"` // these: since the start of the process
	Rejected    int64      `json:"rejected"`
	Abandoned   int64      `json:"abandoned"`
	Rows        int64      `json:"rows"`
	LastError   string     `json:"last_error,omitempty"`
	LastErrorAt *time.Time `json:"last_error_at,omitempty"`
}

// DropInfo is one drop in a Status.
type DropInfo struct {
	Path      string `json:"path"`
	Operation string `json:"operation"`
	State     State  `json:"state"`
	Size      int64  `json:"size"`
	Instant   string `json:"instant,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// Status describes the queue now.
func (q *Queue) Status() Status {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := Status{Ack: "commit", Queued: len(q.pending), StagedBytes: q.staged, Committed: q.stats.Committed, Rejected: q.stats.Rejected,
		Abandoned: q.stats.Abandoned, Rows: q.stats.Rows, LastError: q.stats.LastError, Drops: []DropInfo{}}
	if q.o.Ack == AckStage {
		s.Ack = "stage"
	}
	if !q.stats.LastErrorAt.IsZero() {
		at := q.stats.LastErrorAt
		s.LastErrorAt = &at
	}
	for _, n := range q.nodes {
		if n.Dir {
			continue
		}
		p := n.path()
		if p == "" {
			p = n.Path
		}
		s.Drops = append(s.Drops, DropInfo{Path: p, Operation: n.Operation, State: n.State, Size: n.Size, Instant: n.Instant, Reason: n.Reason})
	}
	sort.Slice(s.Drops, func(i, j int) bool { return s.Drops[i].Path < s.Drops[j].Path })
	return s
}

// Idle reports whether every sealed drop has its outcome.
func (q *Queue) Idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, n := range q.nodes {
		if n.State == Sealed || n.State == Committing {
			return false
		}
	}
	return true
}
