package logfile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/hudifs/hudifs/internal/corrupt"
)

// windowSize is how much one read of framing fetches. Headers are a schema and a few instants, so one window mostly holds them all.
const windowSize = 64 << 10

// Reader walks the blocks of one log file. Only framing is read; content stays on disk until it is asked for. A Reader may be used by one
// goroutine at a time.
type Reader struct {
	name string
	src  io.ReaderAt
	size int64
	win  []byte // bytes of the file from winOff on
	off  int64

	archive bool // blocks without INSTANT_TIME are right: see OpenArchive
}

// Open returns a reader of a log file of size bytes; name is for messages. A file of zero bytes has no blocks (a writer that died before its
// first byte); one that does not begin with the magic is damaged.
func Open(r io.ReaderAt, size int64, name string) (*Reader, error) {
	rd := &Reader{name: name, src: r, size: size}
	if size == 0 {
		return rd, nil
	}
	if size < int64(len(magic)) {
		// Java's reader meets the end of the file inside the magic and sees no block.
		return rd, nil
	}
	ok, err := rd.magicAt(0)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, corrupt.At(name, 0, "not a log file: it does not begin with %s", magic)
	}
	return rd, nil
}

// Blocks yields the blocks in file order. Damaged regions come as CorruptBlock (data.md §3.11). A block whose frame is whole but whose inside
// makes no sense, and a failing read, end the sequence with an error.
func (r *Reader) Blocks(ctx context.Context) iter.Seq2[*Block, error] {
	return func(yield func(*Block, error) bool) {
		for at := int64(0); at+int64(len(magic)) <= r.size; {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			b, err := r.blockAt(at)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(b, nil) {
				return
			}
			at = b.Offset + b.Size
		}
	}
}

// Backwards yields the blocks from the last to the first by the reverse pointer at each block's end. It cannot recover: the first pointer
// that leads to no block is an error that matches corrupt.Is.
func (r *Reader) Backwards(ctx context.Context) iter.Seq2[*Block, error] {
	return func(yield func(*Block, error) bool) {
		for end := r.size; end > 0; {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			b, err := r.blockBefore(end)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(b, nil) {
				return
			}
			end = b.Offset
		}
	}
}

// blockBefore reads the block that ends at end.
func (r *Reader) blockBefore(end int64) (*Block, error) {
	if end < prefixSize+minBlock {
		return nil, corrupt.At(r.name, 0, "%d bytes before the first whole block", end)
	}
	p, err := r.peek(end-8, 8)
	if err != nil {
		return nil, err
	}
	total := int64(binary.BigEndian.Uint64(p))
	start := end - 8 - total
	if total < 0 || start < 0 {
		return nil, corrupt.At(r.name, end-8, "reverse pointer %d leads out of the file", total)
	}
	ok, err := r.magicAt(start)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, corrupt.At(r.name, end-8, "reverse pointer %d leads to no block", total)
	}
	b, err := r.blockAt(start)
	if err == nil && (b.Type == CorruptBlock || b.Offset+b.Size != end) {
		err = corrupt.At(r.name, start, "the block does not end at byte %d", end)
	}
	return b, err
}

// blockAt reads the block whose magic is at at.
func (r *Reader) blockAt(at int64) (*Block, error) {
	length, damage, err := r.frameAt(at)
	if err != nil {
		return nil, err
	}
	if damage != "" {
		return r.skipDamage(at, damage)
	}
	b := &Block{Offset: at, Size: prefixSize + length, name: r.name, src: r.src}
	return b, r.parse(b)
}

// parse reads what lies inside an intact frame.
func (r *Reader) parse(b *Block) error {
	c := cursor{r: r, at: b.Offset + prefixSize, end: b.Offset + b.Size - 8}
	if v := c.int32("log format version"); c.err == nil && v != formatVersion {
		return fmt.Errorf("log file %s: block at byte %d has log format version %d, only %d can be read", r.name, b.Offset, v, formatVersion)
	}
	b.Type = BlockType(c.int32("block type"))
	if c.err == nil && (b.Type < 0 || int(b.Type) >= len(blockTypes) || b.Type == CorruptBlock) {
		return fmt.Errorf("log file %s: block at byte %d has the unknown block type %d", r.name, b.Offset, int32(b.Type))
	}
	b.Header = c.entries("header")
	b.ContentSize = c.int64("content length")
	b.ContentOffset = c.at
	c.skip(b.ContentSize, "content")
	b.Footer = c.entries("footer")
	if c.err == nil && c.at != c.end {
		c.fail("%d bytes between the footer and the end of the block", c.end-c.at)
	}
	if c.err == nil && b.Header[InstantTime] == "" && !r.archive {
		c.fail("header without INSTANT_TIME")
	}
	return c.err
}

// peek returns n bytes at off, valid until the next peek. The caller has checked that they lie in the file.
func (r *Reader) peek(off int64, n int) ([]byte, error) {
	if i := off - r.off; i >= 0 && i+int64(n) <= int64(len(r.win)) {
		return r.win[i : i+int64(n)], nil
	}
	want := int64(max(n, windowSize))
	want = min(want, r.size-off)
	if int64(n) > want {
		return nil, corrupt.At(r.name, off, "the file ends %d bytes too early", int64(n)-want)
	}
	if int64(cap(r.win)) < want {
		r.win = make([]byte, want)
	}
	r.win = r.win[:want]
	got, err := r.src.ReadAt(r.win, off)
	if got < len(r.win) {
		r.win = r.win[:0]
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read log file %s at byte %d: %w", r.name, off, err)
	}
	r.off = off
	return r.win[:n], nil
}

// magicAt reports whether a magic lies at off; fewer bytes than a magic are none.
func (r *Reader) magicAt(off int64) (bool, error) {
	if off+int64(len(magic)) > r.size {
		return false, nil
	}
	p, err := r.peek(off, len(magic))
	return string(p) == magic, err
}

// cursor reads the inside of one block and remembers the first error.
type cursor struct {
	r       *Reader
	at, end int64
	err     error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = corrupt.At(c.r.name, c.at, format, args...)
	}
}

// next returns n bytes and steps over them.
func (c *cursor) next(n int64, what string) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > c.end-c.at {
		c.fail("%s of %d bytes does not fit into the block", what, n)
		return nil
	}
	p, err := c.r.peek(c.at, int(n))
	if err != nil {
		c.err = err
		return nil
	}
	c.at += n
	return p
}

func (c *cursor) int32(what string) int32 {
	if p := c.next(4, what); p != nil {
		return int32(binary.BigEndian.Uint32(p))
	}
	return 0
}

func (c *cursor) int64(what string) int64 {
	if p := c.next(8, what); p != nil {
		return int64(binary.BigEndian.Uint64(p))
	}
	return 0
}

// skip steps over n bytes unread.
func (c *cursor) skip(n int64, what string) {
	if c.err != nil {
		return
	}
	if n < 0 || n > c.end-c.at {
		c.fail("%s of %d bytes does not fit into the block", what, n)
		return
	}
	c.at += n
}

// entries reads a header or a footer.
func (c *cursor) entries(what string) Header {
	n := c.int32(what + " entry count")
	if c.err == nil && (n < 0 || n > maxHeaderEntries || int64(n)*8 > c.end-c.at) {
		c.fail("%s of %d entries", what, n)
	}
	if c.err != nil {
		return nil
	}
	h := make(Header, n)
	for range n {
		k := HeaderKey(c.int32(what + " key"))
		size := c.int32(what + " length")
		if size > maxHeaderValue {
			c.fail("%s %s of %d bytes", what, k, size)
		}
		v := c.next(int64(size), what+" "+k.String())
		if c.err != nil {
			return nil
		}
		if _, twice := h[k]; twice {
			c.fail("%s entry %s comes twice", what, k)
			return nil
		}
		h[k] = string(v)
	}
	return h
}
