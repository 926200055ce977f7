package parquetfile

import (
	"context"
	"fmt"
	"io"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// batchRows is how many rows one Read assembles at most: their values stay in the processor's cache.
const batchRows = 512

// RowReader yields rows; a row is valid until the next Read. It keeps the context of Rows, which ends it.
type RowReader struct {
	ctx     context.Context
	f       *File
	left    int64
	streams []*leafStream
	nested  bool
	vals    []record.Value
	column  []record.Value // one flat column of a nested batch
	next    []int          // nested: where the next value of each row goes
	err     error
}

// Rows reads all rows under the schema to (evolved by schema.Project), in file order. Only the columns that to names are read.
func (f *File) Rows(ctx context.Context, to *schema.Schema) (*RowReader, error) {
	p, err := schema.Project(to, f.schema)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.name, err)
	}
	r := &RowReader{ctx: ctx, f: f, left: f.meta.rows}
	for i := range p.Leaves {
		s, err := f.newStream(p, i, 0, len(f.meta.groups))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.name, err)
		}
		r.streams = append(r.streams, s)
		r.nested = r.nested || !s.flat()
	}
	return r, nil
}

// Read fills dst with rows; io.EOF ends it. It may return fewer rows than fit.
func (r *RowReader) Read(dst []record.Row) (n int, err error) {
	if r.err != nil {
		return 0, r.err
	}
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n = int(min(int64(len(dst)), r.left, batchRows))
	if n == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		return 0, nil
	}
	if err := r.fill(dst[:n]); err != nil {
		r.err = err
		return 0, err
	}
	r.left -= int64(n)
	return n, nil
}

func (r *RowReader) fill(dst []record.Row) (err error) {
	defer r.f.rescue(&err)
	n, w := len(dst), len(r.streams)
	for _, s := range r.streams {
		s.recycle()
	}
	if r.nested {
		return r.fillNested(dst)
	}
	r.vals = sized(r.vals, n*w)
	for i, s := range r.streams {
		if err := s.readFlat(r.vals[i:], n, w); err != nil {
			return err
		}
	}
	for i := range dst {
		dst[i] = r.vals[i*w : (i+1)*w : (i+1)*w]
	}
	return nil
}

// fillNested assembles rows of which some leaf may have several values.
func (r *RowReader) fillNested(dst []record.Row) error {
	n := len(dst)
	total, flat := 0, 0
	r.next = sized(r.next, n+1)
	clear(r.next)
	for _, s := range r.streams {
		if s.flat() {
			flat++
			continue
		}
		if err := s.readNested(n); err != nil {
			return err
		}
		for i := range n {
			r.next[i+1] += s.starts[i+1] - s.starts[i]
		}
	}
	for i := range n {
		total += r.next[i+1] + flat
		r.next[i+1] = total
	}
	r.vals = sized(r.vals, total)
	for i := range dst {
		dst[i] = r.vals[r.next[i]:r.next[i+1]:r.next[i+1]]
	}
	for _, s := range r.streams {
		if !s.flat() {
			for i := range n {
				r.next[i] += copy(r.vals[r.next[i]:], s.vals[s.starts[i]:s.starts[i+1]])
			}
			continue
		}
		r.column = sized(r.column, n)
		if err := s.readFlat(r.column, n, 1); err != nil {
			return err
		}
		for i, v := range r.column {
			r.vals[r.next[i]] = v
			r.next[i]++
		}
	}
	return nil
}

// Close releases the reader.
func (r *RowReader) Close() error {
	r.err = fmt.Errorf("read %s: the row reader is closed", r.f.name)
	r.streams, r.vals, r.column = nil, nil, nil
	return nil
}
