package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compression codecs, by their number in the format.
const (
	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecBrotli = 4
	codecLZ4    = 5 // Hadoop's framing around LZ4 blocks
	codecZstd   = 6
	codecLZ4Raw = 7
)

// codecNumber reads hoodie.parquet.compression.codec. The default, snappy, is what this package writes fastest and every parquet reader
// has built in; see BenchmarkWrite for the price of the others.
func codecNumber(name string) (int32, error) {
	switch name {
	case "", "snappy":
		return codecSnappy, nil
	case "gzip":
		return codecGzip, nil
	case "zstd":
		return codecZstd, nil
	case "uncompressed", "none":
		return codecNone, nil
	case "lz4_raw":
		return codecLZ4Raw, nil
	}
	return 0, fmt.Errorf("parquet codec %q is not supported for writing; use snappy, zstd, gzip, lz4_raw or uncompressed", name)
}

// writableCodec reports whether pages can be made with a codec found in a file.
func writableCodec(codec int32) bool {
	switch codec {
	case codecNone, codecSnappy, codecGzip, codecZstd, codecLZ4Raw:
		return true
	}
	return false
}

var (
	errExpand = errors.New("a page does not decompress to the size that its header gives")
	errRatio  = errors.New("a page's header promises more bytes than its compression can hold")
)

// zstd coders are made for concurrent EncodeAll/DecodeAll; one of each serves the process.
var (
	zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
		// The cap limit makes DecodeAll stop at the size that the page header gives, whatever the frame claims.
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(2*maxPageBytes))
		if err != nil {
			panic("parquetfile: zstd decoder options: " + err.Error())
		}
		return d
	})
	zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
		// The fastest level: on table pages the next one is half as fast for a few percent of size. No checksum: pages carry a CRC.
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
		if err != nil {
			panic("parquetfile: zstd encoder options: " + err.Error())
		}
		return e
	})
	gzipWriters = sync.Pool{New: func() any { w, _ := gzip.NewWriterLevel(nil, gzip.DefaultCompression); return w }}
	gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}
)

// compress appends the compressed form of src to dst. The same bytes always give the same result.
func compress(codec int32, dst, src []byte) ([]byte, error) {
	switch codec {
	case codecNone:
		return append(dst, src...), nil
	case codecSnappy:
		n := len(dst)
		dst = grown(dst, snappy.MaxEncodedLen(len(src)))
		return dst[:n+len(s2.EncodeSnappy(dst[n:], src))], nil
	case codecZstd:
		return zstdEncoder().EncodeAll(src, dst), nil
	case codecGzip:
		w := gzipWriters.Get().(*gzip.Writer)
		defer gzipWriters.Put(w)
		buf := bytes.NewBuffer(dst)
		w.Reset(buf)
		if _, err := w.Write(src); err != nil {
			return nil, err
		}
		err := w.Close()
		return buf.Bytes(), err
	case codecLZ4Raw:
		n := len(dst)
		dst = grown(dst, lz4.CompressBlockBound(len(src)))
		var c lz4.Compressor
		m, err := c.CompressBlock(src, dst[n:])
		return dst[:n+m], err
	}
	return nil, fmt.Errorf("parquet codec %d is not supported for writing", codec)
}

// grown extends dst by n bytes of any content.
func grown(dst []byte, n int) []byte {
	if cap(dst)-len(dst) < n {
		dst = append(make([]byte, 0, len(dst)+n), dst...)
	}
	return dst[:len(dst)+n]
}

// maxRatio is how many bytes one compressed byte can become, 0: no useful bound.
func maxRatio(codec int32) int64 {
	switch codec {
	case codecNone:
		return 1
	case codecSnappy:
		return 32 // 64 bytes for a copy of 3 bytes, 64 for one of 2
	case codecGzip:
		return 1040
	case codecLZ4, codecLZ4Raw:
		return 256
	case codecZstd:
		return 1 << 15 // a run of 128 KiB in a block of 4 bytes
	}
	return 0
}

// expandable checks, before memory is asked for, that in bytes of codec can become out bytes.
func expandable(codec int32, in, out int) error {
	if r := maxRatio(codec); r > 0 && int64(out) > r*int64(in)+64 {
		return errRatio
	}
	return nil
}

// decompress fills dst, whose length is the size that the page header gives.
func decompress(codec int32, dst, src []byte) error {
	switch codec {
	case codecNone:
		if len(src) != len(dst) {
			return errExpand
		}
		copy(dst, src)
		return nil
	case codecSnappy:
		if n, err := snappy.DecodedLen(src); err != nil || n != len(dst) {
			return errors.Join(errExpand, err)
		}
		_, err := snappy.Decode(dst, src)
		return err
	case codecZstd:
		out, err := zstdDecoder().DecodeAll(src, dst[:0:len(dst)])
		if err == nil && len(out) != len(dst) {
			err = errExpand
		}
		return err
	case codecGzip:
		r := gzipReaders.Get().(*gzip.Reader)
		defer gzipReaders.Put(r)
		if err := r.Reset(bytes.NewReader(src)); err != nil {
			return err
		}
		return readExactly(r, dst)
	case codecBrotli:
		return readExactly(brotli.NewReader(bytes.NewReader(src)), dst)
	case codecLZ4Raw:
		n, err := lz4.UncompressBlock(src, dst)
		if err == nil && n != len(dst) {
			err = errExpand
		}
		return err
	case codecLZ4:
		return decompressHadoop(dst, src)
	}
	return fmt.Errorf("compression codec %d is not supported", codec)
}

// readExactly fills dst and wants the stream to end there.
func readExactly(r io.Reader, dst []byte) error {
	if _, err := io.ReadFull(r, dst); err != nil {
		return errors.Join(errExpand, err)
	}
	var one [1]byte
	if n, err := io.ReadFull(r, one[:]); n != 0 {
		return errExpand
	} else if err != io.EOF {
		return err
	}
	return nil
}

// decompressHadoop reads the codec that the format calls LZ4: Hadoop's frames of (big-endian plain size, compressed size, block), or,
// as some writers did, a bare block.
func decompressHadoop(dst, src []byte) error {
	if hadoopFrames(dst, src) == nil {
		return nil
	}
	n, err := lz4.UncompressBlock(src, dst)
	if err == nil && n != len(dst) {
		err = errExpand
	}
	return err
}

func hadoopFrames(dst, src []byte) error {
	for len(src) > 0 {
		if len(src) < 8 {
			return errExpand
		}
		plain, packed := binary.BigEndian.Uint32(src), binary.BigEndian.Uint32(src[4:])
		src = src[8:]
		if uint64(plain) > uint64(len(dst)) || uint64(packed) > uint64(len(src)) {
			return errExpand
		}
		if n, err := lz4.UncompressBlock(src[:packed], dst[:plain]); err != nil || n != int(plain) {
			return errExpand
		}
		dst, src = dst[plain:], src[packed:]
	}
	if len(dst) != 0 {
		return errExpand
	}
	return nil
}
