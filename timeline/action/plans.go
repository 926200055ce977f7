package action

// CompactionPlan is the body of a requested compaction or log compaction (timeline.md §4.5).
type CompactionPlan struct {
	Operations        []CompactionOperation `avro:"operations,keep"`
	Extra             map[string]string     `avro:"extraMetadata"`
	Version           int32                 `avro:"version"`  // 2: file names only; 1: absolute paths
	Strategy          *Strategy             `avro:"strategy"` // log compaction names its class
	PreserveMetadata  bool                  `avro:"preserveHoodieMetadata"`
	MissingPartitions []string              `avro:"missingSchedulePartitions,keep"` // not scheduled
}

// CompactionOperation is one file slice to compact.
type CompactionOperation struct {
	BaseInstant   string             `avro:"baseInstantTime"`     // base instant of the slice
	DeltaFiles    []string           `avro:"deltaFilePaths,keep"` // log files in force, in log order: exactly these are merged
	DataFile      string             `avro:"dataFilePath,null"`   // "" for a slice of logs only
	FileID        string             `avro:"fileId"`
	Partition     string             `avro:"partitionPath"`
	Metrics       map[string]float64 `avro:"metrics"`
	BootstrapFile string             `avro:"bootstrapFilePath,null"`
}

// Strategy names the Java class that executes a plan, with parameters.
type Strategy struct {
	Class   string            // compactorClassName or strategyClassName, by plan
	Params  map[string]string `avro:"strategyParams,keep"`
	Version int32             `avro:"version"`
}

// RequestedReplace is the body of a requested replacecommit or clustering (timeline.md §4.4). An overwrite's is all empty.
type RequestedReplace struct {
	Operation  WriteOperation    `avro:"operationType,null"` // CLUSTER for clustering; "" in most overwrites
	Clustering *ClusteringPlan   `avro:"clusteringPlan"`
	Extra      map[string]string `avro:"extraMetadata"`
	Version    int32             `avro:"version,null"` // 0: null
}

// ClusteringPlan says which slices become which groups of new files.
type ClusteringPlan struct {
	Groups            []ClusteringGroup `avro:"inputGroups,keep"`
	Strategy          *Strategy         `avro:"strategy"` // the class that executes it
	Extra             map[string]string `avro:"extraMetadata,keep"`
	Version           int32             `avro:"version"`
	PreserveMetadata  bool              `avro:"preserveHoodieMetadata"`
	MissingPartitions []string          `avro:"missingSchedulePartitions,keep"`
}

// ClusteringGroup is read together and written together.
type ClusteringGroup struct {
	Slices           []SliceInfo        `avro:"slices,keep"`
	Metrics          map[string]float64 `avro:"metrics,keep"`
	OutputFileGroups int32              `avro:"numOutputFileGroups"`
	Extra            map[string]string  `avro:"extraMetadata"`
	Version          int32              `avro:"version"`
}

// SliceInfo is one input slice. Paths are absolute, with their scheme.
type SliceInfo struct {
	DataFile      string   `avro:"dataFilePath"` // "" for a slice of logs only
	DeltaFiles    []string `avro:"deltaFilePaths,keep"`
	FileID        string   `avro:"fileId"`
	Partition     string   `avro:"partitionPath"`
	BootstrapFile string   `avro:"bootstrapFilePath"`
	Version       int32    `avro:"version"`
}

// CleanPlan is the body of a requested clean (timeline.md §4.6).
type CleanPlan struct {
	EarliestToRetain       *ActionInstant         `avro:"earliestInstantToRetain"` // nil: the file-versions policy
	LastCompletedTimestamp string                 `avro:"lastCompletedCommitTimestamp"`
	Policy                 string                 `avro:"policy"`
	OldFiles               map[string][]string    `avro:"filesToBeDeletedPerPartition,keep"` // version 1 plans: file names by partition
	Version                int32                  `avro:"version"`
	Files                  map[string][]CleanFile `avro:"filePathsToBeDeletedPerPartition,keep"` // by partition: base file first, then its logs, newest first
	PartitionsToDelete     []string               `avro:"partitionsToBeDeleted,keep"`
	Extra                  map[string]string      `avro:"extraMetadata,keep"`
}

// ActionInstant names an instant with action and state.
type ActionInstant struct {
	Timestamp string `avro:"timestamp"`
	Action    string `avro:"action"`
	State     string `avro:"state"`
}

// CleanFile is a file to delete; its path is absolute, with scheme.
type CleanFile struct {
	Path      string `avro:"filePath"`
	Bootstrap bool   `avro:"isBootstrapBaseFile"`
}

// CleanMetadata is the body of a completed clean (timeline.md §4.7).
type CleanMetadata struct {
	StartTime              string                    `avro:"startCleanTime"`
	TimeTakenMillis        int64                     `avro:"timeTakenInMillis"`
	TotalFilesDeleted      int32                     `avro:"totalFilesDeleted"`
	EarliestToRetain       string                    `avro:"earliestCommitToRetain"` // "": the file-versions policy
	LastCompletedTimestamp string                    `avro:"lastCompletedCommitTimestamp"`
	Partitions             map[string]CleanPartition `avro:"partitionMetadata,keep"`
	Version                int32                     `avro:"version"`
	BootstrapPartitions    map[string]CleanPartition `avro:"bootstrapPartitionMetadata,keep"`
	Extra                  map[string]string         `avro:"extraMetadata,keep"`
}

// CleanPartition is what was deleted in one partition; version 2: file names.
type CleanPartition struct {
	Partition        string   `avro:"partitionPath"`
	Policy           string   `avro:"policy"`
	DeletePatterns   []string `avro:"deletePathPatterns,keep"`
	Deleted          []string `avro:"successDeleteFiles,keep"`
	Failed           []string `avro:"failedDeleteFiles,keep"`
	PartitionDeleted bool     `avro:"isPartitionDeleted"`
}

// InstantInfo names an instant by time and action.
type InstantInfo struct {
	Time   string `avro:"commitTime"`
	Action string `avro:"action"`
}

// RollbackPlan is the body of a requested rollback (timeline.md §4.8).
type RollbackPlan struct {
	Target   InstantInfo       `avro:"instantToRollback"`
	Requests []RollbackRequest `avro:"RollbackRequests,keep"`
	Version  int32             `avro:"version"`
}

// RollbackRequest is one file to delete, or the log files of one group that need a rollback block (version 6).
type RollbackRequest struct {
	Partition         string           `avro:"partitionPath"`
	FileID            string           `avro:"fileId"`
	LatestBaseInstant string           `avro:"latestBaseInstant"`
	FilesToDelete     []string         `avro:"filesToBeDeleted,keep"`     // absolute, without scheme
	LogBlocks         map[string]int64 `avro:"logBlocksToBeDeleted,keep"` // affected log file → its size
}

// RollbackMetadata is the body of a completed rollback.
type RollbackMetadata struct {
	StartTime         string                       `avro:"startRollbackTime"`
	TimeTakenMillis   int64                        `avro:"timeTakenInMillis"`
	TotalFilesDeleted int32                        `avro:"totalFilesDeleted"`
	Commits           []string                     `avro:"commitsRollback,keep"` // the instants rolled back
	Partitions        map[string]RollbackPartition `avro:"partitionMetadata,keep"`
	Version           int32                        `avro:"version"`
	Instants          []InstantInfo                `avro:"instantsRollback,keep"`
}

// RollbackPartition is what was undone in one partition.
type RollbackPartition struct {
	Partition      string           `avro:"partitionPath"`
	Deleted        []string         `avro:"successDeleteFiles,keep"`
	Failed         []string         `avro:"failedDeleteFiles,keep"`
	RollbackLogs   map[string]int64 `avro:"rollbackLogFiles,keep"`         // version 6: new log files with a rollback block → size
	FailedLogFiles map[string]int64 `avro:"logFilesFromFailedCommit,keep"` // version 6: log files of the failed commit → size
}

// RestorePlan is the body of a requested restore (timeline.md §4.9).
type RestorePlan struct {
	Instants  []InstantInfo `avro:"instantsToRollback,keep"` // to roll back, newest first
	Version   int32         `avro:"version"`
	Savepoint string        `avro:"savepointToRestoreTimestamp,null"` // the instant restored to
}

// RestoreMetadata is the body of a completed restore.
type RestoreMetadata struct {
	StartTime       string                        `avro:"startRestoreTime"`
	TimeTakenMillis int64                         `avro:"timeTakenInMillis"`
	Instants        []string                      `avro:"instantsToRollback,keep"`
	Rollbacks       map[string][]RollbackMetadata `avro:"hoodieRestoreMetadata,keep"` // by the instant rolled back
	Version         int32                         `avro:"version"`
	InstantInfo     []InstantInfo                 `avro:"restoreInstantInfo,keep"`
}

// SavepointMetadata is the body of a completed savepoint (timeline.md §4.10).
type SavepointMetadata struct {
	By         string                        `avro:"savepointedBy"`
	AtMillis   int64                         `avro:"savepointedAt"`
	Comments   string                        `avro:"comments"`
	Partitions map[string]SavepointPartition `avro:"partitionMetadata,keep"`
	Version    int32                         `avro:"version"`
}

// SavepointPartition lists the files of the savepointed state: names, base and log.
type SavepointPartition struct {
	Partition string   `avro:"partitionPath"`
	Files     []string `avro:"savepointDataFile,keep"`
}

// IndexPlan is the body of a requested indexing (timeline.md §4.11).
type IndexPlan struct {
	Version    int32            `avro:"version"`
	Partitions []IndexPartition `avro:"indexPartitionInfos,keep"`
}

// IndexCommit is the body of a completed indexing.
type IndexCommit struct {
	Version    int32            `avro:"version"`
	Operation  WriteOperation   `avro:"operationType,null"`
	Partitions []IndexPartition `avro:"indexPartitionInfos,keep"`
}

// IndexPartition says up to which instant a partition of the metadata table is complete.
type IndexPartition struct {
	Version   int32             `avro:"version"`
	Partition string            `avro:"metadataPartitionPath"`
	UpTo      string            `avro:"indexUptoInstant"`
	Extra     map[string]string `avro:"extraMetadata,keep"`
}

// MergeArchivePlan names archive log files of layout 1 that are merged into one (timeline.md §4.12).
type MergeArchivePlan struct {
	Candidates []string `avro:"candidate,keep"`
	Merged     string   `avro:"mergedArchiveFileName"`
}
