package parquetfile

import (
	"slices"
)

// maxChunkInMemory is the largest column chunk whose pages are copied: it is read whole.
const maxChunkInMemory = 1 << 30

// Pages smaller than this part of a full page are encoded anew together with what stands before or behind them, so that many small edits do
// not leave a file of many small pages.
const smallPart = 8

// sourcePage is a data page of the source with its rows.
type sourcePage struct {
	page
	rows    int64
	touched bool
	nulls   int64 // -1: unknown
	bounds  bounds
	loose   bool // bounds may be wider than the values
}

// chunkPages are the pages of one column chunk of a source, in memory.
type chunkPages struct {
	buf  []byte
	dict *page
	data []sourcePage
}

// byPages copies the pages that the edit does not touch and encodes the others anew. done is false where the chunk is better decoded whole:
// nothing has been written then.
func (d *columnSplice) byPages() (done bool, err error) {
	m := &d.src.meta.groups[d.group].columns[d.s.col.node.column]
	if m.compressed > maxChunkInMemory || !writableCodec(m.codec) || m.values == 0 {
		return false, nil
	}
	if len(d.ops) > 0 && m.codec != d.c.codec && int64(len(d.ops)) > d.src.meta.groups[d.group].rows/100 {
		return false, nil // edits all over: not worth looking at pages in another codec
	}
	pages, err := d.loadPages(m)
	if err != nil || pages == nil {
		return false, err
	}
	touched, total := d.touch(pages)
	if touched == total || m.codec != d.c.codec && touched > total/2 {
		return false, nil
	}
	d.src.pageBounds(d.s.col.node, m, pages)
	return true, d.copyPages(m, pages)
}

// loadPages reads a chunk and splits it into pages. It returns nil where the rows of a page cannot be told without decoding.
func (d *columnSplice) loadPages(m *chunkMeta) (*chunkPages, error) {
	col := d.s.col
	p := &chunkPages{buf: make([]byte, m.compressed)}
	start := m.start()
	if err := d.src.readAt(p.buf, start); err != nil {
		return nil, err
	}
	src := chunkSource{f: d.src, off: start + m.compressed, end: start + m.compressed, buf: p.buf}
	var rowsAt []pageLocation
	if col.node.maxRep > 0 {
		if rowsAt = d.src.offsetIndex(m); rowsAt == nil {
			return nil, nil
		}
	}
	values, rows := int64(0), int64(0)
	for values < m.values {
		pg, err := src.next()
		if err != nil {
			return nil, err
		}
		switch pg.header.kind {
		case pageDict:
			if p.dict != nil || len(p.data) > 0 {
				return nil, nil // the decoder says what is wrong
			}
			p.dict = &pg
			continue
		case pageData, pageDataV2:
		default:
			continue
		}
		s := sourcePage{page: pg, rows: int64(pg.header.values), nulls: -1}
		if values += s.rows; values > m.values || pg.header.values == 0 {
			return nil, nil
		}
		if col.node.maxRep > 0 {
			if s.rows = rowsOf(rowsAt, len(p.data), pg.offset, d.src.meta.groups[d.group].rows); s.rows < 0 {
				return nil, nil
			}
		}
		rows += s.rows
		p.data = append(p.data, s)
	}
	if rows != d.src.meta.groups[d.group].rows {
		return nil, nil
	}
	return p, nil
}

// rowsOf is the number of rows of page i by the offset index, -1 where the index does not fit the pages. An index says that pages begin with rows.
func rowsOf(index []pageLocation, i int, offset, total int64) int64 {
	if i >= len(index) || index[i].offset != offset {
		return -1
	}
	end := total
	if i+1 < len(index) {
		end = index[i+1].firstRow
	}
	if n := end - index[i].firstRow; n > 0 && end <= total {
		return n
	}
	return -1
}

// touch marks the pages that the edit touches, and small ones that shall not stand alone, and returns their bytes and those of all.
func (d *columnSplice) touch(p *chunkPages) (touched, total int64) {
	at, row := 0, int64(0)
	joined, joinedBytes := int64(0), 0 // rows and bytes of the touched pages before
	under := func(rows int64, bytes, part int) bool {
		return rows < int64(maxPageRows/part) && bytes < d.c.pageBytes/part
	}
	for i := range p.data {
		s := &p.data[i]
		row += s.rows
		for at < len(d.ops) && d.ops[at].pos-d.first < row {
			s.touched = true
			at++
		}
		if under(s.rows, int(s.header.uncompressed), smallPart) && (i == len(p.data)-1 || joined > 0 && under(joined, joinedBytes, 2)) {
			s.touched = true
		}
		total += int64(len(s.data))
		if s.touched {
			touched += int64(len(s.data))
			joined, joinedBytes = joined+s.rows, joinedBytes+int(s.header.uncompressed)
		} else {
			joined, joinedBytes = 0, 0
		}
	}
	return touched, total
}

// copyPages writes the chunk: raw pages and, between them, what is decoded.
func (d *columnSplice) copyPages(m *chunkMeta, p *chunkPages) error {
	c, col := d.c, d.s.col
	col.chunk, col.unread = m, m.values
	c.codec = m.codec
	c.dict, c.page.coded = nil, false
	if p.dict != nil {
		col.page = p.dict.offset
		if err := col.openDict(p.dict); err != nil {
			return col.fail(err)
		}
		seed := seedDict(col.dict, c.width)
		c.chunk.dict = seed
		if len(seed.raw) <= maxDictBytes {
			c.dict, c.dictTop, c.page.coded = seed, seed.n, true
			d.codes = dictMap{src: col.dict, dst: seed, same: true}
		}
	}
	nulls := int64(0) // of source pages that know it
	unknown := false
	for i := range p.data {
		s := &p.data[i]
		if s.touched {
			n, err := d.recode(s)
			if err != nil {
				return err
			}
			nulls += n
			continue
		}
		if err := c.finish(); err != nil {
			return err
		}
		c.page.coded = c.dict != nil
		col.unread -= int64(s.header.values)
		d.row += s.rows
		if s.nulls < 0 {
			unknown = true
		} else {
			nulls += s.nulls
		}
		c.chunk.coded = c.chunk.coded || s.header.encoding == encPlainDict || s.header.encoding == encRLEDict
		c.chunk.add(s.entry(p.buf, m.start()))
	}
	if unknown {
		c.chunk.copiedNulls = -1
		if m.stats.nulls >= nulls {
			c.chunk.copiedNulls = m.stats.nulls - nulls
		}
	}
	if slices.ContainsFunc(p.data, func(s sourcePage) bool { return !s.touched && s.loose }) {
		b := chunkBounds(m, col.node, d.src.boundsOrder(col.node))
		c.chunk.copied.add(c.shape.order, &b)
	}
	return nil
}

// entry is a source page as a page of the chunk being written.
func (s *sourcePage) entry(buf []byte, start int64) pageEntry {
	at := s.offset - start
	end := at + int64(s.head+len(s.data))
	return pageEntry{
		data: buf[at:end:end], uncompressed: int64(s.head) + int64(s.header.uncompressed), values: int(s.header.values), rows: int(s.rows),
		nulls: s.nulls, kind: s.header.kind, encoding: s.header.encoding, bounds: s.bounds, loose: s.loose,
	}
}

// recode decodes a page and copies its runs under the edit. It returns the page's nulls.
func (d *columnSplice) recode(s *sourcePage) (nulls int64, err error) {
	col := d.s.col
	col.page = s.offset
	col.recycle()
	before := d.row
	if err := col.openData(&s.page); err != nil {
		return 0, col.fail(err)
	}
	for col.left > 0 {
		r, err := col.next(runRows)
		if err != nil {
			return 0, err
		}
		nulls += int64(r.n - r.count)
		if err := d.copyRun(r); err != nil {
			return 0, err
		}
	}
	d.skip = false // pages begin with rows here
	if d.row != before+s.rows {
		return 0, d.src.damaged(s.offset, "column %s: a page has %d rows where its index says %d", col.node.name, d.row-before, s.rows)
	}
	return nulls, nil
}

// pageBounds takes the pages' bounds and nulls from the column index, where there is one that fits.
func (f *File) pageBounds(n *node, m *chunkMeta, p *chunkPages) {
	o := f.boundsOrder(n)
	x := f.columnIndex(m)
	if x != nil && len(x.nullPages) != len(p.data) {
		x = nil
	}
	for i := range p.data {
		s := &p.data[i]
		switch {
		case n.maxDef == 0 || m.stats.nulls == 0:
			s.nulls = 0
		case s.header.kind == pageDataV2 && n.maxRep == 0:
			s.nulls = int64(s.header.nulls)
		case x != nil && len(x.nulls) == len(p.data) && x.nulls[i] >= 0 && x.nulls[i] <= int64(s.header.values):
			s.nulls = x.nulls[i]
		}
		s.loose, s.bounds = true, bounds{any: true, unknown: true}
		if x == nil || o == orderNone {
			continue
		}
		if x.nullPages[i] {
			s.loose, s.bounds = false, bounds{}
			continue
		}
		lo, hi := x.mins[i], x.maxs[i]
		if w := o.width(); w > 0 && (len(lo) != w || len(hi) != w) || nan(o, lo) || nan(o, hi) || o.compare(lo, hi) > 0 {
			continue
		}
		s.bounds = bounds{min: lo, max: hi, any: true}
		// Writers cut long text; how long it was is not told.
		s.loose = o == orderBytes && (len(lo) >= indexBytes || len(hi) >= indexBytes)
	}
}

// offsetIndex reads a chunk's offset index, nil where there is none or it is damaged: it is a help, not the data.
func (f *File) offsetIndex(m *chunkMeta) []pageLocation {
	b := f.index(m.offsetIndex)
	if b == nil {
		return nil
	}
	pages, err := readOffsetIndex(b)
	if err != nil {
		return nil
	}
	return pages
}

// columnIndex is offsetIndex for the column index.
func (f *File) columnIndex(m *chunkMeta) *columnIndexMeta {
	b := f.index(m.columnIndex)
	if b == nil {
		return nil
	}
	x, err := readColumnIndex(b)
	if err != nil {
		return nil
	}
	return x
}

func (f *File) index(ref indexRef) []byte {
	if ref.length <= 0 || ref.offset < 4 || int64(ref.length) > f.size-ref.offset {
		return nil
	}
	b := make([]byte, ref.length)
	if f.readAt(b, ref.offset) != nil {
		return nil
	}
	return b
}
