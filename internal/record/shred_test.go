package record

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/schema"
)

func parseSchema(t testing.TB, fields string) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(`{"type":"record","name":"r","fields":[` + fields + `]}`)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// levels prints a row as col:rep/def=value, null as "-".
func levels(s *schema.Schema, row Row) string {
	var out []string
	for _, v := range row {
		text := "-"
		if !IsNull(v, &s.Leaves()[v.Column()]) {
			text = v.String()
		}
		out = append(out, fmt.Sprintf("%d:%d/%d=%s", v.Column(), v.RepetitionLevel(), v.DefinitionLevel(), text))
	}
	return strings.Join(out, " ")
}

const listOfStrings = `{"name":"a","type":["null",{"type":"array","items":["null","string"]}]}`

func TestShredLevels(t *testing.T) {
	nested := `{"name":"a","type":["null",{"type":"array","items":["null",{"type":"record","name":"e","fields":[{"name":"x","type":["null","int"]},{"name":"l","type":{"type":"array","items":"long"}}]}]}]}`
	mapped := `{"name":"m","type":["null",{"type":"map","values":["null","int"]}]},{"name":"z","type":"boolean"}`
	strct := `{"name":"s","type":["null",{"type":"record","name":"e","fields":[{"name":"x","type":["null","int"]},{"name":"y","type":["null","string"]}]}]}`
	union := `{"name":"u","type":["null","int",{"type":"array","items":"string"}]}`
	for name, c := range map[string]struct {
		fields string
		row    []any
		want   string
	}{
		"null list":          {listOfStrings, []any{nil}, "0:0/0=-"},
		"empty list":         {listOfStrings, []any{[]any{}}, "0:0/1=-"},
		"list with null":     {listOfStrings, []any{[]any{"x", nil, ""}}, "0:0/3=x 0:1/2=- 0:1/3="},
		"null map":           {mapped, []any{nil, true}, "0:0/0=- 1:0/0=- 2:0/0=true"},
		"empty map":          {mapped, []any{[]MapEntry{}, true}, "0:0/1=- 1:0/1=- 2:0/0=true"},
		"map with null":      {mapped, []any{[]MapEntry{{"a", int32(1)}, {"b", nil}}, false}, "0:0/2=a 0:1/2=b 1:0/3=1 1:1/2=- 2:0/0=false"},
		"null struct":        {strct, []any{nil}, "0:0/0=- 1:0/0=-"},
		"struct of nulls":    {strct, []any{[]any{nil, nil}}, "0:0/1=- 1:0/1=-"},
		"struct":             {strct, []any{[]any{int32(4), "q"}}, "0:0/2=4 1:0/2=q"},
		"list of struct":     {nested, []any{[]any{nil, []any{nil, []any{}}, []any{int32(1), []any{int64(5), int64(6)}}}}, "0:0/2=- 0:1/3=- 0:1/4=1 1:0/2=- 1:1/3=- 1:1/4=5 1:2/4=6"},
		"null list of rec":   {nested, []any{nil}, "0:0/0=- 1:0/0=-"},
		"union first":        {union, []any{UnionValue{0, int32(7)}}, "0:0/2=7 1:0/1=-"},
		"union list":         {union, []any{UnionValue{1, []any{"a", "b"}}}, "0:0/1=- 1:0/3=a 1:1/3=b"},
		"union empty list":   {union, []any{UnionValue{1, []any{}}}, "0:0/1=- 1:0/2=-"},
		"union null":         {union, []any{nil}, "0:0/0=- 1:0/0=-"},
		"field after a list": {listOfStrings + `,{"name":"b","type":"int"}`, []any{[]any{"x", "y"}, int32(3)}, "0:0/3=x 0:1/3=y 1:0/0=3"},
	} {
		s := parseSchema(t, c.fields)
		sh := NewShredder(s)
		for range 2 { // the second time shows that nothing is left over
			row, err := sh.Shred(nil, c.row)
			if err != nil {
				t.Errorf("%s: Shred: %v", name, err)
				break
			}
			if got := levels(s, row); got != c.want {
				t.Errorf("%s: row %s, want %s", name, got, c.want)
			}
			back, err := NewAssembler(s).Assemble(nil, row)
			if err != nil || !reflect.DeepEqual(back, c.row) {
				t.Errorf("%s: assembled %#v, %v, want %#v", name, back, err, c.row)
			}
		}
	}
}

func TestShredPrimitives(t *testing.T) {
	s := parseSchema(t, `{"name":"b","type":"boolean"},{"name":"i","type":{"type":"int","logicalType":"date"}},{"name":"l","type":"long"},{"name":"f","type":"float"},`+
		`{"name":"d","type":"double"},{"name":"y","type":"bytes"},{"name":"x","type":{"type":"fixed","name":"f3","size":3}},{"name":"e","type":{"type":"enum","name":"en","symbols":["A","B"]}},`+
		`{"name":"dec","type":{"type":"fixed","name":"f5","size":5,"logicalType":"decimal","precision":10,"scale":2}},{"name":"db","type":{"type":"bytes","logicalType":"decimal","precision":4,"scale":1}}`)
	in := []any{true, int32(-1), int64(1) << 60, float32(1.5), 2.5, []byte{0}, []byte{1, 2, 3}, "B", NewDecimal(-250, 2), NewDecimal(7, 1)}
	row, err := NewShredder(s).Shred(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", row[8].ByteArray()); got != "ffffffff06" {
		t.Errorf("decimal -2.50 is %s, want ffffffff06", got)
	}
	back, err := NewAssembler(s).Assemble(nil, row)
	if err != nil || !reflect.DeepEqual(back, in) {
		t.Errorf("assembled %v, %v, want %v", back, err, in)
	}
	for i, bad := range []any{1, "x", 1.5, int64(1), "d", 3, []byte{1}, "C", NewDecimal(1, 3), NewDecimal(123456, 1)} {
		row := append([]any{}, in...)
		row[i] = bad
		if _, err := NewShredder(s).Shred(nil, row); err == nil || !strings.Contains(err.Error(), "field "+s.Root().Fields[i].Name) {
			t.Errorf("field %d = %v: error %v, want one that names the field", i, bad, err)
		}
		row[i] = nil
		if _, err := NewShredder(s).Shred(nil, row); err == nil || !strings.Contains(err.Error(), "not nullable") {
			t.Errorf("field %d = null: error %v", i, err)
		}
	}
	if _, err := NewShredder(s).Shred(nil, in[:3]); err == nil {
		t.Error("a short row was taken")
	}
}

func TestShredAfterError(t *testing.T) {
	s := parseSchema(t, listOfStrings)
	sh := NewShredder(s)
	if row, err := sh.Shred(nil, []any{[]any{"x", 5}}); err == nil || len(row) != 0 {
		t.Fatalf("Shred = %v, %v, want an error and no row", row, err)
	}
	row, err := sh.Shred(nil, []any{[]any{"y"}})
	if err != nil || levels(s, row) != "0:0/3=y" {
		t.Errorf("after an error: %s, %v", levels(s, row), err)
	}
}

func TestAssembleRefusesWrongLevels(t *testing.T) {
	s := parseSchema(t, `{"name":"a","type":["null",{"type":"array","items":"string"}]},{"name":"m","type":{"type":"map","values":"int"}}`)
	good, err := NewShredder(s).Shred(nil, []any{[]any{"x", "y"}, []MapEntry{{"k", int32(1)}}})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAssembler(s)
	for i := range good {
		if _, err := a.Assemble(nil, append(append(Row{}, good[:i]...), good[i+1:]...)); err == nil && good[i].RepetitionLevel() == 0 {
			t.Errorf("without value %d: no error", i)
		}
		for rep := range 3 {
			for def := range 4 {
				row := append(Row{}, good...)
				row[i] = row[i].Level(rep, def, row[i].Column())
				_, _ = a.Assemble(nil, row) // an error or another value, never a panic
			}
		}
	}
	if _, err := a.Assemble(nil, append(append(Row{}, good...), Null(0, 0, 9))); err == nil {
		t.Error("a value beyond the schema was taken")
	}
	if _, err := a.Assemble(nil, good); err != nil {
		t.Error(err)
	}
}

func TestFind(t *testing.T) {
	s := parseSchema(t, listOfStrings+`,{"name":"b","type":["null","string"]},{"name":"c","type":"int"}`)
	row, err := NewShredder(s).Shred(nil, []any{[]any{"x", "y", "z"}, "q", int32(3)})
	if err != nil {
		t.Fatal(err)
	}
	for leaf, want := range []int{0, 3, 4} {
		if got := Find(row, leaf); got != want {
			t.Errorf("Find(%d) = %d, want %d", leaf, got, want)
		}
	}
	if from, to := Span(row, 0); from != 0 || to != 3 {
		t.Errorf("Span(0) = %d,%d", from, to)
	}
	if Find(row, 5) != -1 || Find(row[:3], 1) != -1 || Find(nil, 0) != -1 {
		t.Error("Find found what is not there")
	}
	if text, ok := StringAt(row, &s.Leaves()[1]); !ok || text != "q" {
		t.Errorf("StringAt = %q, %v", text, ok)
	}
}

func TestArena(t *testing.T) {
	s := parseSchema(t, `{"name":"a","type":"string"},{"name":"f","type":{"type":"fixed","name":"f","size":2}},{"name":"n","type":["null","int"]},{"name":"e","type":"string"}`)
	buf := []byte("hello!!")
	row := Row{Bytes(buf[:5]).Level(0, 0, 0), FixedBytes(buf[5:]).Level(0, 0, 1), Null(0, 0, 2), String("").Level(0, 0, 3)}
	var a Arena
	var kept []Row
	for range 5000 {
		kept = append(kept, a.Clone(row))
	}
	copy(buf, "XXXXXXX")
	for _, k := range kept {
		if got := levels(s, k); got != "0:0/0=hello 1:0/0=!! 2:0/0=- 3:0/0=" {
			t.Fatalf("kept row is %s", got)
		}
	}
	if a.Size() < 5000*7 {
		t.Errorf("Size = %d", a.Size())
	}
	big := strings.Repeat("x", chunkBytes*2)
	if a.String(big) != big || a.Clone(nil) != nil {
		t.Error("a large string or a nil row is wrong")
	}
}
