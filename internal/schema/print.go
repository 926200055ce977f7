package schema

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// New makes a schema from a tree, printing Avro JSON that Java accepts.
//
// Named types without a name get one as Spark gives it: a record the name of its field, a fixed "fixed", in the namespace of the enclosing
// record's full name. A nullable field whose union starts with null gets the default null where it has none.
func New(root *Type) (*Schema, error) {
	s, err := newSchema(root)
	if err != nil {
		return nil, fmt.Errorf("make schema: %w", err)
	}
	return s, nil
}

func newSchema(root *Type) (*Schema, error) {
	if root == nil || root.Kind != Record {
		return nil, errors.New("the root must be a record")
	}
	n := namer{}
	c, err := n.node(root, "record", "", 0)
	if err != nil {
		return nil, err
	}
	return printed(c)
}

// NewRecord makes a schema of a record with fields.
func NewRecord(name, namespace string, fields ...Field) (*Schema, error) {
	return New(&Type{Kind: Record, Name: name, Namespace: namespace, Fields: fields})
}

// Optional returns t as a union with null, null first.
func Optional(t Type) *Type {
	t.Nullable, t.NullFirst, t.NullIndex = true, true, 0
	return &t
}

// printed builds a schema around root with the text that the tree prints, and proves the text by reading it back.
func printed(root *Type) (*Schema, error) {
	p := printer{named: map[string]*Type{}}
	if err := p.typ(root, ""); err != nil {
		return nil, err
	}
	return Parse(p.b.String())
}

// namer copies a tree, giving names and defaults where they lack.
type namer struct{}

func (n namer) node(t *Type, field, space string, depth int) (*Type, error) {
	if t == nil {
		return nil, fmt.Errorf("field %s has no type", field)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("types are nested deeper than %d", maxDepth)
	}
	c := *t
	if c.named() && c.Name == "" {
		c.Name, c.Namespace = field, space
		if c.Kind == Fixed {
			c.Name, c.Namespace = "fixed", join(space, field)
		}
	}
	var err error
	switch c.Kind {
	case Record:
		c.Fields = slices.Clone(c.Fields)
		for i := range c.Fields {
			f := &c.Fields[i]
			if f.Type, err = n.node(f.Type, f.Name, c.FullName(), depth+1); err != nil {
				return nil, err
			}
			if err = normalDefault(f); err != nil {
				return nil, err
			}
		}
	case Array, Map:
		if c.Elem, err = n.node(c.Elem, field, space, depth+1); err != nil {
			return nil, err
		}
	case Union:
		c.Branches = slices.Clone(c.Branches)
		for i := range c.Branches {
			name := field
			if i > 0 {
				name = fmt.Sprintf("%s_%d", field, i)
			}
			if c.Branches[i], err = n.node(c.Branches[i], name, space, depth+1); err != nil {
				return nil, err
			}
		}
	}
	return &c, nil
}

func join(space, name string) string {
	if space == "" {
		return name
	}
	return space + "." + name
}

// normalDefault gives f the default null exactly where Avro allows it: a default must fit the first branch of a union.
func normalDefault(f *Field) error {
	switch {
	case f.Type.Nullable && f.Type.NullFirst && f.HasDefault && f.Default != nil:
		return fmt.Errorf("field %s: the default must be null because its union starts with null", f.Name)
	case f.Type.Nullable && f.Type.NullFirst:
		f.HasDefault = true
	case f.HasDefault && f.Default == nil:
		f.HasDefault = false
	}
	return nil
}

// printer writes a tree as compact Avro JSON in the key order of Java's Schema.toString.
type printer struct {
	b     bytes.Buffer
	named map[string]*Type
}

func (p *printer) typ(t *Type, space string) error {
	if t.Kind == Union {
		return p.union(t, space)
	}
	if !t.Nullable {
		return p.plain(t, space)
	}
	null := `"null"`
	p.b.WriteByte('[')
	if t.NullFirst {
		p.b.WriteString(null + ",")
	}
	if err := p.plain(t, space); err != nil {
		return err
	}
	if !t.NullFirst {
		p.b.WriteString("," + null)
	}
	p.b.WriteByte(']')
	return nil
}

func (p *printer) union(t *Type, space string) error {
	p.b.WriteByte('[')
	n := 0
	for i := 0; n < len(t.Branches) || (t.Nullable && i <= t.NullIndex); i++ {
		if i > 0 {
			p.b.WriteByte(',')
		}
		if t.Nullable && i == t.NullIndex {
			p.b.WriteString(`"null"`)
			continue
		}
		if n == len(t.Branches) {
			return fmt.Errorf("a union says null stands at %d but has %d other branches", t.NullIndex, n)
		}
		if err := p.plain(t.Branches[n], space); err != nil {
			return err
		}
		n++
	}
	p.b.WriteByte(']')
	return nil
}

// plain writes t without its union with null.
func (p *printer) plain(t *Type, space string) error {
	switch {
	case t.named():
		return p.definition(t, space)
	case t.Kind == Array, t.Kind == Map:
		key := "items"
		if t.Kind == Map {
			key = "values"
		}
		p.b.WriteString(`{"type":"` + t.Kind.String() + `","` + key + `":`)
		if err := p.typ(t.Elem, space); err != nil {
			return err
		}
		return p.tail(t.Props)
	case t.Logical == NoLogical && len(t.Props) == 0:
		p.b.WriteString(`"` + t.Kind.String() + `"`)
		return nil
	}
	p.b.WriteString(`{"type":"` + t.Kind.String() + `"`)
	p.logical(t)
	return p.tail(t.Props)
}

func (p *printer) logical(t *Type) {
	if t.Logical == NoLogical {
		return
	}
	p.b.WriteString(`,"logicalType":"` + t.Logical.String() + `"`)
	if t.Logical == Decimal {
		fmt.Fprintf(&p.b, `,"precision":%d,"scale":%d`, t.Precision, t.Scale)
	}
}

// tail writes properties and closes the object.
func (p *printer) tail(props []Prop) error {
	for _, pr := range props {
		if err := p.pair(pr.Name, pr.Value); err != nil {
			return err
		}
	}
	p.b.WriteByte('}')
	return nil
}

func (p *printer) pair(key string, v any) error {
	p.b.WriteByte(',')
	if err := appendJSON(&p.b, key); err != nil {
		return err
	}
	p.b.WriteByte(':')
	return appendJSON(&p.b, v)
}

func (p *printer) definition(t *Type, space string) error {
	full := t.FullName()
	if o, ok := p.named[full]; ok {
		if !sameDefinition(o, t) {
			return fmt.Errorf("two different types are called %q", full)
		}
		ref := full
		if t.Namespace == space {
			ref = t.Name
		}
		return appendJSON(&p.b, ref)
	}
	p.named[full] = t
	p.b.WriteString(`{"type":"` + t.Kind.String() + `"`)
	if err := p.pair("name", t.Name); err != nil {
		return err
	}
	if t.Namespace != space {
		if err := p.pair("namespace", t.Namespace); err != nil {
			return err
		}
	}
	if t.Doc != "" {
		if err := p.pair("doc", t.Doc); err != nil {
			return err
		}
	}
	switch t.Kind {
	case Enum:
		if err := p.pair("symbols", t.Symbols); err != nil {
			return err
		}
	case Fixed:
		fmt.Fprintf(&p.b, `,"size":%d`, t.Size)
		p.logical(t)
	case Record:
		if err := p.fields(t); err != nil {
			return err
		}
	}
	if len(t.Aliases) > 0 {
		if err := p.pair("aliases", t.Aliases); err != nil {
			return err
		}
	}
	return p.tail(t.Props)
}

func (p *printer) fields(t *Type) error {
	p.b.WriteString(`,"fields":[`)
	for i, f := range t.Fields {
		if i > 0 {
			p.b.WriteByte(',')
		}
		p.b.WriteString(`{"name":`)
		if err := appendJSON(&p.b, f.Name); err != nil {
			return err
		}
		p.b.WriteString(`,"type":`)
		if err := p.typ(f.Type, t.Namespace); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		if err := p.fieldTail(f); err != nil {
			return err
		}
	}
	p.b.WriteByte(']')
	return nil
}

func (p *printer) fieldTail(f Field) error {
	rest := f.Props
	if f.Doc != "" {
		if err := p.pair("doc", f.Doc); err != nil {
			return err
		}
	} else if i := slices.IndexFunc(rest, func(pr Prop) bool { return pr.Name == "doc" }); i >= 0 {
		if err := p.pair("doc", rest[i].Value); err != nil {
			return err
		}
		rest = slices.Delete(slices.Clone(rest), i, i+1)
	}
	if f.HasDefault {
		if err := p.pair("default", f.Default); err != nil {
			return err
		}
	}
	if len(f.Aliases) > 0 {
		if err := p.pair("aliases", f.Aliases); err != nil {
			return err
		}
	}
	return p.tail(rest)
}
