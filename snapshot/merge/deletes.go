package merge

import (
	"strings"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// The properties that name a delete marker column (data.md §4.7).
const (
	keyDeleteField  = "hoodie.payload.delete.field"
	keyDeleteMarker = "hoodie.payload.delete.marker"
)

// The columns that mark a row as a delete by their name.
const (
	isDeletedField = "_hoodie_is_deleted"
	operationField = "_hoodie_operation"
)

// deleteTest says whether a row stands for a delete. The zero value says no.
type deleteTest struct {
	tests []func(record.Row) bool
}

// newDeleteTest tests the columns that count in every table. The releases that know no merge modes take a row before its update (-U) for a row like any
// other (golden table handmade_changelog).
func newDeleteTest(s *schema.Schema, byPayload bool) deleteTest {
	var d deleteTest
	if l := topLeaf(s, isDeletedField); l != nil && l.Type.Kind == schema.Boolean {
		d.tests = append(d.tests, func(row record.Row) bool {
			i := record.Find(row, l.Index)
			return i >= 0 && !record.IsNull(row[i], l) && row[i].Boolean()
		})
	}
	if l := topLeaf(s, operationField); l != nil && l.Type.Kind == schema.String {
		d.tests = append(d.tests, func(row record.Row) bool {
			op, ok := record.StringAt(row, l)
			return ok && (op == "D" || op == "-U" && !byPayload)
		})
	}
	return d
}

// addMarker adds the test of a marker column: its value's text is marker.
func (d *deleteTest) addMarker(s *schema.Schema, field, marker string, fold bool) {
	l := primitive(s, field)
	if l == nil {
		return // a table without the column has no such deletes
	}
	d.tests = append(d.tests, func(row record.Row) bool {
		i := record.Find(row, l.Index)
		if i < 0 || record.IsNull(row[i], l) {
			return false
		}
		if l.Type.Kind == schema.String || l.Type.Kind == schema.Enum {
			v := record.Text(row[i])
			return v == marker || fold && strings.EqualFold(v, marker)
		}
		v, err := record.JavaText(row[i], l.Type)
		return err == nil && (v == marker || fold && strings.EqualFold(v, marker))
	})
}

func (d *deleteTest) of(row record.Row) bool {
	for _, t := range d.tests {
		if t(row) {
			return true
		}
	}
	return false
}

// topLeaf returns the leaf of a primitive top-level field, nil where there is none.
func topLeaf(s *schema.Schema, name string) *schema.Leaf {
	if strings.Contains(name, ".") {
		return nil
	}
	return primitive(s, name)
}

// primitive returns the leaf of a primitive field (dotted), nil where there is none outside lists.
func primitive(s *schema.Schema, name string) *schema.Leaf {
	i := s.LeafOf(name)
	if i < 0 || s.Leaves()[i].MaxRep > 0 {
		return nil
	}
	return &s.Leaves()[i]
}
