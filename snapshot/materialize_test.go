package snapshot

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/filecache"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
)

// slurp reads an entry whole.
func slurp(t *testing.T, s *Snapshot, e Entry) []byte {
	t.Helper()
	f, err := s.OpenFile(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size+1))
	if err != nil || int64(len(data)) != f.Size {
		t.Fatalf("%s: %d bytes, want %d, %v", e.Path, len(data), f.Size, err)
	}
	return data
}

// checkText reads the text views of a snapshot: all its rows, a header per CSV file, and only what reads back.
func checkText(t *testing.T, s *Snapshot, rows int) {
	t.Helper()
	sc, err := s.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fields := sc.Root().Fields
	lines, records := 0, 0
	for _, e := range entriesBelow(t, s.As(JSONL), "") {
		for line := range bytes.Lines(slurp(t, s.As(JSONL), e)) {
			var row map[string]any
			if err := json.Unmarshal(line, &row); err != nil || len(row) != len(fields) {
				t.Fatalf("%s: line %s has %d fields, want %d: %v", e.Path, line, len(row), len(fields), err)
			}
			lines++
		}
	}
	for _, e := range entriesBelow(t, s.As(CSV), "") {
		all, err := csv.NewReader(bytes.NewReader(slurp(t, s.As(CSV), e))).ReadAll()
		if err != nil || len(all) == 0 || len(all[0]) != len(fields) || all[0][0] != fields[0].Name {
			t.Fatalf("%s: header %v, %v", e.Path, all, err)
		}
		records += len(all) - 1
	}
	if lines != rows || records != rows {
		t.Errorf("%s: %d JSON lines and %d CSV records, want %d", s, lines, records, rows)
	}
}

// A made file has the same bytes whenever it is made, and its size is known after a restart without making it again.
func TestMadeFilesAreDeterministic(t *testing.T) {
	dir := t.TempDir()
	open := func() *filecache.Cache {
		c, err := filecache.Open(dir, 1<<30, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const instant = "20251220210128625"
	cache := open()
	tab, _ := openReal(t, "mor_avro_v8_trips_8i3u1d", Options{Cache: cache})
	s := at(t, tab, instant)
	var wg sync.WaitGroup
	var first [][]byte
	for _, e := range entriesBelow(t, s, "") {
		if len(e.slice.Logs) == 0 {
			continue
		}
		for range 8 {
			wg.Go(func() {
				if f, err := s.OpenFile(t.Context(), e); err != nil {
					t.Error(err)
				} else {
					f.Close()
				}
			})
		}
		wg.Wait()
		first = append(first, slurp(t, s, e))
	}
	if len(first) < 2 {
		t.Fatalf("%d merged files, want some", len(first))
	}
	if err := cache.Close(); err != nil {
		t.Fatal(err)
	}
	cache = open()
	tab, err := OpenTable(t.Context(), tab.st, Options{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	s = at(t, tab, instant)
	k := 0
	for _, e := range entriesBelow(t, s, "") {
		if len(e.slice.Logs) == 0 {
			continue
		}
		if e.Size != int64(len(first[k])) {
			t.Errorf("%s: size %d after a restart, want %d remembered", e.Path, e.Size, len(first[k]))
		}
		k++
	}
	cache.Close()
	other, _ := openReal(t, "mor_avro_v8_trips_8i3u1d", Options{Cache: testCache(t)})
	k = 0
	for _, e := range entriesBelow(t, at(t, other, instant), "") {
		if len(e.slice.Logs) > 0 {
			if !bytes.Equal(slurp(t, at(t, other, instant), e), first[k]) {
				t.Errorf("%s has other bytes when made again", e.Path)
			}
			k++
		}
	}
}

// A waiting caller can leave; the file is made all the same.
func TestLeavingCaller(t *testing.T) {
	tab, _ := openReal(t, "mor_avro_v6_trips_8i1u", Options{Cache: testCache(t)})
	last, _, err := tab.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := at(t, tab, last.Time)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, e := range entriesBelow(t, s, "") {
		if len(e.slice.Logs) == 0 {
			continue
		}
		if f, err := s.OpenFile(gone, e); err == nil {
			f.Close() // it was quick enough
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("OpenFile under an ended context = %v", err)
		}
		slurp(t, s, e)
	}
	made, err := s.Prepare(t.Context(), 1<<20)
	if err != nil || made != 0 {
		t.Errorf("Prepare of a prepared snapshot made %d files, %v", made, err)
	}
}

// Prepare makes what a reader of the newest commit will ask for, within its budget.
func TestPrepare(t *testing.T) {
	tab, _ := openReal(t, "mor_avro_v6_trips_8i1u", Options{Cache: testCache(t)})
	last, _, err := tab.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := at(t, tab, last.Time)
	if made, err := s.Prepare(t.Context(), 1); made != 0 || err != nil {
		t.Errorf("Prepare(1 byte) made %d files, %v", made, err)
	}
	if made, err := s.Prepare(t.Context(), 1<<30); made != 1 || err != nil {
		t.Errorf("Prepare made %d files, %v, want 1", made, err)
	}
	for _, e := range entriesBelow(t, s, "") {
		if e.Size < 0 {
			t.Errorf("%s has no size after Prepare", e.Path)
		}
	}
}

// A log file with damaged structure is an error for its slice alone, or its damaged block is passed over as Java does; never a panic.
func TestDamagedBaseUnderLogs(t *testing.T) {
	tab, _ := openReal(t, "mor_avro_v6_trips_8i1u", Options{Cache: testCache(t)})
	last, _, err := tab.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := at(t, tab, last.Time)
	for _, e := range entriesBelow(t, s, "") {
		if len(e.slice.Logs) == 0 {
			slurp(t, s, e)
			continue
		}
		f, err := tab.st.(interface {
			OpenLocal(context.Context, string) (*os.File, error)
		}).OpenLocal(t.Context(), e.slice.File.Path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(f.Name(), e.slice.File.Size-5); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if _, err := s.OpenFile(t.Context(), e); !errors.Is(err, ErrExpired) {
			t.Errorf("OpenFile over a cut base file = %v, want ErrExpired", err)
		}
		data := bytes.Repeat([]byte{'x'}, int(e.slice.File.Size))
		if err := os.WriteFile(f.Name(), data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := s.OpenFile(t.Context(), e); !corrupt.Is(err) || !strings.Contains(err.Error(), e.slice.File.Path) {
			t.Errorf("OpenFile over garbage = %v, want damage that names the file", err)
		}
	}
}

// rowsFile writes a parquet file with rows of a schema, without meta columns.
func rowsFile(t *testing.T, text string, rows ...[]any) string {
	t.Helper()
	s, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := parquetfile.NewWriter(&out, s, parquetfile.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sh := record.NewShredder(s)
	for _, r := range rows {
		row, err := sh.Shred(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteRow(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Base files of an older schema: one that lacks a nullable column stays as it is unless asked otherwise; after a drop or a type change it
// is shown under the newer schema, and under its own in the older snapshot.
func TestOlderSchemas(t *testing.T) {
	const (
		v1 = `{"type":"record","name":"r","fields":[{"name":"id","type":"long"},{"name":"n","type":["null","int"],"default":null},{"name":"old","type":["null","string"],"default":null}]}`
		v2 = `{"type":"record","name":"r","fields":[{"name":"id","type":"long"},{"name":"n","type":["null","int"],"default":null},{"name":"old","type":["null","string"],"default":null},{"name":"new","type":["null","string"],"default":null}]}`
		v3 = `{"type":"record","name":"r","fields":[{"name":"id","type":"long"},{"name":"n","type":["null","string"],"default":null},{"name":"old","type":["null","string"],"default":null},{"name":"new","type":["null","string"],"default":null}]}`
		v4 = `{"type":"record","name":"r","fields":[{"name":"id","type":"long"},{"name":"n","type":["null","string"],"default":null},{"name":"new","type":["null","string"],"default":null}]}`
	)
	m, _ := localMaker(t, tableconfig.Options{NoMetaFields: true})
	m.schema = v1
	a := base("p", "a", "101")
	m.put(a, rowsFile(t, v1, []any{int64(1), int32(7), "x"}))
	m.commitNoFiles(timeline.Commit, "101", "102", a)
	for k, sc := range []string{v2, v3, v4} {
		m.schema = sc
		i := []string{"103", "105", "107"}[k]
		m.commitNoFiles(timeline.Commit, timeline.InstantTime(i), timeline.InstantTime(i+"9"))
	}
	want := map[timeline.InstantTime]string{
		"101": `{"id":1,"n":7,"old":"x"}`,
		"103": `{"id":1,"n":7,"old":"x","new":null}`,
		"105": `{"id":1,"n":"7","old":"x","new":null}`,
		"107": `{"id":1,"n":"7","new":null}`,
	}
	for _, unify := range []bool{false, true} {
		tab := m.open(Options{Cache: testCache(t), UnifySchema: unify})
		for i, row := range want {
			s := at(t, tab, i)
			e, err := s.Lookup(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			if asIs := i == "101" || i == "103" && !unify; e.asIs != asIs {
				t.Errorf("unify %v: at %s the file is shown as it lies: %v, want %v", unify, i, e.asIs, asIs)
			}
			pf, err := parquetfile.Open(bytes.NewReader(slurp(t, s, e)), e.Size, e.Path)
			if e.Size < 0 {
				data := slurp(t, s, e)
				pf, err = parquetfile.Open(bytes.NewReader(data), int64(len(data)), e.Path)
			}
			if err != nil {
				t.Fatal(err)
			}
			if to, err := s.Schema(t.Context()); err != nil || !e.asIs && !pf.Schema().Equal(to) {
				t.Errorf("unify %v: the file at %s has schema %s, want the table's", unify, i, pf.Schema())
			}
			for _, e := range entriesBelow(t, s.As(JSONL), "") {
				check(t, "row at "+string(i), strings.TrimSpace(string(slurp(t, s.As(JSONL), e))), row)
			}
		}
	}
}
