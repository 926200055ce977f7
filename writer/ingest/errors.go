package ingest

import (
	"errors"
	"fmt"
	"strings"
)

// ErrRejected is matched by every error that says: this drop cannot become rows, however often it is tried.
var ErrRejected = errors.New("drop rejected")

// RowError is one bad place in a drop. It matches ErrRejected.
type RowError struct {
	Line   int64  // 1-based line of a text file where the row begins, row number of a binary one; 0: the file as a whole
	Column string // column name; "" where the fault is not in one
	Char   int64  // 1-based byte position within the line, 0 where unknown
	Type   string // the type that the table wants
	Sample string // the value, cut to a readable length
	Msg    string // what is wrong and what to do
	Code   string // one word for machines: header, column, type, null, syntax, encoding, format, key, size
	Binary bool   // Line counts rows
}

func (e *RowError) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		word := "line"
		if e.Binary {
			word = "row"
		}
		fmt.Fprintf(&b, "%s %d", word, e.Line)
		if e.Char > 0 && !e.Binary {
			fmt.Fprintf(&b, ", character %d", e.Char)
		}
		if e.Column != "" {
			b.WriteString(", ")
		}
	}
	if e.Column != "" {
		fmt.Fprintf(&b, "column %q", e.Column)
	}
	if e.Type != "" {
		fmt.Fprintf(&b, " (%s)", e.Type)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	if e.Sample != "" {
		fmt.Fprintf(&b, ": %q", e.Sample)
	}
	return b.String()
}

// Is makes a RowError match ErrRejected.
func (e *RowError) Is(target error) bool { return target == ErrRejected }

const maxSample = 64

func sample(b []byte) string {
	if len(b) > maxSample {
		return string(b[:maxSample]) + "…"
	}
	return string(b)
}

func rejectf(code, format string, args ...any) error {
	return &RowError{Code: code, Msg: fmt.Sprintf(format, args...)}
}
