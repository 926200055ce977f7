package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hudifs/hudifs/integration/lab"
	"github.com/hudifs/hudifs/internal/realtables"
)

func golden(t *testing.T, name string) (string, *lab.Index) {
	t.Helper()
	all, err := lab.Golden()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		if g.Name == name {
			table, err := g.Unpack(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			index, err := g.Index()
			if err != nil {
				t.Fatal(err)
			}
			return table, index
		}
	}
	t.Fatalf("no golden table %s", name)
	return "", nil
}

// isMounted reports whether something is mounted at a place.
func isMounted(t *testing.T, at string) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(b), " "+at+" ")
}

func TestDaemonLife(t *testing.T) {
	m := mountTable(t, newPlaces(t))
	src := t.TempDir()
	must(t, "cp", write(t, src, "a.csv", placesHeader+"a,x,1,1\n"), m.path("ingest"))
	first, err := m.status()
	if err != nil {
		t.Fatal(err)
	}
	if o := hudifs(t, "mount", "--daemon", "--cache-dir", t.TempDir(), m.table, m.at); o.code != 13 {
		t.Errorf("mounting over a live mount: exit status %d, %s; want 13", o.code, o.stderr)
	}
	m.kill()
	if _, err := os.ReadDir(m.at); err == nil {
		t.Fatal("the mount of a killed daemon still answers")
	}
	m.start() // replaces the dead mount
	second, err := m.status()
	if err != nil || second.PID == first.PID || second.Commits != 1 {
		t.Errorf("status after the dead mount was replaced = %+v, %v", second, err)
	}
	if err := syscall.Kill(second.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !waitEnd(second.PID) || isMounted(t, m.at) {
		t.Errorf("after SIGTERM: process alive %v, mounted %v", alive(second.PID), isMounted(t, m.at))
	}
	m.start()
	must(t, program(t), "umount", m.at)
	if isMounted(t, m.at) {
		t.Error("umount left the mount")
	}
}

func TestMountRefusals(t *testing.T) {
	needFUSE(t)
	table := newPlaces(t)
	inside := filepath.Join(table, "mnt")
	empty := t.TempDir()
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		args []string
		code int
		says string
	}{
		{"mountpoint inside the table", []string{"mount", "--daemon", "--cache-dir", t.TempDir(), table, inside}, 13, inside},
		{"table inside the mountpoint", []string{"mount", "--daemon", "--cache-dir", t.TempDir(), table, filepath.Dir(table)}, 13, table},
		{"no table", []string{"mount", "--daemon", "--cache-dir", t.TempDir(), empty, t.TempDir()}, 10, "hoodie.properties"},
		{"no directory", []string{"mount", "--daemon", "--cache-dir", t.TempDir(), filepath.Join(empty, "none"), t.TempDir()}, 10, "none"},
		{"unknown option", []string{"mount", "--daemon", "--cache-dir", t.TempDir(), table, t.TempDir(), "-o", "ro,wrong_thing=1"}, 64, "wrong_thing"},
		{"bad value", []string{"mount", "--daemon", "--cache-dir", t.TempDir(), table, t.TempDir(), "-o", "ack=never"}, 64, "never"},
		{"mount(8)'s spelling", []string{table, t.TempDir(), "-o", "bad-option"}, 64, "bad-option"},
	}
	for _, c := range cases {
		if o := hudifs(t, c.args...); o.code != c.code || !strings.Contains(o.stderr, c.says) {
			t.Errorf("%s: exit status %d, %q; want %d and a message with %q", c.name, o.code, o.stderr, c.code, c.says)
		}
	}
}

func TestMetadataTable(t *testing.T) {
	table, index := golden(t, "cow_v9_meta_default")
	m := mountTable(t, table)
	s, err := m.status()
	if err != nil || !strings.Contains(s.NoDrops, "metadata") && s.Ingest == nil {
		t.Errorf("status of a table with a metadata table = %+v, %v", s, err)
	}
	latest := must(t, program(t), "cat", table)
	line, _, _ := strings.Cut(latest, "\n")
	drop := write(t, t.TempDir(), "again.jsonl", line+"\n")
	o := runCommand(t, "cp", drop, m.path("ingest"))
	if o.code == 0 || len(m.snapshots()) != len(index.Instants) {
		t.Errorf("a drop into a table with a metadata table: exit status %d, %d commits; want an error and %d", o.code, len(m.snapshots()), len(index.Instants))
	}
	put := hudifs(t, "ingest", "put", table, drop)
	if put.code == 0 || !strings.Contains(put.stderr, "metadata table") || !strings.Contains(put.stderr, "disable-metadata-table") {
		t.Errorf("ingest put: exit status %d, %q; want a message that names the metadata table and the way out", put.code, put.stderr)
	}
	if props, err := os.ReadFile(filepath.Join(table, ".hoodie", "hoodie.properties")); err != nil || !bytes.Contains(props, []byte("hoodie.table.metadata.partitions=")) {
		t.Errorf("a refused write changed hoodie.properties: %v", err)
	}
	must(t, program(t), "umount", m.at)
	m.flags = []string{"--disable-metadata-table"}
	m.start()
	must(t, "cp", drop, m.path("ingest"))
	if got := must(t, program(t), "cat", table); strings.Count(got, "\n") != strings.Count(latest, "\n") {
		t.Errorf("after an update of one row the table has %d rows, want %d", strings.Count(got, "\n"), strings.Count(latest, "\n"))
	}
	if props, err := os.ReadFile(filepath.Join(table, ".hoodie", "hoodie.properties")); err != nil || !bytes.Contains(props, []byte("hoodie.table.metadata.partitions=\n")) {
		t.Errorf("the metadata table is listed after it was switched off: %v", err)
	}
	if left := walk(t, filepath.Join(table, ".hoodie", "metadata"), ""); len(left) > 0 {
		t.Errorf("%d files of the metadata table are left, %s first", len(left), left[0])
	}
}

// TestBadTables: what is wrong with a table is said with the name of the file, and costs no more than it must.
func TestBadTables(t *testing.T) {
	needFUSE(t)
	props := func(table string) string { return filepath.Join(table, ".hoodie", "hoodie.properties") }
	edit := func(t *testing.T, file string, change func([]byte) []byte) {
		t.Helper()
		b, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, change(b), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := []struct {
		name  string
		spoil func(t *testing.T, table string)
		says  string
	}{
		{"no properties", func(t *testing.T, table string) { must(t, "rm", props(table)) }, "hoodie.properties"},
		{"torn properties", func(t *testing.T, table string) {
			edit(t, props(table), func(b []byte) []byte { return b[:len(b)/3] })
		}, "hoodie.properties"},
		{"empty properties", func(t *testing.T, table string) { edit(t, props(table), func([]byte) []byte { return nil }) }, "hoodie.properties"},
		{"unknown version", func(t *testing.T, table string) {
			edit(t, props(table), func(b []byte) []byte {
				return bytes.Replace(b, []byte("hoodie.table.version=9"), []byte("hoodie.table.version=77"), 1)
			})
		}, "77"},
	}
	for _, c := range refused {
		table := newPlaces(t)
		c.spoil(t, table)
		if o := newMount(t, table).tryStart(); o.code == 0 || !strings.Contains(o.stderr, c.says) {
			t.Errorf("%s: exit status %d, %q; want an error that says %q", c.name, o.code, o.stderr, c.says)
		}
	}

	table := newPlaces(t)
	src := t.TempDir()
	m := mountTable(t, table)
	for _, f := range []string{"a", "b", "c"} {
		must(t, "cp", write(t, src, f+".csv", placesHeader+f+","+f+",1,1\n"), m.path("ingest"))
	}
	commits := m.snapshots()
	m.kill()
	timeline := filepath.Join(table, ".hoodie", "timeline")
	write(t, timeline, commits[2]+"1_"+commits[2]+"2.weirdaction", "{}")
	data := walk(t, filepath.Join(table, "b"), ".parquet")
	edit(t, data[0], func(b []byte) []byte { return b[:len(b)-9] })
	m.start()
	if _, err := arrowFile(walk(t, m.path("snapshots", commits[2], "b"), ".parquet")[0]); err == nil {
		t.Error("a file without its footer can be read")
	}
	for _, good := range []string{"a", "c"} {
		if lines, err := arrowFile(walk(t, m.path("snapshots", commits[2], good), ".parquet")[0]); err != nil || len(lines) != 1 {
			t.Errorf("beside a damaged file: %v, %v; want one row", lines, err)
		}
	}
	if o := hudifs(t, "cat", table); o.code == 0 || !strings.Contains(o.stderr, filepath.Base(data[0])) {
		t.Errorf("cat of a table with a damaged file: exit status %d, %q; want an error that names it", o.code, o.stderr)
	}
	must(t, "cp", write(t, src, "d.csv", placesHeader+"d,d,1,1\n"), m.path("ingest"))
	m.kill()

	done, err := filepath.Glob(filepath.Join(timeline, commits[1]+"_*.commit"))
	if err != nil || len(done) != 1 {
		t.Fatalf("completed instant of %s: %v, %v", commits[1], done, err)
	}
	edit(t, done[0], func([]byte) []byte { return nil })
	m.start()
	// Which files belong to the commit is told by their names: its rows are right without its body. What needs the body names the file.
	for _, good := range []string{"a", "c"} {
		if lines, err := arrowFile(walk(t, m.path("snapshots", commits[2], good), ".parquet")[0]); err != nil || len(lines) != 1 {
			t.Errorf("beside an empty completed instant: %v, %v; want one row", lines, err)
		}
	}
	shown, err := filepath.Glob(m.path("timeline", commits[1]+".commit.*"))
	if err != nil || len(shown) == 0 {
		t.Fatalf("timeline/ does not list %s: %v", commits[1], err)
	}
	body, err := os.ReadFile(shown[len(shown)-1])
	if said := string(body) + m.log(); !strings.Contains(said, filepath.Base(done[0])) {
		t.Errorf("reading the instant gives %q, %v, and nothing names %s", body, err, filepath.Base(done[0]))
	}
}

func TestLanceTable(t *testing.T) {
	table, _ := realtables.Unzip(t, "cow_v9_lance_nonpartitioned")
	m := newMount(t, table)
	o := m.tryStart()
	if o.code == 0 {
		s, err := m.status()
		if err != nil || !strings.Contains(strings.ToLower(s.NoDrops), "lance") {
			t.Errorf("status of a Lance table = %+v, %v; want it to name the format", s, err)
		}
	} else if !strings.Contains(strings.ToLower(o.stderr), "lance") {
		t.Errorf("mounting a Lance table: exit status %d, %q; want an error that names the format", o.code, o.stderr)
	}
}
