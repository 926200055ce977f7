package fsview

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hudifs/hudifs/internal/storage"
)

// Index holds the file groups of a table as listed, shared by the views of all its states: memory goes with the files, not with files
// times commits. It fills itself partition by partition, or at once by Load. It is safe for concurrent use.
type Index struct {
	lister Lister
	load   sync.Mutex // held across a whole listing, so that it happens once; never taken under mu

	mu struct {
		sync.Mutex
		whole      bool // partitions is complete and every one of them is in groups
		partitions []string
		groups     map[string][]*Listed
	}
}

// wholeLister is a lister that lists all partitions at the price of one walk.
type wholeLister interface {
	All(ctx context.Context) (map[string][]storage.Info, error)
}

var _ wholeLister = (*StoreLister)(nil)

// NewIndex returns an empty index over l.
func NewIndex(l Lister) *Index {
	x := &Index{lister: l}
	x.mu.groups = map[string][]*Listed{}
	return x
}

// Next returns an index over l that keeps what x knows of all partitions but the touched ones, which it lists again, also where no metafile
// makes them partitions: commits name them. x stays as it is.
func (x *Index) Next(ctx context.Context, l Lister, touched map[string]bool) (*Index, error) {
	y := NewIndex(l)
	x.mu.Lock()
	whole, partitions := x.mu.whole, x.mu.partitions
	maps.Copy(y.mu.groups, x.mu.groups)
	x.mu.Unlock()
	for p := range touched {
		delete(y.mu.groups, p)
	}
	if !whole {
		return y, nil
	}
	y.mu.partitions = slices.Clone(partitions)
	for p := range touched {
		g, err := y.list(ctx, p)
		if err != nil {
			return nil, err
		}
		if i, ok := slices.BinarySearch(y.mu.partitions, p); !ok && len(g) > 0 {
			y.mu.partitions = slices.Insert(y.mu.partitions, i, p)
		}
		y.mu.groups[p] = g
	}
	y.mu.whole = true
	return y, nil
}

// Load lists the whole table, once.
func (x *Index) Load(ctx context.Context) error {
	x.load.Lock()
	defer x.load.Unlock()
	x.mu.Lock()
	done := x.mu.whole
	x.mu.Unlock()
	if done {
		return nil
	}
	groups, err := x.listAll(ctx)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.groups, x.mu.partitions, x.mu.whole = groups, slices.Sorted(maps.Keys(groups)), true
	return nil
}

func (x *Index) listAll(ctx context.Context) (map[string][]*Listed, error) {
	groups := map[string][]*Listed{}
	if w, ok := x.lister.(wholeLister); ok {
		all, err := w.All(ctx)
		if err != nil {
			return nil, err
		}
		for p, files := range all {
			groups[p] = Group(p, files)
		}
		return groups, nil
	}
	partitions, err := x.lister.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range partitions {
		if groups[p], err = x.list(ctx, p); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

func (x *Index) list(ctx context.Context, partition string) ([]*Listed, error) {
	files, err := x.lister.Files(ctx, partition)
	if err != nil {
		return nil, err
	}
	return Group(partition, files), nil
}

// Partitions returns the paths of all partitions that exist now, sorted. The slice is shared: do not change it.
func (x *Index) Partitions(ctx context.Context) ([]string, error) {
	if err := x.Load(ctx); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mu.partitions, nil
}

// Groups returns the file groups of a partition, by file id; none for a partition that does not exist. The slice is shared.
func (x *Index) Groups(ctx context.Context, partition string) ([]*Listed, error) {
	x.mu.Lock()
	g, ok := x.mu.groups[partition]
	whole := x.mu.whole
	x.mu.Unlock()
	if ok || whole {
		return g, nil
	}
	g, err := x.list(ctx, partition)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.mu.whole {
		x.mu.groups[partition] = g
	}
	return x.mu.groups[partition], nil
}

// Group returns one file group, nil where no file of it is listed.
func (x *Index) Group(ctx context.Context, id FileGroupID) (*Listed, error) {
	groups, err := x.Groups(ctx, id.Partition)
	if err != nil {
		return nil, err
	}
	i, ok := slices.BinarySearchFunc(groups, id.FileID, func(g *Listed, id string) int { return strings.Compare(g.ID.FileID, id) })
	if !ok {
		return nil, nil
	}
	return groups[i], nil
}

// Each calls fn for every file group of the table.
func (x *Index) Each(ctx context.Context, fn func(*Listed)) error {
	if err := x.Load(ctx); err != nil {
		return err
	}
	x.mu.Lock()
	all := maps.Clone(x.mu.groups)
	x.mu.Unlock()
	for _, groups := range all {
		for _, g := range groups {
			fn(g)
		}
	}
	return nil
}
