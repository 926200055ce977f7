package timeline

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
	SchemaCommit  Action = "schemacommit" // only in .hoodie/.schema
)

// State is how far an instant has come.
type State uint8

// The states, in order.
const (
	Requested State = iota
	Inflight
	Completed
)

// String is the state as Java spells it in lower case.
func (s State) String() string {
	switch s {
	case Requested:
		return "requested"
	case Inflight:
		return "inflight"
	}
	return "completed"
}

// actionInfo is what the timeline knows of one action (timeline.md §3.2).
type actionInfo struct {
	completes  Action // the action of the completed instant
	write      bool   // part of the write timeline: it can change rows' files
	commit     bool   // completed ones are snapshots of the table
	noRequest  bool   // has no requested state
	onlyLayout int    // 0: both layouts
}

// actions is the list of all actions; the loader ignores every other word.
var actions = map[Action]actionInfo{
	Commit:        {completes: Commit, write: true, commit: true},
	DeltaCommit:   {completes: DeltaCommit, write: true, commit: true},
	ReplaceCommit: {completes: ReplaceCommit, write: true, commit: true},
	Compaction:    {completes: Commit, write: true},
	LogCompaction: {completes: DeltaCommit, write: true},
	Clustering:    {completes: ReplaceCommit, write: true, onlyLayout: 2},
	Clean:         {completes: Clean},
	Rollback:      {completes: Rollback},
	Savepoint:     {completes: Savepoint, noRequest: true},
	Restore:       {completes: Restore},
	Indexing:      {completes: Indexing},
	SchemaCommit:  {completes: SchemaCommit},
}

// Completes is the action that a finished instant of action a has: a compaction completes as a commit.
func (a Action) Completes() Action {
	if info, ok := actions[a]; ok {
		return info.completes
	}
	return a
}

// IsWrite reports whether a belongs to the write timeline.
func (a Action) IsWrite() bool { return actions[a].write }

// IsCommit reports whether completed instants of a are snapshots: commit, deltacommit, replacecommit.
func (a Action) IsCommit() bool { return actions[a].commit }

// Known reports whether a is an action of Hudi.
func (a Action) Known() bool { _, ok := actions[a]; return ok }
