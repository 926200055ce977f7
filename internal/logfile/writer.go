package logfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// Writer appends blocks to a log file. Its bytes are framed as Java frames them; header entries, which Java writes in hash order, come in
// ascending order, so that equal blocks are equal bytes.
type Writer struct {
	w   io.Writer
	off int64
	buf []byte
	err error

	archive bool // see NewArchiveWriter
}

// NewWriter returns a writer whose first block lies at byte 0 of w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Size is the number of bytes written.
func (w *Writer) Size() int64 { return w.off }

// Append writes one block and returns its offset. After an error the file must be thrown away: nothing more is written.
func (w *Writer) Append(t BlockType, h Header, content []byte) (offset int64, err error) {
	if w.err != nil {
		return 0, w.err
	}
	if err := w.checkBlock(t, h, content); err != nil {
		return 0, err
	}
	offset = w.off
	head := appendHead(w.buf[:0], t, h, int64(len(content)))
	length := int64(len(head)) - prefixSize + int64(len(content)) + 4 + 8
	binary.BigEndian.PutUint64(head[len(magic):], uint64(length))
	w.buf = head
	tail := make([]byte, 4, 4+8) // no footer entries
	tail = binary.BigEndian.AppendUint64(tail, uint64(length)+uint64(len(magic)))
	for _, p := range [][]byte{head, content, tail} {
		n, err := w.w.Write(p)
		w.off += int64(n)
		if err != nil {
			w.err = fmt.Errorf("append a %s block: %w", t, err)
			return 0, w.err
		}
	}
	return offset, nil
}

// Rollback writes a rollback command: instant undoes target. Only table version 6 has them.
func (w *Writer) Rollback(instant, target string) (offset int64, err error) {
	return w.Append(CommandBlock, Header{InstantTime: instant, TargetInstantTime: target, CommandType: rollbackCommand}, nil)
}

// checkBlock refuses a block that no reader could understand.
func (w *Writer) checkBlock(t BlockType, h Header, content []byte) error {
	switch {
	case t < 0 || int(t) >= len(blockTypes) || t == CorruptBlock:
		return fmt.Errorf("a block of %s cannot be written", t)
	case h[InstantTime] == "" && !w.archive:
		return fmt.Errorf("a %s block needs the header INSTANT_TIME", t)
	case (t.IsData() || t == CDCBlock) && h[SchemaText] == "":
		return fmt.Errorf("a %s block needs the header SCHEMA", t)
	case t == CommandBlock && len(content) > 0:
		return fmt.Errorf("a command block has no content, got %d bytes", len(content))
	case (h[RecordPositions] == "") != (h[BaseInstantOfPos] == ""):
		return fmt.Errorf("record positions and their base instant go together")
	}
	return nil
}

// appendHead appends the frame up to the content, with a block length still to be filled in.
func appendHead(b []byte, t BlockType, h Header, contentSize int64) []byte {
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint64(b, 0)
	b = binary.BigEndian.AppendUint32(b, formatVersion)
	b = binary.BigEndian.AppendUint32(b, uint32(t))
	b = binary.BigEndian.AppendUint32(b, uint32(len(h)))
	keys := make([]HeaderKey, 0, len(h))
	for k := range h {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		b = binary.BigEndian.AppendUint32(b, uint32(k))
		b = binary.BigEndian.AppendUint32(b, uint32(len(h[k])))
		b = append(b, h[k]...)
	}
	return binary.BigEndian.AppendUint64(b, uint64(contentSize))
}
