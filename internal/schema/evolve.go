package schema

import (
	"fmt"
	"slices"
)

// maxPrecision is the largest decimal precision that Java engines hold.
const maxPrecision = 38

// Missing says what Evolve does with a field of the table that the incoming schema lacks.
type Missing uint8

// The choices.
const (
	MissingRefuse Missing = iota // an error, as Hudi 1.2 does by default (data.md §12.2)
	MissingNull                  // allowed where the field is nullable or has a default: the rows get that
)

// Evolve returns the schema that a table has after a write with rows of incoming: the table's fields in their order, widened where the
// incoming type is wider, nullable where either is, then the fields that only incoming has, each at the end of its record. Meta columns do not
// count and are not in the result. It is table itself where nothing changes. A change that old or new rows could not follow is an error that names the field.
func Evolve(table, incoming *Schema) (*Schema, error) {
	return EvolveWith(table, incoming, MissingRefuse)
}

// EvolveWith is Evolve with a choice about missing fields.
func EvolveWith(table, incoming *Schema, missing Missing) (*Schema, error) {
	table, incoming = table.WithoutMetaFields(), incoming.WithoutMetaFields()
	e := evolver{missing: missing}
	root, err := e.record(table.root, incoming.root, "")
	if err != nil {
		return nil, fmt.Errorf("change the table's schema: %w", err)
	}
	if equalTypes(root, table.root) {
		return table, nil
	}
	s, err := New(root)
	if err != nil {
		return nil, fmt.Errorf("change the table's schema: %w", err)
	}
	return s, nil
}

type evolver struct{ missing Missing }

func (e evolver) record(table, in *Type, path string) (*Type, error) {
	out := *table
	out.Fields = make([]Field, 0, len(table.Fields)+len(in.Fields))
	for i := range table.Fields {
		f := table.Fields[i]
		at := fieldPath(path, f.Name)
		g := in.field(f.Name)
		if g == nil {
			if e.missing == MissingRefuse {
				return nil, fmt.Errorf("field %s: the incoming rows lack it", at)
			}
			if !f.Type.Nullable && !f.HasDefault {
				return nil, fmt.Errorf("field %s: the incoming rows lack it, and it is neither nullable nor has it a default", at)
			}
			out.Fields = append(out.Fields, f)
			continue
		}
		t, err := e.merge(f.Type, g.Type, at)
		if err != nil {
			return nil, err
		}
		f.Type = t
		fixDefault(&f)
		out.Fields = append(out.Fields, f)
	}
	for i := range in.Fields {
		g := in.Fields[i]
		if table.field(g.Name) != nil {
			continue
		}
		if !g.Type.Nullable && !g.HasDefault {
			return nil, fmt.Errorf("field %s: a new field must be nullable or have a default, else the rows that are there could not be read", fieldPath(path, g.Name))
		}
		g.Type = nullFirst(g.Type)
		fixDefault(&g)
		out.Fields = append(out.Fields, g)
	}
	return &out, nil
}

func fieldPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// fixDefault replaces a default that the evolved type no longer allows: a union that starts with null has the default null, and a number is no
// default of a string.
func fixDefault(f *Field) {
	switch {
	case f.Type.Nullable && f.Type.NullFirst:
		f.HasDefault, f.Default = true, nil
	case f.HasDefault && f.Type.Primitive():
		if _, err := LeafDefault(f.Type, f.Default); err != nil {
			f.HasDefault, f.Default = false, nil
		}
	}
}

// nullFirst returns t with null as the first branch, as Hudi writes unions, here and below.
func nullFirst(t *Type) *Type {
	c := *t
	if c.Nullable {
		c.NullFirst, c.NullIndex = true, 0
	}
	switch c.Kind {
	case Record:
		c.Fields = slices.Clone(c.Fields)
		for i := range c.Fields {
			c.Fields[i].Type = nullFirst(c.Fields[i].Type)
			fixDefault(&c.Fields[i])
		}
	case Array, Map:
		c.Elem = nullFirst(c.Elem)
	case Union:
		c.Branches = slices.Clone(c.Branches)
		for i := range c.Branches {
			c.Branches[i] = nullFirst(c.Branches[i])
		}
	}
	return &c
}

// merge is the narrowest type that holds the values of both.
func (e evolver) merge(table, in *Type, path string) (*Type, error) {
	var out *Type
	var err error
	switch {
	case table.Kind == Record && in.Kind == Record:
		out, err = e.record(table, in, path)
	case table.Kind == in.Kind && (table.Kind == Array || table.Kind == Map):
		c := *table
		suffix := ".list.element"
		if table.Kind == Map {
			suffix = ".key_value.value"
		}
		c.Elem, err = e.merge(table.Elem, in.Elem, path+suffix)
		out = &c
	case table.Primitive() && in.Primitive():
		out, err = widest(table, in)
		if err != nil {
			err = fmt.Errorf("field %s: %w", path, err)
		}
	case table.Kind == Union && equalUnions(table, in):
		c := *table
		out = &c
	default:
		err = fmt.Errorf("field %s: the incoming %s does not fit the table's %s", path, in.describe(), table.describe())
	}
	if err != nil {
		return nil, err
	}
	if out.Nullable || in.Nullable {
		c := *out
		c.Nullable, c.NullFirst, c.NullIndex = true, true, 0
		out = &c
	}
	return out, nil
}

func equalUnions(a, b *Type) bool {
	if b.Kind != Union || len(a.Branches) != len(b.Branches) {
		return false
	}
	for i := range a.Branches {
		if !equalTypes(a.Branches[i], b.Branches[i]) {
			return false
		}
	}
	return true
}

// widest is the table's type where the incoming values fit it, else the type both can be read as.
func widest(table, in *Type) (*Type, error) {
	if table.Logical == Decimal && in.Logical == Decimal {
		return widestDecimal(table, in)
	}
	if whole(table) && in.Kind == Float || table.Kind == Float && whole(in) {
		// Avro would let whole numbers become float, which holds 24 bits of them.
		return withoutForm(table, Double), nil
	}
	down, errDown := Convert(table, in)
	up, errUp := Convert(in, table)
	switch {
	case errDown == nil && !lossy(down):
		return table, nil
	case errUp == nil && !lossy(up):
		c := *in
		c.Nullable, c.NullFirst = table.Nullable, table.NullFirst
		if c.named() { // a fixed keeps the name that the table's text has for it
			c.Name, c.Namespace = "", ""
		}
		return &c, nil
	}
	return nil, fmt.Errorf("the incoming %s does not fit the table's %s", in.describe(), table.describe())
}

func whole(t *Type) bool { return (t.Kind == Int || t.Kind == Long) && t.Logical == NoLogical }

// lossy conversions are for reading what another engine wrote, not for new schemas.
func lossy(c Conversion) bool {
	switch c {
	case MicrosToMillis, NanosToMicros, NanosToMillis, StringToDate, ToDecimal, Rescale, LongToFloat, IntToFloat:
		return true
	}
	return false
}

// withoutForm is t as another kind without logical type.
func withoutForm(t *Type, k Kind) *Type {
	return &Type{Kind: k, Nullable: t.Nullable, NullFirst: t.NullFirst}
}

// widestDecimal holds the whole digits and the fraction digits of both.
func widestDecimal(table, in *Type) (*Type, error) {
	scale := max(table.Scale, in.Scale)
	precision := max(table.Precision-table.Scale, in.Precision-in.Scale) + scale
	if precision > maxPrecision {
		return nil, fmt.Errorf("a decimal for %s and %s would need %d digits, more than %d", table.describe(), in.describe(), precision, maxPrecision)
	}
	if scale == table.Scale && precision <= table.Precision {
		return table, nil
	}
	c := *table
	c.Precision, c.Scale = precision, scale
	if c.Kind == Fixed {
		c.Size = max(c.Size, DecimalSize(precision))
	}
	return &c, nil
}
