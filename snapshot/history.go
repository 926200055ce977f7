package snapshot

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// archived is what a state knows of instants that were archived. Only a table with files that old asks for it.
type archived struct {
	tl       *timeline.Timeline // the state's, knowing the history
	replaced map[fsview.FileGroupID][]timeline.InstantTime
	upTo     timeline.InstantTime // greatest replacecommit read
}

// askHistory looks archived instants up. What neither the timeline nor the history proves completed stays out, with a warning: it is
// what a failed write left, or somebody's copy (known-fault A7).
func (b *builder) askHistory(ctx context.Context, unknown map[timeline.InstantTime]string) error {
	s := b.state
	tl, err := s.table.history(s.cfg).Attach(ctx, s.active, s.tl)
	if err != nil {
		return fmt.Errorf("%d instants of files are not on the timeline, and its history cannot be read: %w", len(unknown), err)
	}
	s.archived.tl = tl
	var oldest timeline.InstantTime
	for _, t := range slices.Sorted(maps.Keys(unknown)) {
		c, ok := tl.CompletionOf(t)
		if !ok {
			s.table.log.Warn("file of an instant that never completed is not shown", "instant", t, "path", unknown[t])
			continue
		}
		s.done[t] = c
		if oldest == "" {
			oldest = t
		}
	}
	if oldest == "" {
		return nil
	}
	return b.archivedReplaces(ctx, oldest)
}

// archivedReplaces finds the groups that archived commits replaced and whose files are still there: a savepoint may have kept the cleaner
// from them. Their rows must not come back.
func (b *builder) archivedReplaces(ctx context.Context, oldest timeline.InstantTime) error {
	a := &b.state.archived
	a.replaced = map[fsview.FileGroupID][]timeline.InstantTime{}
	from := oldest
	if b.prev != nil && b.prev.archived.upTo != "" {
		maps.Copy(a.replaced, b.prev.archived.replaced)
		from, a.upTo = b.prev.archived.upTo, b.prev.archived.upTo
	}
	h := b.table.history(b.cfg)
	ix, err := h.Load(ctx)
	if err != nil {
		return err
	}
	isReplace := func(i timeline.Instant) bool { return i.Action == timeline.ReplaceCommit && i.Time.Compare(a.upTo) > 0 }
	if !slices.ContainsFunc(ix.Instants(from, ""), isReplace) {
		return nil
	}
	for e, err := range h.Entries(ctx, from, "") {
		if err != nil {
			return err
		}
		if !isReplace(e.Instant()) {
			continue
		}
		a.upTo = e.Time
		m, err := action.Decode[action.CommitMetadata]("archived replacecommit "+string(e.Time), e.Metadata)
		if err != nil {
			return err
		}
		for p, ids := range m.ReplacedFileIDs {
			for _, id := range ids {
				g := fsview.FileGroupID{Partition: p, FileID: id}
				if have, err := b.index.Group(ctx, g); err != nil {
					return err
				} else if have != nil || b.ghosts[g] != nil {
					a.replaced[g] = append(a.replaced[g], e.Time)
				}
			}
		}
		b.done[e.Time] = e.Completion
	}
	return nil
}
