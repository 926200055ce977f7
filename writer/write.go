package writer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sort"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/snapshot/merge"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer/handle"
	"github.com/hudifs/hudifs/writer/txn"
)

// write writes all files, several at once, and returns their stats by partition.
func (b *Batch) write(ctx context.Context, t *txn.Txn, places []*assignment) (map[string][]action.WriteStat, error) {
	env := &handle.Env{Store: b.w.o.Table.Store(), Txn: t, Schema: b.p.rows, MetaFields: b.p.cfg.MetaFields,
		Write: b.w.writeOptions(), MaxBytes: b.w.o.MaxFileBytes, LogNamedByDelta: b.p.cfg.Features.LogNamedByDelta, ParquetLogs: b.w.o.ParquetLogs}
	var mu sync.Mutex
	stats := map[string][]action.WriteStat{}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	run := func(partition string, fn func(context.Context) ([]action.WriteStat, error)) {
		g.Go(func() error {
			got, err := fn(gctx)
			if err != nil || len(got) == 0 {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			stats[partition] = append(stats[partition], got...)
			return nil
		})
	}
	for _, a := range places {
		for i := range a.slices {
			if len(a.updates[i]) == 0 && len(a.inserts[i]) == 0 {
				continue
			}
			run(a.part.path, func(ctx context.Context) ([]action.WriteStat, error) {
				return b.writeSlice(ctx, env, a, i)
			})
		}
		for _, n := range a.groups {
			run(a.part.path, func(ctx context.Context) ([]action.WriteStat, error) { return b.writeGroup(ctx, env, a, n) })
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, s := range stats {
		sort.Slice(s, func(i, j int) bool { return s[i].Path < s[j].Path })
	}
	return stats, nil
}

// writeGroup writes a new file group.
func (b *Batch) writeGroup(ctx context.Context, env *handle.Env, a *assignment, n newGroup) ([]action.WriteStat, error) {
	h := env.NewCreate(a.part.path, n.prefix)
	for in, err := range b.insertRows(ctx, n.recs) {
		if err == nil {
			err = h.Write(ctx, in.Key, in.Row)
		}
		if err != nil {
			return nil, errors.Join(err, h.Abort())
		}
	}
	stats, err := h.Close(ctx)
	if err != nil {
		return nil, errors.Join(err, h.Abort())
	}
	return stats, nil
}

// insertRows yields what the merger makes of records without a base row.
func (b *Batch) insertRows(ctx context.Context, recs []int32) iter.Seq2[handle.Insert, error] {
	return func(yield func(handle.Insert, error) bool) {
		var buf record.Row
		for n, i := range recs {
			if n%1024 == 0 && ctx.Err() != nil {
				yield(handle.Insert{}, ctx.Err())
				return
			}
			r, err := b.record(i, buf)
			if err != nil {
				yield(handle.Insert{}, err)
				return
			}
			buf = r.Row
			got, ok, err := b.p.merger.Insert(r)
			if err != nil {
				yield(handle.Insert{}, fmt.Errorf("key %q: %w", r.Key.RecordKey, err))
				return
			}
			if ok && !yield(handle.Insert{Key: r.Key.RecordKey, Row: got.Row}, nil) {
				return
			}
		}
	}
}

// writeSlice writes a new version of a base file.
func (b *Batch) writeSlice(ctx context.Context, env *handle.Env, a *assignment, slice int) ([]action.WriteStat, error) {
	s := &a.slices[slice]
	if err := s.CheckReadable(); err != nil {
		return nil, err
	}
	if b.logs() && len(a.inserts[slice]) == 0 {
		return b.appendLog(ctx, env, a, slice)
	}
	changes, err := b.changes(ctx, s, a.updates[slice])
	if err != nil {
		return nil, fmt.Errorf("merge into %s: %w", s.File.Path, err)
	}
	if len(changes) == 0 && len(a.inserts[slice]) == 0 {
		return nil, nil // every update lost against the row that is there
	}
	stat, err := env.Merge(ctx, s.File, a.part.path, changes, b.insertRows(ctx, a.inserts[slice]))
	if err != nil {
		return nil, err
	}
	return []action.WriteStat{stat}, nil
}

// appendLog writes updates and deletes as log blocks; which version of a row wins is found out when the slice is read.
func (b *Batch) appendLog(ctx context.Context, env *handle.Env, a *assignment, slice int) ([]action.WriteStat, error) {
	target := a.targets[a.slices[slice].Group.FileID]
	if target == nil {
		return nil, fmt.Errorf("file group %s has no slice to append to", a.slices[slice].Group)
	}
	h := env.NewAppend(a.part.path, target)
	var buf record.Row
	seen := int32(-1)
	updates := a.updates[slice]
	sort.Slice(updates, func(i, j int) bool { return updates[i].rec < updates[j].rec })
	for _, u := range updates {
		if u.rec == seen {
			continue // a base file that holds the key twice: one record in the log changes both
		}
		seen = u.rec
		r, err := b.record(u.rec, buf)
		if err == nil {
			buf = r.Row
			if r.Op == record.OpDelete {
				h.Delete(r.Key, r.Ordering)
			} else {
				err = h.Update(ctx, r.Key.RecordKey, r.Row)
			}
		}
		if err != nil {
			return nil, errors.Join(err, h.Abort())
		}
	}
	stats, err := h.Close(ctx)
	if err != nil {
		return nil, errors.Join(err, h.Abort())
	}
	return stats, nil
}

// changes merges the records with the rows that they change.
func (b *Batch) changes(ctx context.Context, s *fsview.FileSlice, updates []match) ([]handle.Change, error) {
	sort.Slice(updates, func(i, j int) bool { return updates[i].pos < updates[j].pos })
	if b.op == action.OpDelete {
		// Deletes by key ask no merge rule, whatever the table's payload class makes of rows that say they are deleted.
		out := make([]handle.Change, 0, len(updates))
		for _, u := range updates {
			out = append(out, handle.Change{Pos: u.pos, Key: b.recs[u.rec].key})
		}
		return out, nil
	}
	base, closer, err := b.baseRows(ctx, s, updates)
	if err != nil {
		return nil, err
	}
	defer closer()
	out := make([]handle.Change, 0, len(updates))
	var arena record.Arena
	for _, u := range updates {
		r, err := b.record(u.rec, nil)
		if err != nil {
			return nil, err
		}
		old, err := base(u.pos)
		if err != nil {
			return nil, err
		}
		old.Key = r.Key
		got, what, err := b.p.merger.Combine(old, r)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", r.Key.RecordKey, err)
		}
		switch what {
		case merge.Remove:
			out = append(out, handle.Change{Pos: u.pos, Key: r.Key.RecordKey})
		case merge.Replace:
			row := got.Row
			if !sameRow(row, r.Row) {
				// Made of values of the base row, whose memory the next read uses again.
				row = arena.Clone(row)
			}
			out = append(out, handle.Change{Pos: u.pos, Key: r.Key.RecordKey, Row: row})
		}
	}
	return out, nil
}

// baseRows returns a function that gives the base row at ever greater positions, with as much of it as the merger looks at.
func (b *Batch) baseRows(ctx context.Context, s *fsview.FileSlice, updates []match) (func(pos int64) (record.Record, error), func(), error) {
	need := b.p.merger.Base()
	if need == merge.NeedNothing || len(updates) == 0 {
		return func(pos int64) (record.Record, error) { return record.Record{Position: pos}, nil }, func() {}, nil
	}
	f, obj, err := handle.OpenBase(ctx, b.w.o.Table.Store(), s.File)
	if err != nil {
		return nil, nil, err
	}
	want := b.p.rows
	if need == merge.NeedOrdering {
		want = b.p.rows.Select(b.p.cfg.OrderingFields...)
	}
	rows, err := f.Rows(ctx, want)
	if err != nil {
		return nil, nil, errors.Join(err, obj.Close())
	}
	c := &cursor{rows: rows, buf: make([]record.Row, 256)}
	var order *record.OrderingReader
	if need == merge.NeedOrdering {
		if order, err = record.NewOrderingReader(want, b.p.cfg.OrderingFields); err != nil {
			return nil, nil, errors.Join(err, rows.Close(), obj.Close())
		}
	}
	read := func(pos int64) (record.Record, error) {
		row, err := c.seek(pos)
		if err != nil {
			return record.Record{}, fmt.Errorf("row %d of %s: %w", pos, s.File.Path, err)
		}
		r := record.Record{Position: pos}
		if order != nil {
			r.Ordering = order.Of(row)
			return r, nil
		}
		r.Row = row
		b.p.merger.Prepare(&r)
		return r, nil
	}
	return read, func() { rows.Close(); obj.Close() }, nil
}

// cursor walks forward through rows.
type cursor struct {
	rows  *parquetfile.RowReader
	buf   []record.Row
	first int64 // position of buf[0]
	n     int
	err   error
}

func (c *cursor) seek(pos int64) (record.Row, error) {
	for pos >= c.first+int64(c.n) {
		if c.err != nil {
			return nil, c.err
		}
		c.first += int64(c.n)
		c.n, c.err = c.rows.Read(c.buf)
	}
	return c.buf[pos-c.first], nil
}
