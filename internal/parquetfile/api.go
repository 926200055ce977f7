// Package parquetfile reads and writes base files: parquet with the schema, footer keys and shapes that Hudi's Java readers and writers use.
//
// It knows parquet pages, footers and statistics, and how to copy columns under an edit. It must never know a table.
package parquetfile

import (
	"context"
	"io"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// File is an open parquet file. Safe for concurrent use.
type File struct{}

// Open reads the footer of a file of size bytes; name is for messages. Damaged bytes match corrupt.Is.
func Open(r io.ReaderAt, size int64, name string) (*File, error) { panic("being written") }

// Schema is the file's row schema: from the footer's parquet.avro.schema where it fits the columns, else derived from the columns.
func (f *File) Schema() *schema.Schema { panic("being written") }

// NumRows is the number of rows.
func (f *File) NumRows() int64 { panic("being written") }

// Lookup returns a footer key-value.
func (f *File) Lookup(key string) (string, bool) { panic("being written") }

// Rows reads all rows under the schema to (evolved by schema.Project), in file order. Only the columns that to names are read.
func (f *File) Rows(ctx context.Context, to *schema.Schema) (*RowReader, error) {
	panic("being written")
}

// RowReader yields rows; a row is valid until the next Read.
type RowReader struct{}

// Read fills dst with rows; io.EOF ends it, possibly with n > 0.
func (r *RowReader) Read(dst []record.Row) (int, error) { panic("being written") }

// Close releases the reader.
func (r *RowReader) Close() error { panic("being written") }

// Strings calls fn for each value of a string leaf (dotted field name) in row order, with its row position; null values are passed as ok=false. v is valid during the call.
func (f *File) Strings(ctx context.Context, field string, fn func(pos int64, v []byte, ok bool) error) error {
	panic("being written")
}

// ColumnStats are one leaf's bounds over the whole file, from the footer.
type ColumnStats struct {
	Name               string // dotted
	Min, Max           any    // Go values as record.Assembler gives them; nil: unknown
	Nulls, Values      int64
	Size, Uncompressed int64
}

// Stats returns the footer's statistics per leaf of Schema.
func (f *File) Stats() []ColumnStats { panic("being written") }

// WriteOptions are the settings of a new file; the zero value is Hudi's default shape with a fast codec.
type WriteOptions struct {
	Codec         string // gzip, snappy, zstd, uncompressed; "": zstd… decided and documented here
	RowGroupBytes int64  // default 120 MiB
	PageBytes     int64  // default 1 MiB
	CreatedBy     string
	OldListShape  bool // two-level lists (hoodie: parquet.avro.write-old-list-structure=true)
}

// Writer writes one file.
type Writer struct{}

// NewWriter starts a file with schema s on w. The caller closes w after Close.
func NewWriter(w io.Writer, s *schema.Schema, o WriteOptions) (*Writer, error) {
	panic("being written")
}

// WriteRow appends a row of the writer's schema. The row is not kept.
func (w *Writer) WriteRow(row record.Row) error { panic("being written") }

// SetFooter sets a footer key-value; any time before Close.
func (w *Writer) SetFooter(key, value string) { panic("being written") }

// Splice appends all rows of src under the edit e, column by column, rows that the edit does not touch copied as column runs or whole pages. src is read under the writer's schema.
func (w *Writer) Splice(ctx context.Context, src *File, e *Edit) error { panic("being written") }

// Size estimates the bytes that the file will have if closed now.
func (w *Writer) Size() int64 { panic("being written") }

// Rows is the number of rows written.
func (w *Writer) Rows() int64 { panic("being written") }

// Close writes the footer.
func (w *Writer) Close() error { panic("being written") }

// Edit says what Splice changes. Positions are row positions in the source; each may be given once.
type Edit struct{}

// Replace puts row (of the writer's schema) in the place of the row at pos. The row is kept until Splice returns.
func (e *Edit) Replace(pos int64, row record.Row) { panic("being written") }

// Drop leaves out the row at pos.
func (e *Edit) Drop(pos int64) { panic("being written") }

// Fill gives every row, replaced ones included, the value v in the string column leaf (index in the writer's schema): how _hoodie_file_name is renamed.
func (e *Edit) Fill(leaf int, v string) { panic("being written") }
