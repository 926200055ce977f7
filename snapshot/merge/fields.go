package merge

import (
	"bytes"
	"slices"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// fieldMap merges rows of one schema field by field, at the top level.
type fieldMap struct {
	schema *schema.Schema
	fields []field
}

type field struct {
	name     string
	from, to int // leaves
	nullable bool
	meta     bool
	text     bool                      // string or bytes
	def      func(v record.Value) bool // whether a present value equals a default that is not null; nil: there is none
	smallDef bool                      // def's type is one of which Java caches boxes
}

func newFieldMap(s *schema.Schema) *fieldMap {
	m := &fieldMap{schema: s}
	for i, f := range s.Root().Fields {
		from, to := s.LeafRange(i)
		x := field{name: f.Name, from: from, to: to, nullable: f.Type.Nullable, meta: schema.IsMetaField(f.Name)}
		x.text = f.Type.Kind == schema.String || f.Type.Kind == schema.Bytes && f.Type.Logical == schema.NoLogical
		if f.HasDefault && f.Default != nil && f.Type.Primitive() {
			x.setDefault(f)
		}
		m.fields = append(m.fields, x)
	}
	return m
}

// setDefault plans the comparison with a default that is not null.
func (x *field) setDefault(f schema.Field) {
	want, err := schema.LeafDefault(f.Type, f.Default)
	if err != nil || want == nil {
		return
	}
	v, err := record.LeafValue(want, f.Type)
	if err != nil {
		return
	}
	switch f.Type.Kind {
	case schema.Boolean:
		x.def, x.smallDef = func(w record.Value) bool { return w.Boolean() == v.Boolean() }, true
	case schema.Int:
		x.def = func(w record.Value) bool { return w.Int32() == v.Int32() }
		x.smallDef = v.Int32() >= -128 && v.Int32() <= 127
	case schema.Long:
		x.def = func(w record.Value) bool { return w.Int64() == v.Int64() }
	case schema.Float:
		x.def = func(w record.Value) bool { return w.Float() == v.Float() }
	case schema.Double:
		x.def = func(w record.Value) bool { return w.Double() == v.Double() }
	default:
		x.def = func(w record.Value) bool { return bytes.Equal(w.ByteArray(), v.ByteArray()) }
	}
}

// span returns the values of the field in row from position at on.
func (x *field) span(row record.Row, at int) (from, to int) {
	for at < len(row) && row[at].Column() < x.from {
		at++
	}
	from = at
	for at < len(row) && row[at].Column() < x.to {
		at++
	}
	return from, at
}

// null reports whether the field is null, vals being its values.
func (x *field) null(vals record.Row) bool {
	return len(vals) == 0 || x.nullable && vals[0].DefinitionLevel() == 0
}

// blend returns a row that has the fields of which fromOther says so from other, the rest from row; changed is false where nothing was taken. The
// values are shared with both.
func (m *fieldMap) blend(row, other record.Row, fromOther func(i int, mine, theirs record.Row) bool) (out record.Row, changed bool) {
	a, b := 0, 0
	for i := range m.fields {
		x := &m.fields[i]
		af, at := x.span(row, a)
		bf, bt := x.span(other, b)
		a, b = at, bt
		mine, theirs := row[af:at], other[bf:bt]
		if fromOther(i, mine, theirs) {
			if !changed {
				out = append(make(record.Row, 0, max(len(row), len(other))), row[:af]...)
				changed = true
			}
			out = append(out, theirs...)
		} else if changed {
			out = append(out, mine...)
		}
	}
	if !changed {
		return row, false
	}
	return out, true
}

// missingRequired names a field that must not be null and is not among fields, "" where there is none.
func (m *fieldMap) missingRequired(fields []int) string {
	for i := range m.fields {
		if !m.fields[i].nullable && !slices.Contains(fields, i) {
			return m.fields[i].name
		}
	}
	return ""
}

// union returns the sorted union of two field sets; nil stands for all fields.
func (m *fieldMap) union(a, b []int) []int {
	if a == nil || b == nil {
		return nil
	}
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) == len(m.fields) {
		return nil
	}
	return out
}

// setOf returns a membership test of a field set; nil stands for all.
func setOf(fields []int) func(i int) bool {
	if fields == nil {
		return func(int) bool { return true }
	}
	return func(i int) bool {
		_, ok := slices.BinarySearch(fields, i)
		return ok
	}
}
