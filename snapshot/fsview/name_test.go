package fsview

import (
	"strings"
	"testing"
)

func TestParseBaseFileName(t *testing.T) {
	for _, tc := range []struct {
		name string
		want BaseName
	}{
		{"ca5f3766-d943-4ee8-be22-dfd463fb7bd4-0_0-21-49_20260307162533871.parquet",
			BaseName{"ca5f3766-d943-4ee8-be22-dfd463fb7bd4-0", "0-21-49", "20260307162533871", ".parquet"}},
		{"files-0000-0_23-1133-3302_20251220210130942.hfile", BaseName{"files-0000-0", "23-1133-3302", "20251220210130942", ".hfile"}},
		{"00000003-3f2a-4c11-9d60-0d2f1f3f5a55-0_1-0-1_20240101000000.orc", BaseName{"00000003-3f2a-4c11-9d60-0d2f1f3f5a55-0", "1-0-1", "20240101000000", ".orc"}},
		{"a_1-2-3_4.tar.gz", BaseName{"a", "1-2-3", "4", ".tar.gz"}},
	} {
		got, err := ParseBaseFileName(tc.name)
		if err != nil || got != tc.want {
			t.Errorf("ParseBaseFileName(%q) = %+v, %v, want %+v", tc.name, got, err, tc.want)
		}
		if got.String() != tc.name {
			t.Errorf("String() = %q, want %q", got.String(), tc.name)
		}
	}
	for _, bad := range []string{"", "a", "a_b", "a_1-2-3", "a_1-2-3_", "a_1-2-3_4", "a_1-2-3_4.", "a_1-2-3_.parquet", "_1-2-3_4.parquet", "a__4.parquet",
		"a_1-2_4.parquet", "a_1-2-x_4.parquet", "a_1-2-3_4x.parquet", ".a_1-2-3_4.parquet", "p/a_1-2-3_4.parquet", "x_20260307162533871_hudiext",
		"x_1-2-3_4_hudiext.parquet", "part-00000-abc.snappy.parquet", strings.Repeat("a", 5000) + "_1-2-3_4.parquet"} {
		if n, err := ParseBaseFileName(bad); err == nil {
			t.Errorf("ParseBaseFileName(%.40q) = %+v, want an error", bad, n)
		}
	}
}

func TestParseLogFileName(t *testing.T) {
	for _, tc := range []struct {
		name string
		want LogName
	}{
		{".6d3d1d6e-2298-4080-a0c1-494877d6f40a-0_20250618054711154.log.1_0-26-85",
			LogName{"6d3d1d6e-2298-4080-a0c1-494877d6f40a-0", "20250618054711154", 1, "0-26-85", false}},
		{".0712b9f9-d2d5-4cae-bcf4-8fd7146af503-0_20250126040823628.log.2_1-0-1",
			LogName{"0712b9f9-d2d5-4cae-bcf4-8fd7146af503-0", "20250126040823628", 2, "1-0-1", false}},
		{".files-0000-0_00000000000000000.log.1_0-0-0", LogName{"files-0000-0", "00000000000000000", 1, "0-0-0", false}},
		{".f_20250126040823628.log.12", LogName{"f", "20250126040823628", 12, "", false}},
		{".f_20250126040823628.log.1_3-4-5.cdc", LogName{"f", "20250126040823628", 1, "3-4-5", true}},
	} {
		got, err := ParseLogFileName(tc.name)
		if err != nil || got != tc.want {
			t.Errorf("ParseLogFileName(%q) = %+v, %v, want %+v", tc.name, got, err, tc.want)
		}
		if got.String() != tc.name {
			t.Errorf("String() = %q, want %q", got.String(), tc.name)
		}
		if !IsLogFile(tc.name) {
			t.Errorf("IsLogFile(%q) = false", tc.name)
		}
	}
	for _, bad := range []string{"", ".", "f_1.log.1", "._1.log.1", ".f_1.log.", ".f_1.log.0", ".f_1.log.01", ".f_1.log.-1", ".f_1.log.+1", ".f_.log.1", ".f_x.log.1",
		".f_1.archive.1", ".f_1.log.1_", ".f_1.log.1_a-b-c", ".f_1.log.1_1-2-3.crc", ".f_1.log.99999999999999999999", "d/.f_1.log.1", ".f.g_1.log.1",
		".commits_.archive.1_1-0-1"} {
		if n, err := ParseLogFileName(bad); err == nil {
			t.Errorf("ParseLogFileName(%q) = %+v, want an error", bad, n)
		}
	}
}

func FuzzParseBaseFileName(f *testing.F) {
	f.Add("ca5f3766-d943-4ee8-be22-dfd463fb7bd4-0_0-21-49_20260307162533871.parquet")
	f.Add("a_1-2-3_4.tar.gz")
	f.Add("a__4.")
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseBaseFileName(s)
		if err == nil && n.String() != s {
			t.Errorf("ParseBaseFileName(%q) prints %q", s, n.String())
		}
	})
}

func FuzzParseLogFileName(f *testing.F) {
	f.Add(".6d3d1d6e-2298-4080-a0c1-494877d6f40a-0_20250618054711154.log.1_0-26-85")
	f.Add(".f_1.log.2_1-0-1.cdc")
	f.Add(".f_1.log.3")
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseLogFileName(s)
		if err == nil && n.String() != s {
			t.Errorf("ParseLogFileName(%q) prints %q", s, n.String())
		}
	})
}
