package bucket

import (
	"context"
	"iter"
	"strings"

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
		after := ""
		if o.StartAfter != "" {
			after = s.prefix + o.StartAfter
		}
		for l, err := range s.b.list(ctx, s.prefix+prefix, after, o.Recursive) {
			if err != nil {
				yield(storage.Info{}, s.failed(ctx, read, "list", prefix, err))
				return
			}
			i, ok := s.entry(prefix, l)
			// Where to start only spares the provider work; here it is exact.
			if ok && i.Path > o.StartAfter && !yield(i, nil) {
				return
			}
		}
	}
}

// entry makes an entry of a listed key; ok is false for keys that are no paths.
func (s *Store) entry(prefix string, l listed) (i storage.Info, ok bool) {
	path, ok := strings.CutPrefix(l.key, s.prefix)
	if !ok {
		return i, false
	}
	if l.prefix {
		dir, ok := strings.CutSuffix(path, "/")
		if !ok || path == prefix || storage.CheckPath(dir) != nil {
			return i, false
		}
		return storage.Info{Path: path, Prefix: true}, true
	}
	if storage.CheckPath(path) != nil {
		return i, false
	}
	return info(path, l.attrs), true
}
