// Package timeline is the ledger of a table: what happened, in which order, in which state.
//
// It knows instants, their file names in both layouts, and who may write them. It must never know file groups or rows.
package timeline

// InstantTime is a point on the timeline: yyyyMMddHHmmssSSS (17 digits), in old tables yyyyMMddHHmmss (14 digits). Times compare
// by Compare, not as strings, where the lengths differ (timeline.md §3.1).
type InstantTime string

// Action is what an instant does.
type Action string

// The actions, as completed instants are called.
const (
	Commit        Action = "commit"
	DeltaCommit   Action = "deltacommit"
	ReplaceCommit Action = "replacecommit"
	Compaction    Action = "compaction"    // pending only; completes as commit
	LogCompaction Action = "logcompaction" // pending only; completes as deltacommit
	Clustering    Action = "clustering"    // pending only, layout 2; completes as replacecommit
	Clean         Action = "clean"
	Rollback      Action = "rollback"
	Savepoint     Action = "savepoint"
	Restore       Action = "restore"
	Indexing      Action = "indexing"
	SchemaCommit  Action = "schemacommit"
)

// State is how far an instant has come.
type State uint8

// The states.
const (
	Requested State = iota
	Inflight
	Completed
)

// Instant is one entry of the timeline in its furthest state.
type Instant struct {
	Time       InstantTime // when it was requested; its name
	Completion InstantTime // when it completed; layout 1: from the file's modification time; zero while pending
	Action     Action
	State      State
	File       string // file name of this state, without directory
}
