package timeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	o := storage.ListOptions{NamesOnly: a.place.timesInNames()}
	for info, err := range a.st.List(ctx, a.place.dir, o) {
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
		if i.State == Completed && i.Completion == "" && o.NamesOnly {
			if info, err = a.st.Stat(ctx, info.Path); errors.Is(err, fs.ErrNotExist) {
				continue // deleted meanwhile
			} else if err != nil {
				return nil, fmt.Errorf("look at legacy instant %s: %w", info.Path, err)
			}
		}
		found = append(found, a.place.complete(i, info.ModTime))
	}
	return New(a.place.layout, found), nil
}
