package merge

import (
	"github.com/hudifs/hudifs/internal/record"
)

// payload is the frame of the payload classes (data.md §4.9): each class says how two rows in logs merge and how a row merges into the base; entries
// of delete blocks follow one rule for all.
type payload struct {
	*common
	logs func(older, newer record.Record) record.Record            // two records with rows
	base func(base, update record.Record) (record.Record, Outcome) // update has a row
	need BaseNeed
}

// PreCombine implements RecordMerger.
func (p *payload) PreCombine(older, newer record.Record) (record.Record, error) {
	switch {
	case byKey(&newer):
		return p.deleteArrives(older, newer), nil
	case byKey(&older):
		if p.byPayload || older.Ordering.IsDefault() || p.compare(older.Ordering, newer.Ordering) <= 0 {
			return newer, nil
		}
		return older, nil
	}
	return p.logs(older, newer), nil
}

// Combine implements RecordMerger.
func (p *payload) Combine(base, update record.Record) (record.Record, Outcome, error) {
	if byKey(&update) {
		return update, Remove, nil
	}
	out, how := p.base(base, update)
	return out, how, nil
}

// Base implements RecordMerger.
func (p *payload) Base() BaseNeed { return p.need }

// largerWins takes the record with the larger ordering value, on a tie the newer one.
func (c *common) largerWins(older, newer record.Record) record.Record {
	if c.compare(older.Ordering, newer.Ordering) > 0 {
		return older
	}
	return newer
}

// overwrite puts the update in the place of the base row, or removes it.
func overwrite(_, update record.Record) (record.Record, Outcome) {
	if update.Op == record.OpDelete {
		return update, Remove
	}
	return update, Replace
}

// newOverwrite is OverwriteWithLatestAvroPayload.
func newOverwrite(c *common) RecordMerger {
	return &payload{common: c, logs: c.largerWins, base: overwrite, need: NeedNothing}
}

// newDefaultPayload is DefaultHoodieRecordPayload and EventTimeAvroPayload: the base row stays where its ordering value is larger, also against a row
// that is flagged as deleted.
func newDefaultPayload(c *common) RecordMerger {
	return &payload{common: c, logs: c.largerWins, need: NeedOrdering, base: func(base, update record.Record) (record.Record, Outcome) {
		if !base.Ordering.IsZero() && c.compare(base.Ordering, update.Ordering) > 0 {
			return base, KeepBase
		}
		return overwrite(base, update)
	}}
}

// newFirstValue is FirstValueAvroPayload: on a tie what was there first stays.
func newFirstValue(c *common) RecordMerger {
	return &payload{common: c, need: NeedOrdering,
		logs: func(older, newer record.Record) record.Record {
			if c.compare(older.Ordering, newer.Ordering) >= 0 {
				return older
			}
			return newer
		},
		base: func(base, update record.Record) (record.Record, Outcome) {
			if c.compare(base.Ordering, update.Ordering) >= 0 {
				return base, KeepBase
			}
			return overwrite(base, update)
		}}
}

// newNonDefaults is OverwriteNonDefaultsWithLatestAvroPayload: columns that hold their default keep the value of the base row.
func newNonDefaults(c *common) RecordMerger {
	return &payload{common: c, logs: c.largerWins, need: NeedRow, base: func(base, update record.Record) (record.Record, Outcome) {
		if update.Op == record.OpDelete {
			return update, Remove
		}
		update.Row, _ = c.fields.blend(update.Row, base.Row, func(i int, mine, _ record.Row) bool {
			x := &c.fields.fields[i]
			return x.null(mine) || x.def != nil && x.def(mine[0])
		})
		return update, Replace
	}}
}

// newPartialUpdate is PartialUpdateAvroPayload: null columns of the record with the larger ordering value are filled from the other. The meta
// columns are always the arriving record's, also where it lost.
func newPartialUpdate(c *common) RecordMerger {
	merge := func(older, newer record.Record) record.Record {
		if c.compare(older.Ordering, newer.Ordering) > 0 {
			older.Row, _ = c.fields.blend(older.Row, newer.Row, func(i int, mine, _ record.Row) bool {
				return c.fields.fields[i].meta || c.fields.fields[i].null(mine)
			})
			older.Key = newer.Key
			return older
		}
		newer.Row, _ = c.fields.blend(newer.Row, older.Row, func(i int, mine, _ record.Row) bool {
			return !c.fields.fields[i].meta && c.fields.fields[i].null(mine)
		})
		return newer
	}
	return &payload{common: c, need: NeedRow,
		logs: func(older, newer record.Record) record.Record {
			out := merge(older, newer)
			if c.deletes.of(out.Row) {
				out.Op = record.OpDelete
			}
			return out
		},
		base: func(base, update record.Record) (record.Record, Outcome) {
			if update.Op == record.OpDelete {
				return update, Remove
			}
			return merge(base, update), Replace
		}}
}

// newAWSDms is AWSDmsAvroPayload: the column Op says D for a delete, in any case.
func newAWSDms(c *common) RecordMerger {
	c.deletes.addMarker(c.schema, "Op", "D", true)
	return &payload{common: c, logs: c.largerWins, base: overwrite, need: NeedNothing}
}

// newEmptyPayload is EmptyHoodieRecordPayload: whatever arrives is a delete.
func newEmptyPayload(c *common) RecordMerger {
	c.deletes.tests = append(c.deletes.tests, func(record.Row) bool { return true })
	return &payload{common: c, need: NeedNothing,
		logs: func(_, newer record.Record) record.Record { return newer },
		base: func(_, update record.Record) (record.Record, Outcome) { return update, Remove }}
}
