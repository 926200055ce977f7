// Package record is one row in memory: a parquet.Row with its key, operation and ordering value.
//
// It knows how nested values become leaf values with levels and back. It must never know where a row is stored.
package record

import (
	"context"

	"github.com/parquet-go/parquet-go"
)

// Row is one row as leaf values in column order, each with its levels. A value is null where its definition level is below the leaf's MaxDef;
// never ask IsNull. A row from a Reader is valid until the next read; keep it with an Arena.
type Row = parquet.Row

// Key says which record a row is.
type Key struct {
	RecordKey     string // as in _hoodie_record_key
	PartitionPath string // as in _hoodie_partition_path; "" in a non-partitioned table
}

// Op says what a record does to the record that was there.
type Op uint8

// The operations.
const (
	OpUpsert Op = iota // insert or update, with Row
	OpDelete           // delete; Row may be nil (delete by key)
)

// Record is a row on its way into or out of a file slice.
type Record struct {
	Key      Key
	Op       Op
	Ordering Ordering // zero: none known
	Row      Row      // nil for a delete by key
	Position int64    // row position in the base file, -1 where unknown or not from one
	Partial  []int    // indices of the top-level fields that a partial update carries; nil: the whole row
}

// Reader yields records. Read fills dst from the front and returns how many; io.EOF, possibly with n > 0, ends it.
type Reader interface {
	Read(ctx context.Context, dst []Record) (int, error)
	Close() error
}
