package parquetfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// noLevel marks a definition level of the column that the row's leaf cannot hold.
const noLevel = 255

// leafStream turns one column's runs into values of one leaf of a target schema.
type leafStream struct {
	f    *File
	leaf *schema.Leaf
	proj *schema.Projection
	col  *columnReader // nil: no column, each row has fill
	fill record.Value

	kind   physical // of the values that present makes before conv
	levels []uint8  // definition level of the column → of the leaf
	same   bool     // levels changes nothing
	decode conversion
	conv   func(record.Value) (record.Value, error) // nil: none

	like    bool // values come from fill, col gives the levels
	likeRep uint8

	tmp    []record.Value
	vals   []record.Value // nested: the batch's values
	starts []int          // nested: where each row begins in vals; one more entry ends the last
}

// newStream plans leaf i of p.To over the row groups from…to.
func (f *File) newStream(p *schema.Projection, i, from, to int) (*leafStream, error) {
	src := &p.Leaves[i]
	s := &leafStream{f: f, leaf: &p.To.Leaves()[i], proj: p}
	if src.From < 0 {
		if src.Default != nil {
			v, err := record.LeafValue(src.Default, s.leaf.Type)
			if err != nil {
				return nil, fmt.Errorf("default of field %s: %w", strings.Join(s.leaf.Path, "."), err)
			}
			s.fill = v
		}
		if src.Like < 0 {
			s.fill = s.fill.Level(0, src.FillDef, s.leaf.Index)
			return s, nil
		}
		s.like, s.likeRep = true, uint8(src.LikeRep)
		s.open(&f.leaves[src.Like], src.DefMap, from, to)
		return s, nil
	}
	b := &f.leaves[src.From]
	fromType := p.From.Leaves()[src.From].Type
	s.decode = b.decode
	s.conv = record.Converter(src.Convert, s.leaf.Type, fromType)
	s.kind, _ = canonical(fromType)
	s.open(b, src.DefMap, from, to)
	return s, nil
}

// open composes the levels: column → row schema of the file → target.
func (s *leafStream) open(b *binding, defMap []int, from, to int) {
	s.col = s.f.newColumn(b.column, from, to)
	s.levels = make([]uint8, len(b.levels))
	s.same = true
	for d, l := range b.levels {
		s.levels[d] = noLevel
		if l >= 0 && l < len(defMap) && defMap[l] >= 0 {
			s.levels[d] = uint8(defMap[l])
		}
		s.same = s.same && int(s.levels[d]) == d
	}
}

// flat reports whether each row has exactly one entry, in the column and in the leaf.
func (s *leafStream) flat() bool {
	return s.col == nil || s.leaf.MaxRep == 0 && s.col.node.maxRep == 0
}

// recycle says that the rows of the batch before are not used any more.
func (s *leafStream) recycle() {
	if s.col != nil {
		s.col.recycle()
	}
}

// readFlat writes the values of the next n rows to dst[0], dst[stride], ….
func (s *leafStream) readFlat(dst []record.Value, n, stride int) error {
	if s.col == nil {
		for i := range n {
			dst[i*stride] = s.fill
		}
		return nil
	}
	for at := 0; at < n; {
		r, err := s.col.next(n - at)
		if err != nil {
			return s.early(err)
		}
		if err := s.emit(dst[at*stride:], r, stride); err != nil {
			return err
		}
		at += r.n
	}
	return nil
}

// early turns the end of a column before the end of the rows into the damage that it is.
func (s *leafStream) early(err error) error {
	if err == io.EOF {
		return s.f.damaged(-1, "column %s has fewer rows than the footer says", s.col.node.name)
	}
	return err
}

// readNested reads the values of the next n rows into vals and starts.
func (s *leafStream) readNested(n int) error {
	s.vals, s.starts = s.vals[:0], s.starts[:0]
	for rows := 0; ; {
		if rows == n {
			whole, err := s.col.atRowStart()
			if err != nil {
				return err
			}
			if whole {
				s.starts = append(s.starts, len(s.vals))
				return nil
			}
		}
		r, err := s.col.next(n - rows)
		if err != nil {
			return s.early(err)
		}
		rows += r.rows
		if err := s.append(r); err != nil {
			return err
		}
	}
}

func (s *leafStream) append(r *run) error {
	at := len(s.vals)
	s.vals = sizedKeep(s.vals, at+r.n)
	if err := s.emit(s.vals[at:], r, 1); err != nil {
		return err
	}
	if r.rep == nil {
		for i := range r.n {
			s.starts = append(s.starts, at+i)
		}
		return nil
	}
	out := at
	for i, rep := range r.rep {
		if rep == 0 {
			s.starts = append(s.starts, out)
		}
		if s.like && rep > s.likeRep {
			continue
		}
		s.vals[out] = s.vals[at+i]
		s.vals[out].SetRepetitionLevel(int(rep))
		out++
	}
	s.vals = s.vals[:out]
	return nil
}

// sizedKeep returns s with length n, keeping what it has.
func sizedKeep[T any](s []T, n int) []T {
	if cap(s) < n {
		s = append(make([]T, 0, max(n, 2*cap(s))), s...)
	}
	return s[:n]
}

// emit writes one value per entry of r, without repetition levels.
func (s *leafStream) emit(dst []record.Value, r *run, stride int) error {
	if s.like {
		return s.emitLike(dst, r, stride)
	}
	if r.def == nil {
		return s.present(dst, r, stride)
	}
	s.tmp = sized(s.tmp, r.count)
	if err := s.present(s.tmp, r, 1); err != nil {
		return err
	}
	top, j := uint8(s.col.node.maxDef), 0
	null := record.Null(0, 0, s.leaf.Index)
	for i, d := range r.def {
		p := &dst[i*stride]
		if d == top {
			*p = s.tmp[j]
			j++
			continue
		}
		l := s.levels[d]
		if l == noLevel {
			return s.nullError()
		}
		*p = null
		p.SetDefinitionLevel(int(l))
	}
	return nil
}

func (s *leafStream) nullError() error {
	return fmt.Errorf("read %s: %w", s.f.name, s.proj.NullError(s.leaf.Index))
}

func (s *leafStream) emitLike(dst []record.Value, r *run, stride int) error {
	for i := range r.n {
		d := s.col.node.maxDef
		if r.def != nil {
			d = int(r.def[i])
		}
		l := s.levels[d]
		if l == noLevel {
			return s.nullError()
		}
		v := record.Value{}
		if int(l) == s.leaf.MaxDef {
			v = s.fill
		}
		dst[i*stride] = v.Level(0, int(l), s.leaf.Index)
	}
	return nil
}

// present writes the run's present values with their levels.
func (s *leafStream) present(dst []record.Value, r *run, stride int) error {
	if r.dict != nil {
		if r.dict.vals == nil {
			vals := make([]record.Value, r.dict.n)
			all := run{n: r.dict.n, count: r.dict.n, raw: r.dict.raw, offs: r.dict.offs}
			if err := s.present(vals, &all, 1); err != nil {
				return err
			}
			r.dict.vals = vals
		}
		for i, c := range r.codes {
			dst[i*stride] = r.dict.vals[c]
		}
		return nil
	}
	if s.conv != nil || s.decode.convert != asIs {
		return s.converted(dst, r, stride)
	}
	s.typed(dst, r, stride)
	return nil
}

// typed is the hot loop: values that are in a row what they are in the column.
func (s *leafStream) typed(dst []record.Value, r *run, stride int) {
	def, col := uint8(s.leaf.MaxDef), uint16(s.leaf.Index)
	put := func(p *record.Value, v record.Value) {
		*p = v
		p.SetDefinitionLevel(int(def))
		p.SetColumnIndex(int(col))
	}
	raw := r.raw
	switch s.kind {
	case physBool:
		for i := range r.count {
			put(&dst[i*stride], record.Bool(raw[i] != 0))
		}
	case physInt32:
		for i := range r.count {
			put(&dst[i*stride], record.Int32(int32(binary.LittleEndian.Uint32(raw[4*i:]))))
		}
	case physInt64:
		for i := range r.count {
			put(&dst[i*stride], record.Int64(int64(binary.LittleEndian.Uint64(raw[8*i:]))))
		}
	case physFloat:
		for i := range r.count {
			put(&dst[i*stride], record.Float32(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))))
		}
	case physDouble:
		for i := range r.count {
			put(&dst[i*stride], record.Float64(math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))))
		}
	case physFixed:
		w := s.col.width
		for i := range r.count {
			put(&dst[i*stride], record.FixedBytes(raw[i*w:(i+1)*w:(i+1)*w]))
		}
	default:
		offs := r.offs
		for i := range r.count {
			put(&dst[i*stride], record.Bytes(raw[offs[i]:offs[i+1]-4:offs[i+1]-4]))
		}
	}
}

// converted is the slow path: values that another writer or another schema stored in another form.
func (s *leafStream) converted(dst []record.Value, r *run, stride int) error {
	for i := range r.count {
		v, err := physicalValue(s.decode, s.col.node.typ, s.kind, s.raw(r, i))
		if err == nil && s.conv != nil {
			v, err = s.conv(v)
		}
		if err != nil {
			return fmt.Errorf("read %s: field %s: %w", s.f.name, strings.Join(s.leaf.Path, "."), err)
		}
		dst[i*stride] = v.Level(0, s.leaf.MaxDef, s.leaf.Index)
	}
	return nil
}

// raw is the plain bytes of present value i.
func (s *leafStream) raw(r *run, i int) []byte {
	if w := s.col.width; w > 0 {
		return r.raw[i*w : (i+1)*w : (i+1)*w]
	}
	return r.bytesAt(i)
}
