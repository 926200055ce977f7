package merge

import (
	"fmt"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// keyer takes the key out of a row of the slice's schema. Keys of rows to be merged share the row's memory.
type keyer struct {
	of func(row record.Row) (record.Key, error)

	// Tables without meta fields: the columns that make the key, and the same for rows of only those.
	schema *schema.Schema
	narrow func(row record.Row) (record.Key, error)
}

// newKeyer returns the keyer of a table: the meta columns where rows have them, else the table's key generator.
func newKeyer(cfg *tableconfig.Config, s *schema.Schema, partition string) (*keyer, error) {
	if cfg.MetaFields {
		return metaKeyer(cfg.Name, s, partition)
	}
	return generatedKeyer(cfg, s, partition)
}

func metaKeyer(table string, s *schema.Schema, partition string) (*keyer, error) {
	if !s.HasMetaFields() {
		return nil, fmt.Errorf("table %s has meta fields, but the schema to read it by has none", table)
	}
	leaf := &s.Leaves()[s.LeafOf(schema.RecordKeyField)]
	return &keyer{of: func(row record.Row) (record.Key, error) {
		k, ok := record.StringAt(row, leaf)
		if !ok {
			return record.Key{}, fmt.Errorf("the row has no %s", schema.RecordKeyField)
		}
		return record.Key{RecordKey: k, PartitionPath: partition}, nil
	}}, nil
}

func generatedKeyer(cfg *tableconfig.Config, s *schema.Schema, partition string) (*keyer, error) {
	return nil, fmt.Errorf("table %s has no meta fields", cfg.Name)
}
