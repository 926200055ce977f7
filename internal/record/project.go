package record

import (
	"fmt"
	"strings"

	"github.com/hudifs/hudifs/internal/schema"
)

// Projector turns rows of one schema into rows of another by a schema.Projection. Not safe for concurrent use.
type Projector struct {
	proj     *schema.Projection
	leaves   []projectLeaf
	identity bool
}

type projectLeaf struct {
	src  schema.LeafSource
	max  int // definition level of a value in To
	conv func(Value) (Value, error)
	fill Value // what a missing field has where its record is there
	path string
}

// NewProjector plans the projection from rows of from to rows of to.
func NewProjector(to, from *schema.Schema) (*Projector, error) {
	proj, err := schema.Project(to, from)
	if err != nil {
		return nil, err
	}
	p := &Projector{proj: proj, identity: proj.Identity()}
	for i, src := range proj.Leaves {
		l := &to.Leaves()[i]
		pl := projectLeaf{src: src, max: l.MaxDef, path: strings.Join(l.Path, ".")}
		if src.From >= 0 {
			pl.conv = Converter(src.Convert, l.Type, from.Leaves()[src.From].Type)
		} else if src.FillDef == l.MaxDef {
			if pl.fill, err = LeafValue(src.Default, l.Type); err != nil {
				return nil, fmt.Errorf("field %s: default: %w", pl.path, err)
			}
		}
		p.leaves = append(p.leaves, pl)
	}
	return p, nil
}

// Identity reports whether rows can be used as they are.
func (p *Projector) Identity() bool { return p.identity }

// Project appends row, of the schema from, to dst as a row of the schema to. Strings and bytes are shared.
func (p *Projector) Project(dst Row, row Row) (Row, error) {
	if p.identity {
		return append(dst, row...), nil
	}
	start := len(dst)
	for i := range p.leaves {
		var err error
		if dst, err = p.leaf(dst, row, i); err != nil {
			return dst[:start], err
		}
	}
	return dst, nil
}

func (p *Projector) leaf(dst, row Row, to int) (Row, error) {
	l := &p.leaves[to]
	if l.src.From < 0 && l.src.Like < 0 {
		return append(dst, l.filled(0, l.src.FillDef, to)), nil
	}
	leaf := l.src.From
	if leaf < 0 {
		leaf = l.src.Like
	}
	from, end := Span(row, leaf)
	if from == end {
		return dst, fmt.Errorf("field %s: the row lacks a value", l.path)
	}
	for _, v := range row[from:end] {
		rep, def := v.RepetitionLevel(), v.DefinitionLevel()
		if def >= len(l.src.DefMap) {
			return dst, fmt.Errorf("field %s: %w", l.path, errLevels)
		}
		def = l.src.DefMap[def]
		switch {
		case l.src.From < 0:
			if rep <= l.src.LikeRep {
				dst = append(dst, l.filled(rep, def, to))
			}
		case def < 0:
			return dst, p.proj.NullError(to)
		case def < l.max || v.DefinitionLevel() < len(l.src.DefMap)-1:
			dst = append(dst, Null(rep, def, to))
		default:
			if l.conv != nil {
				var err error
				if v, err = l.conv(v); err != nil {
					return dst, fmt.Errorf("field %s: %w", l.path, err)
				}
			}
			dst = append(dst, v.Level(rep, def, to))
		}
	}
	return dst, nil
}

// filled is the value of a field that from lacks.
func (l *projectLeaf) filled(rep, def, col int) Value {
	if def == l.max {
		return l.fill.Level(rep, def, col)
	}
	return Null(rep, def, col)
}
