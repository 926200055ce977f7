package bloom_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/hudifs/hudifs/internal/bloom"
	"github.com/hudifs/hudifs/internal/realtables"
)

// A filter built from the keys of a file that Java wrote must be Java's own, byte for byte, and Java's must know every key.
func TestJavaFilters(t *testing.T) {
	names := realtables.Names(t)
	files, same := 0, 0
	for _, name := range names {
		if !strings.Contains(name, "v6_trips") && !strings.Contains(name, "v9_") && !strings.Contains(name, "v8_trips") {
			continue
		}
		dir, _ := realtables.UnzipOnly(t, name, func(p string) bool { return strings.HasSuffix(p, ".parquet") })
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".parquet") || strings.Contains(path, ".hoodie") {
				return err
			}
			keys, typeCode, text := footer(t, path)
			if text == "" {
				return nil
			}
			files++
			f, err := bloom.Parse(typeCode, text)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				return nil
			}
			own := bloom.Default()
			for _, k := range keys {
				if !f.Has(k) {
					t.Errorf("%s: Java's filter lacks key %q", path, k)
				}
				if f.Has(k + " absent") {
					t.Errorf("%s: Java's filter has key %q", path, k+" absent")
				}
				own.Add(k)
			}
			if own.String() == text {
				same++
			} else {
				t.Errorf("%s: the filter of its %d keys is not Java's", path, len(keys))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files == 0 {
		t.Error("no file with a filter was found")
	}
	t.Logf("%d filters, %d the same byte for byte", files, same)
}

func footer(t *testing.T, path string) (keys []string, typeCode, text string) {
	t.Helper()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(r, info.Size())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	typeCode, _ = f.Lookup("hoodie_bloom_filter_type_code")
	text, _ = f.Lookup("org.apache.hudi.bloomfilter")
	col, ok := f.Schema().Lookup("_hoodie_record_key")
	if !ok {
		return nil, typeCode, text
	}
	vals := make([]parquet.Value, 256)
	for _, g := range f.RowGroups() {
		pages := g.ColumnChunks()[col.ColumnIndex].Pages()
		for {
			p, err := pages.ReadPage()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for vr := p.Values(); ; {
				n, err := vr.ReadValues(vals)
				for _, v := range vals[:n] {
					keys = append(keys, string(v.ByteArray()))
				}
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		pages.Close()
	}
	return keys, typeCode, text
}
