package hfile

import (
	"archive/zip"
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/realtables"
)

// eachReal calls fn with every file of the real tables that match accepts. It skips the test where the tables are not there.
func eachReal(t *testing.T, match func(path string) bool, fn func(path string, data []byte)) {
	t.Helper()
	dir, ok := realtables.Dir()
	if !ok {
		t.Skip("no shared/tables folder beside the repository: the tables written by Java are not at hand")
	}
	zips, err := filepath.Glob(filepath.Join(dir, "*.zip"))
	if err != nil {
		t.Fatal(err)
	}
	for _, z := range zips {
		eachZipped(t, z, match, fn)
	}
}

func eachZipped(t *testing.T, path string, match func(string) bool, fn func(string, []byte)) {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		if strings.HasPrefix(f.Name, "__MACOSX") || strings.HasSuffix(f.Name, ".crc") || !match(f.Name) {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		fn(f.Name, data)
	}
}

// hfilesOf returns the HFiles in a file of the metadata table: itself, or what its log blocks hold.
func hfilesOf(path string, data []byte) [][]byte {
	if strings.HasSuffix(path, ".hfile") {
		return [][]byte{data}
	}
	// The frame of a log block is not this package's business: an HFile in one begins with its first block and ends with its trailer.
	var out [][]byte
	for _, part := range bytes.Split(data, []byte("#HUDI#"))[1:] {
		end := bytes.LastIndex(part, []byte(trailerMagic))
		if end < 0 {
			continue
		}
		start := bytes.Index(part, []byte(magicData))
		if root := bytes.Index(part, []byte(magicRoot)); start < 0 || root >= 0 && root < start {
			start = root
		}
		if start >= 0 && end+trailerSize <= len(part) {
			out = append(out, part[start:end+trailerSize])
		}
	}
	return out
}

func isMetadataFile(path string) bool {
	return strings.Contains(path, "/.hoodie/metadata/") && !strings.Contains(path, "/metadata/.hoodie/") &&
		(strings.HasSuffix(path, ".hfile") || strings.Contains(path, ".log."))
}

// TestReadRealFiles reads every HFile of the real metadata tables, with every checksum, and finds every key again.
func TestReadRealFiles(t *testing.T) {
	files, entries, hbase := 0, int64(0), 0
	eachReal(t, isMetadataFile, func(path string, data []byte) {
		for _, h := range hfilesOf(path, data) {
			r, err := Open(bytes.NewReader(h), int64(len(h)), path)
			if err != nil {
				t.Fatal(err)
			}
			files++
			entries += r.Len()
			if h[len(h)-4] == 3 {
				hbase++
			}
			all := collect(t, r, "")
			if int64(len(all)) != r.Len() {
				t.Fatalf("%s: %d entries read, trailer says %d", path, len(all), r.Len())
			}
			for _, e := range all {
				v, ok, err := r.Get(e.Key)
				if err != nil || !ok || !bytes.Equal(v, e.Value) {
					t.Fatalf("%s: Get(%q) = %d bytes, %v, %v", path, e.Key, len(v), ok, err)
				}
			}
			if s, ok := r.Info("schema"); !ok || !bytes.Contains(s, []byte("HoodieMetadataRecord")) {
				t.Fatalf("%s: file info schema = %.40q, %v", path, s, ok)
			}
		}
	})
	if files < 300 || hbase == 0 || hbase == files {
		t.Errorf("read %d HFiles with %d entries, %d of them in the HBase dialect: expected hundreds of both dialects", files, entries, hbase)
	}
	t.Logf("%d HFiles, %d entries, %d HBase", files, entries, hbase)
}

// TestRewriteRealFiles writes the entries of real files anew in their own dialect and compares what both say about themselves.
func TestRewriteRealFiles(t *testing.T) {
	n := 0
	eachReal(t, func(p string) bool { return isMetadataFile(p) && strings.HasSuffix(p, ".hfile") }, func(path string, data []byte) {
		was, err := Open(bytes.NewReader(data), int64(len(data)), path)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		o := WriterOptions{Dialect: Native, Uncompressed: was.trailer.codec == codecNone}
		if data[len(data)-4] == 3 {
			o.Dialect = HBase
		}
		w := NewWriter(&out, o)
		for _, e := range collect(t, was, "") {
			if err := w.Append(e.Key, e.Value); err != nil {
				t.Fatal(err)
			}
		}
		for k, v := range was.info {
			w.SetInfo(k, v)
		}
		for _, m := range was.meta {
			p, _, err := was.Meta(string(m.key))
			if err != nil {
				t.Fatal(err)
			}
			w.AddMeta(string(m.key), p)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		now, err := Open(bytes.NewReader(out.Bytes()), int64(out.Len()), "rewritten "+path)
		if err != nil {
			t.Fatal(err)
		}
		compareFiles(t, path, was, now, o.Dialect)
		n++
	})
	t.Logf("%d files", n)
}

func compareFiles(t *testing.T, path string, was, now *Reader, d Dialect) {
	t.Helper()
	for k, v := range was.info {
		if k != infoCreated && !bytes.Equal(v, now.info[k]) {
			t.Errorf("%s: info %s = %q, want %q", path, k, now.info[k], v)
		}
	}
	a, b := was.trailer, now.trailer
	// Compressed sizes are the compressor's own.
	a.fileInfoOffset, a.loadOnOpenOffset, a.lastBlock = b.fileInfoOffset, b.loadOnOpenOffset, b.lastBlock
	if d == Native {
		a.totalUncompressed = b.totalUncompressed // not stored
	}
	if a != b {
		t.Errorf("%s (%v): trailer %+v, want %+v", path, d, b, a)
	}
}

func collect(t *testing.T, r *Reader, prefix string) []Entry {
	t.Helper()
	var all []Entry
	for e, err := range r.Scan([]byte(prefix)) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}
