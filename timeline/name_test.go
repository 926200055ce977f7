package timeline

import (
	"errors"
	"testing"
)

func TestParseFileName(t *testing.T) {
	const T, C = "20240707001301554", "20240707001302000"
	tests := []struct {
		layout int
		name   string
		want   Instant // File is the name
	}{
		{1, T + ".inflight", Instant{Time: T, Action: Commit, State: Inflight}},
		{1, T + ".commit.requested", Instant{Time: T, Action: Commit, State: Requested}},
		{1, T + ".commit", Instant{Time: T, Action: Commit, State: Completed}},
		{1, T + ".deltacommit.inflight", Instant{Time: T, Action: DeltaCommit, State: Inflight}},
		{1, T + ".replacecommit.requested", Instant{Time: T, Action: ReplaceCommit, State: Requested}},
		{1, T + ".compaction.inflight", Instant{Time: T, Action: Compaction, State: Inflight}},
		{1, T + ".logcompaction.requested", Instant{Time: T, Action: LogCompaction, State: Requested}},
		{1, T + ".savepoint.inflight", Instant{Time: T, Action: Savepoint, State: Inflight}},
		{1, T + ".savepoint", Instant{Time: T, Action: Savepoint, State: Completed}},
		{1, "20210101000000.commit", Instant{Time: "20210101000000", Action: Commit, State: Completed}},
		{1, "20261130022046825001.compaction.requested", Instant{Time: "20261130022046825001", Action: Compaction, State: Requested}},
		{2, T + ".inflight", Instant{Time: T, Action: Commit, State: Inflight}},
		{2, T + "_" + C + ".commit", Instant{Time: T, Completion: C, Action: Commit, State: Completed}},
		{2, T + "_" + C + ".deltacommit", Instant{Time: T, Completion: C, Action: DeltaCommit, State: Completed}},
		{2, T + "_" + C + ".rollback", Instant{Time: T, Completion: C, Action: Rollback, State: Completed}},
		{2, T + ".clustering.inflight", Instant{Time: T, Action: Clustering, State: Inflight}},
		{2, T + ".commit", Instant{Time: T, Action: Commit, State: Completed, Legacy: true}},
		{2, "00000000000000002_20260403184240562.deltacommit", Instant{Time: "00000000000000002", Completion: "20260403184240562", Action: DeltaCommit, State: Completed}},
		{2, T + "_" + C + ".schemacommit", Instant{Time: T, Completion: C, Action: SchemaCommit, State: Completed}},
	}
	for _, tc := range tests {
		tc.want.File = tc.name
		got, err := ParseFileName(tc.layout, tc.name)
		if err != nil || got != tc.want {
			t.Errorf("ParseFileName(%d, %q) = %+v, %v, want %+v", tc.layout, tc.name, got, err, tc.want)
		}
		if again := got.FileName(tc.layout); again != tc.name {
			t.Errorf("ParseFileName(%d, %q).FileName() = %q", tc.layout, tc.name, again)
		}
	}
}

func TestForeignFiles(t *testing.T) {
	const T, C = "20240707001301554", "20240707001302000"
	tests := []struct {
		layout int
		names  []string
	}{
		{1, []string{"hoodie.properties", ".hoodie.properties.crc", "archived", "x.commit.tmp", T + ".commit.tmp", T + "_.commit", T, T + ".",
			T + ".commit.crc", "." + T + ".commit.crc", T + "_" + C + ".commit", T + ".commit.inflight", T + ".savepoint.requested",
			T + ".compaction", T + ".logcompaction", T + ".clustering.requested", T + ".commit.requested.x", T + ".requested",
			T + ".COMMIT", " " + T + ".commit", T + " .commit", "-1.commit", "1234567890123456789012345678901234567890.commit", ""}},
		{2, []string{"history", T + "_.commit", "_" + C + ".commit", T + "_" + C, T + "_" + C + ".commit.requested", T + "_" + C + ".inflight",
			T + "_" + C + ".commit.tmp", T + "_" + C + ".compaction", T + "_" + C + ".clustering", T + "_" + C + "_1.commit", T + ".commit.inflight",
			T + ".schemacommit.crc", T + "_x.commit", T + "_" + C + ".unknown"}},
	}
	for _, tc := range tests {
		for _, name := range tc.names {
			if got, err := ParseFileName(tc.layout, name); !errors.Is(err, ErrNotInstant) {
				t.Errorf("ParseFileName(%d, %q) = %+v, %v, want ErrNotInstant", tc.layout, name, got, err)
			}
		}
	}
}

func FuzzFileName(f *testing.F) {
	for _, s := range []string{"20240707001301554.inflight", "20240707001301554_20240707001302000.commit", "1.clean.requested", "1.savepoint", "x"} {
		f.Add(1, s)
		f.Add(2, s)
	}
	f.Fuzz(func(t *testing.T, layout int, name string) {
		layout = 1 + layout&1
		i, err := ParseFileName(layout, name)
		if err != nil {
			return
		}
		if got := i.FileName(layout); got != name {
			t.Errorf("ParseFileName(%d, %q).FileName() = %q", layout, name, got)
		}
		if _, err := ParseInstantTime(string(i.Time)); err != nil {
			t.Errorf("ParseFileName(%d, %q) has the time %q: %v", layout, name, i.Time, err)
		}
	})
}
