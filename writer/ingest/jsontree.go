package ingest

import (
	"fmt"

	"github.com/valyala/fastjson"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// tree turns a JSON value into the Go value that record.Shredder takes for type t. path names the place in messages.
func (r *jsonReader) tree(t *schema.Type, v *fastjson.Value, path string) (any, *RowError) {
	if v == nil || v.Type() == fastjson.TypeNull {
		if !t.Nullable {
			return nil, &RowError{Column: path, Type: Describe(t), Code: "null", Msg: "null, but nulls are not taken here"}
		}
		return nil, nil
	}
	switch t.Kind {
	case schema.Record:
		return r.recordTree(t, v, path)
	case schema.Array:
		items, err := v.Array()
		if err != nil {
			return nil, wrongKind(t, v, path)
		}
		out := make([]any, len(items))
		for i, it := range items {
			g, rerr := r.tree(t.Elem, it, fmt.Sprintf("%s[%d]", path, i))
			if rerr != nil {
				return nil, rerr
			}
			out[i] = g
		}
		return out, nil
	case schema.Map:
		return r.mapTree(t, v, path)
	}
	p, err := newParser(t)
	if err != nil {
		return nil, &RowError{Column: path, Code: "type", Msg: err.Error()}
	}
	text, msg := scalarText(t, v)
	if msg == "" {
		var val record.Value
		if val, msg = p.parse(p, r.build.keep(text)); msg == "" {
			return goValue(t, val), nil
		}
	}
	return nil, &RowError{Column: path, Type: Describe(t), Sample: sample([]byte(v.String())), Msg: msg, Code: "type"}
}

func (r *jsonReader) recordTree(t *schema.Type, v *fastjson.Value, path string) (any, *RowError) {
	obj, err := v.Object()
	if err != nil {
		return nil, wrongKind(t, v, path)
	}
	var rerr *RowError
	obj.Visit(func(key []byte, _ *fastjson.Value) {
		for i := range t.Fields {
			if t.Fields[i].Name == string(key) {
				return
			}
		}
		rerr = &RowError{Column: path + "." + string(key), Code: "header", Msg: "the record has no such field"}
	})
	if rerr != nil {
		return nil, rerr
	}
	out := make([]any, len(t.Fields))
	for i := range t.Fields {
		f := &t.Fields[i]
		if out[i], rerr = r.tree(f.Type, obj.Get(f.Name), path+"."+f.Name); rerr != nil {
			return nil, rerr
		}
	}
	return out, nil
}

func (r *jsonReader) mapTree(t *schema.Type, v *fastjson.Value, path string) (any, *RowError) {
	obj, err := v.Object()
	if err != nil {
		return nil, wrongKind(t, v, path)
	}
	out := make([]record.MapEntry, 0, obj.Len())
	var rerr *RowError
	obj.Visit(func(key []byte, it *fastjson.Value) {
		if rerr != nil {
			return
		}
		var g any
		if g, rerr = r.tree(t.Elem, it, path+"."+string(key)); rerr == nil {
			out = append(out, record.MapEntry{Key: string(key), Value: g})
		}
	})
	return out, rerr
}

func wrongKind(t *schema.Type, v *fastjson.Value, path string) *RowError {
	return &RowError{Column: path, Type: Describe(t), Sample: sample([]byte(v.String())), Code: "type", Msg: fmt.Sprintf("a JSON %s", v.Type())}
}
