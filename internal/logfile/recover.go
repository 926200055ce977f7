package logfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// scanStep is how much of a damaged region is searched at a time.
const scanStep = 1 << 20

// frameAt checks the frame of the block whose magic is at at, as Java does (data.md §3.11): its length must fit into the file, the total at its
// end must mirror the length, and after it comes another magic or the end. It returns the block length, or which rule was broken.
//
// The inside of the block is not looked at: a block may hold a magic in its content, so nothing but the frame can say where it ends.
func (r *Reader) frameAt(at int64) (length int64, damage string, err error) {
	if at+prefixSize > r.size {
		return 0, "the file ends inside the block length", nil
	}
	p, err := r.peek(at+int64(len(magic)), lengthSize)
	if err != nil {
		return 0, "", err
	}
	length = int64(binary.BigEndian.Uint64(p))
	if length < 0 || length > r.size-at-prefixSize {
		return 0, fmt.Sprintf("block length %d runs past the end of the file", length), nil
	}
	if length < minBlock {
		return 0, fmt.Sprintf("block length %d is smaller than any block", length), nil
	}
	end := at + prefixSize + length
	if p, err = r.peekTail(end-8, 8); err != nil {
		return 0, "", err
	}
	if total := int64(binary.BigEndian.Uint64(p)); total != length+int64(len(magic)) {
		return 0, fmt.Sprintf("total %d at the end does not mirror block length %d", total, length), nil
	}
	if end+int64(len(magic)) <= r.size {
		if p, err = r.peekTail(end, len(magic)); err != nil {
			return 0, "", err
		}
		if string(p) != magic {
			return 0, "neither another block nor the end of the file follows", nil
		}
	}
	return length, "", nil
}

// peekTail reads a few bytes far from the header without giving up the window over it.
func (r *Reader) peekTail(off int64, n int) ([]byte, error) {
	if i := off - r.off; i >= 0 && i+int64(n) <= int64(len(r.win)) {
		return r.win[i : i+int64(n)], nil
	}
	p := make([]byte, n)
	if got, err := r.src.ReadAt(p, off); got < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read log file %s at byte %d: %w", r.name, off, err)
	}
	return p, nil
}

// skipDamage makes the corrupt block that begins with the magic at at and ends before the next magic, or at the end of the file.
func (r *Reader) skipDamage(at int64, damage string) (*Block, error) {
	end, err := r.nextMagic(at + int64(len(magic)))
	if err != nil {
		return nil, err
	}
	content := at + int64(len(magic))
	return &Block{Type: CorruptBlock, Offset: at, Size: end - at, ContentOffset: content, ContentSize: end - content,
		Damage: damage, name: r.name, src: r.src}, nil
}

// nextMagic returns the offset of the first magic at or after from, or the size of the file.
func (r *Reader) nextMagic(from int64) (int64, error) {
	for off := from; off+int64(len(magic)) <= r.size; off += scanStep {
		// Neighbouring steps overlap by a magic less one byte, so that none is cut in two.
		n := min(scanStep+int64(len(magic))-1, r.size-off)
		p, err := r.peek(off, int(n))
		if err != nil {
			return 0, err
		}
		if i := bytes.Index(p, []byte(magic)); i >= 0 {
			return off + int64(i), nil
		}
	}
	return r.size, nil
}
