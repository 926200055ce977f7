package timeline

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// build makes a timeline of file names; names of completed layout-1 files complete one millisecond after their time.
func build(t testing.TB, layout int, names ...string) *Timeline {
	t.Helper()
	var list []Instant
	for _, name := range names {
		i, err := ParseFileName(layout, name)
		if err != nil {
			t.Fatal(err)
		}
		if i.State == Completed && i.Completion == "" {
			i.Completion, _ = i.Time.Next()
		}
		list = append(list, i)
	}
	rand.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	return New(layout, list)
}

func words(list []Instant) string {
	var out []string
	for _, i := range list {
		out = append(out, i.String())
	}
	return strings.Join(out, ", ")
}

func TestCollapse(t *testing.T) {
	tests := []struct {
		name   string
		layout int
		files  []string
		want   string
	}{
		{"finished commit", 1, []string{"1.commit.requested", "1.inflight", "1.commit"}, "1 commit"},
		{"inflight commit", 1, []string{"1.commit.requested", "1.inflight"}, "1 commit (inflight)"},
		{"finished compaction", 2, []string{"1.compaction.requested", "1.compaction.inflight", "1_2.commit"}, "1 commit"},
		{"pending compaction", 2, []string{"1.compaction.requested", "1.compaction.inflight"}, "1 compaction (inflight)"},
		{"finished clustering", 2, []string{"1.clustering.requested", "1.clustering.inflight", "1_2.replacecommit"}, "1 replacecommit"},
		{"finished log compaction", 2, []string{"1.logcompaction.requested", "1.logcompaction.inflight", "1_2.deltacommit"}, "1 deltacommit"},
		{"savepoint beside its commit", 1, []string{"1.savepoint.inflight", "1.savepoint", "1.commit"}, "1 commit, 1 savepoint"},
		{"order by time", 2, []string{"20210101000000_5.commit", "3_4.clean", "20210101000000000.rollback.requested"}, "20210101000000 commit, 20210101000000000 rollback (requested), 3 clean"},
		{"completed twice", 2, []string{"1_9.commit", "1_3.commit", "1.inflight"}, "1 commit"},
		{"nothing", 1, nil, ""},
	}
	for _, tc := range tests {
		if got := words(build(t, tc.layout, tc.files...).All()); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	if i, _ := build(t, 2, "1_9.commit", "1_3.commit").Find("1"); i.Completion != "3" {
		t.Errorf("an instant completed twice has the completion %s, want the first, 3", i.Completion)
	}
}

func TestQuestions(t *testing.T) {
	tl := build(t, 2, "10_11.commit", "20.commit.requested", "20.inflight", "30.compaction.requested", "40_43.deltacommit", "41_42.deltacommit",
		"41_44.savepoint", "50_51.clean", "60.clustering.requested", "70_71.replacecommit", "80.rollback.requested")
	tests := []struct {
		name string
		got  any
		want any
	}{
		{"Len", tl.Len(), 10},
		{"CompletedWrites", words(tl.CompletedWrites().All()), "10 commit, 40 deltacommit, 41 deltacommit, 70 replacecommit"},
		{"Visible", words(tl.Visible()), "10 commit, 41 deltacommit, 40 deltacommit, 70 replacecommit"},
		{"Pending", words(tl.Pending().All()), "20 commit (inflight), 30 compaction (requested), 60 clustering (requested), 80 rollback (requested)"},
		{"Pending(compaction)", words(tl.Pending(Compaction).All()), "30 compaction (requested)"},
		{"PendingWrites", words(tl.PendingWrites().All()), "20 commit (inflight), 30 compaction (requested), 60 clustering (requested)"},
		{"Completed(clean, savepoint)", words(tl.Completed(Clean, Savepoint).All()), "41 savepoint, 50 clean"},
		{"CompletedAfter", words(tl.CompletedAfter("42").All()), "40 deltacommit, 41 savepoint, 50 clean, 70 replacecommit"},
		{"Start", tl.Start(), InstantTime("10")},
		{"Greatest", tl.Greatest(), InstantTime("80")},
		{"AsOf", words(tl.AsOf("41").All()), "10 commit, 20 commit (inflight), 30 compaction (requested), 41 deltacommit"},
		{"AsOf between", words(tl.AsOf("45").CompletedWrites().All()), "10 commit, 40 deltacommit, 41 deltacommit"},
	}
	for _, tc := range tests {
		if !reflect.DeepEqual(tc.got, tc.want) {
			t.Errorf("%s = %v, want %v", tc.name, tc.got, tc.want)
		}
	}
	for at, want := range map[InstantTime]bool{"10": true, "20": false, "30": false, "40": true, "41": true, "50": false, "60": false, "70": true, "05": true, "15": false, "99": false, "": false} {
		if got := tl.IsCompleted(at); got != want {
			t.Errorf("IsCompleted(%s) = %v, want %v", at, got, want)
		}
	}
	if i, ok := tl.Find("41"); !ok || i.Action != DeltaCommit {
		t.Errorf("Find(41) = %v, %v, want the deltacommit before the savepoint", i, ok)
	}
	if i, ok := tl.FindAction("41", Savepoint); !ok || i.Completion != "44" {
		t.Errorf("FindAction(41, savepoint) = %v, %v", i, ok)
	}
	if i, ok := tl.FindAction("30", Commit); !ok || i.Action != Compaction {
		t.Errorf("FindAction(30, commit) = %v, %v, want the pending compaction", i, ok)
	}
	if _, ok := tl.Find("15"); ok {
		t.Error("Find(15) found something")
	}
	if f, _ := tl.First(); f.Time != "10" {
		t.Errorf("First = %v", f)
	}
	if l, _ := tl.Last(); l.Time != "80" {
		t.Errorf("Last = %v", l)
	}
}

// TestAsOf checks that a view of the past does not change with what comes later, and asks its own questions.
func TestAsOf(t *testing.T) {
	tl := build(t, 2, "20_25.commit", "10_30.commit", "40_45.commit")
	past := tl.AsOf("20")
	for at, want := range map[InstantTime]bool{"20": true, "10": false, "40": false, "05": true} {
		if got := past.IsCompleted(at); got != want {
			t.Errorf("as of 20: IsCompleted(%s) = %v, want %v", at, got, want)
		}
	}
	if !tl.AsOf("10").IsCompleted("20") {
		t.Error("as of 10, which completed after it, 20 is not there")
	}
	old := build(t, 1, "20.commit", "10.commit", "40.commit").AsOf("20")
	for at, want := range map[InstantTime]bool{"20": true, "10": true, "40": false} {
		if got := old.IsCompleted(at); got != want {
			t.Errorf("layout 1 as of 20: IsCompleted(%s) = %v, want %v", at, got, want)
		}
	}
}

// TestStart checks which instants begin the active timeline: what a table with archived commits has left in front does not (timeline.md §5.1).
func TestStart(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		want  InstantTime
	}{
		{"old clean in front", []string{"1_2.clean", "3_4.restore", "5_6.commit"}, "5"},
		{"pending write in front", []string{"1.commit.requested", "5_6.commit"}, "5"},
		{"pending compaction in front", []string{"1.compaction.requested", "5_6.commit"}, "1"},
		{"savepointed commit in front of a hole", []string{"1_2.commit", "1_3.savepoint", "5_6.commit"}, "5"},
		{"all savepointed", []string{"1_2.commit", "1_3.savepoint"}, "1"},
		{"pending savepoint", []string{"1_2.commit", "1.savepoint.inflight", "5_6.commit"}, "1"},
		{"nothing completed", []string{"1.commit.requested"}, ""},
	}
	for _, tc := range tests {
		if got := build(t, 2, tc.files...).Start(); got != tc.want {
			t.Errorf("%s: Start = %q, want %q", tc.name, got, tc.want)
		}
	}
}

type fakeHistory struct {
	done   map[InstantTime]InstantTime
	covers func(InstantTime) bool
}

func (h fakeHistory) CompletionOf(t InstantTime) (InstantTime, bool) {
	c, ok := h.done[t]
	return c, ok
}
func (h fakeHistory) Covers(t InstantTime) bool { return h.covers(t) }

// TestArchived checks what counts as committed in front of the active timeline: with a history only what it knows; without one
// everything, but for pending and rolled back instants.
func TestArchived(t *testing.T) {
	tl := build(t, 2, "15.inflight", "20_21.commit", "30_31.commit")
	exact := tl.WithHistory(fakeHistory{map[InstantTime]InstantTime{"10": "22", "11": "12"}, func(InstantTime) bool { return true }})
	partial := tl.WithHistory(fakeHistory{map[InstantTime]InstantTime{"10": "22"}, func(at InstantTime) bool { return at >= "10" }})
	tests := []struct {
		name string
		tl   *Timeline
		at   InstantTime
		want InstantTime // completion, "" for not committed
	}{
		{"no history", tl, "10", "10"},
		{"no history, pending", tl, "15", ""},
		{"no history, rolled back", tl.WithRolledBack("10"), "10", ""},
		{"no history, newer", tl, "25", ""},
		{"known", exact, "10", "22"},
		{"never was an instant", exact, "09", ""},
		{"before what the history covers", partial, "09", "09"},
		{"stray in what the history covers", partial, "11", ""},
		{"pending file left behind", tl.WithHistory(fakeHistory{map[InstantTime]InstantTime{"15": "16"}, func(InstantTime) bool { return true }}), "15", "16"},
		{"pending, not archived", exact, "15", ""},
		{"as of, completed later", exact.AsOf("20"), "10", ""},
		{"as of, completed before", exact.AsOf("20"), "11", "12"},
		{"as of an archived instant", exact.AsOf("11"), "11", "12"},
		{"as of an archived instant, later one", exact.AsOf("11"), "20", ""},
		{"empty timeline", New(2, nil), "1", ""},
	}
	for _, tc := range tests {
		got, ok := tc.tl.CompletionOf(tc.at)
		if got != tc.want || ok != (tc.want != "") {
			t.Errorf("%s: CompletionOf(%s) = %q, %v, want %q", tc.name, tc.at, got, ok, tc.want)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	list := manyInstants(b, 10000)
	for b.Loop() {
		if n := New(2, list).Len(); n != 10000 {
			b.Fatal(n)
		}
	}
}

// manyInstants returns the three states of n commits in the order of a listing.
func manyInstants(t testing.TB, n int) []Instant {
	var list []Instant
	at := InstantTime("20260101000000000")
	for range n {
		for _, name := range []string{"%s.commit.requested", "%s.inflight", "%[1]s_%[1]s1.commit"} {
			i, err := ParseFileName(2, fmt.Sprintf(name, at))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, i)
		}
		at, _ = at.Next()
	}
	return list
}
