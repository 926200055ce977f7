package bucket

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"

	"gocloud.dev/blob"

	"github.com/hudifs/hudifs/internal/storage"
)

// List implements storage.Store.
func (s *Store) List(ctx context.Context, prefix string, o storage.ListOptions) iter.Seq2[storage.Info, error] {
	return func(yield func(storage.Info, error) bool) {
		err := storage.CheckPrefix(prefix)
		if err == nil {
			err = s.checkKey(s.prefix + prefix)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(storage.Info{}, err)
			return
		}
		it := s.b.List(s.listOptions(prefix, o))
		for {
			obj, err := it.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(storage.Info{}, s.failed(ctx, read, "list", prefix, err))
				return
			}
			i, ok := s.listed(prefix, obj)
			// StartAfter only spares the provider work; here it is exact.
			if ok && i.Path > o.StartAfter && !yield(i, nil) {
				return
			}
		}
	}
}

func (s *Store) listOptions(prefix string, o storage.ListOptions) *blob.ListOptions {
	lo := &blob.ListOptions{Prefix: s.prefix + prefix}
	if !o.Recursive {
		lo.Delimiter = "/"
	}
	if o.StartAfter > prefix && s.prov.listAfter != nil {
		lo.BeforeList = func(as func(any) bool) error {
			s.prov.listAfter(as, s.prefix+o.StartAfter)
			return nil
		}
	}
	return lo
}

// listed makes an entry of a listed key; ok is false for keys that are no paths.
func (s *Store) listed(prefix string, obj *blob.ListObject) (i storage.Info, ok bool) {
	path, ok := strings.CutPrefix(obj.Key, s.prefix)
	if !ok {
		return i, false
	}
	if obj.IsDir {
		dir, ok := strings.CutSuffix(path, "/")
		if !ok || path == prefix || storage.CheckPath(dir) != nil {
			return i, false
		}
		return storage.Info{Path: path, Prefix: true}, true
	}
	if storage.CheckPath(path) != nil {
		return i, false
	}
	return storage.Info{Path: path, Size: obj.Size, ModTime: obj.ModTime, ETag: s.prov.listETag(obj)}, true
}
