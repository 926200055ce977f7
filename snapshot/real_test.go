package snapshot

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/realtables"
	"github.com/hudifs/hudifs/internal/storage/local"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
)

// expectedIndex is the list of commits beside the expected rows of a table.
type expectedIndex struct {
	Instants []struct {
		Instant timeline.InstantTime
		Action  timeline.Action
		Rows    int
	}
}

func openReal(t *testing.T, name string, o Options) (tab *Table, expected string) {
	t.Helper()
	dir, expected := realtables.Unzip(t, name)
	st, err := local.Open(dir, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	tab, err = OpenTable(t.Context(), st, o)
	if expected == "" {
		if !errors.Is(err, tableconfig.ErrUnsupported) || !strings.Contains(err.Error(), "LANCE") {
			t.Fatalf("OpenTable(%s) = %v, want an error that names the format", name, err)
		}
		t.Skip("a Lance table: refused")
	}
	if err != nil {
		t.Fatalf("OpenTable(%s): %v", name, err)
	}
	return tab, expected
}

func readIndex(t *testing.T, expected string) expectedIndex {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(expected, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var x expectedIndex
	if err := json.Unmarshal(data, &x); err != nil {
		t.Fatal(err)
	}
	return x
}

// Every commit that Spark reads of every real table is listed, in order; its files hold the rows that Spark reads, and so do the text views.
func TestRealTables(t *testing.T) {
	for _, name := range realtables.Names(t) {
		t.Run(name, func(t *testing.T) {
			tab, expected := openReal(t, name, Options{Cache: testCache(t)})
			var want, got []timeline.InstantTime
			index := readIndex(t, expected)
			for _, i := range index.Instants {
				want = append(want, i.Instant)
			}
			commits, err := tab.Commits(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range commits {
				got = append(got, c.Time)
			}
			if !slices.Equal(got, want) {
				t.Errorf("Commits() = %v, want %v", got, want)
			}
			for _, i := range index.Instants {
				s, err := tab.At(t.Context(), nil, i.Instant)
				if err != nil {
					t.Errorf("At(%s): %v", i.Instant, err)
					continue
				}
				rows := asText(t, readSnapshot(t, s), timestampColumns(tab))
				diffRows(t, string(i.Instant), rows, readLines(t, filepath.Join(expected, string(i.Instant)+".jsonl")))
				checkText(t, s, i.Rows)
			}
		})
	}
}

func walkEntries(t *testing.T, s *Snapshot, dir string, fn func(Entry)) {
	t.Helper()
	list, err := s.Entries(t.Context(), dir)
	if err != nil {
		t.Fatalf("Entries(%q) of %s: %v", dir, s, err)
	}
	for _, e := range list {
		if e.Dir {
			walkEntries(t, s, e.Path, fn)
		} else {
			fn(e)
		}
	}
}
