package main

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer"
	"github.com/hudifs/hudifs/writer/ingest"
)

// demoData is daily weather; demodata/SOURCE.md says where it comes from.
//
//go:embed demodata/*.csv
var demoData embed.FS

func newDemo() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the whole journey on a small real data set",
		Long: `Make a table in a temporary directory, mount it, drop files of daily weather into it with cp, list the commits, read the latest and an
older one, and unmount. Nothing is left behind, unless --keep is given.`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd, keep) },
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the table mounted")
	return cmd
}

// demonstration is one run.
type demonstration struct {
	ctx   context.Context
	out   io.Writer
	dir   string
	table string
	mount string
	files []string
	step  int
	keep  bool
}

func demo(cmd *cobra.Command, keep bool) error {
	dir, err := os.MkdirTemp("", "hudifs-demo-")
	if err != nil {
		return err
	}
	d := &demonstration{ctx: cmd.Context(), out: cmd.OutOrStdout(), dir: dir, table: filepath.Join(dir, "weather"), mount: filepath.Join(dir, "mount"), keep: keep}
	if err := d.run(); err != nil {
		return fmt.Errorf("demo (its files are in %s): %w", dir, err)
	}
	if keep {
		return nil
	}
	return os.RemoveAll(dir)
}

func (d *demonstration) say(format string, args ...any) {
	d.step++
	fmt.Fprintf(d.out, "\n%d. %s\n", d.step, fmt.Sprintf(format, args...))
}

func (d *demonstration) run() error {
	if err := d.unpack(); err != nil {
		return err
	}
	if err := d.create(); err != nil {
		return err
	}
	if why := noFUSE(); why != "" {
		return d.withoutMount(why)
	}
	return d.withMount()
}

// unpack writes the data set into the temporary directory.
func (d *demonstration) unpack() error {
	entries, err := demoData.ReadDir("demodata")
	if err != nil {
		return err
	}
	for _, e := range entries {
		body, err := demoData.ReadFile("demodata/" + e.Name())
		if err != nil {
			return err
		}
		name := filepath.Join(d.dir, e.Name())
		if err := os.WriteFile(name, body, 0o644); err != nil {
			return err
		}
		d.files = append(d.files, name)
	}
	return os.Mkdir(d.mount, 0o755)
}

func (d *demonstration) create() error {
	d.say("An empty table. Its columns are those of the first file; a row is identified by its date, and each city has a partition:")
	f := createFlags{keys: []string{"date"}, partition: []string{"location"}, tableType: "cow", version: tableconfig.Version9, like: d.files[0], hiveStyle: true}
	o, err := f.options(d.table)
	if err != nil {
		return err
	}
	s, err := f.schema(d.ctx, o.Name)
	if err != nil {
		return err
	}
	st, err := openStore(d.ctx, d.table, true, nil)
	if err != nil {
		return err
	}
	defer st.Close()
	if _, err := writer.CreateTable(d.ctx, st, s, o); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "   $ hudifs create %s --key date --partition location --hive-style --like %s\n", d.table, filepath.Base(d.files[0]))
	return nil
}

// noFUSE says why nothing can be mounted here; "" where it can.
func noFUSE() string {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return "this machine has no /dev/fuse: load the kernel's fuse module (modprobe fuse), or give a container the device (docker run --device /dev/fuse --cap-add SYS_ADMIN)"
	}
	if err != nil {
		return fmt.Sprintf("/dev/fuse can't be opened (%v): run as root, or have an administrator allow your user to use it", err)
	}
	f.Close()
	if os.Geteuid() != 0 {
		if _, err := exec.LookPath("fusermount3"); err != nil {
			return "mounting needs root or the program fusermount3 (Debian and Ubuntu: apt-get install fuse3)"
		}
	}
	return ""
}

func (d *demonstration) withMount() (err error) {
	d.say("Mount it. From now on the table is a directory:")
	cache := filepath.Join(d.dir, "cache")
	if err := d.command("hudifs mount --daemon weather mount", d.self("mount", d.table, d.mount, "--daemon", "--cache-dir", cache)); err != nil {
		return err
	}
	if !d.keep {
		defer func() {
			if uerr := unmount(d.mount, err != nil); err == nil {
				err = uerr
			}
		}()
	}
	for i, what := range []string{"Drop a file: three months of weather in Seattle and New York. When cp returns, its rows are committed:",
		"Two days of New York were corrected later. Rows with the same key are updated:", "And a new month:"} {
		d.say("%s", what)
		fmt.Fprintf(d.out, "   $ cp %s mount/ingest/\n", filepath.Base(d.files[i]))
		if out, err := exec.CommandContext(d.ctx, "cp", d.files[i], filepath.Join(d.mount, "ingest")+"/").CombinedOutput(); err != nil {
			return fmt.Errorf("cp: %w: %s", err, out)
		}
	}
	commits, err := d.listCommits()
	if err != nil {
		return err
	}
	if err := d.compare(commits); err != nil {
		return err
	}
	if err := d.spoiled(); err != nil {
		return err
	}
	return d.finish()
}

func (d *demonstration) self(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return exec.CommandContext(d.ctx, self, args...)
}

func (d *demonstration) command(shown string, cmd *exec.Cmd) error {
	fmt.Fprintf(d.out, "   $ %s\n", shown)
	out, err := cmd.CombinedOutput()
	d.show(bytes.NewReader(out), 12)
	if err != nil {
		return fmt.Errorf("%s: %w", shown, err)
	}
	return nil
}

// show prints the first lines of r, indented.
func (d *demonstration) show(r io.Reader, most int) {
	sc := bufio.NewScanner(r)
	n := 0
	for sc.Scan() {
		if n++; n <= most {
			fmt.Fprintf(d.out, "   %s\n", sc.Text())
		}
	}
	if n > most {
		fmt.Fprintf(d.out, "   … %d lines in all\n", n)
	}
}

func (d *demonstration) listCommits() ([]string, error) {
	d.say("Every commit is a directory that never changes:")
	fmt.Fprintln(d.out, "   $ ls mount/snapshots")
	entries, err := os.ReadDir(filepath.Join(d.mount, "snapshots"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		fmt.Fprintf(d.out, "   %s\n", e.Name())
	}
	sort.Strings(names)
	latest, err := os.Readlink(filepath.Join(d.mount, "latest"))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(d.out, "   $ readlink mount/latest\n   %s\n", latest)
	if len(names) != len(d.files) {
		return nil, fmt.Errorf("%d files were dropped, but %d commits show", len(d.files), len(names))
	}
	return names, nil
}

const correctedDay = "2013-01-13"

func (d *demonstration) compare(commits []string) error {
	d.say("The data are Parquet files, for DuckDB, pandas, Spark; the same rows are there as text:")
	fmt.Fprintln(d.out, "   $ find mount/latest/ -name '*.parquet'")
	err := filepath.WalkDir(filepath.Join(d.mount, "latest")+"/", func(p string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(d.dir, p)
			fmt.Fprintf(d.out, "   %s\n", rel)
		}
		return err
	})
	if err != nil {
		return err
	}
	d.say("What the first commit said of New York on %s, and what the latest says:", correctedDay)
	var seen []string
	for _, c := range []string{commits[0], commits[len(commits)-1]} {
		line, rows, err := d.find(filepath.Join(d.mount, "csv", c))
		if err != nil {
			return err
		}
		fmt.Fprintf(d.out, "   $ grep %s mount/csv/%s/*/*.csv   # of %d rows\n   %s\n", correctedDay, c, rows, line)
		seen = append(seen, line)
	}
	if !strings.HasSuffix(seen[0], "drizzle") || !strings.HasSuffix(seen[1], "rain") {
		return fmt.Errorf("the first commit should say drizzle and the latest rain, they say %q and %q", seen[0], seen[1])
	}
	return nil
}

// find reads all rows of a snapshot's CSV view and returns the corrected day of New York.
func (d *demonstration) find(dir string) (line string, rows int, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.csv"))
	if err != nil {
		return "", 0, err
	}
	for _, f := range files {
		body, err := os.ReadFile(f)
		if err != nil {
			return "", 0, err
		}
		for i, l := range strings.Split(strings.TrimSpace(string(body)), "\n") {
			if i == 0 {
				continue
			}
			rows++
			if strings.Contains(l, correctedDay) && strings.Contains(l, "New York") {
				line = l
			}
		}
	}
	return line, rows, nil
}

func (d *demonstration) spoiled() error {
	d.say("A file with a mistake is refused as a whole, and says where it is:")
	bad := filepath.Join(d.dir, "spoiled.csv")
	if err := os.WriteFile(bad, []byte("location,date,precipitation,temp_max,temp_min,wind,weather\nSeattle,2013-05-01,0.0,warm,5.6,3.1,sun\n"), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(d.out, "   $ cp spoiled.csv mount/ingest/")
	out, err := exec.CommandContext(d.ctx, "cp", bad, filepath.Join(d.mount, "ingest")+"/").CombinedOutput()
	if err == nil {
		return errors.New("a file with a mistake was taken")
	}
	d.show(bytes.NewReader(out), 4)
	fmt.Fprintln(d.out, "   $ cat mount/.hudifs/rejected/spoiled.csv.reason.json")
	reason, err := os.ReadFile(filepath.Join(d.mount, ".hudifs", "rejected", "spoiled.csv.reason.json"))
	if err != nil {
		return err
	}
	d.show(bytes.NewReader(reason), 20)
	return nil
}

func (d *demonstration) finish() error {
	if d.keep {
		d.say("It stays mounted. Look around, and end it with:")
		fmt.Fprintf(d.out, "   $ cd %s\n   $ hudifs umount %s && rm -r %s\n", d.mount, d.mount, d.dir)
		return nil
	}
	d.say("Unmount. The table stays what it is, for Spark, Flink, Trino and hudi-rs:")
	fmt.Fprintln(d.out, "   $ hudifs umount mount")
	return nil
}

// withoutMount shows the same journey through the library.
func (d *demonstration) withoutMount(why string) error {
	d.say("Nothing can be mounted here: %s.\n   The same journey without a mount:", why)
	t, st, err := openTable(d.ctx, d.table, snapshot.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	w, err := writer.New(writer.Options{Table: t, Lock: tableLock(d.table)})
	if err != nil {
		return err
	}
	for _, f := range d.files {
		b, err := w.NewBatch(d.ctx, action.OpUpsert)
		if err != nil {
			return err
		}
		if err := putFile(d.ctx, b, f, ingest.Input{}); err != nil {
			return err
		}
		c, err := b.Commit(d.ctx, writer.CommitOptions{})
		if err = errors.Join(err, b.Close()); err != nil {
			return err
		}
		fmt.Fprintf(d.out, "   $ hudifs ingest put weather %s\n   %s: %d inserted, %d updated\n", filepath.Base(f), c.Instant.Time, c.Inserts, c.Updates)
	}
	d.say("The commits:")
	if _, err := t.Reload(d.ctx); err != nil {
		return err
	}
	var list bytes.Buffer
	if err := listSnapshots(d.ctx, &list, t, false); err != nil {
		return err
	}
	d.show(&list, 10)
	commits, err := t.Commits(d.ctx)
	if err != nil {
		return err
	}
	d.say("What the first commit said of New York on %s, and what the latest says:", correctedDay)
	for _, at := range []string{string(commits[0].Time), ""} {
		var rows bytes.Buffer
		if err := catTable(d.ctx, &rows, t, at, true); err != nil {
			return err
		}
		for l := range strings.Lines(rows.String()) {
			if strings.Contains(l, correctedDay) && strings.Contains(l, "New York") {
				fmt.Fprintf(d.out, "   %s", l)
			}
		}
	}
	return nil
}
