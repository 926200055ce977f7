package avrocodec

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// Decoder reads records of the writer's schema as rows of the reader's. Not safe for concurrent use; Clone gives another one cheaply.
type Decoder struct {
	root   *node
	steps  []step
	leaves int
	nested bool // the reader has lists or maps: the number of values in a row is not known beforehand
	out    record.Row
	cols   [][]record.Value
}

// NewDecoder compiles the plan. It fails with the field's name where the reader's schema cannot hold the writer's values.
func NewDecoder(writer, reader *schema.Schema) (*Decoder, error) {
	proj, err := schema.Project(reader, writer)
	if err != nil {
		return nil, err
	}
	c := compiler{proj: proj}
	root, err := c.node(writer.Root(), spot{typ: reader.Root()})
	if err != nil {
		return nil, err
	}
	d := &Decoder{root: &root, steps: steps(root.kids), leaves: len(reader.Leaves())}
	for _, l := range reader.Leaves() {
		d.nested = d.nested || l.MaxRep > 0
	}
	return d.Clone(), nil
}

// Clone returns a decoder of the same plan for another goroutine.
func (d *Decoder) Clone() *Decoder {
	c := &Decoder{root: d.root, steps: d.steps, leaves: d.leaves, nested: d.nested}
	if c.nested {
		c.cols = make([][]record.Value, c.leaves)
	}
	return c
}

// Decode appends the row of the one record that buf holds to dst. Strings and bytes of the row share buf's memory. Bytes that are left over are
// damage, like bytes that lack.
func (d *Decoder) Decode(buf []byte, dst record.Row) (record.Row, error) {
	row, rest, err := d.DecodeNext(buf, dst)
	if err == nil && len(rest) > 0 {
		return dst, errLeftOver(len(rest))
	}
	return row, err
}

func errLeftOver(n int) error {
	return fmt.Errorf("%w: %d bytes are left after the record", ErrDamaged, n)
}

// DecodeNext is Decode for the first record in buf, and returns the bytes behind it.
func (d *Decoder) DecodeNext(buf []byte, dst record.Row) (record.Row, []byte, error) {
	return d.decode(buf, dst, len(d.root.kids))
}

// DecodeHead is Decode, but stops after the last field that the reader wants: the way to scan keys. What follows is not checked.
func (d *Decoder) DecodeHead(buf []byte, dst record.Row) (record.Row, error) {
	row, _, err := d.decode(buf, dst, d.root.last)
	return row, err
}

func (d *Decoder) decode(buf []byte, dst record.Row, fields int) (record.Row, []byte, error) {
	start := len(dst)
	if !d.nested {
		dst = slices.Grow(dst, d.leaves)[:start+d.leaves]
		d.out = dst[start:]
	}
	d.emit(d.root.fills, 0)
	var p int
	var err error
	if d.nested {
		p, err = d.fields(d.root.kids[:fields], buf, 0, 0)
	} else {
		p, err = d.flat(d.steps[:fields], d.out, buf, 0)
	}
	d.out = nil
	if d.nested {
		for i, c := range d.cols {
			if err == nil {
				dst = append(dst, c...)
			}
			d.cols[i] = c[:0]
		}
	}
	if err != nil {
		return dst[:start], nil, err
	}
	return dst, buf[p:], nil
}

// put stores one value of a leaf.
func (d *Decoder) put(leaf int, v record.Value) {
	if d.out != nil {
		d.out[leaf] = v
		return
	}
	d.cols[leaf] = append(d.cols[leaf], v)
}

// emit stores prepared values, with the repetition level rep.
func (d *Decoder) emit(vals []record.Value, rep int) {
	for i := range vals {
		v := vals[i]
		if rep != 0 {
			v.SetRepetitionLevel(rep)
		}
		d.put(v.Column(), v)
	}
}

// fields reads nodes one after the other from buf[p:]. The first value of each has the repetition level rep.
func (d *Decoder) fields(nodes []node, buf []byte, p, rep int) (int, error) {
	var err error
	for i := range nodes {
		if p, err = d.field(&nodes[i], buf, p, rep); err != nil {
			return p, err
		}
	}
	return p, nil
}

// field reads one node.
func (d *Decoder) field(n *node, buf []byte, p, rep int) (int, error) {
	if n.nullable {
		if p >= len(buf) {
			return p, errTruncated
		}
		tag := buf[p]
		p++
		if tag == n.nullTag {
			if n.refuse && n.nulls != nil {
				return p, n.nullError()
			}
			d.emit(n.nulls, rep)
			return p, nil
		}
		if tag != 2-n.nullTag {
			return p, n.branchError(tag)
		}
	}
	if n.op >= opRecord {
		return d.group(n, buf, p, rep)
	}
	return d.primitive(n, buf, p, rep)
}

func (n *node) branchError(tag byte) error {
	return fmt.Errorf("%w: field %s: branch %d of a union of two", ErrDamaged, n.name(), tag>>1)
}

func (n *node) name() string { return strings.TrimPrefix(n.path, ".") }

func (n *node) nullError() error {
	return fmt.Errorf("field %s: a stored row is null where the schema allows none", n.name())
}

// primitive reads one value and stores it where the reader wants it.
func (d *Decoder) primitive(n *node, buf []byte, p, rep int) (int, error) {
	v, p, err := n.read(buf, p)
	if err != nil || n.leaf < 0 {
		return p, err
	}
	if n.conv != nil {
		if v, err = n.conv(v); err != nil {
			return p, fmt.Errorf("field %s: %w", n.name(), err)
		}
	}
	d.put(n.leaf, v.Level(rep, n.def, n.leaf))
	return p, nil
}

// read takes one primitive value from buf[p:].
func (n *node) read(buf []byte, p int) (v record.Value, next int, err error) {
	var x int64
	switch n.op {
	case opBytes:
		size, p, err := readLength(buf, p)
		if err != nil {
			return v, p, err
		}
		return record.Bytes(buf[p : p+size : p+size]), p + size, nil
	case opLong, opInt, opEnum:
		if x, p, err = readLong(buf, p); err != nil {
			return v, p, err
		}
	case opDouble:
		if len(buf)-p < 8 {
			return v, p, errTruncated
		}
		return record.Float64(math.Float64frombits(binary.LittleEndian.Uint64(buf[p:]))), p + 8, nil
	case opFloat:
		if len(buf)-p < 4 {
			return v, p, errTruncated
		}
		return record.Float32(math.Float32frombits(binary.LittleEndian.Uint32(buf[p:]))), p + 4, nil
	case opBool:
		if p >= len(buf) {
			return v, p, errTruncated
		}
		if buf[p] > 1 {
			return v, p, fmt.Errorf("%w: field %s: boolean %#x", ErrDamaged, n.name(), buf[p])
		}
		return record.Bool(buf[p] == 1), p + 1, nil
	case opFixed:
		if len(buf)-p < n.size {
			return v, p, errTruncated
		}
		return record.FixedBytes(buf[p : p+n.size : p+n.size]), p + n.size, nil
	}
	switch {
	case n.op == opLong:
		return record.Int64(x), p, nil
	case n.op == opInt && x == int64(int32(x)):
		return record.Int32(int32(x)), p, nil
	case n.op == opInt:
		return v, p, fmt.Errorf("%w: field %s: %d does not fit 32 bits", ErrDamaged, n.name(), x)
	case x < 0 || x >= int64(len(n.symbols)):
		return v, p, fmt.Errorf("%w: field %s: symbol %d of an enum with %d", ErrDamaged, n.name(), x, len(n.symbols))
	}
	return n.symbols[x], p, nil
}

// group reads a record, array, map or union of several types.
func (d *Decoder) group(n *node, buf []byte, p, rep int) (int, error) {
	switch n.op {
	case opRecord:
		d.emit(n.fills, rep)
		return d.fields(n.kids, buf, p, rep)
	case opUnion:
		return d.union(n, buf, p, rep)
	}
	first := true
	for {
		count, size, next, err := readCount(buf, p)
		if err != nil {
			return next, err
		}
		p = next
		if count == 0 {
			break
		}
		if size >= 0 && n.nulls == nil {
			p += size
			continue
		}
		for range count {
			if p, err = d.fields(n.kids, buf, p, rep); err != nil {
				return p, err
			}
			rep, first = n.rep, false
		}
		if size >= 0 && p != next+size {
			return p, fmt.Errorf("%w: field %s: a block of %d bytes has %d", ErrDamaged, n.name(), size, p-next)
		}
	}
	if first {
		d.emit(n.fills, rep)
	}
	return p, nil
}

func (d *Decoder) union(n *node, buf []byte, p, rep int) (int, error) {
	x, p, err := readLong(buf, p)
	if err != nil {
		return p, err
	}
	branches := int64(len(n.kids))
	if n.nullAt >= 0 {
		branches++
	}
	if x < 0 || x >= branches {
		return p, fmt.Errorf("%w: field %s: branch %d of a union of %d", ErrDamaged, n.name(), x, branches)
	}
	i := int(x)
	if i == n.nullAt {
		if n.refuse && n.nulls != nil {
			return p, n.nullError()
		}
		d.emit(n.nulls, rep)
		return p, nil
	}
	if n.nullAt >= 0 && i > n.nullAt {
		i--
	}
	d.emit(n.others[i], rep)
	return d.fields(n.kids[i:i+1], buf, p, rep)
}
