package parquetfile

// footer encodes a file's metadata.
func (m *fileMeta) encode() []byte {
	w := &thriftWriter{}
	w.element(func(s *thriftStructWriter) {
		s.i32(1, 1) // the format version that every writer but arrow's states, pages of version 2 or not
		s.list(2, len(m.schema), thriftStruct)
		for i := range m.schema {
			w.element(m.schema[i].encode)
		}
		s.i64(3, m.rows)
		s.list(4, len(m.groups), thriftStruct)
		for i := range m.groups {
			w.element(func(s *thriftStructWriter) { m.groups[i].encode(s, i) })
		}
		if len(m.kv) > 0 {
			s.list(5, len(m.kv), thriftStruct)
			for _, kv := range m.kv {
				w.element(func(s *thriftStructWriter) { s.string(1, kv.key); s.string(2, kv.value) })
			}
		}
		s.string(6, m.createdBy)
		s.list(7, len(m.orders), thriftStruct)
		for range m.orders {
			w.element(func(s *thriftStructWriter) { s.child(1, func(*thriftStructWriter) {}) })
		}
	})
	return w.b
}

func (e *element) encode(s *thriftStructWriter) {
	if e.typ >= 0 {
		s.i32(1, int64(e.typ))
	}
	if e.typ == physFixed {
		s.i32(2, int64(e.length))
	}
	if e.rep >= 0 {
		s.i32(3, int64(e.rep))
	}
	s.string(4, e.name)
	if e.typ < 0 {
		s.i32(5, int64(e.children))
	}
	if e.converted >= 0 {
		s.i32(6, int64(e.converted))
	}
	if e.scale >= 0 {
		s.i32(7, int64(e.scale))
	}
	if e.precision >= 0 {
		s.i32(8, int64(e.precision))
	}
	if e.logical.id != logNone {
		s.child(10, e.logical.encode)
	}
}

func (l *logicalType) encode(s *thriftStructWriter) {
	s.child(l.id, func(s *thriftStructWriter) {
		switch l.id {
		case logDecimal:
			s.i32(1, int64(l.scale))
			s.i32(2, int64(l.precision))
		case logTime, logTimestamp:
			s.bool(1, l.utc)
			s.child(2, func(s *thriftStructWriter) { s.child(l.unit, func(*thriftStructWriter) {}) })
		}
	})
}

func (g *rowGroupMeta) encode(s *thriftStructWriter, ordinal int) {
	s.list(1, len(g.columns), thriftStruct)
	compressed := int64(0)
	for i := range g.columns {
		compressed += g.columns[i].compressed
		s.w.element(g.columns[i].encode)
	}
	s.i64(2, g.bytes)
	s.i64(3, g.rows)
	if len(g.columns) > 0 {
		s.i64(5, g.columns[0].start())
	}
	s.i64(6, compressed)
	if ordinal < 1<<15 {
		s.i16(7, int64(ordinal))
	}
}

func (c *chunkMeta) encode(s *thriftStructWriter) {
	s.i64(2, c.start())
	s.child(3, func(s *thriftStructWriter) {
		s.i32(1, int64(c.typ))
		s.list(2, len(c.encodings), thriftI32)
		for _, e := range c.encodings {
			s.w.int(int64(e))
		}
		s.list(3, len(c.path), thriftBinary)
		for _, p := range c.path {
			s.w.bytes([]byte(p))
		}
		s.i32(4, int64(c.codec))
		s.i64(5, c.values)
		s.i64(6, c.uncompressed)
		s.i64(7, c.compressed)
		s.i64(9, c.dataOffset)
		if c.dictOffset > 0 {
			s.i64(11, c.dictOffset)
		}
		s.child(12, c.stats.encode)
		if len(c.encodingStats) > 0 {
			s.list(13, len(c.encodingStats), thriftStruct)
			for _, p := range c.encodingStats {
				s.w.element(func(s *thriftStructWriter) {
					s.i32(1, int64(p.kind))
					s.i32(2, int64(p.encoding))
					s.i32(3, int64(p.count))
				})
			}
		}
	})
	if c.offsetIndex.length > 0 {
		s.i64(4, c.offsetIndex.offset)
		s.i32(5, int64(c.offsetIndex.length))
	}
	if c.columnIndex.length > 0 {
		s.i64(6, c.columnIndex.offset)
		s.i32(7, int64(c.columnIndex.length))
	}
}

func (t *statistics) encode(s *thriftStructWriter) {
	if t.nulls >= 0 {
		s.i64(3, t.nulls)
	}
	if t.min != nil && t.max != nil {
		s.bytes(5, t.max)
		s.bytes(6, t.min)
	}
}

// encodePage encodes the header of a data page of version 1 or of a dictionary page.
func (h *pageHeader) encode() []byte {
	w := &thriftWriter{b: make([]byte, 0, 48)}
	w.element(func(s *thriftStructWriter) {
		s.i32(1, int64(h.kind))
		s.i32(2, int64(h.uncompressed))
		s.i32(3, int64(h.compressed))
		s.i32(4, int64(int32(h.crc)))
		if h.kind == pageDict {
			s.child(7, func(s *thriftStructWriter) {
				s.i32(1, int64(h.values))
				s.i32(2, int64(h.encoding))
			})
			return
		}
		s.child(5, func(s *thriftStructWriter) {
			s.i32(1, int64(h.values))
			s.i32(2, int64(h.encoding))
			s.i32(3, encRLE)
			s.i32(4, encRLE)
		})
	})
	return w.b
}

func encodeOffsetIndex(pages []pageLocation) []byte {
	w := &thriftWriter{}
	w.element(func(s *thriftStructWriter) {
		s.list(1, len(pages), thriftStruct)
		for _, p := range pages {
			w.element(func(s *thriftStructWriter) {
				s.i64(1, p.offset)
				s.i32(2, int64(p.size))
				s.i64(3, p.firstRow)
			})
		}
	})
	return w.b
}

func (c *columnIndexMeta) encode() []byte {
	w := &thriftWriter{}
	w.element(func(s *thriftStructWriter) {
		s.list(1, len(c.nullPages), thriftTrue)
		for _, v := range c.nullPages {
			if v {
				w.b = append(w.b, thriftTrue)
			} else {
				w.b = append(w.b, thriftFalse)
			}
		}
		for id, vals := range [][][]byte{c.mins, c.maxs} {
			s.list(int16(2+id), len(vals), thriftBinary)
			for _, v := range vals {
				w.bytes(v)
			}
		}
		s.i32(4, int64(c.order))
		if len(c.nulls) == len(c.nullPages) {
			s.list(5, len(c.nulls), thriftI64)
			for _, n := range c.nulls {
				w.int(n)
			}
		}
	})
	return w.b
}
