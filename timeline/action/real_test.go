package action

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/avrocodec"
	"github.com/hudifs/hudifs/internal/realtables"
	"github.com/hudifs/hudifs/timeline"
)

// instantFile is one instant file of a table written by Java.
type instantFile struct {
	path   string
	layout int
	i      timeline.Instant
	body   []byte
}

// realFiles returns every instant file of a real table, its metadata table's included.
func realFiles(t *testing.T, table string) []instantFile {
	t.Helper()
	var out []instantFile
	err := filepath.WalkDir(table, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		dir := filepath.Base(filepath.Dir(path))
		layout := map[string]int{".hoodie": 1, "timeline": 2}[dir]
		if layout == 0 {
			return nil
		}
		i, err := timeline.ParseFileName(layout, d.Name())
		if err != nil {
			return nil
		}
		body, err := os.ReadFile(path)
		out = append(out, instantFile{strings.TrimPrefix(path, table), layout, i, body})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// reencode decodes a body as the type that its action and state have, and encodes it again.
func reencode(f instantFile) ([]byte, error) {
	switch {
	case f.i.State == timeline.Requested && (f.i.Action == timeline.ReplaceCommit || f.i.Action == timeline.Clustering):
		return again[RequestedReplace](f)
	case f.i.Action == timeline.Compaction:
		return again[CompactionPlan](f)
	case f.i.Action == timeline.Indexing && f.i.State == timeline.Requested:
		return again[IndexPlan](f)
	case f.i.Action == timeline.Indexing:
		return again[IndexCommit](f)
	}
	return again[CommitMetadata](f)
}

func again[T Body](f instantFile) ([]byte, error) {
	v, err := Decode[T](f.path, f.body)
	if err != nil {
		return nil, err
	}
	return Encode(f.layout, v)
}

// onlyRecord returns the bytes of a container's record.
func onlyRecord(t *testing.T, data []byte) []byte {
	t.Helper()
	c, err := avrocodec.NewContainerReader(bytes.NewReader(data), "x")
	if err != nil {
		t.Fatal(err)
	}
	_, block, err := c.NextBlock()
	if err != nil {
		t.Fatal(err)
	}
	return block
}

// TestRealRoundTrip reads every instant of every table that Java wrote and writes it again. The bytes are the same, but for the sync
// marker, the comments in the schema of one record, and the order of the few map keys that share a bucket in Java.
func TestRealRoundTrip(t *testing.T) {
	files, reordered := 0, 0
	for _, name := range realtables.Names(t) {
		table, _ := realtables.UnzipOnly(t, name, realtables.Instants)
		for _, f := range realFiles(t, table) {
			if len(f.body) == 0 {
				continue
			}
			files++
			got, err := reencode(f)
			if err != nil {
				t.Errorf("%s%s: %v", name, f.path, err)
				continue
			}
			want := f.body
			if avrocodec.IsContainer(want) {
				got, want = onlyRecord(t, got), onlyRecord(t, want)
			}
			if bytes.Equal(got, want) {
				continue
			}
			reordered++
			if at := firstDifference(got, want); !sameButForMapOrder(t, f) {
				t.Errorf("%s%s: written again it differs at byte %d: …%q, want …%q", name, f.path, at, tail(got, at), tail(want, at))
			}
		}
	}
	if files == 0 || reordered*50 > files {
		t.Errorf("%d instant files found, %d with another order of map keys; want some files and few such", files, reordered)
	}
}

// sameButForMapOrder compares the trees of a body and of the same body written again, with the keys of maps sorted.
func sameButForMapOrder(t *testing.T, f instantFile) bool {
	t.Helper()
	again, err := reencode(f)
	if err != nil {
		t.Fatal(err)
	}
	var text [2]string
	for k, body := range [][]byte{f.body, again} {
		o, err := readTree(f.path, body)
		if err != nil {
			t.Fatal(err)
		}
		sortMaps(o)
		text[k] = string(appendJSON(nil, o, 0))
	}
	return text[0] == text[1]
}

func sortMaps(n any) {
	switch n := n.(type) {
	case []any:
		for _, e := range n {
			sortMaps(e)
		}
	case *object:
		for _, e := range n.values {
			sortMaps(e)
		}
		if n.isMap {
			sort.Sort(byName{n})
		}
	}
}

type byName struct{ *object }

func (b byName) Len() int           { return len(b.names) }
func (b byName) Less(i, j int) bool { return b.names[i] < b.names[j] }
func (b byName) Swap(i, j int) {
	b.names[i], b.names[j] = b.names[j], b.names[i]
	b.values[i], b.values[j] = b.values[j], b.values[i]
}

func firstDifference(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// tail is what stands around position at.
func tail(b []byte, at int) []byte {
	return b[max(0, at-40):min(len(b), at+40)]
}

// TestRealJSON shows every instant of every table as JSON.
func TestRealJSON(t *testing.T) {
	for _, name := range realtables.Names(t) {
		table, _ := realtables.UnzipOnly(t, name, realtables.Instants)
		for _, f := range realFiles(t, table) {
			got, err := ToJSON(f.layout, f.i, f.body)
			if err != nil {
				t.Errorf("%s%s: %v", name, f.path, err)
			} else if !json.Valid(got) {
				t.Errorf("%s%s: ToJSON gave invalid JSON: %s", name, f.path, got)
			}
		}
	}
}
