package timeline

import "slices"

// AsOf returns the table's past (timeline.md §5.9). In layout 2, where at is a completed write, a completed instant is in it if it
// completed no later than at did: what a reader saw at that moment, whatever is written afterwards. In layout 1, and where at names
// no write, it is in it if it was requested no later than at. Pending instants requested no later than at stay.
func (t *Timeline) AsOf(at InstantTime) *Timeline {
	l := limit{set: true, time: at}
	if t.core.layout >= 2 {
		if i, ok := t.core.write(at); ok && i.State == Completed {
			l.completion = i.Completion
		} else if !ok && t.core.history != nil {
			l.completion, _ = t.core.history.CompletionOf(at)
		}
	}
	v := &Timeline{core: t.core, limit: l}
	for _, i := range t.list {
		if l.shows(i) {
			v.list = append(v.list, i)
		}
	}
	return v
}

// shows reports whether instant i belongs to a view with limit l.
func (l limit) shows(i Instant) bool {
	if l.set && l.completion != "" && i.State == Completed {
		return i.Completion <= l.completion
	}
	return !l.set || i.Time <= l.time
}

// Visible returns the completed writes in the order in which they became visible: layout 2 by completion time, layout 1 by time, which
// is the only order its files keep.
func (t *Timeline) Visible() []Instant {
	out := slices.Clone(t.CompletedWrites().list)
	if t.core.layout >= 2 {
		slices.SortStableFunc(out, func(a, b Instant) int { return a.Completion.Compare(b.Completion) })
	}
	return out
}

// CompletedAfter returns the completed instants that a reader which has seen everything up to at has not seen: layout 2 with a
// completion time, layout 1 with a time greater than at (timeline.md §5.10).
func (t *Timeline) CompletedAfter(at InstantTime) *Timeline {
	return t.Filter(func(i Instant) bool {
		if i.State != Completed {
			return false
		}
		if t.core.layout >= 2 {
			return i.Completion > at
		}
		return i.Time > at
	})
}

// write returns the instant of the write timeline at time at.
func (c *core) write(at InstantTime) (Instant, bool) {
	for _, i := range runAt(c.all, at) {
		if i.Action.IsWrite() {
			return i, true
		}
	}
	return Instant{}, false
}

// IsCompleted reports whether what the instant requested at at wrote is committed, in this view's past or present (timeline.md §5.1):
// a completed commit, deltacommit or replacecommit is on the active timeline, or in the history. Where no history is attached, or it
// may be incomplete, an instant older than the active timeline counts as archived and so as committed, unless it is pending or was
// rolled back.
func (t *Timeline) IsCompleted(at InstantTime) bool {
	_, ok := t.CompletionOf(at)
	return ok
}

// CompletionOf returns when the write requested at at completed, under the rules of IsCompleted. An archived one whose completion time
// is not known answers its own time.
func (t *Timeline) CompletionOf(at InstantTime) (InstantTime, bool) {
	c := t.core
	if i, ok := c.write(at); ok {
		if i.State != Completed && c.history != nil {
			// An archiver that died half-way may have left a pending file of an instant that it had archived.
			i.Completion, ok = c.history.CompletionOf(at)
			i.State = Completed
		} else {
			ok = i.State == Completed
		}
		if !ok || !t.limit.shows(i) {
			return "", false
		}
		return i.Completion, true
	}
	if at == "" || c.rolledBack[at] {
		return "", false
	}
	done := at
	known := false
	if c.history != nil {
		done, known = c.history.CompletionOf(at)
	}
	if !known {
		if c.history != nil && c.history.Covers(at) || c.start == "" || at >= c.start {
			return "", false
		}
		done = at
	}
	if !t.limit.shows(Instant{Time: at, Completion: done, State: Completed}) {
		return "", false
	}
	return done, true
}
