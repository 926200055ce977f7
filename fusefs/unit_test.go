package fusefs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"

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
	file.Truncate(1)
	mapped, err := syscall.Mmap(int(file.Fd()), 0, 1, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if !p.holds(me, ino, name, true) {
		t.Error("a file that is mapped and closed is not found")
	}
	syscall.Munmap(mapped)
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
	first, second := b.ok(file), b.ok(file)
	if first || second || tries != 1 {
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
