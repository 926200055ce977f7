package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// LeafDefault returns the Go value of a primitive type's default: bool, int32, int64, float32, float64, string (also for enums),
// []byte (bytes and fixed, decimals as their unscaled two's complement), nil for null.
func LeafDefault(t *Type, def any) (any, error) {
	if def == nil {
		if t.Nullable {
			return nil, nil
		}
		return nil, fmt.Errorf("default null does not fit %s", t.describe())
	}
	bad := fmt.Errorf("default %v does not fit %s", def, t.describe())
	switch t.Kind {
	case Boolean:
		if b, ok := def.(bool); ok {
			return b, nil
		}
	case Int, Long, Float, Double:
		if n, ok := numberDefault(t.Kind, def); ok {
			return n, nil
		}
	case String, Enum:
		if s, ok := def.(string); ok {
			return s, nil
		}
	case Bytes, Fixed:
		s, ok := def.(string)
		if !ok {
			return nil, bad
		}
		b := make([]byte, 0, len(s))
		for _, r := range s { // Avro writes byte n as the character U+00nn
			if r > 0xff {
				return nil, bad
			}
			b = append(b, byte(r))
		}
		if t.Kind == Bytes || len(b) == t.Size {
			return b, nil
		}
	}
	return nil, bad
}

func numberDefault(k Kind, def any) (any, bool) {
	n, ok := def.(json.Number)
	if !ok {
		switch v := def.(type) {
		case float64:
			n = json.Number(strconv.FormatFloat(v, 'g', -1, 64))
		case int:
			n = json.Number(strconv.Itoa(v))
		case int32:
			n = json.Number(strconv.Itoa(int(v)))
		case int64:
			n = json.Number(strconv.FormatInt(v, 10))
		case string: // Java prints NaN and the infinities as strings
			if k != Float && k != Double || (v != "NaN" && v != "Infinity" && v != "-Infinity") {
				return nil, false
			}
			n = json.Number(v)
		default:
			return nil, false
		}
	}
	switch k {
	case Int:
		i, err := strconv.ParseInt(n.String(), 10, 32)
		return int32(i), err == nil
	case Long:
		i, err := strconv.ParseInt(n.String(), 10, 64)
		return i, err == nil
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return nil, false
	}
	if k == Float {
		return float32(f), math.Abs(f) <= math.MaxFloat32 || math.IsInf(f, 0) || math.IsNaN(f)
	}
	return f, true
}
