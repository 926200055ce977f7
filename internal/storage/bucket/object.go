package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/hudifs/hudifs/internal/storage"
)

// Open implements storage.Store. Each ReadAt is one range request for the version that Open saw; when that is gone, ReadAt
// fails. Use storage.OpenBuffered for many small reads.
func (s *Store) Open(ctx context.Context, path string) (storage.Object, error) {
	key, err := s.key(ctx, path)
	if err != nil {
		return nil, err
	}
	a, err := s.b.attributes(ctx, key)
	if err != nil {
		return nil, s.failed(ctx, read, "open", path, err)
	}
	return &object{s: s, ctx: ctx, key: key, attrs: a, info: info(path, a)}, nil
}

type object struct {
	s     *Store
	ctx   context.Context // of Open; the contract of storage.Object
	key   string
	attrs attrs
	info  storage.Info
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
	n, err := o.s.b.readRange(o.ctx, o.key, o.attrs, p, off)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, errChanged):
		return 0, fmt.Errorf("read %s: %w: %w", o.info.Path, errChanged, storage.ErrPrecondition)
	case o.ctx.Err() == nil && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		// The provider promised these bytes; the connection was cut.
		return n, fmt.Errorf("read %s: %d of %d bytes came: %w", o.info.Path, n, len(p), storage.ErrTransient)
	}
	return n, o.s.failed(o.ctx, readVersion, "read", o.info.Path, err)
}
