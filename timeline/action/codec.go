package action

import (
	"context"

	"github.com/hudifs/hudifs/timeline"
)

// Body is what Encode and Decode know.
type Body interface {
	CommitMetadata | RequestedReplace | CompactionPlan | CleanPlan | CleanMetadata | RollbackPlan | RollbackMetadata |
		RestorePlan | RestoreMetadata | SavepointMetadata | IndexPlan | IndexCommit | MergeArchivePlan
}

// Decode reads a body in whichever encoding it has: an Avro container, or JSON, or none (timeline.md §4.1). name is the file's, for
// messages. No bytes give the zero body: the caller knows whether that is allowed. Damaged bytes match corrupt.Is.
func Decode[T Body](name string, body []byte) (*T, error) { panic("being written") }

// Encode writes v as the timeline layout wants it: commits of layout 1 as JSON, everything else as an Avro container.
func Encode[T Body](layout int, v *T) ([]byte, error) { panic("being written") }

// Read reads and decodes the body of instant i in its state.
func Read[T Body](ctx context.Context, a *timeline.Active, i timeline.Instant) (*T, error) {
	b, err := a.Read(ctx, i)
	if err != nil {
		return nil, err
	}
	return Decode[T](a.Path(i), b)
}

// ReadPlan reads and decodes the plan in the requested file of instant i, whatever its state.
func ReadPlan[T Body](ctx context.Context, a *timeline.Active, i timeline.Instant) (*T, error) {
	b, err := a.ReadRequested(ctx, i)
	if err != nil {
		return nil, err
	}
	return Decode[T](a.Path(i), b)
}

// ToJSON prints the body of any instant as indented JSON, with the field names of its own schema: {} where it has no body.
func ToJSON(layout int, i timeline.Instant, body []byte) ([]byte, error) { panic("being written") }
