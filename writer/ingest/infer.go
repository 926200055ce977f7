package ingest

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"

	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// Infer derives a table schema from a sample file, reading all of it: a type that only holds for its first rows would reject the later ones. Every
// column is nullable. Numbers with leading zeros stay text. name is the record's name, namespace its namespace.
func Infer(ctx context.Context, in Input, name, namespace string) (*schema.Schema, error) {
	d, c, ok := format(in.Name)
	if !ok {
		return nil, rejectf("format", "%s: unknown extension; a sample's name ends in one of %s", in.Name, strings.Join(Extensions(), " "))
	}
	if c.ext != "" {
		var out *schema.Schema
		d.decode = func(ctx context.Context, plain *Input) (RowReader, error) {
			var err error
			out, err = inferPlain(ctx, d.ext, *plain, name, namespace)
			return emptyRows{}, err
		}
		rows, err := decodeCompressed(ctx, in, d, c)
		if err != nil {
			return nil, err
		}
		return out, rows.Close()
	}
	return inferPlain(ctx, d.ext, in, name, namespace)
}

func inferPlain(ctx context.Context, ext string, in Input, name, namespace string) (*schema.Schema, error) {
	switch ext {
	case ".csv", ".tsv":
		return inferCSV(ctx, ext, &in, name, namespace)
	case ".parquet":
		f, err := parquetfile.Open(in.R, in.Size, in.Name)
		if err != nil {
			return nil, binaryError(&in, err)
		}
		return renamed(f.Schema(), name, namespace)
	case ".avro":
		s, err := avroSchema(&in)
		if err != nil {
			return nil, err
		}
		return renamed(s, name, namespace)
	}
	return inferJSON(ctx, ext, &in, name, namespace)
}

// renamed gives a file's schema the table's record name; Hudi's own columns are not the table's.
func renamed(s *schema.Schema, name, namespace string) (*schema.Schema, error) {
	root := *s.WithoutMetaFields().Root()
	root.Name, root.Namespace = name, namespace
	return schema.New(&root)
}

// guess is what the values of one column have in common so far.
type guess struct {
	seen                        bool
	notBool, notLong, notDouble bool
	notDate, notTimestamp       bool
	record                      *shape
	elem                        *guess
	text                        bool // JSON text or something mixed: string whatever it looks like
}

var (
	reLong   = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,18})$`)
	reDouble = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$`)
	reDate   = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
)

func (g *guess) add(v string) {
	g.seen = true
	if !g.notBool && v != "true" && v != "false" {
		g.notBool = true
	}
	if !g.notLong {
		if !reLong.MatchString(v) {
			g.notLong = true
		} else if _, err := strconv.ParseInt(v, 10, 64); err != nil {
			g.notLong, g.notDouble = true, true // more digits than a double keeps: text
		}
	}
	if !g.notDouble && !reDouble.MatchString(v) {
		g.notDouble = true
	}
	if !g.notDate {
		p, _ := newParser(&schema.Type{Kind: schema.Int, Logical: schema.Date})
		if _, msg := parseDate(p, []byte(v)); msg != "" || !reDate.MatchString(v) {
			g.notDate = true
		}
	}
	if !g.notTimestamp {
		p, _ := newParser(&schema.Type{Kind: schema.Long, Logical: schema.TimestampMicros})
		if _, msg := parseTimestamp(p, []byte(v)); msg != "" || len(v) < 16 || v[4] != '-' {
			g.notTimestamp = true
		}
	}
}

func (g *guess) scalar() schema.Type {
	switch {
	case !g.seen || g.text:
		return schema.Type{Kind: schema.String}
	case !g.notBool:
		return schema.Type{Kind: schema.Boolean}
	case !g.notLong:
		return schema.Type{Kind: schema.Long}
	case !g.notDouble:
		return schema.Type{Kind: schema.Double}
	case !g.notDate:
		return schema.Type{Kind: schema.Int, Logical: schema.Date}
	case !g.notTimestamp:
		return schema.Type{Kind: schema.Long, Logical: schema.TimestampMicros}
	}
	return schema.Type{Kind: schema.String}
}

func optional(t schema.Type) *schema.Type {
	t.Nullable, t.NullFirst = true, true
	return &t
}

func fieldOf(name string, t schema.Type) schema.Field {
	return schema.Field{Name: name, Type: optional(t), HasDefault: true}
}

func inferCSV(ctx context.Context, ext string, in *Input, name, namespace string) (*schema.Schema, error) {
	skip, err := skipBOM(in)
	if err != nil {
		return nil, err
	}
	delim := in.Options.Delimiter
	if delim == 0 {
		delim = ','
	}
	if ext == ".tsv" {
		delim = '\t'
	}
	scan := newCSVScanner(&ctxReader{ctx, io.NewSectionReader(in.R, skip, in.Size-skip)}, delim)
	head, err := scan.scan()
	if err != nil {
		if err == io.EOF {
			err = &RowError{Line: 1, Code: "header", Msg: "the sample is empty; it needs a header line with the column names"}
		}
		return nil, err
	}
	names := make([]string, len(head))
	for i, f := range head {
		names[i] = string(f.b)
	}
	guesses := make([]guess, len(names))
	for {
		fields, err := scan.scan()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(fields) == 1 && len(fields[0].b) == 0 && !fields[0].quoted {
			continue
		}
		if len(fields) != len(names) {
			return nil, &RowError{Line: scan.line, Code: "syntax", Msg: fmt.Sprintf("%d fields, the header has %d", len(fields), len(names))}
		}
		for i, f := range fields {
			if len(f.b) > 0 {
				guesses[i].add(string(f.b))
			}
		}
	}
	var out []schema.Field
	for i, n := range names {
		if schema.IsMetaField(n) {
			continue
		}
		out = append(out, fieldOf(n, guesses[i].scalar()))
	}
	return newSchema(name, namespace, out)
}

func newSchema(name, namespace string, fields []schema.Field) (*schema.Schema, error) {
	s, err := schema.NewRecord(name, namespace, fields...)
	if err != nil {
		return nil, &RowError{Line: 1, Code: "header", Msg: fmt.Sprintf("these column names make no table: %v", err)}
	}
	return s, nil
}

// shape is the fields of JSON objects, in the order in which they were first seen.
type shape struct {
	names  []string
	fields map[string]*guess
}

func (s *shape) field(name string) *guess {
	if s.fields == nil {
		s.fields = map[string]*guess{}
	}
	g := s.fields[name]
	if g == nil {
		g = &guess{}
		s.fields[name] = g
		s.names = append(s.names, name)
	}
	return g
}

func inferJSON(ctx context.Context, ext string, in *Input, name, namespace string) (*schema.Schema, error) {
	var root shape
	probe := func(in *Input, src jsonSource) error {
		var p fastjson.Parser
		for {
			text, line, err := src.next()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			v, err := p.ParseBytes(text)
			if err != nil {
				e := syntaxError(text)
				e.Line = line
				return e
			}
			obj, err := v.Object()
			if err != nil {
				return &RowError{Line: line, Code: "syntax", Sample: sample(text), Msg: "not a JSON object"}
			}
			obj.Visit(func(key []byte, v *fastjson.Value) { root.field(string(key)).json(v) })
		}
	}
	src, err := jsonSourceOf(ctx, ext, in)
	if err != nil {
		return nil, err
	}
	if err := probe(in, src); err != nil {
		return nil, err
	}
	return newSchema(name, namespace, root.schemaFields(name))
}

func (g *guess) json(v *fastjson.Value) {
	switch v.Type() {
	case fastjson.TypeNull:
	case fastjson.TypeObject:
		if g.seen && g.record == nil {
			g.text = true
		}
		g.seen = true
		if g.record == nil {
			g.record = &shape{}
		}
		v.GetObject().Visit(func(key []byte, v *fastjson.Value) { g.record.field(string(key)).json(v) })
	case fastjson.TypeArray:
		if g.seen && g.elem == nil {
			g.text = true
		}
		g.seen = true
		if g.elem == nil {
			g.elem = &guess{}
		}
		for _, it := range v.GetArray() {
			g.elem.json(it)
		}
	case fastjson.TypeString:
		g.mixed()
		g.add(string(v.GetStringBytes()))
		g.notBool, g.notLong, g.notDouble = true, true, true // a quoted number is text
	default:
		g.mixed()
		g.add(string(v.MarshalTo(nil)))
	}
}

func (g *guess) mixed() {
	if g.record != nil || g.elem != nil {
		g.text = true
	}
}

func (g *guess) typ(name, space string) schema.Type {
	switch {
	case g.text:
	case g.record != nil && len(g.record.names) > 0:
		return schema.Type{Kind: schema.Record, Name: name, Namespace: space, Fields: g.record.schemaFields(space + "." + name)}
	case g.elem != nil:
		return schema.Type{Kind: schema.Array, Elem: optional(g.elem.typ(name, space))}
	}
	return g.scalar()
}

func (s *shape) schemaFields(space string) []schema.Field {
	var out []schema.Field
	for _, n := range s.names {
		if !schema.IsMetaField(n) {
			out = append(out, fieldOf(n, s.fields[n].typ(n, space)))
		}
	}
	return out
}
