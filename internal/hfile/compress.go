package hfile

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// The codec ids of the trailer. Hudi writes gzip and none; the others come from foreign writers.
const (
	codecLZO    = 0
	codecGzip   = 1
	codecNone   = 2
	codecSnappy = 3
	codecLZ4    = 4
	codecBzip2  = 5
	codecZstd   = 6
)

// maxBlock bounds the uncompressed size of one block, in bytes. Hudi's blocks are about 1 MiB; an index or a single large value may be more.
const maxBlock = 1 << 30

// decompress returns exactly size bytes from payload. What follows them is padding.
func decompress(codec uint64, payload []byte, size int) ([]byte, error) {
	var r io.Reader
	switch codec {
	case codecNone:
		if len(payload) < size {
			return nil, fmt.Errorf("%d bytes where %d were promised", len(payload), size)
		}
		return payload[:size:size], nil
	case codecGzip:
		z, err := gzip.NewReader(bytes.NewReader(payload))
		if err != nil {
			return nil, err
		}
		r = z
	case codecBzip2:
		r = bzip2.NewReader(bytes.NewReader(payload))
	case codecZstd:
		z, err := zstd.NewReader(bytes.NewReader(payload), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	case codecSnappy, codecLZ4:
		return hadoopChunks(codec, payload, size)
	default:
		return nil, fmt.Errorf("codec %d cannot be read (gzip, none, snappy, lz4, bzip2 and zstd can)", codec)
	}
	// Grow with the data: the promised size is not to be trusted with an allocation.
	var out bytes.Buffer
	out.Grow(min(size, 4*len(payload)+512))
	n, err := io.CopyN(&out, r, int64(size))
	if err != nil {
		return nil, fmt.Errorf("%d of %d bytes: %w", n, size, noEOF(err))
	}
	return out.Bytes(), nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// hadoopChunks reads Hadoop's block stream: int32 uncompressed size, then chunks of int32 compressed size and bytes until it is filled.
func hadoopChunks(codec uint64, p []byte, size int) ([]byte, error) {
	var out []byte
	for len(out) < size {
		if len(p) < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		left := int64(binary.BigEndian.Uint32(p))
		p = p[4:]
		if left > int64(size-len(out)) {
			return nil, fmt.Errorf("chunk of %d bytes in a block of %d", left, size)
		}
		for left > 0 {
			if len(p) < 4 || int64(binary.BigEndian.Uint32(p)) > int64(len(p)-4) {
				return nil, io.ErrUnexpectedEOF
			}
			n := int(binary.BigEndian.Uint32(p))
			c, err := chunk(codec, p[4:4+n], int(left))
			if err != nil {
				return nil, err
			}
			if len(c) == 0 || int64(len(c)) > left {
				return nil, fmt.Errorf("chunk of %d bytes where %d are left", len(c), left)
			}
			out, p, left = append(out, c...), p[4+n:], left-int64(len(c))
		}
	}
	return out, nil
}

// chunk decompresses one raw snappy or lz4 chunk of at most limit bytes.
func chunk(codec uint64, p []byte, limit int) ([]byte, error) {
	if codec == codecSnappy {
		n, err := snappy.DecodedLen(p)
		if err != nil {
			return nil, err
		}
		if n > limit {
			return nil, fmt.Errorf("chunk of %d bytes where %d are left", n, limit)
		}
		return snappy.Decode(nil, p)
	}
	out := make([]byte, min(limit, 256*len(p)+64)) // lz4 reaches 255:1
	n, err := lz4.UncompressBlock(p, out)
	if err != nil {
		return nil, err
	}
	return out[:n], nil
}
