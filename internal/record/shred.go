package record

import (
	"fmt"
	"strconv"

	"github.com/hudifs/hudifs/internal/schema"
)

// The Go value of a field is nil, or what GoValue says for primitives; []any for arrays, []MapEntry for maps, []any (by field) for records,
// UnionValue for unions of several types. Shredder and Assembler are the only places that see rows in this form.

// MapEntry is one entry of a map value, in stored order.
type MapEntry struct {
	Key   string
	Value any
}

// UnionValue is the value of a union of several types.
type UnionValue struct {
	Branch int // index among schema.Type.Branches
	Value  any // never nil
}

// Shredder turns Go values into rows of one schema. Not safe for concurrent use.
type Shredder struct {
	fields []*shredNode
	leaves int
	cols   [][]Value // values of leaves inside lists and maps, until their field is done
}

// shredNode is a node of the type tree with its levels.
type shredNode struct {
	typ      *schema.Type
	path     string
	def      int // level where the node is not null
	rep      int // repetition level of values inside the node
	leaf     int // first leaf
	end      int // one after the last leaf
	children []*shredNode
	repeated bool // some leaf below has a repetition level
}

// NewShredder plans s.
func NewShredder(s *schema.Schema) *Shredder {
	sh := &Shredder{leaves: len(s.Leaves())}
	sh.cols = make([][]Value, sh.leaves)
	leaf := 0
	for _, f := range s.Root().Fields {
		n := planShred(f.Type, f.Name, 0, 0, leaf)
		leaf = n.end
		sh.fields = append(sh.fields, n)
	}
	return sh
}

func planShred(t *schema.Type, path string, rep, def, leaf int) *shredNode {
	if t.Nullable {
		def++
	}
	n := &shredNode{typ: t, path: path, def: def, rep: rep, leaf: leaf, end: leaf + 1}
	add := func(t *schema.Type, path string, rep, def int) {
		c := planShred(t, path, rep, def, n.end)
		n.children, n.end = append(n.children, c), c.end
		n.repeated = n.repeated || c.repeated
	}
	switch t.Kind {
	case schema.Record:
		n.end = leaf
		for _, f := range t.Fields {
			add(f.Type, path+"."+f.Name, rep, def)
		}
	case schema.Union:
		n.end = leaf
		for i, b := range t.Branches {
			add(b, path+".member"+strconv.Itoa(i), rep, def+1)
		}
	case schema.Array:
		n.end, n.rep, n.repeated = leaf, rep+1, true
		add(t.Elem, path+".list.element", rep+1, def+1)
	case schema.Map:
		n.end, n.rep, n.repeated = leaf, rep+1, true
		add(mapKeyType, path+".key_value.key", rep+1, def+1)
		add(t.Elem, path+".key_value.value", rep+1, def+1)
	}
	return n
}

var mapKeyType = &schema.Type{Kind: schema.String}

// Shred appends the row of fields (one Go value per top-level field of the schema, in order) to dst. Strings and bytes are shared, not copied.
func (sh *Shredder) Shred(dst Row, fields []any) (Row, error) {
	if len(fields) != len(sh.fields) {
		return dst, fmt.Errorf("a row has %d fields where the schema has %d", len(fields), len(sh.fields))
	}
	start := len(dst)
	for i := range fields {
		var err error
		if dst, err = sh.ShredField(dst, i, fields[i]); err != nil {
			return dst[:start], err
		}
	}
	return dst, nil
}

// ShredField appends the leaf values of top-level field i alone. Fields have to be appended in order to make a row.
func (sh *Shredder) ShredField(dst Row, i int, v any) (Row, error) {
	n := sh.fields[i]
	if !n.repeated {
		return n.flat(dst, v, 0)
	}
	err := sh.nested(n, v, 0, 0)
	for c := n.leaf; c < n.end; c++ {
		if err == nil {
			dst = append(dst, sh.cols[c]...)
		}
		clear(sh.cols[c])
		sh.cols[c] = sh.cols[c][:0]
	}
	return dst, err
}

// flat appends the values of a node without lists or maps; def is the level reached above the node.
func (n *shredNode) flat(dst Row, v any, def int) (Row, error) {
	if v == nil {
		if !n.typ.Nullable {
			return dst, fmt.Errorf("field %s: null, but the field is not nullable", n.path)
		}
		for c := n.leaf; c < n.end; c++ {
			dst = append(dst, Null(0, def, c))
		}
		return dst, nil
	}
	if n.typ.Primitive() {
		p, err := LeafValue(v, n.typ)
		if err != nil {
			return dst, fmt.Errorf("field %s: %w", n.path, err)
		}
		return append(dst, p.Level(0, n.def, n.leaf)), nil
	}
	if n.typ.Kind == schema.Union {
		u, err := n.branch(v)
		if err != nil {
			return dst, err
		}
		for i, c := range n.children {
			if i == u.Branch {
				if dst, err = c.flat(dst, u.Value, n.def+1); err != nil {
					return dst, err
				}
				continue
			}
			for l := c.leaf; l < c.end; l++ {
				dst = append(dst, Null(0, n.def, l))
			}
		}
		return dst, nil
	}
	vals, err := n.record(v)
	for i := 0; i < len(vals) && err == nil; i++ {
		dst, err = n.children[i].flat(dst, vals[i], n.def)
	}
	return dst, err
}

func (n *shredNode) record(v any) ([]any, error) {
	vals, ok := v.([]any)
	if !ok || len(vals) != len(n.children) {
		return nil, fmt.Errorf("field %s: a Go %T does not fit a record of %d fields", n.path, v, len(n.children))
	}
	return vals, nil
}

func (n *shredNode) branch(v any) (UnionValue, error) {
	u, ok := v.(UnionValue)
	if !ok || u.Branch < 0 || u.Branch >= len(n.children) || u.Value == nil {
		return u, fmt.Errorf("field %s: a Go %T does not fit a union of %d types", n.path, v, len(n.children))
	}
	return u, nil
}

// nested puts the values of a node into sh.cols; rep is the repetition level of its first value, def the level reached above it.
func (sh *Shredder) nested(n *shredNode, v any, rep, def int) error {
	if v == nil {
		if !n.typ.Nullable {
			return fmt.Errorf("field %s: null, but the field is not nullable", n.path)
		}
		sh.nulls(n, rep, def)
		return nil
	}
	switch n.typ.Kind {
	case schema.Record:
		vals, err := n.record(v)
		for i := 0; i < len(vals) && err == nil; i++ {
			err = sh.nested(n.children[i], vals[i], rep, n.def)
		}
		return err
	case schema.Union:
		u, err := n.branch(v)
		for i, c := range n.children {
			if err != nil {
				break
			}
			if i == u.Branch {
				err = sh.nested(c, u.Value, rep, n.def+1)
			} else {
				sh.nulls(c, rep, n.def)
			}
		}
		return err
	case schema.Array:
		return sh.array(n, v, rep)
	case schema.Map:
		return sh.entries(n, v, rep)
	}
	p, err := LeafValue(v, n.typ)
	if err != nil {
		return fmt.Errorf("field %s: %w", n.path, err)
	}
	sh.cols[n.leaf] = append(sh.cols[n.leaf], p.Level(rep, n.def, n.leaf))
	return nil
}

func (sh *Shredder) nulls(n *shredNode, rep, def int) {
	for c := n.leaf; c < n.end; c++ {
		sh.cols[c] = append(sh.cols[c], Null(rep, def, c))
	}
}

func (sh *Shredder) array(n *shredNode, v any, rep int) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("field %s: a Go %T does not fit an array", n.path, v)
	}
	if len(list) == 0 {
		sh.nulls(n, rep, n.def)
	}
	for _, e := range list {
		if err := sh.nested(n.children[0], e, rep, n.def+1); err != nil {
			return err
		}
		rep = n.rep
	}
	return nil
}

func (sh *Shredder) entries(n *shredNode, v any, rep int) error {
	entries, ok := v.([]MapEntry)
	if !ok {
		return fmt.Errorf("field %s: a Go %T does not fit a map", n.path, v)
	}
	if len(entries) == 0 {
		sh.nulls(n, rep, n.def)
	}
	for _, e := range entries {
		k := n.children[0]
		sh.cols[k.leaf] = append(sh.cols[k.leaf], String(e.Key).Level(rep, k.def, k.leaf))
		if err := sh.nested(n.children[1], e.Value, rep, n.def+1); err != nil {
			return err
		}
		rep = n.rep
	}
	return nil
}
