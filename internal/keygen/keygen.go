// Package keygen makes the record key and the partition path of a row as Hudi's key generators do, and reads both back.
//
// It knows key generators, their text rules and time formats (data.md §1.5, §1.6, §5). It must never know files or where a key lives.
package keygen

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// KeyGenerator makes keys of rows of one schema. Safe for concurrent use. What it returns does not share the row's memory.
type KeyGenerator interface {
	// Key returns the row's record key and partition path. A row whose values make no key or no path matches ErrRow.
	// In a table without record key fields the record key is empty: the writer makes one up.
	Key(row record.Row) (record.Key, error)
	// RecordKey is Key without the partition path.
	RecordKey(row record.Row) (string, error)
	// Partition is Key without the record key.
	Partition(row record.Row) (string, error)
}

// ErrRow says that a row's values make no key or no partition path. The row cannot be stored; others can.
var ErrRow = errors.New("row makes no key")

// SingleComplex is how a complex key of one field is written: releases differ (data.md §1.6).
type SingleComplex uint8

// The ways.
const (
	SingleByTable SingleComplex = iota // as the last release that wrote the table's version by itself: field:value from version 9, value before
	SingleNamed                        // field:value
	SinglePlain                        // value
)

// Options are what a table's configuration does not say. The zero value is right for most tables.
type Options struct {
	// Properties are writer settings that some tables do not keep: hoodie.keygen.timebased.* (version 6, and the custom generator of every
	// version) and hoodie.datasource.write.partitionpath.field as name:TYPE,… (the custom generator of version 6). They count before the table's own.
	Properties map[string]string
	Single     SingleComplex
}

// New returns the table's key generator for rows of s.
func New(cfg *tableconfig.Config, s *schema.Schema) (KeyGenerator, error) {
	return NewWith(cfg, s, Options{})
}

// NewWith is New with options.
func NewWith(cfg *tableconfig.Config, s *schema.Schema, o Options) (KeyGenerator, error) {
	g, err := newKeys(cfg, s, o)
	if err == nil {
		err = g.partition(cfg, s, o)
	}
	if err != nil {
		return nil, fmt.Errorf("key generator %s of table %s: %w", cfg.KeyGen, cfg.Name, err)
	}
	return g, nil
}

// NewRecordKeys returns a generator of record keys alone: Key and Partition give an empty path. It is for schemas without the partition fields.
func NewRecordKeys(cfg *tableconfig.Config, s *schema.Schema, o Options) (KeyGenerator, error) {
	g, err := newKeys(cfg, s, o)
	if err != nil {
		return nil, fmt.Errorf("key generator %s of table %s: %w", cfg.KeyGen, cfg.Name, err)
	}
	return g, nil
}

// generator is every key generator: they differ in the form of the key and in the parts of the path.
type generator struct {
	keys  []field
	named bool // the key is name:value,name:value
	parts []part
	slash bool // yyyy-MM-dd becomes yyyy/MM/dd
	cache pathCache
}

// newKeys is the list of key generators: how each writes the record key.
func newKeys(cfg *tableconfig.Config, s *schema.Schema, o Options) (*generator, error) {
	g := &generator{}
	names := cfg.RecordKeys
	switch cfg.KeyGen {
	case tableconfig.KeyGenSimple, tableconfig.KeyGenTimestamp:
		if len(names) > 1 && cfg.KeyGen == tableconfig.KeyGenSimple {
			return nil, fmt.Errorf("it takes one record key field, but the table has %s", strings.Join(names, ","))
		}
		g.named = len(names) > 1
	case tableconfig.KeyGenNonPartition, tableconfig.KeyGenCustom:
		g.named = len(names) > 1
	case tableconfig.KeyGenComplex, tableconfig.KeyGenGlobalDelete:
		g.named = len(names) > 1 || o.Single == SingleNamed || o.Single == SingleByTable && cfg.Features.OrderingFieldsKey
	case tableconfig.KeyGenMetadataTable:
		names = []string{"key"}
	default:
		return nil, fmt.Errorf("%w: keys of the class %q cannot be made here", tableconfig.ErrUnsupported, cfg.KeyGenClass)
	}
	for _, name := range names {
		f, err := newField(s, name)
		if err != nil {
			return nil, fmt.Errorf("record key: %w", err)
		}
		g.keys = append(g.keys, f)
	}
	return g, nil
}

// partition is the list of key generators again: how each makes the path.
func (g *generator) partition(cfg *tableconfig.Config, s *schema.Schema, o Options) error {
	fields := cfg.PartitionFields
	switch cfg.KeyGen {
	case tableconfig.KeyGenNonPartition, tableconfig.KeyGenGlobalDelete, tableconfig.KeyGenMetadataTable:
		return nil
	case tableconfig.KeyGenSimple, tableconfig.KeyGenTimestamp:
		if len(fields) != 1 {
			return fmt.Errorf("it takes one partition field, but the table has %s", strings.Join(cfg.PartitionNames(), ","))
		}
	}
	for _, pf := range fields {
		f, err := newField(s, pf.Name)
		if err != nil {
			return fmt.Errorf("partition: %w", err)
		}
		p := part{field: f, encode: cfg.URLEncode}
		if cfg.HiveStyle {
			p.prefix = pf.Name + "="
		}
		timed := cfg.KeyGen == tableconfig.KeyGenTimestamp
		if cfg.KeyGen == tableconfig.KeyGenCustom {
			kind := o.partType(pf)
			if kind != tableconfig.KeyGenSimple && kind != tableconfig.KeyGenTimestamp {
				return fmt.Errorf("the table does not say whether partition field %q is %s or %s: set %s to name:TYPE,…",
					pf.Name, tableconfig.KeyGenSimple, tableconfig.KeyGenTimestamp, partitionSetting)
			}
			timed = kind == tableconfig.KeyGenTimestamp
		}
		if timed {
			if p.time, err = newTimePart(cfg, o, f.leaf.Type); err != nil {
				return fmt.Errorf("partition field %q: %w", pf.Name, err)
			}
		}
		g.parts = append(g.parts, p)
	}
	g.slash = cfg.SlashDates && len(g.parts) == 1 && g.parts[0].time == nil
	return nil
}

// partitionSetting is the writer setting that names partition fields, and for the custom generator their types.
const partitionSetting = "hoodie.datasource.write.partitionpath.field"

// partType is the type of a custom generator's partition field: what the writer says, else what the table says.
func (o Options) partType(pf tableconfig.PartitionField) tableconfig.KeyGenType {
	for item := range strings.SplitSeq(o.Properties[partitionSetting], ",") {
		if name, kind, ok := strings.Cut(strings.TrimSpace(item), ":"); ok && name == pf.Name {
			return tableconfig.KeyGenType(strings.ToUpper(strings.TrimSpace(kind)))
		}
	}
	return pf.Type
}

// Key implements KeyGenerator.
func (g *generator) Key(row record.Row) (record.Key, error) {
	key, err := g.RecordKey(row)
	if err != nil {
		return record.Key{}, err
	}
	path, err := g.Partition(row)
	return record.Key{RecordKey: key, PartitionPath: path}, err
}

// field is one field that keys or paths are made of.
type field struct {
	name string
	leaf schema.Leaf
}

func newField(s *schema.Schema, name string) (field, error) {
	i := s.LeafOf(name)
	if i < 0 {
		return field{}, fmt.Errorf("field %q is not a primitive field of the schema", name)
	}
	l := s.Leaves()[i]
	if l.MaxRep > 0 {
		return field{}, fmt.Errorf("field %q lies inside a list or map", name)
	}
	if t := l.Type; (t.Kind == schema.Bytes || t.Kind == schema.Fixed) && t.Logical != schema.Decimal && t.Logical != schema.UUID {
		return field{}, fmt.Errorf("field %q is %s, which has no text form", name, t.Kind)
	}
	return field{name: name, leaf: l}, nil
}

// append appends the row's text of the field to dst; null says that there is none.
func (f *field) append(dst []byte, row record.Row) (out []byte, null bool, err error) {
	i := record.Find(row, f.leaf.Index)
	if i < 0 || record.IsNull(row[i], &f.leaf) {
		return dst, true, nil
	}
	dst, err = record.AppendJavaText(dst, row[i], f.leaf.Type)
	return dst, false, err
}

// Placeholders of values in keys of several fields.
const (
	nullKey  = "__null__"
	emptyKey = "__empty__"
)

// RecordKey implements KeyGenerator.
func (g *generator) RecordKey(row record.Row) (string, error) {
	if len(g.keys) == 0 {
		return "", nil
	}
	var buf [128]byte
	key := buf[:0]
	some := false
	for i := range g.keys {
		f := &g.keys[i]
		if g.named {
			if i > 0 {
				key = append(key, ',')
			}
			key = append(append(key, f.name...), ':')
		}
		start := len(key)
		var null bool
		var err error
		if key, null, err = f.append(key, row); err != nil {
			return "", fmt.Errorf("%w: record key field %q: %w", ErrRow, f.name, err)
		}
		switch text := key[start:]; {
		case null:
			key = append(key, nullKey...)
		case len(text) == 0:
			key = append(key, emptyKey...)
		case g.named && (string(text) == nullKey || string(text) == emptyKey):
			return "", fmt.Errorf("%w: record key field %q has the value %q, which in a key means null or empty", ErrRow, f.name, text)
		default:
			some = true
		}
	}
	if !some {
		return "", fmt.Errorf("%w: record key %s is null or empty", ErrRow, g.keyNames())
	}
	return string(key), nil
}

func (g *generator) keyNames() string {
	names := make([]string, len(g.keys))
	for i := range g.keys {
		names[i] = g.keys[i].name
	}
	return strings.Join(names, ",")
}
