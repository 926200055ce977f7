package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/integration/lab"
	"github.com/hudifs/hudifs/internal/realtables"
)

// timestampColumns are partition columns of the timestamp key generator, which Spark shows as text whatever the files hold.
var timestampColumns = regexp.MustCompile(`("ts_millis":)(-?[0-9]+)`)

// nullMeta are the meta columns of tables that keep none: Java's files hold them as nulls, and Spark does not show them.
var nullMeta = regexp.MustCompile(`"_hoodie_[a-z_]+":null,`)

// TestRealTablesThroughTheMount reads every commit of every table that Java wrote, through the mount and with a reader that is not ours; the rows are those of Spark.
func TestRealTablesThroughTheMount(t *testing.T) {
	needFUSE(t)
	for _, name := range realtables.Names(t) {
		if strings.Contains(name, "lance") {
			continue // TestBadTables
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, expected := realtables.Unzip(t, name)
			b, err := os.ReadFile(filepath.Join(expected, "index.json"))
			if err != nil {
				t.Fatal(err)
			}
			var index lab.Index
			if err := json.Unmarshal(b, &index); err != nil {
				t.Fatal(err)
			}
			m := mountTable(t, table, "--read-only")
			var want []string
			for _, i := range index.Instants {
				want = append(want, i.Instant)
				text, err := os.ReadFile(filepath.Join(expected, i.Instant+".jsonl"))
				if err != nil {
					t.Fatal(err)
				}
				got := arrowSnapshot(t, m.path("snapshots", i.Instant))
				for j := range got {
					got[j] = nullMeta.ReplaceAllString(timestampColumns.ReplaceAllString(got[j], `$1"$2"`), "")
				}
				if d := lab.Diff(got, splitText(string(text))); d != "" {
					t.Errorf("%s: %s", i.Instant, d)
				}
			}
			slices.Sort(want)
			if got := m.snapshots(); !slices.Equal(got, want) {
				t.Errorf("snapshots/ shows %v, want %v", got, want)
			}
			checkLatest(t, m, want)
		})
	}
}

func splitText(text string) []string {
	if text == "" {
		return []string{}
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// checkLatest: the link names the newest commit, and is absent where there is none.
func checkLatest(t *testing.T, m *mounted, commits []string) {
	t.Helper()
	link, err := os.Readlink(m.path("latest"))
	if len(commits) == 0 {
		if !os.IsNotExist(err) {
			t.Errorf("readlink latest of a table without commits = %q, %v; want ENOENT", link, err)
		}
		return
	}
	if err != nil || filepath.Base(link) != commits[len(commits)-1] {
		t.Errorf("latest -> %q, %v; want %s", link, err, commits[len(commits)-1])
	}
}

// goldenSample is copy-on-write and merge-on-read of each version: updates, deletes, merge modes, compaction, odd partitions, types. Lists of lists in
// Spark's old layout are left to other tests: Arrow takes their inner lists for structs.
var goldenSample = []string{
	"cow_v6_basic", "cow_v6_types_millis", "cow_v8_deletes", "cow_v8_rollbacks", "cow_v9_basic", "cow_v9_odd_partitions_encoded",
	"mor_v6_basic", "mor_v6_compaction", "mor_v8_basic", "mor_v8_eventtime", "mor_v9_deletes", "mor_v8_types_lists3", "mor_v9_compaction_pending", "mor_v9_parquet_logs",
}

// TestGoldenTablesThroughTheMount does the same with tables of our own laboratory, merged files among them.
func TestGoldenTablesThroughTheMount(t *testing.T) {
	needFUSE(t)
	all, err := lab.Golden()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, g := range all {
		if !slices.Contains(goldenSample, g.Name) {
			continue
		}
		found++
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			index, err := g.Index()
			if err != nil {
				t.Fatal(err)
			}
			table, err := g.Unpack(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			m := mountTable(t, table, "--read-only")
			shown := m.snapshots()
			for _, i := range index.Instants {
				if i.Thin || i.Refused != "" || !slices.Contains(shown, i.Instant) && !i.Active {
					continue
				}
				want, err := g.At(i.Instant)
				if err != nil {
					t.Fatal(err)
				}
				if d := lab.Diff(arrowSnapshot(t, m.path("snapshots", i.Instant)), want); d != "" {
					t.Errorf("%s: %s", i.Instant, d)
				}
			}
			want, err := g.Latest()
			if err != nil {
				t.Fatal(err)
			}
			if d := lab.Diff(arrowSnapshot(t, m.path("latest")+"/"), want); d != "" {
				t.Errorf("latest: %s", d)
			}
		})
	}
	if found != len(goldenSample) {
		t.Errorf("%d golden tables of the sample of %d are there", found, len(goldenSample))
	}
}
