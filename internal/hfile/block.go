package hfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/hudifs/hudifs/internal/corrupt"
)

// The block magics (data.md §8.3).
const (
	magicData      = "DATABLK*"
	magicLeafIndex = "IDXLEAF2"
	magicMidIndex  = "IDXINTE2"
	magicRoot      = "IDXROOT2"
	magicMeta      = "METABLKc"
	magicInfo      = "FILEINF2"
)

// The header of a block and its checksums.
const (
	headerSize       = 33
	bytesPerChecksum = 16384
	checksumNone     = 0
	checksumCRC32    = 1
	checksumCRC32C   = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// blockHeader is the decoded header of a block.
type blockHeader struct {
	magic        string
	onDisk       int // after the header: compressed payload and checksums
	uncompressed int
	checksum     byte
	perChecksum  int
	payload      int // compressed payload
}

// parseHeader reads a header and refuses sizes that do not fit together.
func parseHeader(p []byte) (blockHeader, error) {
	i32 := func(at int) int { return int(int32(binary.BigEndian.Uint32(p[at:]))) }
	h := blockHeader{magic: string(p[:8]), onDisk: i32(8), uncompressed: i32(12), checksum: p[24], perChecksum: i32(25), payload: i32(29) - headerSize}
	switch {
	case h.onDisk < 0 || h.payload < 0 || h.payload > h.onDisk:
		return h, fmt.Errorf("block of %d bytes with a payload of %d", h.onDisk, h.payload)
	case h.uncompressed < 0 || h.uncompressed > maxBlock:
		return h, fmt.Errorf("block of %d bytes uncompressed", h.uncompressed)
	case h.checksum > checksumCRC32C:
		return h, fmt.Errorf("checksum type %d is not known", h.checksum)
	case h.checksum != checksumNone && h.perChecksum <= 0:
		return h, fmt.Errorf("checksums over %d bytes each", h.perChecksum)
	}
	return h, nil
}

// verify checks the checksums of a whole block: each covers the next perChecksum bytes of header and payload.
func (h *blockHeader) verify(block []byte) error {
	if h.checksum == checksumNone {
		return nil // the native dialect writes zeros
	}
	table := crc32.IEEETable
	if h.checksum == checksumCRC32C {
		table = castagnoli
	}
	data, sums := block[:headerSize+h.payload], block[headerSize+h.payload:]
	for i := 0; len(data) > 0; i++ {
		n := min(h.perChecksum, len(data))
		if len(sums) < 4 {
			return fmt.Errorf("checksum %d is missing", i)
		}
		if crc32.Checksum(data[:n], table) != binary.BigEndian.Uint32(sums) {
			return fmt.Errorf("checksum %d does not match", i)
		}
		data, sums = data[n:], sums[4:]
	}
	return nil
}

// decodeBlock returns the uncompressed payload of the block that p begins with and its size on disk. base is p's offset in the file.
func (r *Reader) decodeBlock(p []byte, base int64, want ...string) (payload []byte, size int, err error) {
	if len(p) < headerSize {
		return nil, 0, corrupt.At(r.name, base, "the file ends inside a block header")
	}
	h, err := parseHeader(p)
	if err != nil {
		return nil, 0, corrupt.At(r.name, base, "%w", err)
	}
	known := false
	for _, w := range want {
		known = known || w == h.magic
	}
	if !known {
		return nil, 0, corrupt.At(r.name, base, "block %q where %q should be", h.magic, want)
	}
	size = headerSize + h.onDisk
	if size > len(p) {
		return nil, 0, corrupt.At(r.name, base, "block of %d bytes with %d bytes left", size, len(p))
	}
	if err := h.verify(p[:size]); err != nil {
		return nil, 0, corrupt.At(r.name, base, "%w", err)
	}
	payload, err = decompress(r.trailer.codec, p[headerSize:headerSize+h.payload], h.uncompressed)
	if err != nil {
		return nil, 0, corrupt.At(r.name, base, "decompress: %w", err)
	}
	return payload, size, nil
}

// readBlock reads the block at ref.
func (r *Reader) readBlock(ref blockRef, want ...string) ([]byte, error) {
	if ref.offset < 0 || ref.size < headerSize || ref.offset+int64(ref.size) > r.size-trailerSize {
		return nil, corrupt.At(r.name, ref.offset, "index names a block of %d bytes outside the file", ref.size)
	}
	p := make([]byte, ref.size)
	if err := r.readAt(p, ref.offset); err != nil {
		return nil, err
	}
	payload, _, err := r.decodeBlock(p, ref.offset, want...)
	return payload, err
}

// readAt fills p.
func (r *Reader) readAt(p []byte, off int64) error {
	if n, err := r.src.ReadAt(p, off); n < len(p) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read HFile %s at byte %d: %w", r.name, off, err)
	}
	return nil
}

// appendBlock appends a block of the given magic to b: payload is compressed already.
func appendBlock(b []byte, magic string, payload []byte, uncompressed int, prev int64, sum byte) []byte {
	start := len(b)
	chunks := (headerSize + len(payload) + bytesPerChecksum - 1) / bytesPerChecksum
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)+4*chunks))
	b = binary.BigEndian.AppendUint32(b, uint32(uncompressed))
	b = binary.BigEndian.AppendUint64(b, uint64(prev))
	b = append(b, sum)
	b = binary.BigEndian.AppendUint32(b, bytesPerChecksum)
	b = binary.BigEndian.AppendUint32(b, uint32(headerSize+len(payload)))
	b = append(b, payload...)
	data := b[start:]
	for len(data) > 0 {
		n := min(bytesPerChecksum, len(data))
		c := uint32(0)
		if sum == checksumCRC32C {
			c = crc32.Checksum(data[:n], castagnoli)
		}
		b = binary.BigEndian.AppendUint32(b, c)
		data = data[n:]
	}
	return b
}
