package faultstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/hudifs/hudifs/internal/storage"
)

var (
	_ storage.Store       = (*Store)(nil)
	_ storage.Unwrapper   = (*Store)(nil)
	_ storage.LocalOpener = (*Store)(nil)
	_ storage.Replacer    = (*Store)(nil)
)

// Unwrap implements storage.Unwrapper.
func (s *Store) Unwrap() storage.Store { return s.inner }

// Properties are those of the store behind, except that lists lag while HideNew is in force.
func (s *Store) Properties() storage.Properties {
	p := s.inner.Properties()
	s.mu.Lock()
	defer s.mu.Unlock()
	p.ListAfterWrite = p.ListAfterWrite && s.mu.hidden == nil
	return p
}

// URL implements storage.Store.
func (s *Store) URL() string { return s.inner.URL() }

// Close implements storage.Store.
func (s *Store) Close() error { return s.inner.Close() }

// Stat implements storage.Store.
func (s *Store) Stat(ctx context.Context, path string) (i storage.Info, err error) {
	err = s.enter(ctx, Stat, path).run(func() error {
		i, err = s.inner.Stat(ctx, path)
		return err
	})
	return i, err
}

// Open implements storage.Store.
func (s *Store) Open(ctx context.Context, path string) (storage.Object, error) {
	v := s.enter(ctx, Open, path)
	if v.before != nil || v.after != nil {
		return nil, errors.Join(v.before, v.after)
	}
	o, err := s.inner.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &object{Object: o, s: s, ctx: ctx}, nil
}

type object struct {
	storage.Object
	s   *Store
	ctx context.Context // of Open
}

func (o *object) ReadAt(p []byte, off int64) (n int, err error) {
	v := o.s.enter(o.ctx, Read, o.Info().Path)
	if v.before != nil || v.after != nil {
		return 0, errors.Join(v.before, v.after)
	}
	return o.Object.ReadAt(p, off)
}

// ReadAll implements storage.Store.
func (s *Store) ReadAll(ctx context.Context, path string) (b []byte, err error) {
	err = s.enter(ctx, Read, path).run(func() error {
		b, err = s.inner.ReadAll(ctx, path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Put implements storage.Store.
func (s *Store) Put(ctx context.Context, path string, data []byte, mode storage.PutMode) (storage.Info, error) {
	return s.put(s.enter(ctx, Put, path), path, func() (storage.Info, error) { return s.inner.Put(ctx, path, data, mode) })
}

// PutIfMatch implements storage.Replacer.
func (s *Store) PutIfMatch(ctx context.Context, path string, data []byte, etag string) (storage.Info, error) {
	r, ok := storage.As[storage.Replacer](s.inner)
	if !ok {
		return storage.Info{}, fmt.Errorf("put %s if it is %s: %w", path, etag, errors.ErrUnsupported)
	}
	return s.put(s.enter(ctx, PutIfMatch, path), path, func() (storage.Info, error) { return r.PutIfMatch(ctx, path, data, etag) })
}

func (s *Store) put(v verdict, path string, f func() (storage.Info, error)) (i storage.Info, err error) {
	err = v.run(func() error {
		i, err = f()
		if err == nil {
			s.wrote(path)
		}
		return err
	})
	if err != nil {
		return storage.Info{}, err
	}
	return i, nil
}

// Create implements storage.Store.
func (s *Store) Create(ctx context.Context, path string, mode storage.PutMode) (storage.Writer, error) {
	v := s.enter(ctx, Create, path)
	if v.before != nil || v.after != nil {
		return nil, errors.Join(v.before, v.after)
	}
	w, err := s.inner.Create(ctx, path, mode)
	if err != nil {
		return nil, err
	}
	return &writer{Writer: w, s: s, ctx: ctx, path: path}, nil
}

type writer struct {
	storage.Writer
	s    *Store
	ctx  context.Context // of Create
	path string
}

func (w *writer) Write(p []byte) (n int, err error) {
	err = w.s.enter(w.ctx, Write, w.path).run(func() error {
		n, err = w.Writer.Write(p)
		return err
	})
	return n, err
}

func (w *writer) Commit() (storage.Info, error) {
	v := w.s.enter(w.ctx, Commit, w.path)
	if v.before != nil {
		return storage.Info{}, errors.Join(v.before, w.Writer.Abort())
	}
	return w.s.put(v, w.path, w.Writer.Commit)
}

// List implements storage.Store. A fault with When After strikes at the end of the listing.
func (s *Store) List(ctx context.Context, prefix string, o storage.ListOptions) iter.Seq2[storage.Info, error] {
	return func(yield func(storage.Info, error) bool) {
		v := s.enter(ctx, List, prefix)
		if v.before != nil {
			yield(storage.Info{}, v.before)
			return
		}
		for i, err := range s.inner.List(ctx, prefix, o) {
			if err == nil && s.isHidden(i.Path) {
				continue
			}
			if !yield(i, err) || err != nil {
				return
			}
		}
		if v.after != nil {
			yield(storage.Info{}, v.after)
		}
	}
}

// Delete implements storage.Store.
func (s *Store) Delete(ctx context.Context, path string) error {
	return s.enter(ctx, Delete, path).run(func() error { return s.inner.Delete(ctx, path) })
}

// OpenLocal implements storage.LocalOpener.
func (s *Store) OpenLocal(ctx context.Context, path string) (*os.File, error) {
	l, ok := storage.As[storage.LocalOpener](s.inner)
	if !ok {
		return nil, fmt.Errorf("open %s as a local file: %w", path, errors.ErrUnsupported)
	}
	v := s.enter(ctx, Open, path)
	if v.before != nil || v.after != nil {
		return nil, errors.Join(v.before, v.after)
	}
	return l.OpenLocal(ctx, path)
}
