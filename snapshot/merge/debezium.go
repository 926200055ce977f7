package merge

import (
	"cmp"
	"strings"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// The columns that Hudi's Debezium sources add.
const (
	debeziumOperation = "_change_operation_type" // "d" for a delete
	debeziumSequence  = "_event_seq"             // MySQL: number of the binlog file, a point, position in it
	debeziumLSN       = "_event_lsn"             // Postgres
)

// newMySQLDebezium is MySqlDebeziumAvroPayload: the place in the binlog decides. Against the base row an update must be strictly later.
func newMySQLDebezium(c *common) RecordMerger {
	c.deletes.addMarker(c.schema, debeziumOperation, "d", false)
	seq := primitive(c.schema, debeziumSequence)
	text := func(r *record.Record) (string, bool) {
		if seq == nil || r.Row == nil {
			return "", false
		}
		return record.StringAt(r.Row, seq)
	}
	p := &payload{common: c, need: NeedRow}
	p.logs = func(older, newer record.Record) record.Record {
		a, aok := text(&older)
		b, bok := text(&newer)
		if c.byPayload || !aok || !bok {
			return c.largerWins(older, newer) // the older release compares the texts
		}
		if compareSequences(a, b) > 0 {
			return older
		}
		return newer
	}
	p.base = func(base, update record.Record) (record.Record, Outcome) {
		a, aok := text(&base)
		b, bok := text(&update)
		if aok && bok && compareSequences(a, b) >= 0 {
			return base, KeepBase
		}
		return overwrite(base, update)
	}
	return p
}

// compareSequences orders binlog places by file number, then position.
func compareSequences(a, b string) int {
	af, ap := splitSequence(a)
	bf, bp := splitSequence(b)
	return cmp.Or(compareDigits(af, bf), compareDigits(ap, bp))
}

// splitSequence returns the digits of the file number and of the position. A file may be given by its name: mysql-bin.000003.101.
func splitSequence(s string) (file, pos string) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return s, ""
	}
	file, pos = s[:i], s[i+1:]
	return file[strings.LastIndexByte(file, '.')+1:], pos
}

// compareDigits compares two numbers of any length; what is no number is compared as text.
func compareDigits(a, b string) int {
	if !digits(a) || !digits(b) {
		return strings.Compare(a, b)
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// newPostgresDebezium is PostgresDebeziumAvroPayload: the larger log sequence number wins; columns that the database did not send keep the base row's
// value. Two records in logs do not complete each other.
func newPostgresDebezium(c *common) RecordMerger {
	c.deletes.addMarker(c.schema, debeziumOperation, "d", false)
	missing := unavailable(unavailableValue)
	var lsn *record.OrderingReader
	if l := primitive(c.schema, debeziumLSN); l != nil && l.Type.Kind != schema.Null {
		lsn, _ = record.NewOrderingReader(c.schema, []string{debeziumLSN})
	}
	p := &payload{common: c, logs: c.largerWins, need: NeedRow}
	p.base = func(base, update record.Record) (record.Record, Outcome) {
		if lsn != nil && lsn.Null(base.Row) == "" && lsn.Of(base.Row).Compare(lsn.Of(update.Row)) > 0 {
			return base, KeepBase
		}
		if update.Op == record.OpDelete {
			return update, Remove
		}
		update.Row, _ = c.fields.blend(update.Row, base.Row, func(i int, mine, _ record.Row) bool {
			x := &c.fields.fields[i]
			return !x.meta && missing(x, mine)
		})
		return update, Replace
	}
	return p
}
