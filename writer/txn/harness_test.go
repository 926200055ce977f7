package txn_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer/lock/memlock"
	"github.com/hudifs/hudifs/writer/txn"
)

// fileID is a file group of the tests; files named by it are what writes leave.
const fileID = "11111111-2222-4333-8444-555555555555-0"

type table struct {
	t      *testing.T
	st     storage.Store
	cfg    *tableconfig.Config
	active *timeline.Active
	lock   *memlock.Table
}

func newTable(t *testing.T, version int) *table {
	t.Helper()
	st := storagetest.NewMem()
	cfg, err := tableconfig.Create(t.Context(), st, tableconfig.Options{Name: "t", Type: tableconfig.MergeOnRead, Version: version, RecordKeys: []string{"id"}, UTC: true,
		PartitionFields: []tableconfig.PartitionField{{Name: "p"}}, OrderingFields: []string{"ts"}})
	if err != nil {
		t.Fatal(err)
	}
	return &table{t: t, st: st, cfg: cfg, active: timeline.NewActive(st, cfg), lock: &memlock.Table{}}
}

// over is the same table behind another store.
func (tb *table) over(st storage.Store) *table {
	return &table{t: tb.t, st: st, cfg: tb.cfg, active: timeline.NewActive(st, tb.cfg), lock: tb.lock}
}

func (tb *table) manager(change func(*txn.Options)) *txn.Manager {
	o := txn.Options{Store: tb.st, Config: tb.cfg, Active: tb.active, Lock: tb.lock}
	if change != nil {
		change(&o)
	}
	return txn.NewManager(o)
}

func (tb *table) begin(m *txn.Manager, a timeline.Action) *txn.Txn {
	tb.t.Helper()
	x, err := m.Begin(tb.t.Context(), a, nil)
	if err != nil {
		tb.t.Fatal(err)
	}
	tb.t.Cleanup(func() { _ = x.Leave(tb.t.Context()) })
	return x
}

// write makes the transaction inflight and writes one base file, marked first.
func (tb *table) write(x *txn.Txn, partition, id, token string) action.WriteStat {
	tb.t.Helper()
	ctx := tb.t.Context()
	if x.Instant().State == timeline.Requested {
		if err := x.Start(ctx, nil); err != nil {
			tb.t.Fatal(err)
		}
	}
	name := id + "_" + token + "_" + string(x.Time()) + ".parquet"
	if err := x.MarkCreate(ctx, partition, name); err != nil {
		tb.t.Fatal(err)
	}
	tb.put(partition+"/"+name, "rows")
	return action.WriteStat{FileID: id, Path: partition + "/" + name, PartitionPath: partition, PrevCommit: action.NullCommit, NumWrites: 1, FileSizeInBytes: 4}
}

func (tb *table) put(path, body string) {
	tb.t.Helper()
	if _, err := tb.st.Put(tb.t.Context(), path, []byte(body), storage.PutReplace); err != nil {
		tb.t.Fatal(err)
	}
}

func result(stats ...action.WriteStat) *action.CommitMetadata {
	m := &action.CommitMetadata{Operation: action.OpUpsert, Stats: map[string][]action.WriteStat{}, Extra: map[string]string{}}
	for _, s := range stats {
		m.Stats[s.PartitionPath] = append(m.Stats[s.PartitionPath], s)
	}
	return m
}

func (tb *table) commit(x *txn.Txn, r *action.CommitMetadata) error {
	tb.t.Helper()
	body, err := action.Encode(tb.active.Layout(), r)
	if err != nil {
		tb.t.Fatal(err)
	}
	_, err = x.Commit(tb.t.Context(), r, body, nil)
	return err
}

func (tb *table) timeline() *timeline.Timeline {
	tb.t.Helper()
	tl, err := tb.active.Load(tb.t.Context())
	if err != nil {
		tb.t.Fatal(err)
	}
	return tl
}

// wantState checks in which state the instant of x is; "" says that it is gone.
func (tb *table) wantState(at timeline.InstantTime, a timeline.Action, want string) {
	tb.t.Helper()
	got := ""
	if i, ok := tb.timeline().FindAction(at, a); ok {
		got = i.State.String()
	}
	if got != want {
		tb.t.Errorf("instant %s %s is %q, want %q", at, a, got, want)
	}
}

// rollbacks are the times of rollbacks, and how many of them are not completed.
func (tb *table) rollbacks() (times []string, pending int) {
	for _, i := range tb.timeline().Filter(func(i timeline.Instant) bool { return i.Action == timeline.Rollback }).All() {
		times = append(times, string(i.Time))
		if i.State != timeline.Completed {
			pending++
		}
	}
	return times, pending
}

// paths lists what lies in the table below prefix, without instants and properties.
func (tb *table) paths(prefix string) []string {
	tb.t.Helper()
	out := []string{}
	for info, err := range tb.st.List(tb.t.Context(), "", storage.ListOptions{Recursive: true}) {
		if err != nil {
			tb.t.Fatal(err)
		}
		if strings.HasPrefix(info.Path, prefix) && (prefix != "" || !strings.HasPrefix(info.Path, ".hoodie/")) && !strings.HasSuffix(info.Path, ".hoodie_partition_metadata") {
			out = append(out, info.Path)
		}
	}
	return out
}

func (tb *table) wantPaths(prefix string, want ...string) {
	tb.t.Helper()
	slices.Sort(want)
	if got := tb.paths(prefix); !slices.Equal(got, append([]string{}, want...)) {
		tb.t.Errorf("files below %q:\n%q, want\n%q", prefix, got, want)
	}
}

// deadOwner names a process of this machine that does not run.
func deadOwner() string {
	host, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	ns, _ := os.Readlink("/proc/self/ns/pid")
	return fmt.Sprintf("hudifs/%s/%s+%s/4194303/1", host, strings.TrimSpace(string(boot)), strings.Trim(strings.TrimPrefix(ns, "pid:"), "[]"))
}

func dies(o *txn.Options) { o.Owner = deadOwner() }

// stillFor is the age at which a pending write without a heartbeat counts as failed in these tests: at once.
func stillFor(d time.Duration) func(*txn.Options) {
	return func(o *txn.Options) { o.Abandoned = d }
}
