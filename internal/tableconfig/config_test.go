package tableconfig

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/realtables"
)

func TestChecksum(t *testing.T) {
	tests := []struct{ db, table, want string }{
		{"default", "v6_nonpartitioned_rollback", "1120353670"},
		{"default", "v9_txns_mor_complex_meta", "3642927758"},
		{"", "v9_txns_mor_complex_meta_metadata", "460661448"},
	}
	for _, tc := range tests {
		if got := Checksum(tc.db, tc.table); got != tc.want {
			t.Errorf("Checksum(%q, %q) = %s, want %s", tc.db, tc.table, got, tc.want)
		}
	}
}

// minimal returns a valid file of the version with further lines.
func minimal(version int, lines ...string) []byte {
	v := map[int]string{6: "6\nhoodie.timeline.layout.version=1", 8: "8\nhoodie.timeline.layout.version=2", 9: "9\nhoodie.timeline.layout.version=2"}[version]
	return []byte("hoodie.table.name=t\nhoodie.table.version=" + v + "\n" + strings.Join(lines, "\n") + "\n")
}

func TestFallbacks(t *testing.T) {
	tests := []struct {
		name    string
		version int
		lines   string
		check   func(c *Config) (got, want any)
	}{
		{"type by default", 6, "", func(c *Config) (any, any) { return c.Type, CopyOnWrite }},
		{"old base format key", 6, "hoodie.table.ro.file.format=parquet", func(c *Config) (any, any) { return c.BaseFormat, Parquet }},
		{"precombine", 9, "hoodie.table.precombine.field=ts", func(c *Config) (any, any) { return c.OrderingFields, []string{"ts"} }},
		{"ordering before precombine", 8, "hoodie.table.ordering.fields=a, b\nhoodie.table.precombine.field=ts", func(c *Config) (any, any) { return c.OrderingFields, []string{"a", "b"} }},
		{"no ordering", 9, "hoodie.table.ordering.fields=", func(c *Config) (any, any) { return len(c.OrderingFields), 0 }},
		{"strategy under its old name", 6, "hoodie.compaction.record.merger.strategy=x", func(c *Config) (any, any) { return c.MergeStrategyID, "x" }},
		{"key generator by class", 6, "hoodie.table.keygenerator.class=org.apache.hudi.keygen.TimestampBasedKeyGenerator", func(c *Config) (any, any) { return c.KeyGen, KeyGenTimestamp }},
		{"key generator type before class", 9, "hoodie.table.keygenerator.type=SIMPLE_AVRO\nhoodie.table.keygenerator.class=org.apache.hudi.keygen.ComplexKeyGenerator", func(c *Config) (any, any) { return c.KeyGen, KeyGenSimple }},
		{"user class", 9, "hoodie.table.keygenerator.type=USER_PROVIDED\nhoodie.table.keygenerator.class=com.example.Keys", func(c *Config) (any, any) { return c.KeyGen, KeyGenUserProvided }},
		{"foreign class", 6, "hoodie.table.keygenerator.class=com.example.Keys", func(c *Config) (any, any) { return c.KeyGen, KeyGenUserProvided }},
		{"spark sql class", 6, "hoodie.table.keygenerator.class=org.apache.spark.sql.hudi.command.UuidKeyGenerator\nhoodie.table.recordkey.fields=a\nhoodie.table.partition.fields=p", func(c *Config) (any, any) { return c.KeyGen, KeyGenSimple }},
		{"inferred nonpartitioned", 6, "hoodie.table.recordkey.fields=a,b\nhoodie.table.partition.fields=", func(c *Config) (any, any) { return c.KeyGen, KeyGenNonPartition }},
		{"inferred simple", 6, "hoodie.table.recordkey.fields=a\nhoodie.table.partition.fields=p", func(c *Config) (any, any) { return c.KeyGen, KeyGenSimple }},
		{"inferred complex", 6, "hoodie.table.recordkey.fields=a,b\nhoodie.table.partition.fields=p", func(c *Config) (any, any) { return c.KeyGen, KeyGenComplex }},
		{"custom fields", 8, "hoodie.table.keygenerator.type=CUSTOM\nhoodie.table.partition.fields=a:simple,b:TIMESTAMP", func(c *Config) (any, any) {
			return c.PartitionFields, []PartitionField{{"a", KeyGenSimple}, {"b", KeyGenTimestamp}}
		}},
		{"layout by version", 9, "hoodie.timeline.layout.version=", func(c *Config) (any, any) { return c.Layout, 2 }},
		{"timeline folder", 9, "hoodie.timeline.path=tl", func(c *Config) (any, any) {
			return c.TimelineDir() + " " + c.HistoryDir(), ".hoodie/tl/ .hoodie/tl/history/"
		}},
		{"archive folder", 6, "", func(c *Config) (any, any) {
			return c.TimelineDir() + " " + c.HistoryDir(), ".hoodie/ .hoodie/archived/"
		}},
		{"no archive folder", 6, "hoodie.archivelog.folder=", func(c *Config) (any, any) { return c.HistoryDir(), ".hoodie/" }},
		{"zone", 9, "hoodie.table.timeline.timezone=utc", func(c *Config) (any, any) { return c.ZoneUTC, true }},
		{"cdc mode in lower case", 9, "hoodie.table.cdc.supplemental.logging.mode=data_before", func(c *Config) (any, any) { return c.CDCMode, CDCBefore }},
		{"merge properties", 9, "hoodie.record.merge.property.hoodie.payload.delete.field=Op", func(c *Config) (any, any) {
			return c.MergeProperties, map[string]string{"hoodie.payload.delete.field": "Op"}
		}},
		{"metadata partitions", 9, "hoodie.table.metadata.partitions=files,column_stats", func(c *Config) (any, any) { return c.HasMetadata("column_stats") && !c.HasMetadata("x"), true }},
	}
	for _, tc := range tests {
		c, err := Parse("f", minimal(tc.version, tc.lines))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		} else if got, want := tc.check(c); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", tc.name, got, want)
		}
	}
}

func TestMergeMode(t *testing.T) {
	const payload, id, mode = "hoodie.compaction.payload.class=", "hoodie.record.merge.strategy.id=", "hoodie.record.merge.mode="
	tests := []struct {
		version int
		lines   string
		want    MergeMode
	}{
		{6, "", CommitTimeOrdering},
		{6, "hoodie.table.precombine.field=ts", EventTimeOrdering},
		{6, payload + PayloadOverwriteLatest + "\nhoodie.table.precombine.field=ts", CommitTimeOrdering},
		{6, payload + PayloadDefault, EventTimeOrdering},
		{6, payload + PayloadEventTime, EventTimeOrdering},
		{6, payload + "com.example.P", CustomMerge},
		{6, "hoodie.compaction.record.merger.strategy=" + StrategyEventTime + "\n" + payload + PayloadOverwriteLatest, CommitTimeOrdering},
		{8, id + StrategyCommitTime + "\n" + mode + "EVENT_TIME_ORDERING", CommitTimeOrdering},
		{8, id + StrategyEventTime, EventTimeOrdering},
		{8, id + StrategyPayloadClass, CustomMerge},
		{8, mode + "commit_time_ordering", CommitTimeOrdering},
		{9, mode + "COMMIT_TIME_ORDERING\n" + id + StrategyEventTime, CommitTimeOrdering},
		{9, mode + "CUSTOM\n" + id + "x", CustomMerge},
		{9, "hoodie.table.ordering.fields=ts", EventTimeOrdering},
	}
	for _, tc := range tests {
		c, err := Parse("f", minimal(tc.version, tc.lines))
		if err != nil {
			t.Errorf("version %d %q: %v", tc.version, tc.lines, err)
		} else if c.MergeMode != tc.want {
			t.Errorf("version %d %q: merge mode %s, want %s", tc.version, tc.lines, c.MergeMode, tc.want)
		}
	}
}

func TestRefused(t *testing.T) {
	tests := []struct {
		name        string
		in          []byte
		want        string // in the error
		unsupported bool
	}{
		{"no name", []byte("hoodie.table.version=9\n"), "hoodie.table.name is missing", false},
		{"no version", []byte("hoodie.table.name=t\n"), "version 0", true},
		{"version 7", []byte("hoodie.table.name=t\nhoodie.table.version=7\n"), "version 7", true},
		{"version 10", []byte("hoodie.table.name=t\n\nhoodie.table.version=10\n"), "line 3: table version 10 is newer", true},
		{"version text", []byte("hoodie.table.name=t\nhoodie.table.version=x\n"), "line 2", false},
		{"layout 3", []byte("hoodie.table.name=t\nhoodie.table.version=9\nhoodie.timeline.layout.version=3\n"), "layout 3", true},
		{"half upgraded", []byte("hoodie.table.name=t\nhoodie.table.version=9\nhoodie.timeline.layout.version=1\n"), "needs timeline layout 2", true},
		{"lance", minimal(9, "hoodie.table.base.file.format=LANCE"), "line 4: the table's base files are in the format LANCE", true},
		{"orc by the old key", minimal(6, "hoodie.table.ro.file.format=orc"), "ORC", true},
		{"several formats", minimal(9, "hoodie.table.multiple.base.file.formats.enable=true"), "several", true},
		{"bootstrap", minimal(6, "hoodie.bootstrap.base.path=/old/table"), "bootstrapped from /old/table", true},
		{"foreign format", minimal(9, "hoodie.table.format=iceberg"), "iceberg", true},
		{"type", minimal(9, "hoodie.table.type=ROWS"), "line 4: hoodie.table.type", false},
		{"flag", minimal(9, "hoodie.populate.meta.fields=maybe"), "true or false", false},
		{"merge mode", minimal(9, "hoodie.record.merge.mode=BEST"), "BEST", false},
		{"zone", minimal(9, "hoodie.table.timeline.timezone=CET"), "LOCAL or UTC", false},
		{"partition type", minimal(9, "hoodie.table.partition.fields=a:HASH"), "SIMPLE or TIMESTAMP", false},
		{"partition without name", minimal(9, "hoodie.table.partition.fields=:SIMPLE"), "without a field name", false},
		{"key generator", minimal(9, "hoodie.table.keygenerator.type=MAGIC"), "MAGIC", false},
		{"folder outside", minimal(9, "hoodie.timeline.path=../x"), "below .hoodie", false},
		{"cdc mode", minimal(9, "hoodie.table.cdc.supplemental.logging.mode=x"), "DATA_BEFORE", false},
		{"checksum", minimal(9, "hoodie.table.checksum=5"), "line 4: hoodie.table.checksum is 5", false},
	}
	for _, tc := range tests {
		_, err := Parse("some/hoodie.properties", tc.in)
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "some/hoodie.properties") {
			t.Errorf("%s: %v, want an error with %q and the file's name", tc.name, err, tc.want)
		}
		if errors.Is(err, ErrUnsupported) != tc.unsupported {
			t.Errorf("%s: errors.Is(%v, ErrUnsupported) = %v, want %v", tc.name, err, !tc.unsupported, tc.unsupported)
		}
	}
}

func TestFeatures(t *testing.T) {
	for version, want := range map[int]Features{
		6: {RollbackBlocks: true, AppendMarkers: true, MetadataSuffixes: true, PayloadStored: true},
		8: {CompletionInName: true, AvroBodies: true, ClusteringAction: true, LSMHistory: true, LogNamedByDelta: true, KeyGenByType: true,
			MergeModeStored: true, StrategyStored: true, PayloadStored: true, CustomPartitionType: true},
		9: {CompletionInName: true, AvroBodies: true, ClusteringAction: true, LSMHistory: true, LogNamedByDelta: true, KeyGenByType: true,
			MergeModeStored: true, OrderingFieldsKey: true, TableFormatStored: true, CustomPartitionType: true},
	} {
		if got, err := featuresOf(version, LayoutOf(version)); err != nil || got != want {
			t.Errorf("featuresOf(%d) = %+v, %v, want %+v", version, got, err, want)
		}
	}
}

// TestRealTables reads every properties file that Java wrote and prints it again: the same lines in the same order.
func TestRealTables(t *testing.T) {
	files := 0
	for _, name := range realtables.Names(t) {
		table, _ := realtables.UnzipOnly(t, name, realtables.Instants)
		for _, path := range []string{".hoodie/hoodie.properties", ".hoodie/metadata/.hoodie/hoodie.properties"} {
			data, err := os.ReadFile(filepath.Join(table, path))
			if errors.Is(err, os.ErrNotExist) {
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			files++
			p, err := ParseProperties(path, data)
			if err != nil {
				t.Errorf("%s %s: %v", name, path, err)
				continue
			}
			head := strings.SplitN(string(data), "\n", 3)
			if got := p.Bytes(strings.TrimPrefix(head[0], "#"), strings.TrimPrefix(head[1], "#")); string(got) != string(data) {
				t.Errorf("%s %s printed again:\n%s\nwant\n%s", name, path, got, data)
			}
			c, err := Parse(path, data)
			if strings.Contains(name, "lance") && path == ".hoodie/hoodie.properties" {
				if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "LANCE") {
					t.Errorf("%s: %v, want an ErrUnsupported that names LANCE", name, err)
				}
			} else if err != nil {
				t.Errorf("%s %s: %v", name, path, err)
			} else {
				checkReal(t, name, c)
			}
		}
	}
	if files < 30 {
		t.Errorf("%d properties files found, want at least 30", files)
	}
}

// checkReal compares a config with what the zip's name says.
func checkReal(t *testing.T, name string, c *Config) {
	t.Helper()
	if strings.HasSuffix(c.Name, "_metadata") {
		if c.KeyGen != KeyGenMetadataTable || c.BaseFormat != HFile || c.MergeMode != CustomMerge || c.Type != MergeOnRead || c.MetaFields {
			t.Errorf("%s: metadata table's config is %+v", name, c)
		}
		return
	}
	if want := MergeOnRead; strings.HasPrefix(name, "mor") != (c.Type == want) {
		t.Errorf("%s: type %s", name, c.Type)
	}
	if !strings.Contains(name, "_v"+string(rune('0'+c.Version))+"_") {
		t.Errorf("%s: version %d", name, c.Version)
	}
	if strings.Contains(name, "no_metafields") == c.MetaFields {
		t.Errorf("%s: meta fields %v", name, c.MetaFields)
	}
	nonpartitioned := strings.Contains(name, "nonpart") || strings.Contains(name, "empty")
	if nonpartitioned == c.Partitioned() {
		t.Errorf("%s: partitioned %v", name, c.Partitioned())
	}
	if len(c.RecordKeys) == 0 {
		t.Errorf("%s: no record keys", name)
	}
}

// FuzzConfig checks that no file makes Parse panic, and that what it accepts survives being written again.
func FuzzConfig(f *testing.F) {
	f.Add(minimal(6, "hoodie.table.type=MERGE_ON_READ", "hoodie.table.precombine.field=ts"))
	f.Add(minimal(8, "hoodie.table.keygenerator.type=CUSTOM", "hoodie.table.partition.fields=a:SIMPLE,b:TIMESTAMP"))
	f.Add(minimal(9, "hoodie.record.merge.mode=CUSTOM", "hoodie.table.checksum="+Checksum("", "t")))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f", data)
		if err != nil {
			return
		}
		again, err := Parse("f", c.Properties().Bytes())
		if err != nil {
			t.Fatalf("parse what was printed: %v", err)
		}
		c.props, again.props = nil, nil
		if !reflect.DeepEqual(c, again) {
			t.Errorf("after a round trip %+v, want %+v", again, c)
		}
	})
}
