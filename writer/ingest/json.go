package ingest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fastjson"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// maxJSONRecord bounds one object's text.
const maxJSONRecord = 64 << 20

// jsonSource yields the text of one object after another.
type jsonSource interface {
	next() (text []byte, line int64, err error)
}

// jsonReader decodes objects.
type jsonReader struct {
	in     *Input
	src    jsonSource
	build  *builder
	parser fastjson.Parser
	lines  []int64
	seen   []int64 // by column: the row that last set it, to find duplicate names
	rows   int64
}

func openJSON(in *Input, src jsonSource) (RowReader, error) {
	t, err := newTable(in.Schema)
	if err != nil {
		return nil, err
	}
	for name := range in.Fixed {
		if _, ok := t.byName[name]; !ok {
			return nil, &RowError{Column: name, Code: "header", Msg: "named by the directory, but the table has no such column; it has " + t.names()}
		}
	}
	return &jsonReader{in: in, src: src, build: newBuilder(t, in), seen: make([]int64, len(t.columns))}, nil
}

func decodeJSONLines(ctx context.Context, in *Input) (RowReader, error) {
	src, err := jsonSourceOf(ctx, ".jsonl", in)
	if err != nil {
		return nil, err
	}
	return openJSON(in, src)
}

// decodeJSON takes one array of objects, or objects one after another, over as many lines as they like.
func decodeJSON(ctx context.Context, in *Input) (RowReader, error) {
	src, err := jsonSourceOf(ctx, ".json", in)
	if err != nil {
		return nil, err
	}
	return openJSON(in, src)
}

func jsonSourceOf(ctx context.Context, ext string, in *Input) (jsonSource, error) {
	skip, err := skipBOM(in)
	if err != nil {
		return nil, err
	}
	var lines0 int64
	if in.Skip > 0 {
		skip = in.Skip
		if lines0, err = skipLines(in); err != nil {
			return nil, err
		}
	}
	r := &ctxReader{ctx, io.NewSectionReader(in.R, skip, in.Size-skip)}
	if ext != ".json" {
		return &lineSource{r: bufio.NewReaderSize(r, 256<<10), line: lines0}, nil
	}
	lines := &lineCounter{r: r}
	src := &valueSource{dec: json.NewDecoder(lines), lines: lines}
	return src, src.open()
}

// lineSource yields lines.
type lineSource struct {
	r    *bufio.Reader
	line int64
	long []byte
}

func (s *lineSource) next() ([]byte, int64, error) {
	for {
		text, err := s.readLine()
		if len(text) == 0 && err != nil {
			return nil, s.line, err
		}
		s.line++
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return text, s.line, nil
		}
	}
}

func (s *lineSource) readLine() ([]byte, error) {
	text, err := s.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		if errors.Is(err, io.EOF) && len(text) > 0 {
			err = nil
		}
		return text, err
	}
	s.long = append(s.long[:0], text...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(s.long) > maxJSONRecord {
			return nil, &RowError{Line: s.line + 1, Code: "size", Msg: "this line is longer than 64 MiB"}
		}
		text, err = s.r.ReadSlice('\n')
		s.long = append(s.long, text...)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return s.long, err
}

// valueSource yields the elements of an array, or concatenated objects.
type valueSource struct {
	dec   *json.Decoder
	lines *lineCounter
	array bool
	raw   json.RawMessage
}

func (s *valueSource) open() error {
	first, err := s.lines.peek()
	if err != nil {
		if err == io.EOF {
			return nil
		}
		return err
	}
	if first == '[' {
		s.array = true
		_, err = s.dec.Token()
	}
	return err
}

func (s *valueSource) next() ([]byte, int64, error) {
	if s.array && !s.dec.More() {
		return nil, 0, s.endArray()
	}
	s.raw = s.raw[:0]
	err := s.dec.Decode(&s.raw)
	end := s.dec.InputOffset()
	line := s.lines.at(end) - int64(bytes.Count(s.raw, []byte{'\n'}))
	var syn *json.SyntaxError
	switch {
	case errors.As(err, &syn):
		return nil, line, &RowError{Line: s.lines.at(syn.Offset), Code: "syntax", Msg: "not valid JSON: " + syn.Error()}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, line, &RowError{Line: s.lines.line, Code: "syntax", Msg: "the file ends inside a JSON value; is it whole?"}
	case err != nil:
		return nil, line, err
	}
	if len(s.raw) > maxJSONRecord {
		return nil, line, &RowError{Line: line, Code: "size", Msg: "this value is longer than 64 MiB"}
	}
	return s.raw, line, nil
}

func (s *valueSource) endArray() error {
	if _, err := s.dec.Token(); err != nil {
		return &RowError{Line: s.lines.line, Code: "syntax", Msg: "the array is not closed; is the file whole?"}
	}
	if _, err := s.dec.Token(); err != io.EOF {
		return &RowError{Line: s.lines.at(s.dec.InputOffset()), Code: "syntax", Msg: "text after the closing bracket"}
	}
	return io.EOF
}

// lineCounter remembers where recent lines began, so that an offset can be named as a line.
type lineCounter struct {
	r     io.Reader
	off   int64
	line  int64 // newlines seen, plus one
	marks []lineMark
	ahead []byte
}

type lineMark struct{ off, line int64 }

// peek returns the first byte that is not white space.
func (c *lineCounter) peek() (byte, error) {
	buf := make([]byte, 4096)
	for {
		n, err := c.r.Read(buf)
		c.ahead = append(c.ahead, buf[:n]...)
		if rest := bytes.TrimSpace(c.ahead); len(rest) > 0 {
			return rest[0], nil
		}
		if err != nil {
			return 0, err
		}
		if len(c.ahead) > maxJSONRecord {
			return 0, &RowError{Line: 1, Code: "syntax", Msg: "nothing but white space"}
		}
	}
}

func (c *lineCounter) Read(p []byte) (n int, err error) {
	if c.line == 0 {
		c.line = 1
	}
	if len(c.ahead) > 0 {
		n = copy(p, c.ahead)
		c.ahead = c.ahead[n:]
	} else {
		n, err = c.r.Read(p)
	}
	c.marks = append(c.marks, lineMark{c.off, c.line})
	for i, b := range p[:n] {
		if b == '\n' {
			c.line++
			c.marks = append(c.marks, lineMark{c.off + int64(i) + 1, c.line})
		}
	}
	if drop := len(c.marks) - 1<<16; drop > 0 {
		c.marks = append(c.marks[:0], c.marks[drop:]...)
	}
	c.off += int64(n)
	return n, err
}

// at returns the line that holds the byte at off.
func (c *lineCounter) at(off int64) int64 {
	for i := len(c.marks) - 1; i >= 0; i-- {
		if c.marks[i].off <= off {
			return c.marks[i].line
		}
	}
	return max(c.line, 1)
}

// Read implements RowReader.
func (r *jsonReader) Read(dst []record.Row) (int, error) {
	r.build.batch()
	r.lines = r.lines[:0]
	want := min(len(dst), batchRows)
	for n := 0; n < want; n++ {
		text, line, err := r.src.next()
		if err != nil {
			return n, err
		}
		row, err := r.row(dst[n], text)
		if err != nil {
			var rerr *RowError
			if errors.As(err, &rerr) && rerr.Line == 0 {
				rerr.Line = line
			}
			return n, err
		}
		dst[n] = row
		r.lines = append(r.lines, line)
	}
	return want, nil
}

func (r *jsonReader) row(dst record.Row, text []byte) (record.Row, error) {
	if !utf8.Valid(text) {
		return dst, &RowError{Code: "encoding", Sample: sample(text), Msg: "not valid UTF-8"}
	}
	v, err := r.parser.ParseBytes(text)
	if err != nil || fastjson.ValidateBytes(text) != nil {
		return dst, syntaxError(text)
	}
	obj, err := v.Object()
	if err != nil {
		return dst, &RowError{Code: "syntax", Sample: sample(text), Msg: "not a JSON object; each row is one object with the column names as keys"}
	}
	r.rows++
	if rerr := r.fields(obj); rerr != nil {
		return dst, rerr
	}
	row, rerr := r.build.row(dst)
	if rerr != nil {
		return row, rerr
	}
	return row, nil
}

func (r *jsonReader) fields(obj *fastjson.Object) (rerr *RowError) {
	t := r.build.t
	obj.Visit(func(key []byte, v *fastjson.Value) {
		if rerr != nil {
			return
		}
		ci, ok := t.byName[string(key)]
		if !ok {
			if !schema.IsMetaField(string(key)) {
				rerr = &RowError{Column: string(key), Code: "header", Msg: fmt.Sprintf("the table has no such column; it has %s%s", t.names(), hint(string(key), t))}
			}
			return
		}
		if r.seen[ci] == r.rows {
			rerr = &RowError{Column: string(key), Code: "header", Msg: "the column is given twice"}
			return
		}
		r.seen[ci] = r.rows
		rerr = r.value(ci, v)
	})
	if rerr == nil {
		rerr = r.build.setFixed(r.in)
	}
	for name := range r.in.Fixed {
		if ci := t.byName[name]; rerr == nil && r.seen[ci] == r.rows {
			rerr = &RowError{Column: name, Code: "header", Msg: "the column is given by the directory name and by the file"}
		}
	}
	switch {
	case rerr != nil:
	case r.in.KeysOnly:
		rerr = r.missingKey()
	case !r.in.Options.FillMissing:
		rerr = r.missing()
	}
	return rerr
}

// missingKey refuses a row of a delete that does not say which row it means.
func (r *jsonReader) missingKey() *RowError {
	for _, name := range r.in.Keys {
		ci, ok := r.build.t.byName[name]
		if _, fixed := r.in.Fixed[name]; !ok || fixed || r.seen[ci] == r.rows {
			continue
		}
		return &RowError{Column: name, Code: "header", Msg: "missing" + toFind(r.in)}
	}
	return nil
}

// missing refuses a row that leaves out a column: an upsert would overwrite it with null. An explicit null is the way to say that.
func (r *jsonReader) missing() *RowError {
	for i := range r.build.t.columns {
		c := &r.build.t.columns[i]
		if _, fixed := r.in.Fixed[c.field.Name]; c.meta || fixed || r.seen[i] == r.rows {
			continue
		}
		return &RowError{Column: c.field.Name, Code: "header",
			Msg: "missing; an upsert would overwrite it with null. Write null to mean that, or allow it with fill-missing-columns"}
	}
	return nil
}

func (r *jsonReader) value(ci int, v *fastjson.Value) *RowError {
	if v.Type() == fastjson.TypeNull {
		return nil
	}
	c := &r.build.t.columns[ci]
	if c.parser == nil {
		g, err := r.tree(c.field.Type, v, c.field.Name)
		if err != nil {
			return err
		}
		r.build.nested[ci], r.build.set[ci] = g, true
		return nil
	}
	text, msg := scalarText(c.field.Type, v)
	if msg != "" {
		return &RowError{Column: c.field.Name, Type: Describe(c.field.Type), Sample: sample([]byte(v.String())), Msg: msg, Code: "type"}
	}
	return r.build.parse(ci, text)
}

// scalarText returns the text of a JSON scalar for a column of type t: a number's digits as they stand, so that no precision is lost.
func scalarText(t *schema.Type, v *fastjson.Value) ([]byte, string) {
	switch v.Type() {
	case fastjson.TypeString:
		b, _ := v.StringBytes()
		return b, ""
	case fastjson.TypeNumber:
		if t.Kind == schema.Boolean {
			return nil, "a number, not a boolean"
		}
		if t.Kind == schema.Int && t.Logical == schema.Date {
			return nil, "a number, not a date (YYYY-MM-DD)"
		}
		return v.MarshalTo(nil), ""
	case fastjson.TypeTrue, fastjson.TypeFalse:
		if t.Kind != schema.Boolean && t.Kind != schema.String {
			return nil, "a boolean where the column takes none"
		}
		return []byte(strconv.FormatBool(v.GetBool())), ""
	}
	if t.Kind == schema.String {
		return v.MarshalTo(nil), "" // an object or array in a string column keeps its JSON text
	}
	return nil, fmt.Sprintf("a JSON %s, not a %s", v.Type(), Describe(t))
}

func syntaxError(text []byte) *RowError {
	var any json.RawMessage
	err := json.Unmarshal(text, &any)
	e := &RowError{Code: "syntax", Sample: sample(text), Msg: "not valid JSON"}
	var syn *json.SyntaxError
	if errors.As(err, &syn) {
		e.Char = syn.Offset
		e.Msg = "not valid JSON: " + syn.Error()
	}
	return e
}

// Line implements RowReader.
func (r *jsonReader) Line(i int) int64 { return r.lines[i] }

// Close implements RowReader.
func (r *jsonReader) Close() error { return nil }
