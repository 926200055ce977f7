package storage

import (
	"context"
	"errors"
	"fmt"
)

// ErrTransient is matched by errors after which the same operation may be tried again: nothing is known to be wrong with
// the request, and nothing was changed by it. Retry does so.
var ErrTransient = errors.New("storage is temporarily unavailable")

// Pruner is the capability of a store with real directories, which outlive their last object.
type Pruner interface {
	// PruneEmpty removes the empty directories at and below prefix ("" or ending in a slash), and nothing else.
	PruneEmpty(ctx context.Context, prefix string) error
}

// PruneEmpty removes empty directories at and below prefix where s has directories, and does nothing elsewhere.
func PruneEmpty(ctx context.Context, s Store, prefix string) error {
	if p, ok := As[Pruner](s); ok {
		return p.PruneEmpty(ctx, prefix)
	}
	return nil
}

func localOpener(s Store) (LocalOpener, error) {
	if l, ok := As[LocalOpener](s); ok {
		return l, nil
	}
	return nil, fmt.Errorf("open a local file of %s, which has none: %w", s.URL(), errors.ErrUnsupported)
}

func replacer(s Store) (Replacer, error) {
	if r, ok := As[Replacer](s); ok {
		return r, nil
	}
	return nil, fmt.Errorf("replace one version of an object of %s, which cannot: %w", s.URL(), errors.ErrUnsupported)
}
