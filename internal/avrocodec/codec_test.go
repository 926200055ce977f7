package avrocodec

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/hamba/avro/v2"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

func parse(t testing.TB, fields string) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(`{"type":"record","name":"r","fields":[` + fields + `]}`)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// everything has every type, nullability and nesting.
const everything = `{"name":"b","type":["null","boolean"]},{"name":"i","type":"int"},{"name":"l","type":["long","null"]},{"name":"f","type":["null","float"]},` +
	`{"name":"d","type":"double"},{"name":"y","type":["null","bytes"]},{"name":"s","type":["string","null"]},{"name":"x","type":["null",{"type":"fixed","name":"f3","size":3}]},` +
	`{"name":"e","type":{"type":"enum","name":"en","symbols":["A","B","C"]}},` +
	`{"name":"dec","type":["null",{"type":"fixed","name":"f5","size":5,"logicalType":"decimal","precision":10,"scale":2}]},` +
	`{"name":"db","type":{"type":"bytes","logicalType":"decimal","precision":20,"scale":4}},` +
	`{"name":"ts","type":["null",{"type":"long","logicalType":"timestamp-micros"}]},` +
	`{"name":"arr","type":["null",{"type":"array","items":["null","string"]}]},` +
	`{"name":"aa","type":{"type":"array","items":{"type":"array","items":"long"}}},` +
	`{"name":"m","type":["null",{"type":"map","values":["int","null"]}]},` +
	`{"name":"st","type":["null",{"type":"record","name":"st","fields":[{"name":"p","type":["null","string"]},{"name":"q","type":{"type":"map","values":{"type":"array","items":"double"}}}]}]},` +
	`{"name":"recs","type":{"type":"array","items":["null",{"type":"record","name":"el","fields":[{"name":"k","type":"string"},{"name":"v","type":["null","f5"]}]}]}},` +
	`{"name":"u","type":["string","null","int",{"type":"array","items":"boolean"},{"type":"record","name":"w","fields":[{"name":"value","type":["null","long"]}]}]},` +
	`{"name":"us","type":{"type":"array","items":["int","string"]}},{"name":"last","type":["null","int"]}`

// random makes a value of t; null where it may and chance says so.
func random(r *rand.Rand, t *schema.Type, depth int) any {
	if t.Nullable && r.IntN(3) == 0 {
		return nil
	}
	n := r.IntN(4) * r.IntN(2)
	switch t.Kind {
	case schema.Boolean:
		return r.IntN(2) == 0
	case schema.Int:
		return int32(r.Uint32() >> r.IntN(32))
	case schema.Long:
		return int64(r.Uint64() >> r.IntN(64))
	case schema.Float:
		return float32(r.NormFloat64())
	case schema.Double:
		return r.NormFloat64()
	case schema.String:
		return strings.Repeat("é", n) + strings.Repeat("x", r.IntN(80))
	case schema.Enum:
		return t.Symbols[r.IntN(len(t.Symbols))]
	case schema.Bytes, schema.Fixed:
		if t.Logical == schema.Decimal {
			return record.NewDecimal(int64(r.Int32())-1<<30, t.Scale)
		}
		b := make([]byte, n)
		if t.Kind == schema.Fixed {
			b = make([]byte, t.Size)
		}
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	case schema.Array:
		l := []any{}
		for range n {
			l = append(l, random(r, t.Elem, depth+1))
		}
		return l
	case schema.Map:
		l := []record.MapEntry{}
		for i := range n {
			l = append(l, record.MapEntry{Key: fmt.Sprint("k", i), Value: random(r, t.Elem, depth+1)})
		}
		return l
	case schema.Union:
		b := r.IntN(len(t.Branches))
		return record.UnionValue{Branch: b, Value: random(r, t.Branches[b], depth+1)}
	}
	return randomRecord(r, t, depth)
}

func randomRecord(r *rand.Rand, t *schema.Type, depth int) []any {
	out := make([]any, len(t.Fields))
	for i := range t.Fields {
		out[i] = random(r, t.Fields[i].Type, depth+1)
	}
	return out
}

func TestRoundTripRandom(t *testing.T) {
	s := parse(t, everything)
	r := rand.New(rand.NewPCG(1, 2))
	enc := NewValueEncoder(s)
	dec, err := NewValueDecoder(s, s)
	if err != nil {
		t.Fatal(err)
	}
	oracle, err := avro.ParseWithCache(s.String(), "", &avro.SchemaCache{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		in := randomRecord(r, s.Root(), 0)
		buf, err := enc.EncodeValue(nil, in)
		if err != nil {
			t.Fatalf("record %d: encode %v: %v", i, in, err)
		}
		out, err := dec.DecodeValue(buf)
		if err != nil {
			t.Fatalf("record %d: decode: %v", i, err)
		}
		if !reflect.DeepEqual(out, in) {
			t.Fatalf("record %d came back as\n%v\nwant\n%v", i, out, in)
		}
		// An independent decoder must take exactly these bytes.
		var tree any
		rd := avro.NewReader(nil, 0).Reset(buf)
		rd.ReadVal(oracle, &tree)
		if rd.Error != nil {
			t.Fatalf("record %d: hamba: %v", i, rd.Error)
		}
		m := tree.(map[string]any)
		if m["i"] != int(in[1].(int32)) || (in[19] == nil) != (m["last"] == nil) || len(m["aa"].([]any)) != len(in[13].([]any)) {
			t.Fatalf("record %d: hamba reads %v, want %v", i, m, in)
		}
	}
}

func TestTruncatedAtEveryByte(t *testing.T) {
	s := parse(t, everything)
	narrow := parse(t, `{"name":"last","type":["null","int"]}`)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 30 {
		buf, err := NewValueEncoder(s).EncodeValue(nil, randomRecord(r, s.Root(), 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, reader := range []*schema.Schema{s, narrow} {
			dec, err := NewDecoder(s, reader)
			if err != nil {
				t.Fatal(err)
			}
			for n := range len(buf) {
				if row, err := dec.Decode(buf[:n:n], nil); !errors.Is(err, ErrDamaged) {
					t.Fatalf("record %d cut at %d of %d: row %v, error %v", i, n, len(buf), row, err)
				}
			}
			if _, err := dec.Decode(append(buf, 0), nil); !errors.Is(err, ErrDamaged) {
				t.Fatalf("a byte too many: error %v", err)
			}
			if _, err := dec.Decode(buf, nil); err != nil {
				t.Fatalf("after errors: %v", err)
			}
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ fields, bytes string }{
		"branch 2 of 2":    {`{"name":"a","type":["null","int"]}`, "\x04\x02"},
		"branch -1":        {`{"name":"a","type":["null","int"]}`, "\x01\x02"},
		"union branch":     {`{"name":"a","type":["null","int","string"]}`, "\x06\x02"},
		"boolean 2":        {`{"name":"a","type":"boolean"}`, "\x02"},
		"int of 33 bits":   {`{"name":"a","type":"int"}`, "\x80\x80\x80\x80\x20"},
		"long of 65 bits":  {`{"name":"a","type":"long"}`, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"},
		"long of 11 bytes": {`{"name":"a","type":"long"}`, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
		"length -1":        {`{"name":"a","type":"string"}`, "\x01"},
		"huge length":      {`{"name":"a","type":"string"}`, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
		"symbol 1 of 1":    {`{"name":"a","type":{"type":"enum","name":"e","symbols":["A"]}}`, "\x02"},
		"huge array":       {`{"name":"a","type":{"type":"array","items":"int"}}`, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"},
		"min count":        {`{"name":"a","type":{"type":"array","items":"int"}}`, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00"},
		"block size":       {`{"name":"a","type":{"type":"array","items":"int"}}`, "\x01\x04\x02\x00"},
		"array without 0":  {`{"name":"a","type":{"type":"array","items":"int"}}`, "\x02\x02"},
	} {
		s := parse(t, c.fields)
		dec, err := NewDecoder(s, s)
		if err != nil {
			t.Fatal(err)
		}
		if row, err := dec.Decode([]byte(c.bytes), nil); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: row %v, error %v, want damage", name, row, err)
		}
	}
}

func TestSizedBlocks(t *testing.T) {
	s := parse(t, `{"name":"a","type":{"type":"array","items":"int"}},{"name":"b","type":"int"}`)
	buf := []byte("\x03\x04\x02\x04\x02\x06\x00\x0a") // a sized block of 1,2 then a plain one of 3
	dec, err := NewValueDecoder(s, s)
	if err != nil {
		t.Fatal(err)
	}
	v, err := dec.DecodeValue(buf)
	if want := []any{[]any{int32(1), int32(2), int32(3)}, int32(5)}; err != nil || !reflect.DeepEqual(v, want) {
		t.Errorf("sized blocks = %v, %v, want %v", v, err, want)
	}
	only := parse(t, `{"name":"b","type":"int"}`)
	skip, err := NewValueDecoder(s, only)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := skip.DecodeValue(buf); err != nil || v[0] != int32(5) {
		t.Errorf("over a skipped array = %v, %v", v, err)
	}
}

func TestProjection(t *testing.T) {
	w := parse(t, `{"name":"old","type":["null","int"]},{"name":"drop","type":{"type":"map","values":"string"}},{"name":"s","type":["null",{"type":"record","name":"s","fields":[{"name":"x","type":"float"},{"name":"gone","type":["int","null"]}]}]},`+
		`{"name":"l","type":{"type":"array","items":{"type":"record","name":"e","fields":[{"name":"k","type":"string"}]}}},{"name":"req","type":["null","string"]}`)
	r := parse(t, `{"name":"added","type":["null","string"],"default":null},{"name":"l","type":["null",{"type":"array","items":{"type":"record","name":"e","fields":[{"name":"n","type":["null","long"]},{"name":"k","type":["null","string"]},{"name":"d","type":"int","default":7}]}}]},`+
		`{"name":"s","type":["null",{"type":"record","name":"s","fields":[{"name":"new","type":{"type":"array","items":"int"},"default":[]},{"name":"x","type":["null","double"]}]}]},{"name":"now","type":["null","string"],"aliases":["old"]},{"name":"req","type":"string"},{"name":"dec","type":{"type":"bytes","logicalType":"decimal","precision":4,"scale":1},"default":"\u0001"}`)
	enc := NewValueEncoder(w)
	dec, err := NewValueDecoder(w, r)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ in, want []any }{
		"full": {
			[]any{int32(-3), []record.MapEntry{{Key: "a", Value: "b"}}, []any{float32(0.1), int32(1)}, []any{[]any{"p"}, []any{"q"}}, "here"},
			[]any{nil, []any{[]any{nil, "p", int32(7)}, []any{nil, "q", int32(7)}}, []any{[]any{}, 0.1}, "-3", "here", record.NewDecimal(1, 1)},
		},
		"nulls": {
			[]any{nil, []record.MapEntry{}, nil, []any{}, "h"},
			[]any{nil, []any{}, nil, nil, "h", record.NewDecimal(1, 1)},
		},
	} {
		buf, err := enc.EncodeValue(nil, c.in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dec.DecodeValue(buf)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: read as %v, %v, want %v", name, got, err, c.want)
		}
	}
	buf, err := enc.EncodeValue(nil, []any{nil, []record.MapEntry{}, nil, []any{}, nil})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := dec.DecodeValue(buf); err == nil || !strings.Contains(err.Error(), "field req") || errors.Is(err, ErrDamaged) {
		t.Errorf("null in a required field: %v, error %v, want one that names it and is no damage", v, err)
	}
	if _, err := NewDecoder(parse(t, `{"name":"a","type":"long"}`), parse(t, `{"name":"a","type":"int"}`)); err == nil || !strings.Contains(err.Error(), "field a") {
		t.Errorf("long as int: error %v", err)
	}
}

func TestUnionProjection(t *testing.T) {
	w := parse(t, `{"name":"u","type":["null","int",{"type":"record","name":"x.W","fields":[{"name":"value","type":"string"}]}]}`)
	r := parse(t, `{"name":"u","type":[{"type":"record","name":"y.W","fields":[{"name":"value","type":"string"},{"name":"more","type":["null","int"]}]},"null","boolean","int"]}`)
	dec, err := NewValueDecoder(w, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ in, want any }{
		{nil, nil}, {record.UnionValue{Branch: 0, Value: int32(4)}, record.UnionValue{Branch: 2, Value: int32(4)}},
		{record.UnionValue{Branch: 1, Value: []any{"q"}}, record.UnionValue{Branch: 0, Value: []any{"q", nil}}},
	} {
		buf, err := NewValueEncoder(w).EncodeValue(nil, []any{c.in})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := dec.DecodeValue(buf); err != nil || !reflect.DeepEqual(got[0], c.want) {
			t.Errorf("%v read as %v, %v, want %v", c.in, got, err, c.want)
		}
	}
	if _, err := NewDecoder(r, w); err == nil || !strings.Contains(err.Error(), "lacks the branch boolean") {
		t.Errorf("a union without a branch: error %v", err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	s := parse(t, `{"name":"a","type":"string"},{"name":"l","type":["null",{"type":"array","items":"int"}]},{"name":"u","type":["int","string"]}`)
	good := record.Row{record.String("x").Level(0, 0, 0), record.Int32(1).Level(0, 2, 1), record.Int32(2).Level(1, 2, 1), record.Int32(5).Level(0, 1, 2), record.Null(0, 0, 3)}
	enc := NewEncoder(s)
	if b, err := enc.EncodeRow(nil, good); err != nil || string(b) != "\x02x\x02\x04\x02\x04\x00\x00\x0a" {
		t.Fatalf("EncodeRow = %q, %v", b, err)
	}
	for name, row := range map[string]record.Row{
		"null string":  {record.Value{}.Level(0, 0, 0), good[1], good[3], good[4]},
		"wrong kind":   {record.Int64(1).Level(0, 0, 0), good[1], good[3], good[4]},
		"short":        good[:1],
		"no values":    nil,
		"too many":     append(append(record.Row{}, good...), record.Null(0, 0, 4)),
		"two rows":     {good[0], good[0], good[1], good[3], good[4]},
		"no member":    {good[0], good[1], record.Null(0, 0, 2), good[4]},
		"both members": {good[0], good[1], good[3], record.String("q").Level(0, 1, 3)},
	} {
		if b, err := enc.EncodeRow([]byte("keep"), row); err == nil || string(b) != "keep" {
			t.Errorf("%s: %q, error %v, want an error and the bytes before", name, b, err)
		}
	}
	if b, err := enc.EncodeRow(nil, good); err != nil || len(b) != 9 {
		t.Errorf("after errors: %q, %v", b, err)
	}
}

func FuzzDecode(f *testing.F) {
	s := parse(f, everything)
	r := rand.New(rand.NewPCG(5, 6))
	for range 5 {
		buf, err := NewValueEncoder(s).EncodeValue(nil, randomRecord(r, s.Root(), 0))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(buf)
	}
	dec, err := NewDecoder(s, s)
	if err != nil {
		f.Fatal(err)
	}
	enc := NewEncoder(s)
	f.Fuzz(func(t *testing.T, buf []byte) {
		row, err := dec.Decode(buf, nil)
		if err != nil {
			return
		}
		again, err := enc.EncodeRow(nil, row)
		if err != nil {
			t.Fatalf("a decoded row does not encode: %v", err)
		}
		back, err := dec.Decode(again, nil)
		if err != nil || len(back) != len(row) {
			t.Fatalf("encoded again it does not decode: %v", err)
		}
		for i := range row {
			if row[i].GoString() != back[i].GoString() {
				t.Fatalf("value %d: %#v became %#v", i, row[i], back[i])
			}
		}
	})
}

// A row decoded under another schema and a row decoded under its own and then projected must be the same, for random changes of a schema.
func TestDecodeAgreesWithProjector(t *testing.T) {
	w := parse(t, everything)
	r := rand.New(rand.NewPCG(9, 10))
	enc, plainDec := NewValueEncoder(w), mustDecoder(t, w, w)
	for range 60 {
		reader := mutate(t, r, w)
		dec := mustDecoder(t, w, reader)
		proj, err := record.NewProjector(reader, w)
		if err != nil {
			t.Fatal(err)
		}
		asm := record.NewAssembler(reader)
		for range 20 {
			buf, err := enc.EncodeValue(nil, randomRecord(r, w.Root(), 0))
			if err != nil {
				t.Fatal(err)
			}
			direct, err := dec.Decode(buf, nil)
			if err != nil {
				t.Fatal(err)
			}
			own, err := plainDec.Decode(buf, nil)
			if err != nil {
				t.Fatal(err)
			}
			later, err := proj.Project(nil, own)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := fmt.Sprintf("%#v", direct), fmt.Sprintf("%#v", later); a != b {
				t.Fatalf("under %s\ndecoded   %s\nprojected %s", reader, a, b)
			}
			if _, err := asm.Assemble(nil, direct); err != nil {
				t.Fatalf("under %s: %v", reader, err)
			}
		}
	}
}

func mustDecoder(t *testing.T, w, r *schema.Schema) *Decoder {
	t.Helper()
	d, err := NewDecoder(w, r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// mutate drops, adds, reorders, promotes and relaxes fields of s at every depth.
func mutate(t *testing.T, r *rand.Rand, s *schema.Schema) *schema.Schema {
	t.Helper()
	out, err := schema.New(mutated(r, s.Root()))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func mutated(r *rand.Rand, t *schema.Type) *schema.Type {
	c := *t
	c.Nullable, c.NullFirst = c.Nullable || r.IntN(2) == 0 && c.Kind != schema.Union, true
	if c.Kind == schema.Union {
		c.NullIndex, c.Nullable = 0, true
	}
	switch c.Kind {
	case schema.Record:
		c.Nullable = t.Nullable
		c.Fields = nil
		for _, i := range r.Perm(len(t.Fields)) {
			if f := t.Fields[i]; r.IntN(5) > 0 || len(c.Fields) == 0 {
				c.Fields = append(c.Fields, schema.Field{Name: f.Name, Type: mutated(r, f.Type)})
			}
		}
		added := []schema.Field{
			{Name: "n1", Type: schema.Optional(schema.Type{Kind: schema.String})},
			{Name: "n2", Type: &schema.Type{Kind: schema.Long}, HasDefault: true, Default: 7},
			{Name: "n3", Type: schema.Optional(schema.Type{Kind: schema.Array, Elem: &schema.Type{Kind: schema.Map, Elem: &schema.Type{Kind: schema.Int}}})},
			{Name: "n4", Type: &schema.Type{Kind: schema.Array, Elem: &schema.Type{Kind: schema.String}}, HasDefault: true, Default: []any{}},
		}
		for _, f := range added[:r.IntN(len(added)+1)] {
			at := r.IntN(len(c.Fields) + 1)
			c.Fields = append(c.Fields[:at:at], append([]schema.Field{f}, c.Fields[at:]...)...)
		}
	case schema.Array, schema.Map:
		c.Elem = mutated(r, t.Elem)
	case schema.Int:
		c.Kind = []schema.Kind{schema.Int, schema.Long, schema.Double, schema.String}[r.IntN(4)]
	case schema.Float:
		c.Kind = []schema.Kind{schema.Float, schema.Double}[r.IntN(2)]
	case schema.Fixed:
		if c.Logical != schema.Decimal {
			c.Kind, c.Name, c.Namespace, c.Size = schema.Bytes, "", "", 0
		} else {
			c.Name, c.Namespace = "", ""
		}
	}
	return &c
}
