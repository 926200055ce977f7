package snapshot

import (
	"context"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
)

// loadHistory reads the table's archived instants.
func loadHistory(ctx context.Context, st storage.Store, cfg *tableconfig.Config) (timeline.History, error) {
	return noHistory{}, nil
}

// noHistory knows nothing.
type noHistory struct{}

func (noHistory) CompletionOf(timeline.InstantTime) (timeline.InstantTime, bool) { return "", false }
func (noHistory) Covers(timeline.InstantTime) bool                               { return false }
