package fsview

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hudifs/hudifs/internal/storage"
)

// MetaFolder is the directory of the table's own state; nothing below it is data.
const MetaFolder = ".hoodie"

// Lister lists the data files of a table.
type Lister interface {
	// Partitions returns all partition paths, sorted; "" is that of a non-partitioned table.
	Partitions(ctx context.Context) ([]string, error)
	// Files returns the files directly in a partition, in path order.
	Files(ctx context.Context, partition string) ([]storage.Info, error)
}

// StoreLister lists by walking the store.
type StoreLister struct{ st storage.Store }

var _ Lister = (*StoreLister)(nil)

// NewStoreLister returns a lister over a table's base path. A directory is a partition if it holds the partition metafile.
func NewStoreLister(st storage.Store) *StoreLister { return &StoreLister{st: st} }

// Partitions walks the tree and returns the directories that are partitions.
func (l *StoreLister) Partitions(ctx context.Context) ([]string, error) {
	all, err := l.All(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(all))
	for p := range all {
		out = append(out, p)
	}
	slices.Sort(out)
	return out, nil
}

// Files lists one directory.
func (l *StoreLister) Files(ctx context.Context, partition string) ([]storage.Info, error) {
	prefix := ""
	if partition != "" {
		prefix = partition + "/"
	}
	var out []storage.Info
	for f, err := range l.st.List(ctx, prefix, storage.ListOptions{}) {
		if err != nil {
			return nil, fmt.Errorf("list partition %q: %w", partition, err)
		}
		if !f.Prefix {
			out = append(out, f)
		}
	}
	return out, nil
}

// All walks the whole tree once and returns the files of every partition.
func (l *StoreLister) All(ctx context.Context) (map[string][]storage.Info, error) {
	dirs := map[string][]storage.Info{}
	partitions := map[string]bool{}
	err := l.walk(ctx, func(f storage.Info) {
		dir, name := split(f.Path)
		switch {
		case IsPartitionMetafile(name):
			partitions[dir] = true
		case IsLogFile(name) || !strings.HasPrefix(name, "."):
			dirs[dir] = append(dirs[dir], f)
		}
	})
	if err != nil {
		return nil, err
	}
	out := map[string][]storage.Info{}
	for dir := range partitions {
		if !below(dir, partitions) {
			out[dir] = dirs[dir]
		}
	}
	return out, nil
}

// walk yields every file outside the meta folder. The top level is listed with a delimiter so that the meta folder, which can hold more
// files than the table, is never entered.
func (l *StoreLister) walk(ctx context.Context, fn func(storage.Info)) error {
	for f, err := range l.st.List(ctx, "", storage.ListOptions{}) {
		if err != nil {
			return fmt.Errorf("list the table's base path: %w", err)
		}
		if !f.Prefix {
			fn(f)
			continue
		}
		if f.Path == MetaFolder+"/" {
			continue
		}
		for f, err := range l.st.List(ctx, f.Path, storage.ListOptions{Recursive: true}) {
			if err != nil {
				return fmt.Errorf("list %q: %w", f.Path, err)
			}
			fn(f)
		}
	}
	return nil
}

// below reports whether a directory above dir is a partition: partitions don't nest, a walk stops at a metafile (timeline.md §1.4).
func below(dir string, partitions map[string]bool) bool {
	for dir != "" {
		i := strings.LastIndexByte(dir, '/')
		if i < 0 {
			return partitions[""]
		}
		dir = dir[:i]
		if partitions[dir] {
			return true
		}
	}
	return false
}
