package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hudifs/hudifs/writer/ingest"
)

var binary struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if binary.dir != "" {
		os.RemoveAll(binary.dir)
	}
	os.Exit(code)
}

// program builds the command once per test process, and returns its path.
func program(t testing.TB) string {
	t.Helper()
	binary.once.Do(func() {
		if binary.dir, binary.err = os.MkdirTemp("", "hudifs-integration-"); binary.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary.dir, "../cmd/hudifs")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
		if out, err := cmd.CombinedOutput(); err != nil {
			binary.err = fmt.Errorf("go build: %w: %s", err, out)
		}
	})
	if binary.err != nil {
		t.Fatal(binary.err)
	}
	return filepath.Join(binary.dir, "hudifs")
}

// needFUSE skips a test where nothing can be mounted, and fails it where HUDIFS_REQUIRE_FUSE=1 says that this must not be.
func needFUSE(t testing.TB) {
	t.Helper()
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err == nil {
		f.Close()
		if os.Geteuid() == 0 {
			return
		}
		if _, err = exec.LookPath("fusermount3"); err == nil {
			return
		}
	}
	if os.Getenv("HUDIFS_REQUIRE_FUSE") == "1" {
		t.Fatalf("HUDIFS_REQUIRE_FUSE=1 and nothing can be mounted: %v", err)
	}
	t.Skipf("nothing can be mounted here: %v", err)
}

// output is what a program said and how it ended.
type output struct {
	code           int // -1: by a signal, or not started
	stdout, stderr string
}

// commandLimit bounds every program that a test starts: a hanging mount must fail the test, not hang it.
const commandLimit = 60 * time.Second

func runCommand(t testing.TB, name string, args ...string) output {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Errorf("%s %v did not end within %v", name, args, commandLimit)
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return output{-1, stdout.String(), err.Error()}
	}
	return output{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// hudifs runs the command.
func hudifs(t testing.TB, args ...string) output {
	t.Helper()
	return runCommand(t, program(t), args...)
}

// must runs a program that has to succeed, and returns its standard output.
func must(t testing.TB, name string, args ...string) string {
	t.Helper()
	o := runCommand(t, name, args...)
	if o.code != 0 {
		t.Fatalf("%s %v: exit status %d: %s", filepath.Base(name), args, o.code, o.stderr)
	}
	return o.stdout
}

// mounted is a table mounted by the real command.
type mounted struct {
	t         testing.TB
	table, at string
	cache     string
	flags     []string
}

// newMount prepares a mount of a table, in directories of its own.
func newMount(t testing.TB, table string, flags ...string) *mounted {
	t.Helper()
	needFUSE(t)
	m := &mounted{t: t, table: table, at: t.TempDir(), cache: t.TempDir(), flags: flags}
	t.Cleanup(func() {
		m.kill()
		_ = syscall.Unmount(m.at, syscall.MNT_DETACH)
	})
	return m
}

// mountTable mounts a table.
func mountTable(t testing.TB, table string, flags ...string) *mounted {
	t.Helper()
	m := newMount(t, table, flags...)
	m.start()
	return m
}

func (m *mounted) start() {
	m.t.Helper()
	if o := m.tryStart(); o.code != 0 {
		m.t.Fatalf("mount %s: exit status %d: %s\n%s", m.table, o.code, o.stderr, m.log())
	}
}

func (m *mounted) tryStart() output {
	m.t.Helper()
	return hudifs(m.t, append([]string{"mount", "--daemon", "--cache-dir", m.cache, m.table, m.at}, m.flags...)...)
}

// log is what the daemon wrote.
func (m *mounted) log() string {
	files, _ := filepath.Glob(filepath.Join(m.cache, "*", "mount.log"))
	var out []byte
	for _, f := range files {
		b, _ := os.ReadFile(f)
		out = append(out, b...)
	}
	return string(out)
}

func (m *mounted) path(elem ...string) string {
	return filepath.Join(append([]string{m.at}, elem...)...)
}

// state is what .hudifs/status.json says.
type state struct {
	PID     int            `json:"pid"`
	NoDrops string         `json:"no_drops"`
	Commits int            `json:"commits"`
	Latest  string         `json:"latest"`
	Ingest  *ingest.Status `json:"ingest"`
}

func (m *mounted) status() (state, error) {
	var s state
	b, err := os.ReadFile(m.path(".hudifs", "status.json"))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}

// kill ends the daemon as a power cut would, and waits until its process is gone.
func (m *mounted) kill() {
	if s, err := m.status(); err == nil && s.PID > 0 {
		_ = syscall.Kill(s.PID, syscall.SIGKILL)
		waitEnd(s.PID)
	}
}

// alive reports whether a process runs; one that has ended and waits to be collected does not.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(b, []byte(") "))
	return len(rest) > 0 && rest[0] != 'Z' && rest[0] != 'X'
}

// waitEnd waits until a process is gone; it reports false after a bounded time.
func waitEnd(pid int) bool {
	return eventually(20*time.Second, func() bool { return !alive(pid) })
}

// eventually polls a condition that other processes bring about; it reports whether it came true in time.
func eventually(limit time.Duration, cond func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); ; <-tick.C {
		if cond() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// snapshots lists the commits that show.
func (m *mounted) snapshots() []string {
	m.t.Helper()
	entries, err := os.ReadDir(m.path("snapshots"))
	if err != nil {
		m.t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// rows reads all rows of the newest commit through the JSON view, parsed.
func (m *mounted) rows() []map[string]any { return m.rowsAt("latest") }

func (m *mounted) rowsAt(snapshot string) []map[string]any {
	m.t.Helper()
	dir := m.path("jsonl", snapshot)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	var out []map[string]any
	for _, f := range walk(m.t, dir, ".jsonl") {
		b, err := os.ReadFile(f)
		if err != nil {
			m.t.Fatal(err)
		}
		for dec := json.NewDecoder(bytes.NewReader(b)); ; {
			var row map[string]any
			err := dec.Decode(&row)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				m.t.Fatalf("%s: %v", f, err)
			}
			out = append(out, row)
		}
	}
	return out
}

// walk lists the files below dir with an extension, sorted.
func walk(t testing.TB, dir, ext string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(p, ext) {
			out = append(out, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// write makes a file and returns its path.
func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

const placesHeader = "id,city,ts,v\n"

// newPlaces makes an empty table with key id, partition city and ordering ts through the command.
func newPlaces(t testing.TB, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	table := filepath.Join(dir, "places")
	like := write(t, dir, "like.csv", placesHeader+"a,x,1,1\n")
	must(t, program(t), append([]string{"create", table, "--key", "id", "--partition", "city", "--ordering", "ts", "--like", like}, flags...)...)
	return table
}

// byID maps rows to their v by id, and fails where an id comes twice.
func byID(t testing.TB, rows []map[string]any) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, r := range rows {
		id, _ := r["id"].(string)
		v, ok := r["v"].(float64)
		if _, twice := out[id]; twice || id == "" || !ok {
			t.Errorf("row %v comes twice or is not whole", r)
		}
		out[id] = v
	}
	return out
}
