package merge

import (
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// eventTime is EVENT_TIME_ORDERING: the larger ordering value wins, on a tie what arrived later; a delete without ordering value wins by arrival
// (data.md §4.6).
type eventTime struct {
	*common
	filler filler
}

func newEventTime(c *common, cfg *tableconfig.Config) (RecordMerger, error) {
	f, err := newFiller(c, cfg)
	return &eventTime{c, f}, err
}

// PreCombine implements RecordMerger.
func (m *eventTime) PreCombine(older, newer record.Record) (record.Record, error) {
	if byKey(&newer) {
		return m.deleteArrives(older, newer), nil
	}
	if byArrival(&older) || byArrival(&newer) || m.compare(newer.Ordering, older.Ordering) >= 0 {
		out, _ := m.filler.fill(newer, older)
		return out, nil
	}
	out, _ := m.filler.fill(older, newer)
	return out, nil
}

// Combine implements RecordMerger.
func (m *eventTime) Combine(base, update record.Record) (record.Record, Outcome, error) {
	switch {
	case byArrival(&update):
		return update, Remove, nil
	case m.compare(update.Ordering, base.Ordering) >= 0:
		if update.Op == record.OpDelete {
			return update, Remove, nil
		}
		out, _ := m.filler.fill(update, base)
		return out, Replace, nil
	}
	// The base row wins, but may have columns that are not set.
	if out, changed := m.filler.fill(base, update); changed {
		return out, Replace, nil
	}
	return base, KeepBase, nil
}

// Base implements RecordMerger.
func (m *eventTime) Base() BaseNeed {
	if m.filler.active() {
		return NeedRow
	}
	return NeedOrdering
}
