package keygen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// KeyPart is a value taken back out of a record key or a partition path.
type KeyPart struct {
	Field string
	Text  string
	Null  bool
}

// KeyValues takes the values of the wanted fields out of a record key, in the order in which they stand there, as Java's
// extractRecordKeysByFields (data.md §1.5): a key without a colon or without a comma is one value whatever is wanted. A value that holds both
// cannot be told apart from two; Java has the same limit.
func KeyValues(key string, wanted []string) []KeyPart {
	if strings.IndexByte(key, ':') < 0 || strings.IndexByte(key, ',') < 0 {
		p := KeyPart{Text: key}
		if len(wanted) == 1 {
			p.Field = wanted[0]
		}
		return []KeyPart{p}
	}
	var out []KeyPart
	for rest, more := key, true; more; {
		var name, value string
		name, rest, more = strings.Cut(rest, ":")
		if !more {
			break
		}
		value, rest, more = cutValue(rest)
		for _, w := range wanted {
			if w == name {
				out = append(out, keyPart(name, value))
				break
			}
		}
	}
	return out
}

func keyPart(name, value string) KeyPart {
	switch value {
	case nullKey:
		return KeyPart{Field: name, Null: true}
	case emptyKey:
		return KeyPart{Field: name}
	}
	return KeyPart{Field: name, Text: value}
}

// cutValue ends a value at the last comma in front of the next colon that has one in front of it.
func cutValue(s string) (value, rest string, more bool) {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], ':')
		if i < 0 {
			return s, "", false
		}
		if comma := strings.LastIndexByte(s[:at+i], ','); comma >= 0 {
			return s[:comma], s[comma+1:], true
		}
		at += i + 1
	}
}

// PartitionValues takes the values of the partition fields out of a partition path (data.md §5.2): the path is split first and decoded then, so
// that an encoded slash stays in its value. Of a table with one partition field the whole path is the value. ok is false where the path does
// not say which stretch belongs to which field; then only the rows know.
func PartitionValues(cfg *tableconfig.Config, path string) (parts []KeyPart, ok bool) {
	names := cfg.PartitionNames()
	if !cfg.Partitioned() {
		return nil, path == ""
	}
	segments := []string{path}
	if len(names) > 1 {
		if segments = strings.Split(path, "/"); len(segments) != len(names) {
			return nil, false
		}
	}
	for i, s := range segments {
		if cfg.HiveStyle {
			if s, ok = strings.CutPrefix(s, names[i]+"="); !ok {
				return nil, false
			}
		}
		p := KeyPart{Field: names[i]}
		switch {
		case s == DefaultPartition:
			p.Null = true
		case cfg.SlashDates && len(names) == 1:
			p.Text = strings.ReplaceAll(s, "/", "-")
		default:
			p.Text = s
		}
		if cfg.URLEncode {
			p.Text = Unescape(p.Text)
		}
		parts = append(parts, p)
	}
	return parts, true
}

// Value turns the part's text into a Go value of the primitive type t, as record.Shredder takes it; nil for null. It undoes record.JavaText.
func (p KeyPart) Value(t *schema.Type) (any, error) {
	if p.Null {
		return nil, nil
	}
	v, err := p.value(t)
	if err != nil {
		return nil, fmt.Errorf("partition field %q: %q is no value of type %s", p.Field, p.Text, t.Kind)
	}
	return v, nil
}

func (p KeyPart) value(t *schema.Type) (any, error) {
	switch t.Kind {
	case schema.Boolean:
		switch p.Text {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	case schema.Int:
		if t.Logical == schema.Date {
			if d, err := record.ParseDate(p.Text); err == nil {
				return d, nil
			}
		}
		n, err := strconv.ParseInt(p.Text, 10, 32)
		return int32(n), err
	case schema.Long:
		return strconv.ParseInt(p.Text, 10, 64)
	case schema.Float:
		f, err := strconv.ParseFloat(p.Text, 32)
		return float32(f), err
	case schema.Double:
		return strconv.ParseFloat(p.Text, 64)
	case schema.String, schema.Enum:
		return p.Text, nil
	case schema.Bytes, schema.Fixed:
		if t.Logical == schema.Decimal {
			return record.ParseDecimal(p.Text)
		}
	}
	return nil, strconv.ErrSyntax
}
