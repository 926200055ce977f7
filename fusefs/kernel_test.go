package fusefs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/posixtest"
)

// passesThrough says whether this machine can pass files through, by what the mount itself found.
func passesThrough(t *testing.T, m *mounted) bool {
	t.Helper()
	before := m.ask("state").Pass
	m.run("cat $M/latest/city=sf/a.parquet")
	return m.ask("state").Pass > before
}

func TestPassthrough(t *testing.T) {
	m := mount(t, childConfig{})
	if !passesThrough(t, m) {
		t.Skip("no passthrough here: the kernel is older than 6.9, or we are not root")
	}
	// Reads by every means agree with the file, also many at once and with the backing file gone.
	p := m.path("latest/city=la/m.parquet")
	f, err := os.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Remove(filepath.Join(m.dir, "table", "m2")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	if n, err := f.ReadAt(b, 7); n != 4 || err != nil || string(b) != "rows" {
		t.Errorf("ReadAt after the table's file was removed = %d, %v, %q", n, err, b)
	}
	if off, err := f.Seek(-4, 2); err != nil || off != 7 {
		t.Errorf("seek from the end = %d, %v; want 7", off, err)
	}
	mm, err := syscall.Mmap(int(f.Fd()), 0, 11, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil || string(mm) != "merged rows" {
		t.Errorf("mmap = %q, %v", mm, err)
	}
	defer syscall.Munmap(mm)
	if _, err := os.Open(m.path("snapshots/20261129110000000/city=la/m.parquet")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a new open of the removed file = %v, want not exist", err)
	}
}

// TestPlainReads is the fall-back, with the same answers.
func TestPlainReads(t *testing.T) {
	m := mount(t, childConfig{Plain: true})
	if passesThrough(t, m) {
		t.Fatal("passthrough is on although the test has switched it off")
	}
	p := m.path("latest/city=la/b.parquet")
	want := "newer rows of b"
	for range 3 {
		got, err := os.ReadFile(p)
		if err != nil || string(got) != want {
			t.Fatalf("ReadFile = %q, %v", got, err)
		}
	}
	f, err := os.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 4)
	if _, err := f.ReadAt(b, 6); err != nil || string(b) != "rows" {
		t.Errorf("ReadAt = %q, %v", b, err)
	}
	mm, err := syscall.Mmap(int(f.Fd()), 0, len(want), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil || string(mm) != want {
		t.Errorf("mmap = %q, %v", mm, err)
	}
	defer syscall.Munmap(mm)
	m.run("cmp $M/latest/city=la/b.parquet $M/latest/city=la/b.parquet; for i in 1 2 3 4 5 6 7 8; do cat $M/latest/city=sf/a.parquet & done; wait")
}

// TestManyFiles lists 10,000 files: attributes come with the names, later listings are the kernel's own business, and after the
// kernel has lost its inodes one listing brings them back.
func TestManyFiles(t *testing.T) {
	const files = 10_000
	m := mount(t, childConfig{Files: files})
	dir := m.path("snapshots/20261129100000000")
	count := func(script string) {
		t.Helper()
		begin := time.Now()
		if got := m.run(script); got != fmt.Sprint(files) {
			t.Errorf("%s = %s, want %d", script, got, files)
		}
		t.Logf("%-40s %v", script, time.Since(begin))
	}
	lookups := func() int {
		n, err := strconv.Atoi(m.run("sed -n 's/^hudifs_mount_lookups_total //p' $M/.hudifs/metrics"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const pathOnly = 10 // requests for the names on the way there
	count("ls -U $M/latest/ | wc -l")
	count("ls -l $M/latest/ | grep -c parquet")
	first := lookups()
	for range 3 {
		count("ls -l $M/latest/ | grep -c parquet")
	}
	count("find $M/latest/ -type f -size 10c | wc -l")
	if now := lookups(); now > first+pathOnly {
		t.Errorf("warm listings asked for names: %d before, %d after", first, now)
	}
	if n := m.ask("state").Calls["openfile"] + m.ask("state").Calls["stat"]; n != 0 {
		t.Errorf("listings opened or computed %d files", n)
	}
	if m.ask("state").Inodes < files {
		t.Fatalf("the kernel holds %d inodes, want all", m.ask("state").Inodes)
	}
	if !dropCaches() {
		t.Skip("cannot make the kernel forget")
	}
	s := m.until("the kernel to forget", func(s childState) bool { return s.Inodes < files/2 })
	before := lookups()
	count("ls -l $M/latest/ | grep -c parquet")
	if now := m.ask("state").Inodes; now < files {
		t.Errorf("after a listing the kernel holds %d inodes again, want all (it had %d)", now, s.Inodes)
	}
	if now := lookups(); now > before+pathOnly {
		t.Errorf("refilling took one request per name: %d before, %d after", before, now)
	}
	count("ls -l $M/latest/ | grep -c parquet")
	var st syscall.Stat_t
	if err := syscall.Stat(filepath.Join(dir, "part-09999.parquet"), &st); err != nil || st.Size != 10 {
		t.Errorf("stat = %+v, %v", st, err)
	}
}

// dropCaches makes the kernel forget inodes and names it does not need.
func dropCaches() bool {
	return os.WriteFile("/proc/sys/vm/drop_caches", []byte("2"), 0) == nil
}

func TestManyCommits(t *testing.T) {
	m := mount(t, childConfig{Commits: 10_000})
	begin := time.Now()
	if got := m.run("ls $M/snapshots | wc -l"); got != "10000" {
		t.Errorf("snapshots listed = %s, want 10000", got)
	}
	t.Logf("listing 10,000 snapshots: %v", time.Since(begin))
	if n := m.ask("state").Calls["open"]; n != 0 {
		t.Errorf("listing snapshots opened %d", n)
	}
	if got := m.run("cat $M/latest/a.parquet $M/snapshots/20261129000000000/a.parquet"); got != "01234567890123456789" {
		t.Errorf("first and last commit hold %q", got)
	}
}

// TestForgettingAndFinding hammers look-ups while the kernel forgets, so that inodes go and come back.
func TestForgettingAndFinding(t *testing.T) {
	m := mount(t, childConfig{Files: 200})
	if !dropCaches() {
		t.Skip("cannot make the kernel forget")
	}
	stop := make(chan struct{})
	done := make(chan error, 4)
	for w := range 4 {
		go func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				p := m.path("latest", fmt.Sprintf("part-%05d.parquet", (i*7+w*50)%200))
				b, err := os.ReadFile(p)
				if err != nil || string(b) != "0123456789" {
					done <- fmt.Errorf("%s: %q, %w", p, b, err)
					return
				}
				if i%50 == 0 {
					os.ReadDir(m.path("latest"))
				}
			}
		}()
	}
	for range 30 {
		dropCaches()
		m.ask("state")
	}
	close(stop)
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestPosix runs the FUSE library's conformance tests on an ingest directory, whose names there never commit.
func TestPosix(t *testing.T) {
	left := map[string]string{
		"DirSeek":             "uses symbolic links", // and needs them for its names
		"Link":                "hard links are refused",
		"LinkUnlinkRename":    "hard links are refused",
		"SetattrSymlink":      "symbolic links are refused",
		"SymlinkReadlink":     "symbolic links are refused",
		"OpenSymlinkRace":     "symbolic links are refused",
		"XAttr":               "there are no extended attributes",
		"XAttrLarge":          "there are no extended attributes",
		"FcntlFlockLocksFile": "locks are the kernel's own; the test wants to see them from the server",
	}
	for _, plain := range []bool{false, true} {
		m := mount(t, childConfig{Plain: plain})
		for name, fn := range posixtest.All {
			if left[name] != "" {
				continue
			}
			t.Run(fmt.Sprintf("%s/plain=%v", name, plain), func(t *testing.T) {
				dir := m.path("ingest", strings.ToLower(name))
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				fn(t, dir)
			})
		}
		m.end()
	}
}

// TestStaleMountIsReplaced: after kill -9 the same mount command works again.
func TestStaleMountIsReplaced(t *testing.T) {
	dir, at := t.TempDir(), t.TempDir()
	m := mount(t, childConfig{Dir: dir, Mountpoint: at})
	m.kill()
	if _, err := os.Stat(at); !errors.Is(err, syscall.ENOTCONN) {
		t.Fatalf("stat of a dead mount = %v, want ENOTCONN", err)
	}
	again := mount(t, childConfig{Dir: dir, Mountpoint: at})
	again.run("ls $M/snapshots")
	n := 0
	all, err := Mounts()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Point == at {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d mounts at the place, want 1", n)
	}
	// A living mount is not replaced.
	if _, err := ReplaceStale(at); !errors.Is(err, ErrMount) || !strings.Contains(err.Error(), "already") {
		t.Errorf("ReplaceStale of a living mount = %v", err)
	}
}

func TestUnmount(t *testing.T) {
	m := mount(t, childConfig{})
	f, err := os.Open(m.path("latest/city=sf/a.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	err = Unmount(m.at, false)
	if !errors.Is(err, syscall.EBUSY) || !errors.Is(err, ErrMount) || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("unmounting a mount in use = %v, want EBUSY and who holds it", err)
	}
	if err := Unmount(m.at, true); err != nil {
		t.Errorf("lazy unmount = %v", err)
	}
	if _, err := os.Stat(m.path("latest")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after a lazy unmount the place still shows %v", err)
	}
	b := make([]byte, 9)
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != "rows of a" {
		t.Errorf("the open file reads %q, %v", b, err)
	}
	f.Close()
	// With its last user the mount ends, and so does the process that served it.
	done := make(chan error, 1)
	m.ended = true
	go func() { m.in.Close(); done <- m.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the mount process goes on")
		m.kill()
	}
	if err := Unmount(m.at, false); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("unmounting a directory = %v, want EINVAL", err)
	}
}

// TestEndWhileInUse: SIGTERM's way out does not depend on the users of the mount.
func TestEndWhileInUse(t *testing.T) {
	m := mount(t, childConfig{})
	f, err := os.Open(m.path("latest/city=sf/a.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	begin := time.Now()
	m.end()
	if d := time.Since(begin); d > 10*time.Second {
		t.Errorf("ending took %v", d)
	}
	if i, ok, _ := MountedAt(m.at); ok {
		t.Errorf("the mount is still there: %+v", i)
	}
}

// TestTar reads a whole snapshot with a tool that checks sizes against what it reads.
func TestTar(t *testing.T) {
	m := mount(t, childConfig{Files: 50})
	out, err := exec.Command("tar", "c", "-C", m.path("latest")+"/", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out, []byte("0123456789")); n < 50 {
		t.Errorf("the archive holds %d files, want 50", n)
	}
}
