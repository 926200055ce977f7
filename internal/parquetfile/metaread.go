package parquetfile

import (
	"errors"
	"fmt"
)

func (r *thriftReader) statistics(s *statistics) error {
	s.nulls = -1
	return r.fields(func(id int16, typ byte) (err error) {
		switch {
		case id == 1 && typ == thriftBinary:
			s.oldMax, err = r.cloned()
		case id == 2 && typ == thriftBinary:
			s.oldMin, err = r.cloned()
		case id == 3 && typ == thriftI64:
			s.nulls, err = r.int()
		case id == 5 && typ == thriftBinary:
			s.max, err = r.cloned()
		case id == 6 && typ == thriftBinary:
			s.min, err = r.cloned()
		case (id == 7 || id == 8) && typ == thriftFalse:
			s.inexact = true
		default:
			err = r.skip(typ)
		}
		return err
	})
}

func (r *thriftReader) element() (element, error) {
	e := element{typ: -1, rep: -1, children: -1, converted: -1, scale: -1, precision: -1}
	named := false
	err := r.fields(func(id int16, typ byte) error {
		v := int32(0)
		var err error
		switch {
		case id == 4 && typ == thriftBinary:
			var b []byte
			b, err = r.bytes()
			e.name, named = string(b), true
			return err
		case id == 10 && typ == thriftStruct:
			return r.logical(&e.logical)
		case typ == thriftI32 && id >= 1 && id <= 9:
			v, err = r.int32()
		default:
			return r.skip(typ)
		}
		switch id {
		case 1:
			if v < 0 || v > int32(physFixed) {
				return fmt.Errorf("column type %d is unknown", v)
			}
			e.typ = physical(v)
		case 2:
			e.length = v
		case 3:
			if v < 0 || v > repRepeated {
				return fmt.Errorf("column repetition %d is unknown", v)
			}
			e.rep = int8(v)
		case 5:
			e.children = v
		case 6:
			e.converted = v
		case 7:
			e.scale = v
		case 8:
			e.precision = v
		case 9:
			e.fieldID, e.hasID = v, true
		}
		return err
	})
	if err == nil && !named {
		err = errMetaMissing
	}
	return e, err
}

func (r *thriftReader) logical(l *logicalType) error {
	return r.fields(func(id int16, typ byte) error {
		l.id = id
		if typ != thriftStruct {
			return r.skip(typ)
		}
		return r.fields(func(f int16, typ byte) (err error) {
			switch {
			case typ == thriftI32 && f == 1:
				l.scale, err = r.int32()
			case typ == thriftI32 && f == 2:
				l.precision, err = r.int32()
			case f == 1 && (typ == thriftTrue || typ == thriftFalse):
				l.utc = typ == thriftTrue
			case f == 2 && typ == thriftStruct:
				err = r.fields(func(unit int16, typ byte) error { l.unit = unit; return r.skip(typ) })
			case f == 1 && typ == thriftByte:
				var b byte
				b, err = r.byte()
				l.bits = int8(b)
			case f == 2 && (typ == thriftTrue || typ == thriftFalse):
				l.signed = typ == thriftTrue
			default:
				err = r.skip(typ)
			}
			return err
		})
	})
}

func (r *thriftReader) columnMeta(c *chunkMeta) error {
	var seen uint32
	err := r.fields(func(id int16, typ byte) (err error) {
		if id >= 1 && id < 32 {
			seen |= 1 << id
		}
		switch {
		case id == 1 && typ == thriftI32:
			var v int32
			v, err = r.int32()
			if v < 0 || v > int32(physFixed) {
				return fmt.Errorf("column type %d is unknown", v)
			}
			c.typ = physical(v)
		case id == 2 && typ == thriftList:
			err = r.list(thriftI32, func() error { v, err := r.int32(); c.encodings = append(c.encodings, v); return err })
		case id == 3 && typ == thriftList:
			err = r.list(thriftBinary, func() error { v, err := r.bytes(); c.path = append(c.path, string(v)); return err })
		case id == 4 && typ == thriftI32:
			c.codec, err = r.int32()
		case id == 5 && typ == thriftI64:
			c.values, err = r.int()
		case id == 6 && typ == thriftI64:
			c.uncompressed, err = r.int()
		case id == 7 && typ == thriftI64:
			c.compressed, err = r.int()
		case id == 9 && typ == thriftI64:
			c.dataOffset, err = r.int()
		case id == 11 && typ == thriftI64:
			c.dictOffset, err = r.int()
		case id == 12 && typ == thriftStruct:
			err = r.statistics(&c.stats)
		default:
			err = r.skip(typ)
		}
		return err
	})
	const required = 1<<1 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<9
	if err == nil && seen&required != required {
		err = errMetaMissing
	}
	return err
}

func (r *thriftReader) chunk() (chunkMeta, error) {
	c := chunkMeta{stats: statistics{nulls: -1}}
	found := false
	err := r.fields(func(id int16, typ byte) (err error) {
		switch {
		case id == 1 && typ == thriftBinary:
			var b []byte
			b, err = r.bytes()
			c.filePath = string(b)
		case id == 3 && typ == thriftStruct:
			found = true
			err = r.columnMeta(&c)
		case id == 4 && typ == thriftI64:
			c.offsetIndex.offset, err = r.int()
		case id == 5 && typ == thriftI32:
			c.offsetIndex.length, err = r.int32()
		case id == 6 && typ == thriftI64:
			c.columnIndex.offset, err = r.int()
		case id == 7 && typ == thriftI32:
			c.columnIndex.length, err = r.int32()
		case id == 8 || id == 9:
			c.encrypted = true
			err = r.skip(typ)
		default:
			err = r.skip(typ)
		}
		return err
	})
	if err == nil && !found && !c.encrypted {
		err = errMetaMissing
	}
	return c, err
}

func (r *thriftReader) rowGroup() (rowGroupMeta, error) {
	g := rowGroupMeta{rows: -1}
	err := r.fields(func(id int16, typ byte) (err error) {
		switch {
		case id == 1 && typ == thriftList:
			err = r.list(thriftStruct, func() error { c, err := r.chunk(); g.columns = append(g.columns, c); return err })
		case id == 2 && typ == thriftI64:
			g.bytes, err = r.int()
		case id == 3 && typ == thriftI64:
			g.rows, err = r.int()
		default:
			err = r.skip(typ)
		}
		return err
	})
	if err == nil && g.rows < 0 {
		err = errors.New("a row group has no number of rows")
	}
	return g, err
}

// readFileMeta decodes a footer.
func readFileMeta(b []byte) (*fileMeta, error) {
	r := &thriftReader{b: b}
	m := &fileMeta{rows: -1}
	err := r.fields(func(id int16, typ byte) (err error) {
		switch {
		case id == 1 && typ == thriftI32:
			m.version, err = r.int32()
		case id == 2 && typ == thriftList:
			err = r.list(thriftStruct, func() error { e, err := r.element(); m.schema = append(m.schema, e); return err })
		case id == 3 && typ == thriftI64:
			m.rows, err = r.int()
		case id == 4 && typ == thriftList:
			err = r.list(thriftStruct, func() error { g, err := r.rowGroup(); m.groups = append(m.groups, g); return err })
		case id == 5 && typ == thriftList:
			err = r.list(thriftStruct, func() error { return r.keyValue(m) })
		case id == 6 && typ == thriftBinary:
			var v []byte
			v, err = r.bytes()
			m.createdBy = string(v)
		case id == 7 && typ == thriftList:
			err = r.list(thriftStruct, func() error { return r.columnOrder(m) })
		case id == 8:
			m.encrypted = true
			err = r.skip(typ)
		default:
			err = r.skip(typ)
		}
		return err
	})
	if err == nil && m.rows < 0 {
		err = errors.New("the footer has no number of rows")
	}
	return m, err
}

func (r *thriftReader) keyValue(m *fileMeta) error {
	var kv keyValue
	err := r.fields(func(id int16, typ byte) error {
		if typ != thriftBinary || id > 2 {
			return r.skip(typ)
		}
		b, err := r.bytes()
		if id == 1 {
			kv.key = string(b)
		} else {
			kv.value = string(b)
		}
		return err
	})
	m.kv = append(m.kv, kv)
	return err
}

func (r *thriftReader) columnOrder(m *fileMeta) error {
	typed := false
	err := r.fields(func(id int16, typ byte) error { typed = id == 1; return r.skip(typ) })
	m.orders = append(m.orders, typed)
	return err
}

// readPageHeader decodes the page header at the front of b and returns its length. A short b gives errThriftShort.
func readPageHeader(b []byte) (pageHeader, int, error) {
	r := &thriftReader{b: b}
	h := pageHeader{kind: -1, uncompressed: -1, compressed: -1, values: -1, nulls: -1}
	err := r.fields(func(id int16, typ byte) (err error) {
		switch {
		case typ == thriftI32 && id == 1:
			h.kind, err = r.int32()
		case typ == thriftI32 && id == 2:
			h.uncompressed, err = r.int32()
		case typ == thriftI32 && id == 3:
			h.compressed, err = r.int32()
		case typ == thriftI32 && id == 4:
			var v int32
			v, err = r.int32()
			h.crc, h.hasCRC = uint32(v), true
		case typ == thriftStruct && (id == 5 || id == 7):
			err = r.pageFields([]*int32{&h.values, &h.encoding, &h.defEncoding, &h.repEncoding}, nil)
		case typ == thriftStruct && id == 8:
			err = r.pageFields([]*int32{&h.values, &h.nulls, &h.rows, &h.encoding, &h.defBytes, &h.repBytes}, &h.raw)
		default:
			err = r.skip(typ)
		}
		return err
	})
	if err != nil {
		return h, 0, err
	}
	if h.kind < 0 || h.uncompressed < 0 || h.compressed < 0 {
		return h, 0, errMetaMissing
	}
	if h.kind != pageIndex && h.values < 0 {
		return h, 0, errMetaMissing
	}
	return h, r.off, nil
}

// pageFields reads the integers 1, 2, … of a page type's header, and the flag 7 of the second data page version.
func (r *thriftReader) pageFields(ints []*int32, raw *bool) error {
	return r.fields(func(id int16, typ byte) (err error) {
		switch {
		case typ == thriftI32 && id >= 1 && int(id) <= len(ints):
			*ints[id-1], err = r.int32()
		case raw != nil && id == 7 && (typ == thriftTrue || typ == thriftFalse):
			*raw = typ == thriftFalse
		default:
			err = r.skip(typ)
		}
		return err
	})
}

// pageLocation is one entry of an offset index.
type pageLocation struct {
	offset   int64
	size     int32
	firstRow int64
}

// readOffsetIndex decodes an offset index.
func readOffsetIndex(b []byte) ([]pageLocation, error) {
	r := &thriftReader{b: b}
	var out []pageLocation
	err := r.fields(func(id int16, typ byte) error {
		if id != 1 || typ != thriftList {
			return r.skip(typ)
		}
		return r.list(thriftStruct, func() error {
			l := pageLocation{offset: -1, size: -1, firstRow: -1}
			err := r.fields(func(id int16, typ byte) (err error) {
				switch {
				case id == 1 && typ == thriftI64:
					l.offset, err = r.int()
				case id == 2 && typ == thriftI32:
					l.size, err = r.int32()
				case id == 3 && typ == thriftI64:
					l.firstRow, err = r.int()
				default:
					err = r.skip(typ)
				}
				return err
			})
			out = append(out, l)
			return err
		})
	})
	return out, err
}

// columnIndexMeta is a column index: bounds per page.
type columnIndexMeta struct {
	nullPages  []bool
	mins, maxs [][]byte
	nulls      []int64 // empty: unknown
	order      int32
}

// readColumnIndex decodes a column index.
func readColumnIndex(b []byte) (*columnIndexMeta, error) {
	r := &thriftReader{b: b}
	c := &columnIndexMeta{}
	binary := func(dst *[][]byte) error {
		return r.list(thriftBinary, func() error { v, err := r.bytes(); *dst = append(*dst, v); return err })
	}
	err := r.fields(func(id int16, typ byte) (err error) {
		switch {
		case id == 1 && typ == thriftList:
			err = r.list(thriftTrue, func() error { v, err := r.byte(); c.nullPages = append(c.nullPages, v == thriftTrue); return err })
		case id == 2 && typ == thriftList:
			err = binary(&c.mins)
		case id == 3 && typ == thriftList:
			err = binary(&c.maxs)
		case id == 4 && typ == thriftI32:
			c.order, err = r.int32()
		case id == 5 && typ == thriftList:
			err = r.list(thriftI64, func() error { v, err := r.int(); c.nulls = append(c.nulls, v); return err })
		default:
			err = r.skip(typ)
		}
		return err
	})
	if err == nil && (len(c.mins) != len(c.nullPages) || len(c.maxs) != len(c.nullPages)) {
		err = errors.New("a column index has lists of different length")
	}
	return c, err
}
