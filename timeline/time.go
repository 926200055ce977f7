package timeline

import (
	"fmt"
	"strings"
	"time"
)

// InstantTime is a point on the timeline: yyyyMMddHHmmssSSS (17 digits), in old tables yyyyMMddHHmmss (14 digits), in version-6
// metadata tables a time with three digits behind. It is a wall-clock reading in the table's zone. Times compare as strings, byte by
// byte, whatever their lengths (timeline.md §3.1).
type InstantTime string

// The layouts of the two lengths. Go wants a separator before milliseconds, so they are appended by hand.
const (
	secondsLayout = "20060102150405"
	digits14      = 14
	digits17      = 17
	maxDigits     = 32 // longer digit strings are foreign files
)

// InitTime is before every real instant (timeline.md §3.1).
const InitTime InstantTime = "00000000000000"

// ParseInstantTime accepts what can be the time in an instant's file name: 1 to 32 digits.
func ParseInstantTime(s string) (InstantTime, error) {
	if n := digitsLen(s); n == 0 || n != len(s) || n > maxDigits {
		return "", fmt.Errorf("instant time %q: want yyyyMMddHHmmssSSS or yyyyMMddHHmmss, digits only", s)
	}
	return InstantTime(s), nil
}

// digitsLen is the length of the run of digits at the start of s.
func digitsLen(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// Compare orders times as Java does: byte by byte.
func (t InstantTime) Compare(o InstantTime) int { return strings.Compare(string(t), string(o)) }

// Before reports t < o.
func (t InstantTime) Before(o InstantTime) bool { return t < o }

// After reports t > o.
func (t InstantTime) After(o InstantTime) bool { return t > o }

// Time is the moment that t names in zone. A 14-digit time means the last millisecond of its second; longer ones are cut to 17 digits.
func (t InstantTime) Time(zone *time.Location) (time.Time, error) {
	s := string(t)
	switch {
	case digitsLen(s) != len(s), len(s) < digits14, len(s) > digits14 && len(s) < digits17:
		return time.Time{}, fmt.Errorf("instant time %q: want yyyyMMddHHmmssSSS or yyyyMMddHHmmss", s)
	case len(s) == digits14:
		s += "999"
	}
	at, err := time.ParseInLocation(secondsLayout, s[:digits14], zone)
	if err != nil {
		return time.Time{}, fmt.Errorf("instant time %q is not a date: %w", t, err)
	}
	ms := int(s[14]-'0')*100 + int(s[15]-'0')*10 + int(s[16]-'0')
	return at.Add(time.Duration(ms) * time.Millisecond), nil
}

// FormatInstantTime prints at in its own location: convert it to the table's zone first.
func FormatInstantTime(at time.Time) InstantTime {
	b := make([]byte, 0, digits17)
	b = at.AppendFormat(b, secondsLayout)
	ms := at.Nanosecond() / int(time.Millisecond)
	return InstantTime(append(b, byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10)))
}

// Next is the smallest 17-digit time after t. It counts on the digits, so that a clock set back in autumn does not make it smaller. It
// fails where no date follows.
func (t InstantTime) Next() (InstantTime, error) {
	at, err := t.Time(time.UTC)
	if err != nil {
		return "", err
	}
	at = at.Add(time.Millisecond)
	if at.Year() > 9999 {
		return "", fmt.Errorf("no instant time can follow %s", t)
	}
	return FormatInstantTime(at), nil
}
