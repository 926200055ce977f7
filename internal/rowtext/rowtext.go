// Package rowtext spells rows as text: JSON lines and CSV, as the text views of a snapshot and the cat command show them.
//
// It knows schemas, rows and their levels. It must never know files or tables.
//
// # Spelling
//
//   - Fields come in schema order; Hudi's meta columns are left out. Every field is there, nulls included.
//   - JSON: booleans and integers as they are; floats in the shortest form that reads back, NaN and the infinities as the strings "NaN",
//     "Infinity", "-Infinity"; arrays as arrays, records and maps as objects, map entries in stored order.
//   - Decimals are strings with all digits of their scale ("12.50"), since a JSON reader may cut numbers to 53 bits.
//   - Dates are "2006-01-02"; times "15:04:05.000000"; instants "2006-01-02T15:04:05.000000Z" in UTC, wall-clock readings the same without Z;
//     milliseconds have three digits, nanoseconds nine.
//   - Bytes and fixed are "0x" and hex digits; enums their symbol.
//   - CSV: RFC 4180 with a header line, commas and "\n"; a null is an empty field, an empty string is "" in quotes; arrays, maps and
//     records are their JSON text.
//
// What is written here is read back by the ingest decoders as the same values.
package rowtext

import (
	"errors"
	"fmt"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// Printer spells rows of one schema. It is not safe for concurrent use.
type Printer struct {
	fields []*node
	leaves int
	row    record.Row
	pos    []int  // next value of each leaf in row
	end    []int  // past its last value
	text   []byte // scratch for CSV fields
}

// node is one field, element or leaf.
type node struct {
	name     string
	label    []byte // JSON spelling of the name and a colon
	typ      *schema.Type
	kind     schema.Kind
	first    int // leaves [first,last) are its own
	last     int
	def      int // definition level from which it is not null
	rep      int // repetition level of the elements of an array or map
	children []*node
}

// errRow says that a row's levels are not those of the schema.
var errRow = errors.New("row does not fit its schema")

// New plans the schema of rows to come.
func New(s *schema.Schema) (*Printer, error) {
	p := &Printer{leaves: len(s.Leaves())}
	p.pos, p.end = make([]int, p.leaves), make([]int, p.leaves)
	leaf := 0
	for i := range s.Root().Fields {
		f := &s.Root().Fields[i]
		n, err := plan(f.Name, f.Type, 0, 0, &leaf)
		if err != nil {
			return nil, err
		}
		if !schema.IsMetaField(f.Name) {
			p.fields = append(p.fields, n)
		}
	}
	if leaf != p.leaves {
		return nil, fmt.Errorf("schema has %d leaves, planned %d", p.leaves, leaf)
	}
	return p, nil
}

func plan(name string, t *schema.Type, def, rep int, leaf *int) (*node, error) {
	if t.Nullable {
		def++
	}
	n := &node{name: name, label: append(appendString(nil, name), ':'), typ: t, kind: t.Kind, first: *leaf, def: def}
	add := func(name string, t *schema.Type, def, rep int) error {
		c, err := plan(name, t, def, rep, leaf)
		n.children = append(n.children, c)
		return err
	}
	var err error
	switch t.Kind {
	case schema.Record:
		for i := range t.Fields {
			if err = add(t.Fields[i].Name, t.Fields[i].Type, def, rep); err != nil {
				return nil, err
			}
		}
	case schema.Array:
		n.rep = rep + 1
		err = add("element", t.Elem, def+1, rep+1)
	case schema.Map:
		n.rep = rep + 1
		if err = add("key", &schema.Type{Kind: schema.String}, def+1, rep+1); err == nil {
			err = add("value", t.Elem, def+1, rep+1)
		}
	case schema.Union:
		err = fmt.Errorf("field %s is a union of several types, which has no text form", name)
	default:
		*leaf++
	}
	n.last = *leaf
	return n, err
}

// start indexes the values of a row by leaf.
func (p *Printer) start(row record.Row) error {
	p.row = row
	last := -1
	for i := range row {
		c := row[i].Column()
		if c != last {
			if c != last+1 || c >= p.leaves {
				return errRow
			}
			p.pos[c], last = i, c
		}
		p.end[c] = i + 1
	}
	if last != p.leaves-1 {
		return errRow
	}
	return nil
}

// skip passes over one value of each leaf of n.
func (p *Printer) skip(n *node) {
	for l := n.first; l < n.last; l++ {
		p.pos[l]++
	}
}

// AppendJSON appends the row as one JSON object, without a newline.
func (p *Printer) AppendJSON(dst []byte, row record.Row) ([]byte, error) {
	if err := p.start(row); err != nil {
		return dst, err
	}
	return p.object(dst, p.fields)
}

func (p *Printer) object(dst []byte, fields []*node) ([]byte, error) {
	dst = append(dst, '{')
	var err error
	for i, n := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, n.label...)
		if dst, err = p.value(dst, n); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func (p *Printer) value(dst []byte, n *node) ([]byte, error) {
	if n.first == n.last {
		return append(dst, "{}"...), nil // a record without fields
	}
	if p.pos[n.first] >= p.end[n.first] {
		return dst, errRow
	}
	level := p.row[p.pos[n.first]].DefinitionLevel()
	switch {
	case level < n.def || n.kind == schema.Null:
		p.skip(n)
		return append(dst, "null"...), nil
	case n.kind == schema.Record:
		return p.object(dst, n.children)
	case n.kind == schema.Array:
		return p.array(dst, n, level)
	case n.kind == schema.Map:
		return p.entries(dst, n, level)
	}
	dst = appendJSONLeaf(dst, p.row[p.pos[n.first]], n.typ)
	p.pos[n.first]++
	return dst, nil
}

// more reports whether another element of n follows.
func (p *Printer) more(n *node) bool {
	at := p.pos[n.first]
	return at < p.end[n.first] && p.row[at].RepetitionLevel() == n.rep
}

func (p *Printer) array(dst []byte, n *node, level int) ([]byte, error) {
	if level == n.def {
		p.skip(n)
		return append(dst, "[]"...), nil
	}
	dst = append(dst, '[')
	var err error
	for {
		if dst, err = p.value(dst, n.children[0]); err != nil {
			return dst, err
		}
		if !p.more(n) {
			return append(dst, ']'), nil
		}
		dst = append(dst, ',')
	}
}

func (p *Printer) entries(dst []byte, n *node, level int) ([]byte, error) {
	if level == n.def {
		p.skip(n)
		return append(dst, "{}"...), nil
	}
	dst = append(dst, '{')
	var err error
	for {
		if dst, err = p.value(dst, n.children[0]); err != nil {
			return dst, err
		}
		dst = append(dst, ':')
		if dst, err = p.value(dst, n.children[1]); err != nil {
			return dst, err
		}
		if !p.more(n) {
			return append(dst, '}'), nil
		}
		dst = append(dst, ',')
	}
}

// AppendHeader appends the CSV header line, with its newline.
func (p *Printer) AppendHeader(dst []byte) []byte {
	for i, n := range p.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendField(dst, []byte(n.name))
	}
	return append(dst, '\n')
}

// AppendCSV appends the row as one CSV record, with its newline.
func (p *Printer) AppendCSV(dst []byte, row record.Row) ([]byte, error) {
	if err := p.start(row); err != nil {
		return dst, err
	}
	for i, n := range p.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.first < n.last && p.row[p.pos[n.first]].DefinitionLevel() < n.def || n.kind == schema.Null {
			continue
		}
		switch n.kind {
		case schema.Record, schema.Array, schema.Map:
			var err error
			if p.text, err = p.value(p.text[:0], n); err != nil {
				return dst, err
			}
			dst = appendField(dst, p.text)
		default:
			dst = appendCSVLeaf(dst, p.row[p.pos[n.first]], n.typ)
		}
	}
	return append(dst, '\n'), nil
}
