package avrocodec

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// codec compresses the blocks of a container file. compress is nil where a codec is only read. Both append to dst.
type codec struct {
	compress   func(dst, src []byte) ([]byte, error)
	decompress func(dst, src []byte) ([]byte, error)
}

// codecOf is the list of codecs, by the name in the header.
func codecOf(name string) (codec, error) {
	switch name {
	case "", "null":
		plain := func(dst, src []byte) ([]byte, error) { return append(dst, src...), nil }
		return codec{plain, plain}, nil
	case "deflate":
		return codec{deflate, inflate}, nil
	case "snappy":
		return codec{toSnappy, fromSnappy}, nil
	case "zstandard":
		return codec{toZstd, fromZstd}, nil
	case "bzip2":
		return codec{nil, func(dst, src []byte) ([]byte, error) { return drain(dst, bzip2.NewReader(bytes.NewReader(src))) }}, nil
	}
	return codec{}, fmt.Errorf("container codec %q is not known; null, deflate, snappy, zstandard and bzip2 are", name)
}

var errTooLarge = fmt.Errorf("a block is larger than %d bytes", maxBlockBytes)

// drain appends all that r gives to dst, up to the limit of a block.
func drain(dst []byte, r io.Reader) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	n, err := io.Copy(b, io.LimitReader(r, maxBlockBytes+1))
	if err == nil && n > maxBlockBytes {
		err = errTooLarge
	}
	return b.Bytes(), err
}

func deflate(dst, src []byte) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	w, err := flate.NewWriter(b, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(src); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func inflate(dst, src []byte) ([]byte, error) {
	return drain(dst, flate.NewReader(bytes.NewReader(src)))
}

// toSnappy ends a block with the checksum of its plain bytes, as Avro wants.
func toSnappy(dst, src []byte) ([]byte, error) {
	dst = append(dst, snappy.Encode(nil, src)...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(src)), nil
}

func fromSnappy(dst, src []byte) ([]byte, error) {
	if len(src) < 4 {
		return nil, errors.New("a snappy block has no checksum")
	}
	body, sum := src[:len(src)-4], binary.BigEndian.Uint32(src[len(src)-4:])
	n, err := snappy.DecodedLen(body)
	if err != nil {
		return nil, err
	}
	// Snappy cannot shrink below a 64th or so; a bolder claim is damage and not worth the memory.
	if n > maxBlockBytes || n > 256*(len(body)+1) {
		return nil, errTooLarge
	}
	plain, err := snappy.Decode(nil, body)
	if err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(plain) != sum {
		return nil, errors.New("a snappy block does not match its checksum")
	}
	return append(dst, plain...), nil
}

var zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
})

func toZstd(dst, src []byte) ([]byte, error) {
	e, err := zstdEncoder()
	if err != nil {
		return nil, err
	}
	return e.EncodeAll(src, dst), nil
}

// fromZstd streams, so that a frame that claims a large size costs only what it really has.
func fromZstd(dst, src []byte) ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(src), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return drain(dst, d)
}
