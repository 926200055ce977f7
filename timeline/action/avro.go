package action

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/hudifs/hudifs/internal/schema"
)

// errShort says that the bytes end inside a value.
var errShort = errors.New("the data ends too early")

// avroReader decodes one value after another. pos is where it stands, for messages.
type avroReader struct {
	data []byte
	pos  int
}

// long reads a zig-zag number of up to ten bytes.
func (r *avroReader) long() (int64, error) {
	v, n := binary.Varint(r.data[r.pos:])
	switch {
	case n == 0:
		return 0, errShort
	case n < 0:
		return 0, errors.New("a number is longer than ten bytes")
	}
	r.pos += n
	return v, nil
}

// length reads a byte count and checks it against what is there.
func (r *avroReader) length() (int, error) {
	n, err := r.long()
	if err != nil {
		return 0, err
	}
	if n < 0 {
		return 0, fmt.Errorf("a length is %d", n)
	}
	if n > int64(len(r.data)-r.pos) {
		return 0, errShort
	}
	return int(n), nil
}

func (r *avroReader) bytes(n int) ([]byte, error) {
	if n < 0 || n > len(r.data)-r.pos {
		return nil, errShort
	}
	b := r.data[r.pos : r.pos+n]
	r.pos += n
	return b, nil
}

func (r *avroReader) text() (string, error) {
	n, err := r.length()
	if err != nil {
		return "", err
	}
	b, err := r.bytes(n)
	return string(b), err
}

// value decodes a value of type t, the branch number of its union included.
func (r *avroReader) value(t *schema.Type) (any, error) {
	if t.Kind == schema.Union {
		return r.union(t)
	}
	if t.Nullable {
		branch, err := r.long()
		if err != nil {
			return nil, err
		}
		if branch != 0 && branch != 1 {
			return nil, fmt.Errorf("union branch %d of 2", branch)
		}
		if (branch == 0) == t.NullFirst {
			return nil, nil
		}
	}
	return r.plain(t)
}

func (r *avroReader) union(t *schema.Type) (any, error) {
	branch, err := r.long()
	if err != nil {
		return nil, err
	}
	if t.Nullable {
		if branch == int64(t.NullIndex) {
			return nil, nil
		}
		if branch > int64(t.NullIndex) {
			branch--
		}
	}
	if branch < 0 || branch >= int64(len(t.Branches)) {
		return nil, fmt.Errorf("union branch %d of %d", branch, len(t.Branches))
	}
	return r.value(t.Branches[branch])
}

func (r *avroReader) plain(t *schema.Type) (any, error) {
	switch t.Kind {
	case schema.Null:
		return nil, nil
	case schema.Boolean:
		b, err := r.bytes(1)
		if err != nil {
			return nil, err
		}
		if b[0] > 1 {
			return nil, fmt.Errorf("a boolean is %d", b[0])
		}
		return b[0] == 1, nil
	case schema.Int, schema.Long:
		v, err := r.long()
		if err == nil && t.Kind == schema.Int && v != int64(int32(v)) {
			return nil, fmt.Errorf("an int is %d", v)
		}
		return v, err
	case schema.Float:
		b, err := r.bytes(4)
		if err != nil {
			return nil, err
		}
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), nil
	case schema.Double:
		b, err := r.bytes(8)
		if err != nil {
			return nil, err
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
	case schema.String:
		return r.text()
	case schema.Bytes:
		n, err := r.length()
		if err != nil {
			return nil, err
		}
		return r.bytes(n)
	case schema.Fixed:
		return r.bytes(t.Size)
	case schema.Enum:
		v, err := r.long()
		if err == nil && (v < 0 || v >= int64(len(t.Symbols))) {
			err = fmt.Errorf("enum symbol %d of %d", v, len(t.Symbols))
		}
		if err != nil {
			return nil, err
		}
		return t.Symbols[v], nil
	}
	return r.nested(t)
}

func (r *avroReader) nested(t *schema.Type) (any, error) {
	switch t.Kind {
	case schema.Record:
		o := &object{names: make([]string, len(t.Fields)), values: make([]any, len(t.Fields))}
		for i := range t.Fields {
			f := &t.Fields[i]
			v, err := r.value(f.Type)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			o.names[i], o.values[i] = f.Name, v
		}
		return o, nil
	case schema.Array:
		list := []any{}
		err := r.blocks(func() error {
			v, err := r.value(t.Elem)
			list = append(list, v)
			return err
		})
		return list, err
	case schema.Map:
		o := &object{isMap: true}
		err := r.blocks(func() error {
			k, err := r.text()
			if err != nil {
				return err
			}
			v, err := r.value(t.Elem)
			o.add(k, v)
			return err
		})
		return o, err
	}
	return nil, fmt.Errorf("a value has the type kind %s", t.Kind)
}

// blocks reads the blocks of an array or map, calling item for each item. Every item takes at least a byte (schemas with empty records are
// refused), so a count beyond the bytes that are left is a lie and nothing is allocated for it.
func (r *avroReader) blocks(item func() error) error {
	for {
		n, err := r.long()
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		if n < 0 {
			if n = -n; n < 0 {
				return errors.New("a block has too many items")
			}
			if _, err := r.length(); err != nil { // the size in bytes, for skipping
				return err
			}
		}
		if n > int64(len(r.data)-r.pos) {
			return errShort
		}
		for range n {
			if err := item(); err != nil {
				return err
			}
		}
	}
}

// appendAvro encodes v as type t. What v lacks is null, or the field's default.
func appendAvro(b []byte, t *schema.Type, v any) ([]byte, error) {
	if t.Kind == schema.Union {
		return nil, errors.New("a union of several types is not written by any body")
	}
	if t.Nullable {
		null, other := int64(1), int64(0)
		if t.NullFirst {
			null, other = 0, 1
		}
		if v == nil {
			return binary.AppendVarint(b, null), nil
		}
		b = binary.AppendVarint(b, other)
	}
	switch v := v.(type) {
	case nil:
		return nil, fmt.Errorf("a %s is missing", t.Kind)
	case bool:
		if t.Kind == schema.Boolean {
			if v {
				return append(b, 1), nil
			}
			return append(b, 0), nil
		}
	case int64:
		if t.Kind == schema.Long || t.Kind == schema.Int {
			return binary.AppendVarint(b, v), nil
		}
	case float64:
		if t.Kind == schema.Double {
			return binary.LittleEndian.AppendUint64(b, math.Float64bits(v)), nil
		}
	case string:
		if t.Kind == schema.String {
			return append(binary.AppendVarint(b, int64(len(v))), v...), nil
		}
	case []byte:
		if t.Kind == schema.Bytes {
			return append(binary.AppendVarint(b, int64(len(v))), v...), nil
		}
	case []any:
		if t.Kind == schema.Array {
			return appendItems(b, t, v)
		}
	case *object:
		if t.Kind == schema.Map {
			return appendEntries(b, t, v)
		}
		if t.Kind == schema.Record {
			return appendFields(b, t, v)
		}
	}
	return nil, fmt.Errorf("%T is no %s", v, t.Kind)
}

func appendItems(b []byte, t *schema.Type, list []any) (_ []byte, err error) {
	if len(list) > 0 {
		b = binary.AppendVarint(b, int64(len(list)))
		for i, v := range list {
			if b, err = appendAvro(b, t.Elem, v); err != nil {
				return nil, fmt.Errorf("item %d: %w", i, err)
			}
		}
	}
	return append(b, 0), nil
}

func appendEntries(b []byte, t *schema.Type, o *object) (_ []byte, err error) {
	if len(o.names) > 0 {
		b = binary.AppendVarint(b, int64(len(o.names)))
		for i, k := range o.names {
			b = append(binary.AppendVarint(b, int64(len(k))), k...)
			if b, err = appendAvro(b, t.Elem, o.values[i]); err != nil {
				return nil, fmt.Errorf("%q: %w", k, err)
			}
		}
	}
	return append(b, 0), nil
}

func appendFields(b []byte, t *schema.Type, o *object) (_ []byte, err error) {
	for i := range t.Fields {
		f := &t.Fields[i]
		v, _ := o.get(f.Name)
		if b, err = appendAvro(b, f.Type, v); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return b, nil
}
