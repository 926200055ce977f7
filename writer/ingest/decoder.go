package ingest

import (
	"context"
	"io"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// Input is a sealed drop to decode.
type Input struct {
	Name    string // file name; its extensions name the format
	R       io.ReaderAt
	Size    int64             // bytes
	Skip    int64             // bytes at the front, header and whole lines, whose rows are not wanted; CSV, TSV and JSON lines only
	Schema  *schema.Schema    // of the rows to yield; Hudi's meta columns, where it has them, are left null
	Fixed   map[string]string // columns that the drop's directory names give (k=v), as text
	Options DecodeOptions
	// KeysOnly: rows name what is to be deleted, so columns but those of Keys may be missing; those that are there must still be the table's.
	KeysOnly bool
	// Keys are the columns without which no row is found, of a table KeyColumns: a delete that lacks one would look in the wrong partition and delete nothing.
	Keys    []string
	TempDir string // for formats that need random access to what is compressed; "" is the system's
}

// KeyColumns lists the top-level columns that say which row of the table one is, and in which partition it lies.
func KeyColumns(cfg *tableconfig.Config) []string {
	fields := slices.Clone(cfg.RecordKeys)
	if cfg.Partitioned() {
		fields = append(fields, cfg.PartitionNames()...)
	}
	for i, f := range fields {
		fields[i], _, _ = strings.Cut(f, ".")
	}
	return fields
}

// DecodeOptions are the text formats' settings; the zero value is the documented default.
type DecodeOptions struct {
	Delimiter   byte   // of .csv, default a comma; .tsv is always a tab
	NullToken   string // text that means null besides an empty unquoted field, e.g. \N
	FillMissing bool   // a nullable column that the drop lacks becomes null; otherwise the drop is rejected
}

// RowReader yields rows of Input.Schema in file order. Read fills dst from the front; rows are valid until the next Read; io.EOF, possibly with
// n > 0, ends it. Errors of the drop match ErrRejected.
type RowReader interface {
	Read(dst []record.Row) (int, error)
	// Line is the line, or in binary formats the row number, where row i of the last Read began.
	Line(i int) int64
	Close() error
}

// decoder is one format.
type decoder struct {
	ext    string
	decode func(ctx context.Context, in *Input) (RowReader, error)
}

// decoders is the list of formats by extension.
var decoders = []decoder{
	{".csv", decodeCSV},
	{".tsv", decodeTSV},
	{".json", decodeJSON},
	{".jsonl", decodeJSONLines},
	{".ndjson", decodeJSONLines},
	{".parquet", decodeParquet},
	{".avro", decodeAvro},
}

// Extensions lists what Decode accepts, for messages and for README.txt.
func Extensions() []string {
	var out []string
	for _, d := range decoders {
		out = append(out, d.ext)
	}
	sort.Strings(out)
	return out
}

// Accepts reports whether the name has a format's extension, plain or compressed.
func Accepts(name string) bool {
	_, _, ok := format(name)
	return ok
}

func format(name string) (decoder, compression, bool) {
	base := strings.ToLower(path.Base(name))
	c := compressionOf(base)
	base = strings.TrimSuffix(base, c.ext)
	for _, d := range decoders {
		if strings.HasSuffix(base, d.ext) && base != d.ext {
			return d, c, true
		}
	}
	return decoder{}, c, false
}

// Decode opens a drop. The caller closes the reader.
func Decode(ctx context.Context, in Input) (RowReader, error) {
	d, c, ok := format(in.Name)
	if !ok {
		return nil, rejectf("format", "%s: unknown extension; a drop's name ends in one of %s, optionally followed by .gz, .zst or .bz2",
			path.Base(in.Name), strings.Join(Extensions(), " "))
	}
	if c.ext == "" {
		return d.decode(ctx, &in)
	}
	return decodeCompressed(ctx, in, d, c)
}

// emptyRows has none.
type emptyRows struct{}

func (emptyRows) Read([]record.Row) (int, error) { return 0, io.EOF }
func (emptyRows) Line(int) int64                 { return 0 }
func (emptyRows) Close() error                   { return nil }
