package storage

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync/atomic"
)

// Counters counts what a store was asked for. The zero value is ready; fields may be read at any time.
type Counters struct {
	Stats, Opens, Reads, Lists, Puts, Deletes atomic.Int64 // operations, failed ones included; Puts has Put, PutIfMatch and Commit
	Errors                                    atomic.Int64 // operations that failed; a missing or existing object is an answer, not a failure
	BytesRead, BytesWritten                   atomic.Int64
}

// Count wraps s so that every operation is counted in c.
func Count(s Store, c *Counters) Store { return &counting{Store: s, c: c} }

type counting struct {
	Store
	c *Counters
}

var (
	_ Unwrapper   = (*counting)(nil)
	_ LocalOpener = (*counting)(nil)
	_ Replacer    = (*counting)(nil)
)

func (c *counting) Unwrap() Store { return c.Store }

func (c *Counters) fail(err error) {
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrExists), errors.Is(err, ErrPrecondition):
	default:
		c.Errors.Add(1)
	}
}

func (c *Counters) put(i Info, err error) (Info, error) {
	c.Puts.Add(1)
	if err == nil {
		c.BytesWritten.Add(i.Size)
	}
	c.fail(err)
	return i, err
}

func (c *counting) Stat(ctx context.Context, path string) (Info, error) {
	c.c.Stats.Add(1)
	i, err := c.Store.Stat(ctx, path)
	c.c.fail(err)
	return i, err
}

func (c *counting) Open(ctx context.Context, path string) (Object, error) {
	c.c.Opens.Add(1)
	o, err := c.Store.Open(ctx, path)
	c.c.fail(err)
	if err != nil {
		return nil, err
	}
	return &countingObject{o, c.c}, nil
}

type countingObject struct {
	Object
	c *Counters
}

func (o *countingObject) ReadAt(p []byte, off int64) (int, error) {
	o.c.Reads.Add(1)
	n, err := o.Object.ReadAt(p, off)
	o.c.BytesRead.Add(int64(n))
	o.c.fail(err)
	return n, err
}

func (c *counting) ReadAll(ctx context.Context, path string) ([]byte, error) {
	c.c.Reads.Add(1)
	b, err := c.Store.ReadAll(ctx, path)
	c.c.BytesRead.Add(int64(len(b)))
	c.c.fail(err)
	return b, err
}

func (c *counting) Put(ctx context.Context, path string, data []byte, mode PutMode) (Info, error) {
	return c.c.put(c.Store.Put(ctx, path, data, mode))
}

func (c *counting) Create(ctx context.Context, path string, mode PutMode) (Writer, error) {
	w, err := c.Store.Create(ctx, path, mode)
	c.c.fail(err)
	if err != nil {
		return nil, err
	}
	return &countingWriter{w, c.c}, nil
}

type countingWriter struct {
	Writer
	c *Counters
}

func (w *countingWriter) Commit() (Info, error) { return w.c.put(w.Writer.Commit()) }

func (c *counting) List(ctx context.Context, prefix string, o ListOptions) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		c.c.Lists.Add(1)
		for i, err := range c.Store.List(ctx, prefix, o) {
			c.c.fail(err)
			if !yield(i, err) {
				return
			}
		}
	}
}

func (c *counting) Delete(ctx context.Context, path string) error {
	c.c.Deletes.Add(1)
	err := c.Store.Delete(ctx, path)
	c.c.fail(err)
	return err
}

func (c *counting) OpenLocal(ctx context.Context, path string) (*os.File, error) {
	l, err := localOpener(c.Store)
	if err != nil {
		return nil, err
	}
	c.c.Opens.Add(1)
	f, err := l.OpenLocal(ctx, path)
	c.c.fail(err)
	return f, err
}

func (c *counting) PutIfMatch(ctx context.Context, path string, data []byte, etag string) (Info, error) {
	r, err := replacer(c.Store)
	if err != nil {
		return Info{}, err
	}
	return c.c.put(r.PutIfMatch(ctx, path, data, etag))
}
