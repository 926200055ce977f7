package timeline

import (
	"slices"
	"sort"
)

// Timeline is an immutable list of instants, one per (time, comparable action) in its furthest state (timeline.md §3.4), sorted by
// time, then action. Filters return a narrower list that still knows the whole: IsCompleted, CompletionOf and Start answer for the
// table, not for the list.
type Timeline struct {
	core  *core
	list  []Instant
	limit limit
}

// core is what all filtered views share.
type core struct {
	layout     int
	all        []Instant
	start      InstantTime // of the active timeline, "" where it is empty (timeline.md §5.1)
	history    History
	rolledBack map[InstantTime]bool
}

// limit is the moment as of which a view looks; zero: now.
type limit struct {
	set        bool
	time       InstantTime // greatest visible requested time, where completion is unset
	completion InstantTime // greatest visible completion time
}

// History answers for archived instants. Implementations are immutable and hold their answers in memory.
type History interface {
	// CompletionOf returns the completion time of the archived commit, deltacommit or replacecommit requested at t.
	CompletionOf(t InstantTime) (InstantTime, bool)
	// Covers reports whether an instant at t that CompletionOf does not know was never committed. It is false where the history may be
	// incomplete: then what is older than the active timeline counts as committed, as it does in Java.
	Covers(t InstantTime) bool
}

// New builds a timeline of one layout from instants as ParseFileName returns them, in any order and with all their states.
func New(layout int, instants []Instant) *Timeline {
	all := collapse(instants)
	c := &core{layout: layout, all: all}
	c.start = startOf(all)
	return &Timeline{core: c, list: all}
}

// collapse sorts and keeps the furthest state per (time, comparable action). A listing comes in order of names, which is nearly the order
// of times: then only the few instants of one time are sorted.
func collapse(in []Instant) []Instant {
	byTime := func(a, b Instant) int { return a.Time.Compare(b.Time) }
	if !slices.IsSortedFunc(in, byTime) {
		in = slices.Clone(in)
		slices.SortStableFunc(in, byTime)
	}
	out := make([]Instant, 0, len(in)/3+1)
	for len(in) > 0 {
		n := 1
		for n < len(in) && in[n].Time == in[0].Time {
			n++
		}
		for _, i := range in[:n] {
			out = furthest(out, i)
		}
		in = in[n:]
	}
	return out
}

// furthest puts i into the run of instants with its time at the end of out, in order of comparable actions; of one action the furthest
// state stays.
func furthest(out []Instant, i Instant) []Instant {
	k := len(out)
	for k > 0 && out[k-1].Time == i.Time && out[k-1].Action.Completes() >= i.Action.Completes() {
		k--
	}
	if k == len(out) || out[k].Action.Completes() != i.Action.Completes() {
		return slices.Insert(out, k, i)
	}
	have := &out[k]
	// Two completed files of one instant: the first completion stands, as the first creator won.
	if i.State > have.State || i.State == have.State && i.Completion < have.Completion {
		*have = i
	}
	return out
}

// startOf is the time of the first completed write or pending compaction; other actions stay behind archived commits and do not count,
// and savepointed commits are skipped, because commits behind them may be archived (timeline.md §5.1).
func startOf(all []Instant) InstantTime {
	first := InstantTime("")
	for k, i := range all {
		if !(i.State == Completed && i.Action.IsCommit() || i.State != Completed && i.Action == Compaction) {
			continue
		}
		if first == "" {
			first = i.Time
		}
		if !savepointed(all, k) {
			return i.Time
		}
	}
	return first
}

// savepointed reports whether a completed savepoint has the time of all[k].
func savepointed(all []Instant, k int) bool {
	at := func(j int) bool {
		return all[j].Action == Savepoint && all[j].State == Completed
	}
	for j := k + 1; j < len(all) && all[j].Time == all[k].Time; j++ {
		if at(j) {
			return true
		}
	}
	for j := k - 1; j >= 0 && all[j].Time == all[k].Time; j-- {
		if at(j) {
			return true
		}
	}
	return false
}

// WithHistory returns the same view of a timeline that knows its archived instants.
func (t *Timeline) WithHistory(h History) *Timeline {
	c := *t.core
	c.history = h
	return &Timeline{core: &c, list: t.list, limit: t.limit}
}

// WithRolledBack returns the same view of a timeline on which the given instants, named by completed rollbacks, are not committed even
// where they are older than the active timeline.
func (t *Timeline) WithRolledBack(times ...InstantTime) *Timeline {
	c := *t.core
	c.rolledBack = make(map[InstantTime]bool, len(t.core.rolledBack)+len(times))
	for k := range t.core.rolledBack {
		c.rolledBack[k] = true
	}
	for _, k := range times {
		c.rolledBack[k] = true
	}
	return &Timeline{core: &c, list: t.list, limit: t.limit}
}

// Layout is the timeline layout, 1 or 2.
func (t *Timeline) Layout() int { return t.core.layout }

// All returns the instants of the view, by time, then action. The slice is shared: do not change it.
func (t *Timeline) All() []Instant { return t.list }

// Len is the number of instants.
func (t *Timeline) Len() int { return len(t.list) }

// First returns the first instant.
func (t *Timeline) First() (Instant, bool) {
	if len(t.list) == 0 {
		return Instant{}, false
	}
	return t.list[0], true
}

// Last returns the last instant by time.
func (t *Timeline) Last() (Instant, bool) {
	if len(t.list) == 0 {
		return Instant{}, false
	}
	return t.list[len(t.list)-1], true
}

// Start is the first time of the active timeline: what is older is archived. It is "" where nothing has completed.
func (t *Timeline) Start() InstantTime { return t.core.start }

// Greatest is the greatest time or completion time on the whole timeline: a new instant must be greater.
func (t *Timeline) Greatest() InstantTime {
	var max InstantTime
	for _, i := range t.core.all {
		if i.Time > max {
			max = i.Time
		}
		if t.core.layout >= 2 && i.Completion > max {
			max = i.Completion
		}
	}
	return max
}

// Find returns the write instant of the view at time at, else any other instant there (a clean, a savepoint).
func (t *Timeline) Find(at InstantTime) (Instant, bool) {
	var other Instant
	found := false
	for _, i := range runAt(t.list, at) {
		if i.Action.IsWrite() {
			return i, true
		}
		other, found = i, true
	}
	return other, found
}

// FindAction returns the instant of the view at time at whose completed action is that of a.
func (t *Timeline) FindAction(at InstantTime, a Action) (Instant, bool) {
	for _, i := range runAt(t.list, at) {
		if i.Action.Completes() == a.Completes() {
			return i, true
		}
	}
	return Instant{}, false
}

// runAt returns the run of instants with time at.
func runAt(list []Instant, at InstantTime) []Instant {
	lo := sort.Search(len(list), func(k int) bool { return list[k].Time >= at })
	hi := lo
	for hi < len(list) && list[hi].Time == at {
		hi++
	}
	return list[lo:hi]
}

// Filter returns the instants that keep accepts.
func (t *Timeline) Filter(keep func(Instant) bool) *Timeline {
	var out []Instant
	for _, i := range t.list {
		if keep(i) {
			out = append(out, i)
		}
	}
	return &Timeline{core: t.core, list: out, limit: t.limit}
}

// CompletedWrites returns the completed commits, deltacommits and replacecommits: the snapshots.
func (t *Timeline) CompletedWrites() *Timeline {
	return t.Filter(func(i Instant) bool { return i.State == Completed && i.Action.IsCommit() })
}

// Completed returns the completed instants of the given actions; none given: of all.
func (t *Timeline) Completed(a ...Action) *Timeline {
	return t.Filter(func(i Instant) bool {
		return i.State == Completed && (len(a) == 0 || slices.Contains(a, i.Action))
	})
}

// Pending returns the requested and inflight instants of the given actions; none given: of all.
func (t *Timeline) Pending(a ...Action) *Timeline {
	return t.Filter(func(i Instant) bool {
		return i.State != Completed && (len(a) == 0 || slices.Contains(a, i.Action))
	})
}

// PendingWrites returns the pending instants of the write timeline.
func (t *Timeline) PendingWrites() *Timeline {
	return t.Filter(func(i Instant) bool { return i.State != Completed && i.Action.IsWrite() })
}
