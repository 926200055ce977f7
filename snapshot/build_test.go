package snapshot

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// fakeFile is the smallest thing that looks like a parquet file from outside.
const fakeFile = "PAR1\x00\x00\x00\x00PAR1"

// testSchema is the schema of fake commits. Their files hold no rows: what is tested is which files a state has.
const testSchema = `{"type":"record","name":"r","fields":[{"name":"id","type":"long"},{"name":"v","type":["null","string"],"default":null}]}`

// maker makes a table instant by instant. Times are short digit strings.
type maker struct {
	t      testing.TB
	st     storage.Store
	cfg    *tableconfig.Config
	active *timeline.Active
	schema string
}

func newMaker(t testing.TB, st storage.Store, o tableconfig.Options) *maker {
	t.Helper()
	o.Name = "t"
	o.RecordKeys = []string{"id"}
	if o.PartitionFields == nil {
		o.PartitionFields = []tableconfig.PartitionField{{Name: "p"}}
	}
	cfg, err := tableconfig.Create(t.Context(), st, o)
	if err != nil {
		t.Fatal(err)
	}
	return &maker{t: t, st: st, cfg: cfg, active: timeline.NewActive(st, cfg), schema: testSchema}
}

func memMaker(t testing.TB, version int, typ tableconfig.TableType) *maker {
	return newMaker(t, storagetest.NewMem(), tableconfig.Options{Version: version, Type: typ, UTC: true})
}

func (m *maker) put(path string, data string) {
	m.t.Helper()
	if dir, _ := splitPath(path); dir != "" && !strings.HasPrefix(dir, "sub") {
		if _, err := m.st.Stat(m.t.Context(), dir+"/"+fsview.PartitionMetafile); err != nil {
			if _, err := m.st.Put(m.t.Context(), dir+"/"+fsview.PartitionMetafile, []byte("partitionDepth=1\n"), storage.PutReplace); err != nil {
				m.t.Fatal(err)
			}
		}
	}
	if _, err := m.st.Put(m.t.Context(), path, []byte(data), storage.PutReplace); err != nil {
		m.t.Fatal(err)
	}
}

func (m *maker) delete(paths ...string) {
	m.t.Helper()
	for _, p := range paths {
		if err := m.st.Delete(m.t.Context(), p); err != nil {
			m.t.Fatal(err)
		}
	}
}

// base is the path of a base file of group id in partition p.
func base(p, id, at string) string { return p + "/" + id + "_0-0-0_" + at + ".parquet" }

func logFile(p, id, at string) string { return p + "/." + id + "_" + at + ".log.1_0-0-0" }

// stats makes the write stats of files.
func stats(paths ...string) map[string][]action.WriteStat {
	out := map[string][]action.WriteStat{}
	for _, p := range paths {
		dir, name := splitPath(p)
		w := action.WriteStat{Path: p, PartitionPath: dir, FileSizeInBytes: 1}
		if n, err := fsview.ParseLogFileName(name); err == nil {
			w.FileID, w.Log = n.FileID, &action.LogStat{Version: int32(n.Version), Files: []string{name}}
		} else if n, err := fsview.ParseBaseFileName(name); err == nil {
			w.FileID = n.FileID
		}
		out[dir] = append(out[dir], w)
	}
	return out
}

// begin puts the requested and inflight files of a commit.
func (m *maker) begin(act timeline.Action, at timeline.InstantTime) timeline.Instant {
	m.t.Helper()
	i, err := m.active.Request(m.t.Context(), at, act, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	if i, err = m.active.Start(m.t.Context(), i, nil); err != nil {
		m.t.Fatal(err)
	}
	return i
}

func (m *maker) complete(i timeline.Instant, done timeline.InstantTime, body []byte, err error) timeline.Instant {
	m.t.Helper()
	if err == nil {
		i, err = m.active.Complete(m.t.Context(), i, done, body)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return i
}

// commit makes a whole commit that writes files; done is its completion time.
func (m *maker) commit(act timeline.Action, at, done timeline.InstantTime, paths ...string) timeline.Instant {
	m.t.Helper()
	for _, p := range paths {
		m.put(p, fakeFile)
	}
	return m.commitMeta(act, at, done, &action.CommitMetadata{Operation: action.OpUpsert, Stats: stats(paths...)})
}

func (m *maker) commitMeta(act timeline.Action, at, done timeline.InstantTime, meta *action.CommitMetadata) timeline.Instant {
	m.t.Helper()
	i := m.begin(act, at)
	meta.Extra = map[string]string{action.ExtraSchema: m.schema}
	meta.Replace = act == timeline.ReplaceCommit
	body, err := action.Encode(m.cfg.Layout, meta)
	return m.complete(i, done, body, err)
}

// clean deletes files and completes a clean that says so.
func (m *maker) clean(at, done timeline.InstantTime, earliest string, paths ...string) {
	m.t.Helper()
	m.delete(paths...)
	meta := &action.CleanMetadata{StartTime: string(at), EarliestToRetain: earliest, Version: 2, Partitions: map[string]action.CleanPartition{}}
	for _, p := range paths {
		dir, name := splitPath(p)
		c := meta.Partitions[dir]
		c.Partition, c.Deleted, c.DeletePatterns = dir, append(c.Deleted, name), append(c.DeletePatterns, name)
		meta.Partitions[dir] = c
	}
	i := m.begin(timeline.Clean, at)
	body, err := action.Encode(m.cfg.Layout, meta)
	m.complete(i, done, body, err)
}

func (m *maker) savepoint(at, done timeline.InstantTime, paths ...string) {
	m.t.Helper()
	meta := &action.SavepointMetadata{Version: 1, Partitions: map[string]action.SavepointPartition{}}
	for _, p := range paths {
		dir, name := splitPath(p)
		s := meta.Partitions[dir]
		s.Partition, s.Files = dir, append(s.Files, name)
		meta.Partitions[dir] = s
	}
	i, err := m.active.Start(m.t.Context(), timeline.Instant{Time: at, Action: timeline.Savepoint}, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	body, err := action.Encode(m.cfg.Layout, meta)
	m.complete(i, done, body, err)
}

// remove deletes all state files of the instant, as a restore does.
func (m *maker) remove(at timeline.InstantTime) {
	m.t.Helper()
	for f, err := range m.st.List(m.t.Context(), m.cfg.TimelineDir(), storage.ListOptions{}) {
		if err != nil {
			m.t.Fatal(err)
		}
		_, name := splitPath(f.Path)
		if strings.HasPrefix(name, string(at)+".") || strings.HasPrefix(name, string(at)+"_") {
			m.delete(f.Path)
		}
	}
}

func (m *maker) open(o Options) *Table {
	m.t.Helper()
	tab, err := OpenTable(m.t.Context(), m.st, o)
	if err != nil {
		m.t.Fatal(err)
	}
	return tab
}

// commitsOf lists the commits of a table as text.
func commitsOf(t testing.TB, tab *Table) string {
	t.Helper()
	all, err := tab.Commits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range all {
		out = append(out, string(c.Time))
	}
	return strings.Join(out, " ")
}

// filesOf lists the files of a snapshot as text: paths, with the number of logs behind.
func filesOf(t testing.TB, s *Snapshot) string {
	t.Helper()
	var out []string
	var walk func(dir string)
	walk = func(dir string) {
		list, err := s.Entries(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			switch {
			case e.Dir:
				walk(e.Path)
			case len(e.slice.Logs) > 0:
				out = append(out, fmt.Sprintf("%s+%d", e.Path, len(e.slice.Logs)))
			default:
				out = append(out, e.Path)
			}
		}
	}
	walk("")
	slices.Sort(out)
	return strings.Join(out, " ")
}

func at(t testing.TB, tab *Table, i timeline.InstantTime) *Snapshot {
	t.Helper()
	s, err := tab.At(t.Context(), nil, i)
	if err != nil {
		t.Fatalf("At(%s): %v", i, err)
	}
	return s
}

// check compares two texts.
func check(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\n got %s\nwant %s", what, got, want)
	}
}

// commitNoFiles makes a commit that names files without writing them.
func (m *maker) commitNoFiles(act timeline.Action, at, done timeline.InstantTime, paths ...string) {
	m.t.Helper()
	m.commitMeta(act, at, done, &action.CommitMetadata{Operation: action.OpUpsert, Stats: stats(paths...)})
}
