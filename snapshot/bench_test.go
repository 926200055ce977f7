package snapshot

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hudifs/hudifs/internal/storage/local"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// longTimeline writes a table with n commits, each of which writes one file of one of 100 groups in 10 partitions, straight to disk.
func longTimeline(tb testing.TB, version, n int) string {
	tb.Helper()
	m, dir := localMaker(tb, tableconfig.Options{Version: version})
	write := func(path string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, path), data, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	for p := range 10 {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("p%d", p)), 0o755); err != nil {
			tb.Fatal(err)
		}
		write(fmt.Sprintf("p%d/%s", p, fsview.PartitionMetafile), nil)
	}
	if err := os.MkdirAll(filepath.Join(dir, m.cfg.TimelineDir()), 0o755); err != nil {
		tb.Fatal(err)
	}
	for k := range n {
		at := timeline.InstantTime(fmt.Sprintf("2026%013d", 2*k))
		path := base(fmt.Sprintf("p%d", k%10), fmt.Sprintf("00000000-0000-0000-0000-%012d-0", k%100), string(at))
		write(path, []byte("x"))
		body, err := action.Encode(m.cfg.Layout, &action.CommitMetadata{Operation: action.OpUpsert, Stats: stats(path), Extra: map[string]string{"schema": testSchema}})
		if err != nil {
			tb.Fatal(err)
		}
		for _, i := range []timeline.Instant{{Time: at, Action: timeline.Commit, State: timeline.Requested}, {Time: at, Action: timeline.Commit, State: timeline.Inflight}} {
			write(m.cfg.TimelineDir()+i.FileName(m.cfg.Layout), nil)
		}
		done := timeline.Instant{Time: at, Completion: timeline.InstantTime(fmt.Sprintf("2026%013d", 2*k+1)), Action: timeline.Commit, State: timeline.Completed}
		write(m.cfg.TimelineDir()+done.FileName(m.cfg.Layout), body)
	}
	return dir
}

// Opening a table with 10,000 commits, listing them and the newest one's files: the target is 2 s and memory in proportion to the files.
func BenchmarkTenThousandCommits(b *testing.B) {
	for _, version := range []int{6, 9} {
		b.Run(fmt.Sprintf("v%d", version), func(b *testing.B) {
			dir := longTimeline(b, version, 10_000)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var tab *Table
			for b.Loop() {
				st, err := local.Open(dir, local.Options{})
				if err != nil {
					b.Fatal(err)
				}
				tab, err = OpenTable(b.Context(), st, Options{})
				if err != nil {
					b.Fatal(err)
				}
				all, err := tab.Commits(b.Context())
				if err != nil || len(all) != 10_000 {
					b.Fatalf("%d commits, %v", len(all), err)
				}
				if n := len(entriesBelow(b, at(b, tab, all[9_999].Time), "")); n != 100 {
					b.Fatalf("%d files, want 100", n)
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-kept")
			runtime.KeepAlive(tab)
		})
	}
}

// Listing the files of every one of 10,000 commits: what find does in a mount.
func BenchmarkEveryCommitsFiles(b *testing.B) {
	dir := longTimeline(b, 9, 10_000)
	st, err := local.Open(dir, local.Options{})
	if err != nil {
		b.Fatal(err)
	}
	tab, err := OpenTable(b.Context(), st, Options{})
	if err != nil {
		b.Fatal(err)
	}
	all, err := tab.Commits(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	k := 0
	for b.Loop() {
		entriesBelow(b, at(b, tab, all[k%len(all)].Time), "")
		k++
	}
}

func entriesBelow(tb testing.TB, s *Snapshot, dir string) []Entry {
	tb.Helper()
	list, err := s.Entries(tb.Context(), dir)
	if err != nil {
		tb.Fatal(err)
	}
	var out []Entry
	for _, e := range list {
		if e.Dir {
			out = append(out, entriesBelow(tb, s, e.Path)...)
		} else {
			out = append(out, e)
		}
	}
	return out
}
