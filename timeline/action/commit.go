// Package action is what an instant's file says: the bodies of commits, plans and results of every action, in JSON and in Avro
// containers.
//
// It knows the fields of each body, their Java spelling and their encodings. It must never know where files lie or what is done with a
// plan.
package action

// WriteOperation is the operation that made a commit, as Java's enum spells it (timeline.md §4.3).
type WriteOperation string

// The operations.
const (
	OpInsert               WriteOperation = "INSERT"
	OpInsertPrepped        WriteOperation = "INSERT_PREPPED"
	OpUpsert               WriteOperation = "UPSERT"
	OpUpsertPrepped        WriteOperation = "UPSERT_PREPPED"
	OpBulkInsert           WriteOperation = "BULK_INSERT"
	OpBulkInsertPrepped    WriteOperation = "BULK_INSERT_PREPPED"
	OpDelete               WriteOperation = "DELETE"
	OpDeletePrepped        WriteOperation = "DELETE_PREPPED"
	OpBootstrap            WriteOperation = "BOOTSTRAP"
	OpInsertOverwrite      WriteOperation = "INSERT_OVERWRITE"
	OpInsertOverwriteTable WriteOperation = "INSERT_OVERWRITE_TABLE"
	OpDeletePartition      WriteOperation = "DELETE_PARTITION"
	OpCluster              WriteOperation = "CLUSTER"
	OpCompact              WriteOperation = "COMPACT"
	OpLogCompact           WriteOperation = "LOG_COMPACT"
	OpIndex                WriteOperation = "INDEX"
	OpAlterSchema          WriteOperation = "ALTER_SCHEMA"
	OpBucketRescale        WriteOperation = "BUCKET_RESCALE"
	OpUnknown              WriteOperation = "UNKNOWN"
)

// ChangesSchema reports whether a commit of this operation may have changed the table's schema: its schema is then the newest.
func (o WriteOperation) ChangesSchema() bool {
	switch o {
	case OpCompact, OpLogCompact, OpCluster, OpIndex, OpDeletePartition:
		return false
	}
	return true
}

// KeepsRows reports whether a commit of this operation shows the same rows as the one before it (timeline.md §5.13).
func (o WriteOperation) KeepsRows() bool {
	switch o {
	case OpCompact, OpLogCompact, OpCluster, OpAlterSchema, OpIndex:
		return true
	}
	return false
}

// The keys of CommitMetadata.Extra that the engine knows.
const (
	ExtraSchema       = "schema"        // Avro JSON of the rows; may include the meta columns after an ALTER TABLE
	ExtraLatestSchema = "latest_schema" // schema-on-read evolution's own form
)

// NullCommit is the previous commit of a file group that is new.
const NullCommit = "null"

// CommitMetadata is the body of a commit, deltacommit or replacecommit, inflight (the planned file groups) or completed.
type CommitMetadata struct {
	Operation       WriteOperation         `avro:"operationType,null"`
	Stats           map[string][]WriteStat `avro:"partitionToWriteStats,keep"` // by partition path, "" for a table without partitions
	Replace         bool                   // a replacecommit's body, which has ReplacedFileIDs even where they are none
	ReplacedFileIDs map[string][]string    `avro:"partitionToReplaceFileIds,keep"` // by partition path: file groups that are gone once this completes
	Compacted       bool                   `avro:"compacted"`
	Extra           map[string]string      `avro:"extraMetadata,keep"` // keys unknown here are kept
}

// Schema is the schema text of the commit, "" where it has none.
func (m *CommitMetadata) Schema() string { return m.Extra[ExtraSchema] }

// WriteStat is what a write did to one file (timeline.md §4.3). A stat without a Path is a plan: the workload profile of an inflight
// commit.
type WriteStat struct {
	FileID        string `avro:"fileId"`     // of the file group; "" in the placeholder of a workload profile
	Path          string `avro:"path,null"`  // relative to the base path
	PrevCommit    string `avro:"prevCommit"` // NullCommit for a new file group
	PartitionPath string `avro:"partitionPath"`

	NumWrites        int64 `avro:"numWrites"` // records in the file, or in the log blocks
	NumDeletes       int64 `avro:"numDeletes"`
	NumUpdateWrites  int64 `avro:"numUpdateWrites"`
	NumInserts       int64 `avro:"numInserts"`
	NumUpdates       int64 `avro:"numUpdates"`
	TotalWriteBytes  int64 `avro:"totalWriteBytes"`
	TotalWriteErrors int64 `avro:"totalWriteErrors"`
	FileSizeInBytes  int64 `avro:"fileSizeInBytes"` // of the whole file

	Log          *LogStat         // log files only
	CDC          map[string]int64 `avro:"cdcStats"`          // path of a change log file → its size; nil without CDC
	PrevBaseFile string           `avro:"prevBaseFile,null"` // version 8 on: the base file that this one replaces, "" for none

	TotalLogRecords              int64 `avro:"totalLogRecords"` // these: compaction
	TotalLogFiles                int64 `avro:"totalLogFiles,null"`
	TotalLogBlocks               int64 `avro:"totalLogBlocks"`
	TotalCorruptLogBlock         int64 `avro:"totalCorruptLogBlock"`
	TotalRollbackBlocks          int64 `avro:"totalRollbackBlocks"`
	TotalUpdatedRecordsCompacted int64 `avro:"totalUpdatedRecordsCompacted"`
	TotalLogFilesCompacted       int64 `avro:"totalLogFilesCompacted"`
	TotalLogReadTimeMs           int64 `avro:"totalLogReadTimeMs"`
	TotalLogSizeCompacted        int64 `avro:"totalLogSizeCompacted"`

	MinEventTime *int64        `avro:"minEventTime"` // nil: not tracked
	MaxEventTime *int64        `avro:"maxEventTime"`
	Runtime      *RuntimeStats `avro:"runtimeStats"`
	TempPath     string        `avro:"tempPath,null"`
}

// LogStat is what a write stat says of a log file.
type LogStat struct {
	Version  int32    `avro:"logVersion"` // the number after ".log."
	Offset   int64    `avro:"logOffset"`  // where this commit's blocks begin
	BaseFile string   `avro:"baseFile"`   // name of the slice's base file; "" in version 8 on, but for tables with CDC
	Files    []string `avro:"logFiles,keep"`
}

// RuntimeStats are milliseconds.
type RuntimeStats struct {
	TotalScanTime   int64 `avro:"totalScanTime"`
	TotalCreateTime int64 `avro:"totalCreateTime"`
	TotalUpsertTime int64 `avro:"totalUpsertTime"`
}

// FileChange is one file that an action added or removed, as the conflict check and the metadata table see it.
type FileChange struct {
	Partition string
	FileID    string // "" where the action does not say
	Path      string // relative to the base path
	Size      int64  // bytes; of an added file
	Deleted   bool
}

// Result is what a completed action did.
type Result interface {
	Changes() []FileChange
}

var _ Result = (*CommitMetadata)(nil)

// Changes returns the files written, change log files included.
func (m *CommitMetadata) Changes() []FileChange {
	var out []FileChange
	for _, p := range javaOrder(m.Stats) {
		for _, s := range m.Stats[p] {
			if s.Path == "" {
				continue
			}
			out = append(out, FileChange{Partition: p, FileID: s.FileID, Path: s.Path, Size: s.FileSizeInBytes})
			for _, path := range javaOrder(s.CDC) {
				out = append(out, FileChange{Partition: p, FileID: s.FileID, Path: path, Size: s.CDC[path]})
			}
		}
	}
	return out
}
