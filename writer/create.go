package writer

import (
	"context"
	"fmt"

	"github.com/hudifs/hudifs/internal/keygen"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/snapshot/merge"
)

// CreateTable makes an empty table of rows of schema s at the store's base path, exactly as the Java release of its version does, without a metadata
// table. tableconfig.ErrTableExists: there is one already.
func CreateTable(ctx context.Context, st storage.Store, s *schema.Schema, o tableconfig.Options) (*tableconfig.Config, error) {
	if o.Name == "" {
		return nil, fmt.Errorf("create table: it needs a name")
	}
	if len(o.RecordKeys) == 0 {
		return nil, fmt.Errorf("create table %s: it needs record key fields: upserts match rows by them", o.Name)
	}
	s = s.WithoutMetaFields()
	s, err := nullFirst(s)
	if err != nil {
		return nil, err
	}
	for _, names := range [][]string{o.RecordKeys, o.OrderingFields} {
		for _, n := range names {
			if f, _ := s.Field(n); f == nil {
				return nil, fmt.Errorf("create table %s: the schema has no field %q", o.Name, n)
			}
		}
	}
	for _, p := range o.PartitionFields {
		if f, _ := s.Field(p.Name); f == nil {
			return nil, fmt.Errorf("create table %s: the schema has no partition field %q", o.Name, p.Name)
		}
	}
	o.CreateSchema = s.String()
	props, err := tableconfig.New(o)
	if err != nil {
		return nil, err
	}
	cfg, err := tableconfig.FromProperties(props)
	if err != nil {
		return nil, err
	}
	// What would make every write fail is found out now.
	rows := s
	if cfg.MetaFields {
		rows = s.WithMetaFields()
	}
	if _, err := keygen.New(cfg, rows); err != nil {
		return nil, fmt.Errorf("create table %s: %w", o.Name, err)
	}
	if _, err := merge.ForTable(cfg, rows); err != nil {
		return nil, fmt.Errorf("create table %s: %w", o.Name, err)
	}
	return tableconfig.Create(ctx, st, o)
}
