package parquetfile

import (
	"strconv"
	"strings"
	"time"
)

// Spark before 3.0 counted days in the hybrid calendar: Julian before 1582-10-15. Spark 3 still writes such files on request and says so in
// the footer. Read as proleptic Gregorian days, which is what every other reader does, such dates are days off; so they are moved to
// the day with the same name, as Spark's own reader does (known fault P11).

// Footer keys by which Spark tells the calendar.
const (
	sparkVersionKey    = "org.apache.spark.version"
	sparkLegacyDateKey = "org.apache.spark.legacyDateTime"
	sparkLegacy96Key   = "org.apache.spark.legacyINT96"
)

// legacyCalendar says which columns of a file count in the hybrid calendar.
type legacyCalendar struct {
	dates bool // DATE and TIMESTAMP
	int96 bool
}

func calendarOf(m *fileMeta) legacyCalendar {
	var c legacyCalendar
	for _, kv := range m.kv {
		switch kv.key {
		case sparkLegacyDateKey:
			c.dates = true
		case sparkLegacy96Key:
			c.int96 = true
		case sparkVersionKey:
			major, rest, _ := strings.Cut(kv.value, ".")
			minor, _, _ := strings.Cut(rest, ".")
			x, err1 := strconv.Atoi(major)
			y, err2 := strconv.Atoi(minor)
			if err1 == nil && err2 == nil {
				c.dates = c.dates || x < 3
				c.int96 = c.int96 || x < 3 || x == 3 && y < 1
			}
		}
	}
	return c
}

const (
	daySeconds = 24 * 60 * 60
	dayMicros  = daySeconds * 1_000_000
	dayMillis  = daySeconds * 1_000
	// gregorianStart is 1582-10-15 in days since 1970: from there on both calendars agree.
	gregorianStart = -141427
	// unixJulianDay is the Julian day number of 1970-01-01.
	unixJulianDay = 2440588
)

// sameDay turns a day counted in the hybrid calendar into the proleptic Gregorian day of the same date.
func sameDay(day int64) int64 {
	if day >= gregorianStart {
		return day
	}
	y, m, d := julianDate(day)
	return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC).Unix() / daySeconds
}

// julianDate is the date in the Julian calendar of a day since 1970. Years before 1 are 0, -1, ….
func julianDate(day int64) (year, month, dom int) {
	// Days since 0000-03-01 Julian, in cycles of four years that end with the leap day.
	n := day + 719470
	cycle := floorDiv(n, 1461)
	r := n - cycle*1461
	y := min(r/365, 3)
	doy := r - y*365
	mp := (5*doy + 2) / 153
	dom = int(doy - (153*mp+2)/5 + 1)
	month = int(mp + 3)
	year = int(4*cycle + y)
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, dom
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// sameInstant moves a time in units of which day make a day as sameDay moves its date.
func sameInstant(t, day int64) int64 {
	d := floorDiv(t, day)
	return t + (sameDay(d)-d)*day
}

// int96ToMicros reads the 12 bytes of an INT96 timestamp.
func int96ToMicros(nanos, julianDay int64, legacy bool) int64 {
	t := (julianDay-unixJulianDay)*dayMicros + floorDiv(nanos, 1000)
	if legacy {
		t = sameInstant(t, dayMicros)
	}
	return t
}
