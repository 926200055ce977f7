package hfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/hudifs/hudifs/internal/corrupt"
)

// maxIndexLevels bounds the descent; HBase needs four for terabytes.
const maxIndexLevels = 16

// blockRef is where a block lies and the key that its rows begin at or after.
type blockRef struct {
	offset int64
	size   int    // whole block on disk
	key    []byte // of a data index: the row only. HBase may make up a key between two blocks, so it need not exist
}

// parseRoot reads count entries of a root or meta index (data.md §8.5). rows says whether the keys are cell keys of which the row counts.
func parseRoot(p []byte, count uint64, rows bool) ([]blockRef, error) {
	if count > uint64(len(p))/13 && count > 0 { // the smallest entry: offset, size, length byte
		return nil, fmt.Errorf("%d index entries in %d bytes", count, len(p))
	}
	refs := make([]blockRef, 0, count)
	for range count {
		if len(p) < 13 {
			return nil, fmt.Errorf("index ends inside an entry")
		}
		ref := blockRef{offset: int64(binary.BigEndian.Uint64(p)), size: int(int32(binary.BigEndian.Uint32(p[8:])))}
		n, k, err := vint(p[12:])
		if err != nil {
			return nil, err
		}
		p = p[12+k:]
		if n < 0 || n > int64(len(p)) {
			return nil, fmt.Errorf("index key of %d bytes with %d left", n, len(p))
		}
		if ref.key, err = indexKey(p[:n:n], rows); err != nil {
			return nil, err
		}
		p = p[n:]
		refs = append(refs, ref)
	}
	return refs, nil
}

// parseLower reads a leaf or intermediate index block.
func parseLower(p []byte) ([]blockRef, error) {
	if len(p) < 4 {
		return nil, fmt.Errorf("index block of %d bytes", len(p))
	}
	count := int64(int32(binary.BigEndian.Uint32(p)))
	p = p[4:]
	if count < 0 || (count+1)*4 > int64(len(p)) {
		return nil, fmt.Errorf("%d index entries in %d bytes", count, len(p))
	}
	table, body := p[:(count+1)*4], p[(count+1)*4:]
	refs := make([]blockRef, 0, count)
	for i := range count {
		from, to := int64(int32(binary.BigEndian.Uint32(table[i*4:]))), int64(int32(binary.BigEndian.Uint32(table[i*4+4:])))
		if from < 0 || to < from+12 || to > int64(len(body)) {
			return nil, fmt.Errorf("index entry %d at %d to %d of %d bytes", i, from, to, len(body))
		}
		e := body[from:to:to]
		key, err := indexKey(e[12:], true)
		if err != nil {
			return nil, err
		}
		refs = append(refs, blockRef{offset: int64(binary.BigEndian.Uint64(e)), size: int(int32(binary.BigEndian.Uint32(e[8:]))), key: key})
	}
	return refs, nil
}

// indexKey takes the row out of a data index key: int16 length, row, and in the HBase dialect the rest of the cell key.
func indexKey(k []byte, rows bool) ([]byte, error) {
	if !rows {
		return k, nil
	}
	if len(k) < 2 || int(binary.BigEndian.Uint16(k)) > len(k)-2 {
		return nil, fmt.Errorf("index key of %d bytes is shorter than its row", len(k))
	}
	n := int(binary.BigEndian.Uint16(k))
	return k[2 : 2+n : 2+n], nil
}

// vint reads a Hadoop VInt and returns it with its size.
func vint(p []byte) (v int64, size int, err error) {
	if len(p) == 0 {
		return 0, 0, fmt.Errorf("number is missing")
	}
	b := int8(p[0])
	if b >= -112 {
		return int64(b), 1, nil
	}
	n, negative := -112-int(b), false
	if b < -120 {
		n, negative = -120-int(b), true
	}
	if len(p) < 1+n {
		return 0, 0, fmt.Errorf("number of %d bytes is cut off", n)
	}
	for _, c := range p[1 : 1+n] {
		v = v<<8 | int64(c)
	}
	if negative {
		v = ^v
	}
	return v, 1 + n, nil
}

// appendVint appends a number that is not negative.
func appendVint(b []byte, v int) []byte {
	if v <= 127 {
		return append(b, byte(v))
	}
	n := 0
	for x := v; x > 0; x >>= 8 {
		n++
	}
	b = append(b, byte(int8(-112-n)))
	for i := n - 1; i >= 0; i-- {
		b = append(b, byte(v>>(8*i)))
	}
	return b
}

// firstAt returns the index of the ref whose block may hold key: the last that begins at or before it, 0 where all begin later.
func firstAt(refs []blockRef, key []byte) int {
	return max(sort.Search(len(refs), func(i int) bool { return bytes.Compare(refs[i].key, key) > 0 })-1, 0)
}

// walk calls fn for the data blocks in key order, beginning with the one that may hold from, until fn returns false.
func (r *Reader) walk(refs []blockRef, level uint64, from []byte, fn func(blockRef) (bool, error)) (bool, error) {
	for i := firstAt(refs, from); i < len(refs); i++ {
		if level <= 1 {
			if more, err := fn(refs[i]); err != nil || !more {
				return false, err
			}
			continue
		}
		p, err := r.readBlock(refs[i], magicMidIndex, magicLeafIndex)
		if err != nil {
			return false, err
		}
		lower, err := parseLower(p)
		if err != nil {
			return false, corrupt.At(r.name, refs[i].offset, "%w", err)
		}
		if more, err := r.walk(lower, level-1, from, fn); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}
