package record

import (
	"errors"
	"fmt"

	"github.com/hudifs/hudifs/internal/schema"
)

// Assembler turns rows of one schema into Go values. Not safe for concurrent use.
type Assembler struct {
	fields []*shredNode
	pos    []int // next value of each leaf
	end    []int
	row    Row
}

// errLevels says that a row's levels do not fit its schema.
var errLevels = errors.New("the row's levels do not fit the schema")

// NewAssembler plans s.
func NewAssembler(s *schema.Schema) *Assembler {
	n := len(s.Leaves())
	return &Assembler{fields: NewShredder(s).fields, pos: make([]int, n), end: make([]int, n)}
}

// Assemble returns one Go value per top-level field, reusing dst. The values do not share the row's memory.
func (a *Assembler) Assemble(dst []any, row Row) ([]any, error) {
	if err := a.start(row); err != nil {
		return dst[:0], err
	}
	dst = dst[:0]
	for _, n := range a.fields {
		v, err := a.value(n, 0)
		if err != nil {
			return dst, fmt.Errorf("field %s: %w", n.path, err)
		}
		for c := n.leaf; c < n.end; c++ {
			if a.pos[c] != a.end[c] {
				return dst, fmt.Errorf("field %s: %w", n.path, errLevels)
			}
		}
		dst = append(dst, v)
	}
	a.row = nil
	return dst, nil
}

// start finds the span of each leaf.
func (a *Assembler) start(row Row) error {
	a.row = row
	i := 0
	for c := range a.pos {
		a.pos[c] = i
		for i < len(row) && row[i].Column() == c {
			i++
		}
		a.end[c] = i
		if a.pos[c] == i || row[a.pos[c]].RepetitionLevel() != 0 {
			return fmt.Errorf("the row has no first value of leaf %d: %w", c, errLevels)
		}
	}
	if i != len(row) {
		return fmt.Errorf("the row has a value of leaf %d, beyond the schema: %w", row[i].Column(), errLevels)
	}
	return nil
}

// value reads a node; above is the definition level reached above it.
func (a *Assembler) value(n *shredNode, above int) (any, error) {
	if n.leaf == n.end {
		return nil, errLevels
	}
	if a.pos[n.leaf] >= a.end[n.leaf] {
		return nil, errLevels
	}
	if def := a.row[a.pos[n.leaf]].DefinitionLevel(); n.typ.Kind != schema.Union && def < n.def || n.typ.Kind == schema.Union && a.deepest(n) < n.def {
		if !n.typ.Nullable || def < above {
			return nil, errLevels
		}
		return nil, a.skip(n)
	}
	switch n.typ.Kind {
	case schema.Record:
		vals := make([]any, len(n.children))
		for i, c := range n.children {
			v, err := a.value(c, n.def)
			if err != nil {
				return nil, err
			}
			vals[i] = v
		}
		return vals, nil
	case schema.Union:
		return a.union(n)
	case schema.Array:
		return a.array(n)
	case schema.Map:
		return a.entries(n)
	}
	v := a.row[a.pos[n.leaf]]
	a.pos[n.leaf]++
	return GoValue(v, n.typ), nil
}

// deepest is the highest definition level among the next values of a union's members.
func (a *Assembler) deepest(n *shredNode) int {
	d := -1
	for _, c := range n.children {
		if a.pos[c.leaf] < a.end[c.leaf] {
			d = max(d, a.row[a.pos[c.leaf]].DefinitionLevel())
		}
	}
	return d
}

// skip consumes one null value of each leaf below n.
func (a *Assembler) skip(n *shredNode) error {
	for c := n.leaf; c < n.end; c++ {
		if a.pos[c] >= a.end[c] {
			return errLevels
		}
		a.pos[c]++
	}
	return nil
}

func (a *Assembler) union(n *shredNode) (any, error) {
	u := UnionValue{Branch: -1}
	for i, c := range n.children {
		if a.pos[c.leaf] >= a.end[c.leaf] {
			return nil, errLevels
		}
		if a.row[a.pos[c.leaf]].DefinitionLevel() <= n.def {
			if err := a.skip(c); err != nil {
				return nil, err
			}
			continue
		}
		v, err := a.value(c, n.def+1)
		if err != nil {
			return nil, err
		}
		if u.Branch >= 0 {
			return nil, errLevels
		}
		u = UnionValue{Branch: i, Value: v}
	}
	if u.Branch < 0 {
		return nil, errLevels
	}
	return u, nil
}

// more reports whether the list n goes on in the next value of its first leaf.
func (a *Assembler) more(n *shredNode) bool {
	p := a.pos[n.leaf]
	return p < a.end[n.leaf] && a.row[p].RepetitionLevel() == n.rep
}

func (a *Assembler) array(n *shredNode) (any, error) {
	list := []any{}
	if a.row[a.pos[n.leaf]].DefinitionLevel() == n.def {
		return list, a.skip(n)
	}
	for {
		v, err := a.value(n.children[0], n.def+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if !a.more(n) {
			return list, nil
		}
	}
}

func (a *Assembler) entries(n *shredNode) (any, error) {
	list := []MapEntry{}
	if a.row[a.pos[n.leaf]].DefinitionLevel() == n.def {
		return list, a.skip(n)
	}
	for {
		k, err := a.value(n.children[0], n.def+1)
		if err != nil {
			return nil, err
		}
		v, err := a.value(n.children[1], n.def+1)
		if err != nil {
			return nil, err
		}
		list = append(list, MapEntry{Key: k.(string), Value: v})
		if !a.more(n) {
			return list, nil
		}
	}
}
