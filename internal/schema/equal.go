package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
)

// Equal reports whether two schemas have the same types, names and order; docs and aliases do not count.
func (s *Schema) Equal(o *Schema) bool {
	if s == o {
		return true
	}
	if s == nil || o == nil {
		return false
	}
	return s.text == o.text || equalTypes(s.root, o.root)
}

func equalTypes(a, b *Type) bool {
	if a == b {
		return true
	}
	if a.Kind != b.Kind || a.Logical != b.Logical || a.Nullable != b.Nullable || a.NullFirst != b.NullFirst || a.NullIndex != b.NullIndex ||
		a.Name != b.Name || a.Namespace != b.Namespace || a.Size != b.Size || a.Precision != b.Precision || a.Scale != b.Scale {
		return false
	}
	if !slices.Equal(a.Symbols, b.Symbols) || len(a.Fields) != len(b.Fields) || len(a.Branches) != len(b.Branches) {
		return false
	}
	for i := range a.Fields {
		f, g := &a.Fields[i], &b.Fields[i]
		if f.Name != g.Name || f.HasDefault != g.HasDefault || !equalJSON(f.Default, g.Default) || !equalTypes(f.Type, g.Type) {
			return false
		}
	}
	for i := range a.Branches {
		if !equalTypes(a.Branches[i], b.Branches[i]) {
			return false
		}
	}
	if a.Elem == nil || b.Elem == nil {
		return a.Elem == b.Elem
	}
	return equalTypes(a.Elem, b.Elem)
}

// equalJSON compares decoded JSON values by their text.
func equalJSON(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// sameDefinition reports whether two uses of a named type mean the same definition; a union with null around them does not count.
func sameDefinition(a, b *Type) bool {
	if a == b {
		return true
	}
	x, y := *a, *b
	x.Nullable, x.NullFirst, y.Nullable, y.NullFirst = false, false, false, false
	return equalTypes(&x, &y)
}

// Fingerprint identifies the schema's text: equal texts, equal fingerprints. It is a key for caches, not Avro's canonical fingerprint.
func (s *Schema) Fingerprint() [32]byte { return sha256.Sum256([]byte(s.text)) }
