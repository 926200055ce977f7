package snapshot

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/timeline/history"
)

var versions = []int{6, 8, 9}

func eachVersion(t *testing.T, typ tableconfig.TableType, fn func(t *testing.T, m *maker)) {
	for _, v := range versions {
		t.Run("v"+string(rune('0'+v)), func(t *testing.T) { fn(t, memMaker(t, v, typ)) })
	}
}

// A snapshot is whole or absent: commits that lack a file are not listed, whether a clean says so or not.
func TestCleanedCommitsAreAbsent(t *testing.T) {
	for _, how := range []string{"clean", "deleted", "pending clean"} {
		t.Run(how, func(t *testing.T) {
			eachVersion(t, tableconfig.CopyOnWrite, func(t *testing.T, m *maker) {
				m.commit(timeline.Commit, "101", "102", base("p", "a", "101"), base("p", "b", "101"))
				m.commit(timeline.Commit, "103", "104", base("p", "a", "103"))
				m.commit(timeline.Commit, "105", "106", base("p", "a", "105"))
				m.commit(timeline.Commit, "107", "108", base("q", "c", "107"))
				tab := m.open(Options{})
				check(t, "before", commitsOf(t, tab), "101 103 105 107")
				switch how {
				case "clean":
					m.clean("109", "110", "105", base("p", "a", "101"), base("p", "a", "103"))
				case "deleted":
					m.delete(base("p", "a", "101"), base("p", "a", "103"))
				case "pending clean":
					m.delete(base("p", "a", "101"), base("p", "a", "103"))
					plan, err := action.Encode(m.cfg.Layout, &action.CleanPlan{Version: 2, Policy: "KEEP_LATEST_COMMITS", Files: map[string][]action.CleanFile{
						"p": {{Path: "/somewhere/t/" + base("p", "a", "101")}, {Path: "/somewhere/t/" + base("p", "a", "103")}}}})
					if err != nil {
						t.Fatal(err)
					}
					if _, err := m.active.Request(t.Context(), "109", timeline.Clean, plan); err != nil {
						t.Fatal(err)
					}
				}
				check(t, "opened after", commitsOf(t, m.open(Options{})), "105 107")
				if how == "deleted" {
					return // nothing tells an open table that files went by hand
				}
				if _, err := tab.Reload(t.Context()); err != nil {
					t.Fatal(err)
				}
				check(t, "reloaded after", commitsOf(t, tab), "105 107")
				if _, err := tab.At(t.Context(), nil, "103"); !errors.Is(err, ErrNoSnapshot) || !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("At(103) = %v, want ErrNoSnapshot", err)
				}
				check(t, "what is left", filesOf(t, at(t, tab, "105")), base("p", "a", "105")+" "+base("p", "b", "101"))
			})
		})
	}
}

// The slice that was cleaned away breaks the commits from its own to the one before its successor, no other.
func TestOnlyCommitsOfTheMissingSliceBreak(t *testing.T) {
	eachVersion(t, tableconfig.CopyOnWrite, func(t *testing.T, m *maker) {
		m.commit(timeline.Commit, "101", "102", base("p", "a", "101"))
		m.commit(timeline.Commit, "103", "104", base("p", "b", "103"))
		m.commit(timeline.Commit, "105", "106", base("p", "b", "105"))
		m.commit(timeline.Commit, "107", "108", base("p", "c", "107"))
		m.commit(timeline.Commit, "109", "110", base("p", "b", "109"))
		m.delete(base("p", "b", "105"))
		check(t, "commits", commitsOf(t, m.open(Options{})), "101 103 109")
	})
}

func TestSavepointedCommitStays(t *testing.T) {
	eachVersion(t, tableconfig.CopyOnWrite, func(t *testing.T, m *maker) {
		m.commit(timeline.Commit, "101", "102", base("p", "a", "101"))
		m.savepoint("101", "103", base("p", "a", "101"))
		m.commit(timeline.Commit, "104", "105", base("p", "a", "104"))
		m.commit(timeline.Commit, "106", "107", base("p", "a", "106"))
		m.clean("108", "109", "106", base("p", "a", "104"))
		tab := m.open(Options{})
		check(t, "commits", commitsOf(t, tab), "101 106")
		check(t, "savepointed", filesOf(t, at(t, tab, "101")), base("p", "a", "101"))
		m.delete(base("p", "a", "101"))
		check(t, "savepointed file lost", commitsOf(t, m.open(Options{})), "106")
	})
}

// A restore takes commits away, instants and files: what is left is the restored state, and its snapshot did not change (known-fault A5).
func TestRestore(t *testing.T) {
	eachVersion(t, tableconfig.CopyOnWrite, func(t *testing.T, m *maker) {
		m.commit(timeline.Commit, "101", "102", base("p", "a", "101"))
		m.savepoint("101", "103", base("p", "a", "101"))
		m.commit(timeline.Commit, "104", "105", base("p", "a", "104"), base("q", "b", "104"))
		tab := m.open(Options{})
		check(t, "before", commitsOf(t, tab), "101 104")
		before := filesOf(t, at(t, tab, "101"))
		m.remove("104")
		m.delete(base("p", "a", "104"), base("q", "b", "104"))
		i := m.begin(timeline.Restore, "106")
		body, err := action.Encode(m.cfg.Layout, &action.RestoreMetadata{StartTime: "106", Instants: []string{"104"}, Version: 1})
		m.complete(i, "107", body, err)
		if _, err := tab.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(t, "after", commitsOf(t, tab), "101")
		check(t, "restored", filesOf(t, at(t, tab, "101")), before)
		now, err := tab.Now(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "now", filesOf(t, now), before)
	})
}

// archive moves completed instants to the history.
func (m *maker) archive(batch ...timeline.Instant) {
	m.t.Helper()
	var entries []history.Entry
	for _, i := range batch {
		body, err := m.active.Read(m.t.Context(), i)
		if err != nil {
			m.t.Fatal(err)
		}
		entries = append(entries, history.Entry{Time: i.Time, Completion: i.Completion, Action: i.Action, Metadata: body})
	}
	if err := history.New(m.st, m.cfg).Append(m.t.Context(), entries); err != nil {
		m.t.Fatal(err)
	}
	for _, i := range batch {
		m.remove(i.Time)
	}
}

// Files of instants that never completed are not there: in flight, rolled back without a trace, or somebody's copy, however old (known-faults
// A7, X8). Files of archived commits are (X1).
func TestUncommittedFilesAreHidden(t *testing.T) {
	eachVersion(t, tableconfig.CopyOnWrite, func(t *testing.T, m *maker) {
		if !m.cfg.Features.LSMHistory {
			t.Skip("archive logs are read, not written")
		}
		var old []timeline.Instant
		for _, at := range []string{"20260101000000001", "20260101000000003", "20260101000000005"} {
			old = append(old, m.commit(timeline.Commit, timeline.InstantTime(at), timeline.InstantTime(at+"9"), base("p", "g"+at[16:], at)))
		}
		m.archive(old...)
		m.put(base("p", "g1", "20260101000000002"), "zombie")
		m.put(base("p", "z", "20260101000000004"), "zombie")
		m.begin(timeline.Commit, "20260101000000006")
		m.put(base("p", "g3", "20260101000000006"), "in flight")
		m.commit(timeline.Commit, "20260101000000008", "20260101000000009", base("p", "g5", "20260101000000008"))
		m.put(base("q", "c", "20990101000000000"), "future")
		tab := m.open(Options{})
		check(t, "commits", commitsOf(t, tab), "20260101000000008")
		check(t, "files", filesOf(t, at(t, tab, "20260101000000008")),
			base("p", "g1", "20260101000000001")+" "+base("p", "g3", "20260101000000003")+" "+base("p", "g5", "20260101000000008"))
	})
}

// A group that an archived commit replaced stays replaced while its files are there: a savepoint kept them (known-fault J5).
func TestArchivedReplace(t *testing.T) {
	eachVersion(t, tableconfig.CopyOnWrite, func(t *testing.T, m *maker) {
		if !m.cfg.Features.LSMHistory {
			t.Skip("archive logs are read, not written")
		}
		first := m.commit(timeline.Commit, "20260101000000001", "20260101000000002", base("p", "a", "20260101000000001"), base("p", "k", "20260101000000001"))
		m.put(base("p", "b", "20260101000000003"), "x")
		replace := m.commitMeta(timeline.ReplaceCommit, "20260101000000003", "20260101000000004", &action.CommitMetadata{Operation: action.OpInsertOverwrite,
			Stats: stats(base("p", "b", "20260101000000003")), ReplacedFileIDs: map[string][]string{"p": {"a"}}})
		m.commit(timeline.Commit, "20260101000000005", "20260101000000006", base("q", "c", "20260101000000005"))
		want := base("p", "b", "20260101000000003") + " " + base("p", "k", "20260101000000001") + " " + base("q", "c", "20260101000000005")
		tab := m.open(Options{})
		check(t, "before", filesOf(t, at(t, tab, "20260101000000005")), want)
		m.archive(first, replace)
		if _, err := tab.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(t, "reloaded", filesOf(t, at(t, tab, "20260101000000005")), want)
		check(t, "opened anew", filesOf(t, at(t, m.open(Options{}), "20260101000000005")), want)
		m.commit(timeline.Commit, "20260101000000007", "20260101000000008", base("q", "c", "20260101000000007"))
		if _, err := tab.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(t, "one commit later", filesOf(t, at(t, tab, "20260101000000005")), want)
	})
}

func TestReplacedGroups(t *testing.T) {
	eachVersion(t, tableconfig.CopyOnWrite, func(t *testing.T, m *maker) {
		m.commit(timeline.Commit, "101", "102", base("p", "a", "101"), base("q", "b", "101"))
		m.put(base("p", "c", "103"), "x")
		m.commitMeta(timeline.ReplaceCommit, "103", "104", &action.CommitMetadata{Operation: action.OpInsertOverwrite,
			Stats: stats(base("p", "c", "103")), ReplacedFileIDs: map[string][]string{"p": {"a"}}})
		m.commitMeta(timeline.ReplaceCommit, "105", "106", &action.CommitMetadata{Operation: action.OpDeletePartition,
			ReplacedFileIDs: map[string][]string{"q": {"b"}}})
		tab := m.open(Options{})
		check(t, "101", filesOf(t, at(t, tab, "101")), base("p", "a", "101")+" "+base("q", "b", "101"))
		check(t, "103", filesOf(t, at(t, tab, "103")), base("p", "c", "103")+" "+base("q", "b", "101"))
		check(t, "105", filesOf(t, at(t, tab, "105")), base("p", "c", "103"))
		if _, err := at(t, tab, "105").Entries(t.Context(), "q"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Entries(q) of a deleted partition = %v, want fs.ErrNotExist", err)
		}
		m.clean("107", "108", "105", base("p", "a", "101"), base("q", "b", "101"))
		check(t, "cleaned", commitsOf(t, m.open(Options{})), "105")
	})
}

// Two files of one group and commit: a retried task left one, and the write stats say which counts (known-fault D6).
func TestFileOfARetriedTask(t *testing.T) {
	eachVersion(t, tableconfig.CopyOnWrite, func(t *testing.T, m *maker) {
		good := base("p", "a", "101")
		m.commit(timeline.Commit, "101", "102", good)
		m.put("p/a_0-9-9_101.parquet", "more rows")
		m.put("p/a_0-00-1_101.parquet", "more rows")
		check(t, "files", filesOf(t, at(t, m.open(Options{}), "101")), good)
	})
}

// Overlapping writers: with completion times a state holds what had completed, else what was requested before.
func TestOverlappingCommits(t *testing.T) {
	eachVersion(t, tableconfig.CopyOnWrite, func(t *testing.T, m *maker) {
		slow := m.begin(timeline.Commit, "101")
		m.put(base("p", "a", "101"), "x")
		m.commit(timeline.Commit, "103", "104", base("p", "b", "103"))
		tab := m.open(Options{})
		first := at(t, tab, "103")
		check(t, "103 alone", filesOf(t, first), base("p", "b", "103"))
		body, err := action.Encode(m.cfg.Layout, &action.CommitMetadata{Operation: action.OpUpsert, Stats: stats(base("p", "a", "101")), Extra: map[string]string{"schema": testSchema}})
		m.complete(slow, "106", body, err)
		if _, err := tab.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		both := base("p", "a", "101") + " " + base("p", "b", "103")
		if m.cfg.Features.CompletionInName {
			check(t, "order", commitsOf(t, tab), "103 101")
			check(t, "103", filesOf(t, at(t, tab, "103")), base("p", "b", "103"))
			check(t, "101", filesOf(t, at(t, tab, "101")), both)
		} else {
			check(t, "order", commitsOf(t, tab), "101 103")
			check(t, "101", filesOf(t, at(t, tab, "101")), base("p", "a", "101"))
			check(t, "103", filesOf(t, at(t, tab, "103")), both)
		}
		check(t, "the open snapshot", filesOf(t, first), base("p", "b", "103"))
	})
}

// A log that is gone breaks the commits that need it; the compaction's own state is whole.
func TestMissingLogBreaks(t *testing.T) {
	eachVersion(t, tableconfig.MergeOnRead, func(t *testing.T, m *maker) {
		name := func(at string) string { // version 6 names a log by its slice
			if m.cfg.Features.LogNamedByDelta {
				return logFile("p", "a", at)
			}
			return logFile("p", "a", "101")
		}
		m.commit(timeline.DeltaCommit, "101", "102", base("p", "a", "101"))
		m.commit(timeline.DeltaCommit, "103", "104", name("103"))
		m.commit(timeline.Commit, "105", "106", base("p", "a", "105"))
		tab := m.open(Options{})
		check(t, "101", filesOf(t, at(t, tab, "101")), base("p", "a", "101"))
		if got := filesOf(t, at(t, tab, "103")); !strings.HasSuffix(got, "+1") {
			t.Errorf("103 shows %s, want a slice with one log", got)
		}
		check(t, "optimized", filesOf(t, at(t, tab, "103").As(Optimized)), base("p", "a", "101"))
		list, err := at(t, tab, "103").Entries(t.Context(), "p")
		if err != nil || len(list) != 1 || list[0].Size != -1 {
			t.Fatalf("Entries = %+v, %v, want one file of unknown size", list, err)
		}
		if _, err := at(t, tab, "103").Stat(t.Context(), list[0]); !errors.Is(err, ErrNeedsMerge) {
			t.Errorf("Stat = %v, want ErrNeedsMerge", err)
		}
		if _, err := at(t, tab, "103").OpenFile(t.Context(), list[0]); !errors.Is(err, ErrNeedsMerge) {
			t.Errorf("OpenFile = %v, want ErrNeedsMerge", err)
		}
		m.delete(name("103"))
		check(t, "commits", commitsOf(t, m.open(Options{})), "101 105")
	})
}

// A completed instant without bytes is an error that names it, and only for states that depend on what it says.
func TestDamagedCommit(t *testing.T) {
	eachVersion(t, tableconfig.CopyOnWrite, func(t *testing.T, m *maker) {
		m.commit(timeline.Commit, "101", "102", base("p", "a", "101"))
		torn := m.commit(timeline.Commit, "103", "104", base("p", "a", "103"))
		m.commit(timeline.Commit, "105", "106", base("p", "a", "105"))
		whole, err := m.st.ReadAll(t.Context(), m.active.Path(torn))
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []int{0, 1, len(whole) / 2} {
			if _, err := m.st.Put(t.Context(), m.active.Path(torn), whole[:cut], storage.PutReplace); err != nil {
				t.Fatal(err)
			}
			tab := m.open(Options{})
			check(t, "commits", commitsOf(t, tab), "101 103 105")
			if _, err := tab.At(t.Context(), nil, "103"); !corrupt.Is(err) || !strings.Contains(err.Error(), "103") {
				t.Errorf("cut at %d: At(103) = %v, want damage that names the instant", cut, err)
			}
			check(t, "101", filesOf(t, at(t, tab, "101")), base("p", "a", "101"))
			check(t, "105", filesOf(t, at(t, tab, "105")), base("p", "a", "105"))
			if _, err := tab.Now(t.Context(), nil); !corrupt.Is(err) {
				t.Errorf("cut at %d: Now() = %v, want damage: writers must not go on", cut, err)
			}
		}
	})
}

// The listing of an open table follows new commits: new files, new partitions, also those that lack the metafile.
func TestReloadFollows(t *testing.T) {
	eachVersion(t, tableconfig.CopyOnWrite, func(t *testing.T, m *maker) {
		m.commit(timeline.Commit, "101", "102", base("p", "a", "101"))
		tab := m.open(Options{})
		first := at(t, tab, "101")
		check(t, "first", filesOf(t, first), base("p", "a", "101"))
		m.commit(timeline.Commit, "103", "104", base("p", "a", "103"), base("q/r", "b", "103"))
		m.delete("q/r/.hoodie_partition_metadata")
		if _, err := tab.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := base("p", "a", "103") + " " + base("q/r", "b", "103")
		check(t, "second", filesOf(t, at(t, tab, "103")), want)
		check(t, "opened anew", filesOf(t, at(t, m.open(Options{}), "103")), want)
		check(t, "first again", filesOf(t, at(t, tab, "101")), base("p", "a", "101"))
	})
}

// While the archiver deletes state files one by one, the newest snapshot and the state of now stay what they are (known-fault K2).
func TestArchiverHalfway(t *testing.T) {
	m := memMaker(t, 9, tableconfig.CopyOnWrite)
	var batch []timeline.Instant
	for _, k := range []string{"1", "3", "5"} {
		at := "2026010100000000" + k
		batch = append(batch, m.commit(timeline.Commit, timeline.InstantTime(at), timeline.InstantTime(at+"9"), base("p", "g"+k, at)))
	}
	m.commit(timeline.Commit, "20260101000000007", "20260101000000008", base("q", "h", "20260101000000007"))
	m.commit(timeline.Commit, "20260101000000010", "20260101000000011", base("p", "g1", "20260101000000010"))
	tab := m.open(Options{})
	want := filesOf(t, at(t, tab, "20260101000000010"))
	var entries []history.Entry
	var deletes []string
	for _, pending := range []bool{true, false} {
		for _, i := range batch {
			if pending {
				body, err := m.active.Read(t.Context(), i)
				if err != nil {
					t.Fatal(err)
				}
				entries = append(entries, history.Entry{Time: i.Time, Completion: i.Completion, Action: i.Action, Metadata: body})
				deletes = append(deletes, m.cfg.TimelineDir()+string(i.Time)+".inflight", m.cfg.TimelineDir()+string(i.Time)+".commit.requested")
			} else {
				deletes = append(deletes, m.active.Path(i))
			}
		}
	}
	if err := history.New(m.st, m.cfg).Append(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	for _, path := range deletes {
		m.delete(path)
		if _, err := tab.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, tab := range map[string]*Table{"reloaded": tab, "opened anew": m.open(Options{})} {
			check(t, name+" after deleting "+path, filesOf(t, at(t, tab, "20260101000000010")), want)
		}
	}
}
