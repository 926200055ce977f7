package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxDepth bounds the nesting of a schema text and of the type tree, so that hostile text ends in an error and levels fit a byte.
const maxDepth = 100

// object is a JSON object that remembers the order of its keys.
type object struct {
	keys []string
	vals map[string]any
}

// has returns the value of key and whether it is there.
func (o *object) has(key string) (any, bool) {
	v, ok := o.vals[key]
	return v, ok
}

// text returns the string under key, "" where there is none.
func (o *object) text(key string) (string, error) {
	v, ok := o.vals[key]
	if !ok || v == nil {
		return "", nil
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%q must be a string", key)
	}
	return s, nil
}

// texts returns the list of strings under key.
func (o *object) texts(key string) ([]string, error) {
	v, ok := o.vals[key]
	if !ok || v == nil {
		return nil, nil
	}
	l, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%q must be a list of strings", key)
	}
	out := make([]string, len(l))
	for i, e := range l {
		if out[i], ok = e.(string); !ok {
			return nil, fmt.Errorf("%q must be a list of strings", key)
		}
	}
	return out, nil
}

// number returns the whole number under key and whether there is one.
func (o *object) number(key string) (int, bool) {
	n, ok := o.vals[key].(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	if err != nil || i < -1<<31 || i >= 1<<31 {
		return 0, false
	}
	return int(i), true
}

// decodeJSON reads one JSON text with objects in order.
func decodeJSON(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the end of the JSON value")
	}
	return v, nil
}

func decodeValue(d *json.Decoder, depth int) (any, error) {
	if depth > 4*maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", 4*maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		return decodeObject(d, depth)
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	}
	return t, nil
}

func decodeObject(d *json.Decoder, depth int) (any, error) {
	o := &object{vals: map[string]any{}}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return nil, err
		}
		key := k.(string) // the decoder has checked it
		v, err := decodeValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		if _, twice := o.vals[key]; !twice {
			o.keys = append(o.keys, key)
		}
		o.vals[key] = v
	}
	_, err := d.Token()
	return o, err
}

// plain turns ordered objects into maps, as encoding/json would have made them.
func plain(v any) any {
	switch v := v.(type) {
	case *object:
		m := make(map[string]any, len(v.vals))
		for k, e := range v.vals {
			m[k] = plain(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = plain(e)
		}
		return l
	}
	return v
}

// appendJSON appends v without escaping what only HTML needs, as Java prints it.
func appendJSON(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // Encode ends with a line feed
	return nil
}
