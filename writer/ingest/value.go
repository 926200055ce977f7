package ingest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// parser turns text into one primitive leaf value. The rules are those of docs/semantics.md, "Values in text drops".
type parser struct {
	typ   *schema.Type
	parse func(p *parser, b []byte) (record.Value, string) // a message where it can't
	limit *big.Int                                         // Decimal: 10^precision
}

func newParser(t *schema.Type) (*parser, error) {
	p := &parser{typ: t}
	switch t.Kind {
	case schema.Boolean:
		p.parse = parseBool
	case schema.Int:
		p.parse = parseInt
		switch t.Logical {
		case schema.Date:
			p.parse = parseDate
		case schema.TimeMillis:
			p.parse = parseTimeOfDay
		}
	case schema.Long:
		p.parse = parseLong
		switch t.Logical {
		case schema.TimeMicros:
			p.parse = parseTimeOfDay
		case schema.TimestampMillis, schema.TimestampMicros, schema.TimestampNanos,
			schema.LocalTimestampMillis, schema.LocalTimestampMicros, schema.LocalTimestampNanos:
			p.parse = parseTimestamp
		}
	case schema.Float:
		p.parse = parseFloat
	case schema.Double:
		p.parse = parseDouble
	case schema.String:
		p.parse = parseString
	case schema.Enum:
		p.parse = parseEnum
	case schema.Bytes, schema.Fixed:
		p.parse = parseBytes
		if t.Logical == schema.Decimal {
			p.parse = parseDecimal
			p.limit = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)
		}
	default:
		return nil, fmt.Errorf("no text form for type %s", Describe(t))
	}
	return p, nil
}

// Describe names a type for people.
func Describe(t *schema.Type) string {
	switch t.Logical {
	case schema.Date:
		return "date"
	case schema.TimeMillis, schema.TimeMicros:
		return "time"
	case schema.TimestampMillis, schema.TimestampMicros, schema.TimestampNanos:
		return "timestamp"
	case schema.LocalTimestampMillis, schema.LocalTimestampMicros, schema.LocalTimestampNanos:
		return "local timestamp"
	case schema.Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case schema.UUID:
		return "uuid"
	}
	switch t.Kind {
	case schema.Boolean:
		return "boolean"
	case schema.Int:
		return "int"
	case schema.Long:
		return "long"
	case schema.Float:
		return "float"
	case schema.Double:
		return "double"
	case schema.Bytes:
		return "bytes"
	case schema.Fixed:
		return fmt.Sprintf("fixed(%d)", t.Size)
	case schema.Enum:
		return "enum " + t.Name
	case schema.Record:
		return "record"
	case schema.Array:
		return "array"
	case schema.Map:
		return "map"
	}
	return "string"
}

func parseBool(_ *parser, b []byte) (record.Value, string) {
	switch string(bytes.ToLower(b)) {
	case "true", "t", "yes", "y", "1":
		return record.Bool(true), ""
	case "false", "f", "no", "n", "0":
		return record.Bool(false), ""
	}
	return record.Value{}, "not a boolean (true, false, yes, no, t, f, y, n, 1, 0)"
}

// integer parses an integer, also in the forms 100.0 and 1e2, exactly: no number passes through a float.
func integer(b []byte, bits int) (int64, string) {
	if v, err := strconv.ParseInt(string(b), 10, bits); err == nil {
		return v, ""
	}
	r, ok := exact(b)
	if !ok {
		return 0, "not a whole number"
	}
	if !r.IsInt() {
		return 0, "has a fraction; the column takes whole numbers only"
	}
	n := r.Num()
	if !n.IsInt64() || bits == 32 && (n.Int64() < math.MinInt32 || n.Int64() > math.MaxInt32) {
		return 0, "out of range"
	}
	return n.Int64(), ""
}

// exact parses a decimal number with an optional exponent into a rational. Exponents are bounded: 1e999999999 must not eat memory.
func exact(b []byte) (*big.Rat, bool) {
	if len(b) == 0 || len(b) > 400 {
		return nil, false
	}
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9', c == '.', c == '+', c == '-':
		case c == 'e' || c == 'E':
			if e, err := strconv.Atoi(string(b[i+1:])); err != nil || e > 400 || e < -400 {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	return new(big.Rat).SetString(string(b))
}

func parseInt(_ *parser, b []byte) (record.Value, string) {
	v, msg := integer(b, 32)
	return record.Int32(int32(v)), msg
}

func parseLong(_ *parser, b []byte) (record.Value, string) {
	v, msg := integer(b, 64)
	return record.Int64(v), msg
}

func parseFloat(_ *parser, b []byte) (record.Value, string) {
	v, err := strconv.ParseFloat(string(b), 32)
	return record.Float32(float32(v)), floatMsg(b, v, err)
}

func parseDouble(_ *parser, b []byte) (record.Value, string) {
	v, err := strconv.ParseFloat(string(b), 64)
	return record.Float64(v), floatMsg(b, v, err)
}

func floatMsg(b []byte, v float64, err error) string {
	switch {
	case bytes.ContainsAny(b, "xX_pP"):
		return "not a number"
	case err == nil:
		return ""
	case math.IsInf(v, 0):
		return "out of range"
	}
	return "not a number"
}

func parseString(p *parser, b []byte) (record.Value, string) {
	if !utf8.Valid(b) {
		return record.Value{}, "not valid UTF-8; convert the file, for example with iconv -f latin1 -t utf-8"
	}
	if p.typ.Logical == schema.UUID && !isUUID(b) {
		return record.Value{}, "not a UUID"
	}
	return record.Bytes(b), ""
}

func isUUID(b []byte) bool {
	if len(b) != 36 {
		return false
	}
	for i, c := range b {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
		} else if !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f') {
			return false
		}
	}
	return true
}

func parseEnum(p *parser, b []byte) (record.Value, string) {
	for _, s := range p.typ.Symbols {
		if s == string(b) {
			return record.Bytes(b), ""
		}
	}
	return record.Value{}, fmt.Sprintf("not one of %q", p.typ.Symbols)
}

// parseBytes takes 0x and hex digits, or else base64.
func parseBytes(p *parser, b []byte) (record.Value, string) {
	var out []byte
	var err error
	if len(b) >= 2 && b[0] == '0' && b[1]|0x20 == 'x' {
		out, err = hex.DecodeString(string(b[2:]))
	} else {
		out, err = base64.StdEncoding.DecodeString(string(b))
	}
	if err != nil {
		return record.Value{}, "not binary data: write 0x and hex digits, or base64"
	}
	if p.typ.Kind == schema.Fixed {
		if len(out) != p.typ.Size {
			return record.Value{}, fmt.Sprintf("%d bytes, the column takes exactly %d", len(out), p.typ.Size)
		}
		return record.FixedBytes(out), ""
	}
	return record.Bytes(out), ""
}

// parseDecimal takes a number whose digits fit the scale without rounding.
func parseDecimal(p *parser, b []byte) (record.Value, string) {
	d, err := record.ParseDecimal(string(b))
	if err != nil {
		return record.Value{}, "not a decimal number"
	}
	d, ok := d.Rescale(p.typ.Scale)
	if !ok {
		return record.Value{}, fmt.Sprintf("has more than %d digits after the point", p.typ.Scale)
	}
	if d.Unscaled.CmpAbs(p.limit) >= 0 {
		return record.Value{}, fmt.Sprintf("has more than %d digits before the point", p.typ.Precision-p.typ.Scale)
	}
	if p.typ.Kind == schema.Fixed {
		out, ok := d.Fixed(p.typ.Size)
		if !ok {
			return record.Value{}, "out of range"
		}
		return record.FixedBytes(out), ""
	}
	return record.Bytes(d.Bytes()), ""
}

func parseDate(_ *parser, b []byte) (record.Value, string) {
	if t, err := time.Parse("2006-01-02", string(b)); err == nil {
		return record.Int32(int32(floorDiv(t.Unix(), 86400))), ""
	}
	if t, err := parseInstant(string(b), time.UTC); err == nil {
		if t.Hour() != 0 || t.Minute() != 0 || t.Second() != 0 || t.Nanosecond() != 0 {
			return record.Value{}, "has a time of day; the column takes dates only"
		}
		return record.Int32(int32(floorDiv(t.Unix(), 86400))), ""
	}
	return record.Value{}, "not a date (YYYY-MM-DD)"
}

func parseTimeOfDay(p *parser, b []byte) (record.Value, string) {
	t, err := time.Parse("15:04:05.999999999", string(b))
	if err != nil {
		return record.Value{}, "not a time of day (HH:MM:SS)"
	}
	ns := int64(t.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)))
	if p.typ.Logical == schema.TimeMillis {
		if ns%1e6 != 0 {
			return record.Value{}, "finer than the column's milliseconds"
		}
		return record.Int32(int32(ns / 1e6)), ""
	}
	if ns%1e3 != 0 {
		return record.Value{}, "finer than the column's microseconds"
	}
	return record.Int64(ns / 1e3), ""
}

var instantLayouts = []string{
	"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999 Z07:00",
	"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02",
	"2006-01-02 15:04:05.999999999 UTC", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999Z0700",
}

func parseInstant(s string, zone *time.Location) (time.Time, error) {
	var first error
	for _, l := range instantLayouts {
		t, err := time.ParseInLocation(l, s, zone)
		if err == nil {
			return t, nil
		}
		if first == nil {
			first = err
		}
	}
	return time.Time{}, first
}

// parseTimestamp takes ISO 8601 text, UTC where it names no zone, or a whole number in the column's own unit; the unit is never guessed from the size.
func parseTimestamp(p *parser, b []byte) (record.Value, string) {
	unit, name := int64(1e3), "microseconds"
	switch p.typ.Logical {
	case schema.TimestampMillis, schema.LocalTimestampMillis:
		unit, name = 1e6, "milliseconds"
	case schema.TimestampNanos, schema.LocalTimestampNanos:
		unit, name = 1, "nanoseconds"
	}
	if v, msg := integer(b, 64); msg == "" {
		return record.Int64(v), ""
	}
	t, err := parseInstant(string(b), time.UTC)
	if err != nil {
		return record.Value{}, "not a timestamp (2026-11-29T10:00:00Z, or a whole number of " + name + " since 1970)"
	}
	if int64(t.Nanosecond())%unit != 0 {
		return record.Value{}, "finer than the column's " + name
	}
	perSecond := int64(1e9) / unit
	sec := t.Unix()
	if sec > math.MaxInt64/perSecond-1 || sec < math.MinInt64/perSecond+1 {
		return record.Value{}, "out of range"
	}
	return record.Int64(sec*perSecond + int64(t.Nanosecond())/unit), ""
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
