package history

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/hudifs/hudifs/timeline"
)

// Entries yields the archived instants with from ≤ time ≤ to, bodies included, in order of time, each once. "" is no bound. Files whose
// times overlap are held in memory together; an LSM tree keeps them apart, so that is mostly one file at a time. A file that vanishes
// meanwhile ends the sequence with an error that matches fs.ErrNotExist: start again behind the last instant seen.
func (h *History) Entries(ctx context.Context, from, to timeline.InstantTime) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		ix, err := h.Load(ctx)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		var last Entry
		for _, group := range overlapping(ix.runs, from, to) {
			list, err := h.readGroup(ctx, group, from, to)
			if err != nil {
				yield(Entry{}, fmt.Errorf("read history %s: %w", h.dir, err))
				return
			}
			for _, e := range list {
				if e.Time == last.Time && e.Action == last.Action {
					continue
				}
				last = e
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// overlapping sorts runs by time and groups those that overlap; runs outside the range are left out.
func overlapping(runs []*run, from, to timeline.InstantTime) [][]*run {
	var in []*run
	for _, r := range runs {
		if r.first != "" && r.last >= from && (to == "" || r.first <= to) {
			in = append(in, r)
		}
	}
	slices.SortStableFunc(in, func(a, b *run) int { return a.first.Compare(b.first) })
	var groups [][]*run
	var end timeline.InstantTime
	for _, r := range in {
		if len(groups) == 0 || r.first > end {
			groups = append(groups, nil)
			end = ""
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], r)
		end = max(end, r.last)
	}
	return groups
}

// readGroup reads files whole and sorts what they hold.
func (h *History) readGroup(ctx context.Context, group []*run, from, to timeline.InstantTime) ([]Entry, error) {
	var list []Entry
	keep := func(e Entry) error {
		if e.Time >= from && (to == "" || e.Time <= to) {
			list = append(list, e)
		}
		return nil
	}
	for _, r := range group {
		var err error
		if h.cfg.Features.LSMHistory {
			err = h.scanLSM(ctx, r.file, lsmText, keep)
		} else {
			err = h.archiveEntries(ctx, r.file, keep)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list, func(a, b Entry) int {
		if c := a.Time.Compare(b.Time); c != 0 {
			return c
		}
		return slices.Index(archivedActions, a.Action) - slices.Index(archivedActions, b.Action)
	})
	return list, nil
}
