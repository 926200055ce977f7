package avrocodec

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// Encoder writes rows of a schema as Avro records of the same schema, framing arrays and maps as Java does: one block with a positive count,
// then zero. Not safe for concurrent use; Clone gives another one cheaply.
type Encoder struct {
	fields []encodeNode
	leaves int
	pos    []int // next value of each leaf
	end    []int
	row    record.Row
}

// encodeNode is a type with its levels and leaves.
type encodeNode struct {
	op       op
	nullable bool
	nullTag  byte
	nullAt   int // opUnion: branch number of null, -1: none
	leaf     int // first leaf
	endLeaf  int // one after the last
	def      int // definition level of a value
	rep      int // arrays, maps: repetition level inside
	size     int
	kind     record.PhysicalType
	path     string
	symbols  map[string]int64
	kids     []encodeNode
}

// NewEncoder compiles the plan.
func NewEncoder(s *schema.Schema) *Encoder {
	e := &Encoder{leaves: len(s.Leaves())}
	leaf := 0
	for i := range s.Root().Fields {
		f := &s.Root().Fields[i]
		n := planEncode(f.Type, spot{leaf: leaf, path: f.Name})
		leaf = n.endLeaf
		e.fields = append(e.fields, n)
	}
	return e.Clone()
}

// Clone returns an encoder of the same plan for another goroutine.
func (e *Encoder) Clone() *Encoder {
	return &Encoder{fields: e.fields, leaves: e.leaves, pos: make([]int, e.leaves), end: make([]int, e.leaves)}
}

func planEncode(t *schema.Type, at spot) encodeNode {
	n := encodeNode{op: ops[t.Kind], nullable: t.Nullable, nullAt: -1, leaf: at.leaf, endLeaf: at.leaf, def: at.def, size: t.Size,
		kind: record.PhysicalKind(t), path: at.path}
	if t.Nullable {
		n.def++
		if t.Kind == schema.Union {
			n.nullAt = t.NullIndex
		} else if !t.NullFirst {
			n.nullTag = 2
		}
	}
	add := func(t *schema.Type, name string, rep, def int) {
		k := planEncode(t, spot{leaf: n.endLeaf, rep: rep, def: def, path: at.path + "." + name})
		n.kids, n.endLeaf = append(n.kids, k), k.endLeaf
	}
	switch n.op {
	case opRecord:
		for i := range t.Fields {
			add(t.Fields[i].Type, t.Fields[i].Name, at.rep, n.def)
		}
	case opUnion:
		for i, b := range t.Branches {
			add(b, fmt.Sprintf("member%d", i), at.rep, n.def+1)
		}
	case opArray, opMap:
		n.rep = at.rep + 1
		if n.op == opMap {
			add(keyType, "key", n.rep, n.def+1)
			add(t.Elem, "value", n.rep, n.def+1)
		} else {
			add(t.Elem, "element", n.rep, n.def+1)
		}
	default:
		n.endLeaf++
		if n.op == opEnum {
			n.symbols = make(map[string]int64, len(t.Symbols))
			for i, s := range t.Symbols {
				n.symbols[s] = int64(i)
			}
		}
	}
	return n
}

// EncodeRow appends the record of row to dst. A row that does not fit the schema is an error, and dst comes back as it was.
func (e *Encoder) EncodeRow(dst []byte, row record.Row) ([]byte, error) {
	start := len(dst)
	e.row = row
	i := 0
	for c := range e.pos {
		e.pos[c] = i
		for i < len(row) && row[i].Column() == c {
			i++
		}
		e.end[c] = i
	}
	if i != len(row) {
		return dst, fmt.Errorf("the row has %d values where the schema takes %d", len(row), i)
	}
	dst, err := e.nodes(e.fields, dst)
	e.row = nil
	if err != nil {
		return dst[:start], err
	}
	for c := range e.pos {
		if e.pos[c] != e.end[c] {
			return dst[:start], fmt.Errorf("the row has %d values too many in leaf %d", e.end[c]-e.pos[c], c)
		}
	}
	return dst, nil
}

func (e *Encoder) nodes(nodes []encodeNode, dst []byte) ([]byte, error) {
	for i := range nodes {
		n := &nodes[i]
		if n.op == opUnion {
			var err error
			if dst, err = e.union(n, dst); err != nil {
				return dst, err
			}
			continue
		}
		p := e.pos[n.leaf]
		if p >= e.end[n.leaf] {
			return dst, n.lacks()
		}
		if e.row[p].DefinitionLevel() < n.def {
			if !n.nullable {
				return dst, fmt.Errorf("field %s: null, but the field is not nullable", n.path)
			}
			dst = append(dst, n.nullTag)
			if err := e.skip(n); err != nil {
				return dst, err
			}
			continue
		}
		if n.nullable {
			dst = append(dst, 2-n.nullTag)
		}
		var err error
		switch n.op {
		case opRecord:
			dst, err = e.nodes(n.kids, dst)
		case opArray, opMap:
			dst, err = e.list(n, dst)
		default:
			e.pos[n.leaf]++
			dst, err = n.primitive(dst, e.row[p])
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func (n *encodeNode) lacks() error { return fmt.Errorf("field %s: the row lacks a value", n.path) }

// skip consumes the null of each leaf.
func (e *Encoder) skip(n *encodeNode) error {
	for c := n.leaf; c < n.endLeaf; c++ {
		if e.pos[c] >= e.end[c] {
			return n.lacks()
		}
		e.pos[c]++
	}
	return nil
}

func (n *encodeNode) primitive(dst []byte, v record.Value) ([]byte, error) {
	if v.Kind() != n.kind {
		return dst, fmt.Errorf("field %s: a value of parquet type %s where the schema takes %s", n.path, v.Kind(), n.kind)
	}
	switch n.op {
	case opBytes:
		return appendBytes(dst, v.ByteArray()), nil
	case opLong:
		return appendLong(dst, v.Int64()), nil
	case opInt:
		return appendLong(dst, int64(v.Int32())), nil
	case opDouble:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Double())), nil
	case opFloat:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v.Float())), nil
	case opBool:
		if v.Boolean() {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case opFixed:
		b := v.ByteArray()
		if len(b) != n.size {
			return dst, fmt.Errorf("field %s: %d bytes do not fit fixed(%d)", n.path, len(b), n.size)
		}
		return append(dst, b...), nil
	}
	i, ok := n.symbols[record.Text(v)]
	if !ok {
		return dst, fmt.Errorf("field %s: %q is not a symbol of the enum", n.path, v.ByteArray())
	}
	return appendLong(dst, i), nil
}

// list writes an array or map. Its items are the values of its first leaf up to the next one with a lower repetition level.
func (e *Encoder) list(n *encodeNode, dst []byte) ([]byte, error) {
	p := e.pos[n.leaf]
	if e.row[p].DefinitionLevel() == n.def {
		return append(dst, 0), e.skip(n)
	}
	count := int64(1)
	for p++; p < e.end[n.leaf] && e.row[p].RepetitionLevel() >= n.rep; p++ {
		if e.row[p].RepetitionLevel() == n.rep {
			count++
		}
	}
	dst = appendLong(dst, count)
	for range count {
		var err error
		if dst, err = e.nodes(n.kids, dst); err != nil {
			return dst, err
		}
	}
	return append(dst, 0), nil
}

func (e *Encoder) union(n *encodeNode, dst []byte) ([]byte, error) {
	branch, deepest := -1, -1
	for i := range n.kids {
		k := &n.kids[i]
		if e.pos[k.leaf] >= e.end[k.leaf] {
			return dst, n.lacks()
		}
		def := e.row[e.pos[k.leaf]].DefinitionLevel()
		deepest = max(deepest, def)
		if def > n.def {
			if branch >= 0 {
				return dst, fmt.Errorf("field %s: two members of a union are set", n.path)
			}
			branch = i
		}
	}
	if branch < 0 {
		if n.nullAt < 0 || deepest >= n.def {
			return dst, fmt.Errorf("field %s: no member of a union is set", n.path)
		}
		return appendLong(dst, int64(n.nullAt)), e.skip(n)
	}
	tag := branch
	if n.nullAt >= 0 && branch >= n.nullAt {
		tag++
	}
	dst = appendLong(dst, int64(tag))
	for i := range n.kids {
		var err error
		if i == branch {
			dst, err = e.nodes(n.kids[i:i+1], dst)
		} else {
			err = e.skip(&n.kids[i])
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}
