package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestProjectSources(t *testing.T) {
	from := mustParse(t, rec(`{"name":"id","type":"string"},{"name":"n","type":["null","int"]},{"name":"s","type":["null",{"type":"record","name":"s","fields":[{"name":"l","type":["null",{"type":"array","items":"int"}]},{"name":"x","type":"float"}]}]},`+
		`{"name":"recs","type":{"type":"array","items":["null",{"type":"record","name":"e","fields":[{"name":"k","type":"string"}]}]}}`))
	to := mustParse(t, rec(`{"name":"new","type":["null","string"]},{"name":"id","type":["null","string"]},{"name":"m","type":"long","aliases":["n"]},`+
		`{"name":"s","type":["null",{"type":"record","name":"s","fields":[{"name":"a","type":"boolean","default":true},{"name":"l","type":{"type":"array","items":["null","long"]}},{"name":"x","type":["null","double"]}]}]},`+
		`{"name":"recs","type":["null",{"type":"array","items":["null",{"type":"record","name":"e","fields":[{"name":"z","type":["null","int"]},{"name":"k","type":"string"}]}]}]}`))
	p, err := Project(to, from)
	if err != nil {
		t.Fatal(err)
	}
	want := []LeafSource{
		{From: -1, Like: -1},
		{From: 0, DefMap: []int{1}, Like: -1},
		{From: 1, DefMap: []int{-1, 0}, Convert: IntToLong, Like: -1},
		// s.a follows s.x, the leaf of s without lists: null where s is null, else true
		{From: -1, Default: true, Like: 3, DefMap: []int{0, 1}, FillDef: 1},
		// s.l: s null, l null (to cannot), l empty, element
		{From: 2, DefMap: []int{0, -1, 1, 3}, Convert: IntToLong, Like: -1},
		{From: 3, DefMap: []int{0, 2}, Convert: FloatToDouble, Like: -1},
		// recs.z follows recs.k: empty list, null element, element
		{From: -1, Like: 4, LikeRep: 1, DefMap: []int{1, 2, 3}, FillDef: 3},
		{From: 4, DefMap: []int{1, 2, 3}, Like: -1},
	}
	for i := range want {
		if !reflect.DeepEqual(p.Leaves[i], want[i]) {
			t.Errorf("leaf %s = %+v, want %+v", strings.Join(to.Leaves()[i].Path, "."), p.Leaves[i], want[i])
		}
	}
	if p.Identity() {
		t.Error("a changed schema is called identical")
	}
	same, err := Project(to, mustParse(t, to.String()))
	if err != nil || !same.Identity() {
		t.Errorf("the same schema is not identical: %v", err)
	}
	if err := p.NullError(4); !strings.Contains(err.Error(), "s.l.list.element") {
		t.Errorf("NullError = %v", err)
	}
}

func TestProjectRefuses(t *testing.T) {
	for name, c := range map[string]struct{ to, from, want string }{
		"no default":      {`{"name":"a","type":"int"},{"name":"b","type":"int"}`, `{"name":"a","type":"int"}`, "field b"},
		"narrower":        {`{"name":"a","type":"int"}`, `{"name":"a","type":"long"}`, "field a: long cannot be read as int"},
		"nested":          {`{"name":"s","type":{"type":"record","name":"s","fields":[{"name":"x","type":"int"}]}}`, `{"name":"s","type":{"type":"record","name":"s","fields":[{"name":"x","type":"string"}]}}`, "field s.x"},
		"in a list":       {`{"name":"a","type":{"type":"array","items":"int"}}`, `{"name":"a","type":{"type":"array","items":"double"}}`, "field a.list.element"},
		"in a map":        {`{"name":"a","type":{"type":"map","values":"int"}}`, `{"name":"a","type":{"type":"map","values":"bytes"}}`, "field a.key_value.value"},
		"shape":           {`{"name":"a","type":{"type":"map","values":"int"}}`, `{"name":"a","type":{"type":"array","items":"int"}}`, "field a"},
		"fixed size":      {`{"name":"a","type":{"type":"fixed","name":"f","size":2}}`, `{"name":"a","type":{"type":"fixed","name":"f","size":3}}`, "field a"},
		"list default":    {`{"name":"a","type":{"type":"array","items":"int"},"default":[1]}`, `{"name":"z","type":"int"}`, "only an empty one"},
		"wrong default":   {`{"name":"a","type":"int","default":"x"}`, `{"name":"z","type":"int"}`, "field a"},
		"timestamp date":  {`{"name":"a","type":{"type":"long","logicalType":"timestamp-micros"}}`, `{"name":"a","type":{"type":"int","logicalType":"date"}}`, "field a"},
		"time timestamp":  {`{"name":"a","type":{"type":"long","logicalType":"timestamp-millis"}}`, `{"name":"a","type":{"type":"long","logicalType":"time-micros"}}`, "field a"},
		"date to decimal": {`{"name":"a","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":0}}`, `{"name":"a","type":{"type":"int","logicalType":"date"}}`, "field a"},
	} {
		_, err := Project(mustParse(t, rec(c.to)), mustParse(t, rec(c.from)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestLeafDefault(t *testing.T) {
	num := func(s string) json.Number { return json.Number(s) }
	for _, c := range []struct {
		t    Type
		def  any
		want any // "error": refused
	}{
		{Type{Kind: Int}, num("7"), int32(7)}, {Type{Kind: Int}, num("2147483648"), "error"}, {Type{Kind: Int}, num("1.5"), "error"},
		{Type{Kind: Long}, num("9007199254740993"), int64(9007199254740993)}, {Type{Kind: Double}, num("1e3"), 1000.0}, {Type{Kind: Float}, num("0.5"), float32(0.5)},
		{Type{Kind: Float}, num("1e300"), "error"}, {Type{Kind: Bytes}, "\u00ff\u0001", []byte{0xff, 1}}, {Type{Kind: Bytes}, "\u0100", "error"},
		{Type{Kind: Fixed, Size: 2}, "ab", []byte("ab")}, {Type{Kind: Fixed, Size: 3}, "ab", "error"}, {Type{Kind: String}, "é", "é"},
		{Type{Kind: Boolean}, true, true}, {Type{Kind: Boolean}, "true", "error"}, {Type{Kind: Int}, nil, "error"}, {Type{Kind: Int, Nullable: true}, nil, nil},
	} {
		got, err := LeafDefault(&c.t, c.def)
		if c.want == "error" {
			if err == nil {
				t.Errorf("LeafDefault(%s, %v) = %v, want an error", c.t.Kind, c.def, got)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("LeafDefault(%s, %v) = %v, %v, want %v", c.t.Kind, c.def, got, err, c.want)
		}
	}
}

func TestEvolve(t *testing.T) {
	dec := func(p, s, size int) string {
		return fmt.Sprintf(`{"type":"fixed","name":"f","size":%d,"logicalType":"decimal","precision":%d,"scale":%d}`, size, p, s)
	}
	one := func(typ string) string { return `{"name":"a","type":` + typ + `}` }
	nullable := func(typ string) string { return `{"name":"a","type":["null",` + typ + `],"default":null}` }
	for name, c := range map[string]struct {
		table, in, want string // want "": as the table; starting with "!": an error with this text
	}{
		"same":               {one(`"int"`), one(`"int"`), ""},
		"wider incoming":     {one(`"int"`), one(`"long"`), one(`"long"`)},
		"narrower incoming":  {one(`"long"`), one(`"int"`), ""},
		"int and float":      {one(`"int"`), one(`"float"`), one(`"double"`)},
		"float and long":     {one(`"float"`), one(`"long"`), one(`"double"`)},
		"float and double":   {one(`"float"`), one(`"double"`), one(`"double"`)},
		"int to string":      {one(`"int"`), one(`"string"`), one(`"string"`)},
		"string takes int":   {one(`"string"`), one(`"int"`), ""},
		"bytes take string":  {one(`"bytes"`), one(`"string"`), ""},
		"becomes nullable":   {one(`"int"`), nullable(`"int"`), nullable(`"int"`)},
		"stays nullable":     {nullable(`"int"`), one(`"int"`), ""},
		"nullable and wider": {nullable(`"int"`), one(`"long"`), nullable(`"long"`)},
		"added":              {one(`"int"`), one(`"int"`) + `,{"name":"b","type":["string","null"]}`, one(`"int"`) + `,{"name":"b","type":["null","string"],"default":null}`},
		"added with default": {one(`"int"`), one(`"int"`) + `,{"name":"b","type":"int","default":3}`, one(`"int"`) + `,{"name":"b","type":"int","default":3}`},
		"added required":     {one(`"int"`), one(`"int"`) + `,{"name":"b","type":"string"}`, "!field b"},
		"missing":            {one(`"int"`) + `,{"name":"b","type":["null","string"]}`, one(`"int"`), "!field b: the incoming rows lack it"},
		"reordered":          {one(`"int"`) + `,{"name":"b","type":"int"}`, `{"name":"b","type":"int"},` + one(`"int"`), ""},
		"string to int":      {one(`"int"`), one(`"boolean"`), "!field a: the incoming boolean does not fit the table's int"},
		"wider decimal":      {one(dec(5, 2, 3)), one(dec(10, 3, 5)), one(dec(10, 3, 5))},
		"narrower decimal":   {one(dec(10, 3, 5)), one(dec(5, 2, 3)), ""},
		"crossed decimals":   {one(dec(5, 0, 3)), one(dec(5, 4, 3)), one(dec(9, 4, 4))},
		"too wide":           {one(dec(38, 0, 16)), one(dec(38, 4, 16)), "!42 digits"},
		"millis to micros":   {one(`{"type":"long","logicalType":"timestamp-millis"}`), one(`{"type":"long","logicalType":"timestamp-micros"}`), one(`{"type":"long","logicalType":"timestamp-micros"}`)},
		"micros take millis": {one(`{"type":"long","logicalType":"timestamp-micros"}`), one(`{"type":"long","logicalType":"timestamp-millis"}`), ""},
		"in a list":          {one(`{"type":"array","items":{"type":"record","name":"e","fields":[{"name":"x","type":"int"}]}}`), one(`{"type":"array","items":{"type":"record","name":"e","fields":[{"name":"n","type":["null","int"]},{"name":"x","type":"long"}]}}`), one(`{"type":"array","items":{"type":"record","name":"e","fields":[{"name":"x","type":"long"},{"name":"n","type":["null","int"],"default":null}]}}`)},
		"map values":         {one(`{"type":"map","values":"int"}`), one(`{"type":"map","values":["null","int"]}`), one(`{"type":"map","values":["null","int"]}`)},
		"shape":              {one(`{"type":"map","values":"int"}`), one(`"int"`), "!field a"},
		"list of other":      {one(`{"type":"array","items":"int"}`), one(`{"type":"array","items":"boolean"}`), "!field a.list.element"},
		"string and date":    {one(`{"type":"int","logicalType":"date"}`), one(`"string"`), one(`"string"`)},
	} {
		table, in := mustParse(t, rec(c.table)), mustParse(t, rec(c.in)).WithMetaFields()
		got, err := Evolve(table, in)
		if msg, fails := strings.CutPrefix(c.want, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), msg) {
				t.Errorf("%s: error %v, want one with %q", name, err, msg)
			}
			continue
		}
		want := rec(c.want)
		if c.want == "" {
			want = table.String()
		}
		if err != nil || !got.Equal(mustParse(t, want)) {
			t.Errorf("%s: Evolve = %v, %v, want %s", name, got, err, want)
			continue
		}
		// Rows of both must be readable under the result, else rows that are there would be lost.
		for _, from := range []*Schema{table, in} {
			if _, err := Project(got, from); err != nil {
				t.Errorf("%s: rows of %s: %v", name, from, err)
			}
		}
		if again, err := Evolve(got, in); err != nil || again != got {
			t.Errorf("%s: a second write changes the schema again: %v, %v", name, again, err)
		}
	}
	table := mustParse(t, rec(one(`"int"`)+`,{"name":"b","type":["null","string"]}`))
	if got, err := EvolveWith(table, mustParse(t, rec(one(`"int"`))), MissingNull); err != nil || got != table {
		t.Errorf("MissingNull: %v, %v", got, err)
	}
	if _, err := EvolveWith(table, mustParse(t, rec(`{"name":"b","type":"string"}`)), MissingNull); err == nil || !strings.Contains(err.Error(), "field a") {
		t.Errorf("MissingNull of a required field: %v", err)
	}
}
