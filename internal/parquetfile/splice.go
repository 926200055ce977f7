package parquetfile

import (
	"context"
	"fmt"
	"slices"

	"github.com/hudifs/hudifs/internal/schema"
)

// Row groups of a source keep their extent, so that their pages can be copied. Only small ones are decoded and joined to the group that is
// open: a file that is copied together from many small ones shall not end with as many row groups.
const (
	joinFirstBytes = 4 << 20 // the first group of a source
	joinNextBytes  = 1 << 20 // the others
)

// Splice appends all rows of src under the edit e, column by column. Columns that the writer's schema stores as src does are copied page by
// page as compressed bytes; pages that the edit touches are decoded and encoded anew, in the source's codec where other pages of the column
// chunk are kept and in the writer's where none or few are. src is read under the writer's schema (schema.Project).
//
// Rows written afterwards follow in the same row group. Bounds in the footer stay right: they can be wider than the values only where the
// source's page index has cut them or is missing.
func (w *Writer) Splice(ctx context.Context, src *File, e *Edit) error {
	if w.err != nil {
		return w.err
	}
	p, err := schema.Project(w.schema, src.schema)
	if err != nil {
		return fmt.Errorf("splice %s: %w", src.name, err)
	}
	if e == nil {
		e = &Edit{}
	}
	if err := e.prepare(w, src.meta.rows); err != nil {
		return fmt.Errorf("splice %s: %w", src.name, err)
	}
	limit := int64(joinFirstBytes)
	ops, first := e.ops, int64(0)
	for g := range src.meta.groups {
		if err := ctx.Err(); err != nil {
			return w.keep(err)
		}
		rows := src.meta.groups[g].rows
		n, _ := slices.BinarySearchFunc(ops, first+rows, func(o editOp, pos int64) int {
			if o.pos < pos {
				return -1
			}
			return 1
		})
		if err := w.spliceGroup(ctx, &groupSplice{src: src, proj: p, edit: e, group: g, first: first, ops: ops[:n]}, limit); err != nil {
			return w.keep(err)
		}
		ops, first, limit = ops[n:], first+rows, joinNextBytes
	}
	return nil
}

// groupSplice is one row group on its way. Columns read it side by side.
type groupSplice struct {
	src   *File
	proj  *schema.Projection
	edit  *Edit
	group int
	first int64    // position of its first row
	ops   []editOp // those of its rows
	fresh bool     // the writer's group is empty: pages can be copied
}

func (w *Writer) spliceGroup(ctx context.Context, g *groupSplice, limit int64) error {
	m := &g.src.meta.groups[g.group]
	kept := m.rows
	for i := range g.ops {
		if g.ops[i].row == nil {
			kept--
		}
	}
	if kept == 0 {
		return nil
	}
	size := int64(0)
	for i := range m.columns {
		size += m.columns[i].compressed
	}
	if w.open > 0 && (size > limit || size+w.openSize() > w.limits.groupBytes) {
		if err := w.flushGroup(); err != nil {
			return err
		}
	}
	g.fresh = w.open == 0
	err := parallel(len(w.cols), func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return g.column(ctx, i, w.cols[i])
	})
	if err != nil {
		return err
	}
	w.open += kept
	w.waiting = 0
	if w.openSize() >= w.limits.groupBytes {
		return w.flushGroup()
	}
	return nil
}

// openSize estimates the bytes of the open row group.
func (w *Writer) openSize() int64 {
	size := int64(0)
	for _, c := range w.cols {
		size += c.size()
	}
	return size
}

// column splices leaf i of the writer's schema into c.
func (g *groupSplice) column(ctx context.Context, i int, c *columnWriter) (err error) {
	defer g.src.rescue(&err)
	defer func() {
		if err == nil {
			err = c.encodeSealed()
		}
	}()
	if v, ok := g.edit.fills[i]; ok {
		return c.addConst(v, g.kept())
	}
	s, err := g.src.newStream(g.proj, i, g.group, g.group+1)
	if err != nil {
		return fmt.Errorf("splice %s: %w", g.src.name, err)
	}
	d := &columnSplice{groupSplice: g, ctx: ctx, c: c, s: s, leaf: i}
	if !d.direct() {
		return d.byValues()
	}
	if g.fresh && d.plain {
		done, err := d.byPages()
		if done || err != nil {
			return err
		}
	}
	return d.byRuns()
}

// kept is the number of rows that the group gives.
func (g *groupSplice) kept() int64 {
	n := g.src.meta.groups[g.group].rows
	for i := range g.ops {
		if g.ops[i].row == nil {
			n--
		}
	}
	return n
}

// columnSplice is one column of a groupSplice.
type columnSplice struct {
	*groupSplice
	ctx  context.Context
	c    *columnWriter
	s    *leafStream
	leaf int

	at     int   // op that comes next
	row    int64 // source row, within the group, that comes next
	skip   bool  // nested: the row at hand is dropped or replaced
	levels []uint8
	plain  bool // levels changes nothing
	codes  dictMap
}

// direct reports whether the column's plain values are those of the file being written, so that runs can be copied. It composes the levels:
// column of the source → leaf → column being written.
func (d *columnSplice) direct() bool {
	s, shape := d.s, d.c.shape
	if s.col == nil || s.like || s.conv != nil || s.decode.convert != asIs {
		return false
	}
	n := s.col.node
	if n.typ != shape.typ || n.typ == physFixed && n.length != shape.length || n.maxRep != shape.maxRep {
		return false
	}
	d.levels = make([]uint8, len(s.levels))
	d.plain = n.maxDef == shape.maxDef
	for i, l := range s.levels {
		d.levels[i] = noLevel
		if l != noLevel && shape.levels[l] >= 0 {
			d.levels[i] = uint8(shape.levels[l])
		}
		d.plain = d.plain && int(d.levels[i]) == i
	}
	return int(d.levels[n.maxDef]) == shape.maxDef
}

// apply carries out an op for this column.
func (d *columnSplice) apply(o *editOp) {
	if o.row == nil {
		return
	}
	shape := d.c.shape
	for _, v := range o.values(d.leaf) {
		d.c.add(v, shape.levels[v.DefinitionLevel()], v.RepetitionLevel())
	}
}

// nextOp is the row, within the group, of the op that comes next; behind all rows where there is none.
func (d *columnSplice) nextOp() int64 {
	if d.at < len(d.ops) {
		return d.ops[d.at].pos - d.first
	}
	return 1<<63 - 1
}

// byValues splices a column whose values must be converted or made up.
func (d *columnSplice) byValues() error {
	rows := d.src.meta.groups[d.group].rows
	flat := d.s.flat()
	for d.row < rows {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		n := int(min(batchRows, rows-d.row))
		d.s.recycle()
		if flat {
			d.s.vals = sized(d.s.vals, n)
			if err := d.s.readFlat(d.s.vals, n, 1); err != nil {
				return err
			}
		} else if err := d.s.readNested(n); err != nil {
			return err
		}
		for i := range n {
			if d.row == d.nextOp() {
				d.apply(&d.ops[d.at])
				d.at++
				d.row++
				continue
			}
			d.row++
			vals := d.s.vals[i : i+1]
			if !flat {
				vals = d.s.vals[d.s.starts[i]:d.s.starts[i+1]]
			}
			if err := d.addValues(vals); err != nil {
				return err
			}
		}
		if err := d.c.encodeSealed(); err != nil {
			return err
		}
	}
	return nil
}

func (d *columnSplice) addValues(vals []value) error {
	shape := d.c.shape
	for _, v := range vals {
		l := shape.levels[v.DefinitionLevel()]
		if l < 0 {
			return fmt.Errorf("splice %s: field %v: a list in the old two-level form cannot hold a null element", d.src.name, shape.leaf.Path)
		}
		d.c.add(v, l, v.RepetitionLevel())
	}
	return nil
}

// byRuns decodes the column and copies its runs between the rows that the edit touches.
func (d *columnSplice) byRuns() error {
	rows := d.src.meta.groups[d.group].rows
	col := d.s.col
	for {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		col.recycle()
		whole, err := col.atRowStart()
		if err != nil {
			return err
		}
		if whole && d.row == rows {
			return nil
		}
		r, err := col.next(runRows)
		if err != nil {
			return d.s.early(err)
		}
		if err := d.copyRun(r); err != nil {
			return err
		}
	}
}
