package action

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fastjson"

	"github.com/hudifs/hudifs/internal/corrupt"
)

// readJSON parses a JSON object into a tree.
func readJSON(name string, data []byte) (*object, error) {
	if !utf8.Valid(data) {
		return nil, corrupt.At(name, 0, "JSON body is not UTF-8")
	}
	var p fastjson.Parser
	v, err := p.ParseBytes(data)
	if err != nil {
		return nil, corrupt.At(name, -1, "JSON body: %w", err)
	}
	n, err := jsonNode(v)
	if err != nil {
		return nil, corrupt.At(name, -1, "JSON body: %w", err)
	}
	o, ok := n.(*object)
	if !ok {
		return nil, corrupt.At(name, 0, "JSON body is not an object")
	}
	return o, nil
}

// jsonNode copies v out of the parser's memory.
func jsonNode(v *fastjson.Value) (any, error) {
	switch v.Type() {
	case fastjson.TypeNull:
		return nil, nil
	case fastjson.TypeTrue, fastjson.TypeFalse:
		return v.Type() == fastjson.TypeTrue, nil
	case fastjson.TypeString:
		b, err := v.StringBytes()
		return string(b), err
	case fastjson.TypeNumber:
		text := v.String()
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i, nil
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("number %q", text)
		}
		return f, nil
	case fastjson.TypeArray:
		items, err := v.Array()
		if err != nil {
			return nil, err
		}
		list := make([]any, len(items))
		for i, item := range items {
			if list[i], err = jsonNode(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	from, err := v.Object()
	if err != nil {
		return nil, err
	}
	o := &object{names: make([]string, 0, from.Len()), values: make([]any, 0, from.Len())}
	from.Visit(func(key []byte, v *fastjson.Value) {
		n, e := jsonNode(v)
		if e != nil && err == nil {
			err = e
		}
		o.add(string(key), n)
	})
	return o, err
}

// appendJSON prints n as Jackson's default pretty printer does: two spaces a level, " : ", arrays on one line, { } and [ ] when empty.
func appendJSON(b []byte, n any, indent int) []byte {
	switch n := n.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, n)
	case int64:
		return strconv.AppendInt(b, n, 10)
	case float64:
		return appendJSONFloat(b, n)
	case string:
		return appendJSONString(b, n)
	case []byte:
		return appendJSONString(b, latin1(n))
	case []any:
		if len(n) == 0 {
			return append(b, "[ ]"...)
		}
		for i, v := range n {
			if i == 0 {
				b = append(b, "[ "...)
			} else {
				b = append(b, ", "...)
			}
			b = appendJSON(b, v, indent)
		}
		return append(b, " ]"...)
	case *object:
		if len(n.names) == 0 {
			return append(b, "{ }"...)
		}
		b = append(b, '{')
		for i, k := range n.names {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendIndent(b, indent+1)
			b = append(appendJSONString(b, k), " : "...)
			b = appendJSON(b, n.values[i], indent+1)
		}
		return append(appendIndent(b, indent), '}')
	}
	return append(b, "null"...)
}

func appendIndent(b []byte, n int) []byte {
	b = append(b, '\n')
	for range n {
		b = append(b, "  "...)
	}
	return b
}

// appendJSONFloat keeps a point in whole numbers, as Java does, and quotes what JSON has no number for.
func appendJSONFloat(b []byte, f float64) []byte {
	if f-f != 0 {
		return appendJSONString(b, strconv.FormatFloat(f, 'g', -1, 64))
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".eE") {
		s += ".0"
	}
	return append(b, s...)
}

// latin1 is how Avro's JSON spells bytes.
func latin1(b []byte) string {
	r := make([]rune, len(b))
	for i, c := range b {
		r[i] = rune(c)
	}
	return string(r)
}

func appendJSONString(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD") // only to show: Avro strings are not checked
	}
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= 0x20:
			b = append(b, c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\f':
			b = append(b, `\f`...)
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(b, '"')
}
