package keygen

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones must mean the same on every machine
)

// javaZones are Java's short names that the zone database lacks or means otherwise.
var javaZones = map[string]string{
	"PST": "America/Los_Angeles", "CST": "America/Chicago", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "CTT": "Asia/Shanghai",
	"AET": "Australia/Sydney", "BST": "Asia/Dhaka", "ECT": "Europe/Paris", "EAT": "Africa/Nairobi", "ART": "Africa/Cairo", "VST": "Asia/Ho_Chi_Minh",
}

// zone finds a time zone by its Java name: a region, UTC, or GMT with an offset such as GMT+8, GMT+8:00, GMT-0530. Java takes GMT for a name
// it does not know; that is refused here, as a misspelt zone would put rows into wrong partitions.
func zone(name string) (*time.Location, error) {
	name = strings.TrimSpace(name)
	if region, ok := javaZones[name]; ok {
		name = region
	}
	switch name {
	case "UTC", "GMT", "Z", "UT", "GMT0":
		return time.UTC, nil
	case "", "Local":
		return nil, fmt.Errorf("time zone %q is not known", name)
	}
	if off, ok := strings.CutPrefix(name, "GMT"); ok && (off[0] == '+' || off[0] == '-') {
		secs, ok := offset(off)
		if !ok {
			return nil, fmt.Errorf("time zone %q is not known", name)
		}
		return time.FixedZone(name, secs), nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q is not known", name)
	}
	return loc, nil
}

// offset reads +h, +hh, +h:mm, +hh:mm and +hhmm into seconds.
func offset(s string) (int, bool) {
	sign := 1
	if s[0] == '-' {
		sign = -1
	}
	h, m, colon := strings.Cut(s[1:], ":")
	if !colon && len(h) > 2 {
		h, m = h[:len(h)-2], h[len(h)-2:]
	} else if colon && len(m) != 2 {
		return 0, false
	}
	if m == "" {
		m = "0"
	}
	hours, err1 := strconv.ParseUint(h, 10, 8)
	minutes, err2 := strconv.ParseUint(m, 10, 8)
	if err1 != nil || err2 != nil || hours > 23 || minutes > 59 || len(h) > 2 {
		return 0, false
	}
	return sign * int(hours*3600+minutes*60), true
}
