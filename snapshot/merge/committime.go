package merge

import (
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// commitTime is COMMIT_TIME_ORDERING: what arrived later wins (data.md §4.5).
type commitTime struct {
	*common
	filler filler
}

func newCommitTime(c *common, cfg *tableconfig.Config) (RecordMerger, error) {
	f, err := newFiller(c, cfg)
	return &commitTime{c, f}, err
}

// PreCombine implements RecordMerger.
func (m *commitTime) PreCombine(older, newer record.Record) (record.Record, error) {
	out, _ := m.filler.fill(newer, older)
	return out, nil
}

// Combine implements RecordMerger.
func (m *commitTime) Combine(base, update record.Record) (record.Record, Outcome, error) {
	if update.Op == record.OpDelete {
		return update, Remove, nil
	}
	out, _ := m.filler.fill(update, base)
	return out, Replace, nil
}

// Base implements RecordMerger.
func (m *commitTime) Base() BaseNeed {
	if m.filler.active() {
		return NeedRow
	}
	return NeedNothing
}
