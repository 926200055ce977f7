package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hudifs/hudifs/internal/realtables"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
)

// Readers that list and open while commits and cleans happen see whole states only: the files of a listed snapshot are those that its commit
// left, or the snapshot is gone.
func TestReadersWhileCommitting(t *testing.T) {
	m, _ := localMaker(t, tableconfig.Options{})
	const commits, groups = 60, 3
	instant := func(k int) timeline.InstantTime { return timeline.InstantTime(fmt.Sprintf("202601010%08d", 10*k)) }
	file := func(k int) string { return base("p", fmt.Sprint("g", k%groups), string(instant(k))) }
	wantFiles := func(k int) string { // the newest file of each group
		var out []string
		for g := max(0, k-groups+1); g <= k; g++ {
			out = append(out, file(g))
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	m.commit(timeline.Commit, instant(0), instant(0)+"1", file(0))
	tab := m.open(Options{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := readOnce(t.Context(), tab, instant, wantFiles); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for k := 1; k < commits; k++ {
		m.commit(timeline.Commit, instant(k), instant(k)+"1", file(k))
		if old := k - 3*groups; old >= 0 {
			m.clean(timeline.InstantTime(fmt.Sprintf("202601010%08d", 10*k+5)), timeline.InstantTime(fmt.Sprintf("202601010%08d", 10*k+6)), string(instant(old+1)), file(old))
		}
		if _, err := tab.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	all, err := tab.Commits(t.Context())
	if err != nil || len(all) > 3*groups {
		t.Errorf("%d commits are listed after cleaning, %v, want at most %d", len(all), err, 3*groups)
	}
}

// readOnce opens every file of the newest snapshot.
func readOnce(ctx context.Context, tab *Table, instant func(int) timeline.InstantTime, want func(int) string) error {
	last, ok, err := tab.Latest(ctx)
	if err != nil || !ok {
		return err // none: the timeline was outrun by commits and cleans, twice
	}
	s, err := tab.At(ctx, nil, last.Time)
	if errors.Is(err, ErrNoSnapshot) {
		return nil
	}
	if err != nil {
		return err
	}
	list, err := s.Entries(ctx, "p")
	if err != nil {
		return err
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Path)
		f, err := s.OpenFile(ctx, e)
		if errors.Is(err, ErrExpired) {
			return nil
		}
		if err != nil {
			return err
		}
		f.Close()
	}
	k := 0
	for instant(k) != last.Time {
		k++
	}
	if strings.Join(got, " ") != want(k) {
		return fmt.Errorf("snapshot %s shows %v, want %s", last.Time, got, want(k))
	}
	return nil
}

// A caller that leaves while the state is made does not take the others along.
func TestPrepareOutlivesItsCaller(t *testing.T) {
	m := memMaker(t, 9, tableconfig.CopyOnWrite)
	m.commit(timeline.Commit, "101", "102", base("p", "a", "101"))
	tab := m.open(Options{})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tab.Commits(gone); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Commits under an ended context = %v", err)
	}
	check(t, "commits", commitsOf(t, tab), "101")
}

// The same tables out of a bucket: files come through the cache, and the rows are the same.
func TestBucket(t *testing.T) {
	for _, name := range []string{"cow_v9_txns_simple_nometa", "mor_avro_v8_trips_8i3u1d", "mor_parquet_v6_simplekeygen_nonhivestyle"} {
		t.Run(name, func(t *testing.T) {
			dir, expected := realtables.Unzip(t, name)
			st := storagetest.NewMem()
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				rel, err := filepath.Rel(dir, path)
				if err != nil {
					return err
				}
				_, err = st.Put(t.Context(), filepath.ToSlash(rel), data, storage.PutReplace)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			tab, err := OpenTable(t.Context(), st, Options{Cache: testCache(t)})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range readIndex(t, expected).Instants {
				s := at(t, tab, i.Instant)
				diffRows(t, string(i.Instant), readSnapshot(t, s), readLines(t, filepath.Join(expected, string(i.Instant)+".jsonl")))
			}
			none, err := OpenTable(t.Context(), st, Options{})
			if err != nil {
				t.Fatal(err)
			}
			last, _, err := none.Latest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entriesBelow(t, at(t, none, last.Time), "") {
				if f, err := at(t, none, last.Time).OpenFile(t.Context(), e); err == nil {
					_, _ = io.Copy(io.Discard, f)
					t.Errorf("%s opened without a cache", e.Path)
				}
			}
		})
	}
}
