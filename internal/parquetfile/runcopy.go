package parquetfile

import (
	"encoding/binary"
	"fmt"

	"github.com/hudifs/hudifs/internal/record"
)

type value = record.Value

// runRows is how many rows of a column are decoded at a time when they are copied.
const runRows = 4096

// copyEntries is how many entries are copied between looks at the page's limits.
const copyEntries = 1024

// dictMap turns the codes of a source's dictionary into those of the chunk being written.
type dictMap struct {
	src  *dictionary
	dst  *dictBuilder
	same bool    // the codes are the same
	code []int32 // code+1; 0: not asked for yet
}

// copyRun copies a run, carrying out the ops of its rows.
func (d *columnSplice) copyRun(r *run) error {
	if r.rep != nil {
		return d.copyNested(r)
	}
	v := 0
	for i := 0; i < r.n; {
		stop := r.n
		op := d.nextOp()
		if n := op - d.row; n < int64(r.n-i) {
			stop = i + int(n)
		}
		if stop > i {
			n := present(r, i, stop, d.s.col.node.maxDef)
			if err := d.copyEntries(r, i, stop, v, v+n); err != nil {
				return err
			}
			d.row += int64(stop - i)
			i, v = stop, v+n
		}
		if i < r.n && d.row == op {
			d.apply(&d.ops[d.at])
			d.at++
			v += present(r, i, i+1, d.s.col.node.maxDef)
			i++
			d.row++
		}
	}
	return d.c.encodeSealed()
}

// present counts the values among entries [i,j).
func present(r *run, i, j, top int) int {
	if r.def == nil {
		return j - i
	}
	n := 0
	for _, l := range r.def[i:j] {
		if int(l) == top {
			n++
		}
	}
	return n
}

// copyNested is copyRun for rows of several entries. A row may have begun in the run before.
func (d *columnSplice) copyNested(r *run) error {
	top := d.s.col.node.maxDef
	from, v := 0, 0
	flush := func(to int) error {
		n := present(r, from, to, top)
		at, vAt := from, v
		from, v = to, v+n
		if d.skip || at == to {
			return nil
		}
		return d.copyEntries(r, at, to, vAt, v)
	}
	for i, rep := range r.rep {
		if rep != 0 {
			continue
		}
		if touched := d.row == d.nextOp(); touched || d.skip {
			if err := flush(i); err != nil {
				return err
			}
			d.skip = touched
			if touched {
				d.apply(&d.ops[d.at])
				d.at++
			}
		}
		d.row++
	}
	if err := flush(r.n); err != nil {
		return err
	}
	return d.c.encodeSealed()
}

// copyEntries appends entries [i,j) of a run, whose values are [v,w).
func (d *columnSplice) copyEntries(r *run, i, j, v, w int) error {
	c, top := d.c, d.s.col.node.maxDef
	for i < j {
		p := &c.page
		if r.rep == nil || r.rep[i] == 0 {
			if p.rows >= maxPageRows || len(p.plain) >= c.pageBytes || c.dictFull() {
				c.seal()
			}
		}
		k := min(i+copyEntries, j)
		if r.rep == nil {
			k = min(k, i+maxPageRows-p.rows)
			p.rows += k - i
		} else {
			for k < j && r.rep[k] != 0 {
				k++
			}
			for _, rep := range r.rep[i:k] {
				if rep == 0 {
					p.rows++
				}
			}
			p.rep = append(p.rep, r.rep[i:k]...)
		}
		n := present(r, i, k, top)
		if err := d.copyLevels(r, i, k, n); err != nil {
			return err
		}
		p.n += k - i
		p.count += n
		p.nulls += k - i - n
		d.copyValues(r, v, v+n)
		i, v = k, v+n
	}
	if v != w {
		return fmt.Errorf("splice %s: %d values where %d were counted", d.src.name, v, w)
	}
	return nil
}

// copyLevels appends the definition levels of entries [i,j), n of them present.
func (d *columnSplice) copyLevels(r *run, i, j, n int) error {
	p, top := &d.c.page, uint8(d.c.shape.maxDef)
	if n == j-i {
		if len(p.def) > 0 {
			for range n {
				p.def = append(p.def, top)
			}
		}
		return nil
	}
	if len(p.def) == 0 {
		p.def = fillLevels(p.def, p.n, top)
	}
	if d.plain {
		p.def = append(p.def, r.def[i:j]...)
		return nil
	}
	for _, l := range r.def[i:j] {
		m := d.levels[l]
		if m == noLevel {
			if d.s.levels[l] == noLevel {
				return d.s.nullError()
			}
			return fmt.Errorf("splice %s: field %v: a list in the old two-level form cannot hold a null element", d.src.name, d.c.shape.leaf.Path)
		}
		p.def = append(p.def, m)
	}
	return nil
}

// copyValues appends the present values [v,w) of a run.
func (d *columnSplice) copyValues(r *run, v, w int) {
	c := d.c
	p := &c.page
	switch {
	case v == w:
	case r.dict != nil && p.coded:
		d.copyCodes(r, r.codes[v:w])
	case r.dict != nil:
		for _, code := range r.codes[v:w] {
			if c.width > 0 {
				p.plain = append(p.plain, r.dict.raw[int(code)*c.width:(int(code)+1)*c.width]...)
			} else {
				p.plain = append(p.plain, r.dict.raw[r.dict.offs[code]-4:r.dict.offs[code+1]-4]...)
			}
		}
	case p.coded:
		p.codes = c.dict.appendCodes(p.codes, r, v, w)
	case c.width > 0:
		p.plain = append(p.plain, r.raw[v*c.width:w*c.width]...)
	default:
		p.plain = append(p.plain, r.raw[r.offs[v]-4:r.offs[w]-4]...)
	}
}

// copyCodes appends codes of the source's dictionary as codes of the chunk's.
func (d *columnSplice) copyCodes(r *run, codes []int32) {
	m, p := &d.codes, &d.c.page
	if m.src != r.dict || m.dst != d.c.dict {
		*m = dictMap{src: r.dict, dst: d.c.dict, code: make([]int32, r.dict.n)}
	}
	if m.same {
		p.codes = append(p.codes, codes...)
		return
	}
	for _, code := range codes {
		c := m.code[code]
		if c == 0 {
			if d.c.width > 0 {
				c = m.dst.code(r.dict.raw[int(code)*d.c.width:(int(code)+1)*d.c.width]) + 1
			} else {
				c = m.dst.code(r.dict.bytesAt(int(code))) + 1
			}
			m.code[code] = c
		}
		p.codes = append(p.codes, c-1)
	}
}

// appendCodes appends the codes of the plain values [v,w) of a run.
func (d *dictBuilder) appendCodes(dst []int32, r *run, v, w int) []int32 {
	switch d.width {
	case 0:
		for i := v; i < w; i++ {
			dst = append(dst, d.code(r.bytesAt(i)))
		}
	case 4:
		for i := v; i < w; i++ {
			dst = append(dst, d.code4(binary.LittleEndian.Uint32(r.raw[4*i:])))
		}
	case 8:
		for i := v; i < w; i++ {
			dst = append(dst, d.code8(binary.LittleEndian.Uint64(r.raw[8*i:])))
		}
	default:
		for i := v; i < w; i++ {
			dst = append(dst, d.code(r.raw[i*d.width:(i+1)*d.width]))
		}
	}
	return dst
}

// addConst appends n rows with the value v.
func (c *columnWriter) addConst(v []byte, n int64) error {
	for n > 0 {
		p := &c.page
		if p.rows >= maxPageRows || len(p.plain) >= c.pageBytes || c.dictFull() {
			c.seal()
			if err := c.encodeSealed(); err != nil {
				return err
			}
		}
		k := int(min(n, copyEntries, int64(maxPageRows-p.rows)))
		if len(p.def) > 0 {
			for range k {
				p.def = append(p.def, uint8(c.shape.maxDef))
			}
		}
		if p.coded {
			code := c.dict.code(v)
			for range k {
				p.codes = append(p.codes, code)
			}
		} else {
			for range k {
				p.plain = binary.LittleEndian.AppendUint32(p.plain, uint32(len(v)))
				p.plain = append(p.plain, v...)
			}
		}
		p.n += k
		p.rows += k
		p.count += k
		n -= int64(k)
	}
	return nil
}
