package fsview

import (
	"context"
)

// View is the file groups of one state of a table. It is cheap: files are shared through the Index and slices are built when asked for.
// It is safe for concurrent use.
type View struct {
	index *Index
	rules Rules
}

// NewView returns the view of the state that the rules describe over the files of the index.
func NewView(x *Index, r Rules) *View { return &View{index: x, rules: r} }

// FileGroup is one group with all its visible slices.
type FileGroup struct {
	ID       FileGroupID
	Slices   []FileSlice // newest first; the first may be the empty slice of a pending compaction in a writer's view
	Replaced bool
}

// Partitions returns the partitions that exist now; some may hold nothing visible.
func (v *View) Partitions(ctx context.Context) ([]string, error) { return v.index.Partitions(ctx) }

// Latest returns, per file group, the slice that holds its current rows: pending compactions are read as if they were not there.
// Replaced groups are out. Ordered by file id.
func (v *View) Latest(ctx context.Context, partition string) ([]FileSlice, error) {
	return v.pick(ctx, partition, merged)
}

// LatestBase returns, per file group, the newest committed base file as a slice without logs: the read-optimised view.
func (v *View) LatestBase(ctx context.Context, partition string) ([]FileSlice, error) {
	return v.pick(ctx, partition, func(all []FileSlice) (FileSlice, bool) {
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].File != nil {
				s := all[i]
				s.Logs = nil
				return s, true
			}
		}
		return FileSlice{}, false
	})
}

// ForWrite returns, per file group, the newest slice, which is that of a pending compaction where there is one: where appends go.
func (v *View) ForWrite(ctx context.Context, partition string) ([]FileSlice, error) {
	return v.pick(ctx, partition, func(all []FileSlice) (FileSlice, bool) {
		if len(all) == 0 {
			return FileSlice{}, false
		}
		return all[len(all)-1], true
	})
}

func (v *View) pick(ctx context.Context, partition string, choose func([]FileSlice) (FileSlice, bool)) ([]FileSlice, error) {
	groups, err := v.index.Groups(ctx, partition)
	if err != nil {
		return nil, err
	}
	out := make([]FileSlice, 0, len(groups))
	for _, g := range groups {
		if v.rules.Replaced != nil && v.rules.Replaced(g.ID) {
			continue
		}
		all, err := v.rules.attachNewest(ctx, g)
		if err != nil {
			return nil, err
		}
		if s, ok := choose(all); ok {
			out = append(out, s)
		}
	}
	return out, nil
}

// Groups returns all file groups with all their visible slices, replaced groups included: what services plan on. Groups of which the state
// shows no file are out.
func (v *View) Groups(ctx context.Context, partition string) ([]FileGroup, error) {
	groups, err := v.index.Groups(ctx, partition)
	if err != nil {
		return nil, err
	}
	out := make([]FileGroup, 0, len(groups))
	for _, g := range groups {
		all, err := v.rules.attach(ctx, g)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			continue
		}
		for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
			all[i], all[j] = all[j], all[i]
		}
		out = append(out, FileGroup{ID: g.ID, Slices: all, Replaced: v.rules.Replaced != nil && v.rules.Replaced(g.ID)})
	}
	return out, nil
}

// Latest returns the slice of the listed group that holds its current rows in the state that the rules describe.
func (r *Rules) Latest(ctx context.Context, g *Listed) (FileSlice, bool, error) {
	if r.Replaced != nil && r.Replaced(g.ID) {
		return FileSlice{}, false, nil
	}
	all, err := r.attachNewest(ctx, g)
	if err != nil {
		return FileSlice{}, false, err
	}
	s, ok := merged(all)
	return s, ok, nil
}
