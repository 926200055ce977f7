package conflict

import "github.com/hudifs/hudifs/timeline"

type rule uint8

const (
	byGroup    rule = iota // they conflict where they touch a common file group
	byBaseFile             // they conflict where mine replaced a base file of a group that the other touches; log files may be added
	compatible             // both may complete whatever they touch
)

// ruleOf is one row per pair of actions that is not judged by file groups alone. other is a completed write or a pending compaction.
func ruleOf(layout int, mine, other timeline.Instant) rule {
	compaction := other.Action == timeline.Compaction
	switch {
	case mine.Action == timeline.DeltaCommit && (compaction || other.Action == timeline.Commit):
		// In a merge-on-read table a completed commit is a compaction. Layout 2 attaches my logs to the slice that it makes, whichever came first;
		// layout 1 does so only where the compaction was planned before I began.
		if layout >= 2 || other.Time < mine.Time {
			return byBaseFile
		}
		return byGroup
	case mine.Action == timeline.Compaction && (compaction || other.Action == timeline.DeltaCommit):
		// A compaction merges what its plan names; later logs belong to the slice after it. Two plans never name one group.
		return compatible
	case mine.Action == timeline.LogCompaction && (compaction || other.Action == timeline.DeltaCommit):
		// It replaces the blocks that it names; what others add stands beside it. A compaction's plan never names its groups.
		return compatible
	case compaction && mine.Action == timeline.Commit:
		return compatible
	}
	return byGroup
}
