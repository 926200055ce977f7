package merge

import (
	"context"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// InsertedKeys calls fn with the record key of every row that has no base row, where rows have meta columns: the keys that a rewritten base file has
// besides those of the old one.
func (s *Slice) InsertedKeys(ctx context.Context, fn func(key string)) error {
	col := s.in.Schema.LeafOf(schema.RecordKeyField)
	if col < 0 {
		return nil
	}
	it := s.inserts.iterate()
	var row record.Row
	for {
		c, ok := it.next()
		if !ok {
			return it.err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if row, err = s.buf.store.Row(c.row, row[:0]); err != nil {
			return err
		}
		fn(string(row[col].ByteArray()))
	}
}
