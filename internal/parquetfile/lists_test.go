package parquetfile

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// annotated is a group that says it is a list, whatever it holds.
type annotated struct{ parquet.Node }

func (annotated) Type() parquet.Type { return parquet.List(parquet.Leaf(parquet.Int32Type)).Type() }

func oldList(name string, repeated parquet.Node) parquet.Node {
	return parquet.Optional(annotated{parquet.Group{name: repeated}})
}

// TestOldListShapes reads lists as the writers before the standard made them (known fault P8), and rewrites them.
func TestOldListShapes(t *testing.T) {
	i32 := parquet.Leaf(parquet.Int32Type)
	v := func(x int32, rep, def int) parquet.Value { return parquet.Int32Value(x).Level(rep, def, 0) }
	null := func(rep, def int) parquet.Value { return parquet.NullValue().Level(rep, def, 0) }
	for _, c := range []struct {
		name string
		node parquet.Node
		rows []parquet.Row
		want []any
	}{
		{"two levels", oldList("array", parquet.Repeated(i32)),
			[]parquet.Row{{v(1, 0, 2), v(2, 1, 2)}, {null(0, 1)}, {null(0, 0)}}, []any{[]any{int32(1), int32(2)}, []any{}, nil}},
		{"two levels of any name", oldList("element", parquet.Repeated(i32)), []parquet.Row{{v(1, 0, 2)}}, []any{[]any{int32(1)}}},
		{"hive bag", oldList("bag", parquet.Repeated(parquet.Group{"array_element": parquet.Optional(i32)})),
			[]parquet.Row{{v(1, 0, 3), null(1, 2)}, {null(0, 1)}}, []any{[]any{int32(1), nil}, []any{}}},
		{"standard", oldList("list", parquet.Repeated(parquet.Group{"element": parquet.Optional(i32)})),
			[]parquet.Row{{v(1, 0, 3), null(1, 2)}}, []any{[]any{int32(1), nil}}},
		{"array of a struct of one field", oldList("array", parquet.Repeated(parquet.Group{"x": i32})),
			[]parquet.Row{{v(1, 0, 2), v(2, 1, 2)}}, []any{[]any{[]any{int32(1)}, []any{int32(2)}}}},
		{"tuple", oldList("f_tuple", parquet.Repeated(parquet.Group{"x": i32})), []parquet.Row{{v(1, 0, 2)}}, []any{[]any{[]any{int32(1)}}}},
		{"struct of two fields", oldList("list", parquet.Repeated(parquet.Group{"x": i32, "y": parquet.String()})),
			[]parquet.Row{{v(1, 0, 2), parquet.ValueOf("a").Level(0, 2, 1)}}, []any{[]any{[]any{int32(1), "a"}}}},
		{"repeated without a list", parquet.Repeated(i32),
			[]parquet.Row{{v(1, 0, 1), v(2, 1, 1)}, {null(0, 0)}}, []any{[]any{int32(1), int32(2)}, []any{}}},
		{"list of lists", oldList("array", parquet.Repeated(annotated{parquet.Group{"array": parquet.Repeated(i32)}})),
			[]parquet.Row{{v(1, 0, 3), v(2, 2, 3), null(1, 2)}}, []any{[]any{[]any{int32(1), int32(2)}, []any{}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var buf bytes.Buffer
			w := parquet.NewWriter(&buf, parquet.NewSchema("spark_schema", parquet.Group{"f": c.node}), parquet.DataPageVersion(1))
			if _, err := w.WriteRows(c.rows); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			f := openBytes(t, buf.Bytes())
			rows := goRows(t, f)
			for i := range c.want {
				if !reflect.DeepEqual(rows[i][0], c.want[i]) {
					t.Errorf("row %d = %#v, want %#v (schema %s)", i, rows[i][0], c.want[i], f.Schema())
				}
			}
			out := spliceBytes(t, f.Schema(), WriteOptions{}, func(w *Writer) {
				if err := w.Splice(t.Context(), f, nil); err != nil {
					t.Fatal(err)
				}
			})
			if got := goRows(t, openBytes(t, out)); !reflect.DeepEqual(got, rows) {
				t.Errorf("rewritten rows = %v, want %v", got, rows)
			}
		})
	}
}
