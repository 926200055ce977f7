package merge

import (
	"context"
	"fmt"
	"io"

	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// Records yields the merged rows: the base file's in file order, then the inserts in order of arrival. Key is filled in; Op is OpUpsert always. Close it
// before the Slice.
func (s *Slice) Records(ctx context.Context) (record.Reader, error) {
	r := &sliceReader{s: s, edits: s.edits.iterate(), inserts: s.inserts.iterate()}
	if s.in.Base == nil {
		return r, nil
	}
	var err error
	r.base, err = s.in.Base.Rows(ctx, s.in.Schema)
	return r, err
}

// sliceReader streams base rows under the edits, then inserts. Memory is a batch of rows, whatever the slice.
type sliceReader struct {
	s              *Slice
	base           *parquetfile.RowReader // nil: no base rows, or no more
	batch          [256]record.Row
	have           []record.Row
	pos            int64
	edits, inserts *changeIterator
	rows           []record.Row // decoded, one buffer per record of a Read
	err            error
}

// Read implements record.Reader.
func (r *sliceReader) Read(ctx context.Context, dst []record.Record) (n int, err error) {
	if r.err != nil {
		return 0, r.err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	for n < len(dst) {
		if len(r.have) == 0 && r.base != nil && n > 0 {
			return n, nil // rows of the batch that dst refers to must not be overwritten
		}
		row, pos, err := r.next(n)
		if err != nil {
			r.err = err
			return n, err
		}
		dst[n] = record.Record{Row: row, Position: pos}
		if dst[n].Key, err = r.s.key.of(row); err != nil {
			r.err = err
			return n, err
		}
		n++
	}
	return n, nil
}

// next returns the next row, decoding into the i-th buffer.
func (r *sliceReader) next(i int) (record.Row, int64, error) {
	for r.base != nil {
		if len(r.have) == 0 {
			n, err := r.base.Read(r.batch[:])
			if r.have = r.batch[:n]; n == 0 {
				if err != io.EOF {
					return nil, 0, err
				}
				err = r.base.Close()
				if r.base = nil; err != nil {
					return nil, 0, err
				}
				break
			}
		}
		row, pos := r.have[0], r.pos
		r.have, r.pos = r.have[1:], pos+1
		c, ok := r.edits.peek()
		if !ok || c.at != pos {
			if r.edits.err != nil {
				return nil, 0, r.edits.err
			}
			return row, pos, nil
		}
		r.edits.next()
		if c.row == noRow {
			continue
		}
		row, err := r.decode(i, c.row)
		return row, pos, err
	}
	c, ok := r.inserts.next()
	if r.inserts.err != nil {
		return nil, 0, r.inserts.err
	}
	if !ok {
		return nil, 0, io.EOF
	}
	row, err := r.decode(i, c.row)
	return row, -1, err
}

func (r *sliceReader) decode(i int, at int64) (record.Row, error) {
	for len(r.rows) <= i {
		r.rows = append(r.rows, nil)
	}
	var err error
	r.rows[i], err = r.s.buf.store.Row(at, r.rows[i][:0])
	return r.rows[i], err
}

// Close implements record.Reader.
func (r *sliceReader) Close() error {
	if r.base == nil {
		return nil
	}
	err := r.base.Close()
	r.base = nil
	return err
}

// rowBytes is what an edited row weighs in memory, per leaf: a value, and some text.
const rowBytes = 48

// WriteTo writes the merged rows to w, whose schema must be the input's. Columns of the base file are spliced over where an edit does not touch them; a
// slice with more edits than the memory budget holds is written row by row. fileName, where not empty, becomes every row's _hoodie_file_name.
func (s *Slice) WriteTo(ctx context.Context, w *parquetfile.Writer, fileName string) error {
	name := -1
	if fileName != "" && s.in.Schema.HasMetaFields() {
		name = s.in.Schema.LeafOf(schema.FileNameField)
	}
	if s.in.Base == nil || s.edits.count*int64(len(s.in.Schema.Leaves()))*rowBytes > s.in.MemoryBudget/2 {
		return s.writeRows(ctx, w, name, fileName)
	}
	edit, err := s.Edit(name, fileName)
	if err != nil {
		return err
	}
	if err := w.Splice(ctx, s.in.Base, edit); err != nil {
		return err
	}
	return s.writeInserts(ctx, w, name, fileName)
}

// Edit returns the changes of the base rows as an edit of the base file; inserts are not part of it. Where leaf is not negative every row gets the value fill in it.
func (s *Slice) Edit(leaf int, fill string) (*parquetfile.Edit, error) {
	edit := &parquetfile.Edit{}
	it := s.edits.iterate()
	for c, ok := it.next(); ok; c, ok = it.next() {
		if c.row == noRow {
			edit.Drop(c.at)
			continue
		}
		row, err := s.buf.store.Row(c.row, make(record.Row, 0, len(s.in.Schema.Leaves())))
		if err != nil {
			return nil, err
		}
		edit.Replace(c.at, row)
	}
	if leaf >= 0 {
		edit.Fill(leaf, fill)
	}
	return edit, it.err
}

// writeRows writes everything row by row.
func (s *Slice) writeRows(ctx context.Context, w *parquetfile.Writer, leaf int, fill string) (err error) {
	rd, err := s.Records(ctx)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, rd.Close()) }()
	recs := make([]record.Record, 256)
	for {
		n, err := rd.Read(ctx, recs)
		for i := range recs[:n] {
			if err := writeRow(w, recs[i].Row, leaf, fill); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// writeInserts writes the rows that have no base row.
func (s *Slice) writeInserts(ctx context.Context, w *parquetfile.Writer, leaf int, fill string) error {
	it := s.inserts.iterate()
	var row record.Row
	for i := 0; ; i++ {
		c, ok := it.next()
		if !ok {
			return it.err
		}
		if i&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		if row, err = s.buf.store.Row(c.row, row[:0]); err != nil {
			return err
		}
		if err := writeRow(w, row, leaf, fill); err != nil {
			return err
		}
	}
}

// writeRow writes a row, with fill in its string column leaf where that is not negative.
func writeRow(w *parquetfile.Writer, row record.Row, leaf int, fill string) error {
	if leaf >= 0 {
		i := record.Find(row, leaf)
		if i < 0 {
			return fmt.Errorf("a merged row has no value for column %d", leaf)
		}
		row[i] = record.String(fill).Level(0, w.Schema().Leaves()[leaf].MaxDef, leaf)
	}
	return w.WriteRow(row)
}
