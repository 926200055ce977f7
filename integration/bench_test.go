package integration

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hudifs/hudifs/internal/filecache"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/storage/local"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer"
	"github.com/hudifs/hudifs/writer/ingest"
	"github.com/hudifs/hudifs/writer/service"
)

// The rows of all benchmarks of the engine: a table of benchRows trips, key id, ordering field ts, not partitioned, and an upsert of benchChanges of
// them, half of which are updates spread at random and half new. docs/benchmarks.md holds figures and how they were taken.
const (
	benchRows    = 1_000_000
	benchChanges = 100_000
)

const benchSchema = `{"type":"record","name":"trips_record","namespace":"hoodie.trips","fields":[
 {"name":"id","type":["null","string"],"default":null},
 {"name":"ts","type":["null","long"],"default":null},
 {"name":"city","type":["null","string"],"default":null},
 {"name":"rider","type":["null","string"],"default":null},
 {"name":"driver","type":["null","string"],"default":null},
 {"name":"lat","type":["null","double"],"default":null},
 {"name":"lon","type":["null","double"],"default":null},
 {"name":"fare","type":["null","double"],"default":null},
 {"name":"seats","type":["null","int"],"default":null},
 {"name":"note","type":["null","string"],"default":null}]}`

const benchHeader = "id,ts,city,rider,driver,lat,lon,fare,seats,note\n"

// benchFiles are the drops and the directory for the tables that the benchmarks start from, made once and never changed. HUDIFS_BENCH_DIR keeps them for
// the next run.
type benchFiles struct {
	dir, load, changes, one string
}

func makeBenchFiles(b *testing.B) *benchFiles {
	b.Helper()
	f := &benchFiles{dir: os.Getenv("HUDIFS_BENCH_DIR")}
	if f.dir == "" {
		f.dir = b.TempDir()
	}
	f.load, f.changes, f.one = filepath.Join(f.dir, "load.csv"), filepath.Join(f.dir, "changes.csv"), filepath.Join(f.dir, "one.csv")
	if _, err := os.Stat(f.one); err == nil {
		return f
	}
	r := rand.New(rand.NewPCG(7, 11))
	writeTrips(b, f.load, benchRows, r, func(i int) int { return i })
	old := r.Perm(benchRows)[:benchChanges/2]
	writeTrips(b, f.changes, benchChanges, r, func(i int) int {
		if i%2 == 0 {
			return old[i/2]
		}
		return benchRows + i/2
	})
	writeTrips(b, f.one, 1, r, func(int) int { return benchRows / 2 })
	return f
}

// writeTrips writes n rows as CSV. Later files have later ordering values, so updates win.
func writeTrips(b *testing.B, path string, n int, r *rand.Rand, id func(i int) int) {
	b.Helper()
	cities := []string{"rome", "oslo", "lima", "kyiv"}
	const words = "late at the corner near old bridge with two bags and a dog "
	st, _ := os.Stat(filepath.Dir(path))
	out := append(make([]byte, 0, n*130+256), benchHeader...)
	base := int64(1_700_000_000_000)
	if st != nil && filepath.Base(path) != "load.csv" {
		base += 1 << 40
	}
	for i := range n {
		from := r.IntN(20)
		out = fmt.Appendf(out, "trip-%010d,%d,%s,rider-%06d,driver-%05d,%.6f,%.6f,%.2f,%d,%s\n", id(i), base+r.Int64N(1<<30), cities[r.IntN(4)], r.IntN(200_000),
			r.IntN(30_000), 40+r.Float64(), 12+r.Float64(), 5+95*r.Float64(), 1+r.IntN(6), strings.TrimSpace(words[from:from+5+r.IntN(31)]))
	}
	if err := os.WriteFile(path, out, 0o644); err != nil {
		b.Fatal(err)
	}
}

// benchTable is an open table and its writer. Files are synced, as in production.
type benchTable struct {
	dir string
	tab *snapshot.Table
	w   *writer.Writer
}

func createBenchTable(b *testing.B, dir string, o tableconfig.Options) *benchTable {
	b.Helper()
	st, err := local.Open(dir, local.Options{Create: true})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	s, err := schema.Parse(benchSchema)
	if err != nil {
		b.Fatal(err)
	}
	o.Name, o.RecordKeys, o.OrderingFields = "trips", []string{"id"}, []string{"ts"}
	if _, err := writer.CreateTable(b.Context(), st, s, o); err != nil {
		b.Fatal(err)
	}
	return openBenchTable(b, dir)
}

func openBenchTable(b *testing.B, dir string) *benchTable {
	b.Helper()
	st, err := local.Open(dir, local.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { st.Close() })
	cache, err := filecache.Open(b.TempDir(), 8<<30, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { cache.Close() })
	tab, err := snapshot.OpenTable(b.Context(), st, snapshot.Options{Cache: cache})
	if err != nil {
		b.Fatal(err)
	}
	w, err := writer.New(writer.Options{Table: tab})
	if err != nil {
		b.Fatal(err)
	}
	return &benchTable{dir: dir, tab: tab, w: w}
}

// commit decodes one file and commits its rows.
func (t *benchTable) commit(b *testing.B, op action.WriteOperation, path string) {
	b.Helper()
	ctx := b.Context()
	batch, err := t.w.NewBatch(ctx, op)
	if err != nil {
		b.Fatal(err)
	}
	defer batch.Close()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	in, err := ingest.Decode(ctx, ingest.Input{Name: path, R: f, Size: st.Size(), Schema: batch.Schema()})
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	if _, err := batch.Add(ctx, in); err != nil {
		b.Fatal(err)
	}
	if _, err := batch.Commit(ctx, writer.CommitOptions{}); err != nil {
		b.Fatal(err)
	}
}

// copyOf returns a copy of a table whose files are links: what the engine writes are new files, so the original stays as it is.
func copyOf(b *testing.B, dir string) string {
	b.Helper()
	to := filepath.Join(b.TempDir(), "table")
	if out, err := exec.Command("cp", "-al", dir, to).CombinedOutput(); err != nil {
		b.Fatalf("copy table: %v: %s", err, out)
	}
	return to
}

// usage measures what the engine takes: the processor's time, which other work on the machine changes less than the clock's, and the peak of resident
// memory. Of several rounds it reports the median time and the highest peak.
type usage struct {
	cpu, peak, base []float64
	from            time.Duration
}

func (u *usage) start() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200) // forgets the high-water mark
	u.base = append(u.base, float64(rssField("VmRSS"))/1024)
	u.from = cpuTime()
}

func (u *usage) stop(b *testing.B) {
	u.cpu = append(u.cpu, (cpuTime() - u.from).Seconds())
	u.peak = append(u.peak, float64(rssField("VmHWM"))/1024)
	slices.Sort(u.cpu)
	b.ReportMetric(u.cpu[len(u.cpu)/2], "cpu-s/op")
	b.ReportMetric(slices.Max(u.peak), "MiB-peak")
	b.ReportMetric(slices.Max(u.base), "MiB-before")
}

func cpuTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// rssField reads a field of /proc/self/status, in KiB.
func rssField(name string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n
		}
	}
	return 0
}

// BenchmarkTrips is everything on the million rows, in one run. Each step of the engine is timed on a fresh copy of the table, from the drop's bytes on disk
// to the durable commit.
func BenchmarkTrips(b *testing.B) {
	f := makeBenchFiles(b)
	cow, mor, logged := filepath.Join(f.dir, "cow"), filepath.Join(f.dir, "mor"), filepath.Join(f.dir, "logged")
	if _, err := os.Stat(logged); err != nil {
		createBenchTable(b, cow, tableconfig.Options{}).commit(b, action.OpBulkInsert, f.load)
		createBenchTable(b, mor, tableconfig.Options{Type: tableconfig.MergeOnRead}).commit(b, action.OpBulkInsert, f.load)
		t := openBenchTable(b, copyOf(b, mor))
		t.commit(b, action.OpUpsert, f.changes)
		if out, err := exec.Command("cp", "-a", t.dir, logged).CombinedOutput(); err != nil {
			b.Fatalf("copy table: %v: %s", err, out)
		}
	}

	b.Run("load1M", func(b *testing.B) {
		var u usage
		for b.Loop() {
			b.StopTimer()
			t := createBenchTable(b, filepath.Join(b.TempDir(), "t"), tableconfig.Options{})
			u.start()
			b.StartTimer()
			t.commit(b, action.OpBulkInsert, f.load)
			u.stop(b)
		}
	})
	for _, c := range []struct{ name, table, drop string }{
		{"upsert100k/cow", cow, f.changes}, {"upsert100k/mor", mor, f.changes}, {"upsert1/cow", cow, f.one}, {"upsert1/mor", mor, f.one},
	} {
		b.Run(c.name, func(b *testing.B) {
			var u usage
			for b.Loop() {
				b.StopTimer()
				t := openBenchTable(b, copyOf(b, c.table))
				u.start()
				b.StartTimer()
				t.commit(b, action.OpUpsert, c.drop)
				u.stop(b)
			}
		})
	}
	b.Run("read/merged", func(b *testing.B) { benchMergedRead(b, logged) })
	b.Run("read/rewrite", func(b *testing.B) { benchRewrite(b, logged) })
	b.Run("compact", func(b *testing.B) {
		var u usage
		for b.Loop() {
			b.StopTimer()
			t := openBenchTable(b, copyOf(b, logged))
			u.start()
			b.StartTimer()
			if _, err := t.w.ScheduleCompaction(b.Context(), service.CompactionOptions{}); err != nil {
				b.Fatal(err)
			}
			if done, err := t.w.ExecuteCompactions(b.Context()); err != nil || len(done) != 1 {
				b.Fatal(done, err)
			}
			u.stop(b)
		}
	})
	b.Run("read/hudi-rs", func(b *testing.B) { benchHudiRS(b, logged) })
}

// benchMergedRead makes all files of the newest snapshot in an empty cache.
func benchMergedRead(b *testing.B, dir string) {
	var u usage
	for b.Loop() {
		b.StopTimer()
		t := openBenchTable(b, dir)
		u.start()
		b.StartTimer()
		eachFile(b, t.tab, func(s *snapshot.Snapshot, e snapshot.Entry) {
			f, err := s.OpenFile(b.Context(), e)
			if err != nil {
				b.Fatal(err)
			}
			f.Close()
		})
		u.stop(b)
	}
}

func eachFile(b *testing.B, tab *snapshot.Table, fn func(*snapshot.Snapshot, snapshot.Entry)) {
	b.Helper()
	s, err := tab.Now(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	list, err := s.Entries(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range list {
		fn(s, e)
	}
}

// benchRewrite reads every value of the base files and writes it again, without any merge: what a merged read is compared with.
func benchRewrite(b *testing.B, dir string) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil || len(paths) == 0 {
		b.Fatal(paths, err)
	}
	var u usage
	for b.Loop() {
		b.StopTimer()
		u.start()
		b.StartTimer()
		for _, path := range paths {
			if err := rewrite(b.Context(), path, filepath.Join(b.TempDir(), "copy.parquet")); err != nil {
				b.Fatal(err)
			}
		}
		u.stop(b)
	}
}

func rewrite(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	src, err := parquetfile.Open(in, st.Size(), from)
	if err != nil {
		return err
	}
	s := src.Schema()
	rows, err := src.Rows(ctx, s)
	if err != nil {
		return err
	}
	defer rows.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	w, err := parquetfile.NewWriter(out, s, parquetfile.WriteOptions{})
	if err != nil {
		return err
	}
	buf := make([]record.Row, 1024)
	for {
		n, err := rows.Read(buf)
		for _, row := range buf[:n] {
			if err := w.WriteRow(row); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	return w.Close()
}

// hudiRSRead reads a table into memory with hudi-rs and prints the seconds that the reading alone took.
const hudiRSRead = `
import sys, time
from hudi import HudiTableBuilder
t = HudiTableBuilder.from_base_uri(sys.argv[1]).build()
start, cpu = time.perf_counter(), time.process_time()
rows = sum(b.num_rows for b in t.read())
print(rows, time.perf_counter() - start, time.process_time() - cpu)
`

// benchHudiRS reads the same table with hudi-rs where HUDIFS_PYTHON names a Python that has it. It ends with rows in memory, not with a file.
func benchHudiRS(b *testing.B, dir string) {
	python := os.Getenv("HUDIFS_PYTHON")
	if python == "" {
		b.Skip("HUDIFS_PYTHON does not name a Python with the hudi package")
	}
	var total time.Duration
	var cpu []float64
	for b.Loop() {
		out, err := exec.Command(python, "-c", hudiRSRead, dir).Output()
		if err != nil {
			b.Fatal(err)
		}
		var rows int
		var seconds, used float64
		if _, err := fmt.Sscan(string(out), &rows, &seconds, &used); err != nil || rows != benchRows+benchChanges/2 {
			b.Fatalf("hudi-rs read %d rows, want %d (%v)", rows, benchRows+benchChanges/2, err)
		}
		total += time.Duration(seconds * float64(time.Second))
		cpu = append(cpu, used)
	}
	slices.Sort(cpu)
	b.ReportMetric(float64(total.Nanoseconds())/float64(len(cpu)), "ns/op")
	b.ReportMetric(cpu[len(cpu)/2], "cpu-s/op")
}
