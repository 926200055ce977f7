package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/timeline"
)

// The files of the LSM history (timeline.md §6.2).
const (
	versionFile    = "_version_"
	manifestPrefix = "manifest_"
)

// lsmName is the name of an LSM file: first and last time, level. Files made by an upgrade may have first > last.
var lsmName = regexp.MustCompile(`^(\d+)_(\d+)_(\d)\.parquet$`)

// manifest is a snapshot of the LSM tree: the names and sizes of its files.
type manifest struct {
	Files []manifestFile `json:"files"`
}

type manifestFile struct {
	Name string `json:"fileName"`
	Size int64  `json:"fileLen"`
}

// lsmFiles returns the files of the newest manifest.
func (h *History) lsmFiles(ctx context.Context) ([]file, error) {
	n, err := h.version(ctx)
	if n == 0 || err != nil {
		return nil, err
	}
	m, err := h.readManifest(ctx, n)
	if err != nil {
		return nil, err
	}
	files := make([]file, len(m.Files))
	for i, f := range m.Files {
		files[i] = file{f.Name, f.Size}
	}
	return files, nil
}

// version is the number of the newest manifest, 0 where there is no history. A writer deletes and makes the version file again; in
// between the greatest manifest counts.
func (h *History) version(ctx context.Context) (int, error) {
	path := h.dir + versionFile
	data, err := h.st.ReadAll(ctx, path)
	if err == nil && len(data) > 0 {
		n, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil || n < 1 {
			return 0, corrupt.At(path, 0, "it holds %q, want the number of a manifest", data)
		}
		return n, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	greatest := 0
	for info, err := range h.st.List(ctx, h.dir, storage.ListOptions{}) {
		if err != nil {
			return 0, err
		}
		if n, ok := manifestNumber(strings.TrimPrefix(info.Path, h.dir)); ok {
			greatest = max(greatest, n)
		}
	}
	return greatest, nil
}

// manifestNumber reads the name of a manifest; temporary files beside it have other names.
func manifestNumber(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, manifestPrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0 && strconv.Itoa(n) == digits
}

func (h *History) readManifest(ctx context.Context, n int) (*manifest, error) {
	path := h.dir + manifestPrefix + strconv.Itoa(n)
	data, err := h.st.ReadAll(ctx, path)
	if err != nil {
		return nil, err
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, corrupt.At(path, -1, "manifest: %w", err)
	}
	for _, f := range m.Files {
		if !lsmName.MatchString(f.Name) || f.Size < 0 {
			return nil, corrupt.At(path, -1, "manifest names %q of %d bytes, which is no history file", f.Name, f.Size)
		}
	}
	return &m, nil
}

// The schemas of LSM files: the whole row, and its times.
const (
	lsmText = `{"type":"record","name":"HoodieLSMTimelineInstant","namespace":"org.apache.hudi.avro.model","fields":[` +
		lsmTimes + `,` +
		`{"name":"metadata","type":["null","bytes"],"default":null},` +
		`{"name":"plan","type":["null","bytes"],"default":null},` +
		`{"name":"version","type":"int","default":1}]}`
	lsmTimes = `{"name":"instantTime","type":["null",{"type":"string","avro.java.string":"String"}],"default":null},` +
		`{"name":"completionTime","type":["null",{"type":"string","avro.java.string":"String"}],"default":null},` +
		`{"name":"action","type":["null",{"type":"string","avro.java.string":"String"}],"default":null}`
	lsmTimesText = `{"type":"record","name":"HoodieLSMTimelineInstant","namespace":"org.apache.hudi.avro.model","fields":[` + lsmTimes + `]}`
)

// readLSMTimes reads the time columns of an LSM file.
func (h *History) readLSMTimes(ctx context.Context, f file, b *runBuilder) error {
	return h.scanLSM(ctx, f, lsmTimesText, func(e Entry) error {
		b.add(e.Time, e.Completion, e.Action)
		return nil
	})
}

// scanLSM calls fn for the rows of an LSM file under the schema text.
func (h *History) scanLSM(ctx context.Context, f file, text string, fn func(Entry) error) error {
	path := h.dir + f.name
	o, err := h.st.Open(ctx, path)
	if err != nil {
		return err
	}
	defer o.Close()
	if size := o.Info().Size; size != f.size {
		return corrupt.At(path, -1, "the file has %d bytes, its manifest says %d", size, f.size)
	}
	to, err := schema.Parse(text)
	if err != nil {
		return err
	}
	p, err := parquetfile.Open(o, f.size, path)
	if err != nil {
		return err
	}
	rows, err := p.Rows(ctx, to)
	if err != nil {
		return err
	}
	defer rows.Close()
	var batch [256]record.Row
	for {
		n, err := rows.Read(batch[:])
		for _, r := range batch[:n] {
			e, err := lsmEntry(path, to, r)
			if err == nil {
				err = fn(e)
			}
			if err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lsmEntry reads one row; its bytes are copied.
func lsmEntry(path string, s *schema.Schema, r record.Row) (Entry, error) {
	leaves := s.Leaves()
	text := func(i int) string {
		v, _ := record.StringAt(r, &leaves[i])
		return strings.Clone(v)
	}
	e := Entry{Time: timeline.InstantTime(text(0)), Completion: timeline.InstantTime(text(1)), Action: timeline.Action(text(2))}
	if len(leaves) > 3 {
		e.Metadata, e.Plan = bytesAt(r, &leaves[3]), bytesAt(r, &leaves[4])
	}
	return e, checkEntry(path, e)
}

func bytesAt(r record.Row, l *schema.Leaf) []byte {
	v := r[l.Index]
	if record.IsNull(v, l) {
		return nil
	}
	return append([]byte{}, v.ByteArray()...)
}

// checkEntry refuses rows that no archiver writes.
func checkEntry(path string, e Entry) error {
	_, err := timeline.ParseInstantTime(string(e.Time))
	if err == nil {
		_, err = timeline.ParseInstantTime(string(e.Completion))
	}
	if err == nil && !e.Action.Known() {
		err = fmt.Errorf("unknown action %q", e.Action)
	}
	if err != nil {
		return corrupt.At(path, -1, "archived instant %s: %w", e.Time, err)
	}
	return nil
}
