package parquetfile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/hudifs/hudifs/internal/corrupt"
)

// readWindow is how much of a column chunk one read fetches: large enough that a chunk over a bucket takes few requests.
const readWindow = 1 << 20

// maxPageHeader bounds the search for a page header's end; headers carry statistics, which some writers do not truncate.
const maxPageHeader = 16 << 20

// chunkSource reads a range of the file front to back.
type chunkSource struct {
	f   *File
	off int64 // file offset of buf's end
	end int64
	buf []byte
	pos int
}

func (s *chunkSource) reset(off, end int64) { s.off, s.end, s.buf, s.pos = off, end, s.buf[:0], 0 }

// offset is the file offset of the next byte.
func (s *chunkSource) offset() int64 { return s.off - int64(len(s.buf)-s.pos) }

// remaining is how many bytes are left.
func (s *chunkSource) remaining() int64 { return s.end - s.offset() }

// peek returns at least n bytes without consuming them, or all that is left where that is less.
func (s *chunkSource) peek(n int) ([]byte, error) {
	if have := s.buf[s.pos:]; len(have) >= n || s.off == s.end {
		return have, nil
	}
	want := int64(max(n, readWindow))
	keep := len(s.buf) - s.pos
	size := min(want, int64(keep)+s.end-s.off)
	if int64(cap(s.buf)) < size {
		b := make([]byte, keep, size)
		copy(b, s.buf[s.pos:])
		s.buf = b
	} else {
		copy(s.buf[:keep], s.buf[s.pos:])
	}
	s.buf, s.pos = s.buf[:size], 0
	if err := s.f.readAt(s.buf[keep:], s.off); err != nil {
		s.buf = s.buf[:keep]
		return nil, err
	}
	s.off += size - int64(keep)
	return s.buf, nil
}

func (s *chunkSource) skip(n int) { s.pos += n }

// page is one page as it lies in the file.
type page struct {
	header pageHeader
	offset int64  // of the header in the file
	head   int    // length of the header
	data   []byte // as stored; valid until the next page
}

// next reads the next page of the chunk.
func (s *chunkSource) next() (page, error) {
	p := page{offset: s.offset()}
	for n := 1 << 10; ; n *= 4 {
		b, err := s.peek(n)
		if err != nil {
			return p, err
		}
		p.header, p.head, err = readPageHeader(b)
		if err == nil {
			break
		}
		if !errors.Is(err, errThriftShort) || len(b) < n || n > maxPageHeader {
			return p, s.f.damaged(p.offset, "page header: %w", err)
		}
	}
	if err := p.header.check(); err != nil {
		return p, s.f.damaged(p.offset, "%w", err)
	}
	size := p.head + int(p.header.compressed)
	if int64(size) > s.remaining() {
		return p, s.f.damaged(p.offset, "a page of %d bytes ends behind its column chunk", size)
	}
	b, err := s.peek(size)
	if err != nil {
		return p, err
	}
	p.data = b[p.head:size]
	s.skip(size)
	if p.header.hasCRC && crc32.ChecksumIEEE(p.data) != p.header.crc {
		return p, s.f.damaged(p.offset, "a page's checksum is wrong")
	}
	return p, nil
}

// plain decompresses a page. For data pages of version 2 the levels stay in front of the values. buf is used where it is large enough.
func (p *page) plain(codec int32, buf []byte) ([]byte, error) {
	h := &p.header
	levels := 0
	if h.kind == pageDataV2 {
		levels = int(h.defBytes + h.repBytes)
		if h.raw {
			codec = codecNone
		}
	}
	n := int(h.uncompressed)
	if err := expandable(codec, len(p.data), n); err != nil {
		return nil, err
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	copy(buf, p.data[:levels])
	if codec != codecNone && h.kind == pageDataV2 && len(p.data) == levels && n == levels {
		return buf, nil // nothing but nulls: some writers store no bytes, not even an empty frame
	}
	return buf, decompress(codec, buf[levels:], p.data[levels:])
}

// damaged is the error of bytes that no writer can have meant.
func (f *File) damaged(offset int64, format string, args ...any) error {
	return corrupt.At(f.name, offset, format, args...)
}

// readAt fills b from the file.
func (f *File) readAt(b []byte, off int64) error {
	if off < 0 || off+int64(len(b)) > f.size {
		return f.damaged(off, "%d bytes are wanted beyond the end of the file", len(b))
	}
	if off >= f.tailOff {
		copy(b, f.tail[off-f.tailOff:])
		return nil
	}
	n, err := f.r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		// The file was cut after its size was asked.
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %s at %d: %w", f.name, off, err)
}

// rescue turns a panic in decoding a stranger's bytes into the error that the bytes deserve.
func (f *File) rescue(err *error) {
	if p := recover(); p != nil {
		*err = f.damaged(-1, "decoding failed: %v", p)
	}
}
