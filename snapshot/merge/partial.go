package merge

import (
	"fmt"
	"strings"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// The partial update modes of the table configuration (data.md §4.8).
const (
	ignoreDefaults  = "IGNORE_DEFAULTS"
	fillUnavailable = "FILL_UNAVAILABLE"
)

// unavailableValue is what Debezium puts in the place of a column that the database did not log.
const unavailableValue = "__debezium_unavailable_value"

// filler completes the winner of two versions with columns of the loser: the columns that a partial update block does not carry, and those that the
// table's partial update mode takes for not set.
type filler struct {
	fields *fieldMap
	unset  func(x *field, mine record.Row) bool // nil: every column that is there counts
}

// newFiller returns the filler of the table's mode.
func newFiller(c *common, cfg *tableconfig.Config) (filler, error) {
	f := filler{fields: c.fields}
	switch cfg.PartialUpdate {
	case "", "KEEP_VALUES":
	case ignoreDefaults:
		// Java compares boxed objects by identity, so of the defaults that are not null only small ones ever match.
		f.unset = func(x *field, mine record.Row) bool {
			return x.null(mine) || x.def != nil && x.smallDef && x.def(mine[0])
		}
	case fillUnavailable:
		f.unset = unavailable(markerOf(cfg))
	default:
		return f, fmt.Errorf("table %s has the partial update mode %s, which hudifs does not know: %w", cfg.Name, cfg.PartialUpdate, ErrUnsupported)
	}
	return f, nil
}

// markerOf returns the text that stands for a value that was not sent.
func markerOf(cfg *tableconfig.Config) string {
	for key, v := range cfg.MergeProperties {
		if strings.HasSuffix(key, "partial.update.unavailable.value") || strings.HasSuffix(key, "partial.update.custom.marker") {
			return v
		}
	}
	return unavailableValue
}

// unavailable tests string and bytes columns for the marker.
func unavailable(marker string) func(*field, record.Row) bool {
	return func(x *field, mine record.Row) bool {
		return x.text && !x.null(mine) && string(mine[0].ByteArray()) == marker
	}
}

// active reports whether a base row that wins may still take columns from an update.
func (f *filler) active() bool { return f.unset != nil }

// fill completes winner by loser; changed is false where the winner stays as it is. Deletes are never completed: the winner takes all.
func (f *filler) fill(winner, loser record.Record) (out record.Record, changed bool) {
	if winner.Op == record.OpDelete || loser.Op == record.OpDelete || winner.Row == nil || loser.Row == nil {
		return winner, false
	}
	if winner.Partial == nil && f.unset == nil {
		return winner, false
	}
	has, other := setOf(winner.Partial), setOf(loser.Partial)
	row, changed := f.fields.blend(winner.Row, loser.Row, func(i int, mine, theirs record.Row) bool {
		if !has(i) {
			return other(i)
		}
		x := &f.fields.fields[i]
		return f.unset != nil && !x.meta && other(i) && f.unset(x, mine)
	})
	if winner.Partial == nil && !changed {
		return winner, false
	}
	winner.Row = row
	winner.Partial = f.fields.union(winner.Partial, loser.Partial)
	return winner, true
}
