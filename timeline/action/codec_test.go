package action

import (
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/timeline"
)

func ptr[T any](v T) *T { return &v }

// examples has one full body of every type: every field differs from its zero value somewhere.
func examples() []any {
	rollback := RollbackMetadata{
		StartTime: "20261130021134021", TimeTakenMillis: 12, TotalFilesDeleted: 2, Commits: []string{"20261130021130000"}, Version: 1,
		Instants: []InstantInfo{{"20261130021130000", "deltacommit"}},
		Partitions: map[string]RollbackPartition{"p0": {
			Partition: "p0", Deleted: []string{"/t/p0/a.parquet"}, Failed: []string{"/t/p0/b.parquet"},
			RollbackLogs: map[string]int64{"file:/t/p0/.x.log.2_1-0-1": 105}, FailedLogFiles: map[string]int64{".x.log.1_1-0-1": 1},
		}},
	}
	clean := map[string]CleanPartition{"p": {Partition: "p", Policy: "KEEP_LATEST_COMMITS", DeletePatterns: []string{"a"}, Deleted: []string{"a"}, Failed: []string{}, PartitionDeleted: true}}
	return []any{
		&CommitMetadata{
			Operation: OpUpsert, Compacted: true, Extra: map[string]string{"schema": `{"type":"record"}`, "k": "ü\n\x01"},
			Stats: map[string][]WriteStat{"region=us": {{
				FileID: "f-0", Path: "region=us/.f-0_1.log.1_0-1-2", PrevCommit: "1", PartitionPath: "region=us", NumWrites: 1, NumDeletes: 2,
				NumUpdateWrites: 3, NumInserts: 4, NumUpdates: 5, TotalWriteBytes: 6, TotalWriteErrors: 7, FileSizeInBytes: 8,
				Log: &LogStat{Version: 1, Offset: 9, BaseFile: "b.parquet", Files: []string{"l1", "l2"}}, CDC: map[string]int64{"c": 10},
				PrevBaseFile: "old.parquet", TotalLogRecords: 11, TotalLogFiles: 12, TotalLogBlocks: 13, TotalCorruptLogBlock: 14,
				TotalRollbackBlocks: 15, TotalUpdatedRecordsCompacted: 16, TotalLogFilesCompacted: 17, TotalLogReadTimeMs: 18,
				TotalLogSizeCompacted: 19, MinEventTime: ptr(int64(20)), MaxEventTime: ptr(int64(21)), TempPath: "t",
				Runtime: &RuntimeStats{22, 23, 24},
			}, {FileID: "g-0", Path: "region=us/g.parquet", PartitionPath: "region=us", PrevCommit: NullCommit}}},
		},
		&CommitMetadata{Replace: true, Operation: OpInsertOverwrite, Stats: map[string][]WriteStat{}, Extra: map[string]string{},
			ReplacedFileIDs: map[string][]string{"": {"a-0", "b-0"}}},
		&RequestedReplace{},
		&RequestedReplace{Operation: OpCluster, Version: 1, Extra: map[string]string{"a": "b"}, Clustering: &ClusteringPlan{
			Version: 1, PreserveMetadata: true, Extra: map[string]string{}, MissingPartitions: []string{"q"},
			Strategy: &Strategy{Class: "org.example.Sort", Params: map[string]string{"x": "y"}, Version: 1},
			Groups: []ClusteringGroup{{Version: 1, OutputFileGroups: 3, Metrics: map[string]float64{"TOTAL_IO_MB": 1.5},
				Slices: []SliceInfo{{DataFile: "file:/t/a.parquet", DeltaFiles: []string{"file:/t/.a.log.1"}, FileID: "a", Partition: "p", Version: 1}}}},
		}},
		&CompactionPlan{Version: 2, PreserveMetadata: true, Extra: map[string]string{}, MissingPartitions: []string{}, Strategy: &Strategy{Class: "C", Params: map[string]string{}, Version: 1},
			Operations: []CompactionOperation{{BaseInstant: "1", DeltaFiles: []string{".a.log.1", ".a.log.2"}, DataFile: "a.parquet", FileID: "a", Partition: "p", Metrics: map[string]float64{"TOTAL_LOG_FILES": 2}}}},
		&CleanPlan{EarliestToRetain: &ActionInstant{"20261130021134021", "commit", "COMPLETED"}, LastCompletedTimestamp: "2", Policy: "KEEP_LATEST_COMMITS",
			OldFiles: map[string][]string{}, Version: 2, Files: map[string][]CleanFile{"p": {{Path: "file:/t/p/a.parquet", Bootstrap: true}}},
			PartitionsToDelete: []string{"q"}, Extra: map[string]string{"savepointed_timestamps": "3"}},
		&CleanMetadata{StartTime: "1", TimeTakenMillis: 2, TotalFilesDeleted: 3, EarliestToRetain: "4", LastCompletedTimestamp: "5", Version: 2,
			Partitions: clean, BootstrapPartitions: clean, Extra: map[string]string{"a": "b"}},
		&RollbackPlan{Target: InstantInfo{"1", "commit"}, Version: 1, Requests: []RollbackRequest{{Partition: "p", FileID: "f", LatestBaseInstant: "0", FilesToDelete: []string{"/t/a"}, LogBlocks: map[string]int64{"l": 1}}}},
		&rollback,
		&RestorePlan{Instants: []InstantInfo{{"2", "commit"}, {"1", "deltacommit"}}, Version: 2, Savepoint: "0"},
		&RestoreMetadata{StartTime: "9", TimeTakenMillis: 1, Instants: []string{"2"}, Version: 1, InstantInfo: []InstantInfo{{"2", "commit"}},
			Rollbacks: map[string][]RollbackMetadata{"2": {rollback}}},
		&SavepointMetadata{By: "me", AtMillis: 1796004725102, Comments: "c", Version: 1, Partitions: map[string]SavepointPartition{"p0": {Partition: "p0", Files: []string{"a.parquet", ".a.log.1"}}}},
		&IndexPlan{Version: 1, Partitions: []IndexPartition{{Version: 1, Partition: "files", UpTo: "1", Extra: map[string]string{"a": "b"}}}},
		&IndexCommit{Version: 1, Operation: OpIndex, Partitions: []IndexPartition{{Version: 1, Partition: "files", UpTo: "1", Extra: map[string]string{}}}},
		&MergeArchivePlan{Candidates: []string{"a", "b"}, Merged: "c"},
	}
}

func encodeAny(layout int, v any) ([]byte, error) {
	switch v := v.(type) {
	case *CommitMetadata:
		return Encode(layout, v)
	case *RequestedReplace:
		return Encode(layout, v)
	case *CompactionPlan:
		return Encode(layout, v)
	case *CleanPlan:
		return Encode(layout, v)
	case *CleanMetadata:
		return Encode(layout, v)
	case *RollbackPlan:
		return Encode(layout, v)
	case *RollbackMetadata:
		return Encode(layout, v)
	case *RestorePlan:
		return Encode(layout, v)
	case *RestoreMetadata:
		return Encode(layout, v)
	case *SavepointMetadata:
		return Encode(layout, v)
	case *IndexPlan:
		return Encode(layout, v)
	case *IndexCommit:
		return Encode(layout, v)
	}
	return Encode(layout, v.(*MergeArchivePlan))
}

// decodeAs decodes into the type of like.
func decodeAs(like any, body []byte) (any, error) {
	switch like.(type) {
	case *CommitMetadata:
		return Decode[CommitMetadata]("x", body)
	case *RequestedReplace:
		return Decode[RequestedReplace]("x", body)
	case *CompactionPlan:
		return Decode[CompactionPlan]("x", body)
	case *CleanPlan:
		return Decode[CleanPlan]("x", body)
	case *CleanMetadata:
		return Decode[CleanMetadata]("x", body)
	case *RollbackPlan:
		return Decode[RollbackPlan]("x", body)
	case *RollbackMetadata:
		return Decode[RollbackMetadata]("x", body)
	case *RestorePlan:
		return Decode[RestorePlan]("x", body)
	case *RestoreMetadata:
		return Decode[RestoreMetadata]("x", body)
	case *SavepointMetadata:
		return Decode[SavepointMetadata]("x", body)
	case *IndexPlan:
		return Decode[IndexPlan]("x", body)
	case *IndexCommit:
		return Decode[IndexCommit]("x", body)
	}
	return Decode[MergeArchivePlan]("x", body)
}

func TestRoundTripAvro(t *testing.T) {
	for _, v := range examples() {
		body, err := encodeAny(2, v)
		if err != nil {
			t.Errorf("encode %T: %v", v, err)
			continue
		}
		got, err := decodeAs(v, body)
		if err != nil {
			t.Errorf("decode %T: %v", v, err)
		} else if !reflect.DeepEqual(got, v) {
			t.Errorf("%T after a round trip\n%+v, want\n%+v", v, got, v)
		}
	}
}

// TestRoundTripJSON checks layout 1, whose stats have fewer fields.
func TestRoundTripJSON(t *testing.T) {
	for _, v := range examples()[:2] {
		body, err := encodeAny(1, v)
		if err != nil {
			t.Fatal(err)
		}
		if body[0] != '{' || !json.Valid(body) {
			t.Fatalf("layout 1 commit is no JSON: %s", body)
		}
		got, err := Decode[CommitMetadata]("x", body)
		if err != nil {
			t.Fatal(err)
		}
		want := v.(*CommitMetadata)
		for p, list := range want.Stats {
			for i := range list {
				list[i].PrevBaseFile, list[i].TotalLogFiles, list[i].TotalLogReadTimeMs, list[i].NumUpdates = "", 0, 0, 0
			}
			want.Stats[p] = list
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("commit after a JSON round trip\n%+v, want\n%+v", got, want)
		}
	}
}

// TestTruncated cuts every body at every byte behind its schema, and one everywhere: an error each time, never a panic and never a shorter
// answer.
func TestTruncated(t *testing.T) {
	for k, v := range examples() {
		body, err := encodeAny(2, v)
		if err != nil {
			t.Fatal(err)
		}
		from := 1
		if k > 0 {
			from = len(body) - len(onlyRecord(t, body)) - 40 // sync marker, counts, and the one behind
		}
		for n := from; n < len(body); n++ {
			if _, err := decodeAs(v, body[:n]); err == nil {
				t.Fatalf("%T cut to %d of %d bytes decodes", v, n, len(body))
			} else if !corrupt.Is(err) {
				t.Fatalf("%T cut to %d bytes: %v, want an error that matches corrupt.Is", v, n, err)
			}
		}
	}
	body, err := Encode(1, examples()[0].(*CommitMetadata))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(body); n++ {
		if _, err := Decode[CommitMetadata]("x", body[:n]); !corrupt.Is(err) {
			t.Fatalf("JSON commit cut to %d of %d bytes: %v, want a corrupt error", n, len(body), err)
		}
	}
}

// TestJavaBytes checks the record bytes that Java writes (timeline.md §12.12).
func TestJavaBytes(t *testing.T) {
	const at, r = "20261130021134021", "20261130021130000"
	text := func(s string) string {
		return hex.EncodeToString([]byte{byte(len(s) * 2)}) + hex.EncodeToString([]byte(s))
	}
	tests := []struct {
		name string
		v    any
		want string
	}{
		{"restore plan", &RestorePlan{Instants: []InstantInfo{{at, "commit"}, {r, "commit"}}, Version: 2, Savepoint: r},
			"04" + text(at) + text("commit") + text(r) + text("commit") + "00" + "0004" + "02" + text(r)},
		{"rollback plan without files", &RollbackPlan{Target: InstantInfo{r, "commit"}, Version: 1},
			"02" + text(r) + text("commit") + "0200" + "0002"},
		{"savepoint", &SavepointMetadata{AtMillis: 1796004725102, Version: 1, Partitions: map[string]SavepointPartition{"p0": {"p0", []string{"f"}}}},
			"00" + "dc85caa3c568" + "00" + "02" + text("p0") + text("p0") + "02" + text("f") + "00" + "00" + "0002"},
		{"overwrite request", &RequestedReplace{}, "00000002"},
	}
	for _, tc := range tests {
		body, err := encodeAny(2, tc.v)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if have := hex.EncodeToString(onlyRecord(t, body)); have != tc.want {
			t.Errorf("%s = %s, want %s", tc.name, have, tc.want)
		}
	}
}

func TestDecodeTolerant(t *testing.T) {
	m, err := Decode[CommitMetadata]("x", []byte(` { "partitionToWriteStats" : null, "new" : [ 1, { "a" : 2.5 } ], "operationType" : "UPSERT",
		"extraMetadata" : {"schema" : "\u00fc\ud83d\ude00"} }`))
	if err != nil {
		t.Fatal(err)
	}
	if m.Operation != OpUpsert || m.Schema() != "ü😀" || m.Stats != nil || m.Replace {
		t.Errorf("Decode = %+v", m)
	}
	m, err = Decode[CommitMetadata]("x", nil)
	if err != nil || !reflect.DeepEqual(m, &CommitMetadata{}) {
		t.Errorf("Decode of no bytes = %+v, %v, want the zero body", m, err)
	}
}

func TestDecodeDamaged(t *testing.T) {
	tests := map[string]string{
		"text":              "hello",
		"blank":             "  \n",
		"list":              `[1]`,
		"stats of a string": `{"partitionToWriteStats":"x"}`,
		"stat of a number":  `{"partitionToWriteStats":{"":[5]}}`,
		"number too big":    `{"partitionToWriteStats":{"":[{"logVersion":99999999999}]}}`,
		"fraction":          `{"partitionToWriteStats":{"":[{"numWrites":1.5}]}}`,
		"not UTF-8":         "{\"operationType\":\"\xff\"}",
		"huge block":        "Obj\x01\x02\x16avro.schema\x0c\"long\"\x00",
	}
	for name, body := range tests {
		if _, err := Decode[CommitMetadata]("20240101000000000.commit", []byte(body)); !corrupt.Is(err) {
			t.Errorf("%s: %v, want a corrupt error", name, err)
		} else if !strings.Contains(err.Error(), "20240101000000000.commit") {
			t.Errorf("%s: the error does not name the file: %v", name, err)
		}
	}
}

func TestToJSON(t *testing.T) {
	body, err := Encode(2, &RollbackPlan{Target: InstantInfo{"1", "commit"}, Version: 1})
	if err != nil {
		t.Fatal(err)
	}
	got, err := ToJSON(2, timeline.Instant{Time: "5", Action: timeline.Rollback}, body)
	want := "{\n  \"instantToRollback\" : {\n    \"commitTime\" : \"1\",\n    \"action\" : \"commit\"\n  },\n  \"RollbackRequests\" : [ ],\n  \"version\" : 1\n}\n"
	if err != nil || string(got) != want {
		t.Errorf("ToJSON = %s, %v, want %s", got, err, want)
	}
	if got, err := ToJSON(1, timeline.Instant{Time: "5", Action: timeline.Commit}, nil); err != nil || !json.Valid(got) {
		t.Errorf("ToJSON of an empty body = %q, %v, want an empty object", got, err)
	}
}

func TestChanges(t *testing.T) {
	got := examples()[0].(*CommitMetadata).Changes()
	want := []FileChange{
		{Partition: "region=us", FileID: "f-0", Path: "region=us/.f-0_1.log.1_0-1-2", Size: 8},
		{Partition: "region=us", FileID: "f-0", Path: "c", Size: 10},
		{Partition: "region=us", FileID: "g-0", Path: "region=us/g.parquet"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Changes = %+v, want %+v", got, want)
	}
	planned := &CommitMetadata{Stats: map[string][]WriteStat{"": {{FileID: "f"}}}}
	if got := planned.Changes(); got != nil {
		t.Errorf("Changes of a plan = %+v, want none", got)
	}
}

// TestJavaOrder has keys whose order in a HashMap of 16 and of 32 buckets is known from files that Java wrote.
func TestJavaOrder(t *testing.T) {
	got := javaOrder(map[string]int{"10": 0, "20": 0, "30": 0})
	if want := []string{"30", "20", "10"}; !reflect.DeepEqual(got, want) {
		t.Errorf("javaOrder = %v, want %v", got, want)
	}
	got = javaOrder(map[string]int{"TOTAL_IO_MB": 0, "TOTAL_IO_READ_MB": 0, "TOTAL_IO_WRITE_MB": 0, "TOTAL_LOG_FILES": 0, "TOTAL_LOG_FILES_SIZE": 0})
	if want := []string{"TOTAL_LOG_FILES", "TOTAL_IO_MB", "TOTAL_IO_READ_MB", "TOTAL_LOG_FILES_SIZE", "TOTAL_IO_WRITE_MB"}; !reflect.DeepEqual(got, want) {
		t.Errorf("javaOrder = %v, want %v", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range examples() {
		for _, layout := range []int{1, 2} {
			body, err := encodeAny(layout, v)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(body)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, like := range examples() {
			v, err := decodeAs(like, body)
			if err != nil {
				if !corrupt.Is(err) {
					t.Errorf("decode %T: %v, want a corrupt error", like, err)
				}
				continue
			}
			again, err := encodeAny(2, v)
			if err != nil {
				t.Fatalf("encode what was decoded as %T: %v", like, err)
			}
			if _, err := decodeAs(like, again); err != nil {
				t.Fatalf("decode %T a second time: %v", like, err)
			}
		}
		if got, err := ToJSON(2, timeline.Instant{Time: "1", Action: timeline.Commit, State: timeline.Completed, Completion: "2"}, body); err == nil && !json.Valid(got) {
			t.Errorf("ToJSON gave invalid JSON %q", got)
		}
	})
}
