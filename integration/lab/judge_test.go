package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func unpacked(t *testing.T, name string) (GoldenTable, string) {
	t.Helper()
	tables, err := Golden()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range tables {
		if g.Name == name {
			path, err := g.Unpack(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			return g, path
		}
	}
	t.Fatalf("no golden table %s", name)
	return GoldenTable{}, ""
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// same fails the test where rows are not those wanted.
func same(t *testing.T, what string, got []string, err error, want []string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if d := Diff(got, want); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}

func TestJudgeWithoutSpark(t *testing.T) {
	s := Require(t, None)
	ctx := limited(t)
	g, path := unpacked(t, "mor_v9_basic")
	latest, err := g.Latest()
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.HudiRS(ctx, path, "")
	same(t, "hudi-rs latest", got, err, latest)
	files, err := filepath.Glob(filepath.Join(path, "*", "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatalf("parquet files of %s: %v, %v", path, files, err)
	}
	arrow, err := s.PyArrow(ctx, files)
	if err != nil {
		t.Fatal(err)
	}
	duck, err := s.DuckDB(ctx, files)
	same(t, "duckdb beside pyarrow", duck, err, arrow)
	if _, err := s.Rows(ctx, path, ""); !errors.Is(err, ErrRefused) {
		t.Errorf("Spark rows without Spark: %v, want ErrRefused", err)
	}
	again, err := s.HudiRS(ctx, path, "")
	same(t, "after a refusal", again, err, latest)
}

func TestJudgeWritesOn(t *testing.T) {
	s := Require(t, Bundle120)
	ctx := limited(t)
	g, path := unpacked(t, "mor_v9_basic")
	latest, err := g.Latest()
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Rows(ctx, path, "")
	same(t, "latest", got, err, latest)

	up := `{"id":"k000","name":"up","part":"p0","price":0.5,"qty":7,"ts":99}`
	made, err := s.Upsert(ctx, path, []string{up})
	if err != nil || len(made) != 1 {
		t.Fatalf("Upsert = %v, %v; want one new instant", made, err)
	}
	if _, err := s.Delete(ctx, path, []string{`{"id":"k001","part":"p1","ts":100}`}); err != nil {
		t.Fatal(err)
	}
	before, err := s.Rows(ctx, path, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(before) != len(latest)-1 || !strings.Contains(strings.Join(before, "\n"), `"name":"up","part":"p0","price":0.5,"qty":7`) {
		t.Errorf("after upsert and delete: %d rows, want %d with the update among them", len(before), len(latest)-1)
	}
	if err := s.Compact(ctx, path, ScheduleAndExecute); err != nil {
		t.Fatal(err)
	}
	after, err := s.Rows(ctx, path, "")
	same(t, "compaction changed the rows", after, err, before)
	rs, err := s.HudiRS(ctx, path, "")
	same(t, "hudi-rs after compaction", rs, err, before)
	if err := s.Clean(ctx, path, 1); err != nil {
		t.Fatal(err)
	}
	after, err = s.Rows(ctx, path, "")
	same(t, "cleaning changed the rows", after, err, before)
	commits, err := s.ShowCommits(ctx, path)
	if err != nil || len(commits) < 6 {
		t.Errorf("ShowCommits = %d rows, %v; want at least 6", len(commits), err)
	}
	tl, err := s.Timeline(ctx, path)
	if err != nil || len(tl) == 0 || tl[len(tl)-1].State != "COMPLETED" {
		t.Errorf("Timeline = %v, %v; want it to end in a completed instant", tl, err)
	}
}

func TestStartSaysWhatIsMissing(t *testing.T) {
	if _, err := os.Stat("/usr/bin/env"); err != nil {
		t.Skip("no /usr/bin/env to run the set-up command with")
	}
	t.Setenv("HUDIFS_LAB_CACHE", t.TempDir())
	_, err := Start(limited(t), Bundle120)
	if !errors.Is(err, ErrNotInstalled) {
		t.Fatalf("Start with an empty cache: %v, want ErrNotInstalled", err)
	}
	if !strings.Contains(err.Error(), "setup") && !strings.Contains(err.Error(), "missing") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}
