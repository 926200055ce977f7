package snapshot

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/snapshot/fsview"
)

// File is an open file of a snapshot. Close it.
type File struct {
	*os.File
	Size    int64 // bytes
	ModTime time.Time
	Direct  bool // the table's own file, not one of the cache

	release func() error
}

// Close closes the descriptor and lets the cache drop the file.
func (f *File) Close() error {
	if f.release != nil {
		return f.release()
	}
	return f.File.Close()
}

// Materializer makes one file of a slice that can't be shown as it lies.
type Materializer interface {
	// Open returns the file and its size in bytes. The caller closes the file.
	Open(ctx context.Context, s *Snapshot, sl fsview.FileSlice) (*os.File, int64, error)
	// Size is the size in bytes that Open would give; it may have to make the file.
	Size(ctx context.Context, s *Snapshot, sl fsview.FileSlice) (int64, error)
}

// Stat returns e with its exact size. A merged or rendered file may have to be made for that.
func (s *Snapshot) Stat(ctx context.Context, e Entry) (Entry, error) {
	if e.Dir || e.Size >= 0 {
		return e, nil
	}
	m, err := s.materializer(e)
	if err != nil {
		return Entry{}, err
	}
	if e.Size, err = m.Size(ctx, s, *e.slice); err != nil {
		return Entry{}, s.failed(e, err)
	}
	return e, nil
}

// OpenFile opens the entry's bytes as a local file.
func (s *Snapshot) OpenFile(ctx context.Context, e Entry) (*File, error) {
	if e.slice == nil {
		return nil, fmt.Errorf("%q in snapshot %s is a directory", e.Path, s)
	}
	if e.err != nil {
		return nil, s.failed(e, e.err)
	}
	if err := e.slice.CheckReadable(); err != nil {
		return nil, err
	}
	if e.asIs {
		f, err := s.openAsIs(ctx, e)
		if err != nil {
			return nil, s.failed(e, err)
		}
		return f, nil
	}
	m, err := s.materializer(e)
	if err != nil {
		return nil, err
	}
	if own, ok := m.(*materializer); ok {
		h, err := own.get(ctx, s, *e.slice)
		if err != nil {
			return nil, s.failed(e, err)
		}
		return &File{File: h.File, Size: h.Size, ModTime: e.ModTime, release: h.Close}, nil
	}
	f, size, err := m.Open(ctx, s, *e.slice)
	if err != nil {
		return nil, s.failed(e, err)
	}
	return &File{File: f, Size: size, ModTime: e.ModTime}, nil
}

// openAsIs opens the slice's base file: itself on a local disk, else the copy in the cache.
func (s *Snapshot) openAsIs(ctx context.Context, e Entry) (*File, error) {
	t, b := s.state.table, e.slice.File
	if local, ok := storage.As[storage.LocalOpener](t.st); ok {
		f, err := local.OpenLocal(ctx, b.Path)
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err == nil && info.Size() != b.Size {
			err = fmt.Errorf("%s has %d bytes, had %d when it was listed: %w", b.Path, info.Size(), b.Size, ErrExpired)
		}
		if err == nil {
			err = checkTail(f, b)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return &File{File: f, Size: b.Size, ModTime: e.ModTime, Direct: true}, nil
	}
	if t.opts.Cache == nil {
		return nil, fmt.Errorf("%s lies in a bucket and there is no cache to bring it into: give a cache directory", b.Path)
	}
	h, err := t.opts.Cache.Get(ctx, e.Key, func(ctx context.Context, f *os.File) error { return download(ctx, t.st, b, f) })
	if err != nil {
		return nil, err
	}
	return &File{File: h.File, Size: h.Size, ModTime: e.ModTime, release: h.Close}, nil
}

// Every parquet file begins with the magic and ends with the footer's length and the magic again.
const (
	parquetMagic   = "PAR1"
	parquetTail    = 8
	parquetMinimum = 12
)

// checkTail refuses a file that a reader could make nothing of: its bytes go to the kernel unseen, so that this is the moment to say which
// file is damaged.
func checkTail(r io.ReaderAt, b *fsview.BaseFile) error {
	if b.Ext != ".parquet" {
		return nil
	}
	if b.Size < parquetMinimum {
		return corrupt.At(b.Path, 0, "%d bytes are too few for a parquet file", b.Size)
	}
	var tail [parquetTail]byte
	if _, err := r.ReadAt(tail[:], b.Size-parquetTail); err != nil {
		return err
	}
	if string(tail[4:]) != parquetMagic {
		return corrupt.At(b.Path, b.Size-4, "the file does not end as a parquet file: was it cut short?")
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:])); n > b.Size-parquetMinimum {
		return corrupt.At(b.Path, b.Size-parquetTail, "the footer claims %d bytes of a file of %d", n, b.Size)
	}
	return nil
}

// downloadChunk is how many bytes of a bucket's object are asked for at once.
const downloadChunk = 8 << 20

// download copies a base file out of a bucket.
func download(ctx context.Context, st storage.Store, b *fsview.BaseFile, f *os.File) error {
	o, err := st.Open(ctx, b.Path)
	if err != nil {
		return err
	}
	defer o.Close()
	if info := o.Info(); info.Size != b.Size || info.ETag != b.ETag {
		return fmt.Errorf("%s changed since it was listed: %w", b.Path, ErrExpired)
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, io.NewSectionReader(o, 0, b.Size), make([]byte, min(downloadChunk, b.Size+1)))
	if err == nil && n != b.Size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	return checkTail(f, b)
}

func (s *Snapshot) materializer(e Entry) (Materializer, error) {
	if m := s.state.table.opts.Materializer; m != nil {
		return m, nil
	}
	if n := len(e.slice.Logs); n > 0 {
		return nil, fmt.Errorf("%s in snapshot %s is a base file and %d log files: %w", e.Path, s, n, ErrNeedsMerge)
	}
	return nil, fmt.Errorf("%s in snapshot %s must be rewritten, and there is no cache to do it in: give a cache directory", e.Path, s)
}

// failed says which entry failed. A file that is gone although the snapshot is open was removed by a cleaner or a restore.
func (s *Snapshot) failed(e Entry, err error) error {
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrExpired) {
		return fmt.Errorf("open %s in snapshot %s: %w (%w)", e.Path, s, ErrExpired, err)
	}
	return fmt.Errorf("open %s in snapshot %s: %w", e.Path, s, err)
}
