package schema

import (
	"slices"
)

// The meta columns, in the order in which they stand first in every row (data.md §1.3).
const (
	CommitTimeField    = "_hoodie_commit_time"
	CommitSeqnoField   = "_hoodie_commit_seqno"
	RecordKeyField     = "_hoodie_record_key"
	PartitionPathField = "_hoodie_partition_path"
	FileNameField      = "_hoodie_file_name"
)

// OperationField is the optional sixth meta column; IsDeletedField is the user column that flags a deleted row (data.md §4.7).
const (
	OperationField = "_hoodie_operation"
	IsDeletedField = "_hoodie_is_deleted"
)

// NumMetaFields is how many meta columns a table with meta columns has.
const NumMetaFields = 5

var metaFields = [NumMetaFields]string{CommitTimeField, CommitSeqnoField, RecordKeyField, PartitionPathField, FileNameField}

// IsMetaField reports whether name is one of the five meta columns or _hoodie_operation.
func IsMetaField(name string) bool {
	return name == OperationField || slices.Contains(metaFields[:], name)
}

// HasMetaFields reports whether the five meta columns are there.
func (s *Schema) HasMetaFields() bool {
	for i, name := range metaFields {
		if len(s.root.Fields) <= i || s.root.Fields[i].Name != name {
			return false
		}
	}
	return true
}

// WithMetaFields returns the schema with Hudi's five meta columns first (data.md §1.3), itself where they are there already.
func (s *Schema) WithMetaFields() *Schema {
	if s.HasMetaFields() {
		return s
	}
	if w := s.with.Load(); w != nil {
		return w
	}
	fields := make([]Field, 0, NumMetaFields+len(s.root.Fields))
	for _, name := range metaFields {
		fields = append(fields, Field{
			Name: name, Type: &Type{Kind: String, Nullable: true, NullFirst: true}, HasDefault: true,
			Props: []Prop{{Name: "doc", Value: ""}},
		})
	}
	for _, f := range s.root.Fields {
		if !slices.Contains(metaFields[:], f.Name) {
			fields = append(fields, f)
		}
	}
	w := s.withFields(fields)
	s.with.Store(w)
	return w
}

// WithoutMetaFields returns the schema without Hudi's meta columns, _hoodie_operation included.
func (s *Schema) WithoutMetaFields() *Schema {
	if !slices.ContainsFunc(s.root.Fields, func(f Field) bool { return IsMetaField(f.Name) }) {
		return s
	}
	if w := s.sans.Load(); w != nil {
		return w
	}
	fields := make([]Field, 0, len(s.root.Fields))
	for _, f := range s.root.Fields {
		if !IsMetaField(f.Name) {
			fields = append(fields, f)
		}
	}
	w := s.withFields(fields)
	s.sans.Store(w)
	return w
}

// Select returns the schema with only the named top-level fields, in the schema's order. Names that are not there are ignored.
func (s *Schema) Select(names ...string) *Schema {
	fields := make([]Field, 0, len(names))
	for _, f := range s.root.Fields {
		if slices.Contains(names, f.Name) {
			fields = append(fields, f)
		}
	}
	if len(fields) == len(s.root.Fields) {
		return s
	}
	return s.withFields(fields)
}

// withFields is the schema with other top-level fields, each taken whole from a valid schema.
func (s *Schema) withFields(fields []Field) *Schema {
	root := *s.root
	root.Fields = fields
	p := printer{named: map[string]*Type{}}
	err := p.typ(&root, "")
	if err == nil {
		var w *Schema
		if w, err = build(&root, p.b.String(), maxLeaves+NumMetaFields); err == nil {
			return w
		}
	}
	// Names were unique and fields sound before, so nothing here can depend on input.
	panic("schema: printing a valid tree: " + err.Error())
}
