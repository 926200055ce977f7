package commitwatch

import "github.com/hudifs/hudifs/timeline"

// Event says how the timeline has changed.
type Event struct {
	Timeline *timeline.Timeline // the whole, as it is now
	// Added are the instants that are new or in a new state, in the timeline's order.
	Added []timeline.Instant
	// Removed are the instants that are gone: archived, rolled back, restored away.
	Removed []timeline.Instant

	base *timeline.Timeline // what Added and Removed count from
}

func (e Event) empty() bool { return e.base != nil && len(e.Added) == 0 && len(e.Removed) == 0 }

type instantKey struct {
	time   timeline.InstantTime
	action timeline.Action
}

// keyOf calls a pending compaction and the commit that it becomes the same.
func keyOf(i timeline.Instant) instantKey { return instantKey{i.Time, i.Action.Completes()} }

// diff compares two timelines; old may be nil. Names sort by requested time, so "everything after the last name" would miss an instant
// that completes late: the lists are compared whole.
func diff(old, now *timeline.Timeline) Event {
	e := Event{Timeline: now, base: old}
	was := map[instantKey]timeline.Instant{}
	if old != nil {
		for _, i := range old.All() {
			was[keyOf(i)] = i
		}
	}
	for _, i := range now.All() {
		k := keyOf(i)
		before, ok := was[k]
		if !ok || before.State != i.State || before.Completion != i.Completion {
			e.Added = append(e.Added, i)
		}
		delete(was, k)
	}
	if len(was) > 0 {
		for _, i := range old.All() {
			if _, gone := was[keyOf(i)]; gone {
				e.Removed = append(e.Removed, i)
			}
		}
	}
	return e
}
