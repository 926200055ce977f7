package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxLeaves is what parquet's column numbers in memory can count, less room for the meta columns.
const maxLeaves = 32767 - NumMetaFields

// build finishes a schema: leaves, positions and look-ups.
func build(root *Type, text string, limit int) (*Schema, error) {
	if root.Kind != Record {
		return nil, fmt.Errorf("the schema is a %s, not a record", root.Kind)
	}
	if root.Nullable {
		return nil, errors.New("the schema is a union, not a record")
	}
	s := &Schema{root: root, text: text, names: make(map[string]int, len(root.Fields))}
	w := leafWalk{limit: limit}
	s.starts = make([]int, 0, len(root.Fields)+1)
	for i, f := range root.Fields {
		s.names[f.Name] = i
		s.starts = append(s.starts, len(w.leaves))
		if err := w.node(f.Type, []string{f.Name}, 0, 0); err != nil {
			return nil, err
		}
	}
	s.starts = append(s.starts, len(w.leaves))
	s.leaves = w.leaves
	s.paths = make(map[string]int, len(s.leaves))
	for i := range s.leaves {
		s.paths[strings.Join(s.leaves[i].Path, ".")] = i
	}
	return s, nil
}

// leafWalk collects the leaves depth first.
type leafWalk struct {
	leaves []Leaf
	limit  int
}

func (w *leafWalk) node(t *Type, path []string, rep, def int) error {
	if len(path) > 3*maxDepth {
		return fmt.Errorf("field %s: types are nested deeper than %d", strings.Join(path[:8], "."), maxDepth)
	}
	if t.Nullable {
		def++
	}
	switch t.Kind {
	case Record:
		if len(t.Fields) == 0 {
			return fmt.Errorf("field %s: record %q has no fields; columns cannot hold it", strings.Join(path, "."), t.Name)
		}
		for _, f := range t.Fields {
			if err := w.node(f.Type, append(path, f.Name), rep, def); err != nil {
				return err
			}
		}
		return nil
	case Array:
		return w.node(t.Elem, append(path, "list", "element"), rep+1, def+1)
	case Map:
		if err := w.node(mapKey, append(path, "key_value", "key"), rep+1, def+1); err != nil {
			return err
		}
		return w.node(t.Elem, append(path, "key_value", "value"), rep+1, def+1)
	case Union:
		for i, b := range t.Branches {
			if err := w.node(b, append(path, "member"+strconv.Itoa(i)), rep, def+1); err != nil {
				return err
			}
		}
		return nil
	}
	if !t.Primitive() {
		return fmt.Errorf("field %s: a column cannot hold the type %s", strings.Join(path, "."), t.Kind)
	}
	if len(w.leaves) >= w.limit {
		return fmt.Errorf("the schema has more than %d columns", w.limit)
	}
	w.leaves = append(w.leaves, Leaf{Path: slices.Clone(path), Index: len(w.leaves), MaxRep: rep, MaxDef: def, Type: t})
	return nil
}

// mapKey is the type of every map's key.
var mapKey = &Type{Kind: String}

// Root is the record type.
func (s *Schema) Root() *Type { return s.root }

// String returns the schema's Avro JSON, as it came or as New printed it.
func (s *Schema) String() string { return s.text }

// Leaves are the primitive columns in order. The slice is shared: do not change it.
func (s *Schema) Leaves() []Leaf { return s.leaves }

// Field returns the top-level field called name (dotted paths reach into records) and its position at the top level, -1 where there is none.
func (s *Schema) Field(name string) (*Field, int) {
	head, rest, dotted := strings.Cut(name, ".")
	i, ok := s.names[head]
	if !ok {
		return nil, -1
	}
	f := &s.root.Fields[i]
	for dotted {
		head, rest, dotted = strings.Cut(rest, ".")
		if f = f.Type.field(head); f == nil {
			return nil, -1
		}
	}
	return f, i
}

// field returns a record's field by name, nil where there is none or the type is no record.
func (t *Type) field(name string) *Field {
	if t.Kind != Record {
		return nil
	}
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return &t.Fields[i]
		}
	}
	return nil
}

// LeafRange returns the leaves [from,to) that belong to top-level field i.
func (s *Schema) LeafRange(i int) (from, to int) { return s.starts[i], s.starts[i+1] }

// LeafOf returns the index of the leaf of a primitive (possibly dotted) field, -1 where there is none. The dotted path of a leaf
// inside a list or map ("tags.list.element") is understood too.
func (s *Schema) LeafOf(path string) int {
	if i, ok := s.paths[path]; ok {
		return i
	}
	return -1
}
