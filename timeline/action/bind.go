package action

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Struct fields carry a tag avro:"name[,option]". Options:
//
//	null  the zero value is written as null
//	keep  a nil map or slice is written as an empty one, because Java trips over null there
//
// Without an option a nil pointer, map or slice is null and everything else is written as it is. Reading takes null as the zero value.
type binding struct {
	name  string
	index int
	null  bool
	keep  bool
}

// bindings caches the tags of each struct type: a pure function of the type.
var bindings sync.Map // reflect.Type → []binding

func bindingsOf(t reflect.Type) []binding {
	if b, ok := bindings.Load(t); ok {
		return b.([]binding)
	}
	var out []binding
	for i := range t.NumField() {
		tag, ok := t.Field(i).Tag.Lookup("avro")
		if !ok {
			continue
		}
		name, opt, _ := strings.Cut(tag, ",")
		out = append(out, binding{name: name, index: i, null: opt == "null", keep: opt == "keep"})
	}
	bindings.Store(t, out)
	return out
}

// fromTree fills the struct, map, slice or scalar v from node n. Fields that n lacks stay zero; fields that v lacks are passed over.
func fromTree(v reflect.Value, n any) error {
	if n == nil {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fromTree(v.Elem(), n)
	case reflect.Struct:
		o, ok := n.(*object)
		if !ok {
			return mismatch("a record", n)
		}
		return structFrom(v, o)
	case reflect.Map:
		o, ok := n.(*object)
		if !ok {
			return mismatch("a map", n)
		}
		return mapFrom(v, o)
	case reflect.Slice:
		list, ok := n.([]any)
		if !ok {
			return mismatch("a list", n)
		}
		v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
		for i, e := range list {
			if err := fromTree(v.Index(i), e); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
		return nil
	}
	return scalarFrom(v, n)
}

func mismatch(want string, n any) error {
	switch n.(type) {
	case *object:
		return fmt.Errorf("want %s, have a record", want)
	case []any:
		return fmt.Errorf("want %s, have a list", want)
	}
	return fmt.Errorf("want %s, have %v", want, n)
}

func structFrom(v reflect.Value, o *object) error {
	for _, b := range bindingsOf(v.Type()) {
		n, ok := o.get(b.name)
		if !ok {
			continue
		}
		if err := fromTree(v.Field(b.index), n); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	if s, ok := v.Addr().Interface().(fixer); ok {
		return s.fromObject(o)
	}
	return nil
}

// fixer is a struct whose fields do not map one to one.
type fixer interface {
	fromObject(o *object) error // after the tagged fields are set
	toObject(o *object) error   // after the tagged fields are added
}

func mapFrom(v reflect.Value, o *object) error {
	m := reflect.MakeMapWithSize(v.Type(), len(o.names))
	for i, k := range o.names {
		e := reflect.New(v.Type().Elem()).Elem()
		if err := fromTree(e, o.values[i]); err != nil {
			return fmt.Errorf("%q: %w", k, err)
		}
		m.SetMapIndex(reflect.ValueOf(k), e)
	}
	v.Set(m)
	return nil
}

func scalarFrom(v reflect.Value, n any) error {
	switch v.Kind() {
	case reflect.String:
		if s, ok := n.(string); ok {
			v.SetString(s)
			return nil
		}
		return mismatch("a string", n)
	case reflect.Bool:
		if b, ok := n.(bool); ok {
			v.SetBool(b)
			return nil
		}
		return mismatch("a boolean", n)
	case reflect.Int32, reflect.Int64:
		i, ok := n.(int64)
		if !ok || v.OverflowInt(i) {
			return mismatch("a whole number", n)
		}
		v.SetInt(i)
		return nil
	case reflect.Float64:
		switch n := n.(type) {
		case float64:
			v.SetFloat(n)
		case int64:
			v.SetFloat(float64(n))
		default:
			return mismatch("a number", n)
		}
		return nil
	}
	return fmt.Errorf("field of kind %s has no form", v.Kind())
}

// toTree turns v into a node.
func toTree(v reflect.Value) (any, error) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil, nil
		}
		return toTree(v.Elem())
	case reflect.Struct:
		return structTo(v)
	case reflect.Map:
		if v.IsNil() {
			return nil, nil
		}
		return mapTo(v)
	case reflect.Slice:
		if v.IsNil() {
			return nil, nil
		}
		list := make([]any, v.Len())
		for i := range list {
			n, err := toTree(v.Index(i))
			if err != nil {
				return nil, fmt.Errorf("item %d: %w", i, err)
			}
			list[i] = n
		}
		return list, nil
	case reflect.String:
		return v.String(), nil
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Float64:
		return v.Float(), nil
	}
	return nil, fmt.Errorf("field of kind %s has no form", v.Kind())
}

func structTo(v reflect.Value) (any, error) {
	bs := bindingsOf(v.Type())
	o := &object{names: make([]string, 0, len(bs)+4), values: make([]any, 0, len(bs)+4)}
	for _, b := range bs {
		f := v.Field(b.index)
		if b.null && f.IsZero() {
			o.add(b.name, nil)
			continue
		}
		n, err := toTree(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		if n == nil && b.keep && f.Kind() == reflect.Map {
			n = &object{isMap: true}
		} else if n == nil && b.keep {
			n = []any{}
		}
		o.add(b.name, n)
	}
	if v.CanAddr() {
		if s, ok := v.Addr().Interface().(fixer); ok {
			return o, s.toObject(o)
		}
	}
	return o, nil
}

// mapTo orders the entries as Java's HashMap would.
func mapTo(v reflect.Value) (any, error) {
	keys := make(map[string]reflect.Value, v.Len())
	for it := v.MapRange(); it.Next(); {
		e := reflect.New(v.Type().Elem()).Elem() // addressable, for fixers
		e.Set(it.Value())
		keys[it.Key().String()] = e
	}
	o := &object{isMap: true}
	for _, k := range javaOrder(keys) {
		n, err := toTree(keys[k])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", k, err)
		}
		o.add(k, n)
	}
	return o, nil
}
