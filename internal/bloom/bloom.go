// Package bloom is the Bloom filter that base files carry in their footers, in the bytes that Hadoop's Java classes write (data.md §2.6).
//
// It knows keys and bits. It must never know files.
package bloom

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The type codes of a footer's hoodie_bloom_filter_type_code.
const (
	Simple  = "SIMPLE"
	Dynamic = "DYNAMIC_V0"
)

// Hudi's defaults: keys per row, false positive probability, and the number of keys up to which a dynamic filter grows.
const (
	DefaultKeys    = 60_000
	DefaultFPP     = 1e-9
	DefaultMaxKeys = 100_000
)

// Bounds of what Parse accepts: a damaged footer must not take memory.
const (
	maxHashes = 1 << 10
	maxRows   = 1 << 12
)

const (
	headerSize  = 13
	dynamicSize = headerSize + 12
	marker      = -1 // of Hadoop's present format
	murmurHash  = 1
)

// ErrDamaged is matched by the errors of Parse.
var ErrDamaged = errors.New("bloom filter is damaged")

// Filter answers whether a key may be in a set. Not safe for concurrent use while keys are added.
type Filter struct {
	hashes  int
	bits    int32
	dynamic bool
	perRow  int32 // keys per row of a dynamic filter
	current int32 // keys in its last row
	maxKeys int32
	rows    [][]byte
	next    int // row for the next key once the filter is full
	full    bool
}

// New returns an empty simple filter for n keys with false positive probability p.
func New(n int, p float64) *Filter {
	m, k := Parameters(n, p)
	return &Filter{hashes: k, bits: m, rows: [][]byte{make([]byte, rowBytes(m))}}
}

// NewDynamic returns an empty filter that grows by rows of n keys, up to maxKeys keys.
func NewDynamic(n int, p float64, maxKeys int) *Filter {
	f := New(n, p)
	f.dynamic, f.perRow, f.maxKeys = true, int32(n), int32(maxKeys)
	return f
}

// NewDefault returns an empty filter as Hudi makes them for base files.
func NewDefault() *Filter { return NewDynamic(DefaultKeys, DefaultFPP, DefaultMaxKeys) }

// Parameters returns the number of bits and of hashes for n keys and false positive probability p.
func Parameters(n int, p float64) (bits int32, hashes int) {
	m := math.Ceil(float64(n) * (-math.Log(p) / (math.Ln2 * math.Ln2)))
	return int32(m), int(math.Ceil(math.Ln2 * m / float64(n)))
}

func rowBytes(bits int32) int { return int((int64(bits) + 7) / 8) }

// TypeCode is the footer's type code.
func (f *Filter) TypeCode() string {
	if f.dynamic {
		return Dynamic
	}
	return Simple
}

// Add adds a key.
func (f *Filter) Add(key string) {
	row := f.rows[0]
	if f.dynamic {
		row = f.rowForAdd()
	}
	f.each(key, func(bit int32) bool {
		row[bit>>3] |= 1 << (bit & 7)
		return true
	})
}

// rowForAdd picks the row of the next key as Java does: the last one until it is full, then a new one, and once there may be no more all rows in turn.
func (f *Filter) rowForAdd() []byte {
	if f.current >= f.perRow && !f.full {
		if int64(len(f.rows))*int64(f.perRow) < int64(f.maxKeys) {
			f.rows = append(f.rows, make([]byte, rowBytes(f.bits)))
			f.current = 0
		} else {
			f.full = true
			f.next = 0
		}
	}
	if f.full {
		row := f.rows[f.next%len(f.rows)]
		f.next++
		return row
	}
	f.current++
	return f.rows[len(f.rows)-1]
}

// MayContain reports whether the key may have been added; false is certain.
func (f *Filter) MayContain(key string) bool {
	if len(f.rows) == 1 {
		return f.inRow(f.rows[0], key)
	}
	var positions [maxHashes]int32
	n := 0
	f.each(key, func(bit int32) bool { positions[n] = bit; n++; return true })
	for _, row := range f.rows {
		hit := true
		for _, bit := range positions[:n] {
			if row[bit>>3]&(1<<(bit&7)) == 0 {
				hit = false
				break
			}
		}
		if hit {
			return true
		}
	}
	return false
}

func (f *Filter) inRow(row []byte, key string) bool {
	return f.each(key, func(bit int32) bool { return row[bit>>3]&(1<<(bit&7)) != 0 })
}

// each calls fn with the key's bits until it returns false.
func (f *Filter) each(key string, fn func(bit int32) bool) bool {
	h := int32(0)
	for range f.hashes {
		h = murmur(key, h)
		bit := h % f.bits
		if bit < 0 {
			bit = -bit
		}
		if !fn(bit) {
			return false
		}
	}
	return true
}

// String is the filter as a footer holds it.
func (f *Filter) String() string { return base64.StdEncoding.EncodeToString(f.Bytes()) }

// Bytes is the filter in Hadoop's binary form.
func (f *Filter) Bytes() []byte {
	size := headerSize + len(f.rows[0])
	if f.dynamic {
		size = dynamicSize + len(f.rows)*size
	}
	b := f.header(make([]byte, 0, size))
	if !f.dynamic {
		return append(b, f.rows[0]...)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(f.perRow))
	b = binary.BigEndian.AppendUint32(b, uint32(f.current))
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.rows)))
	for _, row := range f.rows {
		b = append(f.header(b), row...)
	}
	return b
}

func (f *Filter) header(b []byte) []byte {
	b = append(b, 0xff, 0xff, 0xff, 0xff)
	b = binary.BigEndian.AppendUint32(b, uint32(f.hashes))
	b = append(b, murmurHash)
	return binary.BigEndian.AppendUint32(b, uint32(f.bits))
}

// Parse reads a footer's filter. An empty type code means SIMPLE, as in very old files. Keys may be added to the result.
func Parse(typeCode, text string) (*Filter, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	f := &Filter{}
	switch typeCode {
	case Simple, "":
		rest, err := f.parseRow(b, true)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("%w: %d bytes too many", ErrDamaged, len(rest))
		}
		return f, err
	case Dynamic:
		return f, f.parseDynamic(b)
	}
	return nil, fmt.Errorf("%w: unknown type code %q", ErrDamaged, typeCode)
}

func (f *Filter) parseDynamic(b []byte) error {
	b, err := f.parseHeader(b, true)
	if err != nil {
		return err
	}
	if len(b) < 12 {
		return fmt.Errorf("%w: it ends after %d bytes of its dynamic header", ErrDamaged, len(b))
	}
	f.dynamic, f.maxKeys = true, DefaultMaxKeys
	f.perRow = int32(binary.BigEndian.Uint32(b))
	f.current = int32(binary.BigEndian.Uint32(b[4:]))
	rows := int32(binary.BigEndian.Uint32(b[8:]))
	if rows < 1 || rows > maxRows || f.perRow < 1 || f.current < 0 || int64(rows)*int64(headerSize+rowBytes(f.bits)) != int64(len(b)-12) {
		return fmt.Errorf("%w: %d rows of %d bits in %d bytes", ErrDamaged, rows, f.bits, len(b)-12)
	}
	b = b[12:]
	for range rows {
		if b, err = f.parseRow(b, false); err != nil {
			return err
		}
	}
	return nil
}

// parseHeader reads a 13-byte header; a row's header must say what the first did.
func (f *Filter) parseHeader(b []byte, first bool) ([]byte, error) {
	if len(b) < headerSize {
		return nil, fmt.Errorf("%w: it ends after %d bytes", ErrDamaged, len(b))
	}
	hashes, bits := int32(binary.BigEndian.Uint32(b[4:])), int32(binary.BigEndian.Uint32(b[9:]))
	switch {
	case int32(binary.BigEndian.Uint32(b)) != marker:
		return nil, fmt.Errorf("%w: unknown format %d", ErrDamaged, int32(binary.BigEndian.Uint32(b)))
	case b[8] != murmurHash:
		return nil, fmt.Errorf("%w: unknown hash %d", ErrDamaged, b[8])
	case hashes < 1 || hashes > maxHashes || bits < 1:
		return nil, fmt.Errorf("%w: %d hashes, %d bits", ErrDamaged, hashes, bits)
	case !first && (int(hashes) != f.hashes || bits != f.bits):
		return nil, fmt.Errorf("%w: rows of different shapes", ErrDamaged)
	}
	f.hashes, f.bits = int(hashes), bits
	return b[headerSize:], nil
}

func (f *Filter) parseRow(b []byte, first bool) ([]byte, error) {
	b, err := f.parseHeader(b, first)
	if err != nil {
		return nil, err
	}
	n := rowBytes(f.bits)
	if len(b) < n {
		return nil, fmt.Errorf("%w: %d bits in %d bytes", ErrDamaged, f.bits, len(b))
	}
	f.rows = append(f.rows, b[:n:n])
	return b[n:], nil
}

// murmur is Hadoop's Java port of MurmurHash2: bytes of the tail are sign-extended, and the tail is read from its end.
func murmur(b string, seed int32) int32 {
	const m = 0x5bd1e995
	h := uint32(seed) ^ uint32(len(b))
	n := len(b) >> 2
	for i := range n {
		s := b[4*i : 4*i+4]
		k := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
		k *= m
		k ^= k >> 24
		k *= m
		h *= m
		h ^= k
	}
	if left := len(b) - 4*n; left > 0 {
		if left >= 3 {
			h ^= uint32(int32(int8(b[len(b)-3])) << 16)
		}
		if left >= 2 {
			h ^= uint32(int32(int8(b[len(b)-2])) << 8)
		}
		h ^= uint32(int32(int8(b[len(b)-1])))
		h *= m
	}
	h ^= h >> 13
	h *= m
	h ^= h >> 15
	return int32(h)
}
