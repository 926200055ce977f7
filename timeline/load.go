package timeline

import (
	"context"
	"fmt"
	"strings"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// Load reads the active timeline of the table in st: one listing of exactly one directory, no body.
func Load(ctx context.Context, st storage.Store, cfg *tableconfig.Config) (*Timeline, error) {
	return NewActive(st, cfg).Load(ctx)
}

// Load lists the active timeline. Only files directly in the timeline's directory count, and only those whose whole name is an
// instant's: temporary files, checksums and the folders of indexes and history are passed over.
func (a *Active) Load(ctx context.Context) (*Timeline, error) {
	var found []Instant
	for info, err := range a.st.List(ctx, a.place.dir, storage.ListOptions{}) {
		if err != nil {
			return nil, fmt.Errorf("list timeline %s: %w", a.place.dir, err)
		}
		if info.Prefix {
			continue
		}
		i, ok := parseName(a.place.layout, strings.TrimPrefix(info.Path, a.place.dir))
		if !ok {
			continue
		}
		found = append(found, a.place.complete(i, info.ModTime))
	}
	return New(a.place.layout, found), nil
}
