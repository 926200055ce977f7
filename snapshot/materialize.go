package snapshot

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/hudifs/hudifs/internal/filecache"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/rowtext"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/snapshot/merge"
	"github.com/hudifs/hudifs/timeline"
)

// materializer makes files in the cache: slices with logs merged, base files of an older schema rewritten, and both rendered as text. The
// key of a file says everything that goes into it and the bytes follow from that alone, so that a file may be evicted and made again. The
// cache sees to it that a file is made once however many wait, that nobody meets half of one, and that sizes outlive the files.
type materializer struct {
	cache *filecache.Cache
	busy  chan struct{} // a token per file being made: memory is bounded by how many are
}

var _ Materializer = (*materializer)(nil)

func newMaterializer(t *Table) Materializer {
	return &materializer{cache: t.opts.Cache, busy: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// get returns the made file of the slice.
func (m *materializer) get(ctx context.Context, s *Snapshot, sl fsview.FileSlice) (*filecache.Handle, error) {
	key, err := s.madeKey(ctx, &sl)
	if err != nil {
		return nil, err
	}
	return m.cache.Get(ctx, key, func(ctx context.Context, f *os.File) error {
		select {
		case m.busy <- struct{}{}:
			defer func() { <-m.busy }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return s.make(ctx, &sl, f)
	})
}

// Open implements Materializer. The caller's descriptor keeps the bytes even where the cache drops the file.
func (m *materializer) Open(ctx context.Context, s *Snapshot, sl fsview.FileSlice) (*os.File, int64, error) {
	h, err := m.get(ctx, s, sl)
	if err != nil {
		return nil, 0, err
	}
	return h.File, h.Size, nil
}

// Size implements Materializer.
func (m *materializer) Size(ctx context.Context, s *Snapshot, sl fsview.FileSlice) (int64, error) {
	key, err := s.madeKey(ctx, &sl)
	if err != nil {
		return 0, err
	}
	if n, ok := m.cache.Size(key); ok {
		return n, nil
	}
	h, err := m.get(ctx, s, sl)
	if err != nil {
		return 0, err
	}
	return h.Size, h.Close()
}

// Prepare makes files of the snapshot that are not made yet, until the slices that they come from have maxBytes. It returns how many
// it made. One that can't be made is passed over: who opens it gets the error.
func (s *Snapshot) Prepare(ctx context.Context, maxBytes int64) (made int, err error) {
	partitions, err := s.Partitions(ctx)
	if err != nil {
		return 0, err
	}
	for _, p := range partitions {
		list, err := s.Entries(ctx, p)
		if err != nil {
			return made, err
		}
		for _, e := range list {
			if e.Dir || e.Size >= 0 {
				continue
			}
			if maxBytes -= e.slice.Size(); maxBytes < 0 {
				return made, nil
			}
			if _, err := s.Stat(ctx, e); err == nil {
				made++
			} else if ctx.Err() != nil {
				return made, context.Cause(ctx)
			} else {
				s.state.table.log.Warn("file of the newest commit cannot be prepared", "path", e.Path, "instant", s.Instant(), "err", err)
			}
		}
	}
	return made, nil
}

// make writes the file that shows the slice to f. It runs for whoever waits for the file, on nobody's stack: a fault in here must not end the
// program but the making of this file.
func (s *Snapshot) make(ctx context.Context, sl *fsview.FileSlice, f *os.File) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.state.table.log.Error("making a file panicked", "file_id", sl.Group.FileID, "partition", sl.Group.Partition, "instant", s.Instant(), "err", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("making the file of slice %s of %s failed from within: %v", sl.Base, sl.Group, p)
		}
	}()
	if err := sl.CheckReadable(); err != nil {
		return err
	}
	base, closeBase, err := s.openBase(ctx, sl.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeBase()) }()
	out := bufio.NewWriterSize(f, writeBuffer)
	switch {
	case s.rendering == CSV || s.rendering == JSONL:
		err = s.writeText(ctx, sl, base, out)
	default:
		err = s.writeParquet(ctx, sl, base, out)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

// writeBuffer is the size in bytes of the buffer before a file that is made.
const writeBuffer = 1 << 20

// openBase opens the slice's base file; nil where it has none.
func (s *Snapshot) openBase(ctx context.Context, b *fsview.BaseFile) (*parquetfile.File, func() error, error) {
	none := func() error { return nil }
	if b == nil {
		return nil, none, nil
	}
	o, err := storage.OpenBuffered(ctx, s.state.table.st, b.Path, storage.BufferOptions{})
	if err != nil {
		return nil, none, err
	}
	if n := o.Info().Size; n != b.Size {
		return nil, none, errors.Join(fmt.Errorf("%s has %d bytes, had %d when it was listed: %w", b.Path, n, b.Size, ErrExpired), o.Close())
	}
	pf, err := parquetfile.Open(o, b.Size, b.Path)
	if err != nil {
		return nil, none, errors.Join(err, o.Close())
	}
	return pf, o.Close, nil
}

// merged opens the slice for merging, rows of schema to coming out.
func (s *Snapshot) merged(ctx context.Context, sl *fsview.FileSlice, base *parquetfile.File, to *schema.Schema) (*merge.Slice, error) {
	return merge.Open(ctx, s.mergeInput(sl, base, to))
}

func (s *Snapshot) mergeInput(sl *fsview.FileSlice, base *parquetfile.File, to *schema.Schema) merge.SliceInput {
	in := merge.SliceInput{
		Base: base, Schema: to, Config: s.state.cfg, Partition: sl.Group.Partition,
		Valid: func(t string) bool { _, ok := s.Committed(timeline.InstantTime(t)); return ok },
	}
	if sl.File != nil {
		in.BaseInstant = string(sl.File.Instant)
	}
	for i := range sl.Logs {
		l := &sl.Logs[i]
		in.Logs = append(in.Logs, merge.Log{Path: l.Path, Size: l.Size, Open: func(ctx context.Context) (storage.Object, error) {
			return storage.OpenBuffered(ctx, s.state.table.st, l.Path, storage.BufferOptions{})
		}})
	}
	return in
}

// MergeInput opens the slice for merging under this snapshot's instants: what services read. Close the slice, then the base file with the
// function given back.
func (s *Snapshot) MergeInput(ctx context.Context, sl fsview.FileSlice) (m *merge.Slice, base *parquetfile.File, done func() error, err error) {
	to, err := s.FileSchema(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	base, closeBase, err := s.openBase(ctx, sl.File)
	if err != nil {
		return nil, nil, nil, err
	}
	m, err = s.merged(ctx, &sl, base, to)
	if err != nil {
		return nil, nil, nil, errors.Join(err, closeBase())
	}
	return m, base, closeBase, nil
}

// ReadLogs merges the slice's logs among themselves, see merge.ReadLogs.
func (s *Snapshot) ReadLogs(ctx context.Context, sl fsview.FileSlice, fn func(record.Record) error) ([]string, merge.Stats, error) {
	to, err := s.FileSchema(ctx)
	if err != nil {
		return nil, merge.Stats{}, err
	}
	return merge.ReadLogs(ctx, s.mergeInput(&sl, nil, to), fn)
}

func (s *Snapshot) writeParquet(ctx context.Context, sl *fsview.FileSlice, base *parquetfile.File, out io.Writer) (err error) {
	to, err := s.FileSchema(ctx)
	if err != nil {
		return err
	}
	w, err := parquetfile.NewWriter(out, to, parquetfile.WriteOptions{})
	if err != nil {
		return err
	}
	name := ""
	if s.state.cfg.MetaFields {
		name = s.madeName(sl)
	}
	switch {
	case s.window != nil:
		err = s.eachRow(ctx, sl, base, to, w.WriteRow)
	case len(sl.Logs) == 0:
		err = reshape(ctx, w, base, to, name)
	default:
		err = s.mergeInto(ctx, w, sl, base, to, name)
	}
	if err != nil {
		return err
	}
	return w.Close()
}

// reshape writes the base file's rows under the writer's schema.
func reshape(ctx context.Context, w *parquetfile.Writer, base *parquetfile.File, to *schema.Schema, name string) error {
	e := &parquetfile.Edit{}
	if leaf := to.LeafOf(schema.FileNameField); name != "" && leaf >= 0 {
		e.Fill(leaf, name)
	}
	return w.Splice(ctx, base, e)
}

func (s *Snapshot) mergeInto(ctx context.Context, w *parquetfile.Writer, sl *fsview.FileSlice, base *parquetfile.File, to *schema.Schema, name string) (err error) {
	m, err := s.merged(ctx, sl, base, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	return m.WriteTo(ctx, w, name)
}

// writeText writes the slice's rows as CSV or JSON lines, without meta columns.
func (s *Snapshot) writeText(ctx context.Context, sl *fsview.FileSlice, base *parquetfile.File, out *bufio.Writer) error {
	to, err := s.Schema(ctx)
	if len(sl.Logs) > 0 || s.window != nil {
		to, err = s.FileSchema(ctx) // the meta columns are needed to merge and to tell changes
	}
	if err != nil {
		return err
	}
	w, err := s.newText(to, out)
	if err != nil {
		return err
	}
	return s.eachRow(ctx, sl, base, to, w.write)
}

// textWriter writes rows in the snapshot's text form.
type textWriter struct {
	printer *rowtext.Printer
	csv     bool
	out     *bufio.Writer
	line    []byte
}

// newText begins a text file: with a header line where the form has one, so that every file of a directory can be read by itself.
func (s *Snapshot) newText(to *schema.Schema, out *bufio.Writer) (*textWriter, error) {
	p, err := rowtext.New(to)
	if err != nil {
		return nil, err
	}
	w := &textWriter{printer: p, csv: s.rendering == CSV, out: out}
	if w.csv {
		_, err = out.Write(p.AppendHeader(nil))
	}
	return w, err
}

func (w *textWriter) write(row record.Row) (err error) {
	if w.csv {
		w.line, err = w.printer.AppendCSV(w.line[:0], row)
	} else if w.line, err = w.printer.AppendJSON(w.line[:0], row); err == nil {
		w.line = append(w.line, '\n')
	}
	if err != nil {
		return err
	}
	_, err = w.out.Write(w.line)
	return err
}
