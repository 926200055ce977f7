package bucket

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"gocloud.dev/gcerrors"

	"github.com/hudifs/hudifs/internal/storage"
)

const (
	// idKey is the metadata name of a write's identity. Letters only: Azure wants identifiers.
	idKey = "hudifsid"
	// contentType is said outright, or the first bytes would be guessed at.
	contentType = "application/octet-stream"
	// streamFrom is the size in bytes from which Create streams; smaller objects are one request at Commit.
	streamFrom = 8 << 20
)

// write is one write, from its condition to its outcome.
type write struct {
	s         *Store
	ctx       context.Context
	path, key string
	mode      storage.PutMode
	match     string // PutIfMatch: the version to replace
	id        string
	size      int64
}

// Put implements storage.Store.
func (s *Store) Put(ctx context.Context, path string, data []byte, mode storage.PutMode) (storage.Info, error) {
	return s.PutID(ctx, path, data, mode, rand.Text())
}

// PutID implements storage.IDPutter.
func (s *Store) PutID(ctx context.Context, path string, data []byte, mode storage.PutMode, id string) (storage.Info, error) {
	return s.put(write{s: s, ctx: ctx, path: path, mode: mode, id: id}, data)
}

// PutIfMatch implements storage.Replacer.
func (s *Store) PutIfMatch(ctx context.Context, path string, data []byte, etag string) (storage.Info, error) {
	return s.PutIfMatchID(ctx, path, data, etag, rand.Text())
}

// PutIfMatchID implements storage.IDPutter.
func (s *Store) PutIfMatchID(ctx context.Context, path string, data []byte, etag, id string) (storage.Info, error) {
	if !s.prov.canMatch {
		return storage.Info{}, fmt.Errorf("put %s if it is %s: %s cannot: %w", path, etag, s.prov.name, errors.ErrUnsupported)
	}
	if etag == "" {
		return storage.Info{}, fmt.Errorf("put %s: the expected etag is empty: %w", path, fs.ErrInvalid)
	}
	return s.put(write{s: s, ctx: ctx, path: path, match: etag, id: id}, data)
}

func (s *Store) put(w write, data []byte) (storage.Info, error) {
	key, err := s.key(w.ctx, w.path)
	if err != nil {
		return storage.Info{}, err
	}
	w.key, w.size = key, int64(len(data))
	return w.settle(w.upload(w.ctx, bytes.NewReader(data)))
}

func (w *write) upload(ctx context.Context, r io.Reader) error {
	c := condition{etag: w.match, absent: w.match == "" && w.mode == storage.PutIfAbsent}
	return w.s.b.upload(ctx, w.key, r, w.id, c)
}

// settle turns the provider's answer to a write into what has happened.
func (w *write) settle(answer error) (storage.Info, error) {
	if answer == nil {
		return w.done()
	}
	var err error
	switch {
	case w.match != "":
		err = w.s.failed(w.ctx, replace, "put", w.path, answer)
	case w.mode == storage.PutIfAbsent:
		err = w.s.failed(w.ctx, create, "put", w.path, answer)
	default:
		err = w.s.failed(w.ctx, change, "put", w.path, answer)
	}
	lost := errors.Is(err, storage.ErrExists) || errors.Is(err, storage.ErrPrecondition)
	if w.ctx.Err() != nil || (!lost && !errors.Is(err, storage.ErrAmbiguous)) {
		return storage.Info{}, err
	}
	a, herr := w.s.b.attributes(w.ctx, w.key)
	switch {
	case herr == nil && a.id == w.id:
		w.s.log.Info("a write whose answer was lost has happened", "path", w.path)
		return info(w.path, a), nil
	case herr == nil && w.mode == storage.PutIfAbsent && w.match == "":
		// Another's object is there: ours was not first, and if it is still on its way it will be refused.
		return storage.Info{}, fmt.Errorf("put %s: %w", w.path, storage.ErrExists)
	case isConflict(answer):
		// Two conditional requests met and neither need have won.
		return storage.Info{}, fmt.Errorf("put %s: %w: %w", w.path, storage.ErrTransient, answer)
	case herr != nil && w.s.b.code(herr) != gcerrors.NotFound:
		return storage.Info{}, fmt.Errorf("put %s: %w: %w; looking who won: %w", w.path, storage.ErrAmbiguous, answer, herr)
	}
	return storage.Info{}, err
}

// done describes the version just written.
func (w *write) done() (storage.Info, error) {
	a, err := w.s.b.attributes(w.ctx, w.key)
	switch {
	case err == nil && a.id == w.id:
		return info(w.path, a), nil
	case err == nil, w.s.b.code(err) == gcerrors.NotFound:
		// Replaced or deleted already. The etag is one that matches no version.
		return storage.Info{Path: w.path, Size: w.size, ETag: "superseded-" + w.id}, nil
	}
	return storage.Info{}, fmt.Errorf("put %s: it was written but cannot be described: %w: %w", w.path, storage.ErrAmbiguous, err)
}

// Create implements storage.Store.
func (s *Store) Create(ctx context.Context, path string, mode storage.PutMode) (storage.Writer, error) {
	key, err := s.key(ctx, path)
	if err != nil {
		return nil, err
	}
	return &writer{w: write{s: s, ctx: ctx, path: path, key: key, mode: mode, id: rand.Text()}}, nil
}

// writer keeps a small object in memory and streams a larger one through one upload.
type writer struct {
	w     write
	buf   []byte
	ended bool

	// Set once streaming. The goroutine started by stream ends when the upload does; Commit and Abort wait for it.
	cancel context.CancelFunc
	pipe   *io.PipeWriter
	result chan error
}

func (w *writer) Write(p []byte) (int, error) {
	if w.ended {
		return 0, fmt.Errorf("write %s after its end: %w", w.w.path, fs.ErrClosed)
	}
	if err := w.w.ctx.Err(); err != nil {
		return 0, fmt.Errorf("write %s: %w", w.w.path, err)
	}
	if w.pipe == nil && len(w.buf)+len(p) < streamFrom {
		w.buf = append(w.buf, p...)
		w.w.size += int64(len(p))
		return len(p), nil
	}
	if w.pipe == nil {
		w.stream()
		if _, err := w.pipe.Write(w.buf); err != nil {
			return 0, fmt.Errorf("write %s: %w", w.w.path, err)
		}
		w.buf = nil
	}
	n, err := w.pipe.Write(p)
	w.w.size += int64(n)
	if err != nil {
		return n, fmt.Errorf("write %s: %w", w.w.path, err)
	}
	return n, nil
}

func (w *writer) stream() {
	ctx, cancel := context.WithCancel(w.w.ctx)
	r, p := io.Pipe()
	w.cancel, w.pipe, w.result = cancel, p, make(chan error, 1)
	go func() {
		err := w.w.upload(ctx, r)
		r.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // whoever still writes hears of it
		w.result <- err
	}()
}

func (w *writer) Commit() (storage.Info, error) {
	if w.ended {
		return storage.Info{}, fmt.Errorf("commit %s a second time: %w", w.w.path, fs.ErrClosed)
	}
	if err := w.w.ctx.Err(); err != nil {
		return storage.Info{}, errors.Join(fmt.Errorf("commit %s: %w", w.w.path, err), w.Abort())
	}
	w.ended = true
	if w.pipe == nil {
		return w.w.settle(w.w.upload(w.w.ctx, bytes.NewReader(w.buf)))
	}
	defer w.cancel()
	w.pipe.Close()
	return w.w.settle(<-w.result)
}

func (w *writer) Abort() error {
	if w.ended {
		return nil
	}
	w.ended = true
	w.buf = nil
	if w.pipe == nil {
		return nil
	}
	// The context first: a driver that only sees its input end would publish what it has.
	w.cancel()
	w.pipe.CloseWithError(context.Canceled)
	<-w.result // an error by design
	return nil
}
