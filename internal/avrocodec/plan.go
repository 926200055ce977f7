// Package avrocodec turns Avro bytes into rows and back, by plans compiled from schemas, and reads and writes Avro container files.
//
// It knows Avro's binary encoding. It must never know where the bytes come from.
package avrocodec

import (
	"fmt"
	"strconv"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// op says how the bytes of a node are read.
type op uint8

const (
	opBool op = iota
	opInt
	opLong
	opFloat
	opDouble
	opBytes // string and bytes
	opFixed
	opEnum
	opRecord
	opArray
	opMap
	opUnion
)

var ops = map[schema.Kind]op{
	schema.Boolean: opBool, schema.Int: opInt, schema.Long: opLong, schema.Float: opFloat, schema.Double: opDouble, schema.Bytes: opBytes,
	schema.String: opBytes, schema.Fixed: opFixed, schema.Enum: opEnum, schema.Record: opRecord, schema.Array: opArray, schema.Map: opMap,
	schema.Union: opUnion,
}

// node is a type of the writer's schema with what becomes of it in the reader's.
type node struct {
	op       op
	nullable bool
	nullTag  byte // the union's branch number, as encoded, that means null; the other is 2 - nullTag
	refuse   bool // null is an error: the reader's type is not nullable
	leaf     int  // reader's leaf of a primitive, -1: skip the bytes
	def      int  // reader's definition level of a value
	rep      int  // arrays, maps: the reader's repetition level inside
	size     int  // opFixed
	nullAt   int  // opUnion: branch number of null, -1: none
	conv     func(record.Value) (record.Value, error)
	path     string
	nulls    []record.Value // what a null becomes, one value for each leaf below
	fills    []record.Value // opRecord: values of the reader's fields that the writer lacks; opArray, opMap: what an empty one becomes
	symbols  []record.Value // opEnum
	kids     []node         // fields, the element, the key and the value, or the branches
	others   [][]record.Value
	last     int // opRecord: number of kids up to the last one that the reader wants
}

// compiler builds nodes by walking the writer's and the reader's schema together. Project has proved before that they fit.
type compiler struct {
	proj *schema.Projection
}

// spot is where the reader's side of the walk stands. A nil type means that the reader does not want the value.
type spot struct {
	typ  *schema.Type
	leaf int // first leaf
	rep  int
	def  int // definition level reached above the type
	path string
}

func (at spot) field(f *schema.Field, leaf, def int) spot {
	at.typ, at.leaf, at.def, at.path = f.Type, leaf, def, at.path+"."+f.Name
	return at
}

func (c *compiler) node(from *schema.Type, at spot) (node, error) {
	n := node{op: ops[from.Kind], nullable: from.Nullable, leaf: -1, size: from.Size, nullAt: -1, path: at.path}
	if from.Kind == schema.Union {
		n.nullable = false
		if from.Nullable {
			n.nullAt = from.NullIndex
		}
	} else if from.Nullable && !from.NullFirst {
		n.nullTag = 2
	}
	if at.typ != nil {
		n.def = at.def
		if at.typ.Nullable {
			n.def++
		}
		n.refuse = !at.typ.Nullable
		n.nulls = nulls(at.leaf, at.leaf+at.typ.NumLeaves(), at.def)
		at.def = n.def
	}
	var err error
	switch n.op {
	case opRecord:
		err = c.record(&n, from, at)
	case opArray, opMap:
		err = c.list(&n, from, at)
	case opUnion:
		err = c.union(&n, from, at)
	default:
		err = c.primitive(&n, from, at)
	}
	return n, err
}

// nulls are null values of leaves [from,to).
func nulls(from, to, def int) []record.Value {
	out := make([]record.Value, 0, to-from)
	for l := from; l < to; l++ {
		out = append(out, record.Null(0, def, l))
	}
	return out
}

func (c *compiler) primitive(n *node, from *schema.Type, at spot) error {
	if at.typ != nil {
		n.leaf = at.leaf
		conv, err := schema.Convert(at.typ, from)
		if err != nil {
			return fmt.Errorf("field %s: %w", at.path, err)
		}
		n.conv = record.Converter(conv, at.typ, from)
		if from.Kind == schema.String && at.typ.Kind == schema.Enum {
			n.conv = symbolOf(at.typ)
		}
	}
	for _, s := range from.Symbols {
		v := record.String(s)
		if n.leaf >= 0 {
			v = v.Level(0, n.def, n.leaf)
		}
		n.symbols = append(n.symbols, v)
	}
	return nil
}

// symbolOf checks that a string is a symbol of the reader's enum.
func symbolOf(t *schema.Type) func(record.Value) (record.Value, error) {
	return func(v record.Value) (record.Value, error) { return record.LeafValue(record.Text(v), t) }
}

func (c *compiler) record(n *node, from *schema.Type, at spot) error {
	want := make([]int, len(from.Fields)) // writer's field → reader's field + 1
	var starts []int
	if at.typ != nil {
		leaf := at.leaf
		for i, j := range schema.MatchFields(at.typ, from) {
			starts = append(starts, leaf)
			end := leaf + at.typ.Fields[i].Type.NumLeaves()
			if j >= 0 {
				want[j] = i + 1
			} else if err := c.missing(n, leaf, end); err != nil {
				return err
			}
			leaf = end
		}
	}
	n.kids = make([]node, len(from.Fields))
	for j := range from.Fields {
		below := spot{path: at.path + "." + from.Fields[j].Name}
		if i := want[j] - 1; i >= 0 {
			below = at.field(&at.typ.Fields[i], starts[i], at.def)
			n.last = j + 1
		}
		var err error
		if n.kids[j], err = c.node(from.Fields[j].Type, below); err != nil {
			return err
		}
	}
	return nil
}

// missing prepares the values of reader's leaves that the writer lacks.
func (c *compiler) missing(n *node, from, to int) error {
	for l := from; l < to; l++ {
		src := c.proj.Leaves[l]
		leaf := &c.proj.To.Leaves()[l]
		if src.FillDef < leaf.MaxDef {
			n.fills = append(n.fills, record.Null(0, src.FillDef, l))
			continue
		}
		v, err := record.LeafValue(src.Default, leaf.Type)
		if err != nil {
			return fmt.Errorf("field %s: default: %w", leaf.Path[len(leaf.Path)-1], err)
		}
		n.fills = append(n.fills, v.Level(0, src.FillDef, l))
	}
	return nil
}

var keyType = &schema.Type{Kind: schema.String}

func (c *compiler) list(n *node, from *schema.Type, at spot) error {
	below := spot{path: at.path}
	if at.typ != nil {
		n.rep = at.rep + 1
		n.fills = nulls(at.leaf, at.leaf+at.typ.NumLeaves(), at.def)
		below = spot{typ: at.typ.Elem, leaf: at.leaf, rep: n.rep, def: at.def + 1, path: at.path + ".element"}
	}
	if from.Kind == schema.Map {
		key := below
		if at.typ != nil {
			key.typ = keyType
			below.leaf++
			below.path = at.path + ".value"
		}
		k, err := c.node(keyType, key)
		if err != nil {
			return err
		}
		n.kids = append(n.kids, k)
	}
	e, err := c.node(from.Elem, below)
	n.kids = append(n.kids, e)
	return err
}

func (c *compiler) union(n *node, from *schema.Type, at spot) error {
	n.kids = make([]node, len(from.Branches))
	n.others = make([][]record.Value, len(from.Branches))
	spots := make([]spot, len(from.Branches))
	if at.typ != nil {
		leaf, end := at.leaf, at.leaf+at.typ.NumLeaves()
		for i, j := range schema.MatchBranches(at.typ, from) {
			next := leaf + at.typ.Branches[i].NumLeaves()
			if j >= 0 {
				spots[j] = spot{typ: at.typ.Branches[i], leaf: leaf, rep: at.rep, def: at.def + 1, path: at.path + ".member" + strconv.Itoa(i)}
				n.others[j] = append(nulls(at.leaf, leaf, at.def), nulls(next, end, at.def)...)
			}
			leaf = next
		}
	}
	for j, b := range from.Branches {
		var err error
		if n.kids[j], err = c.node(b, spots[j]); err != nil {
			return err
		}
	}
	return nil
}
