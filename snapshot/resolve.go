package snapshot

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hudifs/hudifs/timeline"
)

// ErrTimeSpec is matched by the error for a text that names no time.
var ErrTimeSpec = fmt.Errorf("not a time: want an instant (14 or 17 digits), a date, a date and time such as 2026-11-29T10:00:00Z, Unix seconds or milliseconds, or a span back from now such as -2h")

// ResolveTime returns the commit that a time given by a user means: the last one requested at or before it. spec is an instant, a date, a
// date and time (with or without zone; without: the table's), 10 or 13 digits of Unix time, "now", or -<span> before now. A time given
// to the second or minute includes the whole second, as in Spark (timeline.md §5.9). ErrNoSnapshot where no commit is that old, or where
// the one that is meant lost its files: an older state in its place would be a wrong answer.
func (t *Table) ResolveTime(ctx context.Context, spec string, now time.Time) (timeline.InstantTime, error) {
	s, err := t.stateOf(ctx, nil)
	if err != nil {
		return "", err
	}
	at, err := parseTime(spec, now, s.cfg.Zone)
	if err != nil {
		return "", err
	}
	for k := len(s.order) - 1; k >= 0; k-- {
		c := s.order[k].Time
		if c.Compare(at) > 0 {
			continue
		}
		if s.broken[c] {
			return "", fmt.Errorf("%q means commit %s, whose files were cleaned away: %w", spec, c, ErrNoSnapshot)
		}
		return c, nil
	}
	return "", fmt.Errorf("%q is before the first commit of the timeline: %w", spec, ErrNoSnapshot)
}

// parseTime turns a user's text into the greatest instant time that it includes.
func parseTime(spec string, now time.Time, zone *time.Location) (timeline.InstantTime, error) {
	fail := func() (timeline.InstantTime, error) { return "", fmt.Errorf("%q: %w", spec, ErrTimeSpec) }
	format := func(at time.Time) (timeline.InstantTime, error) {
		if at.Year() < 1 || at.Year() > 9999 {
			return fail()
		}
		return timeline.FormatInstantTime(at.In(zone)), nil
	}
	text := strings.TrimSpace(spec)
	switch {
	case text == "now":
		return format(now)
	case isDigits(text):
		return parseDigits(text, zone, fail)
	case strings.HasPrefix(text, "-"):
		span, err := parseSpan(text[1:])
		if err != nil {
			return fail()
		}
		return format(now.Add(-span))
	}
	for _, f := range timeForms {
		if at, err := time.ParseInLocation(f.layout, text, zone); err == nil {
			if f.wholeSecond && at.Nanosecond() == 0 && !strings.ContainsAny(text, ".,") {
				at = at.Add(lastMillisecond)
			}
			return format(at)
		}
	}
	return fail()
}

// lastMillisecond makes a time given to the second include all of it.
const lastMillisecond = 999 * time.Millisecond

// timeForms are the spellings of dates and times. Go reads a fraction after seconds whether the layout has one or not.
var timeForms = []struct {
	layout      string
	wholeSecond bool
}{
	{"2006-01-02", false},
	{"2006-01-02 15:04:05", true},
	{"2006-01-02T15:04:05", true},
	{"2006-01-02 15:04", true},
	{"2006-01-02T15:04", true},
	{"2006-01-02T15:04:05Z07:00", true},
	{"2006-01-02 15:04:05Z07:00", true},
	{"2006-01-02T15:04:05Z0700", true},
	{"2006-01-02T15:04Z07:00", true},
	{"2006-01-02 15:04Z07:00", true},
}

// parseDigits reads instants, dates and Unix times.
func parseDigits(text string, zone *time.Location, fail func() (timeline.InstantTime, error)) (timeline.InstantTime, error) {
	switch len(text) {
	case 8:
		at, err := time.ParseInLocation("20060102", text, zone)
		if err != nil {
			return fail()
		}
		return timeline.FormatInstantTime(at), nil
	case 10, 13:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fail()
		}
		at := time.UnixMilli(n)
		if len(text) == 10 {
			at = time.Unix(n, 0).Add(lastMillisecond)
		}
		return timeline.FormatInstantTime(at.In(zone)), nil
	}
	if len(text) < 14 || len(text) > 20 || len(text) == 15 || len(text) == 16 {
		return fail()
	}
	return timeline.InstantTime(text), nil
}

// parseSpan reads a Go duration that may begin with weeks and days: 2h, 1d12h, 2w.
func parseSpan(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	if text == "" {
		return 0, ErrTimeSpec
	}
	var sum time.Duration
	for _, unit := range []struct {
		letter string
		span   time.Duration
	}{{"w", 7 * day}, {"d", day}} {
		head, rest, ok := strings.Cut(text, unit.letter)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(head, 10, 16)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * unit.span
		text = rest
	}
	if text == "" {
		return sum, nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && (d < 0 || text[0] == '+') {
		err = ErrTimeSpec
	}
	return sum + d, err
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
