package keygen

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hudifs/hudifs/internal/record"
)

func TestTimestampPaths(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string // settings without their prefix, then table properties with "hoodie"
		field string
		in    any
		want  string // "!text": an error with text
	}{
		"date string offset":     {[]string{"timestamp.type=DATE_STRING", "input.dateformat=yyyy-MM-dd'T'HH:mm:ssZ,yyyy-MM-dd", "output.dateformat=yyyy/MM/dd HH", "timezone=UTC"}, "p", "2024-01-02T03:04:05+0100", "2024/01/02 02"},
		"date string second":     {[]string{"timestamp.type=DATE_STRING", "input.dateformat=yyyy-MM-dd'T'HH:mm:ssZ,yyyy-MM-dd", "output.dateformat=yyyy/MM/dd HH", "timezone=UTC"}, "p", "2024-01-02", "2024/01/02 00"},
		"date string before":     {[]string{"timestamp.type=DATE_STRING", "input.dateformat=yyyy-MM-dd'T'HH:mm:ssZ,yyyy-MM-dd", "output.dateformat=yyyy/MM/dd HH", "timezone=UTC"}, "p", "1969-12-31T23:59:59-0500", "1970/01/01 04"},
		"date string null":       {[]string{"timestamp.type=DATE_STRING", "input.dateformat=yyyy-MM-dd'T'HH:mm:ssZ,yyyy-MM-dd", "output.dateformat=yyyy/MM/dd HH", "timezone=UTC"}, "p", nil, "1970/01/01 00"},
		"scalar micros":          {[]string{"timestamp.type=SCALAR", "timestamp.scalar.time.unit=MICROSECONDS", "output.dateformat=yyyy-MM-dd'T'HH:mm:ss.SSSZZ", "timezone=America/New_York", hive, encode}, "n", int64(1700000000123456), "n=2023-11-14T17%3A13%3A20.123-05%3A00"},
		"scalar minus one":       {[]string{"timestamp.type=SCALAR", "timestamp.scalar.time.unit=MICROSECONDS", "output.dateformat=yyyy-MM-dd'T'HH:mm:ss.SSSZZ", "timezone=America/New_York", hive, encode}, "n", int64(-1), "n=1969-12-31T19%3A00%3A00.000-05%3A00"},
		"scalar null":            {[]string{"timestamp.type=SCALAR", "timestamp.scalar.time.unit=MICROSECONDS", "output.dateformat=yyyy-MM-dd'T'HH:mm:ss.SSSZZ", "timezone=America/New_York", hive, encode}, "n", nil, "n=1969-12-31T19%3A00%3A00.000-05%3A00"},
		"gmt plus eight":         {[]string{"timestamp.type=EPOCHMILLISECONDS", "output.dateformat=yyyy-MM-dd", "timezone=GMT+8:00"}, "n", int64(1700086400000), "2023-11-16"},
		"leap day":               {[]string{"timestamp.type=EPOCHMILLISECONDS", "output.dateformat=yyyy-MM-dd", "timezone=GMT+8:00"}, "n", int64(1709250300000), "2024-03-01"},
		"unix seconds":           {[]string{"timestamp.type=UNIX_TIMESTAMP", "output.dateformat=yyyy/MM/dd/HH"}, "q", int32(1705316400), "2024/01/15/11"},
		"unix double":            {[]string{"timestamp.type=UNIX_TIMESTAMP", "output.dateformat=yyyyMMdd"}, "d", 1705316400.9, "20240115"},
		"unix decimal":           {[]string{"timestamp.type=UNIX_TIMESTAMP", "output.dateformat=yyyy-MM-dd"}, "dec", record.NewDecimal(170531, 2), "1970-01-01"},
		"unix NaN":               {[]string{"timestamp.type=UNIX_TIMESTAMP", "output.dateformat=yyyy"}, "d", zero / zero, "!is no time"},
		"micros":                 {[]string{"timestamp.type=EPOCHMICROSECONDS", "output.dateformat=yyyy-MM-dd"}, "ts", int64(1705316400000000), "2024-01-15"},
		"days of a date":         {[]string{"timestamp.type=SCALAR", "timestamp.scalar.time.unit=days", "output.dateformat=yyyy-MM"}, "day", int32(19844), "2024-05"},
		"out of range":           {[]string{"timestamp.type=UNIX_TIMESTAMP", "output.dateformat=yyyy"}, "n", int64(1) << 60, "!out of range"},
		"zone of the text":       {[]string{"timestamp.type=DATE_STRING", "input.dateformat=yyyy-MM-dd'T'HH:mm:ss.SSSZ", "output.dateformat=yyyy/MM/dd/HH"}, "p", "2023-04-01T12:01:00.123+0530", "2023/04/01/12"},
		"in and out":             {[]string{"timestamp.type=DATE_STRING", "input.dateformat=yyyy-MM-dd HH:mm", "input.timezone=Asia/Kolkata", "output.timezone=UTC", "output.dateformat=yyyy-MM-dd-HH"}, "p", "2024-01-01 01:00", "2023-12-31-19"},
		"in alone":               {[]string{"timestamp.type=DATE_STRING", "input.dateformat=yyyy-MM-dd HH:mm", "input.timezone=Asia/Kolkata", "output.dateformat=yyyy-MM-dd-HH"}, "p", "2024-01-01 01:00", "2024-01-01-01"},
		"another delimiter":      {[]string{"timestamp.type=MIXED", "input.dateformat=yyyy, MM|yyyyMMdd", "input.dateformat.list.delimiter.regex=\\\\|", "output.dateformat=MM"}, "p", "20241231", "12"},
		"no format fits":         {[]string{"timestamp.type=DATE_STRING", "input.dateformat=yyyy-MM-dd", "output.dateformat=yyyy"}, "p", "2024/01/01", "!fits none"},
		"no such day":            {[]string{"timestamp.type=DATE_STRING", "input.dateformat=yyyy-MM-dd", "output.dateformat=yyyy"}, "p", "2023-02-29", "!fits none"},
		"text behind":            {[]string{"timestamp.type=DATE_STRING", "input.dateformat=yyyy-MM-dd", "output.dateformat=yyyy"}, "p", "2023-02-28x", "!fits none"},
		"empty string":           {[]string{"timestamp.type=DATE_STRING", "input.dateformat=yyyy-MM-dd", "output.dateformat=yyyy"}, "p", "", "!fits none"},
		"not twice encoded":      {[]string{"timestamp.type=EPOCHMILLISECONDS", "output.dateformat=HH:mm", encode}, "n", int64(0), "00%3A00"},
		"old prefix":             {[]string{"hoodie.deltastreamer.keygen.timebased.timestamp.type=EPOCHMILLISECONDS", "hoodie.deltastreamer.keygen.timebased.output.dateformat=yyyy"}, "n", int64(0), "1970"},
		"path leaves table":      {[]string{"timestamp.type=EPOCHMILLISECONDS", "output.dateformat='..'"}, "n", int64(0), "!names no directory"},
		"slash dates do nothing": {[]string{"timestamp.type=EPOCHMILLISECONDS", "output.dateformat=yyyy-MM-dd", slash}, "n", int64(0), "1970-01-01"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := typ("TIMESTAMP", "id", c.field)
			for _, l := range c.lines {
				if !strings.HasPrefix(l, "hoodie") {
					l = "hoodie.keygen.timebased." + l
				}
				lines = append(lines, l)
			}
			s := rowSchema(t)
			g, err := New(config(t, 9, lines...), s)
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.Partition(row(t, s, vals{c.field: c.in}))
			if msg, fails := strings.CutPrefix(c.want, "!"); fails {
				if !errors.Is(err, ErrRow) || !strings.Contains(err.Error(), msg) {
					t.Errorf("Partition = %q, error %v, want one with %q", got, err, msg)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("Partition = %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

var zero float64

func TestTimestampSettingsRefused(t *testing.T) {
	s := rowSchema(t)
	for name, c := range map[string]struct {
		field string
		set   string
		want  string
	}{
		"type":           {"n", "timestamp.type=LATER,output.dateformat=yyyy", "LATER"},
		"no output":      {"n", "timestamp.type=UNIX_TIMESTAMP", "output.dateformat is not set"},
		"no input":       {"p", "timestamp.type=DATE_STRING,output.dateformat=yyyy", "input.dateformat is not set"},
		"unit":           {"n", "timestamp.type=SCALAR,timestamp.scalar.time.unit=FORTNIGHTS,output.dateformat=yyyy", "FORTNIGHTS"},
		"zone":           {"n", "timestamp.type=UNIX_TIMESTAMP,output.dateformat=yyyy,timezone=Mars/Olympus", "Mars/Olympus"},
		"letter":         {"n", "timestamp.type=UNIX_TIMESTAMP,output.dateformat=yyyy-ww", "letter w"},
		"quote":          {"n", "timestamp.type=UNIX_TIMESTAMP,output.dateformat=yyyy'T", "quote"},
		"string column":  {"p", "timestamp.type=UNIX_TIMESTAMP,output.dateformat=yyyy", "holds strings"},
		"number column":  {"n", "timestamp.type=DATE_STRING,input.dateformat=yyyy,output.dateformat=yyyy", "holds numbers"},
		"boolean column": {"ok", "timestamp.type=UNIX_TIMESTAMP,output.dateformat=yyyy", "boolean"},
	} {
		props := map[string]string{}
		for _, kv := range strings.Split(c.set, ",") {
			k, v, _ := strings.Cut(kv, "=")
			props["hoodie.keygen.timebased."+k] = v
		}
		_, err := NewWith(config(t, 9, typ("CUSTOM", "id", c.field+":TIMESTAMP")...), s, Options{Properties: props})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestWriterSettingsOfCustomTables(t *testing.T) {
	s := rowSchema(t)
	g, err := NewWith(config(t, 9, append(typ("CUSTOM", "id", "p:SIMPLE,n:TIMESTAMP"), hive)...), s, Options{Properties: map[string]string{
		"hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS", "hoodie.keygen.timebased.output.dateformat": "yyyy-MM-dd", "hoodie.keygen.timebased.timezone": "GMT+8:00",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if k, err := g.Key(row(t, s, vals{"id": "a", "p": "x", "n": int64(1700086400000)})); err != nil || k.PartitionPath != "p=x/n=2023-11-16" || k.RecordKey != "a" {
		t.Errorf("Key = %v, %v", k, err)
	}
}

func TestLayouts(t *testing.T) {
	at := time.Date(2024, 3, 9, 14, 5, 7, 89e6, time.FixedZone("x", -(3*3600+30*60)))
	for pattern, want := range map[string]string{
		"yyyy-MM-dd'T'HH:mm:ss.SSSZ": "2024-03-09T14:05:07.089-0330", "yy/M/d": "24/3/9", "ZZ": "-03:30", "hh:mm a": "02:05 PM", "K k h": "2 14 2",
		"MMM d, EEE": "Mar 9, Sat", "MMMM EEEE": "March Saturday", "D": "69", "DDD": "069", "S SS SSSSSS": "0 08 089000", "''yyyy''": "'2024'", "'it''s' yyyy": "it's 2024", "yyyyMMddHH": "2024030914",
	} {
		l, err := parseLayout(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		got := l.format(at)
		if got != want {
			t.Errorf("format %s = %q, want %q", pattern, got, want)
		}
		if back, ok := l.parse(got, at.Location()); !ok {
			t.Errorf("%s does not parse its own %q", pattern, got)
		} else if again := l.format(back); again != got && !strings.Contains(pattern, "EEE") && !strings.Contains(pattern, "K k h") {
			t.Errorf("%s: %q came back as %q", pattern, got, again)
		}
	}
	for _, c := range []struct{ pattern, in, want string }{
		{"yyyy-MM-dd", "2024-3-9", "2024-03-09T00:00:00Z"}, {"MM-dd", "02-29", "2000-02-29T00:00:00Z"}, {"HH:mm", "05:06", "1970-01-01T05:06:00Z"},
		{"yyyyMMdd", "20240309", "2024-03-09T00:00:00Z"}, {"yyyyMMdd", "2024039", "2024-03-09T00:00:00Z"}, {"yyyyMMdd", "202403", ""}, {"yyyyMMdd", "20243", ""}, {"yyyy-MM-dd", "2024-13-01", ""}, {"yyyy-MM-dd", "2024-00-01", ""},
		{"HH", "24", ""}, {"kk", "24", "1970-01-01T00:00:00Z"}, {"hh a", "12 am", "1970-01-01T00:00:00Z"}, {"hh a", "12 PM", "1970-01-01T12:00:00Z"}, {"hh a", "13 PM", ""},
		{"yyyy'T'", "2024t", "2024-01-01T00:00:00Z"}, {"yyyyZ", "2024Z", "2024-01-01T00:00:00Z"}, {"yyyyZ", "2024+01:00", "2023-12-31T23:00:00Z"}, {"yyyyZ", "2024+1", ""}, {"yyyyZ", "2024", ""},
		{"yyyyZ", "2024+0100", "2023-12-31T23:00:00Z"}, {"ss.SSS", "01.5", "1970-01-01T00:00:01.5Z"}, {"ss.SSSSSS", "01.123456", "1970-01-01T00:00:01.123Z"}, {"yyyy ZZZ", "2024 Asia/Tokyo", "2023-12-31T15:00:00Z"},
		{"yyyy-DDD", "2024-366", "2024-12-31T00:00:00Z"}, {"yyyy-DDD", "2023-366", ""}, {"yyyy", "", ""}, {"yyyy", "12345678901", ""}, {"MMM yyyy", "mar 2024", "2024-03-01T00:00:00Z"}, {"MMM yyyy", "xyz 2024", ""},
	} {
		l, err := parseLayout(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := l.parse(c.in, nil)
		if text := got.UTC().Format(time.RFC3339Nano); ok != (c.want != "") || ok && text != c.want {
			t.Errorf("%s of %q = %s, %v, want %q", c.pattern, c.in, text, ok, c.want)
		}
	}
}

func TestZones(t *testing.T) {
	for name, want := range map[string]int{"UTC": 0, "GMT": 0, "GMT+8": 28800, "GMT+8:00": 28800, "GMT+08:00": 28800, "GMT-0530": -19800, "GMT-5": -18000, "Asia/Kolkata": 19800, "IST": 19800} {
		loc, err := zone(name)
		if err != nil {
			t.Errorf("zone(%q): %v", name, err)
			continue
		}
		if _, got := time.Unix(1700000000, 0).In(loc).Zone(); got != want {
			t.Errorf("zone(%q) is %d seconds from UTC, want %d", name, got, want)
		}
	}
	for _, bad := range []string{"", "Local", "GMT+", "GMT+24", "GMT+8:60", "GMT+8:0", "GMT+12345", "GMTx", "../etc/passwd", "Nowhere"} {
		if loc, err := zone(bad); err == nil {
			t.Errorf("zone(%q) = %v, want an error", bad, loc)
		}
	}
}

func FuzzLayout(f *testing.F) {
	f.Add("yyyy-MM-dd'T'HH:mm:ss.SSSZ", "2024-03-09T14:05:07.089-0330")
	f.Add("yyyyMMdd hh a EEE ZZZ", "20240309 02 PM Sat UTC")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		l, err := parseLayout(pattern)
		if err != nil {
			return
		}
		if at, ok := l.parse(text, nil); ok {
			if _, ok := l.parse(l.format(at), nil); !ok && at.Year() > 999 && !strings.ContainsAny(pattern, "yYuDEZ") {
				t.Errorf("%q parses %q but not its own %q", pattern, text, l.format(at))
			}
		}
	})
}
