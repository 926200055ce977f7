package tableconfig

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hudifs/hudifs/internal/corrupt"
)

// Properties is a Java properties file: keys with values, in the order of the file. Unknown keys are kept, so that a file that is
// read and written again loses nothing. It is not safe for concurrent use while it changes.
type Properties struct {
	name    string // of the file, for messages
	entries []entry
	index   map[string]int // key → position in entries
}

type entry struct {
	key, value string
	line       int // 1-based line in the file, 0 for a key that was set later
}

// NewProperties returns an empty set; name is the file's name for messages.
func NewProperties(name string) *Properties {
	return &Properties{name: name, index: map[string]int{}}
}

// Get returns the value of key and whether the file has it.
func (p *Properties) Get(key string) (string, bool) {
	i, ok := p.index[key]
	if !ok {
		return "", false
	}
	return p.entries[i].value, true
}

// Line is the 1-based line on which key stands, 0 where it is not in the file.
func (p *Properties) Line(key string) int {
	if i, ok := p.index[key]; ok {
		return p.entries[i].line
	}
	return 0
}

// Set gives key a value. A new key goes to the end.
func (p *Properties) Set(key, value string) { p.set(key, value, 0) }

func (p *Properties) set(key, value string, line int) {
	if i, ok := p.index[key]; ok {
		p.entries[i].value, p.entries[i].line = value, line
		return
	}
	p.index[key] = len(p.entries)
	p.entries = append(p.entries, entry{key, value, line})
}

// Delete removes key; a missing one is no error.
func (p *Properties) Delete(key string) {
	i, ok := p.index[key]
	if !ok {
		return
	}
	p.entries = append(p.entries[:i:i], p.entries[i+1:]...)
	delete(p.index, key)
	for j := i; j < len(p.entries); j++ {
		p.index[p.entries[j].key] = j
	}
}

// Keys returns the keys in file order.
func (p *Properties) Keys() []string {
	keys := make([]string, len(p.entries))
	for i, e := range p.entries {
		keys[i] = e.key
	}
	return keys
}

// Len is the number of keys.
func (p *Properties) Len() int { return len(p.entries) }

// Clone returns an independent copy.
func (p *Properties) Clone() *Properties {
	q := &Properties{name: p.name, entries: append([]entry(nil), p.entries...), index: make(map[string]int, len(p.entries))}
	for k, v := range p.index {
		q.index[k] = v
	}
	return q
}

// errorf names the file and, where key is in it, the line.
func (p *Properties) errorf(key, format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if n := p.Line(key); n > 0 {
		return fmt.Errorf("%s line %d: %s", p.name, n, msg)
	}
	return fmt.Errorf("%s: %s", p.name, msg)
}

// ParseProperties reads the syntax that java.util.Properties.load accepts (timeline.md §2.1): ISO-8859-1 text with \uXXXX escapes,
// comments, continuation lines; the last of several equal keys wins. name is the file's name for messages.
func ParseProperties(name string, data []byte) (*Properties, error) {
	p := NewProperties(name)
	s := lineScanner{data: data}
	for {
		line, number, offset, ok := s.next()
		if !ok {
			return p, nil
		}
		key, value := splitPair(line)
		k, err := unescape(key)
		if err != nil {
			return nil, corrupt.At(name, int64(offset), "line %d: %w", number, err)
		}
		v, err := unescape(value)
		if err != nil {
			return nil, corrupt.At(name, int64(offset), "line %d: %w", number, err)
		}
		p.set(k, v, number)
	}
}

// lineScanner yields logical lines: comments and blank lines skipped, continuations joined, leading white space dropped.
type lineScanner struct {
	data   []byte
	pos    int
	number int
	joined []byte
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\f' }

// physical returns the next line without its terminator (\n, \r or \r\n).
func (s *lineScanner) physical() ([]byte, bool) {
	if s.pos >= len(s.data) {
		return nil, false
	}
	s.number++
	rest := s.data[s.pos:]
	n := bytes.IndexAny(rest, "\r\n")
	if n < 0 {
		s.pos = len(s.data)
		return rest, true
	}
	s.pos += n + 1
	if rest[n] == '\r' && n+1 < len(rest) && rest[n+1] == '\n' {
		s.pos++
	}
	return rest[:n], true
}

func (s *lineScanner) next() (line []byte, number, offset int, ok bool) {
	for {
		offset = s.pos
		line, ok = s.physical()
		if !ok {
			return nil, 0, 0, false
		}
		number = s.number
		for len(line) > 0 && isBlank(line[0]) {
			line = line[1:]
		}
		if len(line) == 0 || line[0] == '#' || line[0] == '!' {
			continue
		}
		if !continues(line) {
			return line, number, offset, true
		}
		s.joined = append(s.joined[:0], line[:len(line)-1]...)
		for {
			line, ok = s.physical()
			for len(line) > 0 && isBlank(line[0]) {
				line = line[1:]
			}
			more := ok && continues(line)
			if more {
				line = line[:len(line)-1]
			}
			s.joined = append(s.joined, line...)
			if !more {
				break
			}
		}
		if len(s.joined) > 0 {
			return s.joined, number, offset, true
		}
	}
}

// continues reports whether line ends in an odd number of backslashes.
func continues(line []byte) bool {
	n := 0
	for n < len(line) && line[len(line)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// splitPair cuts a logical line at the first unescaped '=', ':' or blank, and drops the blanks around the separator.
func splitPair(line []byte) (key, value []byte) {
	i := 0
	for i < len(line) && line[i] != '=' && line[i] != ':' && !isBlank(line[i]) {
		if line[i] == '\\' {
			i++
		}
		i++
	}
	i = min(i, len(line))
	key, value = line[:i], line[i:]
	for len(value) > 0 && isBlank(value[0]) {
		value = value[1:]
	}
	if len(value) > 0 && (value[0] == '=' || value[0] == ':') {
		value = value[1:]
		for len(value) > 0 && isBlank(value[0]) {
			value = value[1:]
		}
	}
	return key, value
}

// unescape turns ISO-8859-1 bytes with escapes into a string. UTF-16 halves join; a half without its other is refused, because a
// string here cannot hold it and losing it would change the file.
func unescape(b []byte) (string, error) {
	var out strings.Builder
	out.Grow(len(b))
	var high rune // a pending high surrogate
	put := func(r rune) error {
		switch {
		case high != 0 && utf16.DecodeRune(high, r) != utf8.RuneError:
			out.WriteRune(utf16.DecodeRune(high, r))
			high = 0
		case high != 0:
			return fmt.Errorf(`\u%04X is half of a character`, high)
		case r >= 0xD800 && r < 0xDC00:
			high = r
		case r >= 0xDC00 && r < 0xE000:
			return fmt.Errorf(`\u%04X is half of a character`, r)
		default:
			out.WriteRune(r)
		}
		return nil
	}
	for i := 0; i < len(b); i++ {
		r := rune(b[i])
		if r == '\\' && i+1 < len(b) {
			i++
			switch r = rune(b[i]); r {
			case 't':
				r = '\t'
			case 'n':
				r = '\n'
			case 'r':
				r = '\r'
			case 'f':
				r = '\f'
			case 'u':
				if i+4 >= len(b) {
					return "", fmt.Errorf(`malformed \u escape %q`, b[i-1:])
				}
				n, err := strconv.ParseUint(string(b[i+1:i+5]), 16, 16)
				if err != nil {
					return "", fmt.Errorf(`malformed \u escape %q`, b[i-1:i+5])
				}
				r, i = rune(n), i+4
			}
		} else if r == '\\' {
			break // a lone backslash at the very end of the file
		}
		if err := put(r); err != nil {
			return "", err
		}
	}
	if high != 0 {
		return "", fmt.Errorf(`\u%04X is half of a character`, high)
	}
	return out.String(), nil
}

// Bytes prints the properties as java.util.Properties.store does: the comment lines, each behind '#', then one key a line.
func (p *Properties) Bytes(comments ...string) []byte {
	var b bytes.Buffer
	for _, c := range comments {
		b.WriteByte('#')
		b.WriteString(strings.NewReplacer("\n", " ", "\r", " ").Replace(c))
		b.WriteByte('\n')
	}
	for _, e := range p.entries {
		escape(&b, e.key, true)
		b.WriteByte('=')
		escape(&b, e.value, false)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// escape prints one key or value; in keys every space is escaped, in values only a leading one.
func escape(b *bytes.Buffer, s string, key bool) {
	for i, r := range s {
		switch r {
		case ' ':
			if key || i == 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(' ')
		case '\t':
			b.WriteString(`\t`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\f':
			b.WriteString(`\f`)
		case '=', ':', '#', '!', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			switch {
			case r >= 0x20 && r <= 0x7e:
				b.WriteRune(r)
			case r > 0xffff:
				hi, lo := utf16.EncodeRune(r)
				fmt.Fprintf(b, `\u%04X\u%04X`, hi, lo)
			default:
				fmt.Fprintf(b, `\u%04X`, r)
			}
		}
	}
}
