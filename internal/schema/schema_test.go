package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const allTypes = `{"type":"record","name":"trips_record","namespace":"hoodie.trips","doc":"d","fields":[` +
	`{"name":"id","type":"string"},` +
	`{"name":"b","type":["boolean","null"]},` +
	`{"name":"i","type":["null","int"],"default":null},` +
	`{"name":"l","type":["null",{"type":"long","logicalType":"timestamp-micros"}],"doc":"when","default":null},` +
	`{"name":"dec","type":["null",{"type":"fixed","name":"fixed","namespace":"hoodie.trips.trips_record.dec","size":5,"logicalType":"decimal","precision":10,"scale":2}],"default":null},` +
	`{"name":"db","type":{"type":"bytes","logicalType":"decimal","precision":20,"scale":3}},` +
	`{"name":"e","type":{"type":"enum","name":"suit","symbols":["A","B"]}},` +
	`{"name":"tags","type":["null",{"type":"array","items":["null","string"]}],"default":null},` +
	`{"name":"props","type":{"type":"map","values":"long","avro.java.string":"String"}},` +
	`{"name":"st","type":["null",{"type":"record","name":"st","namespace":"hoodie.trips.trips_record","fields":[{"name":"x","type":"double"},{"name":"again","type":"hoodie.trips.suit"}]}],"default":null},` +
	`{"name":"u","type":["string","null","int"],"aliases":["old"]}` +
	`]}`

func mustParse(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	return s
}

func rec(fields string) string { return `{"type":"record","name":"r","fields":[` + fields + `]}` }

func TestLeaves(t *testing.T) {
	s := mustParse(t, allTypes)
	var got []string
	for _, l := range s.Leaves() {
		got = append(got, fmt.Sprintf("%d %s r%d d%d %s %s", l.Index, strings.Join(l.Path, "."), l.MaxRep, l.MaxDef, l.Type.Kind, l.Type.Logical))
	}
	want := []string{
		"0 id r0 d0 string ", "1 b r0 d1 boolean ", "2 i r0 d1 int ", "3 l r0 d1 long timestamp-micros", "4 dec r0 d1 fixed decimal",
		"5 db r0 d0 bytes decimal", "6 e r0 d0 enum ", "7 tags.list.element r1 d3 string ", "8 props.key_value.key r1 d1 string ",
		"9 props.key_value.value r1 d1 long ", "10 st.x r0 d1 double ", "11 st.again r0 d1 enum ",
		"12 u.member0 r0 d2 string ", "13 u.member1 r0 d2 int ",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Leaves =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if from, to := s.LeafRange(8); from != 8 || to != 10 {
		t.Errorf("LeafRange(8) = %d,%d, want 8,10", from, to)
	}
	for path, want := range map[string]int{"id": 0, "st.x": 10, "st": -1, "tags.list.element": 7, "nope": -1, "": -1} {
		if got := s.LeafOf(path); got != want {
			t.Errorf("LeafOf(%q) = %d, want %d", path, got, want)
		}
	}
	if f, i := s.Field("st.again"); f == nil || i != 9 || f.Type.Kind != Enum {
		t.Errorf("Field(st.again) = %v, %d", f, i)
	}
	if f, i := s.Field("id.x"); f != nil || i != -1 {
		t.Errorf("Field(id.x) = %v, %d, want none", f, i)
	}
	if u := s.Root().Fields[10].Type; !u.Nullable || u.NullFirst || u.NullIndex != 1 || len(u.Branches) != 2 {
		t.Errorf("union = %+v", u)
	}
	if s.String() != allTypes {
		t.Error("String is not the text that was parsed")
	}
}

func TestPrintIsTextOfJava(t *testing.T) {
	s := mustParse(t, allTypes)
	p := printer{named: map[string]*Type{}}
	if err := p.typ(s.Root(), ""); err != nil {
		t.Fatal(err)
	}
	// The enum's second use stands in another namespace, so Java prints the full name; the nested record's namespace differs too.
	if p.b.String() != allTypes {
		t.Errorf("printed\n%s\nwant\n%s", p.b.String(), allTypes)
	}
}

func TestParseRefuses(t *testing.T) {
	deep := strings.Repeat(`{"type":"array","items":`, 200) + `"int"` + strings.Repeat(`}`, 200)
	// 2^20 leaves in a short text
	var bomb strings.Builder
	bomb.WriteString(`{"type":"record","name":"n0","fields":[{"name":"x","type":"int"}]}`)
	text := bomb.String()
	for i := 1; i < 20; i++ {
		text = fmt.Sprintf(`{"type":"record","name":"n%d","fields":[{"name":"a","type":%s},{"name":"b","type":"n%d"}]}`, i, text, i-1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"not json":        {`{`, "EOF"},
		"tail":            {rec("") + "x", "after"},
		"not record":      {`"string"`, "not a record"},
		"root union":      {`["null",` + rec(`{"name":"a","type":"int"}`) + `]`, "union"},
		"recursive":       {rec(`{"name":"a","type":["null","r"]}`), "contains itself"},
		"unknown":         {rec(`{"name":"a","type":"x.y"}`), `field a: unknown type "x.y"`},
		"null alone":      {rec(`{"name":"a","type":"null"}`), "field a"},
		"null union":      {rec(`{"name":"a","type":["null"]}`), "null alone"},
		"null twice":      {rec(`{"name":"a","type":["null","int","null"]}`), "null twice"},
		"dup branch":      {rec(`{"name":"a","type":["int","int"]}`), "int twice"},
		"nested union":    {rec(`{"name":"a","type":["int",["null","long"]]}`), "union may not"},
		"dup field":       {rec(`{"name":"a","type":"int"},{"name":"a","type":"int"}`), "two fields"},
		"bad name":        {rec(`{"name":"a-b","type":"int"}`), `illegal name "a-b"`},
		"no type":         {rec(`{"name":"a"}`), "field a"},
		"fixed 0":         {rec(`{"name":"a","type":{"type":"fixed","name":"f","size":0}}`), "positive"},
		"fixed big":       {rec(`{"name":"a","type":{"type":"fixed","name":"f","size":4294967297}}`), "positive"},
		"defined twice":   {rec(`{"name":"a","type":{"type":"fixed","name":"r","size":1}}`), "defined twice"},
		"empty enum":      {rec(`{"name":"a","type":{"type":"enum","name":"f","symbols":[]}}`), "no symbols"},
		"empty record":    {rec(`{"name":"a","type":{"type":"record","name":"f","fields":[]}}`), "field a"},
		"deep":            {rec(`{"name":"a","type":` + deep + `}`), "deeper"},
		"leaf bomb":       {text, "columns"},
		"array of null":   {rec(`{"name":"a","type":{"type":"array","items":"null"}}`), "array of null"},
		"items missing":   {rec(`{"name":"a","type":{"type":"array"}}`), "items"},
		"number as type":  {rec(`{"name":"a","type":1}`), "a type must be"},
		"name no string":  {`{"type":"record","name":1,"fields":[]}`, "must be a string"},
		"primitive name":  {`{"type":"record","name":"int","fields":[]}`, "may not be called"},
		"fields no list":  {`{"type":"record","name":"a","fields":{}}`, "fields"},
		"field no object": {`{"type":"record","name":"a","fields":[1]}`, "object"},
	} {
		_, err := Parse(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	s := mustParse(t, `{"type":"record","name":"a.b.r","fields":[
		{"name":"x","type":{"type":"fixed","name":"f","size":2}},
		{"name":"y","type":{"type":"record","name":"q","namespace":"z","fields":[{"name":"v","type":{"type":"fixed","name":"f","size":3}},{"name":"w","type":"f"},{"name":"u","type":"a.b.f"}]}},
		{"name":"z","type":["null","f"]},
		{"name":"é","type":{"type":"string"}}]}`)
	sizes := map[string]int{"x": 2, "y.v": 3, "y.w": 3, "y.u": 2, "z": 2}
	for path, want := range sizes {
		if f, _ := s.Field(path); f == nil || f.Type.Size != want {
			t.Errorf("Field(%s) = %+v, want size %d", path, f, want)
		}
	}
	again := mustParse(t, s.WithMetaFields().String())
	if !again.WithoutMetaFields().Equal(s) {
		t.Errorf("printing changed the schema: %s", again)
	}
}

func TestInvalidLogicalIsIgnored(t *testing.T) {
	text := rec(`{"name":"a","type":{"type":"int","logicalType":"timestamp-micros"}},` +
		`{"name":"b","type":{"type":"bytes","logicalType":"decimal","precision":2,"scale":3}},` +
		`{"name":"c","type":{"type":"fixed","name":"f","size":1,"logicalType":"decimal","precision":9}},` +
		`{"name":"d","type":{"type":"string","logicalType":"special","k":[1,{"z":2,"a":null}]}}`)
	s := mustParse(t, text)
	for _, l := range s.Leaves() {
		if l.Type.Logical != NoLogical {
			t.Errorf("%s has logical type %s, want none", l.Path, l.Type.Logical)
		}
	}
	w := s.WithMetaFields().String()
	for _, keep := range []string{`"logicalType":"special"`, `"precision":9`, `"k":[1,{"a":null,"z":2}]`} {
		if !strings.Contains(w, keep) {
			t.Errorf("%s is lost in %s", keep, w)
		}
	}
}

func TestMetaFields(t *testing.T) {
	s := mustParse(t, rec(`{"name":"id","type":["null","string"],"default":null},{"name":"_hoodie_is_deleted","type":["null","boolean"],"default":false}`))
	w := s.WithMetaFields()
	want := `{"type":"record","name":"r","fields":[` +
		`{"name":"_hoodie_commit_time","type":["null","string"],"doc":"","default":null},` +
		`{"name":"_hoodie_commit_seqno","type":["null","string"],"doc":"","default":null},` +
		`{"name":"_hoodie_record_key","type":["null","string"],"doc":"","default":null},` +
		`{"name":"_hoodie_partition_path","type":["null","string"],"doc":"","default":null},` +
		`{"name":"_hoodie_file_name","type":["null","string"],"doc":"","default":null},` +
		`{"name":"id","type":["null","string"],"default":null},{"name":"_hoodie_is_deleted","type":["null","boolean"],"default":false}]}`
	if w.String() != want {
		t.Errorf("WithMetaFields =\n%s\nwant\n%s", w, want)
	}
	if s.HasMetaFields() || !w.HasMetaFields() || w.WithMetaFields() != w || s.WithMetaFields() != w {
		t.Error("HasMetaFields or the cache is wrong")
	}
	if got := mustParse(t, want).WithoutMetaFields().String(); got != s.String() {
		t.Errorf("WithoutMetaFields = %s, want %s", got, s)
	}
	if s.WithoutMetaFields() != s {
		t.Error("WithoutMetaFields of a schema without is another schema")
	}
	op := mustParse(t, rec(`{"name":"_hoodie_operation","type":["null","string"]},{"name":"id","type":"int"}`))
	if got := len(op.WithMetaFields().Root().Fields); got != 7 {
		t.Errorf("with _hoodie_operation: %d fields, want 7", got)
	}
	if got := len(op.WithoutMetaFields().Root().Fields); got != 1 {
		t.Errorf("without: %d fields, want 1", got)
	}
}

func TestNew(t *testing.T) {
	s, err := NewRecord("t_record", "hoodie.t",
		Field{Name: "id", Type: &Type{Kind: Long}},
		Field{Name: "dec", Type: Optional(Type{Kind: Fixed, Size: 5, Logical: Decimal, Precision: 10, Scale: 2})},
		Field{Name: "last", Type: &Type{Kind: Int, Nullable: true}, HasDefault: true},
		Field{Name: "st", Type: Optional(Type{Kind: Record, Fields: []Field{{Name: "in", Type: &Type{Kind: Array, Elem: &Type{Kind: Record, Fields: []Field{{Name: "v", Type: &Type{Kind: String}}}}}}}})},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"record","name":"t_record","namespace":"hoodie.t","fields":[{"name":"id","type":"long"},` +
		`{"name":"dec","type":["null",{"type":"fixed","name":"fixed","namespace":"hoodie.t.t_record.dec","size":5,"logicalType":"decimal","precision":10,"scale":2}],"default":null},` +
		`{"name":"last","type":["int","null"]},` +
		`{"name":"st","type":["null",{"type":"record","name":"st","namespace":"hoodie.t.t_record","fields":[{"name":"in","type":{"type":"array","items":` +
		`{"type":"record","name":"in","namespace":"hoodie.t.t_record.st","fields":[{"name":"v","type":"string"}]}}}]}],"default":null}]}`
	if s.String() != want {
		t.Errorf("New =\n%s\nwant\n%s", s, want)
	}
	for name, f := range map[string]Field{
		"bad name": {Name: "a b", Type: &Type{Kind: Int}}, "no type": {Name: "a"},
		"null first": {Name: "a", Type: Optional(Type{Kind: Int}), HasDefault: true, Default: json.Number("1")},
		"null":       {Name: "a", Type: &Type{}},
	} {
		if _, err := NewRecord("r", "", f); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := New(nil); err == nil {
		t.Error("New(nil): no error")
	}
}

func TestEqual(t *testing.T) {
	base := rec(`{"name":"a","type":["null","int"],"default":null}`)
	for text, want := range map[string]bool{
		base: true,
		`{"name":"r","type":"record","doc":"x","fields":[{"type":["null",{"type":"int"}],"name":"a","default":null,"doc":"y"}]}`: true,
		rec(`{"name":"a","type":["int","null"]}`):                                              false,
		rec(`{"name":"a","type":["null","long"],"default":null}`):                              false,
		rec(`{"name":"b","type":["null","int"],"default":null}`):                               false,
		rec(`{"name":"a","type":["null","int"]}`):                                              false,
		rec(`{"name":"a","type":["null",{"type":"int","logicalType":"date"}],"default":null}`): false,
	} {
		if got := mustParse(t, base).Equal(mustParse(t, text)); got != want {
			t.Errorf("Equal(%s) = %v, want %v", text, got, want)
		}
	}
}

func TestDecimalSize(t *testing.T) {
	for p, want := range map[int]int{1: 1, 2: 1, 3: 2, 5: 3, 9: 4, 10: 5, 15: 7, 18: 8, 19: 9, 20: 9, 38: 16} {
		if got := DecimalSize(p); got != want {
			t.Errorf("DecimalSize(%d) = %d, want %d", p, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(allTypes)
	f.Add(rec(`{"name":"a","type":["null",{"type":"map","values":{"type":"array","items":"bytes"}}],"default":null}`))
	f.Add(`{"type":"record","name":"x.r","fields":[{"name":"a","type":{"type":"enum","name":".e","symbols":["A"]},"default":"A"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		w := s.WithMetaFields()
		again, err := Parse(w.String())
		if err != nil {
			t.Fatalf("what WithMetaFields printed does not parse: %v\n%s", err, w)
		}
		if !again.Equal(w) || len(again.Leaves()) != len(w.Leaves()) {
			t.Fatalf("printing changed the schema\n%s\n%s", w, again)
		}
		if _, err := Project(s, s); err != nil {
			t.Fatalf("a schema does not project to itself: %v", err)
		}
	})
}
