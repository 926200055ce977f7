package parquetfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// pageEntry is a finished page of a chunk being written.
type pageEntry struct {
	data         []byte // header and body
	uncompressed int64  // the same, uncompressed
	values       int
	rows         int
	nulls        int64 // -1: unknown
	kind         int32
	encoding     int32
	bounds       bounds
	loose        bool // bounds may be wider than the values: the chunk's come from chunkData.copied
}

// chunkData is a column chunk being written.
type chunkData struct {
	dict  *dictBuilder // what dictionary-coded pages refer to
	coded bool         // there are such pages
	pages []pageEntry
	bytes int64 // of pages

	// Of pages copied from another chunk, as far as they do not know it themselves.
	copied      bounds
	copiedNulls int64 // -1: unknown
}

// encodeScratch is memory reused from page to page.
type encodeScratch struct {
	body   []byte
	packed []byte
	seen   []uint32 // per dictionary code: the page that has met it
	page   uint32
}

// encodePage appends p to the chunk as a data page of version 1.
func (c *columnWriter) encodePage(p *pageBuffer) error {
	b := c.scratch.body[:0]
	if c.shape.maxRep > 0 {
		b = appendLevels(b, p.rep, c.shape.maxRep, p.n)
	}
	if c.shape.maxDef > 0 {
		b = appendLevels(b, p.def, c.shape.maxDef, p.n)
	}
	e := pageEntry{values: p.n, rows: p.rows, nulls: int64(p.nulls), kind: pageData, encoding: encPlain}
	switch {
	case p.coded:
		e.encoding = encPlainDict
		width := bitWidth(c.dictionary().n - 1)
		b = append(b, byte(width))
		b = appendHybrid(b, p.codes, width)
	case c.shape.typ == physBool:
		b = appendBits(b, p.plain)
	default:
		b = append(b, p.plain...)
	}
	c.scratch.body = b
	c.pageBounds(p, &e.bounds)
	h := pageHeader{kind: pageData, values: int32(p.n), encoding: e.encoding}
	if err := c.finishPage(&h, b, &e); err != nil {
		return err
	}
	c.chunk.add(e)
	return nil
}

// dictionary is what coded pages of the chunk refer to.
func (c *columnWriter) dictionary() *dictBuilder { return c.chunk.dict }

// finishPage compresses body and puts the header in front.
func (c *columnWriter) finishPage(h *pageHeader, body []byte, e *pageEntry) error {
	if len(body) > maxPageBytes {
		return fmt.Errorf("column %v: a page of %d bytes is over the limit of %d", c.shape.path, len(body), maxPageBytes)
	}
	packed := body
	if c.codec != codecNone {
		var err error
		if packed, err = compress(c.codec, c.scratch.packed[:0], body); err != nil {
			return err
		}
		c.scratch.packed = packed
	}
	h.uncompressed, h.compressed = int32(len(body)), int32(len(packed))
	h.crc = crc32.ChecksumIEEE(packed)
	head := h.encode()
	e.data = append(append(make([]byte, 0, len(head)+len(packed)), head...), packed...)
	e.uncompressed = int64(len(head) + len(body))
	return nil
}

func (d *chunkData) add(e pageEntry) {
	d.pages = append(d.pages, e)
	d.bytes += int64(len(e.data))
}

// appendLevels appends levels with the length that pages of version 1 put in front. Without levels, all n are the highest.
func appendLevels(b []byte, levels []uint8, top, n int) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	if len(levels) == 0 && n > 0 {
		b = binary.AppendUvarint(b, uint64(n)<<1)
		b = append(b, byte(top))
	} else {
		b = appendHybrid(b, levels, bitWidth(top))
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// appendBits packs booleans of a byte each, lowest bit first.
func appendBits(b []byte, vals []byte) []byte {
	for len(vals) > 0 {
		n := min(8, len(vals))
		var x byte
		for i, v := range vals[:n] {
			x |= v << i
		}
		b = append(b, x)
		vals = vals[n:]
	}
	return b
}

// pageBounds finds the bounds of a page's values.
func (c *columnWriter) pageBounds(p *pageBuffer, b *bounds) {
	o := c.shape.order
	if !p.coded {
		if c.width > 0 {
			b.addRaw(o, p.plain, c.width)
			return
		}
		for at := 0; at < len(p.plain); {
			n := int(binary.LittleEndian.Uint32(p.plain[at:]))
			b.addValue(o, p.plain[at+4:at+4+n])
			at += 4 + n
		}
		return
	}
	s := &c.scratch
	d := c.dictionary()
	if len(s.seen) < d.n {
		s.seen = append(s.seen, make([]uint32, d.n-len(s.seen))...)
	}
	s.page++
	for _, code := range p.codes {
		if s.seen[code] != s.page {
			s.seen[code] = s.page
			b.addValue(o, d.value(code))
		}
	}
}

// dictPage encodes the chunk's dictionary page.
func (c *columnWriter) dictPage() (pageEntry, error) {
	d := c.dictionary()
	e := pageEntry{values: d.n, kind: pageDict, encoding: encPlainDict}
	h := pageHeader{kind: pageDict, values: int32(d.n), encoding: encPlainDict}
	return e, c.finishPage(&h, d.raw, &e)
}
