package merge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hudifs/hudifs/internal/keygen"
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

// generatedKeyer computes keys from the columns that make them. Meta columns that a file may have all the same are not filled (data.md §1.4).
func generatedKeyer(cfg *tableconfig.Config, s *schema.Schema, partition string) (*keyer, error) {
	whole, err := keygen.New(cfg, s)
	if err != nil {
		return nil, err
	}
	var tops []string
	for _, f := range append(slices.Clone(cfg.RecordKeys), cfg.PartitionNames()...) {
		top, _, _ := strings.Cut(f, ".")
		tops = append(tops, top)
	}
	k := &keyer{schema: s.Select(tops...)}
	part, err := keygen.New(cfg, k.schema)
	if err != nil {
		return nil, err
	}
	from := func(g keygen.KeyGenerator) func(record.Row) (record.Key, error) {
		return func(row record.Row) (record.Key, error) {
			key, err := g.Key(row)
			key.PartitionPath = partition // the directory says it, whatever the columns hold
			return key, err
		}
	}
	k.of, k.narrow = from(whole), from(part)
	return k, nil
}
