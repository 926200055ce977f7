package parquetfile

import (
	"encoding/binary"
	"errors"
)

var errHybrid = errors.New("a run of levels or dictionary indexes is damaged")

// hybridDecoder reads parquet's mix of runs and bit-packed groups, a piece at a time so that a long run costs no memory.
type hybridDecoder struct {
	b     []byte // what has not been begun
	width uint
	run   int    // values left in the current run
	value uint32 // its value
	bits  []byte // current bit-packed groups
	pos   int    // bit position in bits
	left  int    // values left in bits
}

func newHybrid(b []byte, width uint) hybridDecoder { return hybridDecoder{b: b, width: width} }

// advance begins the next run or group.
func (h *hybridDecoder) advance() error {
	for h.run == 0 && h.left == 0 {
		n, k := binary.Uvarint(h.b)
		if k <= 0 {
			return errHybrid
		}
		h.b = h.b[k:]
		size := int(h.width+7) / 8
		if n&1 == 0 {
			if n>>1 > maxPageValues || len(h.b) < size {
				return errHybrid
			}
			h.run = int(n >> 1)
			h.value = 0
			for i := size - 1; i >= 0; i-- {
				h.value = h.value<<8 | uint32(h.b[i])
			}
			h.b = h.b[size:]
			continue
		}
		groups := n >> 1
		if groups > maxPageValues/8 {
			return errHybrid
		}
		bytes := int(groups) * int(h.width)
		// Writers may leave out the padding of the last group.
		h.left = int(groups) * 8
		if bytes > len(h.b) {
			if h.width == 0 {
				return errHybrid
			}
			h.left = len(h.b) * 8 / int(h.width)
			bytes = len(h.b)
			if h.left == 0 {
				return errHybrid
			}
		}
		h.bits, h.b, h.pos = h.b[:bytes], h.b[bytes:], 0
	}
	return nil
}

// same returns how many of the next n values are certain to equal v without looking at each.
func (h *hybridDecoder) same(n int) (count int, v uint32, err error) {
	if err := h.advance(); err != nil {
		return 0, 0, err
	}
	if h.run > 0 {
		return min(n, h.run), h.value, nil
	}
	return 0, 0, nil
}

// skipRun takes n values of the current run.
func (h *hybridDecoder) skipRun(n int) { h.run -= n }

// fill decodes len(dst) values.
func fillHybrid[T uint8 | int32](h *hybridDecoder, dst []T) error {
	for len(dst) > 0 {
		if err := h.advance(); err != nil {
			return err
		}
		if h.run > 0 {
			n := min(h.run, len(dst))
			v := T(h.value)
			for i := range dst[:n] {
				dst[i] = v
			}
			h.run -= n
			dst = dst[n:]
			continue
		}
		n := min(h.left, len(dst))
		unpack(dst[:n], h.bits, h.pos, h.width)
		h.pos += n * int(h.width)
		h.left -= n
		dst = dst[n:]
	}
	return nil
}

// unpack reads len(dst) values of width ≤ 32 bits, lowest bits first, from bit position pos of b. b must hold them.
func unpack[T uint8 | int32](dst []T, b []byte, pos int, width uint) {
	mask := uint64(1)<<width - 1
	i := 0
	for ; i < len(dst); i++ {
		at := pos >> 3
		if at+8 > len(b) {
			break
		}
		dst[i] = T(binary.LittleEndian.Uint64(b[at:]) >> (pos & 7) & mask)
		pos += int(width)
	}
	for ; i < len(dst); i++ {
		var tail [8]byte
		copy(tail[:], b[min(pos>>3, len(b)):])
		dst[i] = T(binary.LittleEndian.Uint64(tail[:]) >> (pos & 7) & mask)
		pos += int(width)
	}
}

// minRun is the shortest run worth a header of its own between bit-packed groups.
const minRun = 8

// appendHybrid encodes values of width bits. Runs begin at multiples of eight within a bit-packed stretch, as the format wants.
func appendHybrid[T uint8 | int32](dst []byte, src []T, width uint) []byte {
	size := int(width+7) / 8
	for i := 0; i < len(src); {
		n := runLength(src[i:])
		if n >= minRun || n == len(src)-i {
			dst = binary.AppendUvarint(dst, uint64(n)<<1)
			v := uint32(src[i])
			for k := 0; k < size; k++ {
				dst = append(dst, byte(v>>(8*k)))
			}
			i += n
			continue
		}
		// Groups of eight until a run begins that is long enough from a group's start.
		j := i
		for j < len(src) {
			j = min(j+8, len(src))
			if j < len(src) && runLength(src[j:]) >= minRun {
				break
			}
		}
		dst = appendPacked(dst, src[i:j], width)
		i = j
	}
	return dst
}

// runLength counts how often the first value repeats at the front.
func runLength[T uint8 | int32](src []T) int {
	v := src[0]
	n := 1
	for n < len(src) && src[n] == v {
		n++
	}
	return n
}

// appendPacked appends one bit-packed stretch, padded to whole groups.
func appendPacked[T uint8 | int32](dst []byte, src []T, width uint) []byte {
	groups := (len(src) + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
	end := len(dst) + groups*int(width)
	var acc uint64
	var bits uint
	for _, v := range src {
		acc |= uint64(uint32(v)) << bits
		bits += width
		for bits >= 32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(acc))
			acc >>= 32
			bits -= 32
		}
	}
	for ; bits > 0; bits -= min(bits, 8) {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	for len(dst) < end {
		dst = append(dst, 0)
	}
	return dst[:end]
}
