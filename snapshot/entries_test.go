package snapshot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/storage/local"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
)

func localMaker(t testing.TB, o tableconfig.Options) (*maker, string) {
	t.Helper()
	dir := t.TempDir()
	st, err := local.Open(dir, local.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return newMaker(t, st, o), dir
}

func TestEntries(t *testing.T) {
	m, _ := localMaker(t, tableconfig.Options{})
	files := []string{base("a/b=1", "f1", "101"), base("a/b=2", "f2", "101"), base("c", "f3", "101"), base(".dot", "f4", "101")}
	m.commit(timeline.Commit, "101", "102", files...)
	m.put("a/b=1/_SUCCESS", "")
	m.put("a/b=1/note.txt", "")
	if _, err := m.st.Put(t.Context(), "stray/x_0-0-0_101.parquet", []byte("not in a partition"), 0); err != nil {
		t.Fatal(err)
	}
	s := at(t, m.open(Options{}), "101")
	for dir, want := range map[string]string{"": "[.dot/ a/ c/]", "a": "[b=1/ b=2/]", "a/b=1": "[f1_0-0-0_101.parquet]"} {
		list, err := s.Entries(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range list {
			name := e.Name
			if e.Dir {
				name += "/"
			} else if e.Size != int64(len(fakeFile)) || e.Key == "" || e.ModTime.IsZero() {
				t.Errorf("entry %+v has no size, key or time", e)
			}
			names = append(names, name)
		}
		check(t, "Entries("+dir+")", fmt.Sprint(names), want)
	}
	for _, dir := range []string{"nowhere", "a/b=3", "stray", ".hoodie", "a/", "/a", "a/b=1/f1_0-0-0_101.parquet"} {
		if _, err := s.Entries(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Entries(%q) = %v, want fs.ErrNotExist", dir, err)
		}
	}
	e, err := s.Lookup(t.Context(), files[0])
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.OpenFile(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil || string(data) != fakeFile || !f.Direct || f.Size != int64(len(fakeFile)) {
		t.Errorf("file = %q, %v, direct %v, size %d", data, err, f.Direct, f.Size)
	}
	for _, missing := range []string{"a/x", "a/b=1/note.txt", "a/b=1/_SUCCESS"} {
		if _, err := s.Lookup(t.Context(), missing); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Lookup(%q) = %v, want fs.ErrNotExist", missing, err)
		}
	}
	if _, err := s.OpenFile(t.Context(), Entry{Path: "a", Dir: true}); err == nil {
		t.Error("OpenFile of a directory: no error")
	}
}

func TestNonPartitioned(t *testing.T) {
	m, _ := localMaker(t, tableconfig.Options{PartitionFields: []tableconfig.PartitionField{}, KeyGen: tableconfig.KeyGenNonPartition})
	m.put(".hoodie_partition_metadata", "")
	m.commit(timeline.Commit, "101", "102", "f_0-0-0_101.parquet")
	m.put("sub/g_0-0-0_101.parquet", "a directory in a table without partitions is no part of it")
	check(t, "files", filesOf(t, at(t, m.open(Options{}), "101")), "f_0-0-0_101.parquet")
}

// The same slice has the same name, size, time and key in every snapshot and after a restart; other bytes have another key.
func TestKeysAreStable(t *testing.T) {
	m, _ := localMaker(t, tableconfig.Options{Type: tableconfig.MergeOnRead})
	m.commit(timeline.DeltaCommit, "101", "102", base("p", "a", "101"), base("p", "b", "101"))
	m.commit(timeline.DeltaCommit, "103", "104", logFile("p", "b", "103"))
	m.commit(timeline.DeltaCommit, "105", "106", base("p", "c", "105"))
	entries := func(tab *Table, i timeline.InstantTime) map[string]Entry {
		list, err := at(t, tab, i).Entries(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]Entry{}
		for _, e := range list {
			out[e.Name[:1]] = e
		}
		return out
	}
	tab := m.open(Options{})
	first, second, third := entries(tab, "101"), entries(tab, "103"), entries(tab, "105")
	same := func(what string, a, b Entry) {
		if a.Key != b.Key || a.Name != b.Name || a.Size != b.Size || !a.ModTime.Equal(b.ModTime) {
			t.Errorf("%s: %+v and %+v differ", what, a, b)
		}
	}
	same("base file", first["a"], third["a"])
	same("merged file", second["b"], third["b"])
	if first["b"].Key == second["b"].Key || first["b"].Name == second["b"].Name {
		t.Errorf("base file and merged file share a key or a name: %+v, %+v", first["b"], second["b"])
	}
	again := entries(m.open(Options{}), "105")
	for k := range third {
		same("after a restart", third[k], again[k])
	}
	csv, err := at(t, tab, "101").As(CSV).Entries(t.Context(), "p")
	if err != nil || csv[0].Name != "a_0-0-0_101.csv" || csv[0].Key == first["a"].Key {
		t.Errorf("csv entries = %+v, %v", csv, err)
	}
	m.delete(base("p", "a", "101"))
	m.put(base("p", "a", "101"), "other bytes")
	if changed := entries(m.open(Options{}), "105"); changed["a"].Key == first["a"].Key {
		t.Error("other bytes under the same name have the same key")
	}
}

// A base file that shrank under an open snapshot is an error, never short rows.
func TestFileChangedUnderneath(t *testing.T) {
	m, _ := localMaker(t, tableconfig.Options{})
	m.commit(timeline.Commit, "101", "102", base("p", "a", "101"))
	s := at(t, m.open(Options{}), "101")
	e, err := s.Lookup(t.Context(), base("p", "a", "101"))
	if err != nil {
		t.Fatal(err)
	}
	m.put(base("p", "a", "101"), "longer")
	if _, err := s.OpenFile(t.Context(), e); !errors.Is(err, ErrExpired) {
		t.Errorf("OpenFile = %v, want ErrExpired", err)
	}
	m.delete(base("p", "a", "101"))
	if _, err := s.OpenFile(t.Context(), e); !errors.Is(err, ErrExpired) {
		t.Errorf("OpenFile of a removed file = %v, want ErrExpired", err)
	}
}

// A damaged base file is an error of its own, with its name; its neighbours are there.
func TestDamagedBaseFile(t *testing.T) {
	m, _ := localMaker(t, tableconfig.Options{})
	m.commit(timeline.Commit, "101", "102", base("p", "a", "101"), base("p", "b", "101"))
	for name, data := range map[string]string{"empty": "", "short": "PAR1", "cut": fakeFile + "more", "footer longer than the file": "PAR1\xff\xff\xff\xffPAR1"} {
		m.put(base("p", "a", "101"), data)
		s := at(t, m.open(Options{}), "101")
		for _, e := range entriesBelow(t, s, "") {
			f, err := s.OpenFile(t.Context(), e)
			if e.Name[0] == 'a' && (!corrupt.Is(err) || !strings.Contains(err.Error(), base("p", "a", "101"))) {
				t.Errorf("%s: OpenFile = %v, want damage that names the file", name, err)
			}
			if e.Name[0] == 'b' && err != nil {
				t.Errorf("%s: the file beside it: %v", name, err)
			}
			if err == nil {
				f.Close()
			}
		}
	}
}
