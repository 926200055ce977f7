package merge

import (
	"context"
	"errors"
	"slices"

	"github.com/hudifs/hudifs/internal/record"
)

// ErrPartial says that logs hold partial updates, which can't be merged without the base file.
var ErrPartial = errors.New("the logs hold partial updates")

// ReadLogs merges the logs of a slice among themselves, the base file aside, and calls fn with what each key came to, in key order: a row, or a delete
// with its ordering value. It returns the instants of the blocks that this stands for, oldest first. A record is valid during the call.
func ReadLogs(ctx context.Context, in SliceInput, fn func(record.Record) error) (instants []string, st Stats, err error) {
	in.Base = nil
	found, err := Scan(ctx, in.Logs, in.Valid)
	if err != nil {
		return nil, st, err
	}
	for _, ref := range found.InForce {
		if ref.Block.Partial() {
			return nil, st, ErrPartial
		}
		if t := ref.Block.Instant(); !slices.Contains(instants, t) {
			instants = append(instants, t)
		}
	}
	s, err := Open(ctx, in)
	if err != nil {
		return nil, st, err
	}
	defer func() { err = joined(err, s.Close()) }()
	err = s.buf.groups(func(g *group) error {
		order := make([]int32, len(g.keys))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortFunc(order, func(a, b int32) int { return record.CompareUTF16(g.keys[a], g.keys[b]) })
		var row record.Row
		for _, i := range order {
			if err := ctx.Err(); err != nil {
				return err
			}
			e := &g.entries[i]
			r := record.Record{Key: record.Key{RecordKey: g.keys[i], PartitionPath: in.Partition}, Op: e.op, Ordering: e.ord, Position: -1}
			if e.row != noRow && e.op != record.OpDelete {
				var err error
				if row, err = s.buf.store.Row(e.row, row[:0]); err != nil {
					return err
				}
				r.Row = row
			}
			if err := fn(r); err != nil {
				return err
			}
		}
		return nil
	})
	return instants, s.Stats(), err
}
