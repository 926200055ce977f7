package parquetfile

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

var seedFlag = flag.Uint64("seed", 1, "seed of the random tests")

// editRows is the naive model of Splice: rows one by one.
func editRows(rows []record.Row, replace map[int64]record.Row, drop map[int64]bool, leaf int, fill string) []record.Row {
	var out []record.Row
	for i, row := range rows {
		if drop[int64(i)] {
			continue
		}
		if r, ok := replace[int64(i)]; ok {
			row = r
		}
		if leaf >= 0 {
			row = row.Clone()
			for k, v := range row {
				if v.Column() == leaf {
					row[k] = record.String(fill).Level(0, 1, leaf)
				}
			}
		}
		out = append(out, row)
	}
	return out
}

// skewedRows makes rows in which columns repeat values for a while and then do not, so that dictionaries come and go.
func skewedRows(t testing.TB, r *rand.Rand, s *schema.Schema, n int, nullElems bool) []record.Row {
	rows := randomRows(t, r, s, min(n, 300), nullElems)
	for len(rows) < n {
		if len(rows)%1000 > 700 {
			rows = append(rows, randomRows(t, r, s, 1, nullElems)...)
			continue
		}
		rows = append(rows, rows[r.IntN(200)])
	}
	return rows
}

type spliceCase struct {
	schema   string
	rows     int
	src, dst WriteOptions
	edits    func(r *rand.Rand, n int64) (replace, drop []int64)
}

func clustered(r *rand.Rand, n int64) (replace, drop []int64) {
	at := r.Int64N(n)
	for i := at; i < min(n, at+20); i++ {
		replace = append(replace, i)
	}
	if at > 5 {
		drop = append(drop, at-3)
	}
	return
}

func spread(r *rand.Rand, n int64) (replace, drop []int64) {
	for i := range n {
		switch r.IntN(20) {
		case 0:
			replace = append(replace, i)
		case 1:
			drop = append(drop, i)
		}
	}
	return
}

func none(*rand.Rand, int64) (replace, drop []int64) { return nil, nil }

func everything(r *rand.Rand, n int64) (replace, drop []int64) {
	for i := range n {
		drop = append(drop, i)
	}
	return
}

func single(r *rand.Rand, n int64) (replace, drop []int64) { return []int64{r.Int64N(n)}, nil }

// TestSplice compares Splice with editing rows one by one, over shapes, codecs, page sizes and edits.
func TestSplice(t *testing.T) {
	small := WriteOptions{PageBytes: 2 << 10}
	groups := WriteOptions{PageBytes: 1 << 10, RowGroupBytes: 40 << 10}
	oldLists := WriteOptions{PageBytes: 2 << 10, OldListShape: true}
	kinds := map[string]func(*rand.Rand, int64) ([]int64, []int64){
		"none": none, "single": single, "clustered": clustered, "spread": spread, "everything": everything,
	}
	for _, c := range []struct {
		name     string
		src, dst WriteOptions
		schema   string
		rows     int
	}{
		{"flat", small, WriteOptions{}, flatSchema, 30000},
		{"flat other codec", WriteOptions{PageBytes: 2 << 10, Codec: "gzip"}, WriteOptions{Codec: "zstd"}, flatSchema, 30000},
		{"wide", small, small, wideSchema, 3000},
		{"wide groups", groups, groups, wideSchema, 5000},
		{"wide uncompressed", WriteOptions{Codec: "uncompressed", PageBytes: 1 << 10}, small, wideSchema, 1500},
		{"old lists to new", oldLists, small, wideSchema, 1500},
		{"new lists to old", WriteOptions{PageBytes: 2 << 10}, oldLists, wideSchema, 1500},
		{"old lists", oldLists, oldLists, wideSchema, 1500},
	} {
		for kind, edits := range kinds {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				testSplice(t, spliceCase{c.schema, c.rows, c.src, c.dst, edits})
			})
		}
	}
}

func testSplice(t *testing.T, c spliceCase) {
	r := rand.New(rand.NewPCG(*seedFlag, 7))
	s := mustSchema(t, c.schema)
	nullElems := !c.src.OldListShape && !c.dst.OldListShape
	rows := skewedRows(t, r, s, c.rows, nullElems)
	f := openBytes(t, writeRows(t, s, c.src, rows))

	var e Edit
	replace, drop := map[int64]record.Row{}, map[int64]bool{}
	rep, del := c.edits(r, int64(c.rows))
	for _, i := range del {
		drop[i] = true
		e.Drop(i)
	}
	for _, i := range rep {
		replace[i] = randomRows(t, r, s, 1, nullElems)[0]
		e.Replace(i, replace[i])
	}
	leaf := s.LeafOf("_hoodie_file_name")
	e.Fill(leaf, "new.parquet")
	want := editRows(rows, replace, drop, leaf, "new.parquet")
	before := randomRows(t, r, s, 3, nullElems)
	after := randomRows(t, r, s, 50, nullElems)

	for _, lead := range []bool{false, true} {
		model := append(append([]record.Row{}, want...), after...)
		b := spliceBytes(t, s, c.dst, func(w *Writer) {
			if lead {
				for _, row := range before {
					if err := w.WriteRow(row); err != nil {
						t.Fatal(err)
					}
				}
				model = append(append([]record.Row{}, before...), model...)
			}
			if err := w.Splice(context.Background(), f, &e); err != nil {
				t.Fatal(err)
			}
			for _, row := range after {
				if err := w.WriteRow(row); err != nil {
					t.Fatal(err)
				}
			}
			if w.Rows() != int64(len(model)) {
				t.Errorf("Rows = %d, want %d", w.Rows(), len(model))
			}
		})
		checkFile(t, b, s, model)
	}
}

func spliceBytes(t testing.TB, s *schema.Schema, o WriteOptions, fn func(w *Writer)) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, s, o)
	if err != nil {
		t.Fatal(err)
	}
	fn(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// checkFile reads a file back and compares rows, statistics and page indexes with the rows that it must hold.
func checkFile(t testing.TB, b []byte, s *schema.Schema, want []record.Row) {
	t.Helper()
	f := openBytes(t, b)
	if f.NumRows() != int64(len(want)) {
		t.Fatalf("NumRows = %d, want %d", f.NumRows(), len(want))
	}
	got, err := readRows(f, s)
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, got, want)
	checkBounds(t, f, want)
}

// checkBounds checks that chunk statistics and column indexes hold for the rows: bounds contain every value, null counts are exact.
func checkBounds(t testing.TB, f *File, rows []record.Row) {
	t.Helper()
	first := 0
	for g := range f.meta.groups {
		m := &f.meta.groups[g]
		part := rows[first : first+int(m.rows)]
		first += int(m.rows)
		for c := range m.columns {
			ch, n := &m.columns[c], f.tree.leaves[c]
			all := columnFacts(part, c, f.schema.Leaves()[c].MaxDef)
			o := f.boundsOrder(n)
			if ch.stats.nulls != all.nulls {
				t.Errorf("row group %d column %v: null count %d, want %d", g, ch.path, ch.stats.nulls, all.nulls)
			}
			b := chunkBounds(ch, n, o)
			if b.unknown || b.any != (len(all.vals) > 0) {
				t.Errorf("row group %d column %v: no bounds for %d values", g, ch.path, len(all.vals))
			}
			inBounds(t, fmt.Sprintf("row group %d column %v", g, ch.path), o, &b, all.vals)
			checkIndex(t, f, ch, n, part)
		}
	}
}

type facts struct {
	nulls int64
	vals  [][]byte
}

// columnFacts collects the plain values of a leaf.
func columnFacts(rows []record.Row, leaf, top int) facts {
	var x facts
	for _, row := range rows {
		for _, v := range row {
			if v.Column() != leaf {
				continue
			}
			if v.DefinitionLevel() < top {
				x.nulls++
				continue
			}
			x.vals = append(x.vals, v.Bytes())
		}
	}
	return x
}

func inBounds(t testing.TB, what string, o order, b *bounds, vals [][]byte) {
	t.Helper()
	for _, v := range vals {
		if o.compare(v, b.min) < 0 || o.compare(v, b.max) > 0 {
			t.Fatalf("%s: value %q is outside %q…%q", what, v, b.min, b.max)
		}
	}
}

func checkIndex(t testing.TB, f *File, ch *chunkMeta, n *node, rows []record.Row) {
	t.Helper()
	locs := f.offsetIndex(ch)
	x := f.columnIndex(ch)
	if locs == nil || x == nil || len(locs) != len(x.mins) {
		t.Fatalf("column %v: %d page locations, column index %v", ch.path, len(locs), x != nil)
	}
	for i, l := range locs {
		end := len(rows)
		if i+1 < len(locs) {
			end = int(locs[i+1].firstRow)
		}
		src := chunkSource{f: f}
		src.reset(l.offset, l.offset+int64(l.size))
		p, err := src.next()
		if err != nil || src.remaining() != 0 {
			t.Fatalf("column %v page %d: %v, %d bytes behind it", ch.path, i, err, src.remaining())
		}
		x1 := columnFacts(rows[l.firstRow:end], n.column, f.schema.Leaves()[n.column].MaxDef)
		if int64(p.header.values) != x1.nulls+int64(len(x1.vals)) || x.nulls[i] != x1.nulls || x.nullPages[i] != (len(x1.vals) == 0) {
			t.Fatalf("column %v page %d: %d values, %d nulls by the index, null page %v; want %d values, %d nulls", ch.path, i, p.header.values, x.nulls[i], x.nullPages[i], len(x1.vals), x1.nulls)
		}
		inBounds(t, fmt.Sprintf("column %v page %d", ch.path, i), f.boundsOrder(n), &bounds{min: x.mins[i], max: x.maxs[i]}, x1.vals)
	}
}

// TestSpliceCopiesPages sees that one replaced row leaves nearly all bytes of the file as they were.
func TestSpliceCopiesPages(t *testing.T) {
	s := mustSchema(t, flatSchema)
	rows := randomRows(t, rand.New(rand.NewPCG(5, 5)), s, 50000, true)
	src := writeRows(t, s, WriteOptions{PageBytes: 8 << 10, Codec: "gzip"}, rows)
	f := openBytes(t, src)
	var e Edit
	e.Replace(25000, rows[1])
	b := spliceBytes(t, s, WriteOptions{Codec: "snappy", PageBytes: 8 << 10}, func(w *Writer) {
		if err := w.Splice(context.Background(), f, &e); err != nil {
			t.Fatal(err)
		}
	})
	rows[25000] = rows[1]
	checkFile(t, b, s, rows)
	kept := 0
	for g := range f.meta.groups {
		for c := range f.meta.groups[g].columns {
			for _, l := range f.offsetIndex(&f.meta.groups[g].columns[c]) {
				if bytes.Contains(b, src[l.offset:l.offset+int64(l.size)]) {
					kept++
				} else {
					kept--
				}
			}
		}
	}
	if kept < 30 {
		t.Errorf("%d more pages kept than lost, want most", kept)
	}
}

// TestSpliceManyTimes edits a file a few rows at a time: the pages must not get ever smaller and more.
func TestSpliceManyTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(9, *seedFlag))
	s := mustSchema(t, flatSchema)
	rows := randomRows(t, r, s, 3000, true)
	b := writeRows(t, s, WriteOptions{}, rows)
	for range 60 {
		f := openBytes(t, b)
		var e Edit
		at := r.Int64N(int64(len(rows)))
		row := randomRows(t, r, s, 2, true)
		e.Replace(at, row[0])
		b = spliceBytes(t, s, WriteOptions{}, func(w *Writer) {
			if err := w.Splice(context.Background(), f, &e); err != nil {
				t.Fatal(err)
			}
			if err := w.WriteRow(row[1]); err != nil {
				t.Fatal(err)
			}
		})
		rows[at] = row[0]
		rows = append(rows, row[1])
	}
	checkFile(t, b, s, rows)
	f := openBytes(t, b)
	if n := f.NumRowGroups(); n != 1 {
		t.Errorf("%d row groups, want 1", n)
	}
	for c := range f.meta.groups[0].columns {
		if n := len(f.offsetIndex(&f.meta.groups[0].columns[c])); n > 4 {
			t.Errorf("column %d has %d pages for %d rows", c, n, len(rows))
		}
	}
}

// TestSpliceEvolves reads a source under a wider schema: added, promoted and reordered columns, at the top and below.
func TestSpliceEvolves(t *testing.T) {
	from := mustSchema(t, `{"type":"record","name":"r","fields":[
	 {"name":"a","type":"int"},{"name":"gone","type":"string"},
	 {"name":"s","type":["null",{"type":"record","name":"s","fields":[{"name":"x","type":["null","int"]},{"name":"l","type":{"type":"array","items":"int"}}]}]},
	 {"name":"ls","type":{"type":"array","items":{"type":"record","name":"e","fields":[{"name":"p","type":"float"}]}}}]}`)
	to := mustSchema(t, `{"type":"record","name":"r","fields":[
	 {"name":"added","type":["null","string"],"default":null},
	 {"name":"ls","type":{"type":"array","items":{"type":"record","name":"e","fields":[{"name":"q","type":["null","string"],"default":null},{"name":"p","type":"double"}]}}},
	 {"name":"a","type":["null","long"],"default":null},
	 {"name":"seven","type":"int","default":7},
	 {"name":"s","type":["null",{"type":"record","name":"s","fields":[{"name":"l","type":{"type":"array","items":["null","long"]}},{"name":"x","type":["null","string"]},{"name":"n","type":["null","int"],"default":null}]}]}]}`)
	r := rand.New(rand.NewPCG(*seedFlag, 11))
	rows := randomRows(t, r, from, 3000, true)
	f := openBytes(t, writeRows(t, from, WriteOptions{PageBytes: 1 << 10}, rows))
	want, err := readRows(f, to)
	if err != nil {
		t.Fatal(err)
	}
	as := record.NewAssembler(to)
	for i, row := range want[:50] {
		vals, err := as.Assemble(nil, row)
		if err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		if vals[0] != nil || vals[2] != int64(rows[i][0].Int32()) || vals[3] != int32(7) {
			t.Errorf("row %d = %v, want a null, %d and 7", i, vals, rows[i][0].Int32())
		}
	}
	var e Edit
	var model []record.Row
	for i, row := range want {
		switch i % 50 {
		case 3:
			e.Drop(int64(i))
			continue
		case 4:
			row = randomRows(t, r, to, 1, true)[0]
			e.Replace(int64(i), row)
		}
		model = append(model, row)
	}
	b := spliceBytes(t, to, WriteOptions{}, func(w *Writer) {
		if err := w.Splice(context.Background(), f, &e); err != nil {
			t.Fatal(err)
		}
	})
	checkFile(t, b, to, model)
}

func TestSpliceRefuses(t *testing.T) {
	s := mustSchema(t, flatSchema)
	rows := randomRows(t, rand.New(rand.NewPCG(1, 1)), s, 10, true)
	f := openBytes(t, writeRows(t, s, WriteOptions{}, rows))
	for _, c := range []struct {
		name, want string
		edit       func(e *Edit)
	}{
		{"position behind the end", "row 10", func(e *Edit) { e.Drop(10) }},
		{"negative position", "row -1", func(e *Edit) { e.Drop(-1) }},
		{"twice", "twice", func(e *Edit) { e.Drop(3); e.Replace(3, rows[0]) }},
		{"short row", "leaves", func(e *Edit) { e.Replace(1, rows[0][:4]) }},
		{"fill of a number", "single string", func(e *Edit) { e.Fill(s.LeafOf("ts"), "x") }},
		{"fill of no column", "column 99", func(e *Edit) { e.Fill(99, "x") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e Edit
			c.edit(&e)
			w, err := NewWriter(&bytes.Buffer{}, s, WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			err = w.Splice(context.Background(), f, &e)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("Splice = %v, want an error with %q", err, c.want)
			}
			if err := w.WriteRow(rows[0]); err != nil {
				t.Errorf("WriteRow after a refused edit = %v, want it to work", err)
			}
		})
	}
}
