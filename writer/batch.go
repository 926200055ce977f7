package writer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/timeline/action"
)

// Rows is a source of rows of Writer.RowSchema. Line says where the row i of the last Read stood, for messages.
type Rows interface {
	Read(dst []record.Row) (int, error)
	Line(i int) int64
}

// RowError is a row that the table can't take, whatever is tried: a missing key, a null ordering value.
type RowError struct {
	Line int64 // as Rows.Line says
	Code string
	Err  error
}

func (e *RowError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *RowError) Unwrap() error { return e.Err }

// Batch is the rows of one commit, from one or several sources. Use from one goroutine; Close frees it.
type Batch struct {
	w     *Writer
	op    action.WriteOperation
	p     *plan
	rows  *record.Store
	parts []*part
	byDir map[string]int
	recs  []rec
	added int64
}

// part is the batch's rows of one partition.
type part struct {
	path  string
	byKey map[string]int32 // into Batch.recs; not for inserts, whose keys may repeat
	recs  []int32
}

// rec is one record of the batch.
type rec struct {
	key  string
	at   int64 // in the row store
	part int32
	op   record.Op
}

// NewBatch starts a batch of one operation: upsert, insert, bulk insert or delete.
func (w *Writer) NewBatch(ctx context.Context, op action.WriteOperation) (*Batch, error) {
	switch op {
	case action.OpUpsert, action.OpInsert, action.OpBulkInsert, action.OpDelete:
	default:
		return nil, fmt.Errorf("operation %s takes no rows", op)
	}
	p, err := w.plan(ctx)
	if err != nil {
		return nil, err
	}
	return &Batch{w: w, op: op, p: p, rows: record.NewStore(p.rows, w.o.MemoryBytes, w.o.TempDir), byDir: map[string]int{}}, nil
}

// Schema is the schema of the rows that Add takes.
func (b *Batch) Schema() *schema.Schema { return b.p.rows }

// Len is the number of rows added.
func (b *Batch) Len() int64 { return b.added }

// readRows is how many rows are asked of a source at once.
const readRows = 1024

// staged is a row of a source that is not wholly read yet.
type staged struct {
	key  record.Key
	at   int64
	op   record.Op
	line int64
}

// Add adds all rows of one source, or, when it returns an error, none of them.
func (b *Batch) Add(ctx context.Context, in Rows) (int64, error) {
	var all []staged
	rd := startReading(in, readRows)
	defer rd.stop()
	for {
		got, err := rd.next(ctx)
		if err != nil {
			return 0, err
		}
		for i, row := range got.rows[:got.n] {
			s, err := b.stage(row)
			if err != nil {
				var re *RowError
				if errors.As(err, &re) {
					re.Line = got.lines[i]
				}
				return 0, err
			}
			s.line = got.lines[i]
			all = append(all, s)
		}
		if errors.Is(got.err, io.EOF) {
			break
		}
		if got.err != nil {
			return 0, got.err
		}
	}
	return int64(len(all)), b.take(all)
}

// stage checks one row and keeps a copy.
func (b *Batch) stage(row record.Row) (staged, error) {
	key, err := b.p.keys.Key(row)
	if err != nil {
		return staged{}, &RowError{Code: "key", Err: err}
	}
	r := record.Record{Key: key, Row: row}
	b.prepare(&r)
	at, err := b.rows.Append(row)
	return staged{key: key, at: at, op: r.Op}, err
}

// take merges the rows of a source into the batch. Rows of one key are merged in the order in which they came.
func (b *Batch) take(all []staged) error {
	merge := b.op == action.OpUpsert || b.op == action.OpDelete
	for _, s := range all {
		p := b.part(s.key.PartitionPath)
		n := int32(len(b.recs))
		if merge {
			if old, ok := p.byKey[s.key.RecordKey]; ok {
				if err := b.combine(old, s); err != nil {
					return &RowError{Line: s.line, Code: "merge", Err: err}
				}
				continue
			}
			p.byKey[s.key.RecordKey] = n
		}
		b.recs = append(b.recs, rec{key: s.key.RecordKey, at: s.at, part: int32(b.byDir[p.path]), op: s.op})
		p.recs = append(p.recs, n)
	}
	b.added += int64(len(all))
	return nil
}

func (b *Batch) part(dir string) *part {
	i, ok := b.byDir[dir]
	if !ok {
		i = len(b.parts)
		b.byDir[dir] = i
		b.parts = append(b.parts, &part{path: dir, byKey: map[string]int32{}})
	}
	return b.parts[i]
}

// combine merges a later row of the same key into record old.
func (b *Batch) combine(old int32, s staged) error {
	older, err := b.record(old, nil)
	if err != nil {
		return err
	}
	row, err := b.rows.Row(s.at, nil)
	if err != nil {
		return err
	}
	newer := record.Record{Key: s.key, Row: row}
	b.prepare(&newer)
	got, err := b.p.merger.PreCombine(older, newer)
	if err != nil {
		return err
	}
	r := &b.recs[old]
	r.op = got.Op
	switch {
	case sameRow(got.Row, older.Row):
	case sameRow(got.Row, row):
		r.at = s.at
	default:
		r.at, err = b.rows.Append(got.Row)
	}
	return err
}

func sameRow(a, b record.Row) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

// prepare finds out what a record does. A delete names keys: it has no event of its own and wins by arriving later.
func (b *Batch) prepare(r *record.Record) {
	if b.op == action.OpDelete {
		r.Op, r.Ordering = record.OpDelete, record.Ordering{}
		return
	}
	b.p.merger.Prepare(r)
}

// record reads record i with its row, appended to buf[:0].
func (b *Batch) record(i int32, buf record.Row) (record.Record, error) {
	r := &b.recs[i]
	row, err := b.rows.Row(r.at, buf)
	if err != nil {
		return record.Record{}, err
	}
	out := record.Record{Key: record.Key{RecordKey: r.key, PartitionPath: b.parts[r.part].path}, Row: row, Position: -1}
	b.prepare(&out)
	out.Op = r.op
	return out, nil
}

// Close frees the batch.
func (b *Batch) Close() error { return b.rows.Close() }
