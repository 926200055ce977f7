package parquetfile

import (
	"context"
	"fmt"
	"io"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// scanRows is how many values one column scan decodes at a time.
const scanRows = 8192

// Strings calls fn for each value of a string leaf (dotted field name) in row order, with its row position; null values are passed as ok=false.
// v is valid during the call. The leaf must not lie in a list or map. No value is copied: it is the fast way over record keys.
func (f *File) Strings(ctx context.Context, field string, fn func(pos int64, v []byte, ok bool) error) error {
	leaf := f.schema.LeafOf(field)
	if leaf < 0 {
		return fmt.Errorf("read %s: there is no field %q", f.name, field)
	}
	n := f.tree.leaves[f.leaves[leaf].column]
	if n.typ != physBytes || n.maxRep > 0 || f.leaves[leaf].decode.convert != asIs {
		return fmt.Errorf("read %s: field %q is not a single string per row", f.name, field)
	}
	return f.strings(ctx, f.newColumn(n.column, 0, len(f.meta.groups)), fn)
}

func (f *File) strings(ctx context.Context, c *columnReader, fn func(pos int64, v []byte, ok bool) error) (err error) {
	defer f.rescue(&err)
	pos := int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.recycle()
		r, err := c.next(scanRows)
		if err == io.EOF && pos == f.meta.rows {
			return nil
		}
		if err != nil {
			return err
		}
		j := 0
		for i := range r.n {
			if r.def != nil && int(r.def[i]) < c.node.maxDef {
				if err := fn(pos, nil, false); err != nil {
					return err
				}
				pos++
				continue
			}
			var v []byte
			if r.dict != nil {
				v = r.dict.bytesAt(int(r.codes[j]))
			} else {
				v = r.bytesAt(j)
			}
			j++
			if err := fn(pos, v, true); err != nil {
				return err
			}
			pos++
		}
	}
}

// Values calls fn for each value of a leaf (dotted field name) that does not lie in a list or map, in row order, with its row position.
// v is valid during the call; null is known by its definition level (record.IsNull).
func (f *File) Values(ctx context.Context, field string, fn func(pos int64, v record.Value) error) error {
	leaf := f.schema.LeafOf(field)
	if leaf < 0 {
		return fmt.Errorf("read %s: there is no field %q", f.name, field)
	}
	p, err := schema.Project(f.schema, f.schema)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.name, err)
	}
	s, err := f.newStream(p, leaf, 0, len(f.meta.groups))
	if err != nil {
		return fmt.Errorf("read %s: %w", f.name, err)
	}
	if !s.flat() {
		return fmt.Errorf("read %s: field %q has several values per row", f.name, field)
	}
	vals := make([]record.Value, batchRows)
	for pos := int64(0); pos < f.meta.rows; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := int(min(batchRows, f.meta.rows-pos))
		if err := s.batch(vals, n); err != nil {
			return err
		}
		for _, v := range vals[:n] {
			if err := fn(pos, v); err != nil {
				return err
			}
			pos++
		}
	}
	return nil
}

// batch is readFlat at the boundary of the package.
func (s *leafStream) batch(vals []record.Value, n int) (err error) {
	defer s.f.rescue(&err)
	s.recycle()
	return s.readFlat(vals, n, 1)
}
