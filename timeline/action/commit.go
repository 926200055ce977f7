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
	Operation       WriteOperation
	Stats           map[string][]WriteStat // by partition path, "" for a table without partitions
	Replace         bool                   // a replacecommit's body, which has ReplacedFileIDs even where they are none
	ReplacedFileIDs map[string][]string    // by partition path: file groups that are gone once this completes
	Compacted       bool
	Extra           map[string]string // keys unknown here are kept
}

// Schema is the schema text of the commit, "" where it has none.
func (m *CommitMetadata) Schema() string { return m.Extra[ExtraSchema] }

// WriteStat is what a write did to one file (timeline.md §4.3). A stat without a Path is a plan: the workload profile of an inflight
// commit.
type WriteStat struct {
	FileID        string // of the file group; "" in the placeholder of a workload profile
	Path          string // relative to the base path
	PrevCommit    string // NullCommit for a new file group
	PartitionPath string

	NumWrites        int64 // records in the file, or in the log blocks
	NumDeletes       int64
	NumUpdateWrites  int64
	NumInserts       int64
	NumUpdates       int64
	TotalWriteBytes  int64
	TotalWriteErrors int64
	FileSizeInBytes  int64 // of the whole file

	Log          *LogStat         // log files only
	CDC          map[string]int64 // path of a change log file → its size; nil without CDC
	PrevBaseFile string           // version 8 on: the base file that this one replaces, "" for none

	TotalLogRecords              int64 // these: compaction
	TotalLogFiles                int64
	TotalLogBlocks               int64
	TotalCorruptLogBlock         int64
	TotalRollbackBlocks          int64
	TotalUpdatedRecordsCompacted int64
	TotalLogFilesCompacted       int64
	TotalLogReadTimeMs           int64
	TotalLogSizeCompacted        int64

	MinEventTime *int64 // nil: not tracked
	MaxEventTime *int64
	Runtime      *RuntimeStats
	TempPath     string
}

// LogStat is what a write stat says of a log file.
type LogStat struct {
	Version  int32  // the number after ".log."
	Offset   int64  // where this commit's blocks begin
	BaseFile string // name of the slice's base file; "" in version 8 on, but for tables with CDC
	Files    []string
}

// RuntimeStats are milliseconds.
type RuntimeStats struct {
	TotalScanTime, TotalCreateTime, TotalUpsertTime int64
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
