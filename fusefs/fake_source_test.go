package fusefs

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/timeline"
)

// fakeFile is a file of the fake table.
type fakeFile struct {
	path   string // in the snapshot, with partition
	key    string
	data   string
	hidden bool  // size not known before Stat, as of a merged file
	lie    int64 // what its size claims to be too much
	err    error // what opening gives
}

// fakeSource is a table in memory whose files lie in a temporary directory.
type fakeSource struct {
	dir string
	mu  struct {
		sync.Mutex
		commits []Commit
		files   map[timeline.InstantTime][]fakeFile
		calls   map[string]int
		err     error
		block   chan struct{} // opening waits for it
	}
}

func newFakeSource(dir string) *fakeSource {
	s := &fakeSource{dir: dir}
	s.mu.files = map[timeline.InstantTime][]fakeFile{}
	s.mu.calls = map[string]int{}
	return s
}

var fakeEpoch = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

// commit adds a commit whose snapshot holds the files.
func (s *fakeSource) commit(at timeline.InstantTime, files ...fakeFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.commits = append(s.mu.commits, Commit{Instant: at, Completed: fakeEpoch.Add(time.Duration(len(s.mu.commits)) * time.Minute)})
	s.mu.files[at] = files
	for _, f := range files {
		p := filepath.Join(s.dir, f.key)
		if _, err := os.Stat(p); err != nil {
			os.WriteFile(p, []byte(f.data), 0o644)
		}
	}
}

func (s *fakeSource) remove(at timeline.InstantTime) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range s.mu.commits {
		if c.Instant == at {
			s.mu.commits = append(s.mu.commits[:i:i], s.mu.commits[i+1:]...)
			break
		}
	}
	delete(s.mu.files, at)
}

func (s *fakeSource) called(what string) { s.mu.calls[what]++ }

func (s *fakeSource) Name() string { return "trips" }
func (s *fakeSource) URL() string  { return "file:///data/trips" }

func (s *fakeSource) Commits(context.Context) ([]Commit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.called("commits")
	return append([]Commit(nil), s.mu.commits...), s.mu.err
}

func (s *fakeSource) Open(_ context.Context, at timeline.InstantTime, v View) (Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.called("open")
	files, ok := s.mu.files[at]
	if !ok {
		return nil, fmt.Errorf("commit %s: %w", at, fs.ErrNotExist)
	}
	return &fakeSnapshot{s: s, files: files, view: v}, nil
}

func (s *fakeSource) ResolveTime(_ context.Context, spec string, _ time.Time) (timeline.InstantTime, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.mu.commits) - 1; i >= 0; i-- {
		if string(s.mu.commits[i].Instant) <= spec {
			return s.mu.commits[i].Instant, nil
		}
	}
	return "", fmt.Errorf("no commit at %s: %w", spec, fs.ErrNotExist)
}

func (s *fakeSource) TimelineFiles(context.Context) ([]TimelineFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []TimelineFile
	for _, c := range s.mu.commits {
		out = append(out, TimelineFile{Name: string(c.Instant) + ".commit.completed.json", ModTime: c.Completed, Fixed: true})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

func (s *fakeSource) ReadTimeline(_ context.Context, name string) ([]byte, error) {
	return []byte(`{"instant":"` + name + `"}`), nil
}

type fakeSnapshot struct {
	s     *fakeSource
	files []fakeFile
	view  View
}

func (n *fakeSnapshot) Entries(_ context.Context, dir string) ([]Entry, error) {
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	n.s.called("entries")
	seen := map[string]bool{}
	var out []Entry
	for _, f := range n.files {
		rest := f.path
		if dir != "" {
			var ok bool
			if rest, ok = strings.CutPrefix(f.path, dir+"/"); !ok {
				continue
			}
		}
		name, _, deeper := strings.Cut(rest, "/")
		if seen[name] {
			continue
		}
		seen[name] = true
		e := Entry{Name: name, Dir: deeper}
		if !deeper {
			e.Key, e.Size, e.ModTime = string(n.view)+f.key, int64(len(f.data))+f.lie, fakeEpoch
			if f.hidden {
				e.Size = -1
			}
		}
		out = append(out, e)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

func (n *fakeSnapshot) find(dir string, e Entry) (fakeFile, error) {
	for _, f := range n.files {
		if f.path == path.Join(dir, e.Name) {
			return f, f.err
		}
	}
	return fakeFile{}, fs.ErrNotExist
}

func (n *fakeSnapshot) Stat(_ context.Context, dir string, e Entry) (Entry, error) {
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	n.s.called("stat")
	f, err := n.find(dir, e)
	e.Size = int64(len(f.data))
	return e, err
}

func (n *fakeSnapshot) OpenFile(ctx context.Context, dir string, e Entry) (*os.File, func() error, error) {
	n.s.mu.Lock()
	n.s.called("openfile")
	f, err := n.find(dir, e)
	block := n.s.mu.block
	n.s.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	if err != nil {
		return nil, nil, err
	}
	file, err := os.Open(filepath.Join(n.s.dir, f.key))
	if err != nil {
		return nil, nil, err
	}
	return file, file.Close, nil
}

// standardTable is the table that most tests look at.
func standardTable(s *fakeSource) {
	a := fakeFile{path: "city=sf/a.parquet", key: "a1", data: "rows of a"}
	b := fakeFile{path: "city=la/b.parquet", key: "b1", data: "rows of b"}
	b2 := fakeFile{path: "city=la/b.parquet", key: "b2", data: "newer rows of b"}
	m := fakeFile{path: "city=la/m.parquet", key: "m2", data: "merged rows", hidden: true}
	bad := fakeFile{path: "city=la/torn.parquet", key: "torn", data: "torn", err: corrupt.At("city=la/torn.parquet", 4, "no footer")}
	s.commit("20261129100000000", a, b)
	s.commit("20261129110000000", a, b2, m, bad)
}
