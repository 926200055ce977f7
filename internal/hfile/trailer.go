package hfile

import (
	"encoding/binary"
	"fmt"

	"github.com/hudifs/hudifs/internal/corrupt"
)

// The trailer is the last trailerSize bytes of the file (data.md §8.2).
const (
	trailerSize  = 4096
	trailerMagic = "TRABLK\"$"
	majorVersion = 3
	comparator   = "org.apache.hudi.io.storage.HoodieHBaseKVComparator"
	noBlock      = ^uint64(0) // first and last block offset of a file without entries
)

// trailer is the decoded TrailerProto.
type trailer struct {
	fileInfoOffset        uint64 // 1
	loadOnOpenOffset      uint64 // 2: the root index
	dataIndexSize         uint64 // 3: of no use, the two dialects count different things
	totalUncompressed     uint64 // 4
	dataIndexCount        uint64 // 5: entries of the root index
	metaIndexCount        uint64 // 6
	entryCount            uint64 // 7
	indexLevels           uint64 // 8
	firstBlock, lastBlock uint64 // 9, 10
	comparator            string // 11
	codec                 uint64 // 12
}

// parseTrailer reads the last trailerSize bytes of a file of size bytes.
func parseTrailer(p []byte, size int64, name string) (trailer, error) {
	var t trailer
	at := size - trailerSize
	if string(p[:8]) != trailerMagic {
		return t, corrupt.At(name, at, "not an HFile: no trailer magic")
	}
	if major := int(p[4093])<<16 | int(p[4094])<<8 | int(p[4095]); major != majorVersion {
		return t, fmt.Errorf("HFile %s has major version %d, only %d can be read", name, major, majorVersion)
	}
	n, k := binary.Uvarint(p[8:4092])
	if k <= 0 || n > uint64(4092-8-k) {
		return t, corrupt.At(name, at+8, "trailer message length")
	}
	msg := p[8+k : 8+k+int(n)]
	fields := [...]*uint64{1: &t.fileInfoOffset, 2: &t.loadOnOpenOffset, 3: &t.dataIndexSize, 4: &t.totalUncompressed, 5: &t.dataIndexCount,
		6: &t.metaIndexCount, 7: &t.entryCount, 8: &t.indexLevels, 9: &t.firstBlock, 10: &t.lastBlock, 12: &t.codec}
	err := eachField(msg, func(num uint64, v uint64, b []byte) {
		switch {
		case num == 11:
			t.comparator = string(b)
		case num < uint64(len(fields)) && fields[num] != nil && b == nil:
			*fields[num] = v
		}
	})
	if err != nil {
		return t, corrupt.At(name, at+8, "trailer: %w", err)
	}
	return t, t.check(size, name)
}

// check refuses offsets and counts that cannot be.
func (t *trailer) check(size int64, name string) error {
	at, body := size-trailerSize, uint64(size-trailerSize)
	switch {
	case t.loadOnOpenOffset > body || t.fileInfoOffset > body || t.fileInfoOffset < t.loadOnOpenOffset:
		return corrupt.At(name, at, "trailer: index at %d and file info at %d of a file of %d bytes", t.loadOnOpenOffset, t.fileInfoOffset, size)
	case t.dataIndexCount > body || t.metaIndexCount > body || t.entryCount > 1<<62:
		return corrupt.At(name, at, "trailer: %d index entries, %d meta entries in a file of %d bytes", t.dataIndexCount, t.metaIndexCount, size)
	case t.indexLevels > maxIndexLevels:
		return corrupt.At(name, at, "trailer: %d index levels", t.indexLevels)
	}
	return nil
}

// bytes prints the trailer block for a writer of the dialect.
func (t *trailer) bytes(d Dialect) []byte {
	var m []byte
	put := func(num int, v uint64) {
		m = binary.AppendUvarint(m, uint64(num)<<3)
		m = binary.AppendUvarint(m, v)
	}
	put(1, t.fileInfoOffset)
	put(2, t.loadOnOpenOffset)
	put(3, t.dataIndexSize)
	if d == HBase {
		put(4, t.totalUncompressed)
	}
	put(5, t.dataIndexCount)
	put(6, t.metaIndexCount)
	put(7, t.entryCount)
	put(8, t.indexLevels)
	put(9, t.firstBlock)
	put(10, t.lastBlock)
	m = appendBytesField(m, 11, []byte(t.comparator))
	put(12, t.codec)

	p := make([]byte, 0, trailerSize)
	p = append(p, trailerMagic...)
	p = binary.AppendUvarint(p, uint64(len(m)))
	p = append(p, m...)
	p = p[:trailerSize]
	if d == HBase {
		p[4092] = 3 // minor version 3: checksums and 33-byte headers, which HBase's own reader needs to be told
	}
	p[4095] = majorVersion
	return p
}

// appendBytesField appends a length-delimited protobuf field.
func appendBytesField(m []byte, num int, b []byte) []byte {
	m = binary.AppendUvarint(m, uint64(num)<<3|2)
	m = binary.AppendUvarint(m, uint64(len(b)))
	return append(m, b...)
}

// eachField calls fn for every field of a protobuf message: with b nil for a number, else with the bytes. Fields of unknown numbers are passed too.
func eachField(m []byte, fn func(num, v uint64, b []byte)) error {
	for len(m) > 0 {
		tag, n := binary.Uvarint(m)
		if n <= 0 {
			return fmt.Errorf("field tag does not end")
		}
		m = m[n:]
		switch tag & 7 {
		case 0:
			v, n := binary.Uvarint(m)
			if n <= 0 {
				return fmt.Errorf("field %d does not end", tag>>3)
			}
			fn(tag>>3, v, nil)
			m = m[n:]
		case 2:
			size, n := binary.Uvarint(m)
			if n <= 0 || size > uint64(len(m)-n) {
				return fmt.Errorf("field %d is longer than its message", tag>>3)
			}
			fn(tag>>3, 0, m[n:n+int(size):n+int(size)])
			m = m[n+int(size):]
		case 1, 5:
			size := 8
			if tag&7 == 5 {
				size = 4
			}
			if len(m) < size {
				return fmt.Errorf("field %d is longer than its message", tag>>3)
			}
			m = m[size:]
		default:
			return fmt.Errorf("field %d has wire type %d", tag>>3, tag&7)
		}
	}
	return nil
}
