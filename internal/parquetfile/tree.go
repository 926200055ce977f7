package parquetfile

import (
	"errors"
	"fmt"
)

// maxNesting bounds the depth of a file's schema, so that levels fit a byte and walks stay shallow.
const maxNesting = 120

// maxColumns is what a row in memory can number.
const maxColumns = 32767

// node is one element of a file's schema with its place.
type node struct {
	element
	kids   []*node
	maxDef int
	maxRep int
	column int // leaf: its number; group: -1
}

func (n *node) leaf() bool { return n.column >= 0 }

// fileTree is a file's schema.
type fileTree struct {
	root   *node
	leaves []*node
}

// buildTree turns the flat list of a footer into nodes.
func buildTree(list []element) (*fileTree, error) {
	if len(list) == 0 {
		return nil, errors.New("the footer has no schema")
	}
	t := &fileTree{}
	rest := list
	root, err := t.take(&rest, nil, 0)
	if err != nil {
		return nil, err
	}
	if len(rest) != 0 {
		return nil, fmt.Errorf("the footer's schema has %d elements too many", len(rest))
	}
	if root.leaf() {
		return nil, errors.New("the footer's schema is a single column and not a group")
	}
	t.root = root
	return t, nil
}

// take removes one node with its children from the front of rest.
func (t *fileTree) take(rest *[]element, parent *node, depth int) (*node, error) {
	if len(*rest) == 0 {
		return nil, errors.New("the footer's schema ends too early")
	}
	if depth > maxNesting {
		return nil, fmt.Errorf("the footer's schema is nested deeper than %d", maxNesting)
	}
	n := &node{element: (*rest)[0], column: -1}
	*rest = (*rest)[1:]
	if parent != nil {
		n.maxDef, n.maxRep = parent.maxDef, parent.maxRep
		switch n.rep {
		case repOptional:
			n.maxDef++
		case repRepeated:
			n.maxDef++
			n.maxRep++
		case repRequired:
		default:
			return nil, fmt.Errorf("column %q has no repetition", n.name)
		}
	}
	if n.typ >= 0 {
		if n.typ == physFixed && (n.length <= 0 || n.length > maxPageBytes) {
			return nil, fmt.Errorf("column %q has a fixed length of %d bytes", n.name, n.length)
		}
		if len(t.leaves) == maxColumns {
			return nil, fmt.Errorf("the file has more than %d columns", maxColumns)
		}
		n.column = len(t.leaves)
		t.leaves = append(t.leaves, n)
		return n, nil
	}
	if int64(n.children) > int64(len(*rest)) {
		return nil, fmt.Errorf("group %q claims %d children", n.name, n.children)
	}
	for range n.children {
		kid, err := t.take(rest, n, depth+1)
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, kid)
	}
	return n, nil
}

// Annotations, whichever of the two forms the writer used.

func (n *node) isList() bool {
	return n.logical.id == logList || n.logical.id == logNone && n.converted == convList
}

func (n *node) isMap() bool {
	return n.logical.id == logMap || n.logical.id == logNone && (n.converted == convMap || n.converted == convMapKeyValue)
}

func (n *node) isDecimal() (precision, scale int, ok bool) {
	if n.logical.id == logDecimal {
		return int(n.logical.precision), int(n.logical.scale), true
	}
	if n.logical.id == logNone && n.converted == convDecimal {
		return int(n.element.precision), int(max(n.element.scale, 0)), true
	}
	return 0, 0, false
}

// timestamp returns the unit of a timestamp and whether it is an instant.
func (n *node) timestamp() (unit int16, utc, ok bool) {
	switch {
	case n.typ != physInt64:
	case n.logical.id == logTimestamp:
		return n.logical.unit, n.logical.utc, true
	case n.logical.id != logNone:
	case n.converted == convTsMillis:
		return unitMillis, true, true
	case n.converted == convTsMicros:
		return unitMicros, true, true
	}
	return 0, false, false
}

func (n *node) timeOfDay() (unit int16, ok bool) {
	switch {
	case n.logical.id == logTime:
		return n.logical.unit, true
	case n.logical.id != logNone:
	case n.converted == convTimeMillis:
		return unitMillis, true
	case n.converted == convTimeMicros:
		return unitMicros, true
	}
	return 0, false
}

func (n *node) isDate() bool {
	return n.typ == physInt32 && (n.logical.id == logDate || n.logical.id == logNone && n.converted == convDate)
}

// unsigned returns the width of an unsigned integer, 0 where it is signed or no integer.
func (n *node) unsigned() int {
	switch {
	case n.logical.id == logInteger && !n.logical.signed:
		return int(n.logical.bits)
	case n.logical.id == logNone && n.converted >= convUint8 && n.converted < convUint8+4:
		return 8 << (n.converted - convUint8)
	}
	return 0
}

// isText reports whether a BYTE_ARRAY is annotated as text.
func (n *node) isText() bool {
	switch n.logical.id {
	case logString, logEnum, logJSON:
		return true
	case logNone:
		return n.converted == convUTF8 || n.converted == convEnum || n.converted == convJSON
	}
	return false
}

// listElement applies parquet's rules for lists old and new (data.md §2.4) to a LIST group. It returns the repeated node and the element,
// which are the same node where the repeated node itself is the element.
func (n *node) listElement() (repeated, element *node, err error) {
	if len(n.kids) != 1 || n.kids[0].rep != repRepeated {
		return nil, nil, fmt.Errorf("list %q does not hold one repeated field", n.name)
	}
	r := n.kids[0]
	switch {
	case r.leaf(), len(r.kids) != 1, r.isList(), r.isMap(), r.name == "array", r.name == n.name+"_tuple":
		return r, r, nil
	}
	return r, r.kids[0], nil
}

// mapEntry returns the repeated node, the key and the value (nil where the map has keys alone) of a MAP group.
func (n *node) mapEntry() (repeated, key, value *node, err error) {
	if len(n.kids) != 1 || n.kids[0].rep != repRepeated || n.kids[0].leaf() || len(n.kids[0].kids) == 0 || len(n.kids[0].kids) > 2 {
		return nil, nil, nil, fmt.Errorf("map %q does not hold one repeated group of a key and a value", n.name)
	}
	r := n.kids[0]
	if len(r.kids) == 2 {
		value = r.kids[1]
	}
	return r, r.kids[0], value, nil
}
