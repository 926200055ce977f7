package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/timeline"
)

// rowVersion is the version column of every LSM row.
const rowVersion int32 = 1

// ErrLayout says that a table's archive has the other form.
var ErrLayout = errors.New("the table's archive has another form")

// Append archives a batch of completed instants in a table of layout 2: one level-0 file, then a new manifest (timeline.md §6.2). The caller
// holds the table lock, and deletes the instants' files only after Append has returned. Appending the same batch again, after a crash,
// changes nothing.
func (h *History) Append(ctx context.Context, batch []Entry) error {
	if !h.cfg.Features.LSMHistory {
		return fmt.Errorf("append to history: %w", ErrLayout)
	}
	if len(batch) == 0 {
		return nil
	}
	batch = slices.Clone(batch)
	slices.SortStableFunc(batch, func(a, b Entry) int { return a.Time.Compare(b.Time) })
	for _, e := range batch {
		if err := checkEntry("archive batch", e); err != nil {
			return err
		}
	}
	n, m, err := h.current(ctx)
	if err != nil {
		return fmt.Errorf("append to history %s: %w", h.dir, err)
	}
	name := lsmFileName(batch[0].Time, batch[len(batch)-1].Time, 0)
	if m.has(name) {
		return nil // written by an archiver that died before it deleted the instants
	}
	f, err := h.writeLSM(ctx, name, slices.Values(batch))
	if err != nil {
		return fmt.Errorf("append to history: %w", err)
	}
	if err := h.publish(ctx, n+1, &manifest{append(slices.Clone(m.Files), f)}); err != nil {
		return fmt.Errorf("append to history: %w", err)
	}
	return nil
}

func lsmFileName(first, last timeline.InstantTime, level int) string {
	return fmt.Sprintf("%s_%s_%d.parquet", first, last, level)
}

// current returns the newest manifest and its number; empty and 0 where there is none.
func (h *History) current(ctx context.Context) (int, *manifest, error) {
	n, err := h.version(ctx)
	if err != nil || n == 0 {
		return 0, &manifest{}, err
	}
	m, err := h.readManifest(ctx, n)
	return n, m, err
}

func (m *manifest) has(name string) bool {
	return slices.ContainsFunc(m.Files, func(f manifestFile) bool { return f.Name == name })
}

// writeLSM writes one file of the tree. A file of that name that no manifest names is left over from a crash and is replaced.
func (h *History) writeLSM(ctx context.Context, name string, entries func(yield func(Entry) bool)) (manifestFile, error) {
	s, err := schema.Parse(lsmText)
	if err != nil {
		return manifestFile{}, err
	}
	w, err := h.st.Create(ctx, h.dir+name, storage.PutReplace)
	if err != nil {
		return manifestFile{}, fmt.Errorf("create %s: %w", h.dir+name, err)
	}
	p, err := parquetfile.NewWriter(w, s, parquetfile.WriteOptions{Codec: "gzip"})
	if err == nil {
		err = writeRows(p, s, entries)
	}
	if err == nil {
		err = p.Close()
	}
	if err != nil {
		return manifestFile{}, errors.Join(fmt.Errorf("write %s: %w", h.dir+name, err), w.Abort())
	}
	info, err := w.Commit()
	if err != nil {
		return manifestFile{}, fmt.Errorf("publish %s: %w", h.dir+name, err)
	}
	return manifestFile{Name: name, Size: info.Size}, nil
}

func writeRows(p *parquetfile.Writer, s *schema.Schema, entries func(yield func(Entry) bool)) error {
	sh := record.NewShredder(s)
	var row record.Row
	var err error
	for e := range entries {
		fields := []any{string(e.Time), string(e.Completion), string(e.Action), orNull(e.Metadata), orNull(e.Plan), rowVersion}
		if row, err = sh.Shred(row[:0], fields); err != nil {
			return err
		}
		if err = p.WriteRow(row); err != nil {
			return err
		}
	}
	return nil
}

func orNull(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// publish writes manifest n and makes it the current one. A stray manifest of that number, of a writer that died before the version
// file, is replaced.
func (h *History) publish(ctx context.Context, n int, m *manifest) error {
	if _, err := h.st.Put(ctx, h.dir+manifestPrefix+strconv.Itoa(n), m.bytes(), storage.PutReplace); err != nil {
		return fmt.Errorf("write manifest %d: %w", n, err)
	}
	if _, err := h.st.Put(ctx, h.dir+versionFile, []byte(strconv.Itoa(n)), storage.PutReplace); err != nil {
		return fmt.Errorf("make manifest %d current: %w", n, err)
	}
	return nil
}

// bytes prints the manifest as Java does (timeline.md §12.9).
func (m *manifest) bytes() []byte {
	var b bytes.Buffer
	b.WriteString("{\n  \"files\" : [ ")
	for i, f := range m.Files {
		if i > 0 {
			b.WriteString(", ")
		}
		name, _ := json.Marshal(f.Name) // a string always has JSON
		fmt.Fprintf(&b, "{\n    \"fileName\" : %s,\n    \"fileLen\" : %d\n  }", name, f.Size)
	}
	if len(m.Files) > 0 {
		b.WriteByte(' ')
	}
	b.WriteString("]\n}")
	return b.Bytes()
}

// deleteIfThere deletes a file of the history.
func (h *History) deleteIfThere(ctx context.Context, name string) error {
	if err := h.st.Delete(ctx, h.dir+name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", h.dir+name, err)
	}
	return nil
}
