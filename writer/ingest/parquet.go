package ingest

import (
	"context"
	"fmt"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

func decodeParquet(ctx context.Context, in *Input) (RowReader, error) {
	f, err := parquetfile.Open(in.R, in.Size, in.Name)
	if err != nil {
		return nil, binaryError(in, err)
	}
	b, err := newBinary(in, f.Schema())
	if err != nil {
		return nil, err
	}
	rows, err := f.Rows(ctx, in.Schema)
	if err != nil {
		return nil, binaryError(in, err)
	}
	b.read, b.close = rows.Read, rows.Close
	return b, nil
}

// binaryError makes damage in the dropped file a rejection; what the system did stays what it is.
func binaryError(in *Input, err error) error {
	if corrupt.Is(err) {
		return &RowError{Code: "format", Msg: fmt.Sprintf("%s can't be read: %v", in.Name, err)}
	}
	return err
}

// binaryReader checks rows that a typed format decoded under the table's schema, and fills in what directory names give.
type binaryReader struct {
	in      *Input
	build   *builder
	read    func(dst []record.Row) (int, error)
	close   func() error
	notNull []int // required flat columns that the file calls nullable
	fixed   []record.Value
	rows    int64 // before the last Read
	last    int64 // in the last Read
}

// newBinary checks the file's schema against the table's.
func newBinary(in *Input, file *schema.Schema) (*binaryReader, error) {
	t, err := newTable(in.Schema)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range file.Root().Fields {
		names = append(names, file.Root().Fields[i].Name)
	}
	if _, err := t.resolve(names, in); err != nil {
		return nil, inFile(err)
	}
	if _, err := schema.Project(in.Schema, file); err != nil && len(in.Fixed) == 0 {
		return nil, &RowError{Code: "type", Msg: err.Error()}
	}
	b := &binaryReader{in: in, build: newBuilder(t, in)}
	for i := range t.columns {
		c := &t.columns[i]
		if f, _ := file.Field(c.field.Name); f != nil && f.Type.Nullable && !c.field.Type.Nullable && c.parser != nil {
			b.notNull = append(b.notNull, i)
		}
	}
	if rerr := b.build.setFixed(in); rerr != nil {
		return nil, rerr
	}
	for name := range in.Fixed {
		ci := t.byName[name]
		if b.build.set[ci] {
			b.fixed = append(b.fixed, b.build.vals[ci])
		} else if !t.columns[ci].field.Type.Nullable {
			return nil, &RowError{Column: name, Code: "null", Msg: "null by its directory name, but the column does not take nulls"}
		}
	}
	return b, nil
}

func inFile(err error) error {
	if e, ok := err.(*RowError); ok {
		e.Line = 0
	}
	return err
}

// Read implements RowReader.
func (b *binaryReader) Read(dst []record.Row) (int, error) {
	b.rows += b.last
	n, err := b.read(dst)
	b.last = int64(n)
	for i, row := range dst[:n] {
		for _, v := range b.fixed {
			if !b.build.t.flat {
				return i, &RowError{Code: "type", Msg: "directory names can't add columns to binary files of a nested table"}
			}
			row[v.Column()] = v
		}
		for _, ci := range b.notNull {
			c := &b.build.t.columns[ci]
			if b.build.t.flat && row[c.leaf].DefinitionLevel() < c.maxDef {
				return i, &RowError{Line: b.rows + int64(i) + 1, Binary: true, Column: c.field.Name, Type: Describe(c.field.Type), Code: "null",
					Msg: "null, but the column does not take nulls"}
			}
		}
	}
	if err != nil && corrupt.Is(err) {
		err = &RowError{Line: b.rows + int64(n) + 1, Binary: true, Code: "format", Msg: fmt.Sprintf("%s can't be read further: %v", b.in.Name, err)}
	}
	return n, err
}

// Line implements RowReader.
func (b *binaryReader) Line(i int) int64 { return b.rows + int64(i) + 1 }

// Close implements RowReader.
func (b *binaryReader) Close() error { return b.close() }
