package merge

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// ErrUnsupported is matched by the error for a table whose merge rules are somebody's own code, or newer than this program. Guessing would show
// wrong rows.
var ErrUnsupported = errors.New("merge rules are not supported")

// Outcome is what an update does to the base row of its key.
type Outcome uint8

// The outcomes.
const (
	KeepBase Outcome = iota // the base row stays as it is, commit time included
	Replace                 // the returned record takes its place
	Remove                  // the row goes
)

// BaseNeed is how much of a base row Combine looks at.
type BaseNeed uint8

// The needs, from least to most.
const (
	NeedNothing  BaseNeed = iota
	NeedOrdering          // Record.Ordering; Row may be nil
	NeedRow
)

// RecordMerger says which of two versions of a record wins. It is the one rule for log with log, log with base, a batch with itself and a batch
// with a base file, so that a compaction never changes a result. Records have rows of the schema given to ForTable, and have been through
// Prepare. A merger is immutable and safe for concurrent use.
type RecordMerger interface {
	// PreCombine merges two versions that are both on their way: log with log, and a batch with itself. newer arrived later. A delete stays a record with OpDelete.
	PreCombine(older, newer record.Record) (record.Record, error)
	// Combine merges a base row with what its key's updates came to.
	Combine(base, update record.Record) (record.Record, Outcome, error)
	// Insert is what an update without a base row comes to; ok false: nothing. It may not look into the row, which need not be decoded.
	Insert(update record.Record) (rec record.Record, ok bool, err error)
	// Base says how much of a base row Combine looks at. An update with Partial always needs the row.
	Base() BaseNeed
	// Prepare sets Op and Ordering of a record from its Row: deletes by _hoodie_is_deleted, _hoodie_operation, delete marker or payload (data.md §4.7).
	// Without a Row it does nothing.
	Prepare(r *record.Record)
}

// payloadPackage is where the payload classes that have no package of their own live.
const payloadPackage = "org.apache.hudi.common.model."

// payloads lists the payload classes of the standard rules (data.md §4.9).
var payloads = []struct {
	class string
	make  func(base *common) RecordMerger
}{
	{payloadPackage + "OverwriteWithLatestAvroPayload", newOverwrite},
	{payloadPackage + "DefaultHoodieRecordPayload", newDefaultPayload},
	{payloadPackage + "EventTimeAvroPayload", newDefaultPayload},
	{payloadPackage + "OverwriteNonDefaultsWithLatestAvroPayload", newNonDefaults},
	{payloadPackage + "PartialUpdateAvroPayload", newPartialUpdate},
	{payloadPackage + "AWSDmsAvroPayload", newAWSDms},
	{payloadPackage + "debezium.MySqlDebeziumAvroPayload", newMySQLDebezium},
	{payloadPackage + "debezium.PostgresDebeziumAvroPayload", newPostgresDebezium},
	{payloadPackage + "FirstValueAvroPayload", newFirstValue},
	{payloadPackage + "EmptyHoodieRecordPayload", newEmptyPayload},
}

// ForTable returns the merger that the table's configuration asks for, for rows of schema s. An unknown payload class, strategy or partial update
// mode is an error that names it and matches ErrUnsupported.
func ForTable(cfg *tableconfig.Config, s *schema.Schema) (RecordMerger, error) {
	c, err := newCommon(cfg, s)
	if err != nil {
		return nil, err
	}
	if !cfg.Features.MergeModeStored {
		// Before modes were stored the payload class alone decided, for logs of a slice and for the base file by different rules.
		class := cfg.PayloadClass
		if class == "" {
			class = tableconfig.PayloadOverwriteLatest
			if len(cfg.OrderingFields) > 0 {
				class = tableconfig.PayloadDefault
			}
		}
		return c.payload(class)
	}
	switch cfg.MergeMode {
	case tableconfig.CommitTimeOrdering:
		return newCommitTime(c, cfg)
	case tableconfig.EventTimeOrdering:
		return newEventTime(c, cfg)
	}
	if id := cfg.MergeStrategyID; id != "" && !strings.EqualFold(id, tableconfig.StrategyPayloadClass) {
		return nil, fmt.Errorf("table %s merges records by its own strategy %s, which is code that hudifs does not have: %w", cfg.Name, id, ErrUnsupported)
	}
	if cfg.PayloadClass == "" {
		return nil, fmt.Errorf("table %s has merge mode CUSTOM but names neither a strategy nor a payload class: %w", cfg.Name, ErrUnsupported)
	}
	return c.payload(cfg.PayloadClass)
}

// payload returns the merger of a payload class.
func (c *common) payload(class string) (RecordMerger, error) {
	for _, p := range payloads {
		if p.class == class {
			return p.make(c), nil
		}
	}
	if class == tableconfig.PayloadMetadata {
		return nil, fmt.Errorf("table %s is a metadata table, which has a merge of its own: %w", c.table, ErrUnsupported)
	}
	return nil, fmt.Errorf("table %s merges records by the payload class %s, which is code that hudifs does not have: %w", c.table, class, ErrUnsupported)
}

// common is what every merger knows of its table.
type common struct {
	table    string
	schema   *schema.Schema
	fields   *fieldMap
	ordering *record.OrderingReader
	deletes  deleteTest

	binaryText bool // an ordering field is text, and text is ordered by its UTF-8 bytes

	// byPayload marks the rules of the releases that know no merge modes: a data row always wins over a delete that was logged before it.
	byPayload bool
}

func newCommon(cfg *tableconfig.Config, s *schema.Schema) (*common, error) {
	c := &common{table: cfg.Name, schema: s, fields: newFieldMap(s), byPayload: !cfg.Features.MergeModeStored}
	// A default ordering field that the table does not have ("ts", as old writers store it unasked) is none.
	var fields []string
	for _, f := range cfg.OrderingFields {
		if s.LeafOf(f) >= 0 {
			fields = append(fields, f)
		}
	}
	var err error
	if c.ordering, err = record.NewOrderingReader(s, fields); err != nil {
		return nil, fmt.Errorf("table %s: %w", cfg.Name, err)
	}
	for _, f := range fields {
		// Every release compares text by its UTF-8 bytes (Spark's and Avro's strings do), not by UTF-16 unit as Java's own. They differ where a character
		// beyond the basic plane meets one from U+E000 up.
		c.binaryText = c.binaryText || s.Leaves()[s.LeafOf(f)].Type.Kind == schema.String
	}
	c.deletes = newDeleteTest(s, c.byPayload)
	field, marker := cfg.MergeProperties[keyDeleteField], cfg.MergeProperties[keyDeleteMarker]
	if field == "" {
		field, _ = cfg.Get(keyDeleteField)
		marker, _ = cfg.Get(keyDeleteMarker)
	}
	if field != "" && marker != "" {
		c.deletes.addMarker(s, field, marker, false)
	}
	return c, nil
}

// Prepare implements RecordMerger.
func (c *common) Prepare(r *record.Record) {
	if r.Row == nil {
		return
	}
	r.Op = record.OpUpsert
	if c.deletes.of(r.Row) {
		r.Op = record.OpDelete
	}
	r.Ordering = c.ordering.Of(r.Row)
}

// Insert implements RecordMerger.
func (c *common) Insert(update record.Record) (record.Record, bool, error) {
	if update.Op == record.OpDelete {
		return record.Record{}, false, nil
	}
	if update.Partial != nil {
		if name := c.fields.missingRequired(update.Partial); name != "" {
			return record.Record{}, false, fmt.Errorf("partial update of key %q, which has no row: the field %s, which must not be null, has no value",
				update.Key.RecordKey, name)
		}
		update.Partial = nil
	}
	return update, true, nil
}

// byKey reports whether r is an entry of a delete block.
func byKey(r *record.Record) bool { return r.Op == record.OpDelete && r.Row == nil }

// byArrival reports whether r is a delete without ordering value: it wins over all that came before it and over nothing that comes later.
func byArrival(r *record.Record) bool { return r.Op == record.OpDelete && r.Ordering.IsDefault() }

// deleteArrives is the rule for an entry of a delete block over a buffered record (data.md §4.6), the same for every payload.
func (c *common) deleteArrives(older, newer record.Record) record.Record {
	if byArrival(&older) {
		return older
	}
	if !newer.Ordering.IsDefault() && newer.Ordering.SameType(older.Ordering) && c.compare(older.Ordering, newer.Ordering) > 0 {
		return older
	}
	return newer
}

// compare orders two ordering values as the releases of the table's version do.
func (c *common) compare(a, b record.Ordering) int {
	if !c.binaryText || a.IsDefault() || b.IsDefault() {
		return a.Compare(b)
	}
	x, y := a.Values(), b.Values()
	if len(x) != len(y) {
		return a.Compare(b)
	}
	for i := range x {
		if r := compareBinary(x[i], y[i]); r != 0 {
			return r
		}
	}
	return 0
}

// compareBinary orders two parts of ordering values, text by its bytes.
func compareBinary(x, y any) int {
	s, ok := x.(string)
	t, also := y.(string)
	if ok && also {
		return strings.Compare(s, t)
	}
	a, aerr := record.OrderingOf(x)
	b, berr := record.OrderingOf(y)
	if aerr != nil || berr != nil {
		return 0
	}
	return a.Compare(b)
}
