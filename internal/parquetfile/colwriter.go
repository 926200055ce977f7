package parquetfile

import (
	"encoding/binary"
	"math"

	"github.com/hudifs/hudifs/internal/record"
)

// maxPageRows bounds a page's rows, as parquet-mr does. Small pages are what makes an edit of few rows cheap.
const maxPageRows = 20000

// pageBuffer is a data page in the making: levels and either plain values or dictionary codes.
type pageBuffer struct {
	n, rows, nulls int
	count          int // present values
	rep            []uint8
	def            []uint8 // empty while all entries are present
	plain          []byte  // PLAIN values; booleans a byte each
	codes          []int32
	coded          bool
}

func (p *pageBuffer) reset() {
	*p = pageBuffer{rep: p.rep[:0], def: p.def[:0], plain: p.plain[:0], codes: p.codes[:0]}
}

// columnWriter makes the column chunks of one column, one row group after the other.
type columnWriter struct {
	shape     *columnShape
	width     int
	pageBytes int
	codec     int32 // of the chunk
	baseCodec int32 // of the writer

	page    pageBuffer
	dict    *dictBuilder // while new values are given codes
	dictTop int          // dictionary entries before the page
	sealed  []pageBuffer
	free    []pageBuffer
	chunk   chunkData
	counted int   // pages of the chunk that plain counts
	plain   int64 // bytes of those before compression
	scratch encodeScratch
}

func newColumnWriter(s *columnShape, o *writeLimits) *columnWriter {
	c := &columnWriter{shape: s, width: fixedWidth(s.typ, s.length), pageBytes: o.pageBytes, baseCodec: o.codec}
	c.startChunk()
	return c
}

// startChunk begins an empty column chunk.
func (c *columnWriter) startChunk() {
	c.codec = c.baseCodec
	c.chunk = chunkData{}
	c.counted, c.plain = 0, 0
	c.dict, c.dictTop = nil, 0
	if c.shape.typ != physBool {
		c.dict = newDictBuilder(c.width)
	}
	c.page.reset()
	c.page.coded = c.dict != nil
}

// add appends one entry. d and rep are the column's levels; v counts where d is the highest. It returns the bytes that wait to be encoded
// since a page was full.
func (c *columnWriter) add(v record.Value, d, rep int) (sealed int) {
	p := &c.page
	if rep == 0 {
		if p.rows >= maxPageRows || len(p.plain) >= c.pageBytes || c.dictFull() {
			sealed = c.seal()
		}
		p.rows++
	}
	if c.shape.maxRep > 0 {
		p.rep = append(p.rep, uint8(rep))
	}
	if d < c.shape.maxDef {
		if len(p.def) == 0 {
			p.def = fillLevels(p.def, p.n, uint8(c.shape.maxDef))
		}
		p.def = append(p.def, uint8(d))
		p.nulls++
		p.n++
		return sealed
	}
	if len(p.def) > 0 {
		p.def = append(p.def, uint8(d))
	}
	p.n++
	p.count++
	if p.coded {
		p.codes = append(p.codes, c.codeOf(v))
		return sealed
	}
	p.plain = c.appendValue(p.plain, v)
	return sealed
}

// fillLevels returns n levels v in dst's memory.
func fillLevels(dst []uint8, n int, v uint8) []uint8 {
	dst = sized(dst, n)
	for i := range dst {
		dst[i] = v
	}
	return dst
}

// dictFull reports whether the dictionary has outgrown its limit.
func (c *columnWriter) dictFull() bool { return c.page.coded && len(c.dict.raw) > maxDictBytes }

func (c *columnWriter) codeOf(v record.Value) int32 {
	switch c.shape.typ {
	case physInt32:
		return c.dict.code4(uint32(v.Int32()))
	case physInt64:
		return c.dict.code8(uint64(v.Int64()))
	case physFloat:
		return c.dict.code4(math.Float32bits(v.Float()))
	case physDouble:
		return c.dict.code8(math.Float64bits(v.Double()))
	}
	return c.dict.code(v.ByteArray())
}

// appendValue appends the plain form of a value.
func (c *columnWriter) appendValue(dst []byte, v record.Value) []byte {
	switch c.shape.typ {
	case physBool:
		if v.Boolean() {
			return append(dst, 1)
		}
		return append(dst, 0)
	case physInt32:
		return binary.LittleEndian.AppendUint32(dst, uint32(v.Int32()))
	case physInt64:
		return binary.LittleEndian.AppendUint64(dst, uint64(v.Int64()))
	case physFloat:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v.Float()))
	case physDouble:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Double()))
	case physFixed:
		return append(dst, v.ByteArray()...)
	}
	b := v.ByteArray()
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b)))
	return append(dst, b...)
}

// seal ends the page and decides how it is stored. A dictionary that has outgrown its limit, or that costs this page more than plain values
// would, is given up for the rest of the chunk. It returns the page's bytes.
func (c *columnWriter) seal() int {
	p := &c.page
	if p.n == 0 {
		return 0
	}
	if p.coded && p.count == 0 {
		p.coded = false
	} else if p.coded {
		giveUp := len(c.dict.raw) > maxDictBytes
		plain := c.dict.plainSize(p.codes)
		cost := len(p.codes)*int(bitWidth(c.dict.n-1))/8 + c.dictBytes(c.dictTop)
		if cost >= plain && (len(p.codes) >= 1024 || !c.chunk.coded) {
			p.plain = c.dict.appendPlain(p.plain, p.codes)
			p.coded, p.codes = false, p.codes[:0]
			c.dict.truncate(c.dictTop)
			giveUp = true
		}
		c.chunk.coded = c.chunk.coded || p.coded
		c.chunk.dict = c.dict
		c.dictTop = c.dict.n
		if giveUp {
			c.dict = nil
		}
	}
	c.sealed = append(c.sealed, *p)
	size := len(p.plain) + 4*len(p.codes) + len(p.def) + len(p.rep)
	if n := len(c.free); n > 0 {
		*p, c.free = c.free[n-1], c.free[:n-1]
	} else {
		*p = pageBuffer{}
	}
	p.coded = c.dict != nil
	return size
}

// dictBytes is how many bytes the dictionary has grown since it had n entries.
func (c *columnWriter) dictBytes(n int) int {
	if c.width > 0 {
		return (c.dict.n - n) * c.width
	}
	return len(c.dict.raw) - int(c.dict.offs[n]-4)
}

// encodeSealed turns sealed pages into bytes of the chunk.
func (c *columnWriter) encodeSealed() error {
	for i := range c.sealed {
		p := &c.sealed[i]
		if err := c.encodePage(p); err != nil {
			return err
		}
		p.reset()
		c.free = append(c.free, *p)
	}
	c.sealed = c.sealed[:0]
	return nil
}

// pending is the bytes in memory that are not encoded yet.
func (c *columnWriter) pending() int {
	n := len(c.page.plain) + 4*len(c.page.codes)
	for i := range c.sealed {
		n += len(c.sealed[i].plain) + 4*len(c.sealed[i].codes)
	}
	return n
}
