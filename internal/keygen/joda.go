package keygen

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// layout is a Joda-Time pattern, such as yyyy-MM-dd'T'HH:mm:ss.SSSZ.
type layout struct {
	tokens []token
}

// token is a run of one pattern letter, or literal text.
type token struct {
	letter  byte // 0: literal
	count   int
	literal string
	tight   bool // digits follow directly: the number has exactly count digits
}

// letters are the pattern letters that are understood: those that partition paths are made of.
const letters = "yYuMdDHhKkamsSZE"

// parseLayout reads a pattern.
func parseLayout(pattern string) (*layout, error) {
	l := &layout{}
	for i := 0; i < len(pattern); {
		c := pattern[i]
		switch {
		case c == '\'':
			text, n, ok := quoted(pattern[i:])
			if !ok {
				return nil, fmt.Errorf("date format %q: a quote is not closed", pattern)
			}
			l.literal(text)
			i += n
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			if strings.IndexByte(letters, c) < 0 {
				return nil, fmt.Errorf("date format %q: the letter %c is not supported (supported: %s)", pattern, c, letters)
			}
			n := 1
			for i+n < len(pattern) && pattern[i+n] == c {
				n++
			}
			if n > 9 {
				return nil, fmt.Errorf("date format %q: too many %c", pattern, c)
			}
			l.tokens = append(l.tokens, token{letter: c, count: n})
			i += n
		default:
			l.literal(pattern[i : i+1])
			i++
		}
	}
	if len(l.tokens) == 0 {
		return nil, fmt.Errorf("date format %q is empty", pattern)
	}
	for i := range l.tokens[:len(l.tokens)-1] {
		l.tokens[i].tight = l.tokens[i].number() && l.tokens[i+1].number()
	}
	return l, nil
}

// quoted reads a quoted literal at the start of s; two quotes are one, inside and outside.
func quoted(s string) (text string, n int, ok bool) {
	if strings.HasPrefix(s, "''") {
		return "'", 2, true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != '\'' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '\'' {
			b.WriteByte('\'')
			i++
			continue
		}
		return b.String(), i + 1, true
	}
	return "", 0, false
}

func (l *layout) literal(text string) {
	if n := len(l.tokens); n > 0 && l.tokens[n-1].letter == 0 {
		l.tokens[n-1].literal += text
		return
	}
	l.tokens = append(l.tokens, token{literal: text})
}

// number reports whether the token is written in digits.
func (t token) number() bool {
	switch t.letter {
	case 0, 'a', 'Z', 'E':
		return false
	case 'M':
		return t.count < 3
	}
	return true
}

// format prints t, in its own zone.
func (l *layout) format(t time.Time) string {
	var b []byte
	for _, k := range l.tokens {
		b = k.append(b, t)
	}
	return string(b)
}

func (k token) append(b []byte, t time.Time) []byte {
	switch k.letter {
	case 0:
		return append(b, k.literal...)
	case 'y', 'Y', 'u':
		if k.count == 2 {
			return pad(b, ((t.Year()%100)+100)%100, 2)
		}
		return pad(b, t.Year(), k.count)
	case 'M':
		switch {
		case k.count > 3:
			return append(b, t.Month().String()...)
		case k.count == 3:
			return append(b, t.Month().String()[:3]...)
		}
		return pad(b, int(t.Month()), k.count)
	case 'E':
		if k.count > 3 {
			return append(b, t.Weekday().String()...)
		}
		return append(b, t.Weekday().String()[:3]...)
	case 'a':
		if t.Hour() < 12 {
			return append(b, "AM"...)
		}
		return append(b, "PM"...)
	case 'S':
		// The digits of the second's fraction; Joda knows milliseconds.
		digits := string(pad(nil, t.Nanosecond()/1e6, 3)) + "000000"
		return append(b, digits[:k.count]...)
	case 'Z':
		return k.zone(b, t)
	}
	return pad(b, k.value(t), k.count)
}

// value is the token's number where it is a plain one.
func (k token) value(t time.Time) int {
	switch k.letter {
	case 'd':
		return t.Day()
	case 'D':
		return t.YearDay()
	case 'H':
		return t.Hour()
	case 'k':
		return (t.Hour()+23)%24 + 1
	case 'K':
		return t.Hour() % 12
	case 'h':
		return (t.Hour()+11)%12 + 1
	case 'm':
		return t.Minute()
	}
	return t.Second()
}

func (k token) zone(b []byte, t time.Time) []byte {
	if id := t.Location().String(); k.count > 2 && !strings.HasPrefix(id, "GMT") && id[0] != '+' && id[0] != '-' {
		return append(b, id...)
	}
	_, secs := t.Zone()
	sign := byte('+')
	if secs < 0 {
		sign, secs = '-', -secs
	}
	b = pad(append(b, sign), secs/3600, 2)
	if k.count >= 2 {
		b = append(b, ':')
	}
	return pad(b, secs/60%60, 2)
}

func pad(b []byte, n, width int) []byte {
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	s := strconv.Itoa(n)
	for i := len(s); i < width; i++ {
		b = append(b, '0')
	}
	return append(b, s...)
}

// clock gathers what a text says of a time.
type clock struct {
	year, month, day, yearDay int
	hour, minute, second      int
	nanos                     int
	half                      int // 0: none, 1: AM, 2: PM
	zone                      *time.Location
	dated, yeared             bool // a month or day, a year was read
}

// parse reads the whole of s. Fields that the pattern lacks are those of the first moment of 1970, as in Joda (which takes the year 2000
// where only month and day are known). The zone is the text's, else in, else UTC.
func (l *layout) parse(s string, in *time.Location) (time.Time, bool) {
	c := clock{year: 1970, month: 1, day: 1}
	for _, k := range l.tokens {
		var ok bool
		if s, ok = k.read(s, &c); !ok {
			return time.Time{}, false
		}
	}
	if s != "" {
		return time.Time{}, false
	}
	if c.dated && !c.yeared {
		c.year = 2000
	}
	switch {
	case c.half == 1 && c.hour == 12:
		c.hour = 0
	case c.half == 2 && c.hour < 12:
		c.hour += 12
	}
	loc := in
	if c.zone != nil {
		loc = c.zone
	}
	if loc == nil {
		loc = time.UTC
	}
	t := time.Date(c.year, time.Month(c.month), c.day, c.hour, c.minute, c.second, c.nanos, loc)
	if c.yearDay > 0 {
		t = time.Date(c.year, 1, c.yearDay, c.hour, c.minute, c.second, c.nanos, loc)
		return c.in(t, in), t.Year() == c.year
	}
	// A day that the month lacks, or an hour that a zone skips, comes back as another.
	if t.Day() != c.day || t.Hour() != c.hour || t.Minute() != c.minute || t.Second() != c.second {
		return time.Time{}, false
	}
	return c.in(t, in), true
}

// in gives the time the zone that Joda would: the configured one, else the text's.
func (c *clock) in(t time.Time, in *time.Location) time.Time {
	if in != nil {
		return t.In(in)
	}
	return t
}

// read takes the token from the front of s.
func (k token) read(s string, c *clock) (string, bool) {
	switch k.letter {
	case 0:
		// Joda compares literals without case.
		if len(s) < len(k.literal) || !strings.EqualFold(s[:len(k.literal)], k.literal) {
			return s, false
		}
		return s[len(k.literal):], true
	case 'a':
		if len(s) < 2 {
			return s, false
		}
		c.half = map[string]int{"AM": 1, "PM": 2}[strings.ToUpper(s[:2])]
		return s[2:], c.half > 0
	case 'E':
		_, rest, ok := name(s, func(i int) string { return time.Weekday(i % 7).String() }, 7)
		return rest, ok
	case 'Z':
		return k.readZone(s, c)
	case 'S':
		return k.readFraction(s, c)
	case 'M':
		if k.count > 2 {
			i, rest, ok := name(s, func(i int) string { return time.Month(i + 1).String() }, 12)
			c.month, c.dated = i+1, true
			return rest, ok
		}
	}
	return k.readNumber(s, c)
}

// name finds which of n names, whole or their first three letters, s starts with.
func name(s string, names func(int) string, n int) (int, string, bool) {
	for _, size := range []int{0, 3} {
		for i := range n {
			want := names(i)
			if size > 0 {
				want = want[:size]
			}
			if len(s) >= len(want) && strings.EqualFold(s[:len(want)], want) {
				return i, s[len(want):], true
			}
		}
	}
	return 0, s, false
}

func (k token) readZone(s string, c *clock) (string, bool) {
	if k.count > 2 {
		end := strings.IndexAny(s, " ,")
		if end < 0 {
			end = len(s)
		}
		z, err := zone(s[:end])
		c.zone = z
		return s[end:], err == nil
	}
	if s == "" {
		return s, false
	}
	if s[0] == 'Z' || s[0] == 'z' {
		c.zone = time.UTC
		return s[1:], true
	}
	if s[0] != '+' && s[0] != '-' {
		return s, false
	}
	n := 1
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == ':' && n == 3) && n < 6 {
		n++
	}
	if n == 6 && s[3] != ':' {
		n = 5
	}
	if n < 3 || n == 4 {
		return s, false
	}
	secs, ok := offset(s[:n])
	if secs == 0 {
		c.zone = time.UTC
	} else {
		c.zone = time.FixedZone(s[:n], secs)
	}
	return s[n:], ok
}

func (k token) readFraction(s string, c *clock) (string, bool) {
	n, scale := 0, int(1e8)
	c.nanos = 0
	for n < len(s) && n < k.count && s[n] >= '0' && s[n] <= '9' {
		c.nanos += int(s[n]-'0') * scale
		scale /= 10
		n++
	}
	c.nanos -= c.nanos % 1e6
	return s[n:], n > 0
}

func (k token) readNumber(s string, c *clock) (string, bool) {
	year := k.letter == 'y' || k.letter == 'Y' || k.letter == 'u'
	limit := 2
	switch {
	case k.tight:
		limit = k.count
	case year:
		limit = 9
	case k.letter == 'D':
		limit = 3
	}
	n := 0
	for n < len(s) && n < limit && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n == 0 || k.tight && n < k.count {
		return s, false
	}
	v, err := strconv.Atoi(s[:n])
	if err != nil {
		return s, false
	}
	if year {
		if k.count == 2 && n == 2 {
			v = pivot(v)
		}
		c.year, c.yeared = v, true
		return s[n:], v <= 9999
	}
	return s[n:], c.set(k.letter, v)
}

// pivot is the year that two digits mean: as in Joda, within the hundred years from eighty years ago.
func pivot(v int) int {
	first := time.Now().Year() - 80
	v += first - first%100
	if v < first {
		v += 100
	}
	return v
}

// set stores a number where it is within its range.
func (c *clock) set(letter byte, v int) bool {
	c.dated = c.dated || letter == 'M' || letter == 'd' || letter == 'D'
	switch letter {
	case 'M':
		c.month = v
		return v >= 1 && v <= 12
	case 'd':
		c.day = v
		return v >= 1 && v <= 31
	case 'D':
		c.yearDay = v
		return v >= 1 && v <= 366
	case 'H', 'K':
		c.hour = v
		return v <= 23 && (letter == 'H' || v < 12)
	case 'k':
		c.hour = v % 24
		return v >= 1 && v <= 24
	case 'h':
		c.hour = v
		return v >= 1 && v <= 12
	case 'm':
		c.minute = v
		return v <= 59
	}
	c.second = v
	return v <= 59
}
