package fusefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMountTree(t *testing.T) {
	m := mount(t, childConfig{})
	for _, c := range []struct{ script, want string }{
		{"ls $M", "README.txt\ncsv\ningest\nlatest\noperations\nsnapshots\ntimeline"},
		{"ls -A $M", ".hudifs\nREADME.txt\ncsv\ningest\nlatest\noperations\nsnapshots\ntimeline"},
		{"ls $M/snapshots", "20261129100000000\n20261129110000000"},
		{"ls $M/csv", "20261129100000000\n20261129110000000\nlatest"},
		{"readlink $M/latest", "snapshots/20261129110000000"},
		{"readlink $M/csv/latest", "20261129110000000"},
		{"cat $M/latest/city=la/b.parquet", "newer rows of b"},
		{"cat $M/snapshots/20261129100000000/city=la/b.parquet", "rows of b"},
		{"cat $M/csv/latest/city=sf/a.parquet", "rows of a"},
		{"cat $M/latest/city=la/m.parquet", "merged rows"},
		{"stat -c %s $M/latest/city=la/m.parquet", "11"},
		{"cat $M/at/20261129105959999/city=la/b.parquet", "rows of b"},
		{"readlink $M/at/20261129110000000", "../snapshots/20261129110000000"},
		{"ls $M/at", ""},
		{"ls $M/timeline", "20261129100000000.commit.completed.json\n20261129110000000.commit.completed.json"},
		{"cat $M/timeline/20261129100000000.commit.completed.json", `{"instant":"20261129100000000.commit.completed.json"}`},
		{"ls $M/operations", "delete"},
		{"ls $M/ingest", ""},
		{"cat $M/.hudifs/health", "ok"},
		{"ls $M/.hudifs", "broken\nhealth\ningest.log\nmetrics\nrejected"},
		{"grep -c hudifs_mount_opens_total $M/.hudifs/metrics", "3"},
		{"cat $M/.hudifs/ingest.log", ""},
		{"find $M/snapshots -type f ! -name '*.parquet'", ""},
		{"find $M -maxdepth 1 -type d | wc -l", "7"},
		{"stat -c %a $M/latest/city=sf/a.parquet $M/latest/city=sf", "444\n555"},
		{"stat -c %Y $M/latest/city=sf/a.parquet", fmt.Sprint(fakeEpoch.Unix())},
		{"stat -c %Y $M/snapshots/20261129110000000", fmt.Sprint(fakeEpoch.Add(time.Minute).Unix())},
		{"echo $M/*/.hudifs* | grep -c '*'", "1"},
	} {
		if got := m.run(c.script); got != c.want {
			t.Errorf("%s =\n%s\nwant\n%s", c.script, got, c.want)
		}
	}
	readme := m.run("cat $M/README.txt")
	for _, want := range []string{"trips", "20261129110000000", "cp new.csv ingest/", "operations/delete/"} {
		if !strings.Contains(readme, want) {
			t.Errorf("README.txt does not say %q", want)
		}
	}
	for _, missing := range []string{"changes", "nothing", "snapshots/20200101000000000", "snapshots/x", "at/2020", "latest/city=la/x", "latest/x/y", "ingest/x", ".hudifs/x", "timeline/x", ".hudifs/rejected/x"} {
		if _, err := os.Stat(m.path(missing)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("stat %s = %v, want not exist", missing, err)
		}
	}
}

// TestListingMergesNothing holds names against attributes: only the second may make files.
func TestListingMergesNothing(t *testing.T) {
	m := mount(t, childConfig{})
	m.run("ls -U $M/latest/city=la; find $M/snapshots -type f; ls $M/latest/city=la/*")
	m.run("for i in 1 2 3; do ls $M/snapshots/20261129110000000/city=la >/dev/null; done")
	if n := m.ask("state").Calls["openfile"]; n != 0 {
		t.Errorf("listing opened %d files", n)
	}
	m.run("stat $M/latest/city=la/m.parquet")
	s := m.ask("state")
	if s.Calls["stat"] == 0 {
		t.Error("stat did not compute the size")
	}
	m.run("stat $M/latest/city=la/m.parquet; ls -l $M/latest/city=la/m.parquet; cat $M/latest/city=la/m.parquet")
	if got := m.ask("state").Calls["stat"]; got != s.Calls["stat"] {
		t.Errorf("the size was computed %d times more", got-s.Calls["stat"])
	}
}

func TestDamageStaysWithItsFile(t *testing.T) {
	m := mount(t, childConfig{})
	if out, code := m.sh("cat $M/latest/city=la/torn.parquet"); code == 0 || !strings.Contains(out, "Input/output error") {
		t.Errorf("reading a damaged file: exit %d, %s; want an I/O error", code, out)
	}
	if out, code := m.sh("cat $M/.hudifs/broken"); code == 0 || !strings.Contains(out, "Input/output error") {
		t.Errorf("reading a broken control file: exit %d, %s; want an I/O error", code, out)
	}
	m.run("cat $M/latest/city=la/b.parquet $M/latest/city=la/m.parquet && ls -l $M/latest/city=la")
}

// TestSnapshotsRefuseEveryChange tries each operation on each kind of place that nobody may change.
func TestSnapshotsRefuseEveryChange(t *testing.T) {
	m := mount(t, childConfig{})
	m.run("echo rows > $M/ingest/.staged")
	snap := m.path("snapshots", "20261129110000000")
	file := filepath.Join(snap, "city=sf", "a.parquet")
	now := []syscall.Timeval{{Sec: 1}, {Sec: 1}}
	ops := map[string]func() error{
		"create":             func() error { return open(filepath.Join(snap, "new"), os.O_CREATE|os.O_WRONLY) },
		"create deep":        func() error { return open(filepath.Join(snap, "city=sf", "new"), os.O_CREATE|os.O_EXCL|os.O_RDWR) },
		"open for writing":   func() error { return open(file, os.O_WRONLY) },
		"open for both":      func() error { return open(file, os.O_RDWR) },
		"open to append":     func() error { return open(file, os.O_WRONLY|os.O_APPEND) },
		"open to truncate":   func() error { return open(file, os.O_RDONLY|os.O_TRUNC) },
		"truncate":           func() error { return os.Truncate(file, 0) },
		"rename inside":      func() error { return os.Rename(file, filepath.Join(snap, "b")) },
		"rename dir":         func() error { return os.Rename(filepath.Join(snap, "city=sf"), filepath.Join(snap, "x")) },
		"rename out":         func() error { return os.Rename(file, m.path("ingest", "a.csv")) },
		"rename in":          func() error { return os.Rename(m.path("ingest", ".staged"), filepath.Join(snap, "s")) },
		"rename commit":      func() error { return os.Rename(snap, m.path("snapshots", "20300101000000000")) },
		"rename latest":      func() error { return os.Rename(m.path("latest"), m.path("newest")) },
		"rename readme":      func() error { return os.Rename(m.path("README.txt"), m.path("ingest", "r.csv")) },
		"link":               func() error { return os.Link(file, filepath.Join(snap, "l")) },
		"symlink":            func() error { return os.Symlink("x", filepath.Join(snap, "l")) },
		"mknod":              func() error { return syscall.Mknod(filepath.Join(snap, "p"), syscall.S_IFIFO|0o600, 0) },
		"unlink":             func() error { return syscall.Unlink(file) },
		"unlink latest":      func() error { return syscall.Unlink(m.path("latest")) },
		"unlink readme":      func() error { return syscall.Unlink(m.path("README.txt")) },
		"unlink timeline":    func() error { return syscall.Unlink(m.path("timeline", "20261129100000000.commit.completed.json")) },
		"unlink control":     func() error { return syscall.Unlink(m.path(".hudifs", "health")) },
		"mkdir":              func() error { return syscall.Mkdir(filepath.Join(snap, "d"), 0o755) },
		"mkdir in root":      func() error { return syscall.Mkdir(m.path("d"), 0o755) },
		"mkdir snapshots":    func() error { return syscall.Mkdir(m.path("snapshots", "20300101000000000"), 0o755) },
		"mkdir at":           func() error { return syscall.Mkdir(m.path("at", "0"), 0o755) },
		"mkdir operations":   func() error { return syscall.Mkdir(m.path("operations", "x"), 0o755) },
		"mkdir control":      func() error { return syscall.Mkdir(m.path(".hudifs", "x"), 0o755) },
		"rmdir":              func() error { return syscall.Rmdir(filepath.Join(snap, "city=sf")) },
		"rmdir snapshot":     func() error { return syscall.Rmdir(snap) },
		"rmdir ingest":       func() error { return syscall.Rmdir(m.path("ingest")) },
		"chmod":              func() error { return syscall.Chmod(file, 0o644) },
		"chmod dir":          func() error { return syscall.Chmod(snap, 0o755) },
		"chown":              func() error { return syscall.Chown(file, 1, 1) },
		"utimens":            func() error { return syscall.Utimes(file, now) },
		"utimens dir":        func() error { return syscall.Utimes(filepath.Join(snap, "city=sf"), now) },
		"setxattr":           func() error { return syscall.Setxattr(file, "user.x", []byte("1"), 0) },
		"setxattr dir":       func() error { return syscall.Setxattr(snap, "user.x", []byte("1"), 0) },
		"removexattr":        func() error { return syscall.Removexattr(file, "user.x") },
		"access for writing": func() error { return syscall.Access(file, 2) },
		"create in root":     func() error { return open(m.path("x"), os.O_CREATE|os.O_WRONLY) },
		"create in at":       func() error { return open(m.path("at", "0"), os.O_CREATE|os.O_WRONLY) },
		"create control":     func() error { return open(m.path(".hudifs", "x"), os.O_CREATE|os.O_WRONLY) },
		"create rejected":    func() error { return open(m.path(".hudifs", "rejected", "x"), os.O_CREATE|os.O_WRONLY) },
		"create timeline":    func() error { return open(m.path("timeline", "x"), os.O_CREATE|os.O_WRONLY) },
		"create in view":     func() error { return open(m.path("csv", "latest", "x"), os.O_CREATE|os.O_WRONLY) },
		"write readme":       func() error { return open(m.path("README.txt"), os.O_WRONLY) },
		"write health":       func() error { return open(m.path(".hudifs", "health"), os.O_WRONLY|os.O_TRUNC) },
		"write log":          func() error { return open(m.path(".hudifs", "ingest.log"), os.O_WRONLY|os.O_APPEND) },
		"tmpfile":            func() error { return open(snap, 0o20200000|os.O_RDWR) },
	}
	for name, op := range ops {
		if err := op(); !errors.Is(err, syscall.EROFS) {
			t.Errorf("%s = %v, want EROFS", name, err)
		}
	}
	if out, code := m.sh("find $M/latest/ -delete"); code == 0 || !strings.Contains(out, "Read-only file system") {
		t.Errorf("find -delete: exit %d, %s", code, out)
	}
	if out, code := m.sh("mv $M/latest/city=sf/a.parquet $M/../moved-out"); code == 0 {
		t.Errorf("mv out of a snapshot: exit 0, %s", out)
	}
	os.Remove(filepath.Join(m.at, "..", "moved-out"))
	if got := m.run("cat " + file); got != "rows of a" {
		t.Errorf("after all that the file holds %q", got)
	}
	if err := syscall.Setxattr(m.path("ingest", ".staged"), "user.x", []byte("1"), 0); !errors.Is(err, syscall.ENOTSUP) {
		t.Errorf("setxattr on a drop = %v, want ENOTSUP", err)
	}
	if _, err := syscall.Getxattr(file, "user.x", nil); !errors.Is(err, syscall.ENOTSUP) {
		t.Errorf("getxattr = %v, want ENOTSUP", err)
	}
}

func open(p string, flags int) error {
	fd, err := syscall.Open(p, flags, 0o644)
	if err == nil {
		syscall.Close(fd)
	}
	return err
}

func TestReadOnlyMount(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  childConfig
	}{{"read-only", childConfig{ReadOnly: true}}, {"without ingest", childConfig{NoIngest: true}}} {
		t.Run(c.name, func(t *testing.T) {
			m := mount(t, c.cfg)
			if out, code := m.sh("echo x > $M/ingest/a.csv"); code == 0 || !strings.Contains(out, "Read-only file system") {
				t.Errorf("dropping: exit %d, %s; want EROFS", code, out)
			}
			for _, script := range []string{"mkdir $M/ingest/d", "touch $M/ingest/x", "ln -s x $M/ingest/y"} {
				if out, code := m.sh(script); code == 0 || !strings.Contains(out, "Read-only file system") {
					t.Errorf("%s: exit %d, %s; want EROFS", script, code, out)
				}
			}
			m.run("ls -la $M/ingest && cat $M/latest/city=sf/a.parquet")
			if got := m.run("cat $M/README.txt"); !strings.Contains(got, "takes no drops") {
				t.Error("README.txt does not say that nothing can be dropped")
			}
		})
	}
}

// TestInodes holds the identity of files: one slice is one inode in all snapshots, and the same number after a remount.
func TestInodes(t *testing.T) {
	dir := t.TempDir()
	m := mount(t, childConfig{Dir: dir})
	inode := func(m *mounted, p string) uint64 {
		t.Helper()
		var st syscall.Stat_t
		if err := syscall.Stat(m.path(p), &st); err != nil {
			t.Fatal(err)
		}
		return st.Ino
	}
	const s1, s2 = "snapshots/20261129100000000/", "snapshots/20261129110000000/"
	same1, same2 := inode(m, s1+"city=sf/a.parquet"), inode(m, s2+"city=sf/a.parquet")
	if same1 != same2 {
		t.Errorf("one slice has inodes %d and %d", same1, same2)
	}
	if inode(m, s1+"city=la/b.parquet") == inode(m, s2+"city=la/b.parquet") {
		t.Error("two slices have one inode")
	}
	if inode(m, "csv/20261129100000000/city=sf/a.parquet") == same1 {
		t.Error("a rendering has the inode of the file it renders")
	}
	if got := m.run("du -s --apparent-size -B1 $M/snapshots/20261129100000000/city=sf $M/snapshots/20261129110000000/city=sf | cut -f1"); got != fmt.Sprintf("%d\n%d", 9+blockSize, blockSize) {
		t.Errorf("du of two snapshots with one file = %q, want the file counted once", got)
	}
	// The numbers of a listing are those of stat.
	if got, want := m.run("ls -iU $M/"+s2+"city=sf"), fmt.Sprintf("%d a.parquet", same1); got != want {
		t.Errorf("ls -i = %q, want %q", got, want)
	}
	dirIno := inode(m, s2+"city=sf")
	m.run("echo x > $M/ingest/.staged")
	m.end()
	again := mount(t, childConfig{Dir: dir})
	if got := inode(again, s2+"city=sf/a.parquet"); got != same1 {
		t.Errorf("after a remount the file has inode %d, before %d", got, same1)
	}
	if got := inode(again, s2+"city=sf"); got != dirIno {
		t.Errorf("after a remount the directory has inode %d, before %d", got, dirIno)
	}
}

func TestOneDevice(t *testing.T) {
	m := mount(t, childConfig{})
	if got := m.run("find $M -printf '%D\n' 2>/dev/null | sort -u | wc -l"); got != "1" {
		t.Errorf("the mount has %s devices, want 1", got)
	}
}

func TestStatfs(t *testing.T) {
	m := mount(t, childConfig{})
	for _, f := range strings.Fields(m.run("stat -f -c '%s %S %b %f %a %c %d %l' $M")) {
		if f == "0" {
			t.Errorf("statfs holds a zero: %s", m.run("stat -f $M"))
		}
	}
	if got := m.run("df --output=source,fstype $M | tail -1"); strings.Join(strings.Fields(got), " ") != "hudifs:trips fuse.hudifs" {
		t.Errorf("df says %q", got)
	}
}

// TestForeignCommits: what other writers do shows at once after the watcher has seen it, in spite of long caching.
func TestForeignCommits(t *testing.T) {
	m := mount(t, childConfig{})
	m.run("readlink $M/latest; readlink $M/csv/latest; ls $M/snapshots; ls -R $M/latest/; stat $M/snapshots/20261129120000000 2>/dev/null; true")
	cwd, err := os.Open(m.path("snapshots", "20261129110000000", "city=sf"))
	if err != nil {
		t.Fatal(err)
	}
	defer cwd.Close()

	m.ask("commit 20261129120000000")
	m.until("the commit", func(childState) bool {
		l, _ := os.Readlink(m.path("latest"))
		return l == "snapshots/20261129120000000"
	})
	for script, want := range map[string]string{
		"readlink $M/csv/latest":                    "20261129120000000",
		"ls $M/snapshots | tail -1":                 "20261129120000000",
		"cat $M/latest/city=sf/a.parquet":           "rows of a",
		"stat -c %F $M/snapshots/20261129120000000": "directory",
	} {
		if got := m.run(script); got != want {
			t.Errorf("%s = %q, want %q", script, got, want)
		}
	}
	m.ask("remove 20261129110000000")
	m.until("the removal", func(childState) bool {
		_, err := os.Stat(m.path("snapshots", "20261129110000000", "city=sf", "a.parquet"))
		return errors.Is(err, os.ErrNotExist)
	})
	if got := m.run("ls $M/snapshots"); got != "20261129100000000\n20261129120000000" {
		t.Errorf("snapshots after the removal = %q", got)
	}
	// The file lives on in another snapshot, through the inode that both share.
	if got := m.run("cat $M/snapshots/20261129100000000/city=sf/a.parquet"); got != "rows of a" {
		t.Errorf("the shared file holds %q", got)
	}
	// A restore takes the newest.
	m.ask("remove 20261129120000000")
	m.until("latest to go back", func(childState) bool {
		l, _ := os.Readlink(m.path("latest"))
		return l == "snapshots/20261129100000000"
	})
	if got := m.run("cat $M/latest/city=sf/a.parquet"); got != "rows of a" {
		t.Errorf("after a restore the file holds %q", got)
	}
	m.ask("remove 20261129100000000")
	m.until("latest to go", func(childState) bool {
		_, err := os.Lstat(m.path("latest"))
		return errors.Is(err, os.ErrNotExist)
	})
	if got := m.run("ls $M/snapshots; ls $M"); strings.Contains(got, "latest") {
		t.Errorf("an empty table lists %q", got)
	}
}

// TestOpenIsBounded: storage that never answers gives an error, not a hang, and the mount can be ended meanwhile.
func TestOpenIsBounded(t *testing.T) {
	m := mount(t, childConfig{OpenTimeout: 300 * time.Millisecond})
	m.run("stat $M/latest/city=sf/a.parquet")
	m.ask("block")
	begin := time.Now()
	if out, code := m.sh("cat $M/latest/city=sf/a.parquet"); code == 0 || !strings.Contains(out, "Input/output error") {
		t.Errorf("cat = exit %d, %s; want an I/O error", code, out)
	}
	if d := time.Since(begin); d > 3*time.Second {
		t.Errorf("the error took %v", d)
	}
	m.run("ls -l $M/latest/city=sf")
}

func TestInterruptedOpen(t *testing.T) {
	m := mount(t, childConfig{OpenTimeout: 20 * time.Second})
	m.run("stat $M/latest/city=sf/a.parquet")
	m.ask("block")
	begin := time.Now()
	m.sh("timeout -s INT 0.3 cat $M/latest/city=sf/a.parquet")
	m.sh("timeout -s KILL 0.3 cat $M/latest/city=sf/a.parquet")
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("two interrupted readers took %v", d)
	}
	begin = time.Now()
	opened := m.ask("state").Calls["openfile"]
	cat := startReader(t, m.path("latest/city=sf/a.parquet"))
	m.until("the reader to wait", func(s childState) bool { return s.Calls["openfile"] > opened })
	m.end()
	if d := time.Since(begin); d > 12*time.Second {
		t.Errorf("ending the mount under a waiting reader took %v", d)
	}
	cat()
}

// startReader begins a read that waits and returns a function that waits for its end.
func startReader(t *testing.T, p string) func() {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(p)
		done <- err
	}()
	return func() {
		select {
		case err := <-done:
			if err == nil {
				t.Error("the waiting reader got bytes")
			}
		case <-time.After(10 * time.Second):
			t.Error("the waiting reader still waits after the mount has ended")
		}
	}
}
