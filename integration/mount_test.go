package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hudifs/hudifs/writer/ingest"
)

// shell runs a script of sh in the mount's directory.
func (m *mounted) shell(script string) output {
	m.t.Helper()
	return runCommand(m.t, "sh", "-c", "cd \"$0\" && { "+script+"\n}", m.at)
}

// expect checks the newest commit's rows.
func (m *mounted) expect(what string, want map[string]float64) {
	m.t.Helper()
	got := byID(m.t, m.rows())
	if fmt.Sprint(got) != fmt.Sprint(want) { // fmt sorts maps by key
		m.t.Errorf("%s: rows are %v, want %v", what, got, want)
	}
}

func TestToolsDrop(t *testing.T) {
	m := mountTable(t, newPlaces(t))
	src := t.TempDir()
	want := map[string]float64{}
	row := func(name, id string, v int) string {
		want[id] = float64(v)
		return write(t, src, name, fmt.Sprintf("%s%s,x,%d,%d\n", placesHeader, id, v, v))
	}
	row("cp.csv", "cp", 1)
	row("mv.csv", "mv", 2)
	row("tar/one.csv", "tar1", 3)
	row("tar/two.csv", "tar2", 4)
	row("loop1.csv", "loop1", 5)
	row("loop2.csv", "loop2", 6)
	row("gz.csv", "gz", 7)
	row("staged.csv", "staged", 8)
	row("dd.csv", "dd", 9)
	steps := []struct{ name, script string }{
		{"cp", "cp %s/cp.csv ingest/"},
		{"mv", "mv %s/mv.csv ingest/"},
		{"tar", "tar -C %s/tar -cf - one.csv two.csv | tar --no-same-owner -C ingest -xf -"},
		{"loop", "for i in 1 2; do cp %s/loop$i.csv ingest/ || exit 1; done"},
		{"gzip", "gzip %[1]s/gz.csv && cp %[1]s/gz.csv.gz ingest/"},
		{"write a hidden name, then rename", "cp %s/staged.csv ingest/.staged.csv && test $(ls snapshots | wc -l) = 7 && mv ingest/.staged.csv ingest/staged.csv"},
		{"dd", "dd if=%s/dd.csv of=ingest/dd.csv status=none conv=fsync"},
	}
	for _, s := range steps {
		if o := m.shell(fmt.Sprintf(s.script, src)); o.code != 0 {
			t.Errorf("%s: exit status %d: %s", s.name, o.code, o.stderr)
		}
	}
	if _, err := exec.LookPath("rsync"); err == nil {
		row("rsync.csv", "rsync", 10)
		if o := m.shell("rsync " + src + "/rsync.csv ingest/"); o.code != 0 {
			t.Errorf("rsync: exit status %d: %s", o.code, o.stderr)
		}
	} else {
		t.Log("rsync is not installed")
	}
	m.expect("after all tools", want)
	if n := len(m.snapshots()); n != len(want) {
		t.Errorf("%d commits, want one for each of %d files", n, len(want))
	}
	before := m.snapshots()[0]
	if got := byID(t, m.rowsAt(before)); len(got) != 1 {
		t.Errorf("the first commit shows %v now, want its one row", got)
	}
	if o := m.shell("echo x > latest/new.csv; rm -r snapshots/" + before + "; mkdir csv/d"); o.code == 0 || !strings.Contains(o.stderr, "ead-only") {
		t.Errorf("changing snapshots: exit status %d, %s; want a read-only file system", o.code, o.stderr)
	}
}

func TestTwoCopiesAtOnce(t *testing.T) {
	m := mountTable(t, newPlaces(t))
	src := t.TempDir()
	want := map[string]float64{"both": 8}
	var wg sync.WaitGroup
	for i := 1; i <= 8; i++ {
		f := write(t, src, fmt.Sprintf("f%d.csv", i), fmt.Sprintf("%sf%d,x,%d,%d\nboth,x,%d,%d\n", placesHeader, i, i, i, i, i))
		want[fmt.Sprintf("f%d", i)] = float64(i)
		wg.Go(func() {
			if o := runCommand(t, "cp", f, m.path("ingest")); o.code != 0 {
				t.Errorf("cp %s: exit status %d: %s", f, o.code, o.stderr)
			}
		})
	}
	wg.Wait()
	m.expect("after eight copies at once", want)
	if n := len(m.snapshots()); n != 8 {
		t.Errorf("%d commits, want 8", n)
	}
}

func TestMalformedDrops(t *testing.T) {
	m := mountTable(t, newPlaces(t))
	src := t.TempDir()
	cases := []struct {
		file, text   string
		operation    string // "" is upsert
		line         int64
		column, code string
	}{
		{"type.csv", placesHeader + "a,x,1,1\nb,x,zwei,1\n", "", 3, "ts", "type"},
		{"header.csv", "id,city,ts,w\na,x,1,1\n", "", 1, "w", "header"},
		{"columns.csv", "id,city,ts\na,x,1\n", "", 1, "v", "header"},
		{"fields.csv", placesHeader + "a,x,1\n", "", 2, "", "syntax"},
		{"encoding.csv", placesHeader + "a\xff,x,1,1\n", "", 2, "id", "encoding"},
		{"broken.jsonl", "{\"id\":\"a\",\"city\":\"x\",\"ts\":1,\"v\":1}\n{\"id\":\n", "", 2, "", "syntax"},
		{"key.csv", placesHeader + "a,x,1,1\n,x,1,1\n", "", 3, "", "key"},
		{"unknown.xml", "<a/>", "", 0, "", "format"},
		{"no.parquet", "PAR1 this is none PAR1", "", 0, "", "format"},
		{"nopartition.csv", "id\na\n", "delete", 1, "city", "header"},
		{"nokey.jsonl", "{\"city\":\"x\"}\n", "delete", 1, "id", "header"},
	}
	must(t, "cp", write(t, src, "good.csv", placesHeader+"a,x,1,1\n"), m.path("ingest"))
	for _, c := range cases {
		to, as := m.path("ingest"), c.file
		if c.operation != "" {
			to, as = m.path("operations", c.operation), c.operation+"__"+c.file
		}
		if o := runCommand(t, "cp", write(t, src, c.file, c.text), to); o.code != 1 {
			t.Errorf("%s: cp's exit status is %d, want 1", c.file, o.code)
		}
		kept, err := os.ReadFile(m.path(".hudifs", "rejected", as))
		if err != nil || string(kept) != c.text {
			t.Errorf("%s: rejected bytes are %q, %v; want those that were dropped", c.file, kept, err)
		}
		var why ingest.Reason
		body, err := os.ReadFile(m.path(".hudifs", "rejected", as+".reason.json"))
		if err == nil {
			err = json.Unmarshal(body, &why)
		}
		if err != nil || why.Line != c.line || why.Column != c.column || why.Code != c.code || why.Message == "" || why.Retryable {
			t.Errorf("%s: the reason is %+v, %v; want code %s, line %d, column %q", c.file, why, err, c.code, c.line, c.column)
		}
	}
	if n := len(m.snapshots()); n != 1 {
		t.Errorf("%d commits after bad drops, want the one from before", n)
	}
	must(t, "cp", write(t, src, "next.csv", placesHeader+"b,x,2,2\n"), m.path("ingest"))
	m.expect("after bad drops", map[string]float64{"a": 1, "b": 2})
	must(t, "rm", m.path(".hudifs", "rejected", "type.csv"))
	if _, err := os.Stat(m.path(".hudifs", "rejected", "type.csv.reason.json")); !os.IsNotExist(err) {
		t.Errorf("the reason of an acknowledged drop: %v, want ENOENT", err)
	}
}

func TestDeletes(t *testing.T) {
	for _, kind := range []string{"cow", "mor"} {
		t.Run(kind, func(t *testing.T) {
			m := mountTable(t, newPlaces(t, "--type", kind))
			src := t.TempDir()
			must(t, "cp", write(t, src, "rows.csv", placesHeader+"a,x,5,1\nb,x,5,2\nc,y,5,3\nd,y,5,4\n"), m.path("ingest"))
			must(t, "cp", write(t, src, "gone.csv", "id,city\na,x\nd,y\nnever,y\n"), m.path("operations", "delete"))
			m.expect("after a delete by keys", map[string]float64{"b": 2, "c": 3})
			if n := len(m.snapshots()); n != 2 {
				t.Errorf("%d commits, want 2", n)
			}
		})
	}
}

func TestForeignCommitShows(t *testing.T) {
	m := mountTable(t, newPlaces(t))
	src := t.TempDir()
	for i := range 3 {
		f := write(t, src, fmt.Sprintf("f%d.csv", i), fmt.Sprintf("%sf%d,x,1,1\n", placesHeader, i))
		said := must(t, program(t), "ingest", "put", m.table, f)
		began := time.Now()
		instant, _, _ := strings.Cut(said, ":")
		shown := func() bool {
			link, _ := os.Readlink(m.path("latest"))
			_, err := os.Stat(m.path("snapshots", instant))
			return err == nil && filepath.Base(link) == instant
		}
		if !eventually(time.Second, shown) {
			t.Errorf("commit %s of another process does not show after %v", instant, time.Since(began))
		}
	}
}
