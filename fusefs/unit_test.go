package fusefs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/hudifs/hudifs/internal/corrupt"
)

func TestErrno(t *testing.T) {
	for _, c := range []struct {
		err  error
		want syscall.Errno
	}{
		{nil, 0},
		{fs.ErrNotExist, syscall.ENOENT},
		{fmt.Errorf("open x: %w", &fs.PathError{Err: syscall.ENOENT}), syscall.ENOENT},
		{fs.ErrExist, syscall.EEXIST},
		{fs.ErrPermission, syscall.EACCES},
		{corrupt.At("a.parquet", 4, "no footer"), syscall.EIO},
		{corrupt.At("a.parquet", -1, "half of it: %w", fs.ErrNotExist), syscall.EIO},
		{fmt.Errorf("write: %w", syscall.ENOSPC), syscall.ENOSPC},
		{syscall.EDQUOT, syscall.EDQUOT},
		{syscall.EMFILE, syscall.ENFILE},
		{syscall.ESTALE, syscall.EIO},
		{context.Canceled, syscall.EINTR},
		{errKilled, syscall.EINTR},
		{context.DeadlineExceeded, syscall.EIO},
		{errTooSlow, syscall.EIO},
		{errStopping, syscall.EIO},
		{errors.New("anything"), syscall.EIO},
		{fmt.Errorf("drop: %w", fakeRefusal(RefusedSealed)), syscall.EPERM},
		{fakeRefusal(RefusedBusy), syscall.EBUSY},
		{fakeRefusal(RefusedNotEmpty), syscall.ENOTEMPTY},
		{fakeRefusal(RefusedNoSpace), syscall.ENOSPC},
		{fakeRefusal(RefusedTooBig), syscall.EFBIG},
		{fakeRefusal(RefusedRejected), syscall.EINVAL},
		{fakeRefusal(RefusedReadOnly), syscall.EROFS},
		{fakeRefusal(RefusedStorage), syscall.EIO},
		{fakeRefusal(RefusedIsDir), syscall.EISDIR},
		{fakeRefusal(RefusedNotDir), syscall.ENOTDIR},
		{fakeRefusal("something new"), syscall.EIO},
	} {
		if got := errno(c.err); got != c.want {
			t.Errorf("errno(%v) = %v, want %v", c.err, got, c.want)
		}
	}
}

func TestFailuresAreLoggedOnceAMinute(t *testing.T) {
	var b strings.Builder
	now := time.Unix(0, 0)
	f := testFS(t, Config{Log: slog.New(slog.NewTextHandler(&b, nil))})
	f.failures.now = func() time.Time { return now }
	lines := func() int { return strings.Count(b.String(), "\n") }
	for range 5 {
		f.fail("open", "snapshots/1/a", errors.New("gone bad"))
	}
	if lines() != 1 {
		t.Errorf("five equal failures wrote %d lines, want 1", lines())
	}
	f.fail("open", "snapshots/1/b", errors.New("gone bad"))
	if lines() != 2 {
		t.Errorf("another file's failure: %d lines, want 2", lines())
	}
	now = now.Add(logAgain)
	f.fail("open", "snapshots/1/a", errors.New("gone bad"))
	if lines() != 3 {
		t.Errorf("after a minute: %d lines, want 3", lines())
	}
	for i := range 3 * maxRecent {
		f.fail("open", fmt.Sprint(i), errors.New("x"))
	}
	if n := len(f.failures.mu.recent); n > maxRecent {
		t.Errorf("the log remembers %d failures, want at most %d", n, maxRecent)
	}
	if !strings.Contains(b.String(), "snapshots/1/a") || !strings.Contains(b.String(), "gone bad") || !strings.Contains(b.String(), "op=open") {
		t.Error("a line lacks path, cause or operation")
	}
}

func testFS(t *testing.T, c Config) *FS {
	t.Helper()
	if c.Source == nil {
		s := newFakeSource(t.TempDir())
		standardTable(s)
		c.Source = s
	}
	f, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	commits, err := c.Source.Commits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.state.Store(newState(commits))
	return f
}

// TestInodeCollisions gives every key the same hash: they must still get numbers of their own.
func TestInodeCollisions(t *testing.T) {
	f := testFS(t, Config{})
	gofs.NewNodeFS(f.root, &gofs.Options{})
	tab := f.inodes
	tab.hash = func(s string) uint64 { return 1 << 40 << strings.Count(s, "\x00") } // differs by the number of tries alone
	fresh := func(b nodeBase) knownNode { return &linkNode{readOnly: readOnly{b}} }
	a := tab.node(t.Context(), &f.root.Inode, f, kindLink, "a", syscall.S_IFLNK, fresh)
	b := tab.node(t.Context(), &f.root.Inode, f, kindLink, "b", syscall.S_IFLNK, fresh)
	if a.base().ino == b.base().ino {
		t.Fatalf("two things have inode %d", a.base().ino)
	}
	if again := tab.node(t.Context(), &f.root.Inode, f, kindLink, "a", syscall.S_IFLNK, fresh); again != a {
		t.Error("the same key gave another inode")
	}
	if tab.peek(kindLink, "b") != b.base().ino || tab.peek(kindLink, "a") != a.base().ino {
		t.Error("peek and node disagree")
	}
	if tab.lookup(kindLink, "b") != b || tab.lookup(kindLink, "c") != nil {
		t.Error("lookup finds the wrong inode")
	}
	b.(*linkNode).OnForget()
	if tab.lookup(kindLink, "b") != nil || tab.size() != 1 {
		t.Error("a forgotten inode is still there")
	}
}

func TestInodeNumbersAreSane(t *testing.T) {
	tab := newInodeTable("file:///t")
	for _, h := range []uint64{0, 1, firstIno - 1, ^uint64(0)} {
		tab.hash = func(string) uint64 { return h }
		if n := tab.number("k", 0); n < firstIno || n == ^uint64(0) {
			t.Errorf("hash %d gives inode %d", h, n)
		}
	}
	other := newInodeTable("file:///u")
	if newInodeTable("file:///t").peek(kindFile, "k") == other.peek(kindFile, "k") {
		t.Error("two tables' files have the same number")
	}
	if other.peek(kindFile, "k") == other.peek(kindDir, "k") {
		t.Error("a file and a directory have the same number")
	}
}

const statLine = "4242 (a b) c) S 1 4242 4242 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 100 1000 10 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 1 1 1 1 1 1 1 "

func TestParseStat(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags int
		code  int
		want  exitState
	}{
		{"running", 0x400000, 0, exitState{}},
		{"running with an old code", 0x400000, 9, exitState{}},
		{"exits", 0x400004, 0, exitState{exiting: true}},
		{"exits with 3", 0x400004, 768, exitState{exiting: true}},
		{"killed", 0x400404, 9, exitState{exiting: true, killed: true, signal: 9}},
		{"dumped core", 0x400404, 11 | 0x80, exitState{exiting: true, killed: true, signal: 11}},
	} {
		line := strings.Replace(statLine, "4194560", fmt.Sprint(c.flags), 1) + fmt.Sprint(c.code) + "\n"
		if got, err := parseStat(line); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "1", "1 (x)", "1 (x) S 1 2", strings.Replace(statLine, "4194560", "x", 1) + "0", statLine + "x"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("parseStat(%q) succeeded", bad)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add(statLine + "9")
	f.Add("1 (x) S")
	f.Fuzz(func(t *testing.T, s string) {
		e, err := parseStat(s)
		if err != nil && e != (exitState{}) {
			t.Errorf("an error comes with %+v", e)
		}
	})
}

func TestProcs(t *testing.T) {
	p := procs{root: "/proc"}
	me := uint32(os.Getpid())
	if got := p.process(uint32(syscall.Gettid())); got != me {
		t.Errorf("process of this thread = %d, want %d", got, me)
	}
	if p.process(0) != 0 || p.process(1<<30) != 1<<30 {
		t.Error("an unknown thread is not itself")
	}
	if p.dying(me) || p.dying(0) {
		t.Error("this process is said to be dying")
	}
	file, err := os.CreateTemp(t.TempDir(), "held")
	if err != nil {
		t.Fatal(err)
	}
	st, _ := file.Stat()
	ino, name := st.Sys().(*syscall.Stat_t).Ino, filepath.Base(file.Name())
	if !p.holds(me, ino, name, true) {
		t.Error("an open file is not found")
	}
	if p.holds(me, ino+1, name, true) {
		t.Error("a file of the same name and another inode counts")
	}
	if p.holds(me, ino, name, false) {
		t.Error("no child holds the file")
	}
	file.Close()
	if p.holds(me, ino, name, true) {
		t.Error("a closed file is found")
	}
	if !p.holds(1<<30, ino, name, true) {
		t.Error("where nothing can be seen, the file must count as held")
	}
}

func TestParseMounts(t *testing.T) {
	const text = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
90 22 0:44 / /mnt/a\040b rw,nosuid,nodev shared:2 master:3 - fuse.hudifs hudifs:trips\134x rw,user_id=0
short line
91 22 0:45 / /mnt/c rw - tmpfs tmpfs rw
`
	got, err := parseMounts(strings.NewReader(text))
	if err != nil || len(got) != 3 {
		t.Fatalf("parseMounts = %+v, %v", got, err)
	}
	if got[1] != (MountInfo{Point: "/mnt/a b", Type: Type, Source: `hudifs:trips\x`, ID: 90}) {
		t.Errorf("second mount = %+v", got[1])
	}
	for in, want := range map[string]string{`a\040b`: "a b", `a\`: `a\`, `a\9`: `a\9`, `\134`: `\`, `x\0401`: "x 1"} {
		if got := unescape(in); got != want {
			t.Errorf("unescape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCheckMountpoint(t *testing.T) {
	base := t.TempDir()
	for _, d := range []string{"table/p=1", "mnt", "cache", "other/deep"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink(filepath.Join(base, "table"), filepath.Join(base, "link"))
	in := func(p string) string { return filepath.Join(base, p) }
	for _, c := range []struct {
		at string
		ok bool
	}{
		{"mnt", true}, {"other", true}, {"other/deep", true},
		{"table", false}, {"table/p=1", false}, {"", false}, {"link", false}, {"link/p=1", false}, {"cache", false}, {"nothing", false},
	} {
		err := CheckMountpoint(in(c.at), in("table"), in("cache"), in("not made yet"))
		if (err == nil) != c.ok {
			t.Errorf("CheckMountpoint(%q) = %v, want ok=%v", c.at, err, c.ok)
		}
		if err != nil && !errors.Is(err, ErrMount) {
			t.Errorf("CheckMountpoint(%q) = %v, want a mount problem", c.at, err)
		}
	}
	if err := checkEmpty(in("mnt"), false); err != nil {
		t.Errorf("checkEmpty of an empty directory = %v", err)
	}
	if err := checkEmpty(in("other"), false); err == nil {
		t.Error("checkEmpty of a full directory succeeded")
	}
	if err := checkEmpty(in("other"), true); err != nil {
		t.Errorf("checkEmpty with leave = %v", err)
	}
	os.WriteFile(in("file"), nil, 0o644)
	if err := checkEmpty(in("file"), true); err == nil {
		t.Error("a file is taken for a mountpoint")
	}
}

func TestBindMountIsSeenThrough(t *testing.T) {
	base := t.TempDir()
	table, bound := filepath.Join(base, "table"), filepath.Join(base, "bound")
	os.MkdirAll(filepath.Join(table, "sub"), 0o755)
	os.Mkdir(bound, 0o755)
	if err := syscall.Mount(table, bound, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("no bind mounts here: %v", err)
	}
	defer syscall.Unmount(bound, syscall.MNT_DETACH)
	for _, at := range []string{bound, filepath.Join(bound, "sub")} {
		if err := CheckMountpoint(at, table); err == nil {
			t.Errorf("CheckMountpoint(%s) with the table bound there succeeded", at)
		}
	}
}

func TestCache(t *testing.T) {
	f := testFS(t, Config{})
	c := cache[int, string]{max: 3}
	loads := map[int]int{}
	var mu sync.Mutex
	get := func(k int) (string, error) {
		return c.get(t.Context(), f, f.openWait(), k, func(context.Context) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			loads[k]++
			if k < 0 {
				return "", errors.New("no")
			}
			return fmt.Sprint(k), nil
		})
	}
	for _, k := range []int{1, 2, 3, 1, 4, 1, 2} { // 4 drops 2, the least recently used; 2 then drops 3
		if v, err := get(k); err != nil || v != fmt.Sprint(k) {
			t.Errorf("get(%d) = %q, %v", k, v, err)
		}
	}
	for k, want := range map[int]int{1: 1, 2: 2, 3: 1, 4: 1} {
		if loads[k] != want {
			t.Errorf("%d was loaded %d times, want %d", k, loads[k], want)
		}
	}
	for range 2 {
		if _, err := get(-1); err == nil {
			t.Error("a failed load succeeded")
		}
	}
	if loads[-1] != 2 {
		t.Errorf("a failed load was kept: %d loads, want 2", loads[-1])
	}
	c.drop(1)
	get(1)
	if loads[1] != 2 {
		t.Error("a dropped value came back")
	}
	c.dropIf(func(int) bool { return true })
	if c.mu.total != 0 || len(c.mu.slots) != 0 || c.mu.order.Len() != 0 {
		t.Errorf("after dropping everything: total %d, %d slots, %d in order", c.mu.total, len(c.mu.slots), c.mu.order.Len())
	}
}

func TestCacheLoadsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFS(t, Config{})
		c := cache[int, int]{max: 10}
		loads := 0
		release := make(chan struct{})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				v, err := c.get(t.Context(), f, f.openWait(), 1, func(context.Context) (int, error) { loads++; <-release; return 7, nil })
				if v != 7 || err != nil {
					t.Errorf("get = %d, %v", v, err)
				}
			})
		}
		synctest.Wait()
		close(release)
		wg.Wait()
		if loads != 1 {
			t.Errorf("ten at once loaded %d times", loads)
		}
	})
}

// TestAwait is the rule how long a request waits.
func TestAwait(t *testing.T) {
	long := func(d time.Duration) func(context.Context) (int, error) {
		return func(context.Context) (int, error) { time.Sleep(d); return 1, nil }
	}
	for _, c := range []struct {
		name    string
		w       waiting
		work    time.Duration
		signal  time.Duration // 0: none
		wantErr error
		want    time.Duration // how long the request waits
	}{
		{"quick", waiting{limit: time.Minute}, time.Millisecond, 0, nil, time.Millisecond},
		{"too slow", waiting{limit: time.Second}, time.Hour, 0, errTooSlow, time.Second},
		{"a signal, soon done", waiting{limit: time.Minute}, 500 * time.Millisecond, 100 * time.Millisecond, nil, 500 * time.Millisecond},
		{"a signal, long work", waiting{limit: time.Minute}, time.Hour, 100 * time.Millisecond, context.Canceled, 100*time.Millisecond + patience},
		{"a signal, firm", waiting{limit: time.Minute, firm: true}, 30 * time.Second, 100 * time.Millisecond, nil, 30 * time.Second},
		{"a signal, firm, too slow", waiting{limit: time.Minute, firm: true}, time.Hour, 100 * time.Millisecond, errTooSlow, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := testFS(t, Config{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.signal > 0 {
					time.AfterFunc(c.signal, cancel)
				}
				begin := time.Now()
				_, err := await(ctx, f, c.w, long(c.work), nil)
				if !errors.Is(err, c.wantErr) || time.Since(begin) != c.want {
					t.Errorf("await = %v after %v, want %v after %v", err, time.Since(begin), c.wantErr, c.want)
				}
				f.work.Wait()
			})
		})
	}
}

func TestAwaitClosesWhatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFS(t, Config{})
		closed := 0
		_, err := await(t.Context(), f, waiting{limit: time.Second}, func(context.Context) (int, error) { time.Sleep(time.Minute); return 5, nil },
			func(n int) { closed = n })
		if !errors.Is(err, errTooSlow) {
			t.Errorf("await = %v", err)
		}
		f.work.Wait()
		if closed != 5 {
			t.Error("the late result was not taken care of")
		}
	})
}

func TestAwaitEndsWithTheMount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFS(t, Config{})
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := await(t.Context(), f, waiting{limit: time.Hour, firm: true}, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }, nil)
			if !errors.Is(err, errStopping) {
				t.Errorf("await = %v, want that the mount ends", err)
			}
		})
		synctest.Wait()
		f.stop()
		wg.Wait()
		f.end()
		f.work.Wait()
	})
}

// fakeKernel records notifications.
type fakeKernel struct {
	mu   sync.Mutex
	sent []string
	busy func() // called while a notification is sent
}

func (k *fakeKernel) EntryNotify(parent uint64, name string) fuse.Status {
	if k.busy != nil {
		k.busy()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sent = append(k.sent, name)
	return fuse.ENOENT // the kernel did not know it: as good
}
func (k *fakeKernel) DeleteNotify(uint64, uint64, string) fuse.Status         { return fuse.OK }
func (k *fakeKernel) InodeNotify(uint64, int64, int64) fuse.Status            { return fuse.OK }
func (k *fakeKernel) InodeNotifyStoreCache(uint64, int64, []byte) fuse.Status { return fuse.OK }
func (k *fakeKernel) InodeRetrieveCache(uint64, int64, []byte) (int, fuse.Status) {
	return 0, fuse.OK
}

// TestNotifications runs the mount without a kernel: what is told, after the new state can be seen, by one goroutine.
func TestNotifications(t *testing.T) {
	s := newFakeSource(t.TempDir())
	standardTable(s)
	f := testFS(t, Config{Source: s, Views: map[string]View{"csv": "csv"}})
	k := &fakeKernel{}
	raw := gofs.NewNodeFS(f.root, &gofs.Options{ServerCallbacks: k, RootStableAttr: &gofs.StableAttr{Ino: 1, Mode: syscall.S_IFDIR}})
	lookup := func(parent uint64, name string) (fuse.EntryOut, fuse.Status) {
		var out fuse.EntryOut
		st := raw.Lookup(nil, &fuse.InHeader{NodeId: parent}, name, &out)
		return out, st
	}
	snaps, _ := lookup(1, "snapshots")
	csv, _ := lookup(1, "csv")
	for _, c := range []struct {
		parent uint64
		name   string
		ttl    time.Duration
	}{{1, "latest", longTTL}, {snaps.NodeId, "20261129100000000", longTTL}, {csv.NodeId, "latest", longTTL}} {
		if out, st := lookup(c.parent, c.name); st != fuse.OK || out.EntryTimeout() != c.ttl {
			t.Errorf("lookup %s = %v, kept for %v; want %v", c.name, st, out.EntryTimeout(), c.ttl)
		}
	}
	if out, st := lookup(snaps.NodeId, "20261129120000000"); st != fuse.ENOENT || out.EntryTimeout() != 0 {
		t.Errorf("lookup of a commit to come = %v, kept for %v; want ENOENT, not kept", st, out.EntryTimeout())
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { f.serve(ctx) })
	k.busy = func() {
		// Whoever is told to forget must find the new state.
		if c, _ := f.state.Load().latest(); c.Instant != "20261129120000000" {
			t.Errorf("told while the latest commit is %s", c.Instant)
		}
	}
	s.commit("20261129120000000", fakeFile{path: "x", key: "x", data: "x"})
	s.remove("20261129100000000")
	if err := f.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	want := "20261129100000000 20261129100000000 latest latest"
	if got := strings.Join(slices.Sorted(slices.Values(k.sent)), " "); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	// Nothing new: nothing told, and the old state stays when the storage is down.
	k.sent = nil
	f.Refresh(ctx)
	s.mu.Lock()
	s.mu.err = errStorage
	s.mu.Unlock()
	f.Refresh(ctx)
	if len(k.sent) != 0 {
		t.Errorf("told %q without a change", k.sent)
	}
	if _, ok := f.state.Load().latest(); !ok {
		t.Error("a failed look emptied the mount")
	}
	cancel()
	wg.Wait()
}

func TestRefreshSharesReloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reloads := 0
		hold := make(chan struct{})
		f := testFS(t, Config{Reload: func(context.Context) error { reloads++; <-hold; return nil }})
		gofs.NewNodeFS(f.root, &gofs.Options{ServerCallbacks: &fakeKernel{}})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { f.serve(ctx) })
		var callers sync.WaitGroup
		callers.Go(func() { f.Refresh(ctx) })
		synctest.Wait()
		for range 20 {
			callers.Go(func() { f.Refresh(ctx) })
		}
		synctest.Wait()
		close(hold)
		callers.Wait()
		if reloads != 2 {
			t.Errorf("21 refreshes read the timeline %d times, want 2", reloads)
		}
		cancel()
		wg.Wait()
	})
}

func TestBackingTriesEachDiskOnce(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var b backing
	if b.ok(file) {
		t.Error("without a server a file passes through")
	}
	tries, answer := 0, false
	b.mu.devs = map[uint64]bool{}
	b.mu.try = func(int) bool { tries++; return answer }
	if b.ok(file) || b.ok(file) || tries != 1 {
		t.Errorf("a disk that fails: tried %d times, want 1", tries)
	}
	answer = true
	if b.ok(file) {
		t.Error("the answer for a disk changed: its open files would give EIO")
	}
	if b.ok(dir) || tries != 1 {
		t.Error("a directory was tried")
	}
}

func TestNewWithoutSource(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("New without a source succeeded")
	}
}
