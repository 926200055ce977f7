package parquetfile

import (
	"fmt"
	"slices"

	"github.com/hudifs/hudifs/internal/record"
)

// Edit says what Splice changes. Positions are row positions in the source; each may be given once, in any order. The zero Edit changes
// nothing. Not safe for concurrent use.
type Edit struct {
	ops   []editOp
	fills map[int][]byte
}

// editOp replaces or drops one row.
type editOp struct {
	pos   int64
	row   record.Row // nil: drop
	spans []int32    // where each leaf's values begin in row; nil where each leaf has one value
}

// Replace puts row (of the writer's schema) in the place of the row at pos. The row is kept until Splice returns.
func (e *Edit) Replace(pos int64, row record.Row) { e.ops = append(e.ops, editOp{pos: pos, row: row}) }

// Drop leaves out the row at pos.
func (e *Edit) Drop(pos int64) { e.ops = append(e.ops, editOp{pos: pos}) }

// Fill gives every row, replaced ones included, the value v in the string column leaf (index in the writer's schema): how
// _hoodie_file_name is renamed. Rows written by WriteRow are not meant.
func (e *Edit) Fill(leaf int, v string) {
	if e.fills == nil {
		e.fills = make(map[int][]byte)
	}
	e.fills[leaf] = []byte(v)
}

// Len is the number of rows replaced or dropped.
func (e *Edit) Len() int { return len(e.ops) }

// values are the values of a leaf in a replacing row.
func (o *editOp) values(leaf int) record.Row {
	if o.spans == nil {
		return o.row[leaf : leaf+1]
	}
	return o.row[o.spans[leaf]:o.spans[leaf+1]]
}

// prepare sorts and checks the edit against a source of rows rows and the writer's columns.
func (e *Edit) prepare(w *Writer, rows int64) error {
	byPos := func(a, b editOp) int {
		switch {
		case a.pos < b.pos:
			return -1
		case a.pos > b.pos:
			return 1
		}
		return 0
	}
	if !slices.IsSortedFunc(e.ops, byPos) {
		slices.SortFunc(e.ops, byPos)
	}
	nested := slices.ContainsFunc(w.cols, func(c *columnWriter) bool { return c.shape.maxRep > 0 })
	for i := range e.ops {
		o := &e.ops[i]
		if o.pos < 0 || o.pos >= rows {
			return fmt.Errorf("the edit names row %d of a file of %d rows", o.pos, rows)
		}
		if i > 0 && e.ops[i-1].pos == o.pos {
			return fmt.Errorf("the edit names row %d twice", o.pos)
		}
		if o.row == nil {
			continue
		}
		if err := w.checkRow(o.row); err != nil {
			return fmt.Errorf("the row for position %d: %w", o.pos, err)
		}
		if nested {
			o.spans = leafSpans(o.row, len(w.cols))
		}
	}
	for leaf := range e.fills {
		if leaf < 0 || leaf >= len(w.cols) {
			return fmt.Errorf("the edit fills column %d of %d", leaf, len(w.cols))
		}
		if s := w.cols[leaf].shape; s.typ != physBytes || s.maxRep > 0 {
			return fmt.Errorf("the edit fills column %v, which is not a single string per row", s.leaf.Path)
		}
	}
	return nil
}

// leafSpans finds where each leaf's values begin: at repetition level 0.
func leafSpans(row record.Row, leaves int) []int32 {
	spans := make([]int32, 0, leaves+1)
	for i, v := range row {
		if v.RepetitionLevel() == 0 {
			spans = append(spans, int32(i))
		}
	}
	return append(spans, int32(len(row)))
}
