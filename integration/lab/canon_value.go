package lab

import (
	"fmt"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// FromRecord turns the Go values of one row of schema s, one for each top-level field as record.Assembler gives them, into
// a Struct that Line spells.
func FromRecord(s *schema.Schema, fields []any) (Struct, error) {
	return fromFields(s.Root(), fields)
}

func fromFields(t *schema.Type, fields []any) (Struct, error) {
	if len(fields) != len(t.Fields) {
		return nil, fmt.Errorf("record %s has %d values for %d fields", t.Name, len(fields), len(t.Fields))
	}
	out := make(Struct, len(fields))
	for i, f := range t.Fields {
		v, err := fromValue(f.Type, fields[i])
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		out[f.Name] = v
	}
	return out, nil
}

// fromValue gives a value its meaning from its type.
func fromValue(t *schema.Type, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	switch t.Kind {
	case schema.Record:
		fields, ok := v.([]any)
		if !ok {
			return nil, fmt.Errorf("a record as %T", v)
		}
		return fromFields(t, fields)
	case schema.Array:
		return fromList(t, v)
	case schema.Map:
		return fromMap(t, v)
	case schema.Bytes, schema.Fixed:
		return fromBytes(t, v)
	case schema.Int, schema.Long:
		return fromNumber(t, v)
	default:
		return v, nil
	}
}

func fromList(t *schema.Type, v any) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("an array as %T", v)
	}
	out := make([]any, len(list))
	for i, e := range list {
		x, err := fromValue(t.Elem, e)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		out[i] = x
	}
	return out, nil
}

func fromMap(t *schema.Type, v any) (any, error) {
	entries, ok := v.([]record.MapEntry)
	if !ok {
		return nil, fmt.Errorf("a map as %T", v)
	}
	out := make(Map, len(entries))
	for i, e := range entries {
		x, err := fromValue(t.Elem, e.Value)
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", e.Key, err)
		}
		out[i] = MapEntry{e.Key, x}
	}
	return out, nil
}

// fromBytes tells decimals and UUIDs from bytes.
func fromBytes(t *schema.Type, v any) (any, error) {
	switch v := v.(type) {
	case *record.Decimal:
		return Decimal{v.Unscaled, v.Scale}, nil
	case []byte:
		if t.Logical == schema.UUID && len(v) == 16 {
			return fmt.Sprintf("%x-%x-%x-%x-%x", v[:4], v[4:6], v[6:8], v[8:10], v[10:]), nil
		}
		return v, nil
	default:
		return nil, fmt.Errorf("bytes as %T", v)
	}
}

func fromNumber(t *schema.Type, v any) (any, error) {
	var n int64
	switch v := v.(type) {
	case int32:
		n = int64(v)
	case int64:
		n = v
	default:
		return nil, fmt.Errorf("a number as %T", v)
	}
	switch t.Logical {
	case schema.Date:
		return Date(n), nil
	case schema.TimestampMillis, schema.LocalTimestampMillis:
		return Timestamp(n * 1000), nil
	case schema.TimestampMicros, schema.LocalTimestampMicros:
		return Timestamp(n), nil
	case schema.TimestampNanos, schema.LocalTimestampNanos:
		return Timestamp(floorDiv(n, 1000)), nil
	}
	return n, nil
}

// floorDiv divides towards minus infinity, as cutting nanoseconds before 1970 needs.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
