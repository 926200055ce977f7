package merge

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// rowPlan says how the rows of blocks of one writer's schema become rows of the slice's schema.
type rowPlan struct {
	*logfile.Plan
	partial []int      // field set of a partial update, nil: the whole row
	narrow  *narrowing // partial: the block's rows have fewer columns
	floats  floatWidening
	extra   deleteTest // delete columns that the slice's schema does not have
	leaves  int        // of the slice's schema; extra columns lie behind
}

// blockReader feeds the records of blocks into a buffer.
type blockReader struct {
	schema *schema.Schema
	merger RecordMerger
	key    *keyer
	plans  map[string]*rowPlan // by block type, SCHEMA header and partial flag

	avroFloats bool // see floatWidening
	byPayload  bool // see common
	row        record.Row
	wide       record.Row
}

// keyField is the column that HFile log blocks keep in their keys.
func (r *blockReader) keyField() string {
	if r.schema.HasMetaFields() {
		return schema.RecordKeyField
	}
	return ""
}

// plan returns the plan for a block.
func (r *blockReader) plan(b *logfile.Block) (*rowPlan, error) {
	id := b.Type.String() + " " + b.Header[logfile.SchemaText]
	if b.Partial() {
		id = "partial " + id
	}
	if p, ok := r.plans[id]; ok {
		return p, nil
	}
	from, err := b.Schema()
	if err != nil {
		return nil, err
	}
	p := &rowPlan{leaves: len(r.schema.Leaves())}
	var to *schema.Schema
	if b.Partial() {
		if to, p.narrow, p.partial, err = r.narrow(from); err != nil {
			return nil, err
		}
	} else if to, err = withDeleteFields(r.schema, from); err != nil {
		return nil, err
	}
	if to != r.schema && !b.Partial() {
		p.extra = newDeleteTest(to, r.byPayload)
	}
	if r.avroFloats && b.Type == logfile.AvroBlock && !b.Partial() {
		if to, p.floats, err = plainFloats(from, to); err != nil {
			return nil, err
		}
	}
	if p.Plan, err = logfile.NewPlan(from, to, r.keyField()); err != nil {
		return nil, err
	}
	r.plans[id] = p
	return p, nil
}

// withDeleteFields returns s with the columns behind it that mark a row of from as a delete and that s lacks.
func withDeleteFields(s, from *schema.Schema) (*schema.Schema, error) {
	root := *s.Root()
	for _, name := range []string{schema.IsDeletedField, schema.OperationField} {
		f, i := from.Field(name)
		if _, have := s.Field(name); i >= 0 && have < 0 && f.Type.Primitive() {
			root.Fields = append(root.Fields[:len(root.Fields):len(root.Fields)], *f)
		}
	}
	if len(root.Fields) == len(s.Root().Fields) {
		return s, nil
	}
	return schema.New(&root)
}

// narrowing places the values of a row that has only some of the top-level fields.
type narrowing struct {
	null []record.Value // per leaf of the wide schema: what stands where the narrow one has nothing
	from []int          // per leaf of the wide schema: leaf of the narrow one, -1: none
}

// narrow plans rows of a partial update block: the fields that it has, in the types of the slice's schema.
func (r *blockReader) narrow(from *schema.Schema) (*schema.Schema, *narrowing, []int, error) {
	var names []string
	fields := []int{}
	n := &narrowing{}
	for i, f := range r.schema.Root().Fields {
		if _, at := from.Field(f.Name); at >= 0 {
			names = append(names, f.Name)
			fields = append(fields, i)
		}
	}
	for i := range r.schema.Leaves() {
		n.null = append(n.null, record.Null(0, 0, i))
		n.from = append(n.from, -1)
	}
	to := r.schema.Select(names...)
	for j, i := range fields {
		wf, wt := r.schema.LeafRange(i)
		nf, _ := to.LeafRange(j)
		for w := wf; w < wt; w++ {
			n.from[w] = nf + w - wf
		}
	}
	if len(fields) == len(r.schema.Root().Fields) {
		fields = nil // every column is assigned
	}
	return to, n, fields, nil
}

// widen appends the wide row to dst.
func (n *narrowing) widen(dst, row record.Row) record.Row {
	i := 0
	for w := range n.null {
		if n.from[w] < 0 {
			dst = append(dst, n.null[w])
			continue
		}
		for ; i < len(row) && row[i].Column() == n.from[w]; i++ {
			v := row[i]
			dst = append(dst, v.Level(v.RepetitionLevel(), v.DefinitionLevel(), w))
		}
	}
	return dst
}

// feed reads one block into the buffer. base is the instant of the slice's base file: positions that count in another one are of no use.
func (r *blockReader) feed(ctx context.Context, b *logfile.Block, base string, to *buffer) error {
	pos, in, ok, err := b.Positions()
	if err != nil {
		return err
	}
	if !ok || in != base {
		pos = nil
	}
	if b.Type == logfile.DeleteBlock {
		return r.feedDeletes(ctx, b, pos, to)
	}
	return r.feedRows(ctx, b, pos, to)
}

func (r *blockReader) feedDeletes(ctx context.Context, b *logfile.Block, pos []int64, to *buffer) error {
	i := 0
	for d, err := range b.Deletes() {
		if err == nil && i&0xfff == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		rec := record.Record{Key: d.Key, Op: record.OpDelete, Ordering: d.Ordering, Position: positionAt(pos, i)}
		if err := to.put(&rec); err != nil {
			return err
		}
		i++
	}
	return nil
}

// positionAt returns the i-th position, -1 where there is none.
func positionAt(pos []int64, i int) int64 {
	if i < len(pos) {
		return pos[i]
	}
	return -1
}

func (r *blockReader) feedRows(ctx context.Context, b *logfile.Block, pos []int64, to *buffer) (err error) {
	p, err := r.plan(b)
	if err != nil {
		return err
	}
	rows, err := b.Rows(ctx, p.Plan)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, rows.Close()) }()
	for i := 0; ; i++ {
		if r.row, err = rows.Next(r.row[:0]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		rec := record.Record{Row: r.row, Position: positionAt(pos, i), Partial: p.partial}
		if p.narrow != nil {
			r.wide = p.narrow.widen(r.wide[:0], r.row)
			rec.Row = r.wide
		}
		if len(p.floats.leaves) > 0 {
			p.floats.widen(p.Plan.To, rec.Row)
		}
		flagged := p.extra.of(rec.Row)
		for n := len(rec.Row); n > 0 && rec.Row[n-1].Column() >= p.leaves; n-- {
			rec.Row = rec.Row[:n-1]
		}
		r.merger.Prepare(&rec)
		if flagged {
			rec.Op = record.OpDelete
		}
		if rec.Key, err = r.key.of(rec.Row); err != nil {
			return fmt.Errorf("record %d of the block at byte %d: %w", i, b.Offset, err)
		}
		if err := to.put(&rec); err != nil {
			return err
		}
	}
}
