package snapshot

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// A table whose columns were renamed, dropped and widened by ALTER TABLE: every snapshot shows every file under its own schema.
const (
	evolved1 = `{"type":"record","name":"r","fields":[{"name":"id","type":"long"},{"name":"name","type":["null","string"],"default":null},{"name":"old","type":["null","int"],"default":null},
		{"name":"st","type":["null",{"type":"record","name":"s","fields":[{"name":"a","type":["null","int"],"default":null}]}],"default":null}]}`
	evolved2 = `{"type":"record","name":"r","fields":[{"name":"id","type":"long"},{"name":"title","type":["null","string"],"default":null},
		{"name":"st","type":["null",{"type":"record","name":"s","fields":[{"name":"b","type":["null","long"],"default":null}]}],"default":null},{"name":"added","type":["null","int"],"default":null}]}`
	evolvedHistory = `{"schemas":[
		{"max_column_id":6,"version_id":%s,"type":"record","fields":[{"id":0,"name":"id","type":"long"},{"id":1,"name":"title","type":"string"},{"id":3,"name":"st","type":{"type":"record","fields":[{"id":4,"name":"b","type":"long"}]}},{"id":5,"name":"%s","type":"int"}]},
		{"max_column_id":4,"version_id":0,"type":"record","fields":[{"id":0,"name":"id","type":"long"},{"id":1,"name":"name","type":"string"},{"id":2,"name":"old","type":"int"},{"id":3,"name":"st","type":{"type":"record","fields":[{"id":4,"name":"a","type":"int"}]}}]}]}`
)

func evolvedTable(t *testing.T, m *maker, added string) string {
	t.Helper()
	file := base("p", "a", "20260101000000001")
	m.schema = evolved1
	m.put(file, rowsFile(t, evolved1, []any{int64(1), "x", int32(7), []any{int32(5)}}))
	m.commitNoFiles(timeline.Commit, "20260101000000001", "20260101000000002", file)
	second := base("p", "b", "20260101000000005")
	m.schema = strings.Replace(evolved2, `"added"`, `"`+added+`"`, 1)
	m.put(second, rowsFile(t, m.schema, []any{int64(2), "y", []any{int64(6)}, int32(8)}))
	for _, c := range []struct {
		at, done timeline.InstantTime
		op       action.WriteOperation
		paths    []string
	}{{"20260101000000003", "20260101000000004", action.OpAlterSchema, nil}, {"20260101000000005", "20260101000000006", action.OpUpsert, []string{second}}} {
		name := timeline.Instant{Time: c.at, Completion: c.done, Action: timeline.SchemaCommit, State: timeline.Completed}.FileName(m.cfg.Layout)
		if _, err := m.st.Put(t.Context(), schemaFolder+name, []byte(fmt.Sprintf(evolvedHistory, "20260101000000003", added)), storage.PutReplace); err != nil {
			t.Fatal(err)
		}
		i := m.begin(timeline.Commit, c.at)
		body, err := action.Encode(m.cfg.Layout, &action.CommitMetadata{Operation: c.op, Stats: stats(c.paths...),
			Extra: map[string]string{action.ExtraSchema: m.schema, action.ExtraLatestSchema: "{}"}})
		m.complete(i, c.done, body, err)
	}
	return file
}

func TestRenamedColumns(t *testing.T) {
	for _, version := range versions {
		t.Run(fmt.Sprint("v", version), func(t *testing.T) {
			m, _ := localMaker(t, tableconfig.Options{Version: version, NoMetaFields: true})
			evolvedTable(t, m, "added")
			tab := m.open(Options{Cache: testCache(t)})
			for instant, want := range map[timeline.InstantTime]string{
				"20260101000000001": `{"id":1,"name":"x","old":7,"st":{"a":5}}`,
				"20260101000000003": `{"id":1,"title":"x","st":{"b":5},"added":null}`,
				"20260101000000005": `{"id":1,"title":"x","st":{"b":5},"added":null} {"id":2,"title":"y","st":{"b":6},"added":8}`,
			} {
				s := at(t, tab, instant)
				var got []string
				for _, e := range entriesBelow(t, s.As(JSONL), "") {
					got = append(got, strings.TrimSpace(string(slurp(t, s.As(JSONL), e))))
				}
				check(t, "text at "+string(instant), strings.Join(got, " "), want)
				to, err := s.Schema(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entriesBelow(t, s, "") {
					f, err := s.OpenFile(t.Context(), e)
					if err != nil {
						t.Fatal(err)
					}
					rows := readParquet(t, f, e.Path, to)
					f.Close()
					if len(rows) != 1 || strings.Contains(rows[0], `"title":null`) || strings.Contains(rows[0], `"b":null`) {
						t.Errorf("%s at %s has rows %v", e.Path, instant, rows)
					}
				}
			}
		})
	}
}

// A new column took the name of a dropped one: files from before must not fill it, and as nothing here can tell the two apart by name, they
// are errors; files from after are not.
func TestReusedColumnName(t *testing.T) {
	m, _ := localMaker(t, tableconfig.Options{NoMetaFields: true})
	file := evolvedTable(t, m, "old")
	tab := m.open(Options{Cache: testCache(t)})
	check(t, "before the ALTER", filesOf(t, at(t, tab, "20260101000000001")), file)
	s := at(t, tab, "20260101000000005")
	for _, e := range entriesBelow(t, s, "") {
		f, err := s.OpenFile(t.Context(), e)
		if e.Name[0] == 'a' && !errors.Is(err, tableconfig.ErrUnsupported) {
			t.Errorf("OpenFile(%s) = %v, want ErrUnsupported", e.Path, err)
		}
		if e.Name[0] == 'b' && err != nil {
			t.Errorf("OpenFile(%s) = %v", e.Path, err)
		}
		if err == nil {
			f.Close()
		}
	}
}

func TestDamagedSchemaHistory(t *testing.T) {
	whole := fmt.Sprintf(evolvedHistory, "20260101000000003", "added")
	if _, err := parseEvolution("x", []byte(whole)); err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if e, err := parseEvolution("x", []byte(whole[:n])); err == nil || !corrupt.Is(err) {
			t.Fatalf("history cut at %d = %+v, %v, want damage", n, e, err)
		}
	}
	deep := `{"schemas":[{"version_id":0,"fields":[{"id":1,"name":"a","type":` + strings.Repeat(`{"type":"array","element":`, 10_000) + `"int"` + strings.Repeat("}", 10_000) + `}]}]}`
	if _, err := parseEvolution("x", []byte(deep)); !corrupt.Is(err) {
		t.Errorf("endless nesting = %v, want damage", err)
	}
}

func FuzzParseEvolution(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(evolvedHistory, "20260101000000003", "added")))
	f.Add([]byte(`{"schemas":[{"version_id":1,"fields":[{"id":1,"name":"m","type":{"type":"map","value":{"type":"record","fields":[]}}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parseEvolution("x", data)
		if err != nil {
			return
		}
		v := e.of("2026")
		e.mixedUp(v.root, e.versions[0].root)
	})
}
