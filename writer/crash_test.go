package writer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/rowtext"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/faultstore"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer"
	"github.com/hudifs/hudifs/writer/service"
)

const rowSchema = `{"type":"record","name":"t_record","namespace":"hoodie.t","fields":[
 {"name":"id","type":["null","string"],"default":null},{"name":"p","type":["null","string"],"default":null},
 {"name":"ts","type":["null","long"],"default":null},{"name":"v","type":["null","string"],"default":null}]}`

// source yields rows given as id|p|ts|v.
type source struct {
	s    *schema.Schema
	rows []string
	at   int
}

func (r *source) Line(i int) int64 { return int64(i) + 1 }

func (r *source) Read(dst []record.Row) (int, error) {
	meta := 0
	if r.s.HasMetaFields() {
		meta = 5
	}
	n := 0
	for ; n < len(dst) && r.at < len(r.rows); n++ {
		f := strings.Split(r.rows[r.at], "|")
		row := record.Row{}
		for c := range meta {
			row = append(row, record.Null(0, 0, c))
		}
		var ts int64
		fmt.Sscan(f[2], &ts)
		row = append(row, record.String(f[0]).Level(0, 1, meta), record.String(f[1]).Level(0, 1, meta+1), record.Int64(ts).Level(0, 1, meta+2), record.String(f[3]).Level(0, 1, meta+3))
		dst[n] = row
		r.at++
	}
	if r.at == len(r.rows) {
		return n, io.EOF
	}
	return n, nil
}

type table struct {
	t   *testing.T
	st  storage.Store
	tab *snapshot.Table
	w   *writer.Writer
}

func openTable(t *testing.T, st storage.Store, o writer.Options) (*table, error) {
	tab, err := snapshot.OpenTable(t.Context(), st, snapshot.Options{})
	if err != nil {
		return nil, err
	}
	o.Table = tab
	w, err := writer.New(o)
	if err != nil {
		return nil, err
	}
	return &table{t: t, st: st, tab: tab, w: w}, nil
}

// newTable makes an empty table of rowSchema in memory.
func newTable(t *testing.T, o tableconfig.Options) *storagetest.Mem {
	t.Helper()
	st := storagetest.NewMem()
	s, err := schema.Parse(rowSchema)
	if err != nil {
		t.Fatal(err)
	}
	if o.Name == "" {
		o.Name = "t"
	}
	if o.RecordKeys == nil {
		o.RecordKeys = []string{"id"}
	}
	if o.PartitionFields == nil {
		o.PartitionFields = []tableconfig.PartitionField{{Name: "p"}}
	}
	if _, err := writer.CreateTable(t.Context(), st, s, o); err != nil {
		t.Fatal(err)
	}
	return st
}

const mark = "test.drop"

// upsert commits rows once: when a commit with the same name is there, nothing is written.
func (tb *table) upsert(ctx context.Context, op action.WriteOperation, name string, rows ...string) error {
	b, err := tb.w.NewBatch(ctx, op)
	if err != nil {
		return err
	}
	defer b.Close()
	if _, err := b.Add(ctx, &source{s: b.Schema(), rows: rows}); err != nil {
		return err
	}
	_, err = b.Commit(ctx, writer.CommitOptions{Extra: map[string]string{mark: name}, Known: func(ctx context.Context, tl *timeline.Timeline) (timeline.Instant, bool, error) {
		all, err := tb.named(ctx, tl, name)
		if err != nil || len(all) == 0 {
			return timeline.Instant{}, false, err
		}
		return all[0], true, nil
	}})
	return err
}

func (tb *table) named(ctx context.Context, tl *timeline.Timeline, name string) (out []timeline.Instant, err error) {
	for _, i := range tl.CompletedWrites().All() {
		m, err := action.Read[action.CommitMetadata](ctx, tb.tab.Active(), i)
		if err != nil {
			return nil, err
		}
		if m.Extra[mark] == name {
			out = append(out, i)
		}
	}
	return out, nil
}

// rows reads the newest state as sorted id|p|ts|v.
func (tb *table) rows() []string {
	tb.t.Helper()
	out := []string{}
	tb.each(func(p *rowtext.Printer, r record.Row) {
		line, err := p.AppendCSV(nil, r)
		if err != nil {
			tb.t.Fatal(err)
		}
		out = append(out, strings.ReplaceAll(strings.TrimSpace(string(line)), ",", "|"))
	})
	slices.Sort(out)
	return out
}

// meta reads commit time and sequence number of the row with a key, "" where there is none.
func (tb *table) meta(key string) (found string) {
	tb.t.Helper()
	tb.each(func(_ *rowtext.Printer, r record.Row) {
		if string(r[2].ByteArray()) == key {
			found += string(r[0].ByteArray()) + " " + string(r[1].ByteArray())
		}
	})
	return found
}

// timeOf is the time of the commit with a name.
func (tb *table) timeOf(name string) timeline.InstantTime {
	tb.t.Helper()
	all, err := tb.named(tb.t.Context(), tb.tab.Timeline(), name)
	if err != nil || len(all) != 1 {
		tb.t.Fatalf("%d commits named %q (%v)", len(all), name, err)
	}
	return all[0].Time
}

// each calls fn for every row of the newest state.
func (tb *table) each(fn func(*rowtext.Printer, record.Row)) {
	tb.t.Helper()
	ctx := tb.t.Context()
	if _, err := tb.tab.Reload(ctx); err != nil {
		tb.t.Fatal(err)
	}
	s, err := tb.tab.Now(ctx, nil)
	if err != nil {
		tb.t.Fatal(err)
	}
	to, err := s.FileSchema(ctx)
	if err != nil {
		tb.t.Fatal(err)
	}
	p, err := rowtext.New(to)
	if err != nil {
		tb.t.Fatal(err)
	}
	parts, err := s.Partitions(ctx)
	if err != nil {
		tb.t.Fatal(err)
	}
	for _, dir := range parts {
		slices, err := s.Slices(ctx, dir)
		if err != nil {
			tb.t.Fatal(err)
		}
		for _, sl := range slices {
			m, _, done, err := s.MergeInput(ctx, sl)
			if err != nil {
				tb.t.Fatal(err)
			}
			rd, err := m.Records(ctx)
			if err != nil {
				tb.t.Fatal(err)
			}
			buf := make([]record.Record, 16)
			for err == nil {
				var n int
				n, err = rd.Read(ctx, buf)
				for _, r := range buf[:n] {
					fn(p, r.Row)
				}
			}
			if !errors.Is(err, io.EOF) {
				tb.t.Fatal(err)
			}
			rd.Close()
			m.Close()
			done()
		}
	}
}

// orphans lists data files that no completed write accounts for.
func (tb *table) orphans() (out []string) {
	tb.t.Helper()
	for info, err := range tb.st.List(tb.t.Context(), "", storage.ListOptions{Recursive: true}) {
		if err != nil {
			tb.t.Fatal(err)
		}
		name := filepath.Base(info.Path)
		if strings.HasPrefix(info.Path, ".hoodie/") || fsview.IsPartitionMetafile(name) {
			continue
		}
		at := timeline.InstantTime("")
		if b, err := fsview.ParseBaseFileName(name); err == nil {
			at = b.Instant
		} else if l, err := fsview.ParseLogFileName(name); err == nil && tb.tab.Config().Features.LogNamedByDelta {
			at = l.Instant
		} else if err == nil {
			continue
		}
		if !tb.tab.Timeline().IsCompleted(at) {
			out = append(out, info.Path)
		}
	}
	return out
}

func deadOwner() string {
	host, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	ns, _ := os.Readlink("/proc/self/ns/pid")
	return fmt.Sprintf("hudifs/%s/%s+%s/4194303/1", host, strings.TrimSpace(string(boot)), strings.Trim(strings.TrimPrefix(ns, "pid:"), "[]"))
}

func crashTables() map[string]tableconfig.Options {
	out := map[string]tableconfig.Options{}
	for _, v := range []int{6, 9} {
		for _, typ := range []tableconfig.TableType{tableconfig.CopyOnWrite, tableconfig.MergeOnRead} {
			out[fmt.Sprintf("v%d %s", v, typ)] = tableconfig.Options{Version: v, Type: typ, OrderingFields: []string{"ts"}}
		}
	}
	return out
}

// Writes that crash at every storage operation, before it took effect and after, are there wholly or not at all, and are there exactly once when they are tried again.
func TestCrashAtEveryOperation(t *testing.T) {
	before := []string{"a|x|1|old", "b|x|1|old", "c|y|1|old"}
	steps := map[string]struct {
		run   func(ctx context.Context, tb *table) error
		after []string
	}{
		"upsert": {func(ctx context.Context, tb *table) error {
			return tb.upsert(ctx, action.OpUpsert, "second", "a|x|2|new", "d|x|2|new", "e|z|2|new")
		}, []string{"a|x|2|new", "b|x|1|old", "c|y|1|old", "d|x|2|new", "e|z|2|new"}},
		"delete": {func(ctx context.Context, tb *table) error {
			return tb.upsert(ctx, action.OpDelete, "second", "a|x|0|", "c|y|0|")
		}, []string{"b|x|1|old"}},
		"compaction": {func(ctx context.Context, tb *table) error {
			if tb.tab.Config().Type == tableconfig.CopyOnWrite {
				return nil
			}
			_, err := tb.w.ScheduleCompaction(ctx, service.CompactionOptions{})
			if err != nil && !errors.Is(err, service.ErrNothingToDo) {
				return err
			}
			_, err = tb.w.ExecuteCompactions(ctx)
			return err
		}, nil},
	}
	for name, o := range crashTables() {
		for step, s := range steps {
			if step == "compaction" && o.Type == tableconfig.CopyOnWrite {
				continue
			}
			t.Run(name+" "+step, func(t *testing.T) {
				t.Parallel()
				start, before, after := beforeCrash(t, o, before, s.after)
				crashed := 0
				for _, when := range []faultstore.When{faultstore.Before, faultstore.After} {
					for n := 0; ; n++ {
						if !crashOnce(t, start.Clone(), before, after, s.run, n, when) {
							break
						}
						crashed++
					}
				}
				if crashed < 12 {
					t.Errorf("%d crash points were reached, want at least 12: the sweep does not sweep", crashed)
				}
			})
		}
	}
}

// beforeCrash makes the table that each crash begins with, and says which rows may be seen then.
func beforeCrash(t *testing.T, o tableconfig.Options, before, after []string) (st *storagetest.Mem, old, done []string) {
	t.Helper()
	st = newTable(t, o)
	first, err := openTable(t, st, writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.upsert(t.Context(), action.OpUpsert, "first", before...); err != nil {
		t.Fatal(err)
	}
	if after != nil {
		return st, before, after
	}
	// Compaction: give it something to compact.
	if err := first.upsert(t.Context(), action.OpUpsert, "logged", "a|x|3|logged"); err != nil {
		t.Fatal(err)
	}
	return st, first.rows(), first.rows()
}

// crashOnce runs a step that crashes at operation n; false where it ended before.
func crashOnce(t *testing.T, st storage.Store, before, after []string, run func(context.Context, *table) error, n int, when faultstore.When) bool {
	t.Helper()
	faults := faultstore.New(st)
	tb, err := openTable(t, faults, writer.Options{Owner: deadOwner(), Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	faults.CrashAt(faultstore.Mutation, n, when)
	err = run(t.Context(), tb)
	if !faults.Crashed() {
		if err != nil {
			t.Fatalf("without a crash: %v", err)
		}
		return false
	}
	at := fmt.Sprintf("crash at write %d (%v)", n, when)

	again, oerr := openTable(t, st, writer.Options{})
	if oerr != nil {
		t.Fatalf("%s: reopen: %v", at, oerr)
	}
	got := again.rows()
	if !slices.Equal(got, before) && !slices.Equal(got, after) {
		t.Fatalf("%s: half visible: rows %q", at, got)
	}
	if err == nil && !slices.Equal(got, after) {
		t.Fatalf("%s: acknowledged and lost: rows %q", at, got)
	}
	if rerr := again.w.Recover(t.Context()); rerr != nil {
		t.Fatalf("%s: recover: %v", at, rerr)
	}
	if rerr := run(t.Context(), again); rerr != nil {
		t.Fatalf("%s: again: %v", at, rerr)
	}
	if got := again.rows(); !slices.Equal(got, after) {
		t.Fatalf("%s: after trying again: rows %q, want %q", at, got, after)
	}
	if all, err := again.named(t.Context(), again.tab.Timeline(), "second"); err != nil || len(all) > 1 {
		t.Fatalf("%s: committed %d times (%v)", at, len(all), err)
	}
	if p := again.tab.Timeline().Pending(); p.Len() > 0 {
		t.Fatalf("%s: pending afterwards: %v", at, p.All())
	}
	if o := again.orphans(); len(o) > 0 {
		t.Fatalf("%s: files of no commit: %q", at, o)
	}
	return true
}
