package timeline

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestInstantTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	tests := []struct {
		in   InstantTime
		zone *time.Location
		want string // RFC 3339 in UTC
	}{
		{"20260307162628304", time.UTC, "2026-03-07T16:26:28.304Z"},
		{"20260307162628304", time.FixedZone("CST", -6*3600), "2026-03-07T22:26:28.304Z"},
		{"20210101000000", time.UTC, "2021-01-01T00:00:00.999Z"},
		{"20261130022046825001", time.UTC, "2026-11-30T02:20:46.825Z"},
		{"20260701120000000", berlin, "2026-07-01T10:00:00Z"},
	}
	for _, tc := range tests {
		got, err := tc.in.Time(tc.zone)
		if err != nil || got.UTC().Format(time.RFC3339Nano) != tc.want {
			t.Errorf("%s.Time(%s) = %v, %v, want %s", tc.in, tc.zone, got, err, tc.want)
		}
		if len(tc.in) == 17 {
			if again := FormatInstantTime(got.In(tc.zone)); again != tc.in {
				t.Errorf("FormatInstantTime = %s, want %s", again, tc.in)
			}
		}
	}
	for _, bad := range []InstantTime{"", "0", "2026", "2026030716262830", "20261330000000000", "00000000000000000", "2026030716262830x"} {
		if got, err := bad.Time(time.UTC); err == nil {
			t.Errorf("%q.Time() = %v, want an error", bad, got)
		}
	}
}

// TestCompare sorts times of different lengths as Java sorts their strings.
func TestCompare(t *testing.T) {
	want := []InstantTime{"0", "00000000000000", "00000000000000010", "00000000000001", "20210101000000", "20210101000000000", "20210101000000001",
		"20210101000000001001", "20210101000001", "20260307162628304"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, InstantTime.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("sorted %v, want %v", got, want)
	}
	if !want[1].Before(want[2]) || !want[2].After(want[1]) || want[1].Before(want[1]) {
		t.Error("Before and After disagree with Compare")
	}
}

func TestParseInstantTime(t *testing.T) {
	for _, good := range []string{"0", "20210101000000", "20260307162628304", "20261130022046825001"} {
		if got, err := ParseInstantTime(good); err != nil || string(got) != good {
			t.Errorf("ParseInstantTime(%q) = %q, %v", good, got, err)
		}
	}
	for _, bad := range []string{"", "2026-03-07", "20260307162628304Z", "١", strings.Repeat("1", 33), "-1"} {
		if got, err := ParseInstantTime(bad); err == nil {
			t.Errorf("ParseInstantTime(%q) = %q, want an error", bad, got)
		}
	}
}

func TestNext(t *testing.T) {
	tests := map[InstantTime]InstantTime{
		"20260307162628304":    "20260307162628305",
		"20261231235959999":    "20270101000000000",
		"20240228235959999":    "20240229000000000",
		"20210101000000":       "20210101000001000",
		"20261130022046825001": "20261130022046826",
	}
	for in, want := range tests {
		got, err := in.Next()
		if err != nil || got != want || got <= in {
			t.Errorf("%s.Next() = %s, %v, want %s", in, got, err, want)
		}
	}
	for _, bad := range []InstantTime{"99991231235959999", "99999999999999999", "x"} {
		if got, err := bad.Next(); err == nil {
			t.Errorf("%s.Next() = %s, want an error", bad, got)
		}
	}
}

func TestClock(t *testing.T) {
	at := time.Date(2026, 10, 25, 0, 59, 59, 999e6, time.UTC) // a millisecond before Berlin sets its clocks back
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	c := NewClockFrom(berlin, func() time.Time { return at })
	now := func() InstantTime {
		t.Helper()
		got, err := c.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	steps := []struct {
		move    time.Duration
		observe InstantTime
		want    InstantTime
	}{
		{0, "", "20261025025959999"},
		{time.Millisecond, "", "20261025030000000"}, // the wall clock says 02:00:00.000 again
		{time.Hour, "", "20261025030000001"},        // and now 03:00:00.000
		{time.Millisecond, "", "20261025030000002"},
		{-24 * time.Hour, "", "20261025030000003"}, // the administrator sets the clock back
		{48 * time.Hour, "20260101000000000", "20261026030000001"},
		{0, "00000000000000004", "20261026030000002"},
		{0, "20990101000000000", "20990101000000001"}, // an instant from the future
		{0, "20990101000000001006", "20990101000000002"},
	}
	for k, s := range steps {
		at = at.Add(s.move)
		c.Observe(s.observe)
		if got := now(); got != s.want {
			t.Errorf("step %d: Now = %s, want %s", k, got, s.want)
		}
	}
	c.Observe("99999999999999999")
	if got, err := c.Now(t.Context()); err == nil || !strings.Contains(err.Error(), "99999999999999999") {
		t.Errorf("Now after the greatest number = %s, %v, want an error that names it", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Now(ctx); err == nil {
		t.Error("Now with a cancelled context gave a time")
	}
}

// TestClockConcurrent takes times from several goroutines: all differ.
func TestClockConcurrent(t *testing.T) {
	c := NewClock(time.UTC)
	var all [4][500]InstantTime
	var wg sync.WaitGroup
	for g := range all {
		wg.Go(func() {
			for k := range all[g] {
				got, err := c.Now(t.Context())
				if err != nil {
					t.Error(err)
				}
				all[g][k] = got
			}
		})
	}
	wg.Wait()
	seen := map[InstantTime]bool{}
	for _, list := range all {
		for k, x := range list {
			if seen[x] {
				t.Fatalf("the time %s was given twice", x)
			}
			if k > 0 && x <= list[k-1] {
				t.Fatalf("%s was given after %s", x, list[k-1])
			}
			seen[x] = true
		}
	}
}
