package parquetfile

import (
	"bytes"
	"io"
	"slices"
)

// groupIndex is what the page indexes of a row group need until the file is closed.
type groupIndex struct {
	pages  [][]pageLocation
	column []*columnIndexMeta // nil where a page's bounds are not known
}

// chunkWriter puts finished chunks into the file.
type chunkWriter struct {
	w   io.Writer
	off int64
}

func (w *chunkWriter) write(b []byte) error {
	n, err := w.w.Write(b)
	w.off += int64(n)
	return err
}

// writeChunk writes the chunk of c and returns its metadata and index.
func (w *chunkWriter) writeChunk(c *columnWriter) (chunkMeta, []pageLocation, *columnIndexMeta, error) {
	d := &c.chunk
	m := chunkMeta{typ: c.shape.typ, path: c.shape.path, codec: c.codec, stats: statistics{nulls: -1}}
	start := w.off
	if d.coded {
		p, err := c.dictPage()
		if err != nil {
			return m, nil, nil, err
		}
		m.dictOffset = w.off
		m.uncompressed += p.uncompressed
		m.count(&p)
		if err := w.write(p.data); err != nil {
			return m, nil, nil, err
		}
	}
	m.dataOffset = w.off
	pages := make([]pageLocation, 0, len(d.pages))
	row := int64(0)
	for i := range d.pages {
		p := &d.pages[i]
		pages = append(pages, pageLocation{offset: w.off, size: int32(len(p.data)), firstRow: row})
		row += int64(p.rows)
		m.values += int64(p.values)
		m.uncompressed += p.uncompressed
		m.count(p)
		if err := w.write(p.data); err != nil {
			return m, nil, nil, err
		}
	}
	m.compressed = w.off - start
	m.finishEncodings()
	c.chunkStats(&m.stats)
	return m, pages, c.columnIndex(), nil
}

// count notes a page's encoding.
func (m *chunkMeta) count(p *pageEntry) {
	for i := range m.encodingStats {
		if s := &m.encodingStats[i]; s.kind == p.kind && s.encoding == p.encoding {
			s.count++
			return
		}
	}
	m.encodingStats = append(m.encodingStats, pageCount{kind: p.kind, encoding: p.encoding, count: 1})
}

// finishEncodings lists the encodings; RLE is that of the levels.
func (m *chunkMeta) finishEncodings() {
	m.encodings = []int32{encRLE}
	for _, s := range m.encodingStats {
		if !slices.Contains(m.encodings, s.encoding) {
			m.encodings = append(m.encodings, s.encoding)
		}
	}
	slices.Sort(m.encodings)
}

// chunkStats sums up the pages.
func (c *columnWriter) chunkStats(s *statistics) {
	d := &c.chunk
	all := d.copied
	nulls, unknown := int64(0), false
	for i := range d.pages {
		p := &d.pages[i]
		if !p.loose {
			all.add(c.shape.order, &p.bounds)
		}
		if p.nulls < 0 {
			unknown = true
		} else {
			nulls += p.nulls
		}
	}
	s.nulls = nulls
	if unknown {
		// The pages that do not know it know it together, or not at all.
		if d.copiedNulls < 0 {
			s.nulls = -1
		} else {
			s.nulls += d.copiedNulls
		}
	}
	if all.any && !all.unknown {
		s.min, s.max = signedZero(c.shape.order, all.min, all.max)
	}
}

// columnIndex makes the chunk's column index, nil where some page's bounds or nulls are not known.
func (c *columnWriter) columnIndex() *columnIndexMeta {
	d, o := &c.chunk, c.shape.order
	x := &columnIndexMeta{}
	for i := range d.pages {
		p := &d.pages[i]
		if p.nulls < 0 || p.bounds.unknown || !p.bounds.any && p.nulls < int64(p.values) {
			return nil
		}
		x.nulls = append(x.nulls, p.nulls)
		x.nullPages = append(x.nullPages, !p.bounds.any)
		lo, hi := []byte{}, []byte{}
		if p.bounds.any {
			lo, hi = signedZero(o, cutMin(o, p.bounds.min), cutMax(o, p.bounds.max))
		}
		x.mins, x.maxs = append(x.mins, lo), append(x.maxs, hi)
	}
	x.order = boundaryOrder(o, x)
	return x
}

// boundaryOrder tells how the pages' bounds are sorted: 0 not, 1 ascending, 2 descending. Pages of nulls do not count.
func boundaryOrder(o order, x *columnIndexMeta) int32 {
	up, down, last := true, true, -1
	for i := range x.mins {
		if x.nullPages[i] {
			continue
		}
		if last >= 0 {
			lo, hi := compareBound(o, x.mins[last], x.mins[i]), compareBound(o, x.maxs[last], x.maxs[i])
			up = up && lo <= 0 && hi <= 0
			down = down && lo >= 0 && hi >= 0
		}
		last = i
	}
	switch {
	case up:
		return 1
	case down:
		return 2
	}
	return 0
}

func compareBound(o order, a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	return o.compare(a, b)
}
