package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"gocloud.dev/blob"

	"github.com/hudifs/hudifs/internal/storage"
)

// Open implements storage.Store. Each ReadAt is one range request for the version that Open saw; when that is gone, ReadAt
// fails. Use storage.OpenBuffered for many small reads.
func (s *Store) Open(ctx context.Context, path string) (storage.Object, error) {
	key, err := s.key(ctx, path)
	if err != nil {
		return nil, err
	}
	a, err := s.b.Attributes(ctx, key)
	if err != nil {
		return nil, s.failed(ctx, read, "open", path, err)
	}
	return &object{s: s, ctx: ctx, key: key, info: s.info(path, a)}, nil
}

type object struct {
	s    *Store
	ctx  context.Context // of Open; the contract of storage.Object
	key  string
	info storage.Info
}

func (o *object) Info() storage.Info { return o.info }
func (o *object) Close() error       { return nil }

func (o *object) ReadAt(p []byte, off int64) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, fmt.Errorf("read %s: %w", o.info.Path, err)
	}
	if off < 0 {
		return 0, fmt.Errorf("read %s at %d: %w", o.info.Path, off, fs.ErrInvalid)
	}
	if off >= o.info.Size {
		return 0, io.EOF
	}
	want := int(min(int64(len(p)), o.info.Size-off))
	if want == 0 {
		return 0, nil
	}
	n, err := o.fetch(p[:want], off)
	if err == nil && want < len(p) {
		err = io.EOF
	}
	return n, err
}

func (o *object) fetch(p []byte, off int64) (int, error) {
	opts := &blob.ReaderOptions{}
	if match := o.s.prov.matchRead; match != nil {
		opts.BeforeRead = func(as func(any) bool) error { return match(as, o.info.ETag) }
	}
	r, err := o.s.b.NewRangeReader(o.ctx, o.key, off, int64(len(p)), opts)
	if err != nil {
		return 0, o.s.failed(o.ctx, readVersion, "read", o.info.Path, err)
	}
	defer r.Close()
	have := o.s.prov.readETag(r)
	if r.Size() != o.info.Size || (have != "" && have != o.info.ETag) || (have == "" && !r.ModTime().Equal(o.info.ModTime)) {
		return 0, fmt.Errorf("read %s: it was replaced while it was open: %w", o.info.Path, storage.ErrPrecondition)
	}
	n, err := io.ReadFull(r, p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		// The provider promised these bytes; the connection was cut.
		return n, fmt.Errorf("read %s: %d of %d bytes came: %w", o.info.Path, n, len(p), storage.ErrTransient)
	}
	if err != nil {
		return n, o.s.failed(o.ctx, read, "read", o.info.Path, err)
	}
	return n, nil
}
