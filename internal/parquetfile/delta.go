package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var errDelta = errors.New("a delta-coded page is damaged")

// decodeDelta turns the delta encodings into the PLAIN form, so that what follows knows one form only. n bounds the values.
// Java writes them on request only; pyarrow, DuckDB and parquet-go do so more often.
func decodeDelta(enc int32, kind physical, width int, body []byte, n int) ([]byte, error) {
	switch {
	case enc == encDeltaInt && (kind == physInt32 || kind == physInt64):
		v, _, err := deltaInts(body, n)
		if err != nil {
			return nil, err
		}
		out := make([]byte, 0, width*len(v))
		for _, x := range v {
			if kind == physInt32 {
				out = binary.LittleEndian.AppendUint32(out, uint32(x))
			} else {
				out = binary.LittleEndian.AppendUint64(out, uint64(x))
			}
		}
		return out, nil
	case enc == encDeltaLen && kind == physBytes:
		lengths, rest, err := deltaInts(body, n)
		if err != nil {
			return nil, err
		}
		out := make([]byte, 0, len(rest)+4*len(lengths))
		for _, l := range lengths {
			if l < 0 || l > int64(len(rest)) {
				return nil, errDelta
			}
			out = binary.LittleEndian.AppendUint32(out, uint32(l))
			out = append(out, rest[:l]...)
			rest = rest[l:]
		}
		return out, nil
	case enc == encDeltaBytes && (kind == physBytes || kind == physFixed):
		return deltaStrings(body, kind, width, n)
	}
	return nil, fmt.Errorf("encoding %d does not fit %s", enc, kind)
}

// deltaStrings decodes DELTA_BYTE_ARRAY: each value repeats a prefix of the one before. A few bytes could claim gigabytes that way, so the
// size is reckoned first.
func deltaStrings(body []byte, kind physical, width, n int) ([]byte, error) {
	prefixes, rest, err := deltaInts(body, n)
	if err != nil {
		return nil, err
	}
	suffixes, rest, err := deltaInts(rest, n)
	if err != nil || len(suffixes) != len(prefixes) {
		return nil, errors.Join(errDelta, err)
	}
	size, last := int64(0), int64(0)
	for i, p := range prefixes {
		if p < 0 || p > last || suffixes[i] < 0 || suffixes[i] > maxPageBytes {
			return nil, errDelta
		}
		last = p + suffixes[i]
		if size += last + 4; size > maxPageBytes {
			return nil, fmt.Errorf("a delta-coded page expands to more than %d bytes", maxPageBytes)
		}
		if kind == physFixed && last != int64(width) {
			return nil, errDelta
		}
	}
	out := make([]byte, 0, size)
	prev := 0
	for i, p := range prefixes {
		s := suffixes[i]
		if s > int64(len(rest)) {
			return nil, errDelta
		}
		if kind == physBytes {
			out = binary.LittleEndian.AppendUint32(out, uint32(p+s))
		}
		start := len(out)
		out = append(out, out[prev:prev+int(p)]...)
		out = append(out, rest[:s]...)
		rest, prev = rest[s:], start
	}
	return out, nil
}

// deltaInts decodes DELTA_BINARY_PACKED and returns what follows it. n bounds the values.
func deltaInts(b []byte, n int) (vals []int64, rest []byte, err error) {
	r := &thriftReader{b: b} // the same varints
	block, err1 := r.uvarint()
	minis, err2 := r.uvarint()
	total, err3 := r.uvarint()
	first, err4 := r.int()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, nil, err
	}
	if total > uint64(n) {
		return nil, nil, fmt.Errorf("a delta-coded page claims %d values where %d are possible", total, n)
	}
	if block == 0 || block > 1<<16 || minis == 0 || block%minis != 0 || block/minis%8 != 0 {
		return nil, nil, errDelta
	}
	if total == 0 {
		return nil, b[r.off:], nil
	}
	per := int(block / minis)
	vals = make([]int64, 1, total)
	vals[0] = first
	for len(vals) < int(total) {
		if vals, err = deltaBlock(r, vals, int(total), int(minis), per); err != nil {
			return nil, nil, err
		}
	}
	return vals, b[r.off:], nil
}

// deltaBlock decodes one block of miniblocks of per values each.
func deltaBlock(r *thriftReader, vals []int64, total, minis, per int) ([]int64, error) {
	least, err := r.int()
	if err != nil {
		return nil, err
	}
	if len(r.b)-r.off < minis {
		return nil, errThriftShort
	}
	widths := r.b[r.off : r.off+minis]
	r.off += minis
	for _, w := range widths {
		if len(vals) == total {
			break // trailing miniblocks of the last block are not stored
		}
		if w > 64 {
			return nil, errDelta
		}
		size := per * int(w) / 8
		data := r.b[r.off:]
		k := min(per, total-len(vals))
		if len(data) < size {
			// The padding of the last miniblock may be missing.
			if len(data)*8 < k*int(w) {
				return nil, errThriftShort
			}
			size = len(data)
		}
		data = data[:size]
		r.off += size
		prev := vals[len(vals)-1]
		for i := range k {
			prev += least + int64(bitsAt(data, i*int(w), uint(w)))
			vals = append(vals, prev)
		}
	}
	return vals, nil
}

// bitsAt reads width ≤ 64 bits from bit position pos; bytes behind b count as 0.
func bitsAt(b []byte, pos int, width uint) uint64 {
	if width == 0 {
		return 0
	}
	at, shift := pos>>3, uint(pos&7)
	var w [9]byte
	copy(w[:], b[min(at, len(b)):])
	v := binary.LittleEndian.Uint64(w[:]) >> shift
	if shift > 0 {
		v |= uint64(w[8]) << (64 - shift)
	}
	if width < 64 {
		v &= 1<<width - 1
	}
	return v
}
