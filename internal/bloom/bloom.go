// Package bloom is Hudi's Bloom filters of record keys, in the form of parquet footers and of the metadata table (data.md §2.6).
//
// It knows Hadoop's bits and bytes. It must never know files or tables.
package bloom

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// The type codes, as hoodie_bloom_filter_type_code and the metadata table spell them.
const (
	Simple    = "SIMPLE"     // one row of bits, for any number of keys
	DynamicV0 = "DYNAMIC_V0" // rows are added as keys come, up to a bound
)

// The settings of base files where a table says nothing else.
const (
	DefaultEntries    = 60000
	DefaultFPP        = 1e-9
	DefaultMaxEntries = 100000
)

const (
	version    = -1 // format marker
	hashMurmur = 1
	headerSize = 13
	maxRounds  = 1 << 10
	maxRows    = 1 << 20
)

// ErrDamaged says that bytes are not a filter. Whoever knows the file turns it into corrupt.At.
var ErrDamaged = errors.New("this is no bloom filter")

// Filter is a Bloom filter. Has may be called by many goroutines while none adds.
type Filter struct {
	typeCode   string
	rounds     int   // hash rounds k
	bits       int32 // per row, m
	rows       [][]byte
	perRow     int // DYNAMIC_V0: keys of a row
	current    int // DYNAMIC_V0: keys in the current row
	maxEntries int // DYNAMIC_V0
	full       bool
	turn       int // DYNAMIC_V0, full: the row whose turn is next
	words      [lanes][]uint32
}

// lanes is how many keys AddAll hashes side by side: each round of a hash waits for the one before, so four keys take little longer than one.
const lanes = 4

// Size returns bits and hash rounds for n keys at the false positive probability fpp.
func Size(n int, fpp float64) (bits int32, rounds int) {
	m := math.Ceil(float64(n) * (-math.Log(fpp) / (math.Ln2 * math.Ln2)))
	m = math.Min(math.Max(m, 2), math.MaxInt32-7)
	return int32(m), max(int(math.Ceil(math.Ln2*m/float64(n))), 1)
}

// New returns an empty filter of the type for entries keys at false positive probability fpp. A dynamic filter grows by rows for entries keys each
// up to maxEntries.
func New(typeCode string, entries int, fpp float64, maxEntries int) (*Filter, error) {
	if entries < 1 || !(fpp > 0 && fpp < 1) {
		return nil, fmt.Errorf("bloom filter: %d entries at false positive probability %v: want at least 1 and a probability between 0 and 1", entries, fpp)
	}
	f := &Filter{typeCode: typeCode}
	f.bits, f.rounds = Size(entries, fpp)
	switch typeCode {
	case Simple:
	case DynamicV0:
		f.perRow, f.maxEntries = entries, maxEntries
	default:
		return nil, fmt.Errorf("bloom filter type %q is not known; %s and %s are", typeCode, Simple, DynamicV0)
	}
	f.addRow()
	return f, nil
}

// Default returns an empty filter as Hudi makes it for base files.
func Default() *Filter {
	f, err := New(DynamicV0, DefaultEntries, DefaultFPP, DefaultMaxEntries)
	if err != nil {
		panic("bloom: " + err.Error()) // the constants are sound
	}
	return f
}

// TypeCode is SIMPLE or DYNAMIC_V0.
func (f *Filter) TypeCode() string { return f.typeCode }

func (f *Filter) addRow() { f.rows = append(f.rows, make([]byte, (int(f.bits)+7)/8)) }

// Add enters a key. A key that is added twice counts twice towards a row's fill.
func (f *Filter) Add(key string) {
	row := f.rowFor()
	f.words[0] = keyWords(f.words[0][:0], key)
	var h int32
	inv := f.inverse()
	for range f.rounds {
		h = murmurWords(f.words[0], len(key), h)
		i := fastMod(h, uint32(f.bits), inv)
		row[i>>3] |= 1 << (i & 7)
	}
}

// AddAll enters keys in order, faster than Add.
func (f *Filter) AddAll(keys []string) {
	for len(keys) > 0 {
		n := len(keys[0])
		if len(keys) < lanes || len(keys[1]) != n || len(keys[2]) != n || len(keys[3]) != n {
			f.Add(keys[0])
			keys = keys[1:]
			continue
		}
		f.addLanes(keys[:lanes])
		keys = keys[lanes:]
	}
}

// addLanes enters four keys of one length.
func (f *Filter) addLanes(keys []string) {
	var rows [lanes][]byte
	for i, k := range keys {
		rows[i] = f.rowFor()
		f.words[i] = keyWords(f.words[i][:0], k)
	}
	size := uint32(len(keys[0]))
	n := len(keys[0]) / 4
	tail := len(keys[0])%4 != 0
	w, m, inv := &f.words, uint32(f.bits), f.inverse()
	var h [lanes]uint32
	for range f.rounds {
		a, b, c, d := h[0]^size, h[1]^size, h[2]^size, h[3]^size
		for i := range n {
			a, b, c, d = a*mix^w[0][i], b*mix^w[1][i], c*mix^w[2][i], d*mix^w[3][i]
		}
		if tail {
			a, b, c, d = (a^w[0][n])*mix, (b^w[1][n])*mix, (c^w[2][n])*mix, (d^w[3][n])*mix
		}
		a, b, c, d = (a^a>>13)*mix, (b^b>>13)*mix, (c^c>>13)*mix, (d^d>>13)*mix
		h = [lanes]uint32{a ^ a>>15, b ^ b>>15, c ^ c>>15, d ^ d>>15}
		for i, v := range h {
			p := fastMod(int32(v), m, inv)
			rows[i][p>>3] |= 1 << (p & 7)
		}
	}
}

// rowFor chooses the row of the next key as Hadoop's dynamic filter does.
func (f *Filter) rowFor() []byte {
	if f.typeCode == Simple {
		return f.rows[0]
	}
	switch {
	case f.full:
		f.current++
		f.turn++
		return f.rows[(f.turn-1)%len(f.rows)]
	case f.current < f.perRow:
	case len(f.rows)*f.perRow < f.maxEntries:
		f.addRow()
		f.current = 0
	default:
		f.full = true
		f.current++
		return f.rows[0]
	}
	f.current++
	return f.rows[len(f.rows)-1]
}

// position is the bit of hash h: Java's |h % bits|.
func (f *Filter) position(h int32) uint32 { return fastMod(h, uint32(f.bits), f.inverse()) }

// inverse is 2^64 / bits, rounded up.
func (f *Filter) inverse() uint64 { return math.MaxUint64/uint64(f.bits) + 1 }

// fastMod is |h| mod n by two multiplications (Lemire's way), n ≥ 2 and inv = 2^64/n rounded up; a division would take longer than the hash.
func fastMod(h int32, n uint32, inv uint64) uint32 {
	u := uint32(h)
	if h < 0 {
		u = -u
	}
	hi, _ := bits.Mul64(inv*uint64(u), uint64(n))
	return uint32(hi)
}

// Has reports whether key may have been added; false is certain.
func (f *Filter) Has(key string) bool {
	var buf [32]uint32
	words := keyWords(buf[:0], key)
	if len(f.rows) == 1 {
		return f.rowHas(f.rows[0], words, len(key))
	}
	for _, row := range f.rows {
		if f.rowHas(row, words, len(key)) {
			return true
		}
	}
	return false
}

func (f *Filter) rowHas(row []byte, words []uint32, size int) bool {
	var h int32
	inv := f.inverse()
	for range f.rounds {
		h = murmurWords(words, size, h)
		if i := fastMod(h, uint32(f.bits), inv); row[i>>3]&(1<<(i&7)) == 0 {
			return false
		}
	}
	return true
}

// AppendBinary appends the filter's bytes to dst. It never fails.
func (f *Filter) AppendBinary(dst []byte) ([]byte, error) {
	if f.typeCode == DynamicV0 {
		dst = f.appendHeader(dst)
		dst = binary.BigEndian.AppendUint32(dst, uint32(f.perRow))
		dst = binary.BigEndian.AppendUint32(dst, uint32(f.current))
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(f.rows)))
	}
	for _, row := range f.rows {
		dst = append(f.appendHeader(dst), row...)
	}
	return dst, nil
}

func (f *Filter) appendHeader(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, 0xffffffff) // version -1
	dst = binary.BigEndian.AppendUint32(dst, uint32(f.rounds))
	dst = append(dst, hashMurmur)
	return binary.BigEndian.AppendUint32(dst, uint32(f.bits))
}

// String is the filter's text in footers and in the metadata table: standard Base64 without line breaks.
func (f *Filter) String() string {
	b, _ := f.AppendBinary(nil)
	return base64.StdEncoding.EncodeToString(b)
}

// Parse reads a filter's text. An empty type code means SIMPLE, as in very old files. Damage matches ErrDamaged.
func Parse(typeCode, text string) (*Filter, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: its text is not base64: %w", ErrDamaged, err)
	}
	return ParseBinary(typeCode, data)
}

// ParseBinary reads a filter's bytes. The filter shares data's memory.
func ParseBinary(typeCode string, data []byte) (*Filter, error) {
	f := &Filter{typeCode: typeCode, maxEntries: DefaultMaxEntries}
	if typeCode == "" {
		f.typeCode = Simple
	}
	rows := 1
	switch f.typeCode {
	case Simple:
	case DynamicV0:
		var err error
		if data, err = f.header(data); err != nil {
			return nil, err
		}
		if len(data) < 12 {
			return nil, fmt.Errorf("%w: it ends within its header", ErrDamaged)
		}
		f.perRow, f.current = int(int32(binary.BigEndian.Uint32(data))), int(int32(binary.BigEndian.Uint32(data[4:])))
		rows = int(int32(binary.BigEndian.Uint32(data[8:])))
		data = data[12:]
		if f.perRow < 1 || f.current < 0 || rows < 1 || rows > maxRows {
			return nil, fmt.Errorf("%w: %d rows of %d keys with %d in the last", ErrDamaged, rows, f.perRow, f.current)
		}
		f.full = f.current > f.perRow
	default:
		return nil, fmt.Errorf("bloom filter type %q is not known; %s and %s are", typeCode, Simple, DynamicV0)
	}
	for i := range rows {
		rest, err := f.row(data, i > 0 || f.typeCode == DynamicV0)
		if err != nil {
			return nil, err
		}
		data = rest
	}
	if len(data) > 0 {
		return nil, fmt.Errorf("%w: %d bytes are left over", ErrDamaged, len(data))
	}
	return f, nil
}

// header reads the 13 bytes in front of a filter and of each row.
func (f *Filter) header(data []byte) ([]byte, error) {
	if len(data) < headerSize {
		return nil, fmt.Errorf("%w: it ends within its header", ErrDamaged)
	}
	v, k, m := int32(binary.BigEndian.Uint32(data)), int32(binary.BigEndian.Uint32(data[4:])), int32(binary.BigEndian.Uint32(data[9:]))
	switch {
	case v != version:
		return nil, fmt.Errorf("%w: its version is %d where only %d is known", ErrDamaged, v, version)
	case data[8] != hashMurmur:
		return nil, fmt.Errorf("%w: its hash type is %d where only %d (murmur) is known", ErrDamaged, data[8], hashMurmur)
	case k < 1 || k > maxRounds || m < 2 || m > math.MaxInt32-7:
		return nil, fmt.Errorf("%w: %d hash rounds over %d bits", ErrDamaged, k, m)
	}
	f.rounds, f.bits = int(k), m
	return data[headerSize:], nil
}

// row reads one row; same says that its header must repeat the one before.
func (f *Filter) row(data []byte, same bool) ([]byte, error) {
	k, m := f.rounds, f.bits
	data, err := f.header(data)
	if err != nil {
		return nil, err
	}
	if same && (k != f.rounds || m != f.bits) {
		return nil, fmt.Errorf("%w: its rows differ in size", ErrDamaged)
	}
	n := (int(f.bits) + 7) / 8
	if len(data) < n {
		return nil, fmt.Errorf("%w: a row of %d bytes has only %d", ErrDamaged, n, len(data))
	}
	f.rows = append(f.rows, data[:n:n])
	return data[n:], nil
}
