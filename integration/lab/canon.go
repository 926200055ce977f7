package lab

import (
	"fmt"
	"math"
	"math/big"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The canonical spelling of a row is one JSON object on a line, keys sorted, without blanks, unicode as it is. It takes a
// tree of Go values: nil, bool, any sized integer, float32, float64, string, []byte, Decimal, Date, Timestamp, Struct, []any
// and Map. hudilab/canon.py spells the same values of Spark and Arrow in the same way, and the two are tested on one table
// of cases, testdata/canon.jsonl.

// Decimal is an unscaled value and how many of its digits follow the point.
type Decimal struct {
	Unscaled *big.Int
	Scale    int
}

// Date is days since 1970-01-01.
type Date int32

// Timestamp is microseconds since 1970-01-01 00:00, in UTC or on a wall clock: both are spelt alike.
type Timestamp int64

// Struct is the fields of a record by name, its nulls included.
type Struct map[string]any

// Map is the entries of a map in any order.
type Map []MapEntry

// MapEntry is one entry of a Map.
type MapEntry struct{ Key, Value any }

// droppedColumns change with every rewrite of a file, so that no two engines agree on them.
var droppedColumns = map[string]bool{"_hoodie_file_name": true, "_hoodie_commit_seqno": true}

// Line spells one row.
func Line(row Struct) string { return string(appendStruct(nil, row, droppedColumns)) }

// Lines spells rows and sorts the lines.
func Lines(rows []Struct) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = Line(r)
	}
	sort.Strings(out)
	return out
}

func appendStruct(b []byte, s Struct, without map[string]bool) []byte {
	names := make([]string, 0, len(s))
	for n := range s {
		if !without[n] {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	b = append(b, '{')
	for i, n := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, n), ':')
		b = appendValue(b, s[n])
	}
	return append(b, '}')
}

// appendValue spells v. A value of another type than those above is the caller's mistake and is spelt as an impossible
// text that names its type, so that a comparison fails there and says why.
func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int8:
		return strconv.AppendInt(b, int64(v), 10)
	case int16:
		return strconv.AppendInt(b, int64(v), 10)
	case int32:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case float32:
		return appendFloat(b, float64(v))
	case float64:
		return appendFloat(b, v)
	case string:
		return appendText(b, v)
	case []byte:
		return appendHex(b, v)
	case Decimal:
		return appendText(b, v.String())
	case Date:
		return appendText(b, time.Unix(int64(v)*86400, 0).UTC().Format("2006-01-02"))
	case Timestamp:
		return appendText(b, time.UnixMicro(int64(v)).UTC().Format("2006-01-02T15:04:05.000000"))
	case Struct:
		return appendStruct(b, v, nil)
	case []any:
		return appendList(b, v)
	case Map:
		return appendMap(b, v)
	default:
		return appendText(b, fmt.Sprintf("no spelling for %T", v))
	}
}

func appendList(b []byte, list []any) []byte {
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, e)
	}
	return append(b, ']')
}

// appendMap spells a list of [key,value], sorted by key.
func appendMap(b []byte, m Map) []byte {
	sorted := append(Map(nil), m...)
	sort.SliceStable(sorted, func(i, j int) bool { return keyLess(sorted[i].Key, sorted[j].Key) })
	b = append(b, '[')
	for i, e := range sorted {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendValue(append(b, '['), e.Key), ',')
		b = append(appendValue(b, e.Value), ']')
	}
	return append(b, ']')
}

func keyLess(a, c any) bool {
	x, xText := a.(string)
	y, yText := c.(string)
	if xText && yText {
		return x < y
	}
	return string(appendValue(nil, a)) < string(appendValue(nil, c))
}

// appendFloat spells f as Python's repr: the shortest digits that read back, with an exponent below 1e-4 and from 1e16 on.
func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	at := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if !strings.ContainsRune(string(b[at:]), '.') {
		b = append(b, ".0"...)
	}
	return b
}

// String writes all digits of d, its scale's zeros included.
func (d Decimal) String() string {
	text := new(big.Int).Abs(d.Unscaled).String()
	if d.Scale > 0 {
		if missing := d.Scale + 1 - len(text); missing > 0 {
			text = strings.Repeat("0", missing) + text
		}
		text = text[:len(text)-d.Scale] + "." + text[len(text)-d.Scale:]
	}
	if d.Unscaled.Sign() < 0 {
		text = "-" + text
	}
	return text
}

const hexDigits = "0123456789abcdef"

func appendHex(b, v []byte) []byte {
	b = append(b, `"0x`...)
	for _, c := range v {
		b = append(b, hexDigits[c>>4], hexDigits[c&15])
	}
	return append(b, '"')
}

// appendText spells a JSON string with the fewest escapes: quote, backslash and control characters.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			_, n := utf8.DecodeRuneInString(s[i:])
			b = append(b, s[i:i+n]...)
			i += n
			continue
		}
		b = appendASCII(b, c)
		i++
	}
	return append(b, '"')
}

func appendASCII(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	}
	if c < 0x20 {
		return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
	return append(b, c)
}
