package ingest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/rowtext"
	"github.com/hudifs/hudifs/internal/schema"
)

const tripSchema = `{"type":"record","name":"trips_record","namespace":"hoodie.trips","fields":[
 {"name":"id","type":"string"},
 {"name":"n","type":["null","int"],"default":null},
 {"name":"ts","type":["null","long"],"default":null},
 {"name":"fare","type":["null","double"],"default":null},
 {"name":"ok","type":["null","boolean"],"default":null},
 {"name":"d","type":["null",{"type":"int","logicalType":"date"}],"default":null},
 {"name":"at","type":["null",{"type":"long","logicalType":"timestamp-micros"}],"default":null},
 {"name":"price","type":["null",{"type":"fixed","name":"price_fixed","size":5,"logicalType":"decimal","precision":10,"scale":2}],"default":null},
 {"name":"note","type":["null","string"],"default":null}]}`

func parseSchema(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// decodeAll decodes a drop and returns its rows as JSON lines.
func decodeAll(t testing.TB, in Input) ([]string, error) {
	t.Helper()
	rows, err := Decode(t.Context(), in)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	p, err := rowtext.New(in.Schema)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	buf := make([]record.Row, 7)
	for {
		n, err := rows.Read(buf)
		for _, r := range buf[:n] {
			line, perr := p.AppendJSON(nil, r)
			if perr != nil {
				t.Fatal(perr)
			}
			out = append(out, strings.TrimSpace(string(line)))
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
}

func input(t testing.TB, name, text string) Input {
	return Input{Name: name, R: strings.NewReader(text), Size: int64(len(text)), Schema: parseSchema(t, tripSchema)}
}

const header = "id,n,ts,fare,ok,d,at,price,note\n"

func TestCSV(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"plain", "a,1,2,3.5,true,2026-11-29,2026-11-29T10:00:00Z,12.5,x\n",
			`{"id":"a","n":1,"ts":2,"fare":3.5,"ok":true,"d":"2026-11-29","at":"2026-11-29T10:00:00.000000Z","price":"12.50","note":"x"}`},
		{"nulls and empty strings", "a,,,,,,,,\nb,,,,,,,,\"\"\n", `{"id":"a"|note=null` + "\n" + `{"id":"b"|note=""`},
		{"quotes", "\"a\"\"b\",1,2,3,true,,,,\"line one\nline two, with a comma\"\r\n", `{"id":"a\"b"|note="line one\nline two, with a comma"`},
		{"no line end", "a,1,2,3,false,,,,z", `{"id":"a"|note="z"`},
		{"big integers", "a,2147483647,9223372036854775807,0,1,,,,", `"n":2147483647,"ts":9223372036854775807`},
		{"whole numbers with exponent", "a,1e2,100.0,0,0,,,,", `"n":100,"ts":100`},
		{"before 1970", "a,,,,,1907-02-03,1960-01-01T00:00:00.000001Z,-99999999.99,", `"d":"1907-02-03","at":"1960-01-01T00:00:00.000001Z","price":"-99999999.99"`},
		{"quoted numbers", `"a","1","2","","","","","",""`, `{"id":"a"|note=""`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := decodeAll(t, input(t, "x.csv", header+c.text))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range strings.Split(c.want, "\n") {
				if c.name == "quotes" {
					want = c.want
				}
				id, note, cut := strings.Cut(want, "|note=")
				if !strings.Contains(got[i], id) || cut && !strings.Contains(got[i], `"note":`+strings.ReplaceAll(note, "\n", `\n`)) {
					t.Errorf("row %d = %s, want %s", i, got[i], want)
				}
				if c.name == "quotes" {
					break
				}
			}
		})
	}
}

func TestCSVRefuses(t *testing.T) {
	cases := []struct {
		name, text string
		line       int64
		column     string
		code       string
	}{
		{"empty file", "", 1, "", "header"},
		{"unknown column", "id,n,ts,fare,ok,d,at,price,notes\n", 1, "notes", "header"},
		{"wrong case", "ID,n,ts,fare,ok,d,at,price,note\n", 1, "ID", "header"},
		{"column twice", "id,id,n,ts,fare,ok,d,at,price,note\n", 1, "id", "header"},
		{"missing key", "n,ts,fare,ok,d,at,price,note\n", 1, "id", "header"},
		{"missing nullable column", "id,n\na,1\n", 1, "at", "header"},
		{"too few fields", header + "a,1,2,3,true,,,,\nb,1\n", 3, "", "syntax"},
		{"too many fields", header + "a,1,2,3,true,,,,,\n", 2, "", "syntax"},
		{"bad int", header + "a,1,2,3,true,,,,\nb,x,2,3,true,,,,\n", 3, "n", "type"},
		{"int out of range", header + "a,2147483648,,,,,,,\n", 2, "n", "type"},
		{"long out of range", header + "a,,9223372036854775808,,,,,,\n", 2, "ts", "type"},
		{"fraction", header + "a,1.5,,,,,,,\n", 2, "n", "type"},
		{"huge exponent", header + "a,1e999999999,,,,,,,\n", 2, "n", "type"},
		{"bad boolean", header + "a,,,,perhaps,,,,\n", 2, "ok", "type"},
		{"bad date", header + "a,,,,,2026-02-30,,,\n", 2, "d", "type"},
		{"finer than micros", header + "a,,,,,,2026-01-01T00:00:00.0000001Z,,\n", 2, "at", "type"},
		{"decimal digits", header + "a,,,,,,,1.234,\n", 2, "price", "type"},
		{"decimal too large", header + "a,,,,,,,100000000.00,\n", 2, "price", "type"},
		{"null key", header + ",1,,,,,,,\n", 2, "id", "null"},
		{"not UTF-8", header + "a,,,,,,,,\xff\n", 2, "note", "encoding"},
		{"UTF-16", "\xff\xfei\x00d\x00", 1, "", "encoding"},
		{"quote inside", header + "a,,,,,,,,5\" pipe\n", 2, "", "syntax"},
		{"text after quote", header + "a,,,,,,,,\"x\"y\n", 2, "", "syntax"},
		{"open quote", header + "a,,,,,,,,\"x\n", 2, "", "syntax"},
		{"after a quoted newline", header + "a,,,,,,,,\"x\ny\"\nb,no,,,,,,,\n", 4, "n", "type"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := decodeAll(t, input(t, "x.csv", c.text))
			var re *RowError
			if !errors.As(err, &re) || !errors.Is(err, ErrRejected) {
				t.Fatalf("error = %v, want a RowError", err)
			}
			if re.Line != c.line || re.Column != c.column || re.Code != c.code {
				t.Errorf("%v: line %d, column %q, code %q; want %d, %q, %q", err, re.Line, re.Column, re.Code, c.line, c.column, c.code)
			}
		})
	}
}

// A quoted line end at every offset around the scanner's buffer must not split the row.
func TestCSVAtBufferEdges(t *testing.T) {
	edge := 256 << 10
	for _, off := range []int{edge - 3, edge - 2, edge - 1, edge, edge + 1} {
		pad := off - len(header) - len("a,,,,,,,,\n") - len("b,,,,,,,,\"")
		text := header + "a,,,,,,,," + strings.Repeat("p", pad) + "\nb,,,,,,,,\"x\ny\"\"z\"\r\nc,,,,,,,,\n"
		got, err := decodeAll(t, input(t, "x.csv", text))
		if err != nil || len(got) != 3 || !strings.Contains(got[1], `"x\ny\"z"`) {
			t.Fatalf("offset %d: %d rows, %v; row 1: %.120s", off, len(got), err, got[min(1, len(got)-1)])
		}
	}
}

func TestOptions(t *testing.T) {
	in := input(t, "x.csv", "id;n;note\na;7;\\N\n")
	in.Options = DecodeOptions{Delimiter: ';', NullToken: `\N`, FillMissing: true}
	got, err := decodeAll(t, in)
	if err != nil || len(got) != 1 || !strings.Contains(got[0], `"n":7`) || !strings.Contains(got[0], `"note":null`) {
		t.Errorf("rows = %v, %v; want one with n 7 and note null", got, err)
	}
	in = input(t, "x.tsv", strings.ReplaceAll(header, ",", "\t")+"a\t1\t\t\t\t\t\t\tx, y\n")
	if got, err = decodeAll(t, in); err != nil || !strings.Contains(got[0], `"note":"x, y"`) {
		t.Errorf("tsv rows = %v, %v", got, err)
	}
	in = input(t, "region/n=42/x.csv", strings.Replace(header, "n,", "", 1)+"a,2,3.5,,,,,\n")
	in.Fixed = fixedColumns(in.Name)
	if got, err = decodeAll(t, in); err != nil || !strings.Contains(got[0], `"n":42`) {
		t.Errorf("rows under n=42 = %v, %v; want n 42", got, err)
	}
}

func TestAppendedRows(t *testing.T) {
	old := header + "a,1,,,,,,,\n"
	in := input(t, "x.csv", old+"b,2,,,,,,,\nc,x,,,,,,,\n")
	in.Skip = int64(len(old))
	got, err := decodeAll(t, in)
	var re *RowError
	if len(got) != 1 || !strings.Contains(got[0], `"id":"b"`) || !errors.As(err, &re) || re.Line != 4 {
		t.Errorf("rows %v, error %v; want b alone and an error on line 4", got, err)
	}
	in = input(t, "x.csv", header+"a,1,,,,,,,"+"b,2,,,,,,,\n")
	in.Skip = int64(len(header) + len("a,1,,,,,,,"))
	if _, err = decodeAll(t, in); !errors.Is(err, ErrRejected) {
		t.Errorf("rows glued to a line without an end: error %v, want a rejection", err)
	}
}

func TestJSON(t *testing.T) {
	row := `{"id":"a","n":1,"ts":9007199254740993,"fare":0.1,"ok":false,"d":"2026-11-29","at":1000,"price":12.50,"note":null}`
	for name, text := range map[string]string{
		"x.jsonl": row + "\n\n" + row + "\n", "x.ndjson": row + "\r\n" + row, "x.json": "[\n " + row + ",\n" + row + "]\n", "y.json": row + row,
	} {
		got, err := decodeAll(t, input(t, name, text))
		if err != nil || len(got) != 2 || !strings.Contains(got[1], `"ts":9007199254740993`) || !strings.Contains(got[1], `"price":"12.50"`) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	bad := []struct {
		name, text string
		line       int64
		column     string
	}{
		{"x.jsonl", row + "\n{\"id\":", 2, ""},
		{"x.jsonl", row + "\n[1]\n", 2, ""},
		{"x.jsonl", strings.Replace(row, `"n":1`, `"n":"x"`, 1), 1, "n"},
		{"x.jsonl", strings.Replace(row, `"n":1`, `"n":1,"n":2`, 1), 1, "n"},
		{"x.jsonl", strings.Replace(row, `"n":1`, `"m":1`, 1), 1, "m"},
		{"x.jsonl", strings.Replace(row, `"n":1,`, ``, 1), 1, "n"},
		{"x.jsonl", strings.Replace(row, `"ok":false`, `"ok":{}`, 1), 1, "ok"},
		{"x.jsonl", strings.Replace(row, `"n":1`, `"n":01`, 1), 1, ""},
		{"x.json", "[\n" + row + ",\n\n{\"id\":7}\n]", 4, "at"},
		{"x.json", "[" + row, 1, ""},
		{"x.json", "[" + row + "] x", 1, ""},
	}
	for _, c := range bad {
		_, err := decodeAll(t, input(t, c.name, c.text))
		var re *RowError
		if !errors.As(err, &re) || re.Line != c.line || c.column != "at" && re.Column != c.column {
			t.Errorf("%s %.40q…: %v (%+v), want line %d column %q", c.name, c.text, err, re, c.line, c.column)
		}
	}
}

func TestNestedJSON(t *testing.T) {
	s := parseSchema(t, `{"type":"record","name":"r","fields":[{"name":"id","type":"string"},
	 {"name":"p","type":["null",{"type":"record","name":"p","fields":[{"name":"x","type":["null","int"],"default":null}]}],"default":null},
	 {"name":"l","type":["null",{"type":"array","items":["null","long"]}],"default":null},
	 {"name":"m","type":["null",{"type":"map","values":"string"}],"default":null}]}`)
	text := `{"id":"a","p":{"x":3},"l":[1,null,2],"m":{"k":"v"}}` + "\n" + `{"id":"b","p":null,"l":[],"m":{}}`
	got, err := decodeAll(t, Input{Name: "x.jsonl", R: strings.NewReader(text), Size: int64(len(text)), Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"id":"a","p":{"x":3},"l":[1,null,2],"m":{"k":"v"}}`; got[0] != want {
		t.Errorf("row = %s, want %s", got[0], want)
	}
	text = `{"id":"a","p":{"x":3,"y":1},"l":[],"m":{}}`
	if _, err = decodeAll(t, Input{Name: "x.jsonl", R: strings.NewReader(text), Size: int64(len(text)), Schema: s}); err == nil || !strings.Contains(err.Error(), "p.y") {
		t.Errorf("an unknown nested field: error %v, want one that names p.y", err)
	}
}

func TestCompressed(t *testing.T) {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	io.WriteString(w, header+"a,1,,,,,,,\n")
	w.Close()
	in := input(t, "x.csv.gz", buf.String())
	in.TempDir = t.TempDir()
	got, err := decodeAll(t, in)
	if err != nil || len(got) != 1 {
		t.Fatalf("rows = %v, %v", got, err)
	}
	for n := range buf.Len() {
		in := input(t, "x.csv.gz", buf.String()[:n])
		in.TempDir = t.TempDir()
		if _, err := decodeAll(t, in); !errors.Is(err, ErrRejected) {
			t.Fatalf("the first %d bytes: error %v, want a rejection", n, err)
		}
	}
}

func TestUnknownExtension(t *testing.T) {
	_, err := decodeAll(t, input(t, "x.xlsx", "whatever"))
	if !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), ".csv") {
		t.Errorf("error %v, want a rejection that lists what is taken", err)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"a.csv": true, ".a.csv": false, "a.csv~": false, "a.csv.tmp": false, "a.csv.part": false, "_SUCCESS": false, "d/_temporary/a.csv": false,
		".d/a.csv": false, "d/a.csv": true, "a.csv.filepart": false, "sedAbCdEf": false, "4913": true, "x.crc": false,
	} {
		if got := commits(name, nil); got != want {
			t.Errorf("commits(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestInfer(t *testing.T) {
	text := "id,zip,n,x,ok,d,at,mixed,empty\n1,01234,5,1.5,true,2026-01-01,2026-01-01T00:00:00Z,1,\n2,90210,-7,2,false,2026-01-02,2026-01-02 10:00:00,x,\n"
	s, err := Infer(t.Context(), Input{Name: "x.csv", R: strings.NewReader(text), Size: int64(len(text))}, "t_record", "hoodie.t")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"id": "long", "zip": "string", "n": "long", "x": "double", "ok": "boolean", "d": "date", "at": "timestamp", "mixed": "string", "empty": "string"}
	for name, typ := range want {
		f, _ := s.Field(name)
		if f == nil || Describe(f.Type) != typ || !f.Type.Nullable {
			t.Errorf("column %s = %+v, want a nullable %s", name, f, typ)
		}
	}
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"", header, header + "a,1,2,3,true,2026-11-29,0,1.5,x\n", "\"", header + "\"a\"\"\n\",,,,,,,,\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := decodeAll(t, input(t, "x.csv", string(b)))
		if err != nil && !errors.Is(err, ErrRejected) {
			t.Errorf("error %v is no rejection (%d rows)", err, len(rows))
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{"", "{}", `{"id":"a","n":1}`, "[", `[{"id":null}]`, `{"id":"a"`} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, lines bool) {
		name := "x.json"
		if lines {
			name = "x.jsonl"
		}
		in := input(t, name, string(b))
		in.Options.FillMissing = true
		if _, err := decodeAll(t, in); err != nil && !errors.Is(err, ErrRejected) {
			t.Errorf("error %v is no rejection", err)
		}
	})
}

func BenchmarkCSV(b *testing.B) {
	var text strings.Builder
	text.WriteString(header)
	for i := range 20000 {
		fmt.Fprintf(&text, "trip-%010d,%d,%d,%d.25,true,2026-11-29,2026-11-29T10:00:00Z,12.50,some note %d\n", i, i, i, i, i)
	}
	in := input(b, "x.csv", text.String())
	b.SetBytes(int64(text.Len()))
	buf := make([]record.Row, 1024)
	for b.Loop() {
		in.R = strings.NewReader(text.String())
		rows, err := Decode(b.Context(), in)
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = rows.Read(buf)
		}
	}
}

func TestDeletesNeedTheirKeys(t *testing.T) {
	cases := []struct{ name, file, text, missing string }{
		{"csv with both", "x.csv", "id,note\na,p\n", ""},
		{"csv without partition", "x.csv", "id\na\n", "note"},
		{"csv without key", "x.csv", "note\np\n", "id"},
		{"csv below its partition", "note=p/x.csv", "id\na\n", ""},
		{"json with both", "x.jsonl", `{"id":"a","note":"p"}`, ""},
		{"json in the default partition", "x.jsonl", `{"id":"a","note":null}`, ""},
		{"json without partition", "x.jsonl", `{"id":"a","note":"p"}` + "\n" + `{"id":"a"}`, "note"},
		{"json without key", "x.jsonl", `{"note":"p"}`, "id"},
		{"json below its partition", "note=p/x.jsonl", `{"id":"a"}`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := input(t, c.file, c.text)
			in.KeysOnly, in.Keys, in.Fixed = true, []string{"id", "note"}, fixedColumns(c.file)
			_, err := decodeAll(t, in)
			var re *RowError
			switch {
			case c.missing == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case c.missing != "" && (!errors.As(err, &re) || re.Column != c.missing):
				t.Errorf("error %v, want one that names column %s", err, c.missing)
			}
		})
	}
}
