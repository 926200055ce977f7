package parquetfile

import (
	"bytes"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// maxDictBytes is the size at which a column gives its dictionary up, as parquet-mr does (its dictionary page size, 1 MiB).
const maxDictBytes = 1 << 20

// dictBuilder collects the dictionary of a column chunk. Codes are given in order of first use, so equal input gives equal bytes.
type dictBuilder struct {
	width int // bytes of a value; 0: BYTE_ARRAY
	n     int
	raw   []byte // PLAIN
	offs  []uint32
	table []int32 // code+1 by hash, open addressing; nil: not built yet
	mask  uint64
	last  int32 // code given last by code: many columns hold runs of one value
}

func newDictBuilder(width int) *dictBuilder {
	d := &dictBuilder{width: width}
	if width == 0 {
		d.offs = []uint32{4}
	}
	return d
}

// seedDict starts from the dictionary of a chunk whose pages are kept: their codes stay valid.
func seedDict(src *dictionary, width int) *dictBuilder {
	return &dictBuilder{width: width, n: src.n, raw: src.raw[:len(src.raw):len(src.raw)], offs: src.offs[:len(src.offs):len(src.offs)]}
}

// value is the plain bytes of a code, without length prefix.
func (d *dictBuilder) value(c int32) []byte {
	if d.width > 0 {
		return d.raw[int(c)*d.width : (int(c)+1)*d.width]
	}
	return d.raw[d.offs[c] : d.offs[c+1]-4]
}

// mix spreads the bits of a number over the low ones, which index the table: timestamps and doubles often end in zeros.
func mix(v uint64) uint64 {
	v ^= v >> 32
	v *= 0x9E3779B97F4A7C15
	v ^= v >> 32
	v *= 0xD6E8FEB86659FD93
	return v ^ v>>32
}

func (d *dictBuilder) hash(v []byte) uint64 {
	switch d.width {
	case 4:
		return mix(uint64(binary.LittleEndian.Uint32(v)))
	case 8:
		return mix(binary.LittleEndian.Uint64(v))
	}
	return xxhash.Sum64(v)
}

// grow makes room in the table.
func (d *dictBuilder) grow() {
	size := max(256, len(d.table)*2)
	for size < 2*(d.n+1) {
		size *= 2
	}
	d.table = make([]int32, size)
	d.mask = uint64(size - 1)
	for c := range int32(d.n) {
		i := d.hash(d.value(c)) & d.mask
		for d.table[i] != 0 {
			i = (i + 1) & d.mask
		}
		d.table[i] = c + 1
	}
}

// code returns the code of a value, a new one where it has none.
func (d *dictBuilder) code(v []byte) int32 {
	if int(d.last) < d.n && bytes.Equal(d.value(d.last), v) {
		return d.last
	}
	d.last = d.find(v)
	return d.last
}

func (d *dictBuilder) find(v []byte) int32 {
	if 2*(d.n+1) > len(d.table) {
		d.grow()
	}
	i := d.hash(v) & d.mask
	for d.table[i] != 0 {
		if c := d.table[i] - 1; bytes.Equal(d.value(c), v) {
			return c
		}
		i = (i + 1) & d.mask
	}
	d.n++
	d.table[i] = int32(d.n)
	if d.width == 0 {
		d.raw = binary.LittleEndian.AppendUint32(d.raw, uint32(len(v)))
		d.raw = append(d.raw, v...)
		d.offs = append(d.offs, uint32(len(d.raw)+4))
	} else {
		d.raw = append(d.raw, v...)
	}
	return int32(d.n - 1)
}

// code8 is code for values of 8 bytes, code4 for values of 4.
func (d *dictBuilder) code8(v uint64) int32 {
	if 2*(d.n+1) > len(d.table) {
		d.grow()
	}
	i := mix(v) & d.mask
	for d.table[i] != 0 {
		if c := d.table[i] - 1; binary.LittleEndian.Uint64(d.raw[8*c:]) == v {
			return c
		}
		i = (i + 1) & d.mask
	}
	d.n++
	d.table[i] = int32(d.n)
	d.raw = binary.LittleEndian.AppendUint64(d.raw, v)
	return int32(d.n - 1)
}

func (d *dictBuilder) code4(v uint32) int32 {
	if 2*(d.n+1) > len(d.table) {
		d.grow()
	}
	i := mix(uint64(v)) & d.mask
	for d.table[i] != 0 {
		if c := d.table[i] - 1; binary.LittleEndian.Uint32(d.raw[4*c:]) == v {
			return c
		}
		i = (i + 1) & d.mask
	}
	d.n++
	d.table[i] = int32(d.n)
	d.raw = binary.LittleEndian.AppendUint32(d.raw, v)
	return int32(d.n - 1)
}

// truncate forgets the codes from n on. No code may be asked for afterwards.
func (d *dictBuilder) truncate(n int) {
	d.n = n
	if d.width > 0 {
		d.raw = d.raw[:n*d.width]
		return
	}
	d.raw, d.offs = d.raw[:d.offs[n]-4], d.offs[:n+1]
}

// appendPlain appends the plain form of the values of codes.
func (d *dictBuilder) appendPlain(dst []byte, codes []int32) []byte {
	if d.width > 0 {
		for _, c := range codes {
			dst = append(dst, d.raw[int(c)*d.width:(int(c)+1)*d.width]...)
		}
		return dst
	}
	for _, c := range codes {
		dst = append(dst, d.raw[d.offs[c]-4:d.offs[c+1]-4]...)
	}
	return dst
}

// plainSize is the length of what appendPlain would append.
func (d *dictBuilder) plainSize(codes []int32) int {
	if d.width > 0 {
		return len(codes) * d.width
	}
	n := 0
	for _, c := range codes {
		n += int(d.offs[c+1] - d.offs[c])
	}
	return n
}
