package parquetfile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// wideSchema has every shape that a table can have.
const wideSchema = `{"type":"record","name":"t_record","namespace":"hoodie.t","fields":[
 {"name":"_hoodie_file_name","type":["null","string"],"default":null},
 {"name":"id","type":"string"},
 {"name":"b","type":["null","boolean"],"default":null},
 {"name":"i","type":"int"},
 {"name":"l","type":["null","long"],"default":null},
 {"name":"f","type":["null","float"],"default":null},
 {"name":"d","type":"double"},
 {"name":"raw","type":["null","bytes"],"default":null},
 {"name":"city","type":["null","string"],"default":null},
 {"name":"day","type":["null",{"type":"int","logicalType":"date"}],"default":null},
 {"name":"ts","type":["null",{"type":"long","logicalType":"timestamp-micros"}],"default":null},
 {"name":"lts","type":["null",{"type":"long","logicalType":"local-timestamp-millis"}],"default":null},
 {"name":"dec","type":["null",{"type":"fixed","name":"fixed","namespace":"hoodie.t.t_record.dec","size":7,"logicalType":"decimal","precision":15,"scale":3}],"default":null},
 {"name":"decb","type":["null",{"type":"bytes","logicalType":"decimal","precision":30,"scale":2}],"default":null},
 {"name":"kind","type":["null",{"type":"enum","name":"kind","namespace":"hoodie.t","symbols":["A","B","C"]}],"default":null},
 {"name":"fx","type":{"type":"fixed","name":"fx","namespace":"hoodie.t","size":3}},
 {"name":"tags","type":["null",{"type":"array","items":["null","string"]}],"default":null},
 {"name":"nums","type":{"type":"array","items":"long"}},
 {"name":"attrs","type":["null",{"type":"map","values":["null","double"]}],"default":null},
 {"name":"addr","type":["null",{"type":"record","name":"addr","namespace":"hoodie.t","fields":[
   {"name":"street","type":["null","string"],"default":null},{"name":"no","type":"int"}]}],"default":null},
 {"name":"pts","type":["null",{"type":"array","items":["null",{"type":"record","name":"pts","namespace":"hoodie.t","fields":[
   {"name":"x","type":["null","double"],"default":null},
   {"name":"ys","type":["null",{"type":"array","items":["null","int"]}],"default":null}]}]}],"default":null},
 {"name":"grid","type":["null",{"type":"array","items":{"type":"array","items":"int"}}],"default":null}
]}`

// flatSchema is a table of the usual kind.
const flatSchema = `{"type":"record","name":"trips_record","namespace":"hoodie.trips","fields":[
 {"name":"_hoodie_commit_time","type":["null","string"],"default":null},
 {"name":"_hoodie_commit_seqno","type":["null","string"],"default":null},
 {"name":"_hoodie_record_key","type":["null","string"],"default":null},
 {"name":"_hoodie_partition_path","type":["null","string"],"default":null},
 {"name":"_hoodie_file_name","type":["null","string"],"default":null},
 {"name":"id","type":["null","string"],"default":null},
 {"name":"ts","type":["null","long"],"default":null},
 {"name":"city","type":["null","string"],"default":null},
 {"name":"rider","type":["null","string"],"default":null},
 {"name":"lat","type":["null","double"],"default":null},
 {"name":"seats","type":["null","int"],"default":null},
 {"name":"note","type":["null","string"],"default":null}
]}`

func mustSchema(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// randomValue makes a Go value of a type. nullElems false: no nulls inside lists.
func randomValue(r *rand.Rand, ty *schema.Type, inList, nullElems bool) any {
	if ty.Nullable && r.IntN(5) == 0 && (nullElems || !inList) {
		return nil
	}
	switch ty.Kind {
	case schema.Boolean:
		return r.IntN(2) == 0
	case schema.Int:
		return int32(r.IntN(2000) - 1000)
	case schema.Long:
		if r.IntN(2) == 0 {
			return int64(r.IntN(5))
		}
		return r.Int64() - 1<<62
	case schema.Float:
		return float32(r.IntN(100)) / 8
	case schema.Double:
		return float64(r.IntN(100000)) / 16
	case schema.String:
		switch r.IntN(4) {
		case 0:
			return ""
		case 1:
			return strings.Repeat("é", r.IntN(80))
		}
		return fmt.Sprintf("v%d", r.IntN(50))
	case schema.Bytes, schema.Fixed:
		if ty.Logical == schema.Decimal {
			return record.NewDecimal(r.Int64N(1_000_000_000)-500_000_000, ty.Scale)
		}
		n := r.IntN(20)
		if ty.Kind == schema.Fixed {
			n = ty.Size
		}
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.IntN(3))
		}
		return b
	case schema.Enum:
		return ty.Symbols[r.IntN(len(ty.Symbols))]
	case schema.Record:
		out := make([]any, len(ty.Fields))
		for i := range out {
			out[i] = randomValue(r, ty.Fields[i].Type, false, nullElems)
		}
		return out
	case schema.Array:
		out := make([]any, r.IntN(4))
		for i := range out {
			out[i] = randomValue(r, ty.Elem, true, nullElems)
		}
		return out
	case schema.Map:
		out := make([]record.MapEntry, r.IntN(3))
		for i := range out {
			out[i] = record.MapEntry{Key: fmt.Sprintf("k%d", i), Value: randomValue(r, ty.Elem, false, nullElems)}
		}
		return out
	}
	panic("no value for " + ty.Kind.String())
}

func randomRow(r *rand.Rand, s *schema.Schema, nullElems bool) []any {
	fields := s.Root().Fields
	row := make([]any, len(fields))
	for i := range fields {
		row[i] = randomValue(r, fields[i].Type, false, nullElems)
	}
	return row
}

// shred turns Go values into a row of its own memory.
func shred(t testing.TB, sh *record.Shredder, fields []any) record.Row {
	t.Helper()
	row, err := sh.Shred(nil, fields)
	if err != nil {
		t.Fatal(err)
	}
	return row.Clone()
}

// writeRows makes a file.
func writeRows(t testing.TB, s *schema.Schema, o WriteOptions, rows []record.Row) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, s, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if err := w.WriteRow(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func openBytes(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := Open(bytes.NewReader(b), int64(len(b)), "test.parquet")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// readRows reads all rows as clones.
func readRows(f *File, to *schema.Schema) ([]record.Row, error) {
	r, err := f.Rows(context.Background(), to)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []record.Row
	dst := make([]record.Row, 100)
	for {
		n, err := r.Read(dst)
		for _, row := range dst[:n] {
			out = append(out, row.Clone())
		}
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// sameRows compares rows by levels and values.
func sameRows(t testing.TB, got, want []record.Row) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d rows, want %d", len(got), len(want))
	}
	for i := range want {
		if d := rowDiff(got[i], want[i]); d != "" {
			t.Fatalf("row %d: %s\n got %+v\nwant %+v", i, d, got[i], want[i])
		}
	}
}

func rowDiff(got, want record.Row) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d values, want %d", len(got), len(want))
	}
	for k := range want {
		g, w := got[k], want[k]
		if g.Column() != w.Column() || g.DefinitionLevel() != w.DefinitionLevel() || g.RepetitionLevel() != w.RepetitionLevel() {
			return fmt.Sprintf("value %d is at column %d rep %d def %d, want %d %d %d", k, g.Column(), g.RepetitionLevel(), g.DefinitionLevel(), w.Column(), w.RepetitionLevel(), w.DefinitionLevel())
		}
		if g.Kind() != w.Kind() || g.String() != w.String() {
			return fmt.Sprintf("value %d is %v %q, want %v %q", k, g.Kind(), g, w.Kind(), w)
		}
	}
	return ""
}

// randomRows makes n rows.
func randomRows(t testing.TB, r *rand.Rand, s *schema.Schema, n int, nullElems bool) []record.Row {
	t.Helper()
	sh := record.NewShredder(s)
	rows := make([]record.Row, n)
	for i := range rows {
		rows[i] = shred(t, sh, randomRow(r, s, nullElems))
	}
	return rows
}

var _ = reflect.DeepEqual
