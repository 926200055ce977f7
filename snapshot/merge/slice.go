// Package merge turns a file slice into rows: a base file and the log blocks that change it, under the table's merge rules.
//
// It knows which blocks are in force, which of two versions of a record wins, and how to say the result as an edit of the base file.
// It must never know how a slice was found, or what a snapshot is.
package merge

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"unsafe"

	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// DefaultMemory is the memory budget of a merge, in bytes.
const DefaultMemory = 256 << 20

// minMemory keeps tiny budgets workable.
const minMemory = 1 << 20

// SliceInput is a file slice with everything that decides its rows.
type SliceInput struct {
	Base        *parquetfile.File // nil: no base file. It must stay open while the Slice is used
	BaseInstant string            // instant of the base file, for record positions
	Logs        []Log             // in reading order, as fsview sorts them; no .cdc files
	Schema      *schema.Schema    // of the rows to come out: the table's at the instant, with meta fields where the table has them
	Config      *tableconfig.Config
	Partition   string // partition path of the slice; keys of tables without meta fields have it

	// Valid says whether blocks of an instant count: committed and not later than the snapshot (data.md §4.2). nil: all do.
	Valid func(instant string) bool

	// ByPosition finds base rows by the record positions of the log blocks, where all blocks have them, instead of by key. The result is the same unless the
	// base file holds a key twice: then only the row that was written to changes, while Hudi's readers, which go by key, change both.
	ByPosition bool

	MemoryBudget int64  // bytes of log records kept in memory before they spill; 0: DefaultMemory
	TempDir      string // for spilling; "": os.TempDir
	Log          *slog.Logger

	spillAt int64 // tests: bytes of keys and entries after which they spill
}

// Stats says what the merge met.
type Stats struct {
	Blocks, Corrupt        int   // blocks in force; damaged regions passed over
	LogRecords, LogDeletes int64 // records and deletes read from blocks in force
	Updated, Deleted       int64 // base rows replaced and removed
	Inserted, Rows         int64 // rows without a base row; rows in all
	Spilled                int64 // bytes written to disk
}

// Slice is an opened file slice: its logs are read, merged among themselves and with the base file. Its methods may be called one after the other,
// any number of times, from one goroutine.
type Slice struct {
	in      SliceInput
	merger  RecordMerger
	buf     *buffer
	key     *keyer
	edits   changes // base rows
	inserts changes
	stats   Stats
}

// Open reads the logs and decides what becomes of every base row. Close the Slice to remove what was spilled.
func Open(ctx context.Context, in SliceInput) (_ *Slice, err error) {
	if in.Log == nil {
		in.Log = slog.New(slog.DiscardHandler)
	}
	if in.MemoryBudget == 0 {
		in.MemoryBudget = DefaultMemory
	}
	in.MemoryBudget = max(in.MemoryBudget, minMemory)
	s := &Slice{in: in}
	if s.merger, err = ForTable(in.Config, in.Schema); err != nil {
		return nil, err
	}
	if s.key, err = newKeyer(in.Config, in.Schema, in.Partition); err != nil {
		return nil, err
	}
	s.buf = newBuffer(s.merger, in.Schema, in.MemoryBudget, in.TempDir)
	if in.spillAt > 0 {
		s.buf.limit = in.spillAt
	}
	defer func() {
		if err != nil {
			err = joined(err, s.Close())
		}
	}()
	if err := s.readLogs(ctx); err != nil {
		return nil, err
	}
	return s, s.resolve(ctx)
}

// readLogs feeds all blocks in force into the buffer.
func (s *Slice) readLogs(ctx context.Context) error {
	found, err := Scan(ctx, s.in.Logs, s.in.Valid)
	if err != nil {
		return err
	}
	for _, c := range found.Corrupt {
		s.in.Log.Warn("passing over damaged bytes in a log file, as an aborted write leaves them",
			"path", c.Block.File(), "offset", c.Block.Offset, "bytes", c.Block.Size, "err", c.Block.Damage)
	}
	s.stats.Blocks, s.stats.Corrupt = len(found.InForce), len(found.Corrupt)
	r := &blockReader{schema: s.in.Schema, merger: s.merger, key: s.key, plans: map[string]*rowPlan{},
		avroFloats: !s.in.Config.Features.OrderingFieldsKey, byPayload: !s.in.Config.Features.MergeModeStored}
	for len(found.InForce) > 0 {
		at := found.InForce[0].Log
		n := slices.IndexFunc(found.InForce, func(x Ref) bool { return x.Log != at })
		if n < 0 {
			n = len(found.InForce)
		}
		if err := s.readLog(ctx, r, &s.in.Logs[at], found.InForce[:n]); err != nil {
			return fmt.Errorf("merge %s: %w", s.in.Logs[at].Path, err)
		}
		found.InForce = found.InForce[n:]
	}
	s.stats.LogRecords, s.stats.LogDeletes = s.buf.records, s.buf.deletes
	return nil
}

// readLog reads neighbouring blocks of one log file.
func (s *Slice) readLog(ctx context.Context, r *blockReader, l *Log, blocks []Ref) (err error) {
	obj, err := l.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, obj.Close()) }()
	for _, ref := range blocks {
		ref.Block.Attach(obj)
		if err := r.feed(ctx, ref.Block, s.in.BaseInstant, s.buf); err != nil {
			return err
		}
		ref.Block.Attach(nil)
	}
	return nil
}

// hit is a base row that a logged record meets.
type hit struct {
	pos   int64
	entry int32
}

// resolve meets base rows and logged records, group by group.
func (s *Slice) resolve(ctx context.Context) error {
	onDisk := s.buf.mem == nil
	s.edits, s.inserts = changes{dir: s.in.TempDir, disk: onDisk}, changes{dir: s.in.TempDir, disk: onDisk}
	err := s.buf.groups(func(g *group) error { return s.resolveGroup(ctx, g) })
	if err != nil {
		return err
	}
	s.stats.Inserted = s.inserts.count
	s.stats.Updated = s.edits.count - s.stats.Deleted
	s.stats.Rows = s.inserts.count - s.stats.Deleted
	if s.in.Base != nil {
		s.stats.Rows += s.in.Base.NumRows()
	}
	return nil
}

func (s *Slice) resolveGroup(ctx context.Context, g *group) error {
	if s.in.Base != nil && len(g.entries) > 0 {
		hits, err := s.hits(ctx, g)
		if err != nil {
			return err
		}
		if err := s.combine(ctx, g, hits); err != nil {
			return err
		}
	}
	var batch []change
	for i := range g.entries {
		e := &g.entries[i]
		if e.used || e.op == record.OpDelete {
			continue
		}
		rec := s.buf.bare(g.keys[i], e)
		out, ok, err := s.merger.Insert(rec)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		row, err := s.keep(e, rec.Row, out.Row)
		if err != nil {
			return err
		}
		batch = append(batch, change{e.seq, row})
	}
	return s.inserts.add(batch)
}

// keep returns the store's handle of row, which is the entry's own unless the merger made another.
func (s *Slice) keep(e *entry, own, row record.Row) (int64, error) {
	if unsafe.SliceData(row) == unsafe.SliceData(own) {
		return e.row, nil
	}
	return s.buf.store.Append(row)
}

// combine merges the hits, in order of position, with as much of the base rows as the rules look at.
func (s *Slice) combine(ctx context.Context, g *group, hits []hit) error {
	if len(hits) == 0 {
		return nil
	}
	need := s.merger.Base()
	if s.buf.anyPartial {
		need = NeedRow
	}
	var batch []change
	var scratch record.Row
	one := func(h hit, base record.Record) error {
		e := &g.entries[h.entry]
		update := s.buf.bare(g.keys[h.entry], e)
		var err error
		if need == NeedRow && e.row != noRow {
			if update.Row, err = s.buf.store.Row(e.row, scratch[:0]); err != nil {
				return err
			}
			scratch = update.Row
		}
		out, how, err := s.merger.Combine(base, update)
		if err != nil {
			return fmt.Errorf("merge key %q with its base row: %w", g.keys[h.entry], err)
		}
		c := change{h.pos, noRow}
		switch how {
		case KeepBase:
			return nil
		case Remove:
			s.stats.Deleted++
		case Replace:
			if c.row, err = s.keep(e, update.Row, out.Row); err != nil {
				return err
			}
		}
		batch = append(batch, c)
		return nil
	}
	var err error
	switch need {
	case NeedNothing:
		for _, h := range hits {
			if err = one(h, record.Record{Position: h.pos}); err != nil {
				return err
			}
		}
	case NeedOrdering:
		err = s.withOrdering(ctx, hits, one)
	default:
		err = s.withRows(ctx, hits, one)
	}
	if err != nil {
		return err
	}
	return s.edits.add(batch)
}

// Stats returns what the merge met.
func (s *Slice) Stats() Stats {
	st := s.stats
	st.Spilled = s.buf.spilled()
	return st
}

// Close removes spilled files.
func (s *Slice) Close() error {
	err := joined(s.edits.close(), s.inserts.close())
	return joined(err, s.buf.close())
}
