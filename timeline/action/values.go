package action

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/hudifs/hudifs/internal/avrocodec"
	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// plans remembers what was made of the schemas that bodies carry. It changes how fast bodies are read, not what is read.
var plans avrocodec.Plans

// readContainer returns the one record of an Avro container as a tree, under the container's own schema (timeline.md §4.2).
func readContainer(name string, data []byte) (*object, error) {
	c, err := plans.Container(bytes.NewReader(data), name)
	if err != nil {
		return nil, damaged(name, err)
	}
	dec, err := plans.Decoder(c.Schema())
	if err != nil {
		return nil, damaged(name, err)
	}
	var first []any
	for records := 0; ; {
		count, block, err := c.NextBlock()
		if errors.Is(err, io.EOF) && records == 1 {
			plans.Return(c.Schema(), dec)
			n, err := recordNode(c.Schema().Root(), first)
			if err != nil {
				return nil, damaged(name, err)
			}
			return n, nil
		}
		if records += count; err == nil && records > 1 || errors.Is(err, io.EOF) {
			return nil, corrupt.At(name, -1, "the container holds %d records, want 1", records)
		}
		if err == nil {
			first, err = dec.DecodeValue(block)
		}
		if err != nil {
			return nil, damaged(name, err)
		}
	}
}

// damaged says that a body in memory cannot be decoded: reading again does not help, whatever is wrong.
func damaged(name string, err error) error {
	if corrupt.Is(err) {
		return err
	}
	return corrupt.At(name, -1, "%w", err)
}

// node turns a Go value of avrocodec into a tree.
func node(t *schema.Type, v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, []byte:
		return v, nil
	case int32:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case record.UnionValue:
		return node(t.Branches[v.Branch], v.Value)
	case []record.MapEntry:
		o := &object{isMap: true, names: make([]string, len(v)), values: make([]any, len(v))}
		for i, e := range v {
			n, err := node(t.Elem, e.Value)
			if err != nil {
				return nil, err
			}
			o.names[i], o.values[i] = e.Key, n
		}
		return o, nil
	case []any:
		if t.Kind == schema.Record {
			return recordNode(t, v)
		}
		list := make([]any, len(v))
		for i, e := range v {
			n, err := node(t.Elem, e)
			if err != nil {
				return nil, err
			}
			list[i] = n
		}
		return list, nil
	}
	return nil, fmt.Errorf("a %s value has the Go type %T", t.Kind, v)
}

func recordNode(t *schema.Type, fields []any) (*object, error) {
	o := &object{names: make([]string, len(fields)), values: make([]any, len(fields))}
	for i, v := range fields {
		n, err := node(t.Fields[i].Type, v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Fields[i].Name, err)
		}
		o.names[i], o.values[i] = t.Fields[i].Name, n
	}
	return o, nil
}

// value turns a tree into the Go value that avrocodec writes as type t. What a record lacks is null.
func value(t *schema.Type, n any) (any, error) {
	switch n := n.(type) {
	case nil, bool, float64, string, []byte:
		return n, nil
	case int64:
		if t.Kind == schema.Int {
			return int32(n), nil
		}
		return n, nil
	case []any:
		list := make([]any, len(n))
		for i, e := range n {
			v, err := value(t.Elem, e)
			if err != nil {
				return nil, fmt.Errorf("item %d: %w", i, err)
			}
			list[i] = v
		}
		return list, nil
	case *object:
		if t.Kind == schema.Record {
			return recordValue(t, n)
		}
		entries := make([]record.MapEntry, len(n.names))
		for i, k := range n.names {
			v, err := value(t.Elem, n.values[i])
			if err != nil {
				return nil, fmt.Errorf("%q: %w", k, err)
			}
			entries[i] = record.MapEntry{Key: k, Value: v}
		}
		return entries, nil
	}
	return nil, fmt.Errorf("%T is no %s", n, t.Kind)
}

func recordValue(t *schema.Type, o *object) ([]any, error) {
	fields := make([]any, len(t.Fields))
	for i := range t.Fields {
		f := &t.Fields[i]
		n, _ := o.get(f.Name)
		if n == nil && !f.Type.Nullable {
			n = fieldDefault(f)
		}
		v, err := value(f.Type, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		fields[i] = v
	}
	return fields, nil
}

// fieldDefault is the default of a field that is not nullable, of the kinds that bodies have: "" and [].
func fieldDefault(f *schema.Field) any {
	switch d := f.Default.(type) {
	case string:
		return d
	case []any:
		return d
	}
	return nil
}

// writeContainer writes a container of one record, as Java does: no codec entry, one block.
func writeContainer(s *schema.Schema, o *object) ([]byte, error) {
	fields, err := recordValue(s.Root(), o)
	if err != nil {
		return nil, err
	}
	return avrocodec.WriteContainer(s, avrocodec.ContainerOptions{}, fields)
}

// FromValue reads a body that is nested in another record, such as an archived instant's: v is its Go value of type t, as record.Assembler
// gives it. nil gives the zero body.
func FromValue[T Body](t *schema.Type, v any) (*T, error) {
	out := new(T)
	n, err := node(t, v)
	if err != nil {
		return nil, err
	}
	if err := fromTree(reflect.ValueOf(out).Elem(), n); err != nil {
		return nil, err
	}
	return out, nil
}

// NestedValue turns a body, in whichever encoding it has, into the Go value of type t, a record that holds it in another one: fields go
// by name, those that t lacks are dropped. No bytes give nil.
func NestedValue(name string, body []byte, t *schema.Type) (any, error) {
	if len(body) == 0 {
		return nil, nil
	}
	o, err := readTree(name, body)
	if err != nil {
		return nil, err
	}
	v, err := recordValue(t, o)
	if err != nil {
		return nil, damaged(name, err)
	}
	return v, nil
}
