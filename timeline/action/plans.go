package action

// CompactionPlan is the body of a requested compaction or log compaction (timeline.md §4.5).
type CompactionPlan struct {
	Operations        []CompactionOperation
	Extra             map[string]string
	Version           int32     // 2: file names only; 1: absolute paths
	Strategy          *Strategy // log compaction names its class
	PreserveMetadata  bool
	MissingPartitions []string // not scheduled
}

// CompactionOperation is one file slice to compact.
type CompactionOperation struct {
	BaseInstant   string   // base instant of the slice
	DeltaFiles    []string // log files in force, in log order: exactly these are merged
	DataFile      string   // "" for a slice of logs only
	FileID        string
	Partition     string
	Metrics       map[string]float64
	BootstrapFile string
}

// Strategy names a Java class with parameters.
type Strategy struct {
	Class   string
	Params  map[string]string
	Version int32
}

// RequestedReplace is the body of a requested replacecommit or clustering (timeline.md §4.4). An overwrite's is all empty.
type RequestedReplace struct {
	Operation  WriteOperation // CLUSTER for clustering; "" in most overwrites
	Clustering *ClusteringPlan
	Extra      map[string]string
	Version    int32 // 0: null
}

// ClusteringPlan says which slices become which groups of new files.
type ClusteringPlan struct {
	Groups            []ClusteringGroup
	Strategy          *Strategy // the class that executes it
	Extra             map[string]string
	Version           int32
	PreserveMetadata  bool
	MissingPartitions []string
}

// ClusteringGroup is read together and written together.
type ClusteringGroup struct {
	Slices           []SliceInfo
	Metrics          map[string]float64
	OutputFileGroups int32
	Extra            map[string]string
	Version          int32
}

// SliceInfo is one input slice. Paths are absolute, with their scheme.
type SliceInfo struct {
	DataFile      string // "" for a slice of logs only
	DeltaFiles    []string
	FileID        string
	Partition     string
	BootstrapFile string
	Version       int32
}

// CleanPlan is the body of a requested clean (timeline.md §4.6).
type CleanPlan struct {
	EarliestToRetain       *ActionInstant // nil: the file-versions policy
	LastCompletedTimestamp string
	Policy                 string
	OldFiles               map[string][]string // version 1 plans: file names by partition
	Version                int32
	Files                  map[string][]CleanFile // by partition: base file first, then its logs, newest first
	PartitionsToDelete     []string
	Extra                  map[string]string
}

// ActionInstant names an instant with action and state.
type ActionInstant struct {
	Timestamp, Action, State string
}

// CleanFile is a file to delete; its path is absolute, with scheme.
type CleanFile struct {
	Path      string
	Bootstrap bool
}

// CleanMetadata is the body of a completed clean (timeline.md §4.7).
type CleanMetadata struct {
	StartTime              string
	TimeTakenMillis        int64
	TotalFilesDeleted      int32
	EarliestToRetain       string // "": the file-versions policy
	LastCompletedTimestamp string
	Partitions             map[string]CleanPartition
	Version                int32
	BootstrapPartitions    map[string]CleanPartition
	Extra                  map[string]string
}

// CleanPartition is what was deleted in one partition; version 2: file names.
type CleanPartition struct {
	Partition        string
	Policy           string
	DeletePatterns   []string
	Deleted          []string
	Failed           []string
	PartitionDeleted bool
}

// InstantInfo names an instant by time and action.
type InstantInfo struct {
	Time, Action string
}

// RollbackPlan is the body of a requested rollback (timeline.md §4.8).
type RollbackPlan struct {
	Target   InstantInfo
	Requests []RollbackRequest
	Version  int32
}

// RollbackRequest is one file to delete, or the log files of one group that need a rollback block (version 6).
type RollbackRequest struct {
	Partition         string
	FileID            string
	LatestBaseInstant string
	FilesToDelete     []string         // absolute, without scheme
	LogBlocks         map[string]int64 // affected log file → its size
}

// RollbackMetadata is the body of a completed rollback.
type RollbackMetadata struct {
	StartTime         string
	TimeTakenMillis   int64
	TotalFilesDeleted int32
	Commits           []string // the instants rolled back
	Partitions        map[string]RollbackPartition
	Version           int32
	Instants          []InstantInfo
}

// RollbackPartition is what was undone in one partition.
type RollbackPartition struct {
	Partition      string
	Deleted        []string
	Failed         []string
	RollbackLogs   map[string]int64 // version 6: new log files with a rollback block → size
	FailedLogFiles map[string]int64 // version 6: log files of the failed commit → size
}

// RestorePlan is the body of a requested restore (timeline.md §4.9).
type RestorePlan struct {
	Instants  []InstantInfo // to roll back, newest first
	Version   int32
	Savepoint string // the instant restored to
}

// RestoreMetadata is the body of a completed restore.
type RestoreMetadata struct {
	StartTime       string
	TimeTakenMillis int64
	Instants        []string
	Rollbacks       map[string][]RollbackMetadata // by the instant rolled back
	Version         int32
	InstantInfo     []InstantInfo
}

// SavepointMetadata is the body of a completed savepoint (timeline.md §4.10).
type SavepointMetadata struct {
	By         string
	AtMillis   int64
	Comments   string
	Partitions map[string]SavepointPartition
	Version    int32
}

// SavepointPartition lists the files of the savepointed state: names, base and log.
type SavepointPartition struct {
	Partition string
	Files     []string
}

// IndexPlan is the body of a requested indexing (timeline.md §4.11).
type IndexPlan struct {
	Version    int32
	Partitions []IndexPartition
}

// IndexCommit is the body of a completed indexing.
type IndexCommit struct {
	Version    int32
	Operation  WriteOperation
	Partitions []IndexPartition
}

// IndexPartition says up to which instant a partition of the metadata table is complete.
type IndexPartition struct {
	Version   int32
	Partition string
	UpTo      string
	Extra     map[string]string
}

// MergeArchivePlan names archive log files of layout 1 that are merged into one (timeline.md §4.12).
type MergeArchivePlan struct {
	Candidates []string
	Merged     string
}
