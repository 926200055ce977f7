package snapshot

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/integration/lab"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
)

// timeOf takes the commit time out of a canonical line.
func timeOf(line string) timeline.InstantTime {
	_, rest, _ := strings.Cut(line, `"_hoodie_commit_time":"`)
	t, _, _ := strings.Cut(rest, `"`)
	return timeline.InstantTime(t)
}

// The changes between two commits are the rows of the later state that its commits brought, for every pair of commits of some golden
// tables.
func TestChanges(t *testing.T) {
	tables, err := lab.Golden()
	if err != nil {
		t.Skip(err)
	}
	for _, g := range tables {
		if !slices.Contains([]string{"cow_v6_deletes", "cow_v9_overwrite", "cow_v9_clustering", "mor_v6_compaction", "mor_v9_compaction", "mor_v9_basic"}, g.Name) {
			continue
		}
		t.Run(g.Name, func(t *testing.T) {
			tab, _ := openGolden(t, g)
			all, err := tab.Commits(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for to := range all {
				state := readSnapshot(t, at(t, tab, all[to].Time))
				for from := -1; from < to; from++ {
					first := timeline.InstantTime("")
					if from >= 0 {
						first = all[from].Time
					}
					s, err := tab.Changes(t.Context(), nil, first, all[to].Time)
					if err != nil {
						t.Fatal(err)
					}
					var want []string
					for _, line := range state {
						if slices.ContainsFunc(all[from+1:to+1], func(c Commit) bool { return c.Time == timeOf(line) }) {
							want = append(want, line)
						}
					}
					got := readSnapshot(t, s)
					diffRows(t, string(first)+".."+string(all[to].Time), got, want)
				}
			}
		})
	}
}

func TestChangesRefused(t *testing.T) {
	m, _ := localMaker(t, tableconfig.Options{NoMetaFields: true})
	m.commit(timeline.Commit, "101", "102", base("p", "a", "101"))
	if _, err := m.open(Options{}).Changes(t.Context(), nil, "", ""); !errors.Is(err, ErrNoMetaFields) {
		t.Errorf("Changes of a table without meta columns = %v, want ErrNoMetaFields", err)
	}
	m, _ = localMaker(t, tableconfig.Options{})
	if _, err := m.open(Options{}).Changes(t.Context(), nil, "", ""); !errors.Is(err, ErrNoSnapshot) {
		t.Errorf("Changes of an empty table = %v, want ErrNoSnapshot", err)
	}
	m.commit(timeline.Commit, "101", "102", base("p", "a", "101"))
	for _, w := range [][2]timeline.InstantTime{{"100", "101"}, {"", "103"}} {
		if _, err := m.open(Options{}).Changes(t.Context(), nil, w[0], w[1]); !errors.Is(err, ErrNoSnapshot) {
			t.Errorf("Changes(%s..%s) = %v, want ErrNoSnapshot", w[0], w[1], err)
		}
	}
	s, err := m.open(Options{}).Changes(t.Context(), nil, "101", "101")
	if err != nil {
		t.Fatal(err)
	}
	check(t, "an empty window", filesOf(t, s), "")
}

// The changes of copy-on-write tables are those that Spark's incremental query reads.
func TestChangesAsSpark(t *testing.T) {
	tables, err := lab.Golden()
	if err != nil {
		t.Skip(err)
	}
	for _, g := range tables {
		if !strings.HasPrefix(g.Name, "cow_") {
			continue
		}
		x, err := g.Index()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(x.Windows, func(w lab.GoldenWindow) bool { return w.Kind == "incremental" }) {
			continue
		}
		t.Run(g.Name, func(t *testing.T) {
			tab, _ := openGolden(t, g)
			for _, w := range x.Windows {
				if w.Kind != "incremental" || w.Refused != "" {
					continue
				}
				s, err := tab.Changes(t.Context(), nil, timeline.InstantTime(w.After), timeline.InstantTime(w.To))
				if errors.Is(err, ErrNoSnapshot) {
					continue // a cleaned state
				}
				if err != nil {
					t.Fatal(err)
				}
				want, err := g.Window(w)
				if err != nil {
					t.Fatal(err)
				}
				diffRows(t, w.After+".."+w.To, readSnapshot(t, s), stored(tab, want))
			}
		})
	}
}
