package integration

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/hudifs/hudifs/integration/lab"
)

// arrowFile reads a Parquet file with Apache Arrow's reader, which shares no code with this project's, as canonical lines.
func arrowFile(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	pf, err := file.NewParquetReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer pf.Close()
	fr, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	table, err := fr.ReadTable(context.Background())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer table.Release()
	rows := make([]lab.Struct, table.NumRows())
	for i := range rows {
		rows[i] = lab.Struct{}
	}
	for c := range int(table.NumCols()) {
		col, at := table.Column(c), 0
		for _, chunk := range col.Data().Chunks() {
			for i := range chunk.Len() {
				v, err := arrowValue(chunk, i)
				if err != nil {
					return nil, fmt.Errorf("%s: column %s: %w", path, col.Name(), err)
				}
				rows[at][col.Name()] = v
				at++
			}
		}
	}
	return lab.Lines(rows), nil
}

// arrowValue makes one value of an Arrow array one that lab spells.
func arrowValue(a arrow.Array, i int) (any, error) {
	if a.IsNull(i) {
		return nil, nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i), nil
	case *array.Int8:
		return a.Value(i), nil
	case *array.Int16:
		return a.Value(i), nil
	case *array.Int32:
		return a.Value(i), nil
	case *array.Int64:
		return a.Value(i), nil
	case *array.Float32:
		return a.Value(i), nil
	case *array.Float64:
		return a.Value(i), nil
	case *array.String:
		return a.Value(i), nil
	case *array.Binary:
		return a.Value(i), nil
	case *array.FixedSizeBinary:
		return a.Value(i), nil
	case *array.Date32:
		return lab.Date(a.Value(i)), nil
	case *array.Decimal128:
		return lab.Decimal{Unscaled: a.Value(i).BigInt(), Scale: int(a.DataType().(*arrow.Decimal128Type).Scale)}, nil
	case *array.Timestamp:
		at := a.Value(i).ToTime(a.DataType().(*arrow.TimestampType).Unit)
		return lab.Timestamp(at.UnixMicro()), nil
	case *array.Struct, *array.List, *array.Map:
		return arrowNested(a, i)
	}
	return nil, fmt.Errorf("no canonical value for %s", a.DataType())
}

func arrowNested(a arrow.Array, i int) (any, error) {
	switch a := a.(type) {
	case *array.Struct:
		out := lab.Struct{}
		for f := range a.NumField() {
			v, err := arrowValue(a.Field(f), i)
			if err != nil {
				return nil, err
			}
			out[a.DataType().(*arrow.StructType).Field(f).Name] = v
		}
		return out, nil
	case *array.Map: // before List: a map is a list of entries as well
		from, to := a.ValueOffsets(i)
		out := lab.Map{}
		for j := from; j < to; j++ {
			k, err := arrowValue(a.Keys(), int(j))
			if err != nil {
				return nil, err
			}
			v, err := arrowValue(a.Items(), int(j))
			if err != nil {
				return nil, err
			}
			out = append(out, lab.MapEntry{Key: k, Value: v})
		}
		return out, nil
	case *array.List:
		from, to := a.ValueOffsets(i)
		out := []any{}
		for j := from; j < to; j++ {
			v, err := arrowValue(a.ListValues(), int(j))
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	}
	return nil, fmt.Errorf("no canonical value for %s", a.DataType())
}

// arrowSnapshot reads all rows below a directory of a mount.
func arrowSnapshot(t testing.TB, dir string) []string {
	t.Helper()
	out := []string{}
	for _, f := range walk(t, dir, ".parquet") {
		lines, err := arrowFile(f)
		if err != nil {
			t.Error(err)
		}
		out = append(out, lines...)
	}
	return out
}
