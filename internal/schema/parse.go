package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// primitives are the type names that need no definition.
var primitives = map[string]Kind{
	"null": Null, "boolean": Boolean, "int": Int, "long": Long, "float": Float, "double": Double, "bytes": Bytes, "string": String,
}

// Parse reads an Avro record schema in JSON. It keeps the text as it came (String returns it).
//
// Names resolve within this text only. A recursive type, a type null that stands alone and a nested record without fields
// are refused: no row of columns could hold them.
func Parse(avroJSON string) (*Schema, error) {
	v, err := decodeJSON(avroJSON)
	if err != nil {
		return nil, fmt.Errorf("parse avro schema: %w", err)
	}
	p := parser{named: map[string]*Type{}}
	root, err := p.typ(v, scope{})
	if err != nil {
		return nil, fmt.Errorf("parse avro schema: %w", err)
	}
	s, err := build(root, avroJSON, maxLeaves)
	if err != nil {
		return nil, fmt.Errorf("parse avro schema: %w", err)
	}
	return s, nil
}

// parser turns decoded JSON into types. named holds every definition so far; nil marks one that is still open.
type parser struct{ named map[string]*Type }

// scope is where a type stands: the enclosing namespace, the path of fields for messages, and the depth.
type scope struct {
	namespace string
	path      string
	depth     int
}

func (s scope) errorf(format string, args ...any) error {
	if s.path != "" {
		return fmt.Errorf("field %s: %w", s.path, fmt.Errorf(format, args...))
	}
	return fmt.Errorf(format, args...)
}

func (s scope) below(namespace, field string) scope {
	if s.path != "" && field != "" {
		field = s.path + "." + field
	} else if field == "" {
		field = s.path
	}
	return scope{namespace: namespace, path: field, depth: s.depth + 1}
}

func (p *parser) typ(v any, at scope) (*Type, error) {
	if at.depth > maxDepth {
		return nil, at.errorf("types are nested deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case string:
		return p.reference(v, at)
	case []any:
		return p.union(v, at)
	case *object:
		return p.object(v, at)
	}
	return nil, at.errorf("a type must be a name, a list or an object, not %v", v)
}

func (p *parser) reference(name string, at scope) (*Type, error) {
	if k, ok := primitives[name]; ok {
		return &Type{Kind: k}, nil
	}
	full := name
	if at.namespace != "" && !strings.Contains(name, ".") {
		full = at.namespace + "." + name
	}
	t, ok := p.named[full]
	if !ok {
		t, ok = p.named[name]
	}
	if !ok {
		return nil, at.errorf("unknown type %q", name)
	}
	if t == nil {
		return nil, at.errorf("type %q contains itself; columns cannot hold recursive types", name)
	}
	return t, nil
}

func (p *parser) union(list []any, at scope) (*Type, error) {
	u := &Type{Kind: Union}
	for i, e := range list {
		if _, nested := e.([]any); nested {
			return nil, at.errorf("a union may not contain a union")
		}
		t, err := p.typ(e, at.below(at.namespace, ""))
		if err != nil {
			return nil, err
		}
		if t.Kind != Null {
			u.Branches = append(u.Branches, t)
			continue
		}
		if u.Nullable {
			return nil, at.errorf("a union has null twice")
		}
		u.Nullable, u.NullFirst, u.NullIndex = true, i == 0, i
	}
	if len(u.Branches) == 0 {
		return nil, at.errorf("the type is null alone; a column needs another type beside null")
	}
	if len(u.Branches) == 1 && u.Nullable {
		t := *u.Branches[0]
		t.Nullable, t.NullFirst = true, u.NullFirst
		return &t, nil
	}
	for i, b := range u.Branches {
		for _, o := range u.Branches[:i] {
			if branchName(o) == branchName(b) {
				return nil, at.errorf("a union has %s twice", branchName(b))
			}
		}
	}
	return u, nil
}

// branchName is what Avro tells branches of a union apart by: the full name of named types, else the kind.
func branchName(t *Type) string {
	if t.named() {
		return t.FullName()
	}
	return t.Kind.String()
}

func (p *parser) object(o *object, at scope) (*Type, error) {
	v, ok := o.has("type")
	if !ok {
		return nil, at.errorf("a type object lacks \"type\"")
	}
	name, ok := v.(string)
	if !ok {
		return p.typ(v, at.below(at.namespace, ""))
	}
	switch name {
	case "record", "error", "enum", "fixed":
		return p.definition(name, o, at)
	case "array":
		return p.container(o, "items", Array, at)
	case "map":
		return p.container(o, "values", Map, at)
	}
	k, ok := primitives[name]
	if !ok {
		return p.reference(name, at)
	}
	t := &Type{Kind: k}
	setLogical(t, o)
	t.Props = props(o, typeKeys(t)...)
	return t, nil
}

func (p *parser) container(o *object, key string, k Kind, at scope) (*Type, error) {
	v, ok := o.has(key)
	if !ok {
		return nil, at.errorf("%s lacks %q", k, key)
	}
	elem, err := p.typ(v, at.below(at.namespace, ""))
	if err != nil {
		return nil, err
	}
	if elem.Kind == Null {
		return nil, at.errorf("%s of null cannot be held in a column", k)
	}
	return &Type{Kind: k, Elem: elem, Props: props(o, "type", key)}, nil
}

// definition reads a record, enum or fixed and enters its name.
func (p *parser) definition(kind string, o *object, at scope) (*Type, error) {
	t := &Type{}
	if err := p.name(t, o, at); err != nil {
		return nil, err
	}
	full := t.FullName()
	if _, twice := p.named[full]; twice {
		return nil, at.errorf("type %q is defined twice", full)
	}
	p.named[full] = nil
	var err error
	if t.Doc, err = o.text("doc"); err != nil {
		return nil, at.errorf("type %q: %w", full, err)
	}
	if t.Aliases, err = o.texts("aliases"); err != nil {
		return nil, at.errorf("type %q: %w", full, err)
	}
	switch kind {
	case "enum":
		err = p.enum(t, o, at)
	case "fixed":
		err = p.fixed(t, o, at)
	default:
		err = p.record(t, o, at)
	}
	if err != nil {
		return nil, err
	}
	t.Props = props(o, typeKeys(t)...)
	p.named[full] = t
	return t, nil
}

func (p *parser) name(t *Type, o *object, at scope) error {
	name, err := o.text("name")
	if err != nil {
		return at.errorf("%w", err)
	}
	space, err := o.text("namespace")
	if err != nil {
		return at.errorf("%w", err)
	}
	if _, given := o.has("namespace"); !given {
		space = at.namespace
	}
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		space, name = name[:i], name[i+1:]
	}
	if err := checkName(name); err != nil {
		return at.errorf("%w", err)
	}
	if _, taken := primitives[name]; taken && space == "" {
		return at.errorf("a named type may not be called %q", name)
	}
	t.Name, t.Namespace = name, space
	return nil
}

// checkName applies Java Avro's rule: letters, digits and underscores, not starting with a digit.
func checkName(name string) error {
	if name == "" {
		return errors.New("a name is empty or missing")
	}
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return fmt.Errorf("illegal name %q: only letters, digits and underscores are allowed, and no digit first", name)
		}
	}
	return nil
}

func (p *parser) record(t *Type, o *object, at scope) error {
	t.Kind = Record
	list, ok := o.vals["fields"].([]any)
	if !ok {
		return at.errorf("record %q lacks a list of \"fields\"", t.Name)
	}
	t.Fields = make([]Field, 0, len(list))
	seen := make(map[string]bool, len(list))
	for _, e := range list {
		fo, ok := e.(*object)
		if !ok {
			return at.errorf("record %q: a field must be an object", t.Name)
		}
		f, err := p.field(fo, t, at)
		if err != nil {
			return err
		}
		if seen[f.Name] {
			return at.errorf("record %q has two fields called %q", t.Name, f.Name)
		}
		seen[f.Name] = true
		t.Fields = append(t.Fields, f)
	}
	return nil
}

func (p *parser) field(o *object, in *Type, at scope) (Field, error) {
	name, err := o.text("name")
	if err == nil {
		err = checkName(name)
	}
	if err != nil {
		return Field{}, at.errorf("record %q: %w", in.Name, err)
	}
	at = at.below(in.Namespace, name)
	f := Field{Name: name}
	if f.Doc, err = o.text("doc"); err != nil {
		return Field{}, at.errorf("%w", err)
	}
	if f.Aliases, err = o.texts("aliases"); err != nil {
		return Field{}, at.errorf("%w", err)
	}
	v, ok := o.has("type")
	if !ok {
		return Field{}, at.errorf("the field has no \"type\"")
	}
	if f.Type, err = p.typ(v, at); err != nil {
		return Field{}, err
	}
	if f.Type.Kind == Null {
		return Field{}, at.errorf("the type is null alone; a column needs another type beside null")
	}
	if d, ok := o.has("default"); ok {
		f.HasDefault, f.Default = true, plain(d)
	}
	// A doc that is there but empty is kept apart from none: Java prints the meta columns' "doc":"".
	known := []string{"name", "type", "default", "aliases"}
	if f.Doc != "" {
		known = append(known, "doc")
	}
	f.Props = props(o, known...)
	return f, nil
}

func (p *parser) enum(t *Type, o *object, at scope) error {
	t.Kind = Enum
	var err error
	if t.Symbols, err = o.texts("symbols"); err != nil {
		return at.errorf("enum %q: %w", t.Name, err)
	}
	if len(t.Symbols) == 0 {
		return at.errorf("enum %q has no symbols", t.Name)
	}
	for i, s := range t.Symbols {
		if err := checkName(s); err != nil {
			return at.errorf("enum %q: %w", t.Name, err)
		}
		if slices.Contains(t.Symbols[:i], s) {
			return at.errorf("enum %q has symbol %q twice", t.Name, s)
		}
	}
	return nil
}

func (p *parser) fixed(t *Type, o *object, at scope) error {
	t.Kind = Fixed
	n, ok := o.number("size")
	if !ok || n < 1 {
		return at.errorf("fixed %q: \"size\" must be a positive number", t.Name)
	}
	t.Size = n
	setLogical(t, o)
	return nil
}
