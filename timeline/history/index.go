package history

import (
	"slices"
	"sort"

	"github.com/hudifs/hudifs/timeline"
)

// Index holds the times of all archived instants: 16 bytes each. It is immutable.
type Index struct {
	rows  []row // by time, then action
	odd   map[timeline.InstantTime][]timeline.Instant
	runs  []*run
	first timeline.InstantTime
	whole bool // every instant of the table that was ever archived is here
}

var _ timeline.History = (*Index)(nil)

// row is an instant whose times have 17 digits: as numbers, the action's number in the upper bits of the second.
type row struct {
	time uint64
	done uint64
}

const actionShift = 57 // 17 digits take 57 bits

// archivedActions numbers the actions for row.done.
var archivedActions = []timeline.Action{timeline.Commit, timeline.DeltaCommit, timeline.ReplaceCommit, timeline.Clean, timeline.Rollback,
	timeline.Restore, timeline.Savepoint, timeline.Indexing, timeline.SchemaCommit}

// run is what one file holds: its rows in their order, sorted where the file is.
type run struct {
	file
	rows        []row
	odd         []timeline.Instant
	first, last timeline.InstantTime
	damaged     bool // a part could not be read: instants may be missing
}

// runBuilder collects a run.
type runBuilder struct {
	*run
}

// pack turns 17 digits into a number.
func pack(t timeline.InstantTime) (uint64, bool) {
	if len(t) != 17 {
		return 0, false
	}
	var n uint64
	for _, c := range []byte(t) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

func unpack(n uint64) timeline.InstantTime {
	var b [17]byte
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return timeline.InstantTime(b[:])
}

func (r row) instant() timeline.Instant {
	return timeline.Instant{Time: unpack(r.time), Completion: unpack(r.done & (1<<actionShift - 1)), Action: archivedActions[r.done>>actionShift], State: timeline.Completed}
}

// add adds a completed instant. The times must be instant times.
func (b *runBuilder) add(time, done timeline.InstantTime, act timeline.Action) {
	if b.first == "" || time < b.first {
		b.first = time
	}
	b.last = max(b.last, time)
	t, ok := pack(time)
	c, ok2 := pack(done)
	a := slices.Index(archivedActions, act)
	if !ok || !ok2 || a < 0 {
		b.odd = append(b.odd, timeline.Instant{Time: time, Completion: done, Action: act, State: timeline.Completed})
		return
	}
	b.rows = append(b.rows, row{t, c | uint64(a)<<actionShift})
}

func (b *runBuilder) finish() *run {
	b.rows = slices.Clip(b.rows)
	return b.run
}

// newIndex merges runs. An instant that occurs twice, after a crash of an archiver, is one.
func newIndex(runs []*run, whole bool) *Index {
	ix := &Index{runs: runs, whole: whole, odd: map[timeline.InstantTime][]timeline.Instant{}}
	n := 0
	for _, r := range runs {
		n += len(r.rows)
	}
	ix.rows = make([]row, 0, n)
	for _, r := range runs {
		ix.rows = append(ix.rows, r.rows...)
		for _, i := range r.odd {
			if !slices.ContainsFunc(ix.odd[i.Time], func(o timeline.Instant) bool { return o.Action == i.Action }) {
				ix.odd[i.Time] = append(ix.odd[i.Time], i)
			}
		}
		if r.first != "" && (ix.first == "" || r.first < ix.first) {
			ix.first = r.first
		}
		ix.whole = ix.whole && !r.damaged
	}
	byTime := func(a, b row) int {
		switch {
		case a.time != b.time:
			if a.time < b.time {
				return -1
			}
			return 1
		case a.done>>actionShift != b.done>>actionShift:
			return int(a.done>>actionShift) - int(b.done>>actionShift)
		}
		return 0
	}
	if !slices.IsSortedFunc(ix.rows, byTime) {
		slices.SortStableFunc(ix.rows, byTime)
	}
	ix.rows = slices.CompactFunc(ix.rows, func(a, b row) bool { return byTime(a, b) == 0 })
	return ix
}

// madeOf reports whether the index was made of exactly these runs.
func (ix *Index) madeOf(runs []*run) bool { return slices.Equal(ix.runs, runs) }

// Len is the number of archived instants.
func (ix *Index) Len() int {
	n := len(ix.rows)
	for _, list := range ix.odd {
		n += len(list)
	}
	return n
}

// at returns the archived instants with time t.
func (ix *Index) at(t timeline.InstantTime) []timeline.Instant {
	out := slices.Clone(ix.odd[t])
	n, ok := pack(t)
	if !ok {
		return out
	}
	for k := sort.Search(len(ix.rows), func(k int) bool { return ix.rows[k].time >= n }); k < len(ix.rows) && ix.rows[k].time == n; k++ {
		out = append(out, ix.rows[k].instant())
	}
	return out
}

// Find returns the archived instant with time t and the completed action of a.
func (ix *Index) Find(t timeline.InstantTime, a timeline.Action) (timeline.Instant, bool) {
	for _, i := range ix.at(t) {
		if i.Action == a.Completes() {
			return i, true
		}
	}
	return timeline.Instant{}, false
}

// CompletionOf implements timeline.History.
func (ix *Index) CompletionOf(t timeline.InstantTime) (timeline.InstantTime, bool) {
	for _, i := range ix.at(t) {
		if i.Action.IsCommit() {
			return i.Completion, true
		}
	}
	return "", false
}

// Covers implements timeline.History. A history of the table's own layout from the beginning knows every commit. One that came from an
// upgrade, or an archive log, of which old files may have been thrown away, knows those from its first instant on. An empty one knows
// nothing: nobody may have archived, or somebody deleted it.
func (ix *Index) Covers(t timeline.InstantTime) bool {
	if ix.first == "" {
		return false
	}
	for _, r := range ix.runs {
		if r.damaged {
			return false
		}
	}
	return ix.whole || t >= ix.first
}

// Instants returns the archived instants with from ≤ time ≤ to in order of time, "" for no bound.
func (ix *Index) Instants(from, to timeline.InstantTime) []timeline.Instant {
	within := func(t timeline.InstantTime) bool { return t >= from && (to == "" || t <= to) }
	var out []timeline.Instant
	for _, r := range ix.rows {
		if i := r.instant(); within(i.Time) {
			out = append(out, i)
		}
	}
	sorted := len(out)
	for t, list := range ix.odd {
		if within(t) {
			out = append(out, list...)
		}
	}
	if len(out) > sorted {
		slices.SortStableFunc(out, func(a, b timeline.Instant) int {
			if c := a.Time.Compare(b.Time); c != 0 {
				return c
			}
			return slices.Index(archivedActions, a.Action) - slices.Index(archivedActions, b.Action)
		})
	}
	return out
}
