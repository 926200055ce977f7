package fusefs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// drop returns the state of a drop.
func (s childState) drop(name string) (dropState, bool) {
	for _, d := range s.Drops {
		if d.Name == name {
			return d, true
		}
	}
	return dropState{}, false
}

func (s childState) committed(want ...string) bool {
	return strings.Join(s.Commits, "\n") == strings.Join(want, "\n")
}

// TestSealing is the heart: which ways to write a file commit it, when, how often, and what the writer is told.
func TestSealing(t *testing.T) {
	for _, c := range []struct {
		name   string
		script string
		want   []string // commits, in order
		exit   int
		late   bool // the commit may come after the script has ended
	}{
		{"cp", "echo row > /tmp/src.$$; cp /tmp/src.$$ $M/ingest/a.csv; e=$?; rm /tmp/src.$$; exit $e", []string{"a.csv=row\n"}, 0, false},
		{"cp over another", "cd $M/ingest; echo one > a.csv; echo two > .x; cp .x a.csv", []string{"a.csv=one\n", "a.csv=two\n"}, 0, false},
		{"redirection", "echo row > $M/ingest/a.csv", []string{"a.csv=row\n"}, 0, false},
		{"redirection of a program", "/bin/echo row > $M/ingest/a.csv", []string{"a.csv=row\n"}, 0, false},
		{"group", "{ echo a; /bin/echo b; echo c; } > $M/ingest/a.csv", []string{"a.csv=a\nb\nc\n"}, 0, false},
		{"subshell", "(cat /proc/sys/kernel/ostype; /bin/echo b) > $M/ingest/a.csv", []string{"a.csv=Linux\nb\n"}, 0, false},
		{"loop", "for i in 1 2 3; do /bin/echo $i; done > $M/ingest/a.csv", []string{"a.csv=1\n2\n3\n"}, 0, false},
		{"slow group", "{ echo a; sleep 0.3; echo b; } > $M/ingest/a.csv", []string{"a.csv=a\nb\n"}, 0, false},
		{"duplicated descriptor", "exec 3>$M/ingest/a.csv 4>&3; echo a >&3; exec 3>&-; echo b >&4; exec 4>&-", []string{"a.csv=a\nb\n"}, 0, false},
		{"child outlives parent's close", "exec 3>$M/ingest/a.csv; echo a >&3; (sleep 0.2; echo b >&3) & exec 3>&-; wait", []string{"a.csv=a\nb\n"}, 0, true},
		{"tee", "echo row | tee $M/ingest/a.csv >/dev/null", []string{"a.csv=row\n"}, 0, false},
		{"dd", "printf '%s' rowrow | dd of=$M/ingest/a.csv bs=3 2>/dev/null", []string{"a.csv=rowrow"}, 0, false},
		{"dd with fsync", "echo row | dd of=$M/ingest/a.csv conv=fsync 2>/dev/null", []string{"a.csv=row\n"}, 0, false},
		{"dd direct", "dd if=/dev/zero bs=4096 count=1 2>/dev/null | tr '\\0' x | dd of=$M/ingest/a.csv bs=4096 iflag=fullblock oflag=direct 2>/dev/null", []string{"a.csv=" + strings.Repeat("x", 4096)}, 0, false},
		{"sparse", "truncate -s 8 $M/ingest/a.csv; printf z | dd of=$M/ingest/a.csv bs=1 seek=3 conv=notrunc 2>/dev/null", []string{"a.csv=" + strings.Repeat("\x00", 8)}, 1, false},
		{"nothing", ": > $M/ingest/a.csv", nil, 0, false},
		{"touch", "touch $M/ingest/a.csv", nil, 0, false},
		{"touch then write", "touch $M/ingest/a.csv; echo row > $M/ingest/a.csv", []string{"a.csv=row\n"}, 0, false},
		{"temporary name and mv", "cd $M/ingest; echo row > .a.tmp; mv .a.tmp a.csv", []string{"a.csv=row\n"}, 0, false},
		{"mv over", "cd $M/ingest; echo one > a.csv; echo two > .a.tmp; mv .a.tmp a.csv", []string{"a.csv=one\n", "a.csv=two\n"}, 0, false},
		{"mv of what is committed", "cd $M/ingest; echo one > a.csv; mv a.csv b.csv; test -e b.csv && ! test -e a.csv", []string{"a.csv=one\n"}, 0, false},
		{"mv from outside", "echo row > /tmp/src.$$; mv /tmp/src.$$ $M/ingest/a.csv", []string{"a.csv=row\n"}, 0, false},
		{"append", "cd $M/ingest; echo one > a.csv; echo two >> a.csv; cat a.csv | wc -l | grep -q 2", []string{"a.csv=one\n", "a.csv=two\n"}, 0, false},
		{"append twice to a new one", "cd $M/ingest; echo one >> a.csv; echo two >> a.csv", []string{"a.csv=one\n", "a.csv=two\n"}, 0, false},
		{"append while it is read", "cd $M/ingest; echo a > .x; exec 4<.x; echo b >> .x; cat <&4 | wc -l | grep -q 2", nil, 0, false},
		{"names that never commit", "cd $M/ingest; echo a > .x; echo b > notes; cat .x notes; rm .x; mv notes _notes", nil, 0, false},
		{"directory renamed in", "cd $M/ingest; mkdir .b; echo 1 > .b/x.csv; echo 2 > .b/y.csv; mv .b b; ls b", []string{"b/x.csv=1\n|b/y.csv=2\n"}, 0, false},
		{"directory filled in place", "cd $M/ingest; mkdir -p d/k=1; echo 1 > d/k=1/x.csv; echo 2 > d/y.csv", []string{"d/k=1/x.csv=1\n", "d/y.csv=2\n"}, 0, false},
		{"exit with open file", "exec 3>$M/ingest/a.csv; echo row >&3; exit 0", []string{"a.csv=row\n"}, 0, false},
		{"exit with an error status", "exec 3>$M/ingest/a.csv; echo row >&3; exit 3", []string{"a.csv=row\n"}, 3, false},
		{"sed -i", "cd $M/ingest; echo one > a.csv; sed -i s/one/two/ a.csv", []string{"a.csv=one\n", "a.csv=two\n"}, 0, false},
		{"sort -o itself", "cd $M/ingest; printf 'b\\na\\n' > .x; sort -o .x .x; mv .x a.csv", []string{"a.csv=a\nb\n"}, 0, false},
		{"tar", "mkdir /tmp/t.$$; echo row > /tmp/t.$$/a.csv; tar c -C /tmp/t.$$ a.csv | tar x -C $M/ingest; e=$?; rm -r /tmp/t.$$; exit $e", []string{"a.csv=row\n"}, 0, false},
		{"install", "echo row > /tmp/src.$$; install -m644 /tmp/src.$$ $M/ingest/a.csv; e=$?; rm /tmp/src.$$; exit $e", []string{"a.csv=row\n"}, 0, false},
		{"cp -p", "echo row > /tmp/src.$$; cp -p /tmp/src.$$ $M/ingest/a.csv; e=$?; rm /tmp/src.$$; exit $e", []string{"a.csv=row\n"}, 0, false},
		{"cp from a snapshot", "cp $M/latest/city=sf/a.parquet $M/ingest/a.csv", []string{"a.csv=rows of a"}, 0, false},
		{"another operation", "echo row > $M/operations/delete/a.csv", nil, 0, false},
		{"mv between operations", "cd $M/ingest; echo row > .x; mv .x ../operations/delete/a.csv; ! test -e .x", nil, 0, false},
		// What fails.
		{"cp of bad rows", "cd $M/ingest; echo bad > .x; cp .x a.csv", nil, 1, false},
		{"redirection of bad rows is not told", "echo bad > $M/ingest/a.csv", nil, 0, false},
		{"mv of bad rows keeps the name", "cd $M/ingest; echo bad > .x; mv .x a.csv 2>/dev/null; e=$?; test -e .x && exit $e", nil, 1, false},
		{"cp when storage fails", "cd $M/ingest; echo storage > .x; cp .x a.csv", nil, 1, false},
		{"writing into a committed file", "cd $M/ingest; echo one > a.csv; printf XX | dd of=a.csv bs=1 seek=1 conv=notrunc", []string{"a.csv=one\n"}, 1, false},
		{"link", "cd $M/ingest; echo x > .x; ln .x .y", nil, 1, false},
		{"symlink", "ln -s x $M/ingest/y", nil, 1, false},
		{"fifo", "mkfifo $M/ingest/p", nil, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := mount(t, childConfig{})
			out, code := m.sh(c.script)
			want := c.want
			if c.name == "sparse" {
				want = []string{"a.csv=" + "\x00\x00\x00\x00\x00\x00\x00\x00"}
			}
			if code != c.exit {
				t.Errorf("exit %d, want %d: %s", code, c.exit, out)
			}
			if c.late {
				m.until("the commits", func(s childState) bool { return len(s.Commits) >= len(want) && last(s.Commits) == last(want) })
				return
			}
			if s := m.ask("state"); !s.committed(want...) {
				t.Errorf("commits = %q, want %q", s.Commits, want)
			}
			// Nothing else may come once all handles are gone.
			s := m.until("the handles to be closed", func(s childState) bool {
				for _, d := range s.Drops {
					if d.Handles != 0 {
						return false
					}
				}
				return true
			})
			if !s.committed(want...) {
				t.Errorf("commits at the end = %q, want %q", s.Commits, want)
			}
		})
	}
}

func last(l []string) string {
	if len(l) == 0 {
		return ""
	}
	return l[len(l)-1]
}

// TestCommitShowsBeforeCloseReturns: who has dropped a file reads it in the next line of the script.
func TestCommitShowsBeforeCloseReturns(t *testing.T) {
	m := mount(t, childConfig{})
	for i := range 20 {
		got := m.run(fmt.Sprintf("readlink $M/latest >/dev/null; ls $M/snapshots >/dev/null; cp /proc/sys/kernel/ostype $M/ingest/f%d.csv && readlink $M/latest && ls $M/latest/ && ls $M/snapshots | wc -l", i))
		want := fmt.Sprintf("snapshots/202611301%08d\nnew.parquet\n%d", i+2, i+3)
		if got != want {
			t.Fatalf("after drop %d: %q, want %q", i, got, want)
		}
	}
}

func TestRejectedDrops(t *testing.T) {
	m := mount(t, childConfig{})
	m.sh("echo bad > $M/ingest/a.csv; printf 'bad 2' > $M/ingest/b.csv")
	if got := m.run("ls $M/.hudifs/rejected; cat $M/.hudifs/rejected/b.csv; stat -c ' %s' $M/.hudifs/rejected/b.csv"); got != "a.csv\nb.csv\nbad 2 5" {
		t.Errorf("rejected = %q", got)
	}
	if out, code := m.sh("echo x > $M/.hudifs/rejected/a.csv"); code == 0 {
		t.Errorf("writing a rejected drop: exit 0, %s", out)
	}
	m.run("rm $M/.hudifs/rejected/a.csv")
	if got := m.run("ls $M/.hudifs/rejected"); got != "b.csv" {
		t.Errorf("after one was acknowledged: %q", got)
	}
	// Moving it back is trying again, here under the name of another file that is not bad.
	m.run("sed s/bad/good/ $M/.hudifs/rejected/b.csv > $M/ingest/b.csv && rm $M/.hudifs/rejected/b.csv")
	if s := m.ask("state"); !s.committed("b.csv=good 2") || len(s.Rejected) != 0 {
		t.Errorf("after the retry: %+v", s)
	}
}

// TestKilledWriters: a file whose writer died is kept and not committed.
func TestKilledWriters(t *testing.T) {
	for _, c := range []struct{ name, script, why string }{
		{"kill -9", "exec 3>$M/ingest/a.csv; echo half >&3; kill -9 $$", "signal 9"},
		{"kill -TERM", "exec 3>$M/ingest/a.csv; echo half >&3; kill -TERM $$", "signal 15"},
		{"a program's output", "sh -c 'echo half; kill -9 $$' > $M/ingest/a.csv; true", "signal 9"},
		{"one of several writers", "{ echo a; sh -c 'echo half; kill -9 $$'; echo c; } > $M/ingest/a.csv", "signal 9"},
		{"timeout", "timeout -s KILL 0.3 sh -c 'exec 3>$M/ingest/a.csv; echo half >&3; sleep 5'; true", "signal 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := mount(t, childConfig{})
			m.sh(c.script)
			s := m.until("the drop to be abandoned", func(s childState) bool {
				d, ok := s.drop("a.csv")
				return ok && d.State == "abandoned" && d.Handles == 0
			})
			d, _ := s.drop("a.csv")
			if len(s.Commits) != 0 || !strings.Contains(d.Why, c.why) {
				t.Errorf("commits = %q, reason = %q; want none and %s", s.Commits, d.Why, c.why)
			}
			if got := m.run("cat $M/ingest/a.csv"); !strings.Contains(got, "half") {
				t.Errorf("the bytes are %q", got)
			}
			m.run("echo whole > $M/ingest/a.csv")
			if s := m.ask("state"); !s.committed("a.csv=whole\n") {
				t.Errorf("a later whole file gives commits %q", s.Commits)
			}
		})
	}
}

// TestWriterKilledInClose: a process that is killed while close waits does not hang, and its rows, which it had closed, are kept.
func TestWriterKilledInClose(t *testing.T) {
	m := mount(t, childConfig{})
	cmd := exec.Command("cp", "/dev/stdin", m.path("ingest/a.csv"))
	cmd.Stdin = strings.NewReader("slow\n")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.until("the commit to begin", func(s childState) bool {
		d, _ := s.drop("a.csv")
		return d.State == "committing"
	})
	cmd.Process.Kill()
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("the killed process still waits in close")
	}
	m.ask("release")
	m.until("the commit", func(s childState) bool { return s.committed("a.csv=slow\n") })
}

// TestSignalsDoNotFailClose: a program that gets harmless signals while close waits is told the truth, once.
func TestSignalsDoNotFailClose(t *testing.T) {
	m := mount(t, childConfig{})
	cmd := exec.Command("sh", "-c", `trap : USR1; exec 3>"$0"; echo slow >&3; exec 3>&-; echo closed`, m.path("ingest/a.csv"))
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.until("the commit to begin", func(s childState) bool {
		d, _ := s.drop("a.csv")
		return d.State == "committing"
	})
	for range 5 {
		cmd.Process.Signal(syscall.SIGUSR1)
		m.ask("state")
	}
	if d, _ := m.ask("state").drop("a.csv"); d.State != "committing" {
		t.Fatalf("state while close waits = %s", d.State)
	}
	m.ask("release")
	if err := cmd.Wait(); err != nil || strings.TrimSpace(out.String()) != "closed" {
		t.Errorf("writer: %v, %s", err, out)
	}
}

func TestCloseIsBounded(t *testing.T) {
	m := mount(t, childConfig{SealTimeout: 200 * time.Millisecond})
	out, code := m.sh("cd $M/ingest; echo slow > .x; cp .x a.csv")
	if code == 0 || !strings.Contains(out, "Input/output error") {
		t.Errorf("cp of a drop that never commits: exit %d, %s; want an I/O error", code, out)
	}
	m.ask("release")
	m.until("the commit, which goes on", func(s childState) bool { return s.committed("a.csv=slow\n") })
}

func TestMaxDropSize(t *testing.T) {
	m := mount(t, childConfig{MaxSize: 100})
	out, code := m.sh("head -c 101 /dev/zero > $M/ingest/.x")
	if code == 0 || !strings.Contains(out, "File too large") {
		t.Errorf("writing too much: exit %d, %s; want EFBIG", code, out)
	}
	if err := os.Truncate(m.path("ingest/.x"), 1000); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("truncating up = %v, want EFBIG", err)
	}
	m.run("echo row > $M/ingest/a.csv; { echo a; echo b; } >> $M/ingest/.y; echo c >> $M/ingest/.y")
	if got := m.run("cat $M/ingest/.y"); got != "a\nb\nc" {
		t.Errorf("appending without passthrough gives %q", got)
	}
	if s := m.ask("state"); !s.committed("a.csv=row\n") {
		t.Errorf("commits = %q", s.Commits)
	}
}

// TestReceipts: what tools do to a file after closing it.
func TestReceipts(t *testing.T) {
	m := mount(t, childConfig{})
	m.run("echo row > $M/ingest/a.csv && chmod 600 $M/ingest/a.csv && touch -d @1000000000 $M/ingest/a.csv && chown $(id -u):$(id -g) $M/ingest/a.csv")
	if got := m.run("stat -c '%a %Y %s %h' $M/ingest/a.csv; cat $M/ingest/a.csv"); got != "600 1000000000 4 1\nrow" {
		t.Errorf("receipt = %q", got)
	}
	ino := m.run("stat -c %i $M/ingest/a.csv")
	m.run("mv $M/ingest/a.csv $M/ingest/b.csv")
	if got := m.run("stat -c %i $M/ingest/b.csv"); got != ino {
		t.Errorf("a rename changed the inode from %s to %s", ino, got)
	}
	m.run("echo again > $M/ingest/b.csv")
	if got := m.run("stat -c %i $M/ingest/b.csv"); got == ino {
		t.Error("a new drop has the inode of the old one")
	}
	m.run("rm $M/ingest/b.csv; ! test -e $M/ingest/b.csv")
	if s := m.ask("state"); !s.committed("a.csv=row\n", "b.csv=again\n") {
		t.Errorf("commits = %q", s.Commits)
	}
}

// TestReaderKeepsOldDrop: a reader of a receipt and a writer of the next drop of that name do not meet.
func TestReaderKeepsOldDrop(t *testing.T) {
	m := mount(t, childConfig{})
	m.run("echo one > $M/ingest/a.csv")
	f, err := os.Open(m.path("ingest/a.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m.run("echo second > $M/ingest/a.csv")
	b := make([]byte, 100)
	n, err := f.ReadAt(b, 0)
	if string(b[:n]) != "one\n" {
		t.Errorf("the open receipt reads %q, %v", b[:n], err)
	}
	if got := m.run("cat $M/ingest/a.csv"); got != "second" {
		t.Errorf("the name reads %q", got)
	}
}

func TestRenameFlags(t *testing.T) {
	m := mount(t, childConfig{})
	m.run("cd $M/ingest; echo a > .a; echo b > .b")
	a, b := m.path("ingest/.a"), m.path("ingest/.b")
	if err := renameat2(a, b, 1); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("NOREPLACE on an existing name = %v, want EEXIST", err)
	}
	if err := renameat2(a, b, 2); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("EXCHANGE = %v, want EINVAL", err)
	}
	if err := renameat2(a, m.path("ingest/.c"), 1); err != nil {
		t.Errorf("NOREPLACE on a free name = %v", err)
	}
	if err := os.Rename(b, m.path("operations/delete/.b")); !errors.Is(err, syscall.EXDEV) {
		t.Errorf("rename between operations = %v, want EXDEV", err)
	}
	m.run("mkdir $M/ingest/d; ! rmdir $M/ingest/nothing 2>/dev/null; touch $M/ingest/d/.x; ! rmdir $M/ingest/d 2>/dev/null; rm $M/ingest/d/.x; rmdir $M/ingest/d")
}

func TestReadsOwnPendingDrop(t *testing.T) {
	for _, plain := range []bool{false, true} {
		m := mount(t, childConfig{Plain: plain})
		f, err := os.OpenFile(m.path("ingest/a.csv"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("tail"), 100); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("head"), 0); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 200)
		n, _ := f.ReadAt(b, 0)
		if want := "head" + strings.Repeat("\x00", 96) + "tail"; string(b[:n]) != want {
			t.Errorf("plain=%v: reads %q", plain, b[:n])
		}
		if st, err := f.Stat(); err != nil || st.Size() != 104 {
			t.Errorf("plain=%v: size %d, %v; want 104", plain, st.Size(), err)
		}
		if err := f.Truncate(4); err != nil {
			t.Error(err)
		}
		if err := f.Sync(); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if s := m.ask("state"); !s.committed("a.csv=head") {
			t.Errorf("plain=%v: commits = %q", plain, s.Commits)
		}
		m.end()
	}
}

// TestWriteThroughMap: closing the descriptor is not the end while the file is mapped.
func TestWriteThroughMap(t *testing.T) {
	m := mount(t, childConfig{})
	f, err := os.OpenFile(m.path("ingest/a.csv"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(4); err != nil {
		t.Fatal(err)
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, 4, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if s := m.ask("state"); len(s.Commits) != 0 {
		t.Errorf("committed %q while the file is mapped", s.Commits)
	}
	copy(b, "row\n")
	if err := syscall.Munmap(b); err != nil {
		t.Fatal(err)
	}
	m.until("the commit", func(s childState) bool { return s.committed("a.csv=row\n") })
}

func TestFlockAndFsyncDir(t *testing.T) {
	m := mount(t, childConfig{})
	m.run("echo x > $M/ingest/.x; flock -n $M/ingest/.x -c true; flock -sn $M/latest/city=sf/a.parquet -c true; sync $M/ingest $M/snapshots $M/latest/city=sf")
}

// TestRsync needs rsync; it renames temporary dotfiles and sets times after closing.
func TestRsync(t *testing.T) {
	if _, err := exec.LookPath("rsync"); err != nil {
		t.Skip("no rsync here")
	}
	m := mount(t, childConfig{})
	src := t.TempDir()
	os.WriteFile(filepath.Join(src, "a.csv"), []byte("row\n"), 0o644)
	m.run("rsync -a " + src + "/a.csv $M/ingest/")
	m.run("rsync -a --inplace " + src + "/a.csv $M/ingest/b.csv")
	s := m.ask("state")
	sort.Strings(s.Commits)
	if !s.committed("a.csv=row\n", "b.csv=row\n") {
		t.Errorf("commits = %q", s.Commits)
	}
	dst := t.TempDir()
	m.run("rsync -a $M/latest/ " + dst)
	if got := m.run("rsync -ain $M/latest/ " + dst); got != "" {
		t.Errorf("a second rsync would copy %q", got)
	}
}

func renameat2(from, to string, flags uint) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags)
}
