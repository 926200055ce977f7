package avrocodec

import (
	"encoding/binary"
	"math"

	"github.com/hudifs/hudifs/internal/record"
)

// step is what the hot loop needs of a node, kept small: a row's steps fit a few cache lines.
type step struct {
	op      op
	plain   bool // a primitive that the reader wants without conversion
	null    bool // nullable, and null is allowed
	nullTag byte
	nullDef byte
	def     byte
	leaf    uint16
	n       *node
}

// steps prepares the fields of a record for flat.
func steps(nodes []node) []step {
	out := make([]step, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		s := step{op: n.op, n: n, nullTag: n.nullTag}
		if n.op < opRecord && n.leaf >= 0 && n.conv == nil && !(n.nullable && n.refuse) {
			s.plain, s.null, s.def, s.leaf = true, n.nullable, byte(n.def), uint16(n.leaf)
			s.nullDef = byte(n.nulls[0].DefinitionLevel())
		}
		out[i] = s
	}
	return out
}

// flat reads the fields of a row without lists straight into out, the reader's leaves; what is not plain goes the general way. It does the
// work of fields and primitive without calls, as rows of logs come by the million.
func (d *Decoder) flat(steps []step, out record.Row, buf []byte, p int) (int, error) {
	var err error
	for i := range steps {
		s := &steps[i]
		if !s.plain {
			if p, err = d.field(s.n, buf, p, 0); err != nil {
				return p, err
			}
			continue
		}
		v := &out[s.leaf]
		if s.null {
			if p >= len(buf) {
				return p, errTruncated
			}
			tag := buf[p]
			p++
			if tag == s.nullTag {
				*v = record.Value{}
				v.SetDefinitionLevel(int(s.nullDef))
				v.SetColumnIndex(int(s.leaf))
				continue
			}
			if tag != 2-s.nullTag {
				return p, s.n.branchError(tag)
			}
		}
		switch s.op {
		case opBytes:
			var size int
			if size, p, err = readLength(buf, p); err != nil {
				return p, err
			}
			*v = record.Bytes(buf[p : p+size : p+size])
			p += size
		case opLong:
			var x int64
			if x, p, err = readLong(buf, p); err != nil {
				return p, err
			}
			*v = record.Int64(x)
		case opDouble:
			if len(buf)-p < 8 {
				return p, errTruncated
			}
			*v = record.Float64(math.Float64frombits(binary.LittleEndian.Uint64(buf[p:])))
			p += 8
		default:
			if p, err = d.primitive(s.n, buf, p, 0); err != nil {
				return p, err
			}
			continue
		}
		v.SetDefinitionLevel(int(s.def))
		v.SetColumnIndex(int(s.leaf))
	}
	return p, nil
}
