package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/hudifs/hudifs/internal/corrupt"
)

// columnReader reads one column of the file from row group to row group as runs. Not safe for concurrent use.
type columnReader struct {
	f     *File
	node  *node
	width int

	group  int // row group of src
	last   int // row groups [group,last] are read
	src    chunkSource
	chunk  *chunkMeta
	dict   *dictionary
	unread int64 // entries of the chunk on pages not begun
	rows   int64 // rows begun in the chunk

	page    int64 // file offset, for messages
	left    int   // entries left on the page
	rep     []uint8
	defs    hybridDecoder
	vals    valueDecoder
	repBuf  []uint8
	run     run
	buf     runBuffers
	body    []byte   // the page's bytes
	retired [][]byte // bytes that values of earlier runs may still point to
	free    [][]byte
}

// newColumn reads column c of the row groups from…to.
func (f *File) newColumn(c, from, to int) *columnReader {
	n := f.tree.leaves[c]
	r := &columnReader{f: f, node: n, group: from - 1, last: to - 1, width: fixedWidth(n.typ, n.length)}
	r.src.f = f
	r.vals.kind, r.vals.width = n.typ, r.width
	return r
}

// recycle says that nothing points to bytes of earlier runs any more.
func (c *columnReader) recycle() {
	if len(c.retired) > 0 {
		c.free = append(c.free[:0], c.retired...)
		c.retired = c.retired[:0]
	}
}

func (c *columnReader) fail(err error) error {
	var e *corrupt.Error
	if errors.As(err, &e) || err == io.EOF {
		return err
	}
	return c.f.damaged(c.page, "column %s: %w", c.node.name, err)
}

// openGroup moves to the next row group that has rows; io.EOF where there is none.
func (c *columnReader) openGroup() error {
	for {
		if c.group >= 0 && c.chunk != nil && c.rows != c.f.meta.groups[c.group].rows {
			return c.f.damaged(c.src.offset(), "column %s has %d rows where its row group has %d", c.node.name, c.rows, c.f.meta.groups[c.group].rows)
		}
		if c.group >= c.last {
			return io.EOF
		}
		c.group++
		g := &c.f.meta.groups[c.group]
		c.chunk = &g.columns[c.node.column]
		c.unread, c.rows, c.dict = c.chunk.values, 0, nil
		start := c.chunk.start()
		c.src.reset(start, start+c.chunk.compressed)
		if c.unread > 0 {
			return nil
		}
	}
}

// load reads the next data page; io.EOF behind the last.
func (c *columnReader) load() error {
	for {
		for c.unread == 0 {
			if err := c.openGroup(); err != nil {
				return err
			}
		}
		p, err := c.src.next()
		if err != nil {
			return err
		}
		c.page = p.offset
		switch p.header.kind {
		case pageDict:
			if err := c.openDict(&p); err != nil {
				return c.fail(err)
			}
		case pageData, pageDataV2:
			if err := c.openData(&p); err != nil {
				return c.fail(err)
			}
			if c.left > 0 {
				return nil
			}
		}
	}
}

func (c *columnReader) openDict(p *page) error {
	if c.dict != nil || c.unread != c.chunk.values {
		return errors.New("a dictionary page stands behind other pages")
	}
	if e := p.header.encoding; e != encPlain && e != encPlainDict {
		return fmt.Errorf("a dictionary page has the encoding %d", e)
	}
	if c.node.typ == physBool {
		return errors.New("a boolean column has a dictionary")
	}
	raw, err := p.plain(c.chunk.codec, nil)
	if err != nil {
		return err
	}
	c.dict, err = newDictionary(int(p.header.values), raw, c.width)
	return err
}

func (c *columnReader) openData(p *page) error {
	h := &p.header
	if int64(h.values) > c.unread {
		return fmt.Errorf("a page of %d values stands where %d are left", h.values, c.unread)
	}
	if c.body != nil {
		c.retired = append(c.retired, c.body)
		c.body = nil
	}
	var buf []byte
	if n := len(c.free); n > 0 {
		buf, c.free = c.free[n-1], c.free[:n-1]
	}
	body, err := p.plain(c.chunk.codec, buf)
	if err != nil {
		return err
	}
	c.body = body
	c.unread -= int64(h.values)
	c.left = int(h.values)
	if h.kind == pageDataV2 {
		rep, def := body[:h.repBytes], body[h.repBytes:h.repBytes+h.defBytes]
		if err := c.openLevels(rep, def); err != nil {
			return err
		}
		return c.vals.open(h.encoding, body[h.repBytes+h.defBytes:], c.left, c.dict)
	}
	var rep, def []byte
	if c.node.maxRep > 0 {
		if rep, body, err = levelBytes(h.repEncoding, body); err != nil {
			return err
		}
	}
	if c.node.maxDef > 0 {
		if def, body, err = levelBytes(h.defEncoding, body); err != nil {
			return err
		}
	}
	if err := c.openLevels(rep, def); err != nil {
		return err
	}
	return c.vals.open(h.encoding, body, c.left, c.dict)
}

// levelBytes splits the length-prefixed levels off a page of version 1.
func levelBytes(enc int32, b []byte) (levels, rest []byte, err error) {
	if enc != encRLE {
		return nil, nil, fmt.Errorf("levels in the encoding %d, of writers before 2014, are not supported", enc)
	}
	if len(b) < 4 {
		return nil, nil, errValuesShort
	}
	n := binary.LittleEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-4) {
		return nil, nil, errValuesShort
	}
	return b[4 : 4+n], b[4+n:], nil
}

// bitWidth is the bits that hold 0…n.
func bitWidth(n int) uint {
	w := uint(0)
	for ; n > 0; n >>= 1 {
		w++
	}
	return w
}

func (c *columnReader) openLevels(rep, def []byte) error {
	if c.node.maxRep > 0 {
		c.repBuf = sized(c.repBuf, c.left)
		h := newHybrid(rep, bitWidth(c.node.maxRep))
		if err := fillHybrid(&h, c.repBuf); err != nil {
			return err
		}
		for _, r := range c.repBuf {
			if int(r) > c.node.maxRep {
				return fmt.Errorf("repetition level %d is over %d", r, c.node.maxRep)
			}
		}
		c.rep = c.repBuf
		if c.rows == 0 && len(c.rep) > 0 && c.rep[0] != 0 {
			return errors.New("a column chunk begins inside a row")
		}
	}
	c.defs = newHybrid(def, bitWidth(c.node.maxDef))
	return nil
}

// atRowStart reports whether the next entry begins a row or there is none.
func (c *columnReader) atRowStart() (bool, error) {
	if c.left == 0 {
		if err := c.load(); err == io.EOF {
			return true, nil
		} else if err != nil {
			return false, err
		}
	}
	return c.node.maxRep == 0 || c.rep[len(c.rep)-c.left] == 0, nil
}

// next returns the next run: at most maxRows row beginnings, never across a page. io.EOF ends the column.
func (c *columnReader) next(maxRows int) (*run, error) {
	if c.left == 0 {
		if err := c.load(); err != nil {
			return nil, err
		}
	}
	n, rows := min(c.left, maxRows), 0
	r := &c.run
	r.rep = nil
	if c.node.maxRep > 0 {
		rep := c.rep[len(c.rep)-c.left:]
		n = len(rep)
		for i, l := range rep {
			if l == 0 {
				if rows == maxRows {
					n = i
					break
				}
				rows++
			}
		}
		r.rep = rep[:n]
	} else {
		rows = n
	}
	r.n, r.rows = n, rows
	present, err := c.levels(n)
	if err != nil {
		return nil, c.fail(err)
	}
	if err := c.vals.take(r, present, &c.buf); err != nil {
		return nil, c.fail(err)
	}
	c.left -= n
	c.rows += int64(rows)
	return r, nil
}

// levels decodes n definition levels into the run and counts the present values.
func (c *columnReader) levels(n int) (present int, err error) {
	c.run.def = nil
	top := c.node.maxDef
	if top == 0 {
		return n, nil
	}
	if k, v, err := c.defs.same(n); err != nil {
		return 0, err
	} else if k == n && int(v) == top {
		c.defs.skipRun(n)
		return n, nil
	}
	c.buf.def = sized(c.buf.def, n)
	def := c.buf.def
	if err := fillHybrid(&c.defs, def); err != nil {
		return 0, err
	}
	for _, d := range def {
		if int(d) == top {
			present++
		} else if int(d) > top {
			return 0, fmt.Errorf("definition level %d is over %d", d, top)
		}
	}
	if present < n {
		c.run.def = def
	}
	return present, nil
}
