package keygen_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/keygen"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/realtables"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// For every row of every base file that Java wrote, the generated key and path must be those in the row's meta columns, and the path the
// file's directory.
func TestJavaTables(t *testing.T) {
	zips, err := filepath.Glob("../../integration/testdata/golden/*.zip")
	if err != nil {
		t.Fatal(err)
	}
	if dir, ok := realtables.Dir(); ok {
		more, err := filepath.Glob(filepath.Join(dir, "*.zip"))
		if err != nil {
			t.Fatal(err)
		}
		zips = append(zips, more...)
	}
	if len(zips) == 0 {
		t.Skip("no golden tables in the repository and no shared/tables folder beside it")
	}
	total := 0
	for _, z := range zips {
		name := strings.TrimSuffix(filepath.Base(z), ".zip")
		t.Run(name, func(t *testing.T) { total += checkTable(t, z) })
	}
	t.Logf("%d rows", total)
}

func checkTable(t *testing.T, zipPath string) (rows int) {
	z, err := zip.OpenReader(zipPath)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var props *zip.File
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/.hoodie/hoodie.properties") && !strings.HasSuffix(f.Name, "/metadata/.hoodie/hoodie.properties") && !strings.HasPrefix(f.Name, "__MACOSX") {
			props = f
		}
	}
	if props == nil {
		t.Skip("the zip holds no table")
	}
	cfg, err := tableconfig.Parse(props.Name, content(t, props))
	if errors.Is(err, tableconfig.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !cfg.MetaFields || cfg.DropPartitionColumns {
		t.Skip("the rows do not hold their key, or not what makes their path")
	}
	base := strings.TrimSuffix(props.Name, ".hoodie/hoodie.properties")
	for _, f := range z.File {
		rel, below := strings.CutPrefix(f.Name, base)
		if !below || !strings.HasSuffix(rel, ".parquet") || strings.HasPrefix(rel, ".hoodie/") || strings.HasPrefix(path.Base(rel), ".") {
			continue
		}
		rows += checkFile(t, cfg, rel, content(t, f))
	}
	return rows
}

func content(t *testing.T, f *zip.File) []byte {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// writerSettings are what the tables of a scenario were written with and, in version 6 or with the custom generator, do not keep.
var writerSettings = map[string]map[string]string{
	"custom_keys":       {"timestamp.type": "EPOCHMILLISECONDS", "output.dateformat": "yyyyMMdd", "timezone": "UTC"},
	"timestamp_millis":  {"timestamp.type": "EPOCHMILLISECONDS", "output.dateformat": "yyyy-MM-dd", "timezone": "UTC"},
	"timestamp_text":    {"timestamp.type": "DATE_STRING", "output.dateformat": "yyyy/MM/dd", "timezone": "UTC", "input.dateformat": "yyyy-MM-dd'T'HH:mm:ss.SSSZ"},
	"timestamp_seconds": {"timestamp.type": "UNIX_TIMESTAMP", "output.dateformat": "yyyyMMdd-HH", "timezone": "GMT+8:00"},
	"timestamp_scalar":  {"timestamp.type": "SCALAR", "timestamp.scalar.time.unit": "DAYS", "output.dateformat": "yyyy-MM", "timezone": "UTC"},
}

func options(cfg *tableconfig.Config) keygen.Options {
	o := keygen.Options{}
	if _, kept := cfg.Get("hoodie.keygen.timebased.timestamp.type"); kept {
		return o
	}
	for scenario, settings := range writerSettings {
		if !strings.HasSuffix(cfg.Name, "_"+scenario) {
			continue
		}
		o.Properties = map[string]string{"hoodie.datasource.write.partitionpath.field": "part:SIMPLE,at:TIMESTAMP"}
		for k, v := range settings {
			o.Properties["hoodie.keygen.timebased."+k] = v
		}
	}
	return o
}

func checkFile(t *testing.T, cfg *tableconfig.Config, rel string, data []byte) int {
	f, err := parquetfile.Open(bytes.NewReader(data), int64(len(data)), rel)
	if err != nil {
		t.Errorf("%v", err)
		return 0
	}
	s := f.Schema()
	if cfg.KeyGen == tableconfig.KeyGenTimestamp && strings.Contains(cfg.Name, "epochmillis") {
		// Spark's UPDATE of this table wrote the path into the number's column, as text: those rows make no path again.
		if pf, _ := s.Field(cfg.PartitionFields[0].Name); pf != nil && pf.Type.Kind == schema.String {
			return 0
		}
	}
	g, err := keygen.NewWith(cfg, s, options(cfg))
	if err != nil {
		t.Errorf("%s: %v", rel, err)
		return 0
	}
	r, err := f.Rows(t.Context(), s)
	if err != nil {
		t.Errorf("%s: %v", rel, err)
		return 0
	}
	defer r.Close()
	key, part := &s.Leaves()[s.LeafOf(schema.RecordKeyField)], &s.Leaves()[s.LeafOf(schema.PartitionPathField)]
	batch, rows := make([]record.Row, 64), 0
	for {
		n, err := r.Read(batch)
		for _, row := range batch[:n] {
			rows++
			k, kerr := g.Key(row)
			wantKey, _ := record.StringAt(row, key)
			wantPath, _ := record.StringAt(row, part)
			if len(cfg.RecordKeys) == 0 {
				k.RecordKey = wantKey
			}
			if kerr != nil || k.RecordKey != wantKey || k.PartitionPath != wantPath || path.Dir(rel) != path.Clean(wantPath) {
				t.Errorf("%s: key %q in %q, %v, want %q in %q", rel, k.RecordKey, k.PartitionPath, kerr, wantKey, wantPath)
				return rows
			}
		}
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Errorf("%s: %v", rel, err)
			return rows
		}
	}
}
