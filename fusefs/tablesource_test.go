package fusefs

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hudifs/hudifs/internal/filecache"
	"github.com/hudifs/hudifs/internal/realtables"
	"github.com/hudifs/hudifs/internal/storage/local"
	"github.com/hudifs/hudifs/snapshot"
)

func realSource(t *testing.T, table string) Source {
	t.Helper()
	st, err := local.Open(table, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	cache, err := filecache.Open(t.TempDir(), 1<<30, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cache.Close() })
	tab, err := snapshot.OpenTable(t.Context(), st, snapshot.Options{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	return NewTableSource(tab)
}

// someTables are real tables of both kinds and all layouts: as many as a quick test can take.
func someTables(t *testing.T) []string {
	var out []string
	seen := map[string]int{}
	for _, n := range realtables.Names(t) {
		if strings.HasSuffix(n, "_empty") {
			continue
		}
		kind := strings.SplitN(n, "_", 3)
		k := strings.Join(kind[:min(2, len(kind))], "_")
		if seen[k]++; seen[k] <= 2 && !strings.Contains(strings.ToLower(n), "lance") {
			out = append(out, n)
		}
	}
	return out
}

// TestRealTables looks at tables written by Java through the adapter: every commit, every file, every instant.
func TestRealTables(t *testing.T) {
	for _, name := range someTables(t) {
		t.Run(name, func(t *testing.T) {
			table, _ := realtables.Unzip(t, name)
			s := realSource(t, table)
			commits, err := s.Commits(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(commits) == 0 {
				t.Fatal("the table has no commits")
			}
			keys := map[string]string{}
			for _, c := range commits {
				n, err := s.Open(t.Context(), c.Instant, "")
				if err != nil {
					t.Fatalf("open %s: %v", c.Instant, err)
				}
				walkSource(t, n, "", keys)
				if at, err := s.ResolveTime(t.Context(), string(c.Instant), time.Now()); err != nil || at != c.Instant {
					t.Errorf("ResolveTime(%s) = %s, %v", c.Instant, at, err)
				}
			}
			checkTimeline(t, s)
			if _, err := s.Open(t.Context(), "20000101000000000", ""); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("an unknown commit opens with %v", err)
			}
			for _, spec := range []string{"nonsense", "20000101000000000", "", "-"} {
				if at, err := s.ResolveTime(t.Context(), spec, time.Now()); errno(err) != syscall.ENOENT {
					t.Errorf("ResolveTime(%q) = %q, %v; want ENOENT", spec, at, err)
				}
			}
			if _, err := s.Open(t.Context(), commits[0].Instant, "nonsense"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("an unknown view opens with %v", err)
			}
		})
	}
}

// walkSource opens every file and holds size and identity against its bytes.
func walkSource(t *testing.T, n Snapshot, dir string, keys map[string]string) {
	t.Helper()
	entries, err := n.Entries(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Dir {
			walkSource(t, n, filepath.Join(dir, e.Name), keys)
			continue
		}
		if e, err = n.Stat(t.Context(), dir, e); err != nil {
			t.Errorf("stat %s/%s: %v", dir, e.Name, err)
			continue
		}
		f, done, err := n.OpenFile(t.Context(), dir, e)
		if err != nil {
			t.Errorf("open %s/%s: %v", dir, e.Name, err)
			continue
		}
		b := make([]byte, e.Size+1)
		if k, _ := f.ReadAt(b, 0); int64(k) != e.Size {
			t.Errorf("%s/%s has %d bytes, stat says %d", dir, e.Name, k, e.Size)
		}
		if old, ok := keys[e.Key]; ok && old != string(b) {
			t.Errorf("%s/%s: one key for two contents", dir, e.Name)
		}
		keys[e.Key] = string(b)
		if err := done(); err != nil {
			t.Error(err)
		}
	}
}

func checkTimeline(t *testing.T, s Source) {
	t.Helper()
	files, err := s.TimelineFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		if i > 0 && files[i-1].Name >= f.Name {
			t.Errorf("%s comes after %s", f.Name, files[i-1].Name)
		}
		b, err := s.ReadTimeline(t.Context(), f.Name)
		if err != nil || !json.Valid(b) {
			t.Errorf("%s: %v, %.80q", f.Name, err, b)
		}
	}
	if _, err := s.ReadTimeline(t.Context(), "20000101000000000.commit.completed.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an unknown instant reads with %v", err)
	}
}

// TestRealTableMounted compares base files through a mount with those in the table, byte for byte.
func TestRealTableMounted(t *testing.T) {
	for _, name := range someTables(t)[:1] {
		table, _ := realtables.Unzip(t, name)
		m := mount(t, childConfig{Table: table})
		base := map[string]string{}
		filepath.WalkDir(table, func(p string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(p, ".parquet") {
				base[filepath.Base(p)] = p
			}
			return nil
		})
		same, inodes := 0, map[string]uint64{}
		err := filepath.WalkDir(m.path("snapshots"), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			want, ok := base[d.Name()]
			if !ok {
				return nil
			}
			a, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			b, err := os.ReadFile(want)
			if err != nil {
				return err
			}
			if string(a) != string(b) {
				t.Errorf("%s differs from the table's file", p)
			}
			var st syscall.Stat_t
			if err := syscall.Stat(p, &st); err != nil {
				return err
			}
			if old, ok := inodes[d.Name()]; ok && old != st.Ino {
				t.Errorf("%s has inodes %d and %d", d.Name(), old, st.Ino)
			}
			inodes[d.Name()] = st.Ino
			same++
			return nil
		})
		if err != nil || same == 0 {
			t.Errorf("%s: %d files compared, %v", name, same, err)
		}
		m.run("cat $M/timeline/* > /dev/null && cat $M/README.txt | grep -q latest && ls -lR $M/latest/")
	}
}
