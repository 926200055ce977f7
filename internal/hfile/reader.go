package hfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"sync/atomic"

	"github.com/hudifs/hudifs/internal/corrupt"
)

// keySuffix is what follows the row in a cell key: no family, the latest timestamp, Put (data.md §8.4).
const (
	keySuffix     = "\x00\x7f\xff\xff\xff\xff\xff\xff\xff\x04"
	keySuffixSize = len(keySuffix)
	typePut       = 4
)

// Entry is one key and value. Both are valid as long as they are referenced; do not change them.
type Entry struct{ Key, Value []byte }

// Reader reads one HFile. Safe for concurrent use.
type Reader struct {
	name    string
	src     io.ReaderAt
	size    int64
	trailer trailer
	root    []blockRef
	meta    []blockRef
	info    map[string][]byte
	mvcc    bool // cells end in a VLong
	tags    bool // cells have tags
	last    atomic.Pointer[dataBlock]
}

// dataBlock is the block decoded last: look-ups come in key order.
type dataBlock struct {
	offset  int64
	payload []byte
}

// Open reads trailer, index and file info of an HFile of size bytes; name is for messages. Damaged bytes match corrupt.Is.
func Open(src io.ReaderAt, size int64, name string) (*Reader, error) {
	r := &Reader{name: name, src: src, size: size}
	if size < trailerSize {
		return nil, corrupt.At(name, 0, "not an HFile: %d bytes are less than a trailer", size)
	}
	p := make([]byte, trailerSize)
	if err := r.readAt(p, size-trailerSize); err != nil {
		return nil, err
	}
	var err error
	if r.trailer, err = parseTrailer(p, size, name); err != nil {
		return nil, err
	}
	return r, r.loadOnOpen()
}

// loadOnOpen reads the root index, the meta index and the file info, which lie together.
func (r *Reader) loadOnOpen() error {
	t := &r.trailer
	start := int64(t.loadOnOpenOffset)
	p := make([]byte, r.size-trailerSize-start)
	if err := r.readAt(p, start); err != nil {
		return err
	}
	payload, n, err := r.decodeBlock(p, start, magicRoot)
	if err != nil {
		return err
	}
	if r.root, err = parseRoot(payload, t.dataIndexCount, true); err != nil {
		return corrupt.At(r.name, start, "%w", err)
	}
	if payload, _, err = r.decodeBlock(p[n:], start+int64(n), magicRoot); err != nil {
		return err
	}
	if r.meta, err = parseRoot(payload, t.metaIndexCount, false); err != nil {
		return corrupt.At(r.name, start+int64(n), "%w", err)
	}
	at := int64(t.fileInfoOffset)
	if payload, _, err = r.decodeBlock(p[at-start:], at, magicInfo); err != nil {
		return err
	}
	if r.info, err = parseInfo(payload); err != nil {
		return corrupt.At(r.name, at, "%w", err)
	}
	v := r.info[infoKeyValueVersion]
	r.mvcc = len(v) == 4 && binary.BigEndian.Uint32(v) == 1
	_, r.tags = r.info["hfile.MAX_TAGS_LEN"]
	return nil
}

// parseInfo reads the file info (data.md §8.6).
func parseInfo(p []byte) (map[string][]byte, error) {
	rest, ok := bytes.CutPrefix(p, []byte(infoMagic))
	n, k := binary.Uvarint(rest)
	if !ok || k <= 0 || n > uint64(len(rest)-k) {
		return nil, fmt.Errorf("file info does not begin with %s and a length", infoMagic)
	}
	info := map[string][]byte{}
	var bad error
	err := eachField(rest[k:k+int(n)], func(num, _ uint64, pair []byte) {
		if num != 1 || pair == nil {
			return
		}
		var key, value []byte
		if err := eachField(pair, func(num, _ uint64, b []byte) {
			switch num {
			case 1:
				key = b
			case 2:
				value = b
			}
		}); err != nil {
			bad = err
		}
		info[string(key)] = value
	})
	if err == nil {
		err = bad
	}
	return info, err
}

// Len is the number of entries.
func (r *Reader) Len() int64 { return int64(r.trailer.entryCount) }

// Info returns a file info value, such as "schema".
func (r *Reader) Info(key string) ([]byte, bool) {
	v, ok := r.info[key]
	return v, ok
}

// Meta returns a meta block, such as "bloomFilter".
func (r *Reader) Meta(name string) ([]byte, bool, error) {
	for _, m := range r.meta {
		if string(m.key) == name {
			p, err := r.readBlock(m, magicMeta)
			return p, err == nil, err
		}
	}
	return nil, false, nil
}

// Get returns the value of key (the first, where a file holds duplicates).
func (r *Reader) Get(key []byte) (value []byte, ok bool, err error) {
	for e, err := range r.from(key) {
		if err != nil || !bytes.Equal(e.Key, key) {
			return nil, false, err
		}
		return e.Value, true, nil
	}
	return nil, false, nil
}

// Scan yields the entries whose key begins with prefix, in key order; an empty prefix yields all.
func (r *Reader) Scan(prefix []byte) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range r.from(prefix) {
			if err == nil && !bytes.HasPrefix(e.Key, prefix) {
				return
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// from yields the entries from the first whose key is key or greater.
func (r *Reader) from(key []byte) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var prev []byte
		_, err := r.walk(r.root, r.trailer.indexLevels, key, func(ref blockRef) (bool, error) {
			p, err := r.dataBlock(ref)
			if err != nil {
				return false, err
			}
			for len(p) > 0 {
				e, n, err := r.cell(p)
				if err != nil {
					return false, corrupt.At(r.name, ref.offset, "%w", err)
				}
				p = p[n:]
				if prev != nil && bytes.Compare(e.Key, prev) < 0 {
					return false, corrupt.At(r.name, ref.offset, "keys are out of order: %q after %q", e.Key, prev)
				}
				prev = e.Key
				if bytes.Compare(e.Key, key) >= 0 && !yield(e, nil) {
					return false, nil
				}
			}
			return true, nil
		})
		if err != nil {
			yield(Entry{}, err)
		}
	}
}

// dataBlock returns the payload of a data block, from the one read last where it is the same.
func (r *Reader) dataBlock(ref blockRef) ([]byte, error) {
	if b := r.last.Load(); b != nil && b.offset == ref.offset {
		return b.payload, nil
	}
	p, err := r.readBlock(ref, magicData)
	if err != nil {
		return nil, err
	}
	r.last.Store(&dataBlock{ref.offset, p})
	return p, nil
}

// cell reads the first key and value of p and returns their size in p.
func (r *Reader) cell(p []byte) (e Entry, size int, err error) {
	if len(p) < 8 {
		return e, 0, fmt.Errorf("block ends inside a cell")
	}
	kl, vl := int64(int32(binary.BigEndian.Uint32(p))), int64(int32(binary.BigEndian.Uint32(p[4:])))
	if kl < int64(2+keySuffixSize) || vl < 0 || kl+vl > int64(len(p)-8) {
		return e, 0, fmt.Errorf("cell with a key of %d and a value of %d bytes in %d", kl, vl, len(p)-8)
	}
	key, rest := p[8:8+kl], p[8+kl:]
	n := int(binary.BigEndian.Uint16(key))
	if n > len(key)-2-keySuffixSize {
		return e, 0, fmt.Errorf("row of %d bytes in a cell key of %d", n, len(key))
	}
	if key[len(key)-1] != typePut {
		return e, 0, fmt.Errorf("cell of type %d, only puts are expected", key[len(key)-1])
	}
	e = Entry{Key: key[2 : 2+n : 2+n], Value: rest[:vl:vl]}
	size, rest = 8+int(kl+vl), rest[vl:]
	if r.tags {
		if len(rest) < 2 || int(binary.BigEndian.Uint16(rest)) > len(rest)-2 {
			return e, 0, fmt.Errorf("cell tags are longer than the block")
		}
		n := 2 + int(binary.BigEndian.Uint16(rest))
		size, rest = size+n, rest[n:]
	}
	if r.mvcc {
		_, k, err := vint(rest)
		if err != nil {
			return e, 0, fmt.Errorf("cell version: %w", err)
		}
		size += k
	}
	return e, size, nil
}
