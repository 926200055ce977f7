package parquetfile

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/hudifs/hudifs/internal/realtables"
	"github.com/hudifs/hudifs/internal/record"
)

// arrowRows reads a file with an independent reader and returns each row's JSON-like text by column, as the oracle.
func arrowRows(t *testing.T, b []byte) (rows int64, cols [][]string, names []string) {
	t.Helper()
	pf, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer pf.Close()
	fr, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := fr.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer tbl.Release()
	for c := range int(tbl.NumCols()) {
		var vals []string
		for _, chunk := range tbl.Column(c).Data().Chunks() {
			for i := range chunk.Len() {
				vals = append(vals, chunk.ValueStr(i))
			}
		}
		cols = append(cols, vals)
		names = append(names, tbl.Schema().Field(c).Name)
	}
	return tbl.NumRows(), cols, names
}

// eachRealFile calls fn for every base file of every real table.
func eachRealFile(t *testing.T, fn func(t *testing.T, path string, b []byte)) {
	for _, name := range realtables.Names(t) {
		t.Run(name, func(t *testing.T) {
			dir, _ := realtables.Unzip(t, name)
			err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
				if err != nil || info.IsDir() || !strings.HasSuffix(path, ".parquet") || strings.Contains(path, ".hoodie") {
					return err
				}
				b, err := os.ReadFile(path)
				if err == nil && len(b) > 0 {
					fn(t, path, b)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestRealFiles reads every file that Java wrote and compares row counts and text columns with an independent reader; then it writes the rows
// again and reads them back with both.
func TestRealFiles(t *testing.T) {
	eachRealFile(t, func(t *testing.T, path string, b []byte) {
		f, err := Open(bytes.NewReader(b), int64(len(b)), filepath.Base(path))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := readRows(f, f.Schema())
		if err != nil {
			t.Fatal(err)
		}
		n, cols, names := arrowRows(t, b)
		if int64(len(rows)) != n {
			t.Fatalf("%s: %d rows, want %d", path, len(rows), n)
		}
		if text, ok := f.Lookup(KeyAvroSchema); ok && f.Schema().String() != text {
			t.Errorf("%s: the Avro schema of the footer was not kept:\n%s\nwant\n%s", path, f.Schema(), text)
		}
		checkStrings(t, f, cols, names)
		out := writeRows(t, f.Schema(), WriteOptions{}, rows)
		n2, cols2, names2 := arrowRows(t, out)
		if n2 != n || len(names) != len(names2) {
			t.Fatalf("%s: written again: %d rows of %d columns, want %d of %d", path, n2, len(names2), n, len(names))
		}
		for c := range cols {
			for i := range cols[c] {
				if cols[c][i] != cols2[c][i] {
					t.Fatalf("%s: written again: column %s row %d = %s, want %s", path, names2[c], i, cols2[c][i], cols[c][i])
				}
			}
		}
		again, err := readRows(openBytes(t, out), f.Schema())
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, again, rows)
	})
}

// checkStrings compares the text columns by Strings and by rows with the oracle's.
func checkStrings(t *testing.T, f *File, cols [][]string, names []string) {
	t.Helper()
	for c, name := range names {
		leaf := f.Schema().LeafOf(name)
		if leaf < 0 || f.Schema().Leaves()[leaf].Type.Kind.String() != "string" {
			continue
		}
		i := 0
		err := f.Strings(context.Background(), name, func(pos int64, v []byte, ok bool) error {
			got := string(v)
			if !ok {
				got = "(null)"
			}
			if got != cols[c][i] || pos != int64(i) {
				t.Fatalf("column %s row %d (%d) = %q, want %q", name, i, pos, got, cols[c][i])
			}
			i++
			return nil
		})
		if err != nil || i != len(cols[c]) {
			t.Fatalf("Strings(%s): %d values, %v; want %d", name, i, err, len(cols[c]))
		}
		i = 0
		err = f.Values(context.Background(), name, func(pos int64, v record.Value) error {
			if !record.IsNull(v, &f.Schema().Leaves()[leaf]) && string(v.ByteArray()) != cols[c][i] {
				t.Fatalf("Values(%s) row %d = %q, want %q", name, i, v.ByteArray(), cols[c][i])
			}
			i++
			return nil
		})
		if err != nil || i != len(cols[c]) {
			t.Fatalf("Values(%s): %d values, %v; want %d", name, i, err, len(cols[c]))
		}
	}
}

var _ = io.EOF
