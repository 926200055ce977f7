package fusefs

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hudifs/hudifs/internal/filecache"
	"github.com/hudifs/hudifs/internal/storage/local"
	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/timeline"
)

// Mount tests run the mount in another process: a process that waits for a mount of its own can wait for ever.

const childEnv = "HUDIFS_TEST_MOUNT"

// childConfig is what a test wants mounted.
type childConfig struct {
	Mountpoint, Dir string
	Files           int // > 0: one commit of that many files instead of the standard table
	Commits         int // > 0: that many commits instead
	Big             int // > 0: one commit of a file of that many bytes, which is there already
	ReadOnly        bool
	NoIngest        bool
	MaxSize         int64
	Plain           bool   // no passthrough
	Table           string // a real table's directory
	OpenTimeout     time.Duration
	SealTimeout     time.Duration
}

// childState is what the mount process says about its fakes.
type childState struct {
	Drops    []dropState
	Commits  []string
	Rejected []string
	Calls    map[string]int
	Pass     int64
	Inodes   int
}

type dropState struct {
	Name, State, Why string
	Size             int64
	Handles          int
	Mode             uint32
}

func TestMain(m *testing.M) {
	if c := os.Getenv(childEnv); c != "" {
		if err := serveChild(c); err != nil {
			fmt.Fprintln(os.Stderr, "mount process:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childFS is the mount process's side.
type childFS struct {
	c       childConfig
	src     *fakeSource
	in      *fakeIngester
	del     *fakeIngester
	f       *FS
	changed chan struct{}
	next    int
}

func serveChild(text string) error {
	k := &childFS{changed: make(chan struct{}, 1), next: 20}
	if err := json.Unmarshal([]byte(text), &k.c); err != nil {
		return err
	}
	for _, d := range []string{"table", "spool", "spool2"} {
		if err := os.MkdirAll(filepath.Join(k.c.Dir, d), 0o755); err != nil {
			return err
		}
	}
	k.fill()
	src, err := k.source()
	if err != nil {
		return err
	}
	cfg := Config{Source: src, Changed: k.changed, ReadOnly: k.c.ReadOnly, SpaceDir: k.c.Dir, OpenTimeout: k.c.OpenTimeout, SealTimeout: k.c.SealTimeout,
		Views: map[string]View{"csv": "csv"},
		Log:   slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Control: []ControlFile{
			{Name: "health", Content: func(context.Context) ([]byte, error) { return []byte("ok\n"), nil }},
			{Name: "broken", Content: func(context.Context) ([]byte, error) { return nil, errStorage }},
			{Name: "ingest.log", Local: filepath.Join(k.c.Dir, "ingest.log")},
		}}
	if !k.c.NoIngest {
		cfg.Ingest, cfg.Operations = k.in, map[string]Ingester{"delete": k.del}
	}
	f, err := New(cfg)
	if err != nil {
		return err
	}
	k.f = f
	if err := f.Mount(context.Background(), k.c.Mountpoint, MountOptions{Apart: []string{k.c.Dir}}); err != nil {
		return err
	}
	if k.c.Plain {
		f.backing.mu.Lock()
		f.backing.mu.try = nil
		f.backing.mu.Unlock()
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { err = f.Run(ctx) })
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		fmt.Println(k.answer(in.Text()))
	}
	cancel()
	wg.Wait()
	return err
}

// source is the fake table or a real one.
func (k *childFS) source() (Source, error) {
	if k.c.Table == "" {
		return k.src, nil
	}
	st, err := local.Open(k.c.Table, local.Options{})
	if err != nil {
		return nil, err
	}
	cache, err := filecache.Open(filepath.Join(k.c.Dir, "cache"), 1<<30, nil)
	if err != nil {
		return nil, err
	}
	t, err := snapshot.OpenTable(context.Background(), st, snapshot.Options{Cache: cache})
	if err != nil {
		return nil, err
	}
	return NewTableSource(t), nil
}

func (k *childFS) fill() {
	k.src = newFakeSource(filepath.Join(k.c.Dir, "table"))
	k.in, k.del = newFakeIngester(filepath.Join(k.c.Dir, "spool")), newFakeIngester(filepath.Join(k.c.Dir, "spool2"))
	k.in.maxSize = k.c.MaxSize
	k.in.onCommit = func([]string) {
		k.src.mu.Lock()
		n := len(k.src.mu.commits)
		k.src.mu.Unlock()
		k.src.commit(timeline.InstantTime(fmt.Sprintf("202611301%08d", n)), fakeFile{path: "new.parquet", key: fmt.Sprint("new", n), data: "x"})
	}
	switch {
	case k.c.Files > 0:
		files := make([]fakeFile, k.c.Files)
		for i := range files {
			files[i] = fakeFile{path: fmt.Sprintf("part-%05d.parquet", i), key: fmt.Sprintf("k%05d", i), data: "0123456789"}
		}
		k.src.commit("20261129100000000", files...)
	case k.c.Big > 0:
		k.src.commit("20261129100000000", fakeFile{path: "big.parquet", key: "a1", lie: int64(k.c.Big)})
	case k.c.Commits > 0:
		for i := range k.c.Commits {
			k.src.commit(timeline.InstantTime(fmt.Sprintf("20261129%09d", i)), fakeFile{path: "a.parquet", key: "a", data: "0123456789"})
		}
	default:
		standardTable(k.src)
	}
}

func (k *childFS) answer(cmd string) string {
	verb, arg, _ := strings.Cut(cmd, " ")
	switch verb {
	case "commit":
		k.src.commit(timeline.InstantTime(arg), fakeFile{path: "city=sf/a.parquet", key: "a1", data: "rows of a"})
		k.changed <- struct{}{}
	case "remove":
		k.src.remove(timeline.InstantTime(arg))
		k.changed <- struct{}{}
	case "release":
		close(k.in.release)
	case "block":
		k.src.mu.Lock()
		k.src.mu.block = make(chan struct{})
		k.src.mu.Unlock()
	case "refresh":
		k.f.Refresh(context.Background())
	}
	b, _ := json.Marshal(k.state())
	return string(b)
}

func (k *childFS) state() childState {
	s := childState{Pass: k.f.counters.passthrough.Load(), Inodes: k.f.inodes.size(), Calls: map[string]int{}}
	k.in.mu.Lock()
	for _, d := range k.in.mu.names {
		i := d.now()
		s.Drops = append(s.Drops, dropState{d.path, i.State.String(), d.why, i.Size, d.handles, uint32(i.Mode)})
	}
	s.Commits = append(s.Commits, k.in.mu.commits...)
	for _, r := range k.in.mu.rejects {
		s.Rejected = append(s.Rejected, r.Name)
	}
	k.in.mu.Unlock()
	k.src.mu.Lock()
	for c, n := range k.src.mu.calls {
		s.Calls[c] = n
	}
	k.src.mu.Unlock()
	return s
}

// mounted is a mount in another process.
type mounted struct {
	t     testing.TB
	at    string
	dir   string
	cmd   *exec.Cmd
	in    *os.File
	out   *bufio.Reader
	ended bool
}

// needFUSE skips where nothing can be mounted, unless the environment says that it must be possible.
func needFUSE(t testing.TB) {
	t.Helper()
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err == nil {
		f.Close()
		return
	}
	if os.Getenv("HUDIFS_REQUIRE_FUSE") == "1" {
		t.Fatalf("HUDIFS_REQUIRE_FUSE=1 and /dev/fuse cannot be opened: %v", err)
	}
	t.Skipf("no FUSE here: %v", err)
}

func mount(t testing.TB, c childConfig) *mounted {
	t.Helper()
	needFUSE(t)
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	if c.Mountpoint == "" {
		c.Mountpoint = t.TempDir()
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	m := &mounted{t: t, at: c.Mountpoint, dir: c.Dir}
	m.cmd = exec.Command(os.Args[0])
	m.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	m.cmd.Stderr = &testLog{t: t}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	m.cmd.Stdin, m.in = r, w
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	m.out = bufio.NewReader(out)
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(m.end)
	if line, err := m.out.ReadString('\n'); err != nil || line != "ready\n" {
		if os.Getenv("HUDIFS_REQUIRE_FUSE") == "1" {
			t.Fatalf("the mount process said %q, %v", line, err)
		}
		t.Skipf("mounting failed (%v); see the log above", err)
	}
	return m
}

// ask sends a command and returns the state afterwards.
func (m *mounted) ask(cmd string) childState {
	m.t.Helper()
	fmt.Fprintln(m.in, cmd)
	line, err := m.out.ReadString('\n')
	if err != nil {
		m.t.Fatalf("the mount process ended: %v", err)
	}
	var s childState
	if err := json.Unmarshal([]byte(line), &s); err != nil {
		m.t.Fatal(err)
	}
	return s
}

// until asks until the state is as wanted: what RELEASE causes comes after close.
func (m *mounted) until(what string, ok func(childState) bool) childState {
	m.t.Helper()
	end := time.Now().Add(5 * time.Second)
	for {
		s := m.ask("state")
		if ok(s) {
			return s
		}
		if time.Now().After(end) {
			m.t.Fatalf("waiting for %s; state is %+v", what, s)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (m *mounted) end() {
	if m.ended {
		return
	}
	m.ended = true
	m.in.Close()
	done := make(chan error, 1)
	go func() { done <- m.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			m.t.Errorf("mount process: %v", err)
		}
	case <-time.After(15 * time.Second):
		m.t.Error("the mount process does not end")
		m.kill()
	}
	syscall.Unmount(m.at, syscall.MNT_DETACH)
}

func (m *mounted) kill() {
	m.ended = true
	m.cmd.Process.Kill()
	m.cmd.Wait()
}

func (m *mounted) path(p ...string) string {
	return filepath.Join(append([]string{m.at}, p...)...)
}

// sh runs a script in the mountpoint and returns its output and exit status.
func (m *mounted) sh(script string) (string, int) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "M="+m.at, "LC_ALL=C")
	b, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		m.t.Fatalf("%s: hangs", script)
	}
	if err != nil && cmd.ProcessState == nil {
		m.t.Fatalf("%s: %v", script, err)
	}
	return strings.TrimSpace(string(b)), cmd.ProcessState.ExitCode()
}

// run runs a script that must succeed.
func (m *mounted) run(script string) string {
	m.t.Helper()
	out, code := m.sh(script)
	if code != 0 {
		m.t.Errorf("%s: exit %d: %s", script, code, out)
	}
	return out
}

// testLog carries the mount process's log into the test's.
type testLog struct{ t testing.TB }

func (l *testLog) Write(b []byte) (int, error) {
	l.t.Logf("mount: %s", strings.TrimRight(string(b), "\n"))
	return len(b), nil
}
