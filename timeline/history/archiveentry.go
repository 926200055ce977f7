package history

import (
	"context"
	"fmt"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// archiveEntries reads the instants of an archive log file with their bodies. The states of one instant are separate records, in order;
// the bodies become containers, as layout 2 keeps them.
func (h *History) archiveEntries(ctx context.Context, f file, fn func(Entry) error) error {
	type key struct {
		time   timeline.InstantTime
		action timeline.Action
	}
	plans := map[key][]byte{} // of instants whose completed record is still to come
	var asm *record.Assembler
	var planned *schema.Schema
	var values []any
	_, err := h.scanArchive(ctx, f, func(s *schema.Schema) *schema.Schema { return s }, func(s *schema.Schema, r record.Row) error {
		if planned != s {
			planned, asm = s, record.NewAssembler(s)
		}
		var err error
		if values, err = asm.Assemble(values, r); err != nil {
			return err
		}
		rec := archived{schema: s, values: values}
		e := Entry{Time: timeline.InstantTime(rec.text("commitTime")), Action: timeline.Action(rec.text("actionType")).Completes()}
		state := rec.text("actionState")
		k := key{e.Time, e.Action}
		if !completedState(state) {
			if plan, err := rec.plan(state); err != nil {
				return err
			} else if plan != nil {
				plans[k] = plan
			}
			return nil
		}
		e.Plan = plans[k]
		delete(plans, k)
		if e.Completion = timeline.InstantTime(rec.text("stateTransitionTime")); e.Completion == "" {
			e.Completion = e.Time
		}
		if err := checkEntry(h.dir+f.name, e); err != nil {
			return err
		}
		if e.Metadata, err = rec.metadata(e.Action); err != nil {
			return corrupt.At(h.dir+f.name, -1, "archived instant %s: %w", e.Time, err)
		}
		return fn(e)
	})
	return err
}

// archived is one HoodieArchivedMetaEntry.
type archived struct {
	schema *schema.Schema
	values []any
}

// get returns a field's type and value, nil where it is null or missing.
func (a archived) get(name string) (*schema.Type, any) {
	f, i := a.schema.Field(name)
	if f == nil || i < 0 {
		return nil, nil
	}
	return f.Type, a.values[i]
}

func (a archived) text(name string) string {
	_, v := a.get(name)
	s, _ := v.(string)
	return s
}

// recode turns a nested body into a container; nil where it is null.
func recode[T action.Body](a archived, name string, fix func(*T)) ([]byte, error) {
	t, v := a.get(name)
	if v == nil {
		return nil, nil
	}
	body, err := action.FromValue[T](t, v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if fix != nil {
		fix(body)
	}
	return action.Encode(2, body)
}

// rollingStat is an extra key that Java adds when it archives a commit.
const rollingStat = "ROLLING_STAT"

func (a archived) metadata(act timeline.Action) ([]byte, error) {
	withoutStat := func(m *action.CommitMetadata) { delete(m.Extra, rollingStat) }
	switch act {
	case timeline.Commit, timeline.DeltaCommit:
		return recode(a, "hoodieCommitMetadata", withoutStat)
	case timeline.ReplaceCommit:
		return recode(a, "hoodieReplaceCommitMetadata", func(m *action.CommitMetadata) { withoutStat(m); m.Replace = true })
	case timeline.Clean:
		return recode[action.CleanMetadata](a, "hoodieCleanMetadata", nil)
	case timeline.Rollback:
		return recode[action.RollbackMetadata](a, "hoodieRollbackMetadata", nil)
	case timeline.Savepoint:
		return recode[action.SavepointMetadata](a, "hoodieSavePointMetadata", nil)
	case timeline.Indexing:
		return recode[action.IndexCommit](a, "hoodieIndexCommitMetadata", nil)
	}
	return nil, nil
}

// plan returns what layout 2 would keep of a record in state requested or inflight.
func (a archived) plan(state string) ([]byte, error) {
	if state == "INFLIGHT" {
		return recode[action.CommitMetadata](a, "HoodieInflightReplaceMetadata", nil)
	}
	for _, try := range []func() ([]byte, error){
		func() ([]byte, error) { return recode[action.CompactionPlan](a, "hoodieCompactionPlan", nil) },
		func() ([]byte, error) { return recode[action.CleanPlan](a, "hoodieCleanerPlan", nil) },
		func() ([]byte, error) {
			return recode[action.RequestedReplace](a, "hoodieRequestedReplaceMetadata", nil)
		},
	} {
		if b, err := try(); b != nil || err != nil {
			return b, err
		}
	}
	return nil, nil
}
