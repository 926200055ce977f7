package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	mrand "math/rand/v2"
	"os"
	"time"
)

// RetryOptions bounds Retry. The zero value means 5 attempts, waits from 50 ms to 5 s, and no log.
type RetryOptions struct {
	Attempts int           // tries in all, the first one included
	MinWait  time.Duration // the first wait; doubles from there, with jitter
	MaxWait  time.Duration // no wait is longer
	Log      *slog.Logger  // nil discards
}

// IDPutter is what a store may implement so that a create whose answer was lost is decided for certain: it stores id with
// the object, and a create that finds the object there with its own id has won. Retry calls it with one id for all the
// attempts of one put; an id is a short string of letters and digits. Only the store directly behind Retry is asked.
type IDPutter interface {
	PutID(ctx context.Context, path string, data []byte, mode PutMode, id string) (Info, error)
	PutIfMatchID(ctx context.Context, path string, data []byte, etag, id string) (Info, error)
}

// Retry wraps s so that operations that fail with ErrTransient are tried again, and writes whose outcome is unknown are
// settled where that is possible: the object is read back and compared with what was written. Equal bytes count as ours,
// unless the store is an IDPutter; callers that race for a name write bytes of their own. What cannot be settled stays ErrAmbiguous.
//
// A streamed write cannot be repeated, because its bytes are gone: after ErrTransient from Commit the caller writes again.
func Retry(s Store, o RetryOptions) Store {
	if o.Attempts <= 0 {
		o.Attempts = 5
	}
	if o.MinWait <= 0 {
		o.MinWait = 50 * time.Millisecond
	}
	if o.MaxWait <= 0 {
		o.MaxWait = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &retrying{Store: s, o: o}
}

type retrying struct {
	Store
	o RetryOptions
}

var (
	_ Unwrapper   = (*retrying)(nil)
	_ LocalOpener = (*retrying)(nil)
	_ Replacer    = (*retrying)(nil)
)

func (r *retrying) Unwrap() Store { return r.Store }

// again waits before attempt n+1 and reports whether there is one. err is what attempt n (from 1) gave.
func (r *retrying) again(ctx context.Context, n int, op, path string, err error) bool {
	if n >= r.o.Attempts || ctx.Err() != nil {
		return false
	}
	wait := r.o.MaxWait
	if n < 30 {
		wait = min(wait, r.o.MinWait<<(n-1))
	}
	wait = wait/2 + mrand.N(wait/2+1)
	r.o.Log.Warn("storage operation is tried again", "op", op, "path", path, "attempt", n, "wait", wait, "err", err)
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (r *retrying) do(ctx context.Context, op, path string, f func() error) error {
	for n := 1; ; n++ {
		err := f()
		if err == nil || !errors.Is(err, ErrTransient) || !r.again(ctx, n, op, path, err) {
			return err
		}
	}
}

func (r *retrying) Stat(ctx context.Context, path string) (i Info, err error) {
	err = r.do(ctx, "stat", path, func() error {
		i, err = r.Store.Stat(ctx, path)
		return err
	})
	return i, err
}

func (r *retrying) Open(ctx context.Context, path string) (Object, error) {
	var o Object
	err := r.do(ctx, "open", path, func() (err error) {
		o, err = r.Store.Open(ctx, path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &retryingObject{Object: o, r: r, ctx: ctx}, nil
}

type retryingObject struct {
	Object
	r   *retrying
	ctx context.Context // of Open; the contract of Object
}

func (o *retryingObject) ReadAt(p []byte, off int64) (n int, err error) {
	err = o.r.do(o.ctx, "read", o.Info().Path, func() error {
		n, err = o.Object.ReadAt(p, off)
		return err
	})
	return n, err
}

func (r *retrying) ReadAll(ctx context.Context, path string) (b []byte, err error) {
	err = r.do(ctx, "read", path, func() error {
		b, err = r.Store.ReadAll(ctx, path)
		return err
	})
	return b, err
}

// List goes on behind the last entry that was seen.
func (r *retrying) List(ctx context.Context, prefix string, o ListOptions) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		o := o // the sequence may be used again
		for n := 1; ; n++ {
			var failed error
			for i, err := range r.Store.List(ctx, prefix, o) {
				if err != nil {
					failed = err
					break
				}
				if !yield(i, nil) {
					return
				}
				o.StartAfter, n = i.Path, 1
			}
			if failed == nil {
				return
			}
			if !errors.Is(failed, ErrTransient) || !r.again(ctx, n, "list", prefix, failed) {
				yield(Info{}, failed)
				return
			}
		}
	}
}

// Delete takes a missing object for its own doing when an earlier attempt may have removed it.
func (r *retrying) Delete(ctx context.Context, path string) error {
	unknown := false
	for n := 1; ; n++ {
		err := r.Store.Delete(ctx, path)
		ambiguous := errors.Is(err, ErrAmbiguous)
		switch {
		case err == nil, unknown && errors.Is(err, fs.ErrNotExist):
			return nil
		case ambiguous, errors.Is(err, ErrTransient):
			unknown = unknown || ambiguous
			if r.again(ctx, n, "delete", path, err) {
				continue
			}
		}
		return stayAmbiguous(unknown, err)
	}
}

func (r *retrying) Put(ctx context.Context, path string, data []byte, mode PutMode) (Info, error) {
	put := func() (Info, error) { return r.Store.Put(ctx, path, data, mode) }
	settle := func() (Info, bool, error) { return r.settle(ctx, path, data) }
	if p, ok := r.Store.(IDPutter); ok {
		id := rand.Text()
		put = func() (Info, error) { return p.PutID(ctx, path, data, mode, id) }
		settle = nil
	}
	if mode == PutReplace {
		settle = nil // doing it once more is right whatever happened
	}
	return r.write(ctx, "put", path, put, settle)
}

func (r *retrying) PutIfMatch(ctx context.Context, path string, data []byte, etag string) (Info, error) {
	w, err := replacer(r.Store)
	if err != nil {
		return Info{}, err
	}
	put := func() (Info, error) { return w.PutIfMatch(ctx, path, data, etag) }
	settle := func() (Info, bool, error) { return r.settle(ctx, path, data) }
	if p, ok := r.Store.(IDPutter); ok {
		id := rand.Text()
		put = func() (Info, error) { return p.PutIfMatchID(ctx, path, data, etag, id) }
		settle = nil
	}
	return r.write(ctx, "put if match", path, put, settle)
}

// write repeats put. After an attempt of unknown outcome, settle says whether the object is now ours; a put that depends
// on what is there may then be repeated, because it cannot take effect twice.
func (r *retrying) write(ctx context.Context, op, path string, put func() (Info, error), settle func() (Info, bool, error)) (Info, error) {
	unknown := false
	for n := 1; ; n++ {
		i, err := put()
		lost := errors.Is(err, ErrExists) || errors.Is(err, ErrPrecondition)
		ambiguous := errors.Is(err, ErrAmbiguous)
		unknown = unknown || ambiguous
		switch {
		case err == nil:
			return i, nil
		case lost && (!unknown || settle == nil):
			return Info{}, err
		case (lost || ambiguous) && settle != nil:
			si, mine, serr := settle()
			switch {
			case serr == nil && mine:
				r.o.Log.Info("a write whose answer was lost has happened", "op", op, "path", path)
				return si, nil
			case lost && serr == nil:
				return Info{}, err
			case lost:
				return Info{}, fmt.Errorf("%s %s: %w: %w", op, path, ErrAmbiguous, serr)
			}
		case !ambiguous && !errors.Is(err, ErrTransient):
			return Info{}, stayAmbiguous(unknown, err)
		}
		if !r.again(ctx, n, op, path, err) {
			return Info{}, stayAmbiguous(unknown, err)
		}
	}
}

// stayAmbiguous keeps an earlier unknown outcome in the error of a later attempt.
func stayAmbiguous(unknown bool, err error) error {
	if !unknown || err == nil || errors.Is(err, ErrAmbiguous) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrAmbiguous, err)
}

// settle reports whether the object at path holds data. A missing object is (false, nil).
func (r *retrying) settle(ctx context.Context, path string, data []byte) (Info, bool, error) {
	i, err := r.Stat(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return Info{}, false, nil
	}
	if err != nil {
		return Info{}, false, err
	}
	if i.Size != int64(len(data)) {
		return Info{}, false, nil
	}
	have, err := r.ReadAll(ctx, path)
	if err != nil {
		return Info{}, false, err
	}
	return i, bytes.Equal(have, data), nil
}

func (r *retrying) Create(ctx context.Context, path string, mode PutMode) (Writer, error) {
	var w Writer
	err := r.do(ctx, "create", path, func() (err error) {
		w, err = r.Store.Create(ctx, path, mode)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &retryingWriter{Writer: w, r: r, ctx: ctx, path: path}, nil
}

type retryingWriter struct {
	Writer
	r    *retrying
	ctx  context.Context // of Create
	path string
	size int64
	sum  maphash.Hash // of the bytes written
}

func (w *retryingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.size += int64(n)
	w.sum.Write(p[:n])
	return n, err
}

// Commit reads the object back when its outcome is unknown and compares size and hash.
func (w *retryingWriter) Commit() (Info, error) {
	i, err := w.Writer.Commit()
	if !errors.Is(err, ErrAmbiguous) {
		return i, err
	}
	i, same, serr := w.readBack()
	switch {
	case serr != nil:
		return Info{}, fmt.Errorf("%w; reading it back: %w", err, serr)
	case !same:
		return Info{}, err // absent or another's now: it may still arrive
	}
	w.r.o.Log.Info("a write whose answer was lost has happened", "op", "commit", "path", w.path)
	return i, nil
}

func (w *retryingWriter) readBack() (Info, bool, error) {
	o, err := w.r.Open(w.ctx, w.path)
	if errors.Is(err, fs.ErrNotExist) {
		return Info{}, false, nil
	}
	if err != nil {
		return Info{}, false, err
	}
	defer o.Close()
	if o.Info().Size != w.size {
		return Info{}, false, nil
	}
	var sum maphash.Hash
	sum.SetSeed(w.sum.Seed())
	buf := make([]byte, 1<<20)
	if _, err := io.CopyBuffer(struct{ io.Writer }{&sum}, io.NewSectionReader(o, 0, w.size), buf); err != nil {
		return Info{}, false, err
	}
	return o.Info(), sum.Sum64() == w.sum.Sum64(), nil
}

func (r *retrying) OpenLocal(ctx context.Context, path string) (*os.File, error) {
	l, err := localOpener(r.Store)
	if err != nil {
		return nil, err
	}
	return l.OpenLocal(ctx, path)
}
