package parquetfile

import (
	"slices"
	"strings"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// ColumnStats are one leaf's bounds over the whole file, from the footer.
type ColumnStats struct {
	Name               string // dotted field names, as Leaf.Path
	Leaf               int    // in Schema
	Min, Max           any    // Go values as record.Assembler gives them; nil: unknown or none
	Nulls              int64  // -1: unknown
	Values             int64  // nulls included
	Size, Uncompressed int64
}

// Stats returns the footer's statistics per leaf of Schema. Bounds are given only where they are exact values of the right order: a bound
// that some writer cut, or ordered by signed bytes, is left out.
func (f *File) Stats() []ColumnStats {
	leaves := f.schema.Leaves()
	out := make([]ColumnStats, len(leaves))
	for i := range leaves {
		out[i] = f.leafStats(i, &leaves[i])
	}
	return out
}

func (f *File) leafStats(i int, l *schema.Leaf) ColumnStats {
	bind := &f.leaves[i]
	n := f.tree.leaves[bind.column]
	s := ColumnStats{Name: strings.Join(l.Path, "."), Leaf: i}
	o := f.boundsOrder(n)
	var b bounds
	for g := range f.meta.groups {
		ch := &f.meta.groups[g].columns[n.column]
		s.Values += ch.values
		s.Size += ch.compressed
		s.Uncompressed += ch.uncompressed
		if ch.stats.nulls < 0 || ch.stats.nulls > ch.values {
			s.Nulls = -1
		} else if s.Nulls >= 0 {
			s.Nulls += ch.stats.nulls
		}
		c := chunkBounds(ch, n, o)
		b.add(o, &c)
	}
	if b.any && !b.unknown && !slices.Contains([]convert{uint32Long, uint64Decimal, halfFloat, int96Micros}, bind.decode.convert) {
		s.Min, s.Max = f.goValue(bind, n, l, b.min), f.goValue(bind, n, l, b.max)
		if s.Min == nil || s.Max == nil {
			s.Min, s.Max = nil, nil
		}
	}
	return s
}

// boundsOrder is orderOfColumn where the file says that its bounds are in that order. Numbers compare the same in every file.
func (f *File) boundsOrder(n *node) order {
	o := orderOfColumn(n)
	if o == orderBytes || o == orderDecimal {
		if n.column >= len(f.meta.orders) || !f.meta.orders[n.column] {
			return orderNone
		}
	}
	return o
}

// chunkBounds reads the bounds of a chunk. A chunk of nulls alone has the bounds of no values.
func chunkBounds(ch *chunkMeta, n *node, o order) bounds {
	lo, hi := ch.stats.min, ch.stats.max
	if lo == nil && hi == nil && o != orderBytes && o != orderDecimal {
		lo, hi = ch.stats.oldMin, ch.stats.oldMax // right for signed numbers
	}
	if ch.values == 0 || ch.stats.nulls == ch.values {
		return bounds{}
	}
	ok := o != orderNone && lo != nil && hi != nil && !ch.stats.inexact
	if ok && o.width() > 0 {
		ok = len(lo) == o.width() && len(hi) == o.width()
	} else if ok && n.typ == physFixed {
		ok = len(lo) == int(n.length) && len(hi) == int(n.length)
	}
	if !ok || nan(o, lo) || nan(o, hi) || o.compare(lo, hi) > 0 {
		return bounds{any: true, unknown: true}
	}
	return bounds{min: lo, max: hi, any: true}
}

// goValue is a plain bound as a Go value of the leaf, nil where it cannot be one.
func (f *File) goValue(b *binding, n *node, l *schema.Leaf, v []byte) any {
	kind, _ := canonical(l.Type)
	if n.typ == physBool && v[0] > 1 {
		return nil
	}
	val, err := physicalValue(b.decode, n.typ, kind, v)
	if err != nil {
		return nil
	}
	return record.GoValue(val, l.Type)
}
