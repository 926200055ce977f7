package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

func decodeCSV(ctx context.Context, in *Input) (RowReader, error) {
	delim := in.Options.Delimiter
	if delim == 0 {
		delim = ','
	}
	return openCSV(ctx, in, delim)
}

func decodeTSV(ctx context.Context, in *Input) (RowReader, error) { return openCSV(ctx, in, '\t') }

// csvReader decodes comma separated text with a header line.
type csvReader struct {
	in    *Input
	scan  *csvScanner
	build *builder
	cols  []int // file column → table column, -1: skipped
	names []string
	null  []byte
	lines []int64
}

var (
	utf8BOM  = []byte{0xEF, 0xBB, 0xBF}
	utf16BOM = [][]byte{{0xFF, 0xFE}, {0xFE, 0xFF}}
)

// skipBOM returns how many bytes of a UTF-8 mark to skip, or an error for another encoding's.
func skipBOM(in *Input) (int64, error) {
	var head [3]byte
	n, err := in.R.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return 0, fmt.Errorf("read %s: %w", in.Name, err)
	}
	if bytes.Equal(head[:n], utf8BOM) {
		return 3, nil
	}
	for _, m := range utf16BOM {
		if bytes.HasPrefix(head[:n], m) {
			return 0, &RowError{Line: 1, Code: "encoding", Msg: "the file is UTF-16; convert it, for example with iconv -f utf-16 -t utf-8"}
		}
	}
	return 0, nil
}

func openCSV(ctx context.Context, in *Input, delim byte) (RowReader, error) {
	skip, err := skipBOM(in)
	if err != nil {
		return nil, err
	}
	t, err := newTable(in.Schema)
	if err != nil {
		return nil, err
	}
	src := &ctxReader{ctx, io.NewSectionReader(in.R, skip, in.Size-skip)}
	r := &csvReader{in: in, scan: newCSVScanner(src, delim), build: newBuilder(t, in), null: []byte(in.Options.NullToken)}
	head, err := r.scan.scan()
	if err == io.EOF {
		return nil, &RowError{Line: 1, Code: "header", Msg: "the file is empty; it needs a header line with the column names " + t.names()}
	}
	if err != nil {
		return nil, err
	}
	for _, f := range head {
		r.names = append(r.names, string(f.b))
	}
	if r.cols, err = t.resolve(r.names, in); err != nil {
		return nil, err
	}
	for i, ci := range r.cols {
		if ci >= 0 && t.columns[ci].parser == nil {
			return nil, &RowError{Line: 1, Column: r.names[i], Code: "type", Msg: "a nested column has no CSV form; drop JSON lines, Parquet or Avro"}
		}
	}
	if in.Skip > 0 {
		lines, err := skipLines(in)
		if err != nil {
			return nil, err
		}
		r.scan = newCSVScanner(&ctxReader{ctx, io.NewSectionReader(in.R, in.Skip, in.Size-in.Skip)}, delim)
		r.scan.next = lines + 1
	}
	return r, nil
}

// skipLines counts the lines of the bytes that are skipped, and checks that they are whole.
func skipLines(in *Input) (int64, error) {
	buf := make([]byte, 256<<10)
	var lines int64
	last := byte('\n')
	for off := int64(0); off < in.Skip; {
		n, err := in.R.ReadAt(buf[:min(int64(len(buf)), in.Skip-off)], off)
		if n == 0 {
			return 0, fmt.Errorf("read %s: %w", in.Name, err)
		}
		lines += int64(bytes.Count(buf[:n], []byte{'\n'}))
		last = buf[n-1]
		off += int64(n)
	}
	if last != '\n' {
		return 0, &RowError{Line: lines + 1, Code: "syntax", Msg: "rows were appended behind a line that does not end in a line feed, so the first of them is glued to it"}
	}
	return lines, nil
}

// Read implements RowReader.
func (r *csvReader) Read(dst []record.Row) (int, error) {
	r.build.batch()
	r.lines = r.lines[:0]
	for n := 0; n < min(len(dst), batchRows); {
		fields, err := r.scan.scan()
		if err != nil {
			return n, err
		}
		if len(fields) == 1 && len(fields[0].b) == 0 && !fields[0].quoted {
			continue // a blank line
		}
		row, rerr := r.row(dst[n], fields)
		if rerr != nil {
			if rerr.Line == 0 {
				rerr.Line = r.scan.line
			}
			return n, rerr
		}
		dst[n] = row
		r.lines = append(r.lines, r.scan.line)
		n++
	}
	return min(len(dst), batchRows), nil
}

func (r *csvReader) row(dst record.Row, fields []csvField) (record.Row, *RowError) {
	if len(fields) != len(r.cols) {
		return dst, &RowError{Code: "syntax", Msg: fmt.Sprintf("%d fields, the header has %d", len(fields), len(r.cols))}
	}
	for i, f := range fields {
		ci := r.cols[i]
		if ci < 0 || r.isNull(ci, f) {
			continue
		}
		if err := r.build.parse(ci, f.b); err != nil {
			err.Char = int64(f.char + 1)
			return dst, err
		}
	}
	if err := r.build.setFixed(r.in); err != nil {
		return dst, err
	}
	return r.build.row(dst)
}

// isNull: an empty unquoted field and the null token are null; "" is the empty string in a string column and null in any other, which has no empty value.
func (r *csvReader) isNull(ci int, f csvField) bool {
	if len(f.b) == 0 {
		k := r.build.t.columns[ci].parser.typ.Kind
		return !f.quoted || k != schema.String && k != schema.Bytes
	}
	return !f.quoted && len(r.null) > 0 && bytes.Equal(f.b, r.null)
}

// Overlaps tells the writer that rows stay valid during the Read after theirs: they lie in the builder's memory, which keeps two batches.
func (r *csvReader) Overlaps() {}

// Line implements RowReader.
func (r *csvReader) Line(i int) int64 { return r.lines[i] }

// Close implements RowReader.
func (r *csvReader) Close() error { return nil }
