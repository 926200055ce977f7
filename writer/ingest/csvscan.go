package ingest

import (
	"bytes"
	"io"
)

// csvField is one field of a record. Its bytes are valid until the next record.
type csvField struct {
	b      []byte
	quoted bool
	char   int // byte position in the record, 0-based
}

// csvScanner splits RFC 4180 text into records: quotes, doubled quotes, line ends inside quotes, LF or CRLF. It is strict where leniency would guess: a
// quote inside an unquoted field, or text after a closing quote, is an error. Unlike encoding/csv it says which fields were quoted, because "" is an empty string and nothing is null.
type csvScanner struct {
	r      io.Reader
	delim  byte
	buf    []byte
	start  int // of the record being scanned
	end    int // of the bytes read
	eof    bool
	line   int64 // of the record last returned
	next   int64 // of the record to come
	fields []csvField
	unq    []byte // unescaped quoted fields of one record
}

// maxCSVRecord bounds one record: a missing closing quote must not swallow a file into memory.
const maxCSVRecord = 64 << 20

func newCSVScanner(r io.Reader, delim byte) *csvScanner {
	return &csvScanner{r: r, delim: delim, buf: make([]byte, 256<<10), next: 1}
}

// scan returns the next record's fields, io.EOF after the last.
func (s *csvScanner) scan() ([]csvField, error) {
	for {
		n, lines, err := s.record(s.buf[s.start:s.end])
		switch {
		case err != nil:
			return nil, err
		case n > 0:
			s.start += n
			s.line = s.next
			s.next += lines
			return s.fields, nil
		case s.eof:
			return nil, io.EOF
		}
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
}

func (s *csvScanner) fill() error {
	if s.start > 0 {
		copy(s.buf, s.buf[s.start:s.end])
		s.end -= s.start
		s.start = 0
	}
	if s.end == len(s.buf) {
		if len(s.buf) >= maxCSVRecord {
			return &RowError{Line: s.next, Code: "size", Msg: "this record is longer than 64 MiB; is a closing quote missing?"}
		}
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	n, err := s.r.Read(s.buf[s.end:])
	s.end += n
	if err == io.EOF {
		s.eof = true
		return nil
	}
	return err
}

// record scans one record at the front of b. n is 0 where b holds no whole record.
func (s *csvScanner) record(b []byte) (n int, lines int64, err error) {
	s.fields, s.unq = s.fields[:0], s.unq[:0]
	if len(b) == 0 {
		return 0, 0, nil
	}
	for i := 0; ; {
		if i < len(b) && b[i] == '"' {
			next, nl, err := s.quotedField(b, i, lines)
			if err != nil || next < 0 {
				return 0, 0, err
			}
			lines += nl
			i = next
		} else {
			next, err := s.plainField(b, i, lines)
			if err != nil || next < 0 {
				return 0, 0, err
			}
			i = next
		}
		// i is at the delimiter, at the line end, or at the end of the text.
		switch {
		case i >= len(b):
			return len(b), lines + 1, nil
		case b[i] == s.delim:
			i++
		case b[i] == '\n':
			return i + 1, lines + 1, nil
		default: // "\r\n": plainField and quotedField stop here only before a line feed
			return i + 2, lines + 1, nil
		}
	}
}

// plainField ends at the delimiter or line end. It returns -1 where more text is needed.
func (s *csvScanner) plainField(b []byte, i int, lines int64) (int, error) {
	for j := i; j < len(b); j++ {
		switch b[j] {
		case s.delim, '\n':
			return s.add(b, i, j), nil
		case '\r':
			if j+1 == len(b) && !s.eof {
				return -1, nil
			}
			if j+1 < len(b) && b[j+1] == '\n' {
				return s.add(b, i, j), nil
			}
		case '"':
			return 0, &RowError{Line: s.next + lines, Char: int64(j + 1), Code: "syntax", Sample: sample(lineAround(b, j)),
				Msg: "a quote inside a field that does not begin with one; quote the whole field and double the quotes inside it"}
		}
	}
	if !s.eof {
		return -1, nil
	}
	return s.add(b, i, len(b)), nil
}

func (s *csvScanner) add(b []byte, from, to int) int {
	s.fields = append(s.fields, csvField{b: b[from:to:to], char: from})
	return to
}

// quotedField scans the field whose opening quote is at i.
func (s *csvScanner) quotedField(b []byte, i int, lines int64) (next int, nl int64, err error) {
	from, mark := i+1, len(s.unq)
	escaped := false
	for j := from; ; {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			if s.eof {
				return 0, 0, &RowError{Line: s.next + lines, Char: int64(i + 1), Code: "syntax", Sample: sample(b[i:]), Msg: "this quote is never closed"}
			}
			return -1, 0, nil
		}
		k += j
		if k+1 == len(b) && !s.eof {
			return -1, 0, nil
		}
		if k+1 < len(b) && b[k+1] == '"' {
			s.unq = append(s.unq, b[j:k+1]...)
			escaped = true
			j = k + 2
			continue
		}
		nl = int64(bytes.Count(b[from:k], []byte{'\n'}))
		val := b[from:k:k]
		if escaped {
			s.unq = append(s.unq, b[j:k]...)
			val = s.unq[mark:len(s.unq):len(s.unq)]
		}
		end := k + 1
		if end < len(b) && b[end] == '\r' {
			if end+1 == len(b) && !s.eof {
				return -1, 0, nil
			}
			if end+1 < len(b) && b[end+1] == '\n' {
				s.fields = append(s.fields, csvField{b: val, quoted: true, char: i})
				return end, nl, nil
			}
		}
		if end < len(b) && b[end] != s.delim && b[end] != '\n' {
			return 0, 0, &RowError{Line: s.next + lines + nl, Char: int64(end + 1), Code: "syntax", Sample: sample(lineAround(b, end)),
				Msg: "text after a closing quote; double the quotes that belong to the value"}
		}
		s.fields = append(s.fields, csvField{b: val, quoted: true, char: i})
		return end, nl, nil
	}
}

func lineAround(b []byte, i int) []byte {
	from := bytes.LastIndexByte(b[:i], '\n') + 1
	to := len(b)
	if k := bytes.IndexByte(b[i:], '\n'); k >= 0 {
		to = i + k
	}
	return b[from:to]
}
