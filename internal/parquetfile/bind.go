package parquetfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hudifs/hudifs/internal/schema"
)

// binding ties a leaf of the file's row schema to its column.
type binding struct {
	column int
	levels []int      // the column's definition level → the leaf's; -1 cannot occur
	decode conversion // from the physical value
}

// bindSchema finds the row schema of a file: the Avro schema of the footer, corrected where the columns say otherwise, or one derived from
// the columns (data.md §2.2, §2.3). Names, nesting and annotations of the columns win over the Avro text; the Avro text tells what the
// columns cannot: enum symbols, names of records and fixed types, defaults, docs, the nullability of elements of old two-level lists.
func bindSchema(t *fileTree, avroText string, legacy legacyCalendar) (*schema.Schema, []binding, error) {
	var hint *schema.Schema
	if avroText != "" {
		// An Avro text that cannot be read is not a reason to refuse columns that can.
		hint, _ = schema.Parse(avroText)
	}
	b := &binder{legacy: legacy}
	at := place{levels: []int{0}}
	name := avroRootName(t.root.name)
	root := &schema.Type{Kind: schema.Record, Name: name[len(name)-1], Namespace: strings.Join(name[:len(name)-1], ".")}
	at.path = name
	var hintRoot *schema.Type
	if hint != nil {
		hintRoot = hint.Root()
		root.Name, root.Namespace, root.Doc, root.Aliases, root.Props = hintRoot.Name, hintRoot.Namespace, hintRoot.Doc, hintRoot.Aliases, hintRoot.Props
	} else {
		b.amended = true
	}
	if err := b.fields(root, t.root.kids, hintRoot, at); err != nil {
		return nil, nil, err
	}
	s := hint
	if b.amended {
		var err error
		if s, err = schema.New(root); err != nil {
			return nil, nil, fmt.Errorf("derive a schema from the columns: %w", err)
		}
	}
	if len(s.Leaves()) != len(b.leaves) {
		return nil, nil, fmt.Errorf("the schema has %d leaves where the file binds %d", len(s.Leaves()), len(b.leaves))
	}
	return s, b.leaves, nil
}

// avroRootName splits a message name into parts that Avro accepts.
func avroRootName(s string) []string {
	parts := strings.Split(s, ".")
	for i, p := range parts {
		parts[i] = avroName(p)
	}
	return parts
}

// avroName makes an Avro name of any string.
func avroName(s string) string {
	out := []byte(s)
	for i, c := range out {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			out[i] = '_'
		}
	}
	if len(out) == 0 || out[0] >= '0' && out[0] <= '9' {
		out = append([]byte{'_'}, out...)
	}
	return string(out)
}

// binder walks columns and Avro hint together. amended is set where the outcome differs from the hint.
type binder struct {
	leaves  []binding
	amended bool
	legacy  legacyCalendar
}

// place is where the walk stands: the path for names and messages, and what the column's definition levels so far mean in the row.
type place struct {
	path   []string
	levels []int
}

func (at place) top() int { return at.levels[len(at.levels)-1] }

// down is a level that both sides have.
func (at place) down() place {
	at.levels = append(slices.Clone(at.levels), at.top()+1)
	return at
}

// only is a level that the row has and the column has not: whatever is here is present.
func (at place) only() place {
	at.levels = slices.Clone(at.levels)
	at.levels[len(at.levels)-1]++
	return at
}

func (at place) named(n string) place {
	at.path = append(slices.Clone(at.path), n)
	return at
}

func (at place) errorf(format string, args ...any) error {
	return fmt.Errorf("column %s: %w", strings.Join(at.path[1:], "."), fmt.Errorf(format, args...))
}

// fields binds the children of a group to the fields of a record.
func (b *binder) fields(dst *schema.Type, kids []*node, hint *schema.Type, at place) error {
	if len(kids) == 0 {
		return at.errorf("a group without columns has no rows to read")
	}
	if hint != nil && len(hint.Fields) != len(kids) {
		b.amended = true
	}
	seen := make(map[string]bool, len(kids))
	for i, k := range kids {
		if seen[k.name] {
			return at.errorf("there are two columns called %q", k.name)
		}
		seen[k.name] = true
		f := schema.Field{Name: k.name}
		var h *schema.Type
		if hf := fieldNamed(hint, k.name); hf != nil {
			f, h = *hf, hf.Type
			if i >= len(hint.Fields) || &hint.Fields[i] != hf {
				b.amended = true
			}
		}
		t, err := b.field(k, h, at.named(k.name))
		if err != nil {
			return err
		}
		if h == nil && t.Nullable {
			f.HasDefault = true
		}
		if h != nil && t != h && f.HasDefault && f.Default != nil {
			// The default was written for another type.
			f.HasDefault, f.Default = t.Nullable, nil
		}
		f.Type = t
		dst.Fields = append(dst.Fields, f)
	}
	return nil
}

func fieldNamed(t *schema.Type, name string) *schema.Field {
	if t == nil || t.Kind != schema.Record {
		return nil
	}
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return &t.Fields[i]
		}
	}
	return nil
}

// field binds one node with its repetition. It returns hint itself where the hint fits.
func (b *binder) field(n *node, hint *schema.Type, at place) (*schema.Type, error) {
	if n.rep == repRepeated {
		// A repeated field outside a LIST group is a list of its own, never null (the oldest writers and protobuf).
		var h *schema.Type
		if hint != nil && hint.Kind == schema.Array && !hint.Nullable {
			h = hint.Elem
		}
		return b.list(n, n, h, hint, at)
	}
	nullable := n.rep == repOptional
	switch {
	case nullable:
		at = at.down()
	case hint != nil && hint.Nullable:
		at = at.only()
	}
	t, err := b.value(n, hint, at)
	if err != nil {
		return nil, err
	}
	return b.withNull(t, hint, nullable || hint != nil && hint.Nullable), nil
}

// withNull returns t as it must be: the hint itself where t came back as the hint and the nullability is the same.
func (b *binder) withNull(t, hint *schema.Type, nullable bool) *schema.Type {
	if t.Nullable == nullable && t == hint {
		return t
	}
	c := *t
	if t != hint || !hint.Nullable {
		c.NullFirst = nullable
	}
	c.Nullable = nullable
	b.amended = true
	return &c
}

// value binds a node, its nullability apart.
func (b *binder) value(n *node, hint *schema.Type, at place) (*schema.Type, error) {
	if n.leaf() {
		t, conv, err := b.leaf(n, hint, at)
		if err != nil {
			return nil, err
		}
		b.leaves = append(b.leaves, binding{column: n.column, levels: at.levels, decode: conv})
		return t, nil
	}
	switch {
	case n.isList():
		r, e, err := n.listElement()
		if err != nil {
			return nil, at.errorf("%w", err)
		}
		var h *schema.Type
		if hint != nil && hint.Kind == schema.Array {
			h = hint.Elem
			// As parquet-avro does: a repeated group that matches the Avro element record is the element (data.md §2.4).
			if r != e && h.Kind == schema.Record && fieldNamed(h, e.name) != nil && len(h.Fields) == 1 && !(e.name == "element" && r.name == "list") {
				e = r
			}
		}
		return b.list(r, e, h, hint, at)
	case n.isMap():
		return b.mapping(n, hint, at)
	case hint != nil && hint.Kind == schema.Union && unionGroup(n, hint):
		return b.union(n, hint, at)
	}
	dst := &schema.Type{Kind: schema.Record, Name: avroName(n.name), Namespace: namespace(at.path)}
	if hint != nil && hint.Kind == schema.Record {
		*dst = *hint
		dst.Fields = nil
	} else {
		hint = nil
		b.amended = true
	}
	if err := b.fields(dst, n.kids, hint, at); err != nil {
		return nil, err
	}
	if hint != nil && slices.EqualFunc(dst.Fields, hint.Fields, func(x, y schema.Field) bool { return x.Name == y.Name && x.Type == y.Type }) {
		return hint, nil
	}
	b.amended = true
	return dst, nil
}

// list binds the repeated node r of a list whose element is e.
func (b *binder) list(r, e *node, elem, hint *schema.Type, at place) (*schema.Type, error) {
	at = at.down().named("element")
	var t *schema.Type
	var err error
	if e == r {
		if elem != nil && elem.Nullable {
			at = at.only()
		}
		if t, err = b.value(e, elem, at); err == nil {
			t = b.withNull(t, elem, elem != nil && elem.Nullable)
		}
	} else {
		t, err = b.field(e, elem, at)
	}
	if err != nil {
		return nil, err
	}
	if hint != nil && hint.Kind == schema.Array && t == hint.Elem {
		return hint, nil
	}
	b.amended = true
	return &schema.Type{Kind: schema.Array, Elem: t}, nil
}

func (b *binder) mapping(n *node, hint *schema.Type, at place) (*schema.Type, error) {
	_, key, value, err := n.mapEntry()
	if err != nil {
		return nil, at.errorf("%w", err)
	}
	if value == nil {
		return nil, at.errorf("maps without values are not supported")
	}
	if !key.leaf() || key.typ != physBytes {
		return nil, at.errorf("maps with keys other than text are not supported; the key is %s", key.typ)
	}
	at = at.down()
	keyAt := at.named("key")
	if key.rep == repOptional {
		// Some writers leave the key optional; a null key is damage, which the level says when it comes.
		keyAt.levels = append(slices.Clone(keyAt.levels), keyAt.top())
		keyAt.levels[len(keyAt.levels)-2] = -1
	}
	b.leaves = append(b.leaves, binding{column: key.column, levels: keyAt.levels})
	var h *schema.Type
	if hint != nil && hint.Kind == schema.Map {
		h = hint.Elem
	}
	t, err := b.field(value, h, at.named("value"))
	if err != nil {
		return nil, err
	}
	if h != nil && t == h {
		return hint, nil
	}
	b.amended = true
	return &schema.Type{Kind: schema.Map, Elem: t}, nil
}

// unionGroup reports whether a group is how parquet-avro writes a union of several types: optional children member0, member1, ….
func unionGroup(n *node, hint *schema.Type) bool {
	if len(n.kids) != len(hint.Branches) {
		return false
	}
	for i, k := range n.kids {
		if k.name != "member"+strconv.Itoa(i) || k.rep != repOptional {
			return false
		}
	}
	return true
}

func (b *binder) union(n *node, hint *schema.Type, at place) (*schema.Type, error) {
	branches := make([]*schema.Type, len(n.kids))
	same := true
	for i, k := range n.kids {
		t, err := b.value(k, hint.Branches[i], at.named(k.name).down())
		if err != nil {
			return nil, err
		}
		branches[i] = t
		same = same && t == hint.Branches[i]
	}
	if same {
		return hint, nil
	}
	b.amended = true
	c := *hint
	c.Branches = branches
	return &c, nil
}

// namespace is that of a record or fixed type named after the field at path, as Spark's Avro writer gives it (data.md §2.3): unique per field.
func namespace(path []string) string {
	parts := make([]string, 0, len(path)-1)
	for _, p := range path[:len(path)-1] {
		parts = append(parts, avroName(p))
	}
	return strings.Join(parts, ".")
}
