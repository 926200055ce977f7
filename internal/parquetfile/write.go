package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// WriteOptions are the settings of a new file; the zero value is Hudi's default shape with a fast codec.
type WriteOptions struct {
	Codec         string // snappy (""), zstd, gzip, lz4_raw, uncompressed
	RowGroupBytes int64  // 0: 120 MiB, of compressed bytes
	PageBytes     int64  // 0: 1 MiB, of plain values
	CreatedBy     string // "": DefaultCreatedBy
	OldListShape  bool   // two-level lists (parquet.avro.write-old-list-structure=true); they cannot hold null elements
}

// writeLimits are checked WriteOptions.
type writeLimits struct {
	codec      int32
	groupBytes int64
	pageBytes  int
	createdBy  string
}

func (o *WriteOptions) limits() (writeLimits, error) {
	l := writeLimits{groupBytes: o.RowGroupBytes, pageBytes: 1 << 20, createdBy: o.CreatedBy}
	var err error
	if l.codec, err = codecNumber(strings.ToLower(o.Codec)); err != nil {
		return l, err
	}
	if o.RowGroupBytes < 0 || o.PageBytes < 0 || o.PageBytes > maxPageBytes/4 {
		return l, fmt.Errorf("row groups of %d bytes with pages of %d bytes are out of range", o.RowGroupBytes, o.PageBytes)
	}
	if l.groupBytes == 0 {
		l.groupBytes = 120 << 20
	}
	if o.PageBytes > 0 {
		l.pageBytes = int(o.PageBytes)
	}
	if l.createdBy == "" {
		l.createdBy = DefaultCreatedBy
	}
	return l, nil
}

// sealedLimit is how many bytes of full pages wait until the columns encode them side by side.
const sealedLimit = 4 << 20

// ErrClosed is the error of a writer that has been closed.
var ErrClosed = errors.New("the parquet writer is closed")

// Writer writes one file. The same rows and options give the same bytes. Not safe for concurrent use; it encodes columns side by side on its own.
//
// After an error the file is worthless and every further call returns that error.
type Writer struct {
	out     chunkWriter
	schema  *schema.Schema
	limits  writeLimits
	meta    fileMeta
	cols    []*columnWriter
	index   []groupIndex
	open    int64 // rows of the row group that is open
	waiting int   // bytes of sealed pages
	err     error
}

// NewWriter starts a file with schema s on w. The caller closes w after Close.
func NewWriter(w io.Writer, s *schema.Schema, o WriteOptions) (*Writer, error) {
	l, err := o.limits()
	if err != nil {
		return nil, fmt.Errorf("write parquet: %w", err)
	}
	elements, shapes, err := fileElements(s, o.OldListShape)
	if err != nil {
		return nil, fmt.Errorf("write parquet: %w", err)
	}
	pw := &Writer{out: chunkWriter{w: w}, schema: s, limits: l}
	pw.meta = fileMeta{schema: elements, createdBy: l.createdBy}
	pw.SetFooter(KeyAvroSchema, s.String())
	pw.SetFooter(KeyWriterModel, "avro")
	for i := range shapes {
		pw.cols = append(pw.cols, newColumnWriter(&shapes[i], &pw.limits))
		pw.meta.orders = append(pw.meta.orders, true)
	}
	return pw, nil
}

// Schema is the schema of the file's rows.
func (w *Writer) Schema() *schema.Schema { return w.schema }

// SetFooter sets a footer key-value; any time before Close. The Avro schema and writer.model.name are set from the start.
func (w *Writer) SetFooter(key, value string) {
	for i := range w.meta.kv {
		if w.meta.kv[i].key == key {
			w.meta.kv[i].value = value
			return
		}
	}
	w.meta.kv = append(w.meta.kv, keyValue{key, value})
}

// Rows is the number of rows written.
func (w *Writer) Rows() int64 { return w.meta.rows + w.open }

// Size estimates the bytes that the file will have if closed now. Pages that are not encoded yet count as if they shrank as the others did.
func (w *Writer) Size() int64 {
	size := w.out.off + 4096
	for _, kv := range w.meta.kv {
		size += int64(len(kv.key) + len(kv.value))
	}
	for _, c := range w.cols {
		size += c.size()
	}
	return size
}

// size estimates the bytes of the open chunk.
func (c *columnWriter) size() int64 {
	for ; c.counted < len(c.chunk.pages); c.counted++ {
		c.plain += c.chunk.pages[c.counted].uncompressed
	}
	plain, pending := c.plain, int64(c.pending())
	if plain > 0 {
		pending = pending * c.chunk.bytes / plain
	} else {
		pending /= 2
	}
	if d := c.dict; d != nil {
		pending += int64(len(d.raw)) / 2
	}
	return c.chunk.bytes + pending
}

// WriteRow appends a row of the writer's schema. The row is not kept. A row that does not fit the schema is refused and changes nothing.
func (w *Writer) WriteRow(row record.Row) error {
	if w.err != nil {
		return w.err
	}
	if err := w.checkRow(row); err != nil {
		return fmt.Errorf("write row %d: %w", w.Rows(), err)
	}
	col := -1
	var c *columnWriter
	for _, v := range row {
		rep := v.RepetitionLevel()
		if rep == 0 {
			col++
			c = w.cols[col]
		}
		w.waiting += c.add(v, c.shape.levels[v.DefinitionLevel()], rep)
	}
	w.open++
	if w.waiting >= min(sealedLimit, int(w.limits.groupBytes)) {
		return w.keep(w.encodeFull())
	}
	return nil
}

// keep remembers the first error for good.
func (w *Writer) keep(err error) error {
	if err != nil && w.err == nil {
		w.err = err
	}
	return err
}

// checkRow checks that a row has the form that the schema asks for.
func (w *Writer) checkRow(row record.Row) error {
	col := -1
	var s *columnShape
	for _, v := range row {
		rep, def := v.RepetitionLevel(), v.DefinitionLevel()
		if rep == 0 {
			if col++; col == len(w.cols) {
				return fmt.Errorf("the row has more leaves than the %d of the schema", len(w.cols))
			}
			s = w.cols[col].shape
		}
		if s == nil || rep > s.maxRep {
			return fmt.Errorf("the row has repetition level %d where the schema allows none such", rep)
		}
		if def >= len(s.levels) {
			return fmt.Errorf("field %s: definition level %d is over %d", strings.Join(s.leaf.Path, "."), def, len(s.levels)-1)
		}
		if s.levels[def] < 0 {
			return fmt.Errorf("field %s: a list in the old two-level form cannot hold a null element; write with OldListShape false (parquet.avro.write-old-list-structure=false)", strings.Join(s.leaf.Path, "."))
		}
		if def == len(s.levels)-1 && !s.takes(v) {
			return fmt.Errorf("field %s: a %s value of %s cannot be stored as %s", strings.Join(s.leaf.Path, "."), s.leaf.Type.Kind, v.Kind(), s.typ)
		}
	}
	if col != len(w.cols)-1 {
		return fmt.Errorf("the row has %d leaves where the schema has %d", col+1, len(w.cols))
	}
	return nil
}

// takes reports whether a value that is present has the column's type.
func (s *columnShape) takes(v record.Value) bool {
	switch k := v.Kind(); s.typ {
	case physBytes:
		return k == parquet.ByteArray || k == parquet.FixedLenByteArray
	case physFixed:
		return (k == parquet.FixedLenByteArray || k == parquet.ByteArray) && len(v.ByteArray()) == int(s.length)
	default:
		return k == parquet.Kind(s.typ)
	}
}

// encodeFull encodes sealed pages, and ends the row group once it is large enough.
func (w *Writer) encodeFull() error {
	w.waiting = 0
	if err := w.eachColumn((*columnWriter).encodeSealed); err != nil {
		return err
	}
	if w.openSize() >= w.limits.groupBytes {
		return w.flushGroup()
	}
	return nil
}

// finish encodes what the chunk has left.
func (c *columnWriter) finish() error {
	c.seal()
	return c.encodeSealed()
}

// flushGroup ends the open row group and writes it.
func (w *Writer) flushGroup() error {
	if w.open == 0 {
		return nil
	}
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.eachColumn((*columnWriter).finish); err != nil {
		return err
	}
	g := rowGroupMeta{rows: w.open}
	x := groupIndex{}
	for _, c := range w.cols {
		m, pages, index, err := w.out.writeChunk(c)
		if err != nil {
			return fmt.Errorf("write parquet: %w", err)
		}
		g.columns = append(g.columns, m)
		g.bytes += m.uncompressed
		x.pages = append(x.pages, pages)
		x.column = append(x.column, index)
		c.startChunk()
	}
	w.meta.groups = append(w.meta.groups, g)
	w.index = append(w.index, x)
	w.meta.rows += w.open
	w.open, w.waiting = 0, 0
	return nil
}

// begin writes the magic number at the front of the file.
func (w *Writer) begin() error {
	if w.out.off > 0 {
		return nil
	}
	if err := w.out.write([]byte(magic)); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return nil
}

// Close writes the footer.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	if err := w.keep(w.finishFile()); err != nil {
		return err
	}
	w.err = ErrClosed
	w.cols = nil
	return nil
}

func (w *Writer) finishFile() error {
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.flushGroup(); err != nil {
		return err
	}
	// All column indexes, then all offset indexes, as Java's writers place them.
	for g := range w.index {
		for c, x := range w.index[g].column {
			if x == nil {
				continue
			}
			if err := w.writeIndex(x.encode(), &w.meta.groups[g].columns[c].columnIndex); err != nil {
				return err
			}
		}
	}
	for g := range w.index {
		for c, pages := range w.index[g].pages {
			if err := w.writeIndex(encodeOffsetIndex(pages), &w.meta.groups[g].columns[c].offsetIndex); err != nil {
				return err
			}
		}
	}
	footer := w.meta.encode()
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	footer = append(footer, magic...)
	if err := w.out.write(footer); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return nil
}

func (w *Writer) writeIndex(b []byte, ref *indexRef) error {
	*ref = indexRef{offset: w.out.off, length: int32(len(b))}
	if err := w.out.write(b); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return nil
}
