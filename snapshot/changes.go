package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
)

// ErrNoMetaFields says that a question cannot be answered because rows don't carry their commit time.
var ErrNoMetaFields = errors.New("the table has no meta columns (hoodie.populate.meta.fields=false): nothing tells which commit a row came with")

// Changes returns a snapshot that shows only rows which were inserted or updated after the commit from and up to the commit to, in the order in
// which commits became visible: the rows of the state after to whose commit time is one of those commits. from "" is the beginning, to ""
// the newest commit. A row that changed twice is shown once, as it came to be; deleted ones are not shown. The state before from need
// not be whole any more. The files are made in the cache.
func (t *Table) Changes(ctx context.Context, tl *timeline.Timeline, from, to timeline.InstantTime) (*Snapshot, error) {
	s, err := t.stateOf(ctx, tl)
	if err != nil {
		return nil, err
	}
	if !s.cfg.MetaFields {
		return nil, fmt.Errorf("changes of table %s: %w", s.cfg.Name, ErrNoMetaFields)
	}
	if to == "" {
		if len(s.order) == 0 {
			return nil, fmt.Errorf("changes of table %s, which has no commit: %w", s.cfg.Name, ErrNoSnapshot)
		}
		to = s.order[len(s.order)-1].Time
	}
	whole, err := t.At(ctx, tl, to)
	if err != nil {
		return nil, err
	}
	n := newSnapshot(s, whole.commit)
	n.window = &window{from: from, after: -1}
	if from != "" {
		k, ok := s.pos[from]
		if !ok {
			return nil, fmt.Errorf("commit %q to count changes from: %w", from, ErrNoSnapshot)
		}
		n.window.after = k
	}
	return n, nil
}

// window narrows a snapshot to the changes of some commits.
type window struct {
	from  timeline.InstantTime
	after int // position in the order of commits; -1: the beginning
}

// changed reports whether the commit requested at t is in the window. What is not on the active timeline is older than any commit on it.
func (s *Snapshot) changed(t timeline.InstantTime) bool {
	if s.window.after < 0 {
		return true
	}
	k, ok := s.state.pos[t]
	return ok && k > s.window.after
}

// touched leaves those slices that have a file of a commit in the window: no other can hold a changed row.
func (s *Snapshot) touched(all []fsview.FileSlice) []fsview.FileSlice {
	out := all[:0]
	for _, sl := range all {
		hit := sl.File != nil && s.changed(sl.File.Instant)
		for i := range sl.Logs {
			hit = hit || s.wroteLog(&sl.Logs[i])
		}
		if hit {
			out = append(out, sl)
		}
	}
	return out
}

func (s *Snapshot) wroteLog(l *fsview.LogFile) bool {
	if s.state.naming == fsview.DeltaInstant {
		return s.changed(l.Instant)
	}
	for _, w := range s.state.writers[l.Path] {
		if s.changed(w) {
			return true
		}
	}
	return false
}

// inWindow reports whether a row of the schema changed in the window. Without one every row counts.
func (s *Snapshot) inWindow(to *schema.Schema) func(row record.Row) bool {
	if s.window == nil {
		return func(record.Row) bool { return true }
	}
	leaf := &to.Leaves()[to.LeafOf(schema.CommitTimeField)]
	var last timeline.InstantTime // rows of one commit lie together
	var answer bool
	return func(row record.Row) bool {
		t, ok := record.StringAt(row, leaf)
		if !ok {
			return false
		}
		if string(last) != t {
			last = timeline.InstantTime([]byte(t))
			answer = s.changed(last)
		}
		return answer
	}
}

// eachRow calls fn for every row of the slice under the snapshot's file schema, merged, in order, and narrowed to the window.
func (s *Snapshot) eachRow(ctx context.Context, sl *fsview.FileSlice, base *parquetfile.File, to *schema.Schema, fn func(record.Row) error) error {
	in := s.inWindow(to)
	keep := func(row record.Row) error {
		if !in(row) {
			return nil
		}
		return fn(row)
	}
	if len(sl.Logs) == 0 {
		return rowsOfBase(ctx, base, to, keep)
	}
	return s.rowsOfMerge(ctx, sl, base, to, keep)
}

// rowsAtOnce is how many rows are asked for at once.
const rowsAtOnce = 256

func rowsOfBase(ctx context.Context, base *parquetfile.File, to *schema.Schema, fn func(record.Row) error) (err error) {
	rows, err := base.Rows(ctx, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	buf := make([]record.Row, rowsAtOnce)
	for {
		n, err := rows.Read(buf)
		for _, row := range buf[:n] {
			if err := fn(row); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *Snapshot) rowsOfMerge(ctx context.Context, sl *fsview.FileSlice, base *parquetfile.File, to *schema.Schema, fn func(record.Row) error) (err error) {
	m, err := s.merged(ctx, sl, base, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	rows, err := m.Records(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	buf := make([]record.Record, rowsAtOnce)
	for {
		n, err := rows.Read(ctx, buf)
		for i := range buf[:n] {
			if err := fn(buf[i].Row); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
