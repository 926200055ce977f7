package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/hudifs/hudifs/internal/schema"
)

// tailBytes is read at once from the end of a file. It holds the footer of a Hudi base file, whose Bloom filter alone takes 431 kB
// (data.md §2.2), so that opening costs one read.
const tailBytes = 512 << 10

const (
	magic          = "PAR1"
	magicEncrypted = "PARE"
)

// maxFooterBytes bounds a footer; the largest that occur are some MiB for thousands of columns.
const maxFooterBytes = 256 << 20

// ErrEncrypted says that a file is encrypted; there is no key to be had here.
var ErrEncrypted = errors.New("the parquet file is encrypted, which is not supported")

// File is an open parquet file. Safe for concurrent use.
type File struct {
	r       io.ReaderAt
	size    int64
	name    string
	tail    []byte // the file's end, kept where it is the whole of a small file
	tailOff int64

	meta   *fileMeta
	tree   *fileTree
	schema *schema.Schema
	leaves []binding // per leaf of schema
	kv     map[string]string
}

// Open reads the footer of a file of size bytes; name is for messages. Damaged bytes match corrupt.Is. r must stay readable as long as the
// File is used, and its bytes must not change.
func Open(r io.ReaderAt, size int64, name string) (f *File, err error) {
	f = &File{r: r, size: size, name: name, tailOff: size}
	defer f.rescue(&err)
	footer, err := f.readFooter()
	if err != nil {
		return nil, err
	}
	start := size - 8 - int64(len(footer))
	if f.meta, err = readFileMeta(footer); err != nil {
		return nil, f.damaged(start, "footer: %w", err)
	}
	if f.meta.encrypted {
		return nil, fmt.Errorf("open %s: %w", name, ErrEncrypted)
	}
	if f.tree, err = buildTree(f.meta.schema); err != nil {
		return nil, f.damaged(start, "footer: %w", err)
	}
	f.meta.schema = nil
	if err := f.checkGroups(start); err != nil {
		return nil, err
	}
	f.kv = make(map[string]string, len(f.meta.kv))
	for _, kv := range f.meta.kv {
		f.kv[kv.key] = kv.value
	}
	if f.schema, f.leaves, err = bindSchema(f.tree, f.kv[KeyAvroSchema], calendarOf(f.meta)); err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	if int64(len(f.tail)) < size {
		f.tail, f.tailOff = nil, size
	}
	return f, nil
}

// readFooter returns the footer's bytes.
func (f *File) readFooter() ([]byte, error) {
	if f.size < 12 {
		return nil, f.damaged(0, "%d bytes are too few for a parquet file", f.size)
	}
	n := min(f.size, tailBytes)
	f.tail = make([]byte, n)
	if err := f.readAt(f.tail, f.size-n); err != nil {
		return nil, err
	}
	f.tailOff = f.size - n
	switch m := string(f.tail[n-4:]); m {
	case magic:
	case magicEncrypted:
		return nil, fmt.Errorf("open %s: %w", f.name, ErrEncrypted)
	default:
		return nil, f.damaged(f.size-4, "the file ends in %q and not in %q", m, magic)
	}
	length := int64(binary.LittleEndian.Uint32(f.tail[n-8:]))
	if length > f.size-12 {
		return nil, f.damaged(f.size-8, "a footer of %d bytes does not fit the file of %d", length, f.size)
	}
	if length > maxFooterBytes {
		return nil, f.damaged(f.size-8, "a footer of %d bytes is over the limit of %d", length, maxFooterBytes)
	}
	start := f.size - 8 - length
	if start >= f.tailOff {
		return f.tail[start-f.tailOff : n-8], nil
	}
	footer := make([]byte, length)
	return footer, f.readAt(footer, start)
}

// checkGroups checks what the footer says of row groups against the schema and the file's size; dataEnd is where the footer begins.
func (f *File) checkGroups(dataEnd int64) error {
	total := int64(0)
	for i := range f.meta.groups {
		g := &f.meta.groups[i]
		if len(g.columns) != len(f.tree.leaves) {
			return f.damaged(dataEnd, "row group %d has %d columns where the schema has %d", i, len(g.columns), len(f.tree.leaves))
		}
		for c := range g.columns {
			if err := f.checkChunk(g, c, dataEnd); err != nil {
				return fmt.Errorf("row group %d: %w", i, err)
			}
		}
		if total += g.rows; total < 0 {
			return f.damaged(dataEnd, "the footer counts more rows than there can be")
		}
	}
	if total != f.meta.rows {
		return f.damaged(dataEnd, "the row groups have %d rows where the footer says %d", total, f.meta.rows)
	}
	return nil
}

func (f *File) checkChunk(g *rowGroupMeta, c int, dataEnd int64) error {
	ch, n := &g.columns[c], f.tree.leaves[c]
	if ch.encrypted {
		return fmt.Errorf("column %s of %s: %w", n.name, f.name, ErrEncrypted)
	}
	if ch.filePath != "" {
		return fmt.Errorf("column %s of %s lies in another file, %q, which is not supported", n.name, f.name, ch.filePath)
	}
	if ch.typ != n.typ {
		return f.damaged(dataEnd, "column %s is %s in a row group and %s in the schema", n.name, ch.typ, n.typ)
	}
	if ch.values < 0 || n.maxRep == 0 && ch.values != g.rows || n.maxRep > 0 && ch.values < g.rows {
		return f.damaged(dataEnd, "column %s has %d values in a row group of %d rows", n.name, ch.values, g.rows)
	}
	if ch.values == 0 {
		return nil
	}
	if start := ch.start(); start < 4 || ch.compressed <= 0 || ch.compressed > dataEnd-start {
		return f.damaged(dataEnd, "column %s lies at %d with %d bytes, not before the footer at %d", n.name, start, ch.compressed, dataEnd)
	}
	return nil
}

// Schema is the file's row schema: from the footer's parquet.avro.schema where it fits the columns, else derived from the columns.
func (f *File) Schema() *schema.Schema { return f.schema }

// NumRows is the number of rows.
func (f *File) NumRows() int64 { return f.meta.rows }

// NumRowGroups is the number of row groups.
func (f *File) NumRowGroups() int { return len(f.meta.groups) }

// CreatedBy names the program that wrote the file.
func (f *File) CreatedBy() string { return f.meta.createdBy }

// Lookup returns a footer key-value.
func (f *File) Lookup(key string) (string, bool) {
	v, ok := f.kv[key]
	return v, ok
}
