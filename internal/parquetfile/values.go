package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
)

var (
	errValuesShort = errors.New("a page holds fewer values than it counts")
	errCode        = errors.New("a dictionary index points behind the dictionary")
)

// run is a stretch of one column within one page: levels and present values. Its slices are valid until the column moves on.
type run struct {
	n     int     // entries: values and nulls
	rows  int     // entries that begin a row
	rep   []uint8 // repetition levels; nil: all 0
	def   []uint8 // definition levels of the column; nil: all present
	count int     // present values
	dict  *dictionary
	codes []int32  // with dict: one index per present value
	raw   []byte   // without dict: values of fixed width, little-endian, booleans a byte each; or the PLAIN bytes of a page
	offs  []uint32 // without dict, BYTE_ARRAY: where each value begins in raw; offs[i+1]-4 is where it ends
}

// bytesAt is present value i of a BYTE_ARRAY run without dictionary.
func (r *run) bytesAt(i int) []byte {
	from, to := r.offs[i], r.offs[i+1]-4
	return r.raw[from:to:to]
}

// dictionary is the dictionary of a column chunk.
type dictionary struct {
	n    int
	raw  []byte // PLAIN; booleans never have one
	offs []uint32
	vals []parquet.Value // as row values, made on first use by the column's reader
}

func (d *dictionary) bytesAt(i int) []byte {
	from, to := d.offs[i], d.offs[i+1]-4
	return d.raw[from:to:to]
}

// fixedWidth is the bytes of one PLAIN value, 0 for BYTE_ARRAY; booleans count as the byte they take in a run.
func fixedWidth(p physical, length int32) int {
	switch p {
	case physBool:
		return 1
	case physInt32, physFloat:
		return 4
	case physInt64, physDouble:
		return 8
	case physInt96:
		return 12
	case physFixed:
		return int(length)
	}
	return 0
}

// scanPlain finds up to n length-prefixed values in b from pos. It returns their offsets (n+1 of them) and the position behind.
func scanPlain(offs []uint32, b []byte, pos, n int) ([]uint32, int, error) {
	for range n {
		if pos+4 > len(b) {
			return nil, 0, errValuesShort
		}
		l := binary.LittleEndian.Uint32(b[pos:])
		pos += 4
		if uint64(l) > uint64(len(b)-pos) {
			return nil, 0, errValuesShort
		}
		offs = append(offs, uint32(pos))
		pos += int(l)
	}
	return append(offs, uint32(pos+4)), pos, nil
}

// newDictionary reads a dictionary page's plain bytes.
func newDictionary(n int, raw []byte, width int) (*dictionary, error) {
	d := &dictionary{n: n, raw: raw}
	if width > 0 {
		if n > len(raw)/width {
			return nil, errValuesShort
		}
		d.raw = raw[:n*width]
		return d, nil
	}
	if n > len(raw)/4 {
		return nil, errValuesShort
	}
	offs, end, err := scanPlain(make([]uint32, 0, n+1), raw, 0, n)
	if err != nil {
		return nil, err
	}
	d.offs, d.raw = offs, raw[:end]
	return d, nil
}

// valueDecoder reads a page's values.
type valueDecoder struct {
	kind  physical
	width int
	mode  valueMode
	body  []byte
	pos   int // byte position; of vBits: bit position
	codes hybridDecoder
	dict  *dictionary
}

type valueMode uint8

const (
	vPlain valueMode = iota // fixed width or length-prefixed
	vBits                   // booleans, a bit each
	vRuns                   // booleans in runs
	vCodes                  // dictionary indexes
)

// open starts the values of a page; n bounds how many there can be.
func (v *valueDecoder) open(enc int32, body []byte, n int, dict *dictionary) (err error) {
	v.body, v.pos, v.mode, v.dict = body, 0, vPlain, nil
	switch enc {
	case encPlain:
		if v.kind == physBool {
			v.mode = vBits
		}
		return nil
	case encPlainDict, encRLEDict:
		return v.openCodes(body, dict)
	case encRLE:
		if v.kind != physBool {
			break
		}
		if len(body) == 0 && n == 0 {
			return nil
		}
		if len(body) < 4 || uint64(binary.LittleEndian.Uint32(body)) > uint64(len(body)-4) {
			return errValuesShort
		}
		v.mode = vRuns
		v.codes = newHybrid(body[4:4+binary.LittleEndian.Uint32(body)], 1)
		return nil
	case encDeltaInt, encDeltaLen, encDeltaBytes:
		v.body, err = decodeDelta(enc, v.kind, v.width, body, n)
		return err
	case encByteSplit:
		return v.openSplit(body)
	}
	return fmt.Errorf("encoding %d of %s is not supported", enc, v.kind)
}

func (v *valueDecoder) openCodes(body []byte, dict *dictionary) error {
	if dict == nil {
		return errors.New("a page refers to a dictionary that the column does not have")
	}
	v.mode, v.dict = vCodes, dict
	if len(body) == 0 {
		v.codes = newHybrid(nil, 0) // a page of nulls
		return nil
	}
	if body[0] > 32 {
		return fmt.Errorf("dictionary indexes of %d bits", body[0])
	}
	v.codes = newHybrid(body[1:], uint(body[0]))
	return nil
}

func (v *valueDecoder) openSplit(body []byte) error {
	if v.width == 0 || v.kind == physBool || v.kind == physInt96 || len(body)%v.width != 0 {
		return fmt.Errorf("BYTE_STREAM_SPLIT does not fit %s", v.kind)
	}
	out := make([]byte, len(body))
	n := len(body) / v.width
	for k := range v.width {
		for i, c := range body[k*n : (k+1)*n] {
			out[i*v.width+k] = c
		}
	}
	v.body = out
	return nil
}

// take decodes the next n values into r, reusing its buffers.
func (v *valueDecoder) take(r *run, n int, buf *runBuffers) error {
	r.count, r.dict, r.codes, r.raw, r.offs = n, nil, nil, nil, nil
	switch v.mode {
	case vCodes:
		r.dict = v.dict
		buf.codes = sized(buf.codes, n)
		r.codes = buf.codes
		if err := fillHybrid(&v.codes, r.codes); err != nil {
			return err
		}
		return checkCodes(r.codes, v.dict.n)
	case vBits:
		if v.pos+n > len(v.body)*8 {
			return errValuesShort
		}
		buf.bools = sized(buf.bools, n)
		unpack(buf.bools, v.body, v.pos, 1)
		v.pos += n
		r.raw = buf.bools
		return nil
	case vRuns:
		buf.bools = sized(buf.bools, n)
		r.raw = buf.bools
		return fillHybrid(&v.codes, r.raw)
	}
	if v.width > 0 {
		end := v.pos + n*v.width
		if end > len(v.body) {
			return errValuesShort
		}
		r.raw = v.body[v.pos:end:end]
		v.pos = end
		return nil
	}
	var err error
	if buf.offs, v.pos, err = scanPlain(buf.offs[:0], v.body, v.pos, n); err != nil {
		return err
	}
	r.raw, r.offs = v.body, buf.offs
	return nil
}

func checkCodes(codes []int32, n int) error {
	var bad uint32
	for _, c := range codes {
		bad = max(bad, uint32(c))
	}
	if len(codes) > 0 && bad >= uint32(n) {
		return errCode
	}
	return nil
}

// runBuffers are what runs of one column are decoded into.
type runBuffers struct {
	codes []int32
	bools []uint8
	offs  []uint32
	def   []uint8
}

// sized returns s with length n, its content of no meaning.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, max(n, 2*cap(s)))
	}
	return s[:n]
}
