package writer_test

import (
	"archive/zip"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/rowtext"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer"
	"github.com/hudifs/hudifs/writer/ingest"
)

const allTypes = `{"type":"record","name":"r","fields":[{"name":"id","type":"string"},{"name":"ts","type":"long"},
 {"name":"b","type":["null","boolean"],"default":null},{"name":"i","type":["null","int"],"default":null},{"name":"f","type":["null","float"],"default":null},
 {"name":"d","type":["null","double"],"default":null},{"name":"y","type":["null","bytes"],"default":null},
 {"name":"day","type":["null",{"type":"int","logicalType":"date"}],"default":null},{"name":"us","type":["null",{"type":"long","logicalType":"timestamp-micros"}],"default":null},
 {"name":"dec","type":["null",{"type":"fixed","name":"dx","size":5,"logicalType":"decimal","precision":10,"scale":2}],"default":null},
 {"name":"tags","type":["null",{"type":"array","items":["null","string"]}],"default":null},
 {"name":"m","type":["null",{"type":"map","values":["null","long"]}],"default":null},
 {"name":"s","type":["null",{"type":"record","name":"sx","fields":[{"name":"a","type":["null","int"],"default":null},{"name":"l","type":["null",{"type":"array","items":{"type":"record","name":"e","fields":[{"name":"z","type":["null","string"],"default":null}]}}],"default":null}]}],"default":null}]}`

// jsonRows are the rows of a table of any schema, as sorted JSON without meta columns.
func (tb *table) jsonRows() []string {
	tb.t.Helper()
	out := []string{}
	tb.each(func(p *rowtext.Printer, r record.Row) {
		line, err := p.AppendJSON(nil, r)
		if err != nil {
			tb.t.Fatal(err)
		}
		text := string(line)
		if i := strings.Index(text, `"id":`); i > 0 {
			text = "{" + text[i:]
		}
		out = append(out, strings.TrimSpace(text))
	})
	slices.Sort(out)
	return out
}

// drop commits JSON lines.
func (tb *table) drop(op action.WriteOperation, lines ...string) {
	tb.t.Helper()
	ctx := tb.t.Context()
	b, err := tb.w.NewBatch(ctx, op)
	if err != nil {
		tb.t.Fatal(err)
	}
	defer b.Close()
	text := strings.Join(lines, "\n") + "\n"
	rows, err := ingest.Decode(ctx, ingest.Input{Name: "x.jsonl", R: strings.NewReader(text), Size: int64(len(text)), Schema: b.Schema(), Options: ingest.DecodeOptions{FillMissing: true}})
	if err != nil {
		tb.t.Fatal(err)
	}
	defer rows.Close()
	if _, err := b.Add(ctx, rows); err != nil {
		tb.t.Fatal(err)
	}
	if _, err := b.Commit(ctx, writer.CommitOptions{}); err != nil {
		tb.t.Fatal(err)
	}
}

// Every type, nested and null, comes back as it went in: from base files, from Avro and Parquet logs, after merges and compactions.
func TestAllTypes(t *testing.T) {
	row := func(id, ts, rest string) string { return `{"id":"` + id + `","ts":` + ts + rest + `}` }
	const full = `,"b":true,"i":-7,"f":0.1,"d":-2.5e-7,"y":"AAH/","day":"1969-12-31","us":"2024-01-02T03:04:05.6Z","dec":"-12345678.90","tags":["a",null,""],"m":{"k":1,"n":null},"s":{"a":3,"l":[{"z":"é"},{"z":null}]}`
	const empty = `,"tags":[],"m":{},"s":{"a":null,"l":[]}`
	const other = `,"b":false,"i":2147483647,"f":1e10,"d":0,"y":"","day":"9999-12-31","us":"1969-12-31T23:59:59.999999Z","dec":"0.01","tags":[null],"m":{"😀":-9223372036854775808},"s":{"a":null,"l":null}`
	s, err := schema.Parse(allTypes)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range crashTables() {
		for _, parquet := range []bool{false, true} {
			if parquet && o.Type == tableconfig.CopyOnWrite {
				continue
			}
			logs := " avro"
			if parquet {
				logs = " parquet"
			}
			t.Run(name+logs, func(t *testing.T) {
				st := storagetest.NewMem()
				o.Name, o.RecordKeys = "t", []string{"id"}
				if _, err := writer.CreateTable(t.Context(), st, s, o); err != nil {
					t.Fatal(err)
				}
				tb := open(t, st, writer.Options{ParquetLogs: parquet})
				tb.drop(action.OpUpsert, row("1", "1", full), row("2", "1", empty), row("3", "1", other), row("4", "1", ""))
				first := tb.jsonRows()
				if len(first) != 4 || !strings.Contains(first[0], `"tags":["a",null,""]`) || !strings.Contains(first[0], `-12345678.90`) || !strings.Contains(first[1], `"tags":[]`) || !strings.Contains(first[3], `"tags":null`) {
					t.Fatalf("rows:\n%s", strings.Join(first, "\n"))
				}
				// The values wander one row on.
				tb.drop(action.OpUpsert, row("2", "2", full), row("3", "2", empty), row("4", "2", other), row("1", "2", ""))
				want := []string{}
				for i, id := range []string{"2", "3", "4", "1"} {
					old := string(rune('1' + i))
					want = append(want, strings.Replace(first[i], `"id":"`+old+`","ts":1`, `"id":"`+id+`","ts":2`, 1))
				}
				slices.Sort(want)
				for _, step := range []func(){func() {}, tb.compact, func() { tb.drop(action.OpUpsert, row("9", "1", full)); tb.drop(action.OpDelete, row("9", "1", "")) }, tb.compact} {
					step()
					if got := tb.jsonRows(); !slices.Equal(got, want) {
						t.Fatalf("rows:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
				}
			})
		}
	}
}

func TestCreateTableRefuses(t *testing.T) {
	s, err := schema.Parse(rowSchema)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o    tableconfig.Options
		want string
	}{
		"no name":            {tableconfig.Options{RecordKeys: []string{"id"}}, "name"},
		"no key":             {tableconfig.Options{Name: "t"}, "record key"},
		"unknown key":        {tableconfig.Options{Name: "t", RecordKeys: []string{"id", "nope"}}, `"nope"`},
		"unknown partition":  {tableconfig.Options{Name: "t", RecordKeys: []string{"id"}, PartitionFields: []tableconfig.PartitionField{{Name: "nope"}}}, `"nope"`},
		"unknown ordering":   {tableconfig.Options{Name: "t", RecordKeys: []string{"id"}, OrderingFields: []string{"nope"}}, `"nope"`},
		"unknown version":    {tableconfig.Options{Name: "t", RecordKeys: []string{"id"}, Version: 7}, "7"},
		"two orderings in 6": {tableconfig.Options{Name: "t", RecordKeys: []string{"id"}, Version: 6, OrderingFields: []string{"ts", "v"}}, "ordering"},
		"unknown type":       {tableconfig.Options{Name: "t", RecordKeys: []string{"id"}, Type: "SIDEWAYS"}, "SIDEWAYS"},
		"unknown key gen":    {tableconfig.Options{Name: "t", RecordKeys: []string{"id"}, KeyGen: "GUESS"}, "GUESS"},
		"simple, two keys":   {tableconfig.Options{Name: "t", RecordKeys: []string{"id", "v"}, KeyGen: "SIMPLE"}, ""},
	} {
		st := storagetest.NewMem()
		if _, err := writer.CreateTable(t.Context(), st, s, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
		if got := st.Paths(); len(got) > 0 {
			t.Errorf("%s: made %q, want nothing", name, got)
		}
	}
	st := newTable(t, tableconfig.Options{})
	before, err := st.ReadAll(t.Context(), tableconfig.Path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.CreateTable(t.Context(), st, s, tableconfig.Options{Name: "u", RecordKeys: []string{"id"}}); !errors.Is(err, tableconfig.ErrTableExists) {
		t.Errorf("a second table in one place: %v, want ErrTableExists", err)
	}
	if after, err := st.ReadAll(t.Context(), tableconfig.Path); err != nil || string(after) != string(before) {
		t.Errorf("the first table's properties changed (%v)", err)
	}
}

// golden opens a copy of a table that Spark wrote.
func golden(t *testing.T, name string) *table {
	t.Helper()
	z, err := zip.OpenReader(filepath.Join("..", "integration", "testdata", "golden", name+".zip"))
	if err != nil {
		t.Skipf("no golden table: %v", err)
	}
	defer z.Close()
	st := storagetest.NewMem()
	for _, f := range z.File {
		p, ok := strings.CutPrefix(f.Name, "table/")
		if !ok || p == "" || strings.HasSuffix(p, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err == nil {
			_, err = st.Put(t.Context(), p, body, storage.PutReplace)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return open(t, st, writer.Options{})
}

// A group with rows in logs alone hides its keys from the index: writing to its partition is refused, and changes nothing.
func TestLogOnlyGroupsAreRefused(t *testing.T) {
	for _, name := range []string{"mor_v6_handmade_log_only", "mor_v9_handmade_log_only"} {
		t.Run(name, func(t *testing.T) {
			tb := golden(t, name)
			rows := tb.jsonRows()
			if len(rows) == 0 {
				t.Fatal("no rows")
			}
			b, err := tb.w.NewBatch(t.Context(), action.OpUpsert)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			var all []record.Row
			tb.each(func(_ *rowtext.Printer, r record.Row) {
				c := slices.Clone(r)
				for i := range c {
					c[i] = r[i].Clone()
				}
				all = append(all, c)
			})
			if _, err := b.Add(t.Context(), &given{all}); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Commit(t.Context(), writer.CommitOptions{}); !errors.Is(err, writer.ErrNotWritable) {
				t.Errorf("Commit = %v, want ErrNotWritable", err)
			}
			if got := tb.jsonRows(); !slices.Equal(got, rows) || tb.tab.Timeline().Pending().Len() > 0 {
				t.Errorf("%d rows, pending %v, want %d and nothing", len(got), tb.tab.Timeline().Pending().All(), len(rows))
			}
		})
	}
}

// given yields rows as they are.
type given struct{ rows []record.Row }

func (g *given) Line(i int) int64 { return int64(i) }

func (g *given) Read(dst []record.Row) (int, error) {
	n := copy(dst, g.rows)
	if g.rows = g.rows[n:]; len(g.rows) == 0 {
		return n, io.EOF
	}
	return n, nil
}
