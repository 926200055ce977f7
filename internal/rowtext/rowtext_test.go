package rowtext

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

const wide = `{"type":"record","name":"r","fields":[
 {"name":"_hoodie_commit_time","type":["null","string"],"default":null},
 {"name":"_hoodie_commit_seqno","type":["null","string"],"default":null},
 {"name":"_hoodie_record_key","type":["null","string"],"default":null},
 {"name":"_hoodie_partition_path","type":["null","string"],"default":null},
 {"name":"_hoodie_file_name","type":["null","string"],"default":null},
 {"name":"id","type":"long"},
 {"name":"s","type":["null","string"]},
 {"name":"ok","type":["null","boolean"]},
 {"name":"f","type":["null","float"]},
 {"name":"d","type":["null","double"]},
 {"name":"day","type":["null",{"type":"int","logicalType":"date"}]},
 {"name":"ts","type":["null",{"type":"long","logicalType":"timestamp-micros"}]},
 {"name":"local","type":["null",{"type":"long","logicalType":"local-timestamp-millis"}]},
 {"name":"dec","type":["null",{"type":"bytes","logicalType":"decimal","precision":20,"scale":2}]},
 {"name":"b","type":["null","bytes"]},
 {"name":"list","type":["null",{"type":"array","items":["null",{"type":"record","name":"e","fields":[{"name":"x","type":["null","int"]},{"name":"ys","type":{"type":"array","items":"int"}}]}]}]},
 {"name":"m","type":["null",{"type":"map","values":["null","double"]}]},
 {"name":"last","type":["null","int"]}]}`

func rowsOf(t *testing.T, text string, rows ...[]any) (*schema.Schema, []record.Row) {
	t.Helper()
	s, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	sh := record.NewShredder(s)
	var out []record.Row
	for _, r := range rows {
		row, err := sh.Shred(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return s, out
}

func TestPrint(t *testing.T) {
	meta := []any{"c", "q", "k", "p", "f"}
	full := append(append([]any{}, meta...), int64(math.MaxInt64), "a,\"b\"\n\u00e9", true, float32(0.1), 1e21, int32(19000), int64(1695332066204123), int64(-1),
		&record.Decimal{Unscaled: big.NewInt(-5), Scale: 2}, []byte{0, 255},
		[]any{[]any{int32(1), []any{int32(1), int32(2)}}, nil, []any{nil, []any{}}}, []record.MapEntry{{Key: "z", Value: 1.5}, {Key: "a", Value: nil}}, int32(7))
	nulls := append(append([]any{}, meta...), int64(-3), nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil)
	empty := append(append([]any{}, meta...), int64(0), "", false, float32(math.Inf(1)), math.NaN(), int32(-1), int64(0), int64(0),
		&record.Decimal{Unscaled: new(big.Int).Exp(big.NewInt(10), big.NewInt(19), nil), Scale: 2}, []byte{}, []any{}, []record.MapEntry{}, int32(-7))
	s, rows := rowsOf(t, wide, full, nulls, empty)
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	wantJSON := []string{
		`{"id":9223372036854775807,"s":"a,\"b\"\né","ok":true,"f":0.1,"d":1e+21,"day":"2022-01-08","ts":"2023-09-21T21:34:26.204123Z","local":"1969-12-31T23:59:59.999","dec":"-0.05","b":"0x00ff","list":[{"x":1,"ys":[1,2]},null,{"x":null,"ys":[]}],"m":{"z":1.5,"a":null},"last":7}`,
		`{"id":-3,"s":null,"ok":null,"f":null,"d":null,"day":null,"ts":null,"local":null,"dec":null,"b":null,"list":null,"m":null,"last":null}`,
		`{"id":0,"s":"","ok":false,"f":"Infinity","d":"NaN","day":"1969-12-31","ts":"1970-01-01T00:00:00.000000Z","local":"1970-01-01T00:00:00.000","dec":"100000000000000000.00","b":"0x","list":[],"m":{},"last":-7}`,
	}
	wantCSV := []string{
		"9223372036854775807,\"a,\"\"b\"\"\né\",true,0.1,1e+21,2022-01-08,2023-09-21T21:34:26.204123Z,1969-12-31T23:59:59.999,-0.05,0x00ff,\"[{\"\"x\"\":1,\"\"ys\"\":[1,2]},null,{\"\"x\"\":null,\"\"ys\"\":[]}]\",\"{\"\"z\"\":1.5,\"\"a\"\":null}\",7\n",
		"-3,,,,,,,,,,,,\n",
		"0,\"\",false,Infinity,NaN,1969-12-31,1970-01-01T00:00:00.000000Z,1970-01-01T00:00:00.000,100000000000000000.00,0x,[],{},-7\n",
	}
	if got, want := string(p.AppendHeader(nil)), "id,s,ok,f,d,day,ts,local,dec,b,list,m,last\n"; got != want {
		t.Errorf("header = %q, want %q", got, want)
	}
	for i, row := range rows {
		got, err := p.AppendJSON(nil, row)
		if err != nil || string(got) != wantJSON[i] {
			t.Errorf("JSON of row %d = %s, %v\nwant %s", i, got, err, wantJSON[i])
		}
		if !json.Valid(got) {
			t.Errorf("JSON of row %d is not valid: %s", i, got)
		}
		got, err = p.AppendCSV(nil, row)
		if err != nil || string(got) != wantCSV[i] {
			t.Errorf("CSV of row %d = %q, %v\nwant %q", i, got, err, wantCSV[i])
		}
	}
}

func TestRowOfAnotherSchema(t *testing.T) {
	s, rows := rowsOf(t, `{"type":"record","name":"r","fields":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}`, []any{int32(1), int32(2)})
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []record.Row{nil, rows[0][:1], append(rows[0].Clone(), record.Null(0, 0, 2)), {rows[0][1], rows[0][0]}} {
		if got, err := p.AppendJSON(nil, row); err == nil {
			t.Errorf("AppendJSON(%v) = %s, want an error", row, got)
		}
		if got, err := p.AppendCSV(nil, row); err == nil {
			t.Errorf("AppendCSV(%v) = %s, want an error", row, got)
		}
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("plain")
	f.Add("\x00\x1f\"\\\n\r\t\u2028é\xff")
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		if err := json.Unmarshal(appendString(nil, s), &got); err != nil {
			t.Fatalf("appendString(%q) is no JSON: %v", s, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); got != want && strings.ReplaceAll(want, "\ufffd", "") != strings.ReplaceAll(got, "\ufffd", "") {
			t.Errorf("appendString(%q) reads back as %q", s, got)
		}
	})
}

func FuzzAppendField(f *testing.F) {
	f.Add([]byte("plain"), []byte(`a"b,c`))
	f.Add([]byte(""), []byte("two\nlines"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if bytes.IndexByte(a, '\r') >= 0 || bytes.IndexByte(b, '\r') >= 0 {
			t.Skip("encoding/csv turns \\r\\n into \\n")
		}
		line := append(appendField(append(appendField(nil, a), ','), b), '\n')
		got, err := csv.NewReader(bytes.NewReader(line)).Read()
		if err != nil || len(got) != 2 || got[0] != string(a) || got[1] != string(b) {
			t.Errorf("fields %q, %q are spelt %q and read back as %q, %v", a, b, line, got, err)
		}
	})
}

func BenchmarkAppendJSON(b *testing.B) {
	s, err := schema.Parse(`{"type":"record","name":"r","fields":[{"name":"id","type":"long"},{"name":"s","type":["null","string"]},{"name":"d","type":["null","double"]},{"name":"ts","type":["null",{"type":"long","logicalType":"timestamp-micros"}]}]}`)
	if err != nil {
		b.Fatal(err)
	}
	row, err := record.NewShredder(s).Shred(nil, []any{int64(12345), "some text of a row", 41.06, int64(1695332066204123)})
	if err != nil {
		b.Fatal(err)
	}
	p, err := New(s)
	if err != nil {
		b.Fatal(err)
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		if dst, err = p.AppendJSON(dst[:0], row); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(dst)))
}
