package avrocodec

import (
	"errors"
	"fmt"
)

// ErrDamaged says that bytes are not what the schema says they are. Reading again does not help. Whoever knows the file turns it into corrupt.At.
var ErrDamaged = errors.New("avro bytes do not fit the schema")

var errTruncated = fmt.Errorf("%w: the bytes end within a value", ErrDamaged)

// readLong reads a zig-zag variable-length number at buf[p:] and returns the position behind it.
func readLong(buf []byte, p int) (int64, int, error) {
	if p < len(buf) && buf[p] < 0x80 {
		return int64(buf[p]>>1) ^ -int64(buf[p]&1), p + 1, nil
	}
	return readWideLong(buf, p)
}

// readWideLong is readLong for numbers of any length.
func readWideLong(buf []byte, p int) (int64, int, error) {
	var u uint64
	for shift := 0; shift < 64; shift += 7 {
		if p >= len(buf) {
			return 0, p, errTruncated
		}
		b := buf[p]
		p++
		if shift == 63 && b > 1 {
			break
		}
		u |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int64(u>>1) ^ -int64(u&1), p, nil
		}
	}
	return 0, p, fmt.Errorf("%w: a number is longer than 64 bits", ErrDamaged)
}

// readLength reads a length and checks it against what is left.
func readLength(buf []byte, p int) (int, int, error) {
	n, p, err := readLong(buf, p)
	if err != nil {
		return 0, p, err
	}
	if n < 0 {
		return 0, p, fmt.Errorf("%w: length %d", ErrDamaged, n)
	}
	if n > int64(len(buf)-p) {
		return 0, p, errTruncated
	}
	return int(n), p, nil
}

// readCount reads the head of a block of an array or map: its items, and its size in bytes or -1 where it is not given. Every item has at
// least one byte, so a count beyond what is left is damage.
func readCount(buf []byte, p int) (count, size, next int, err error) {
	n, p, err := readLong(buf, p)
	if err != nil || n == 0 {
		return 0, 0, p, err
	}
	size = -1
	if n < 0 {
		n = -n
		if size, p, err = readLength(buf, p); err != nil {
			return 0, 0, p, err
		}
	}
	if n < 0 || n > int64(len(buf)-p) {
		return 0, 0, p, fmt.Errorf("%w: a block claims %d items where %d bytes are left", ErrDamaged, n, len(buf)-p)
	}
	return int(n), size, p, nil
}

// appendLong appends a zig-zag variable-length number.
func appendLong(dst []byte, n int64) []byte {
	u := uint64(n<<1) ^ uint64(n>>63)
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

func appendBytes(dst, b []byte) []byte {
	return append(appendLong(dst, int64(len(b))), b...)
}
