package keygen

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// config makes a table configuration of properties, one a line.
func config(t testing.TB, version int, lines ...string) *tableconfig.Config {
	t.Helper()
	text := fmt.Sprintf("hoodie.table.name=t\nhoodie.table.type=COPY_ON_WRITE\nhoodie.table.version=%d\nhoodie.timeline.layout.version=%d\n", version, tableconfig.LayoutOf(version))
	p, err := tableconfig.ParseProperties("test", []byte(text+strings.Join(lines, "\n")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := tableconfig.FromProperties(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const columns = `{"name":"id","type":["null","string"]},{"name":"name","type":["null","string"]},{"name":"n","type":["null","long"]},{"name":"p","type":["null","string"]},` +
	`{"name":"q","type":["null","int"]},{"name":"day","type":["null",{"type":"int","logicalType":"date"}]},{"name":"ok","type":["null","boolean"]},{"name":"f","type":["null","float"]},` +
	`{"name":"d","type":["null","double"]},{"name":"dec","type":["null",{"type":"fixed","name":"fx","size":5,"logicalType":"decimal","precision":10,"scale":2}]},` +
	`{"name":"ts","type":["null",{"type":"long","logicalType":"timestamp-micros"}]},{"name":"st","type":["null",{"type":"record","name":"st","fields":[{"name":"id","type":["null","string"]},{"name":"p","type":["null","string"]}]}]},` +
	`{"name":"raw","type":["null","bytes"]},{"name":"tags","type":{"type":"array","items":"string"}}`

func rowSchema(t testing.TB) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(`{"type":"record","name":"r","fields":[` + columns + `]}`)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// row makes a row of the named values; the others are null.
func row(t testing.TB, s *schema.Schema, vals map[string]any) record.Row {
	t.Helper()
	fields := make([]any, len(s.Root().Fields))
	for i, f := range s.Root().Fields {
		fields[i] = vals[f.Name]
		if f.Name == "tags" {
			fields[i] = []any{"x", "y"}
		}
		delete(vals, f.Name)
	}
	if len(vals) > 0 {
		t.Fatalf("no such fields: %v", vals)
	}
	r, err := record.NewShredder(s).Shred(nil, fields)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	hive   = "hoodie.datasource.write.hive_style_partitioning=true"
	encode = "hoodie.datasource.write.partitionpath.urlencode=true"
	slash  = "hoodie.datasource.write.slash.separated.date.partitioning=true"
)

func typ(name, keys, parts string) []string {
	return []string{"hoodie.table.keygenerator.type=" + name, "hoodie.table.recordkey.fields=" + keys, "hoodie.table.partition.fields=" + parts}
}

type vals = map[string]any

func TestKeys(t *testing.T) {
	simple, complex2, nonPart := typ("SIMPLE", "id", "p"), typ("COMPLEX", "id,name", "p,q"), typ("NON_PARTITION", "id,name", "")
	with := func(lines []string, more ...string) []string { return append(append([]string{}, lines...), more...) }
	for name, c := range map[string]struct {
		version   int
		lines     []string
		row       vals
		key, path string // key "!text": an error with text
	}{
		"simple":                {9, simple, vals{"id": "TXN-001", "p": "a b"}, "TXN-001", "a b"},
		"simple number":         {9, typ("SIMPLE", "n", "q"), vals{"n": int64(-7), "q": int32(3)}, "-7", "3"},
		"simple hive":           {9, with(simple, hive), vals{"id": "1", "p": "x"}, "1", "p=x"},
		"simple null key":       {9, simple, vals{"p": "x"}, "!id is null or empty", ""},
		"simple empty key":      {9, simple, vals{"id": "", "p": "x"}, "!id is null or empty", ""},
		"looks like null":       {9, simple, vals{"id": "__null__", "p": "x"}, "__null__", "x"},
		"null partition":        {9, with(simple, hive), vals{"id": "1"}, "1", "p=__HIVE_DEFAULT_PARTITION__"},
		"empty partition":       {9, simple, vals{"id": "1", "p": ""}, "1", "__HIVE_DEFAULT_PARTITION__"},
		"encoded":               {9, with(simple, hive, encode), vals{"id": "1", "p": "a/b=c:d 10%"}, "1", "p=a%2Fb%3Dc%3Ad 10%25"},
		"time text encoded":     {9, with(simple, encode), vals{"id": "1", "p": "2007-09-26 13:14:35.981"}, "1", "2007-09-26 13%3A14%3A35.981"},
		"encoded dots":          {9, with(simple, encode), vals{"id": "1", "p": "../x"}, "1", "..%2Fx"},
		"slash unencoded":       {9, simple, vals{"id": "1", "p": "2024/03/01"}, "1", "2024/03/01"},
		"slash hive":            {9, with(simple, hive), vals{"id": "1", "p": "2024/03/01"}, "1", "p=2024/03/01"},
		"dot dot":               {9, simple, vals{"id": "1", "p": "../../etc"}, "!names no directory", ""},
		"dot dot inside":        {9, simple, vals{"id": "1", "p": "a/../b"}, "!names no directory", ""},
		"absolute":              {9, simple, vals{"id": "1", "p": "/etc"}, "!names no directory", ""},
		"own files":             {9, simple, vals{"id": "1", "p": ".hoodie/x"}, "!Hudi's own files", ""},
		"zero byte":             {9, simple, vals{"id": "1", "p": "a\x00"}, "!zero byte", ""},
		"long name":             {9, simple, vals{"id": "1", "p": strings.Repeat("x", 300)}, "!255", ""},
		"slash dates":           {9, with(simple, slash), vals{"id": "1", "p": "2024-05-01"}, "1", "2024/05/01"},
		"slash dates hive":      {9, with(typ("SIMPLE", "id", "day"), slash, hive), vals{"id": "1", "day": int32(19844)}, "1", "day=2024/05/01"},
		"slash dates negative":  {9, with(simple, slash), vals{"id": "1", "p": "-2024-05-01"}, "1", "-2024-05-01"},
		"date":                  {9, typ("SIMPLE", "id", "day"), vals{"id": "1", "day": int32(-1)}, "1", "1969-12-31"},
		"decimal":               {9, typ("SIMPLE", "dec", "dec"), vals{"dec": record.NewDecimal(250, 2)}, "2.50", "2.50"},
		"boolean":               {9, typ("SIMPLE", "id", "ok"), vals{"id": "1", "ok": false}, "1", "false"},
		"double key":            {9, typ("SIMPLE", "d", "f"), vals{"d": 1e10, "f": float32(0.1)}, "1.0E10", "0.1"},
		"raw micros":            {9, typ("SIMPLE", "ts", "ts"), vals{"ts": int64(1704164645600000)}, "1704164645600000", "1704164645600000"},
		"nested":                {9, with(typ("SIMPLE", "st.id", "st.p"), hive), vals{"st": []any{"k", "v"}}, "k", "st.p=v"},
		"nested null":           {9, typ("SIMPLE", "st.id", "st.p"), vals{}, "!null or empty", ""},
		"complex":               {9, complex2, vals{"id": "a", "name": "x:y", "p": "P", "q": int32(7)}, "id:a,name:x:y", "P/7"},
		"complex null":          {9, complex2, vals{"id": "b", "p": "P"}, "id:b,name:__null__", "P/__HIVE_DEFAULT_PARTITION__"},
		"complex empty":         {8, complex2, vals{"id": "c", "name": ""}, "id:c,name:__empty__", "__HIVE_DEFAULT_PARTITION__/__HIVE_DEFAULT_PARTITION__"},
		"complex all null":      {9, complex2, vals{"name": ""}, "!id,name is null or empty", ""},
		"complex fake null":     {9, complex2, vals{"id": "__null__", "name": "x"}, "!means null or empty", ""},
		"complex fake empty":    {9, complex2, vals{"id": "x", "name": "__empty__"}, "!means null or empty", ""},
		"complex single v9":     {9, typ("COMPLEX", "id", "p,q"), vals{"id": "a", "p": "P", "q": int32(1)}, "id:a", "P/1"},
		"complex single v8":     {8, typ("COMPLEX", "id", "p,q"), vals{"id": "a", "p": "P", "q": int32(1)}, "a", "P/1"},
		"complex no partition":  {9, typ("COMPLEX", "id,name", ""), vals{"id": "a", "name": "b"}, "id:a,name:b", ""},
		"complex hive order":    {9, with(typ("COMPLEX", "name,id", "q,p"), hive), vals{"id": "a", "name": "b", "p": "P", "q": int32(2)}, "name:b,id:a", "q=2/p=P"},
		"non partitioned":       {9, typ("NON_PARTITION", "id", ""), vals{"id": "a"}, "a", ""},
		"non partitioned two":   {9, nonPart, vals{"id": "a", "name": "b"}, "id:a,name:b", ""},
		"global delete":         {8, typ("GLOBAL_DELETE", "id,name", "p"), vals{"id": "a", "name": "b", "p": "x"}, "id:a,name:b", ""},
		"custom":                {9, with(typ("CUSTOM", "id", "p:SIMPLE,q:SIMPLE"), hive), vals{"id": "a", "p": "x", "q": int32(1)}, "a", "p=x/q=1"},
		"custom two keys":       {9, typ("CUSTOM", "id,name", "p:SIMPLE"), vals{"id": "a", "name": "b", "p": "x"}, "id:a,name:b", "x"},
		"custom, no partition":  {9, typ("CUSTOM", "id", ""), vals{"id": "a"}, "a", ""},
		"avro name":             {9, typ("SIMPLE_AVRO", "id", "p"), vals{"id": "a", "p": "x"}, "a", "x"},
		"class":                 {6, []string{"hoodie.table.keygenerator.class=org.apache.hudi.keygen.ComplexKeyGenerator", "hoodie.table.recordkey.fields=id,name", "hoodie.table.partition.fields=p"}, vals{"id": "a", "name": "b", "p": "x"}, "id:a,name:b", "x"},
		"keys by the writer":    {9, []string{"hoodie.table.keygenerator.type=SIMPLE", "hoodie.table.partition.fields=p"}, vals{"p": "x"}, "", "x"},
		"non-ascii":             {9, with(simple, encode), vals{"id": "é😀", "p": "ü☃"}, "é😀", "ü☃"},
		"several, one past 255": {9, complex2, vals{"id": "a", "p": strings.Repeat("x", 256)}, "!partition field \"p\"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := rowSchema(t)
			g, err := New(config(t, c.version, c.lines...), s)
			if err != nil {
				t.Fatal(err)
			}
			r := row(t, s, c.row)
			for range 2 { // the second path comes from the cache
				k, err := g.Key(r)
				if msg, fails := strings.CutPrefix(c.key, "!"); fails {
					if !errors.Is(err, ErrRow) || !strings.Contains(err.Error(), msg) {
						t.Errorf("Key = %v, error %v, want one with %q", k, err, msg)
					}
					continue
				}
				if err != nil || k.RecordKey != c.key || k.PartitionPath != c.path {
					t.Errorf("Key = %q in %q, %v, want %q in %q", k.RecordKey, k.PartitionPath, err, c.key, c.path)
				}
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	s := rowSchema(t)
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"no such key":        {typ("SIMPLE", "nope", "p"), `record key: field "nope"`},
		"no such partition":  {typ("SIMPLE", "id", "nope"), `partition: field "nope"`},
		"record as key":      {typ("SIMPLE", "st", "p"), `field "st" is not a primitive`},
		"list as key":        {typ("SIMPLE", "tags.list.element", "p"), "inside a list"},
		"bytes as key":       {typ("SIMPLE", "raw", "p"), "no text form"},
		"two simple keys":    {typ("SIMPLE", "id,name", "p"), "one record key field"},
		"two simple parts":   {typ("SIMPLE", "id", "p,q"), "one partition field"},
		"custom, no type":    {typ("CUSTOM", "id", "p"), "does not say whether"},
		"no time settings":   {typ("TIMESTAMP", "id", "ts"), "timestamp.type is not set"},
		"custom, no setting": {typ("CUSTOM", "id", "ts:TIMESTAMP"), "timestamp.type is not set"},
	} {
		if _, err := New(config(t, 9, c.lines...), s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	user := config(t, 9, "hoodie.table.keygenerator.type=USER_PROVIDED", "hoodie.table.keygenerator.class=com.example.Keys", "hoodie.table.recordkey.fields=id")
	if _, err := New(user, s); !errors.Is(err, tableconfig.ErrUnsupported) || !strings.Contains(err.Error(), "com.example.Keys") {
		t.Errorf("a class of the user's own: error %v", err)
	}
}

func TestOptions(t *testing.T) {
	s := rowSchema(t)
	r := row(t, s, vals{"id": "a", "p": "x", "q": int32(1)})
	for single, want := range map[SingleComplex]string{SingleNamed: "id:a", SinglePlain: "a"} {
		for _, version := range []int{6, 8, 9} {
			lines := typ("COMPLEX", "id", "p,q")
			if version == 6 {
				lines[0] = "hoodie.table.keygenerator.class=org.apache.hudi.keygen.ComplexKeyGenerator"
			}
			g, err := NewWith(config(t, version, lines...), s, Options{Single: single})
			if err != nil {
				t.Fatal(err)
			}
			if k, err := g.RecordKey(r); err != nil || k != want {
				t.Errorf("version %d, %d: %q, %v, want %q", version, single, k, err, want)
			}
		}
	}
	narrow := s.Select("id")
	g, err := NewRecordKeys(config(t, 9, typ("SIMPLE", "id", "p")...), narrow, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if k, err := g.Key(row(t, narrow, vals{"id": "a"})); err != nil || k != (record.Key{RecordKey: "a"}) {
		t.Errorf("without partition fields: %v, %v", k, err)
	}
}

func TestKeyIsACopy(t *testing.T) {
	s := rowSchema(t)
	g, err := New(config(t, 9, typ("SIMPLE", "id", "p")...), s)
	if err != nil {
		t.Fatal(err)
	}
	id, p := []byte("key"), []byte("part")
	r := record.Row{}
	for _, v := range row(t, s, vals{}) {
		switch v.Column() {
		case 0:
			v = record.Bytes(id).Level(0, 1, 0)
		case 3:
			v = record.Bytes(p).Level(0, 1, 3)
		}
		r = append(r, v)
	}
	k, err := g.Key(r)
	if err != nil {
		t.Fatal(err)
	}
	copy(id, "XXX")
	copy(p, "XXXX")
	if k.RecordKey != "key" || k.PartitionPath != "part" {
		t.Errorf("the key changed with the row's memory: %v", k)
	}
	if k, err := g.Key(r); err != nil || k.PartitionPath != "XXXX" {
		t.Errorf("another partition: %v, %v", k, err)
	}
}

func TestConcurrentUse(t *testing.T) {
	s := rowSchema(t)
	g, err := New(config(t, 9, typ("SIMPLE", "id", "q")...), s)
	if err != nil {
		t.Fatal(err)
	}
	var rows []record.Row
	for i := range 300 {
		rows = append(rows, row(t, s, vals{"id": fmt.Sprint("k", i), "q": int32(i % 100)}))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, r := range rows {
				if k, err := g.Key(r); err != nil || k.RecordKey != fmt.Sprint("k", i) || k.PartitionPath != fmt.Sprint(i%100) {
					t.Errorf("row %d: %v, %v", i, k, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestKeyValues(t *testing.T) {
	for _, c := range []struct {
		key  string
		want string
		out  []KeyPart
	}{
		{"TXN-007", "id", []KeyPart{{"id", "TXN-007", false}}},
		{"id:5", "id", []KeyPart{{"id", "id:5", false}}},
		{"a,b", "id", []KeyPart{{"id", "a,b", false}}},
		{"id:a,name:b", "id,name", []KeyPart{{"id", "a", false}, {"name", "b", false}}},
		{"id:a,name:b", "name", []KeyPart{{"name", "b", false}}},
		{"id:a,name:b", "name,id", []KeyPart{{"id", "a", false}, {"name", "b", false}}},
		{"id:a,b,name:c,d", "id,name", []KeyPart{{"id", "a,b", false}, {"name", "c,d", false}}},
		{"id:x:y,name:z", "id,name", []KeyPart{{"id", "x:y", false}, {"name", "z", false}}},
		{"id:a,name:x:y", "id,name", []KeyPart{{"id", "a", false}, {"name", "x:y", false}}},
		{"id:__null__,name:__empty__", "id,name", []KeyPart{{"id", "", true}, {"name", "", false}}},
		{"id:,name:", "id,name", []KeyPart{{"id", "", false}, {"name", "", false}}},
		{":,", "id", nil},
		{"", "id", []KeyPart{{"id", "", false}}},
	} {
		if got := KeyValues(c.key, strings.Split(c.want, ",")); !reflect.DeepEqual(got, c.out) {
			t.Errorf("KeyValues(%q, %s) = %v, want %v", c.key, c.want, got, c.out)
		}
	}
}

func TestPartitionValues(t *testing.T) {
	part := func(pairs ...string) []KeyPart {
		out := []KeyPart{}
		for i := 0; i < len(pairs); i += 2 {
			p := KeyPart{Field: pairs[i], Text: pairs[i+1]}
			if p.Text == "NULL" {
				p.Text, p.Null = "", true
			}
			out = append(out, p)
		}
		return out
	}
	for name, c := range map[string]struct {
		lines []string
		path  string
		want  []KeyPart // nil: not to be told
	}{
		"plain":              {typ("SIMPLE", "id", "p"), "a%2Fb", part("p", "a%2Fb")},
		"encoded":            {append(typ("SIMPLE", "id", "p"), encode, hive), "p=a%2Fb", part("p", "a/b")},
		"encoded twice":      {append(typ("SIMPLE", "id", "p"), encode, hive), "p=%252F", part("p", "%2F")},
		"null":               {append(typ("SIMPLE", "id", "p"), encode, hive), "p=__HIVE_DEFAULT_PARTITION__", part("p", "NULL")},
		"slashes in one":     {typ("SIMPLE", "id", "p"), "2024/03/01", part("p", "2024/03/01")},
		"slash dates":        {append(typ("SIMPLE", "id", "p"), slash, hive), "p=2024/03/01", part("p", "2024-03-01")},
		"two":                {append(typ("COMPLEX", "id", "p,q"), encode), "a%2Fb/7", part("p", "a/b", "q", "7")},
		"two hive":           {append(typ("COMPLEX", "id", "p,q"), hive), "p=x=y/q=7", part("p", "x=y", "q", "7")},
		"too many":           {typ("COMPLEX", "id", "p,q"), "a/b/7", nil},
		"another name":       {append(typ("COMPLEX", "id", "p,q"), hive), "p=x/z=7", nil},
		"not hive after all": {append(typ("SIMPLE", "id", "p"), hive), "x", nil},
		"not partitioned":    {typ("NON_PARTITION", "id", ""), "", part()},
	} {
		got, ok := PartitionValues(config(t, 9, c.lines...), c.path)
		if ok != (c.want != nil) || len(got) != len(c.want) || len(got) > 0 && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: PartitionValues(%q) = %v, %v, want %v", name, c.path, got, ok, c.want)
		}
	}
}

// What a generator wrote into a path must come back out of it, for every type.
func TestPathsComeBack(t *testing.T) {
	s := rowSchema(t)
	for field, v := range (vals{"id": "a/b%c__d=", "n": int64(-5), "q": int32(7), "day": int32(-1), "ok": true, "f": float32(0.1), "d": 1e-9, "dec": record.NewDecimal(-250, 2), "ts": int64(5), "p": nil}) {
		cfg := config(t, 9, append(typ("COMPLEX", "id", field+",name"), hive, encode)...)
		g, err := New(cfg, s)
		if err != nil {
			t.Fatal(err)
		}
		path, err := g.Partition(row(t, s, vals{field: v, "name": "n"}))
		if err != nil {
			t.Fatal(err)
		}
		parts, ok := PartitionValues(cfg, path)
		if !ok {
			t.Errorf("%s: path %q does not split", field, path)
			continue
		}
		f, _ := s.Field(field)
		got, err := parts[0].Value(f.Type)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(v) {
			t.Errorf("%s: %v came back from %q as %v, %v", field, v, path, got, err)
		}
	}
	for _, kind := range []schema.Kind{schema.Boolean, schema.Int, schema.Long, schema.Float, schema.Double, schema.Bytes} {
		if v, err := (KeyPart{Field: "x", Text: "maybe"}).Value(&schema.Type{Kind: kind}); err == nil {
			t.Errorf("\"maybe\" as %s = %v", kind, v)
		}
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"a/b=c:d 10%": "a%2Fb%3Dc%3Ad 10%25", "": DefaultPartition, "tab\t": "tab%09", "q?*": "q%3F%2A", "ü☃": "ü☃", "dot.": "dot.",
		"<a>": "<a>", "}|~&+,.-_@": "}|~&+,.-_@", "\"#'\\{[]^\x7f\x1f": "%22%23%27%5C%7B%5B%5D%5E%7F%1F",
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"a_b-0": "a%5Fb%2D0", "zz/1": "zz%2F1", "": ""} {
		if got := EscapeFileName(in); got != want {
			t.Errorf("EscapeFileName(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"%": "%", "%4": "%4", "%zz": "%zz", "%3ca%3E": "<a>", "%25252F": "%252F", "%e9": "é"} {
		if got := Unescape(in); got != want {
			t.Errorf("Unescape(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a/b=c:d 10%")
	f.Add("%41é\x00")
	f.Fuzz(func(t *testing.T, s string) {
		if s == "" {
			return
		}
		e := Escape(s)
		if Unescape(e) != s {
			t.Fatalf("Unescape(Escape(%q)) = %q", s, Unescape(e))
		}
		if strings.ContainsAny(e, "/=:\x00") {
			t.Fatalf("Escape(%q) = %q", s, e)
		}
		if Unescape(EscapeFileName(s)) != s {
			t.Fatalf("EscapeFileName(%q) does not come back", s)
		}
	})
}

func BenchmarkKey(b *testing.B) {
	s := rowSchema(b)
	g, err := New(config(b, 9, append(typ("SIMPLE", "id", "p"), hive)...), s)
	if err != nil {
		b.Fatal(err)
	}
	r := row(b, s, vals{"id": "trip-0000012345", "p": "san_francisco"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Key(r); err != nil {
			b.Fatal(err)
		}
	}
}
