package timeline

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/realtables"
	"github.com/hudifs/hudifs/internal/storage/local"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// realCounts is what the index of the real tables says: completed instants by action.
func realCounts(t *testing.T) map[string]string {
	t.Helper()
	dir, _ := realtables.Dir()
	data, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]string{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(line, "|")
		if len(cells) > 10 && strings.HasSuffix(strings.TrimSpace(cells[1]), ".zip") {
			counts[strings.TrimSuffix(strings.TrimSpace(cells[1]), ".zip")] = strings.TrimSpace(cells[10])
		}
	}
	return counts
}

// TestRealTables loads the timeline of every table that Java wrote, and of its metadata table.
func TestRealTables(t *testing.T) {
	names := realtables.Names(t)
	want := realCounts(t)
	if len(want) != len(names) {
		t.Errorf("the index names %d tables, %d are there", len(want), len(names))
	}
	for _, name := range names {
		table, _ := realtables.UnzipOnly(t, name, realtables.Instants)
		tl := loadReal(t, table)
		if tl == nil {
			continue
		}
		counts := map[Action]int{}
		for _, i := range tl.All() {
			if i.State != Completed {
				t.Errorf("%s: %s is pending", name, i)
			}
			if tl.Layout() == 2 && i.Completion <= i.Time {
				t.Errorf("%s: %s completed at %s", name, i, i.Completion)
			}
			if i.Action.IsCommit() && !tl.IsCompleted(i.Time) {
				t.Errorf("%s: %s is not completed", name, i)
			}
			counts[i.Action]++
		}
		var words []string
		for a, n := range counts {
			words = append(words, fmt.Sprintf("%d %s", n, a))
		}
		slices.SortFunc(words, func(a, b string) int { return strings.Compare(a[strings.Index(a, " "):], b[strings.Index(b, " "):]) })
		got := strings.Join(words, " ")
		if got == "" {
			got = "none"
		}
		if got != want[name] {
			t.Errorf("%s: completed instants %q, want %q", name, got, want[name])
		}
		if mdt := filepath.Join(table, ".hoodie", "metadata"); exists(mdt) {
			if m := loadReal(t, mdt); m == nil || m.CompletedWrites().Len() < 2 {
				t.Errorf("%s: the metadata table has the timeline %v", name, m)
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// loadReal loads a timeline; nil for the Lance table, which has no configuration that can be read.
func loadReal(t *testing.T, table string) *Timeline {
	t.Helper()
	st, err := local.Open(table, local.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	cfg, err := tableconfig.Load(t.Context(), st)
	if err != nil {
		if !strings.Contains(err.Error(), "LANCE") {
			t.Errorf("%s: %v", table, err)
		}
		return nil
	}
	tl, err := Load(t.Context(), st, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}
