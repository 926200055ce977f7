package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Projection says for each leaf of the schema To how to get it from a row written with From. See Project.
type Projection struct {
	To, From *Schema
	Leaves   []LeafSource // one per leaf of To
}

// LeafSource is one leaf's origin.
//
// Where From ≥ 0, each value of that leaf gives one value of the leaf of To, with the same repetition level and the definition level
// DefMap[d]; -1 there means a null that To cannot hold: the reader must fail (see NullError).
//
// FillDef is set wherever From is -1.
//
// Where From is -1 the field is not there. Its values then follow those of the leaf Like, which shows where the enclosing record stands: each
// value of Like with a repetition level ≤ LikeRep gives one value of the same repetition level and the definition level DefMap[d]. With Like -1
// the field is missing at the top level: each row has one value, with repetition level 0 and definition level FillDef. Either way the value is
// Default where the resulting level is the leaf's MaxDef, else null.
type LeafSource struct {
	From    int   // leaf index in From, -1: not there, fill with the default (null where there is none)
	DefMap  []int // definition level in From → level in To
	Convert Conversion
	Default any // where From is -1: the field's default as a Go value (see LeafDefault), nil for null
	Like    int // where From is -1: leaf index in From whose levels to follow, -1: none
	LikeRep int // values of Like with a higher repetition level are left out
	FillDef int // where From is -1: the definition level of the value where the enclosing record is there
}

// Conversion is a promotion of values (data.md §12.2). internal/record.Converter carries it out.
type Conversion uint8

// The promotions.
const (
	Same Conversion = iota
	IntToLong
	IntToFloat
	IntToDouble
	LongToFloat
	LongToDouble
	FloatToDouble // by the shortest decimal: float 0.1 becomes double 0.1, as Hudi's Spark readers do
	ToString      // any number, date, uuid to its string as Hudi prints it
	StringToBytes
	BytesToString
	StringToDate
	Rescale // decimal to another precision or scale
	MillisToMicros
	MicrosToMillis
	MicrosToNanos
	NanosToMicros
	MillisToNanos
	NanosToMillis
	FixedToBytes
	ToDecimal // whole numbers, floating numbers and strings to a decimal
)

// NullError is the error of a row that has a null where to's leaf, or a record or list around it, must not be null.
func (p *Projection) NullError(toLeaf int) error {
	return fmt.Errorf("field %s: a stored row is null where the schema allows none", strings.Join(p.To.leaves[toLeaf].Path, "."))
}

// Identity reports whether every leaf comes unchanged from the same place, so that rows can be used as they are.
func (p *Projection) Identity() bool {
	if len(p.To.leaves) != len(p.From.leaves) {
		return false
	}
	for i := range p.Leaves {
		l := &p.Leaves[i]
		if l.From != i || l.Convert != Same {
			return false
		}
		for d, m := range l.DefMap {
			if d != m {
				return false
			}
		}
	}
	return true
}

// Project plans reading rows written with from under the schema to: fields by name (and alias), added, dropped, reordered, promoted.
// It fails with an error that names the field where a value could not be read truthfully.
func Project(to, from *Schema) (*Projection, error) {
	p := projector{from: from, out: make([]LeafSource, 0, len(to.leaves))}
	if err := p.record(to.root, from.root, place{defs: []int{0}, like: -1}); err != nil {
		return nil, fmt.Errorf("read schema %s as %s: %w", from.root.FullName(), to.root.FullName(), err)
	}
	return &Projection{To: to, From: from, Leaves: p.out}, nil
}

// projector walks both trees together and appends one source per leaf of To.
type projector struct {
	from *Schema
	out  []LeafSource
}

// place is where the walk stands.
type place struct {
	path string
	leaf int   // first leaf of the node in From
	rep  int   // repetition level
	defs []int // definition level in From → in To, up to "present here"
	like int   // a leaf of From below the enclosing record, -1 at the top
}

// deeper returns the place with one more level of From, mapped to one more level of To where both have it.
func (at place) deeper(toLevel int) place {
	at.defs = append(slices.Clone(at.defs), toLevel)
	return at
}

// last is the level of To that means "present here".
func (at place) last() int { return at.defs[len(at.defs)-1] }

// mapLast returns the place with another meaning of the highest level.
func (at place) mapLast(toLevel int) place {
	at.defs = slices.Clone(at.defs)
	at.defs[len(at.defs)-1] = toLevel
	return at
}

func (at place) errorf(err error) error { return fmt.Errorf("field %s: %w", at.path, err) }

func (p *projector) node(to, from *Type, at place) error {
	t := at.last()
	switch {
	case from.Nullable && to.Nullable:
		at = at.deeper(t + 1)
	case from.Nullable:
		at = at.mapLast(-1).deeper(t)
	case to.Nullable:
		at = at.mapLast(t + 1)
	}
	if to.Primitive() && from.Primitive() {
		c, err := Convert(to, from)
		if err != nil {
			return at.errorf(err)
		}
		p.out = append(p.out, LeafSource{From: at.leaf, DefMap: at.defs, Convert: c, Like: -1})
		return nil
	}
	if to.Kind != from.Kind {
		return at.errorf(mismatch(to, from))
	}
	switch to.Kind {
	case Record:
		at.like = p.shallowest(at.leaf, from.NumLeaves())
		return p.record(to, from, at)
	case Union:
		return p.union(to, from, at)
	}
	at = at.deeper(at.last() + 1)
	at.rep++
	if to.Kind == Map {
		p.out = append(p.out, LeafSource{From: at.leaf, DefMap: at.defs, Like: -1})
		at.leaf++
		at.path += ".key_value.value"
	} else {
		at.path += ".list.element"
	}
	return p.node(to.Elem, from.Elem, at)
}

func (p *projector) record(to, from *Type, at place) error {
	leaf := at.leaf
	offsets := make([]int, len(from.Fields))
	for i, f := range from.Fields {
		offsets[i] = leaf
		leaf += f.Type.NumLeaves()
	}
	match := MatchFields(to, from)
	for i := range to.Fields {
		f := &to.Fields[i]
		below := at
		below.path = strings.TrimPrefix(at.path+"."+f.Name, ".")
		j := match[i]
		if j < 0 {
			if err := p.fill(f.Type, f.HasDefault, f.Default, filling{at: below, level: at.last()}); err != nil {
				return below.errorf(err)
			}
			continue
		}
		below.leaf = offsets[j]
		if err := p.node(f.Type, from.Fields[j].Type, below); err != nil {
			return err
		}
	}
	return nil
}

// MatchFields says for each field of record to which field of record from it is read from, -1 where none: the one of the same name, else the
// first that an alias names and no other field of to takes.
func MatchFields(to, from *Type) []int {
	byName := make(map[string]int, len(from.Fields))
	for i := range from.Fields {
		byName[from.Fields[i].Name] = i
	}
	taken := make([]bool, len(from.Fields))
	out := make([]int, len(to.Fields))
	for i := range to.Fields {
		out[i] = -1
		if j, ok := byName[to.Fields[i].Name]; ok {
			out[i], taken[j] = j, true
		}
	}
	for i := range to.Fields {
		for _, alias := range to.Fields[i].Aliases {
			if j, ok := byName[alias]; ok && out[i] < 0 && !taken[j] {
				out[i], taken[j] = j, true
			}
		}
	}
	return out
}

// MatchBranches says for each branch of union to which branch of union from it is read from, -1 where none: the one of the same kind and, for
// named types, the same name.
func MatchBranches(to, from *Type) []int {
	out := make([]int, len(to.Branches))
	for i, b := range to.Branches {
		out[i] = matchBranch(b, from.Branches)
	}
	return out
}

// union matches branches by kind and name. Every branch of From must have one in To; the others are never set.
func (p *projector) union(to, from *Type, at place) error {
	at.like = p.shallowest(at.leaf, from.NumLeaves())
	offsets := make([]int, len(from.Branches))
	taken := make([]bool, len(from.Branches))
	leaf := at.leaf
	for i, b := range from.Branches {
		offsets[i] = leaf
		leaf += b.NumLeaves()
	}
	match := MatchBranches(to, from)
	for i, b := range to.Branches {
		below := at
		below.path = fmt.Sprintf("%s.member%d", at.path, i)
		j := match[i]
		if j < 0 {
			if err := p.fill(Optional(*b), false, nil, filling{at: below, level: at.last()}); err != nil {
				return below.errorf(err)
			}
			continue
		}
		taken[j] = true
		below.leaf = offsets[j]
		if err := p.node(b, from.Branches[j], below.deeper(at.last()+1)); err != nil {
			return err
		}
	}
	for j, b := range from.Branches {
		if !taken[j] {
			return at.errorf(fmt.Errorf("its union lacks the branch %s", branchName(b)))
		}
	}
	return nil
}

// matchBranch finds the branch of the same kind and, for named types, the same name; the namespace counts only among equals.
func matchBranch(b *Type, in []*Type) int {
	found := -1
	for i, o := range in {
		if o.Kind != b.Kind || o.Name != b.Name {
			continue
		}
		if o.Namespace == b.Namespace {
			return i
		}
		if found < 0 {
			found = i
		}
	}
	return found
}

// filling is where a missing field goes: the place of the enclosing record and the level of To reached so far.
type filling struct {
	at    place
	level int
}

// fill appends sources for all leaves of a field that From lacks.
func (p *projector) fill(t *Type, has bool, def any, f filling) error {
	if t.Nullable && def == nil {
		p.fillNull(t, f)
		return nil
	}
	if !has {
		return errNoDefault
	}
	if t.Nullable {
		f.level++
	}
	switch t.Kind {
	case Record:
		m, ok := def.(map[string]any)
		if !ok {
			return fmt.Errorf("default %v does not fit a record", def)
		}
		for i := range t.Fields {
			d, ok := m[t.Fields[i].Name]
			if !ok {
				d, ok = t.Fields[i].Default, t.Fields[i].HasDefault
			}
			if err := p.fill(t.Fields[i].Type, ok, d, f); err != nil {
				return err
			}
		}
		return nil
	case Array, Map:
		if l, ok := def.([]any); ok && len(l) == 0 && t.Kind == Array {
			p.fillNull(t, f)
			return nil
		}
		if m, ok := def.(map[string]any); ok && len(m) == 0 && t.Kind == Map {
			p.fillNull(t, f)
			return nil
		}
		return fmt.Errorf("default %v of an %s: only an empty one can be filled in", def, t.Kind)
	case Union: // a default belongs to the first branch
		for i, b := range t.Branches {
			if i > 0 {
				p.fillNull(b, f)
				continue
			}
			below := f
			below.level++
			if err := p.fill(b, true, def, below); err != nil {
				return err
			}
		}
		return nil
	}
	v, err := LeafDefault(t, def)
	if err != nil {
		return err
	}
	p.out = append(p.out, p.filled(f, v))
	return nil
}

// fillNull appends sources for all leaves of t that end at the level reached so far.
func (p *projector) fillNull(t *Type, f filling) {
	for range t.NumLeaves() {
		p.out = append(p.out, p.filled(f, nil))
	}
}

func (p *projector) filled(f filling, v any) LeafSource {
	s := LeafSource{From: -1, Default: v, Like: f.at.like, LikeRep: f.at.rep, FillDef: f.level}
	if s.Like < 0 {
		return s
	}
	present := len(f.at.defs) - 1
	s.DefMap = make([]int, p.from.leaves[s.Like].MaxDef+1)
	for d := range s.DefMap {
		s.DefMap[d] = f.level
		if d < present {
			s.DefMap[d] = f.at.defs[d]
		}
	}
	return s
}

// shallowest is the leaf with the lowest repetition level among n leaves of From starting at leaf.
func (p *projector) shallowest(leaf, n int) int {
	best := leaf
	for i := leaf; i < leaf+n; i++ {
		if p.from.leaves[i].MaxRep < p.from.leaves[best].MaxRep {
			best = i
		}
	}
	return best
}

// NumLeaves is the number of leaves of the type.
func (t *Type) NumLeaves() int {
	n := 0
	switch t.Kind {
	case Record:
		for i := range t.Fields {
			n += t.Fields[i].Type.NumLeaves()
		}
		return n
	case Array:
		return t.Elem.NumLeaves()
	case Map:
		return 1 + t.Elem.NumLeaves()
	case Union:
		for _, b := range t.Branches {
			n += b.NumLeaves()
		}
		return n
	}
	return 1
}
