package tableconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/realtables"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
)

// sameAs lists, for tables made by Spark SQL, the options that make the same table here.
func sameAs() map[string]Options {
	part := func(names ...string) []PartitionField {
		var out []PartitionField
		for _, n := range names {
			out = append(out, PartitionField{Name: n})
		}
		return out
	}
	return map[string]Options{
		"mor_parquet_v6_nonpartitioned":    {Version: 6, Type: MergeOnRead, RecordKeys: []string{"id"}, OrderingFields: []string{"longField"}, PayloadClass: PayloadOverwriteLatest, HiveStyle: true},
		"cow_v8_nonpartitioned":            {Version: 8, RecordKeys: []string{"id"}, OrderingFields: []string{"longField"}, HiveStyle: true},
		"cow_v8_simplekeygen_nonhivestyle": {Version: 8, RecordKeys: []string{"id"}, OrderingFields: []string{"longField"}, PartitionFields: part("byteField")},
		"cow_v9_txns_complex_nometa":       {Version: 9, RecordKeys: []string{"txn_id", "account_id"}, OrderingFields: []string{"txn_ts"}, PartitionFields: part("region"), HiveStyle: true},
		"mor_avro_v9_txns_nonpart_nometa":  {Version: 9, Type: MergeOnRead, RecordKeys: []string{"txn_id"}, OrderingFields: []string{"txn_ts"}, HiveStyle: true},
		"mor_avro_v8_trips_8i3u1d":         {Version: 8, Type: MergeOnRead, RecordKeys: []string{"uuid"}, OrderingFields: []string{"ts"}, PartitionFields: part("city"), HiveStyle: true},
	}
}

// TestNewLikeJava compares the properties of new tables with those that Java wrote for the same table.
func TestNewLikeJava(t *testing.T) {
	realtables.Names(t)
	for name, o := range sameAs() {
		table, _ := realtables.UnzipOnly(t, name, realtables.Instants)
		data, err := os.ReadFile(filepath.Join(table, Path))
		if err != nil {
			t.Fatal(err)
		}
		java, err := ParseProperties(Path, data)
		if err != nil {
			t.Fatal(err)
		}
		o.Name, _ = java.Get(KeyName)
		o.Database, _ = java.Get(KeyDatabase)
		o.CreateSchema, _ = java.Get(KeyCreateSchema)
		for _, k := range []string{KeyMetaPartitions, KeyMetaInflight, KeyIndexDefs} { // come with the metadata table
			java.Delete(k)
		}
		ours, err := New(o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, k := range append(java.Keys(), ours.Keys()...) {
			want, inJava := java.Get(k)
			got, inOurs := ours.Get(k)
			if got != want || inJava != inOurs {
				t.Errorf("%s: %s = %q (there: %v), want %q (there: %v)", name, k, got, inOurs, want, inJava)
			}
		}
	}
}

func TestNewMetadata(t *testing.T) {
	for version, want := range map[int]string{
		8: "hoodie.timeline.layout.version=2", 9: "hoodie.timeline.layout.version=2", 6: "hoodie.archivelog.folder=archived",
	} {
		p, err := New(Options{Name: "t_metadata", Version: version, Type: MergeOnRead, Metadata: true, RecordKeys: []string{"key"}})
		if err != nil {
			t.Errorf("version %d: %v", version, err)
			continue
		}
		text := string(p.Bytes())
		for _, line := range []string{want, "hoodie.table.base.file.format=HFILE", "hoodie.compaction.payload.class=" + PayloadMetadata, "hoodie.populate.meta.fields=false"} {
			if !strings.Contains(text, line+"\n") {
				t.Errorf("version %d: no line %q in\n%s", version, line, text)
			}
		}
		if c, err := FromProperties(p); err != nil || c.KeyGen != KeyGenMetadataTable && version >= 8 || c.MergeMode != CustomMerge {
			t.Errorf("version %d: config %+v, %v", version, c, err)
		}
	}
}

func TestNewRefused(t *testing.T) {
	tests := map[string]Options{
		"no name":                {},
		"version 7":              {Name: "t", Version: 7},
		"two ordering fields":    {Name: "t", Version: 8, OrderingFields: []string{"a", "b"}},
		"custom without payload": {Name: "t", MergeMode: CustomMerge},
	}
	for name, o := range tests {
		if _, err := New(o); err == nil {
			t.Errorf("%s: New succeeded", name)
		}
	}
}

func TestCustomPartitionTypes(t *testing.T) {
	o := Options{Name: "t", RecordKeys: []string{"id"}, PartitionFields: []PartitionField{{Name: "a"}, {Name: "b", Type: KeyGenTimestamp}}}
	for version, want := range map[int]string{6: "a,b", 9: "a:SIMPLE,b:TIMESTAMP"} {
		o.Version = version
		p, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := p.Get(KeyPartitionFields); got != want {
			t.Errorf("version %d: partition fields %q, want %q", version, got, want)
		}
	}
}

func TestCreate(t *testing.T) {
	st := storagetest.NewMem()
	o := Options{Name: "t", RecordKeys: []string{"id"}, Extra: map[string]string{"my.key": "v"}}
	if _, err := Create(t.Context(), st, o); err != nil {
		t.Fatal(err)
	}
	c, err := Load(t.Context(), st)
	if err != nil || c.Version != 9 || c.Layout != 2 || c.MergeMode != CommitTimeOrdering || c.Partitioned() {
		t.Errorf("the new table's config is %+v, %v", c, err)
	}
	if v, _ := c.Get("my.key"); v != "v" {
		t.Errorf("my.key = %q, want v", v)
	}
	data, err := st.ReadAll(t.Context(), Path)
	if err != nil || !strings.HasPrefix(string(data), "#Properties saved on 2") || !strings.HasSuffix(string(data), "hoodie.table.checksum="+Checksum("", "t")+"\n") {
		t.Errorf("the new file is\n%s", data)
	}
	if _, err := Create(t.Context(), st, o); !errors.Is(err, ErrTableExists) {
		t.Errorf("a second Create = %v, want ErrTableExists", err)
	}
}
