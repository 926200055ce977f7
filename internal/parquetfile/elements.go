package parquetfile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hudifs/hudifs/internal/schema"
)

// columnShape is one column of a file to be written: how a leaf of the row schema is stored.
type columnShape struct {
	leaf   *schema.Leaf
	typ    physical
	length int32
	order  order
	path   []string // in the file's schema
	maxDef int
	maxRep int
	levels []int // definition level of the row → of the column; -1: the file cannot hold it
}

// fileElements lays out a row schema as parquet-avro does, as extended by Hudi (data.md §2.3): the element list of the footer and one
// shape per leaf.
func fileElements(s *schema.Schema, oldLists bool) ([]element, []columnShape, error) {
	e := &elementWriter{leaves: s.Leaves(), old: oldLists}
	root := s.Root()
	e.group(root.FullName(), -1, len(root.Fields), logicalType{}, -1)
	for i := range root.Fields {
		f := &root.Fields[i]
		if err := e.field(f.Name, f.Type, shapePlace{levels: []int{0}}); err != nil {
			return nil, nil, err
		}
	}
	return e.list, e.shapes, nil
}

type elementWriter struct {
	list   []element
	shapes []columnShape
	leaves []schema.Leaf
	old    bool
}

// shapePlace is where the walk stands. levels: row level → column level; below the last entry everything is present.
type shapePlace struct {
	path   []string
	levels []int
	rep    int
}

func (at shapePlace) top() int { return at.levels[len(at.levels)-1] }

// down is a level that row and column share.
func (at shapePlace) down(rep int) shapePlace {
	at.levels = append(append([]int{}, at.levels...), at.top()+1)
	at.rep += rep
	return at
}

// barred is a level of the row that the column lacks: the level below it is a null that cannot be stored.
func (at shapePlace) barred() shapePlace {
	top := at.top()
	at.levels = append([]int{}, at.levels...)
	at.levels[len(at.levels)-1] = -1
	at.levels = append(at.levels, top)
	return at
}

func (at shapePlace) named(n string) shapePlace {
	at.path = append(append([]string{}, at.path...), n)
	return at
}

func (e *elementWriter) group(name string, rep int8, kids int, l logicalType, converted int32) {
	e.list = append(e.list, element{name: name, typ: -1, rep: rep, children: int32(kids), converted: converted, scale: -1, precision: -1, logical: l})
}

// field writes a field with its nullability.
func (e *elementWriter) field(name string, t *schema.Type, at shapePlace) error {
	rep := int8(repRequired)
	if t.Nullable {
		rep = repOptional
		at = at.down(0)
	}
	return e.node(name, rep, t, at.named(name))
}

// node writes a node under the given name and repetition.
func (e *elementWriter) node(name string, rep int8, t *schema.Type, at shapePlace) error {
	switch t.Kind {
	case schema.Record:
		e.group(name, rep, len(t.Fields), logicalType{}, -1)
		for i := range t.Fields {
			if err := e.field(t.Fields[i].Name, t.Fields[i].Type, at); err != nil {
				return err
			}
		}
		return nil
	case schema.Array:
		e.group(name, rep, 1, logicalType{id: logList}, convList)
		at = at.down(1)
		if e.old {
			if t.Elem.Nullable {
				at = at.barred()
			}
			return e.node("array", repRepeated, t.Elem, at.named("array"))
		}
		e.group("list", repRepeated, 1, logicalType{}, -1)
		return e.field("element", t.Elem, at.named("list"))
	case schema.Map:
		e.group(name, rep, 1, logicalType{id: logMap}, convMap)
		e.group("key_value", repRepeated, 2, logicalType{}, convMapKeyValue)
		at = at.down(1).named("key_value")
		if err := e.field("key", &schema.Type{Kind: schema.String}, at); err != nil {
			return err
		}
		return e.field("value", t.Elem, at)
	case schema.Union:
		e.group(name, rep, len(t.Branches), logicalType{}, -1)
		for i, b := range t.Branches {
			member := "member" + strconv.Itoa(i)
			if err := e.node(member, repOptional, b, at.down(0).named(member)); err != nil {
				return err
			}
		}
		return nil
	}
	return e.leaf(name, rep, t, at)
}

func (e *elementWriter) leaf(name string, rep int8, t *schema.Type, at shapePlace) error {
	i := len(e.shapes)
	if i >= len(e.leaves) {
		return fmt.Errorf("field %s: the schema has no such leaf", strings.Join(at.path, "."))
	}
	l := &e.leaves[i]
	c := columnShape{leaf: l, order: orderOf(t), path: at.path, levels: at.levels, maxRep: at.rep, maxDef: at.top()}
	if len(at.levels)-1 != l.MaxDef || at.rep != l.MaxRep {
		return fmt.Errorf("field %s: levels %d,%d where the schema says %d,%d", strings.Join(at.path, "."), len(at.levels)-1, at.rep, l.MaxDef, l.MaxRep)
	}
	var length int
	c.typ, length = canonical(t)
	c.length = int32(length)
	el := element{name: name, typ: c.typ, length: c.length, rep: rep, children: -1, converted: -1, scale: -1, precision: -1}
	annotate(&el, t)
	e.list = append(e.list, el)
	e.shapes = append(e.shapes, c)
	return nil
}

// annotate gives an element the logical type, and the converted type where there is one, of an Avro type.
func annotate(el *element, t *schema.Type) {
	timestamp := func(unit int16, utc bool) {
		el.logical = logicalType{id: logTimestamp, utc: utc, unit: unit}
		if utc && unit == unitMillis {
			el.converted = convTsMillis
		} else if utc && unit == unitMicros {
			el.converted = convTsMicros
		}
	}
	switch t.Logical {
	case schema.Date:
		el.logical, el.converted = logicalType{id: logDate}, convDate
		return
	case schema.TimeMillis:
		el.logical, el.converted = logicalType{id: logTime, utc: true, unit: unitMillis}, convTimeMillis
		return
	case schema.TimeMicros:
		el.logical, el.converted = logicalType{id: logTime, utc: true, unit: unitMicros}, convTimeMicros
		return
	case schema.TimestampMillis:
		timestamp(unitMillis, true)
		return
	case schema.TimestampMicros:
		timestamp(unitMicros, true)
		return
	case schema.TimestampNanos:
		timestamp(unitNanos, true)
		return
	case schema.LocalTimestampMillis:
		timestamp(unitMillis, false)
		return
	case schema.LocalTimestampMicros:
		timestamp(unitMicros, false)
		return
	case schema.LocalTimestampNanos:
		timestamp(unitNanos, false)
		return
	case schema.Decimal:
		el.logical = logicalType{id: logDecimal, precision: int32(t.Precision), scale: int32(t.Scale)}
		el.converted, el.precision, el.scale = convDecimal, int32(t.Precision), int32(t.Scale)
		return
	}
	switch t.Kind {
	case schema.String:
		el.logical, el.converted = logicalType{id: logString}, convUTF8
	case schema.Enum:
		el.logical, el.converted = logicalType{id: logEnum}, convEnum
	}
}
