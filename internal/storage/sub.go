package storage

import (
	"context"
	"fmt"
	"iter"
	"os"
	"strings"
)

// Sub narrows s to the objects below prefix ("" or a path, with or without a final slash), so that the metadata table is a
// store of its own. Capabilities of s work through it. Closing it does not close s.
func Sub(s Store, prefix string) (Store, error) {
	prefix = strings.TrimSuffix(prefix, "/")
	if prefix == "" {
		return s, nil
	}
	if err := CheckPath(prefix); err != nil {
		return nil, fmt.Errorf("narrow a store: %w", err)
	}
	return &sub{s: s, prefix: prefix + "/"}, nil
}

// sub does not implement Unwrapper: the store behind it has other paths.
type sub struct {
	s      Store
	prefix string // ends in a slash
}

var (
	_ Store       = (*sub)(nil)
	_ LocalOpener = (*sub)(nil)
	_ Replacer    = (*sub)(nil)
)

func (b *sub) full(path string) (string, error) {
	// Checked here, because ".." could otherwise leave the prefix.
	if err := CheckPath(path); err != nil {
		return "", err
	}
	return b.prefix + path, nil
}

func (b *sub) info(i Info, err error) (Info, error) {
	if err != nil {
		return Info{}, err
	}
	i.Path = strings.TrimPrefix(i.Path, b.prefix)
	return i, nil
}

func (b *sub) Stat(ctx context.Context, path string) (Info, error) {
	p, err := b.full(path)
	if err != nil {
		return Info{}, err
	}
	return b.info(b.s.Stat(ctx, p))
}

func (b *sub) Open(ctx context.Context, path string) (Object, error) {
	p, err := b.full(path)
	if err != nil {
		return nil, err
	}
	o, err := b.s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	i, _ := b.info(o.Info(), nil)
	return &subObject{Object: o, info: i}, nil
}

type subObject struct {
	Object
	info Info
}

func (o *subObject) Info() Info { return o.info }

func (b *sub) ReadAll(ctx context.Context, path string) ([]byte, error) {
	p, err := b.full(path)
	if err != nil {
		return nil, err
	}
	return b.s.ReadAll(ctx, p)
}

func (b *sub) Put(ctx context.Context, path string, data []byte, mode PutMode) (Info, error) {
	p, err := b.full(path)
	if err != nil {
		return Info{}, err
	}
	return b.info(b.s.Put(ctx, p, data, mode))
}

func (b *sub) Create(ctx context.Context, path string, mode PutMode) (Writer, error) {
	p, err := b.full(path)
	if err != nil {
		return nil, err
	}
	w, err := b.s.Create(ctx, p, mode)
	if err != nil {
		return nil, err
	}
	return &subWriter{Writer: w, b: b}, nil
}

type subWriter struct {
	Writer
	b *sub
}

func (w *subWriter) Commit() (Info, error) { return w.b.info(w.Writer.Commit()) }

func (b *sub) List(ctx context.Context, prefix string, o ListOptions) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if err := CheckPrefix(prefix); err != nil {
			yield(Info{}, err)
			return
		}
		behind := o // the sequence may be used again: o must stay
		if o.StartAfter != "" {
			behind.StartAfter = b.prefix + o.StartAfter
		}
		for i, err := range b.s.List(ctx, b.prefix+prefix, behind) {
			if !yield(b.info(i, err)) {
				return
			}
		}
	}
}

func (b *sub) Delete(ctx context.Context, path string) error {
	p, err := b.full(path)
	if err != nil {
		return err
	}
	return b.s.Delete(ctx, p)
}

func (b *sub) Properties() Properties { return b.s.Properties() }
func (b *sub) URL() string {
	return strings.TrimSuffix(b.s.URL()+"/"+b.prefix, "/")
}
func (b *sub) Close() error { return nil }

func (b *sub) OpenLocal(ctx context.Context, path string) (*os.File, error) {
	l, err := localOpener(b.s)
	if err != nil {
		return nil, err
	}
	p, err := b.full(path)
	if err != nil {
		return nil, err
	}
	return l.OpenLocal(ctx, p)
}

func (b *sub) PutIfMatch(ctx context.Context, path string, data []byte, etag string) (Info, error) {
	r, err := replacer(b.s)
	if err != nil {
		return Info{}, err
	}
	p, err := b.full(path)
	if err != nil {
		return Info{}, err
	}
	return b.info(r.PutIfMatch(ctx, p, data, etag))
}

// PruneEmpty passes on to the store behind; a store without directories has nothing to prune.
func (b *sub) PruneEmpty(ctx context.Context, prefix string) error {
	if err := CheckPrefix(prefix); err != nil {
		return err
	}
	return PruneEmpty(ctx, b.s, b.prefix+prefix)
}
