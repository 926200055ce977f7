package logfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/hudifs/hudifs/internal/corrupt"
)

// input reads the content of one block front to back with a small buffer and remembers the first error. After one every value is zero.
type input struct {
	b    *Block
	r    *bufio.Reader
	left int64 // bytes of content not yet read
	buf  []byte
	err  error
}

func newInput(b *Block) *input {
	return &input{b: b, r: bufio.NewReaderSize(b.Section(), windowSize), left: b.ContentSize}
}

func (in *input) fail(format string, args ...any) {
	if in.err == nil {
		in.err = corrupt.At(in.b.name, in.b.ContentOffset+in.b.ContentSize-in.left, format, args...)
	}
}

// readErr records a failed read. The content lies inside an intact frame, so an end of file means that the file became shorter.
func (in *input) readErr(err error) {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if in.err == nil {
		in.err = err
	}
}

// fixed returns the next n bytes, valid until the next call; zeros after an error.
func (in *input) fixed(n int) []byte {
	if in.err == nil && (n < 0 || int64(n) > in.left) {
		in.fail("%d bytes wanted where %d are left in the block", n, in.left)
	}
	if in.err != nil {
		return make([]byte, min(max(n, 0), 16))
	}
	if cap(in.buf) < n {
		in.buf = make([]byte, n+n/2)
	}
	p := in.buf[:n]
	if _, err := io.ReadFull(in.r, p); err != nil {
		in.readErr(err)
		clear(p)
	}
	in.left -= int64(n)
	return p
}

func (in *input) byte() byte {
	if in.err == nil && in.left < 1 {
		in.fail("a byte is wanted where the block ends")
	}
	if in.err != nil {
		return 0
	}
	c, err := in.r.ReadByte()
	if err != nil {
		in.readErr(err)
	}
	in.left--
	return c
}

func (in *input) int32() int32 { return int32(binary.BigEndian.Uint32(in.fixed(4))) }

// long reads an Avro long.
func (in *input) long() int64 {
	var u uint64
	for shift := 0; ; shift += 7 {
		c := in.byte()
		if in.err != nil {
			return 0
		}
		if shift == 63 && c > 1 {
			in.fail("number of more than 64 bits")
			return 0
		}
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1)
		}
	}
}

// bytes reads Avro bytes or a string into memory of its own.
func (in *input) bytes() []byte {
	n := in.long()
	if in.err == nil && (n < 0 || n > in.left) {
		in.fail("%d bytes wanted where %d are left in the block", n, in.left)
	}
	if in.err != nil {
		return nil
	}
	p := make([]byte, n)
	if _, err := io.ReadFull(in.r, p); err != nil {
		in.readErr(err)
		return nil
	}
	in.left -= n
	return p
}

// arrayBlock reads the head of an Avro array block and returns its number of items, 0 at the end of the array. Every item of the arrays here has
// at least one byte.
func (in *input) arrayBlock() int64 {
	n := in.long()
	if n < 0 {
		n = -n
		in.long() // bytes of the block
	}
	if in.err == nil && (n < 0 || n > in.left) {
		in.fail("%d items in %d bytes", n, in.left)
	}
	if in.err != nil {
		return 0
	}
	return n
}
