package ingest

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// batchRows is how many rows a text decoder hands out at most per Read.
const batchRows = 1024

// column is one top-level field of the table on the receiving end.
type column struct {
	field  *schema.Field
	index  int // of the field
	leaf   int // of a flat column
	maxDef int
	parser *parser // nil for nested columns
	meta   bool    // one of Hudi's own, always left null
}

// table is the receiving schema, planned once per drop.
type table struct {
	schema  *schema.Schema
	columns []column
	byName  map[string]int
	flat    bool // no nested columns: leaf i is column i
	shred   *record.Shredder
}

func newTable(s *schema.Schema) (*table, error) {
	t := &table{schema: s, byName: map[string]int{}, flat: true, shred: record.NewShredder(s)}
	leaves := s.Leaves()
	fields := s.Root().Fields
	for i := range fields {
		f := &fields[i]
		c := column{field: f, index: i, meta: schema.IsMetaField(f.Name)}
		from, to := s.LeafRange(i)
		c.leaf = from
		if flat := to == from+1 && leaves[from].MaxRep == 0 && len(leaves[from].Path) == 1; flat {
			p, err := newParser(f.Type)
			if err != nil {
				return nil, fmt.Errorf("column %q: %w", f.Name, err)
			}
			c.parser, c.maxDef = p, leaves[from].MaxDef
		} else {
			t.flat = false
		}
		t.columns = append(t.columns, c)
		if !c.meta {
			t.byName[f.Name] = i
		}
	}
	return t, nil
}

// names lists the columns that a drop may carry.
func (t *table) names() string {
	var out []string
	for _, c := range t.columns {
		if !c.meta {
			out = append(out, c.field.Name)
		}
	}
	return strings.Join(out, ", ")
}

// resolve checks the columns that a drop carries against the table and returns the table's column for each. Fixed columns come from directory names.
func (t *table) resolve(have []string, in *Input) ([]int, error) {
	seen := map[string]bool{}
	var unknown []string
	out := make([]int, len(have))
	for i, name := range have {
		if seen[name] {
			return nil, &RowError{Line: 1, Column: name, Code: "header", Msg: "the column is given twice"}
		}
		seen[name] = true
		ci, ok := t.byName[name]
		switch {
		case ok:
			out[i] = ci
		case schema.IsMetaField(name):
			out[i] = -1 // a snapshot's own file dropped back: its meta columns are made anew
		default:
			unknown = append(unknown, name)
		}
		if _, fixed := in.Fixed[name]; fixed {
			return nil, &RowError{Line: 1, Column: name, Code: "header", Msg: "the column is given by the directory name and by the file"}
		}
	}
	if len(unknown) > 0 {
		return nil, &RowError{Line: 1, Column: unknown[0], Code: "header",
			Msg: fmt.Sprintf("the table has no such column; it has %s%s", t.names(), hint(unknown[0], t))}
	}
	for name := range in.Fixed {
		if _, ok := t.byName[name]; !ok {
			return nil, &RowError{Column: name, Code: "header", Msg: "named by the directory, but the table has no such column; it has " + t.names()}
		}
		seen[name] = true
	}
	return out, t.missing(seen, in)
}

func (t *table) missing(seen map[string]bool, in *Input) error {
	var required, nullable []string
	for name, ci := range t.byName {
		f := t.columns[ci].field
		switch {
		case seen[name]:
		case in.KeysOnly && slices.Contains(in.Keys, name):
			required = append(required, name)
		case in.KeysOnly, f.Type.Nullable && in.Options.FillMissing:
		case f.Type.Nullable:
			nullable = append(nullable, name)
		default:
			required = append(required, name)
		}
	}
	sort.Strings(required)
	sort.Strings(nullable)
	if len(required) > 0 {
		return &RowError{Line: 1, Column: required[0], Code: "header", Msg: fmt.Sprintf("missing; the file must carry %s%s", strings.Join(required, ", "), toFind(in))}
	}
	if len(nullable) > 0 {
		return &RowError{Line: 1, Column: nullable[0], Code: "header",
			Msg: fmt.Sprintf("missing: %s; an upsert would overwrite it with null in every row. Add the column, or allow it with fill-missing-columns", strings.Join(nullable, ", "))}
	}
	return nil
}

// toFind says why a delete needs a column.
func toFind(in *Input) string {
	if !in.KeysOnly {
		return ""
	}
	return ", without which the rows to delete can't be found"
}

// hint finds a column that differs in case only.
func hint(name string, t *table) string {
	for have := range t.byName {
		if strings.EqualFold(have, strings.TrimSpace(name)) {
			return fmt.Sprintf(" (did you mean %q? names are matched exactly)", have)
		}
	}
	return ""
}

// builder assembles rows column by column; text values are copied into the batch's own memory.
type builder struct {
	t      *table
	vals   []record.Value // flat columns, by column
	set    []bool
	nested []any
	text   []byte // of the current batch
	last   []byte // of the batch before
	lax    bool   // keys only: nulls are taken everywhere
}

func newBuilder(t *table, in *Input) *builder {
	n := len(t.columns)
	return &builder{t: t, lax: in.KeysOnly, vals: make([]record.Value, n), set: make([]bool, n), nested: make([]any, n)}
}

// batch starts a new batch: rows of the batch before the last may be overwritten.
func (b *builder) batch() { b.text, b.last = b.last[:0], b.text }

// keep copies a value's bytes where they would not outlive the source's buffer.
func (b *builder) keep(v []byte) []byte {
	n := len(b.text)
	if n+len(v) > cap(b.text) {
		// A fresh chunk: slices into the old one stay valid.
		b.text = make([]byte, 0, max(64<<10, 2*cap(b.text), len(v)))
		n = 0
	}
	b.text = append(b.text, v...)
	return b.text[n : n+len(v) : n+len(v)]
}

// parse sets flat column ci from text.
func (b *builder) parse(ci int, text []byte) *RowError {
	c := &b.t.columns[ci]
	if c.parser.typ.Kind == schema.String || c.parser.typ.Kind == schema.Enum {
		text = b.keep(text)
	}
	v, msg := c.parser.parse(c.parser, text)
	if msg != "" {
		code := "type"
		if c.parser.typ.Kind == schema.String && c.parser.typ.Logical == schema.NoLogical {
			code = "encoding"
		}
		return &RowError{Column: c.field.Name, Type: Describe(c.field.Type), Sample: sample(text), Msg: msg, Code: code}
	}
	b.vals[ci], b.set[ci] = v.Level(0, c.maxDef, c.leaf), true
	return nil
}

// row appends the row of what was set to dst and forgets it. Columns that were not set are null.
func (b *builder) row(dst record.Row) (record.Row, *RowError) {
	dst = dst[:0]
	var err error
	for i := range b.t.columns {
		c := &b.t.columns[i]
		if !b.set[i] && !c.field.Type.Nullable && !b.lax {
			return dst, &RowError{Column: c.field.Name, Type: Describe(c.field.Type), Code: "null", Msg: "null, but the column does not take nulls"}
		}
		switch {
		case c.parser == nil:
			dst, err = b.t.shred.ShredField(dst, i, b.nested[i])
			if err != nil {
				return dst, &RowError{Column: c.field.Name, Type: Describe(c.field.Type), Code: "type", Msg: err.Error()}
			}
			b.nested[i] = nil
		case b.set[i]:
			dst = append(dst, b.vals[i])
		default:
			dst = append(dst, record.Null(0, 0, c.leaf))
		}
		b.set[i] = false
	}
	return dst, nil
}

// setFixed parses the columns that directory names give into values that every row gets; call once per row.
func (b *builder) setFixed(in *Input) *RowError {
	for name, text := range in.Fixed {
		ci := b.t.byName[name]
		if b.t.columns[ci].parser == nil {
			return &RowError{Column: name, Code: "type", Msg: "a nested column can't come from a directory name"}
		}
		if text == "__HIVE_DEFAULT_PARTITION__" {
			continue
		}
		if err := b.parse(ci, []byte(text)); err != nil {
			return err
		}
	}
	return nil
}
