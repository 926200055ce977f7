package snapshot

import (
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
)

func TestParseTime(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	now := time.Date(2026, 11, 30, 2, 11, 6, 373e6, time.UTC)
	for spec, want := range map[string]timeline.InstantTime{
		"20261130021106373":         "20261130021106373",
		"20261130021106":            "20261130021106",
		"20260307162648587001":      "20260307162648587001",
		"2026-11-30 02:11:06":       "20261130021106999",
		"2026-11-30T02:11:06":       "20261130021106999",
		"2026-11-30 02:11:06.373":   "20261130021106373",
		"2026-11-30T02:11:06.000":   "20261130021106000",
		"2026-11-30":                "20261130000000000",
		"20261130":                  "20261130000000000",
		"2026-11-30T02:11":          "20261130021100999",
		"2026-11-29T10:00Z":         "20261129110000999",
		"2026-11-29T10:00:00.250Z":  "20261129110000250",
		"2026-11-29T10:00:00+02:00": "20261129090000999",
		"2026-11-29T10:00:00-0530":  "20261129163000999",
		"1796000000":                "20261130015320999",
		"1796000000123":             "20261130015320123",
		"-2h":                       "20261130011106373",
		"-1d":                       "20261129031106373",
		"-1w2d3h4m":                 "20261121000706373",
		"now":                       "20261130031106373",
		" 2026-11-30 ":              "20261130000000000",
	} {
		got, err := parseTime(spec, now, zone)
		if err != nil || got != want {
			t.Errorf("parseTime(%q) = %s, %v, want %s", spec, got, err, want)
		}
	}
	for _, spec := range []string{"", " ", "yesterday", "2026", "202611", "202611300211", "123456789012345", "2026-13-01", "2026-11-31", "-", "--2h", "-2", "-h", "+2h", "-+2h", "-1d-2h",
		"2026-11-30T25:00", "20261330", "99999999999999999999999"} {
		if got, err := parseTime(spec, now, zone); !errors.Is(err, ErrTimeSpec) {
			t.Errorf("parseTime(%q) = %s, %v, want ErrTimeSpec", spec, got, err)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"2026-11-30", "-1d2h", "1796000000", "20261130021106373", "2026-11-29T10:00:00.5+01:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		at, err := parseTime(spec, time.Unix(1796000000, 0), time.UTC)
		if err != nil {
			return
		}
		if _, err := timeline.ParseInstantTime(string(at)); err != nil {
			t.Errorf("parseTime(%q) = %q: %v", spec, at, err)
		}
	})
}

func TestResolveTime(t *testing.T) {
	eachVersion(t, tableconfig.CopyOnWrite, func(t *testing.T, m *maker) {
		const t1, t2, t3 = "20261130021105644", "20261130021106100", "20261130021106373"
		m.commit(timeline.Commit, t1, "20261130021105700", base("p", "a", t1))
		m.commit(timeline.Commit, t2, "20261130021106200", base("p", "a", t2))
		m.commit(timeline.Commit, t3, "20261130021107000", base("p", "a", t3))
		tab := m.open(Options{})
		now := time.Date(2026, 11, 30, 2, 11, 8, 0, time.UTC)
		for spec, want := range map[string]timeline.InstantTime{
			t1: t1, t2: t2, t3: t3, "20261130021106": t1, "2026-11-30 02:11:06": t3, "2026-11-30T02:11:05Z": t1, "2026-12-01": t3, "now": t3, "-1s": t3, "-2s": t1, "20261130021106372": t2,
		} {
			got, err := tab.ResolveTime(t.Context(), spec, now)
			if err != nil || got != want {
				t.Errorf("ResolveTime(%q) = %s, %v, want %s", spec, got, err, want)
			}
		}
		if got, err := tab.ResolveTime(t.Context(), "2026-11-30", now); !errors.Is(err, ErrNoSnapshot) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("ResolveTime before the first commit = %s, %v, want ErrNoSnapshot", got, err)
		}
		m.delete(base("p", "a", t2))
		tab = m.open(Options{})
		for _, spec := range []string{t2, "20261130021106372"} {
			if got, err := tab.ResolveTime(t.Context(), spec, now); !errors.Is(err, ErrNoSnapshot) {
				t.Errorf("ResolveTime(%q) of a cleaned commit = %s, %v, want ErrNoSnapshot and not an older state", spec, got, err)
			}
		}
	})
}
