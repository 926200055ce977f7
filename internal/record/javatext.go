package record

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hudifs/hudifs/internal/schema"
)

// JavaFloat prints v as Java's Float.toString: 1.0, 1.0E10, -2.5E-7.
func JavaFloat(v float32) string { return javaFloat(float64(v), 32) }

// JavaDouble prints v as Java's Double.toString.
func JavaDouble(v float64) string { return javaFloat(v, 64) }

func javaFloat(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	case v == 0:
		if math.Signbit(v) {
			return "-0.0"
		}
		return "0.0"
	}
	if a := math.Abs(v); a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(v, 'f', -1, bits)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	s := strconv.FormatFloat(v, 'e', -1, bits)
	mantissa, exp, _ := strings.Cut(s, "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	e, _ := strconv.Atoi(exp)
	return mantissa + "E" + strconv.Itoa(e)
}

// DateText prints days since 1970-01-01 as Java's LocalDate does: 1969-12-31.
func DateText(days int32) string {
	t := time.Unix(int64(days)*86400, 0).UTC()
	y, m, d := t.Date()
	switch {
	case y > 9999:
		return fmt.Sprintf("+%d-%02d-%02d", y, m, d)
	case y < 0:
		return fmt.Sprintf("-%04d-%02d-%02d", -y, m, d)
	}
	return fmt.Sprintf("%04d-%02d-%02d", y, m, d)
}

// ParseDate reads yyyy-MM-dd into days since 1970-01-01.
func ParseDate(s string) (int32, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a date of the form 2006-01-02", s)
	}
	return int32(t.Unix() / 86400), nil
}

// uuidText prints 16 bytes as a UUID.
func uuidText(b []byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// JavaText prints a value of primitive type t that is not null as Java's toString of the Avro value: what keys and partition paths are made
// of (data.md §1.5). Dates are yyyy-MM-dd, decimals have their scale, times and timestamps are their raw number.
func JavaText(v Value, t *schema.Type) (string, error) {
	b, err := AppendJavaText(nil, v, t)
	return string(b), err
}

// AppendJavaText appends JavaText to dst.
func AppendJavaText(dst []byte, v Value, t *schema.Type) ([]byte, error) {
	switch t.Kind {
	case schema.Boolean:
		return strconv.AppendBool(dst, v.Boolean()), nil
	case schema.Int:
		if t.Logical == schema.Date {
			return append(dst, DateText(v.Int32())...), nil
		}
		return strconv.AppendInt(dst, int64(v.Int32()), 10), nil
	case schema.Long:
		return strconv.AppendInt(dst, v.Int64(), 10), nil
	case schema.Float:
		return append(dst, JavaFloat(v.Float())...), nil
	case schema.Double:
		return append(dst, JavaDouble(v.Double())...), nil
	case schema.String, schema.Enum:
		return append(dst, v.ByteArray()...), nil
	case schema.Bytes, schema.Fixed:
		b := v.ByteArray()
		if t.Logical == schema.Decimal {
			return append(dst, DecimalOf(b, t.Scale).String()...), nil
		}
		if t.Logical == schema.UUID && len(b) == 16 {
			return append(dst, uuidText(b)...), nil
		}
	}
	return dst, fmt.Errorf("a value of type %s has no text form", t.Kind)
}
