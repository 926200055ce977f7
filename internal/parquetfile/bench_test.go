package parquetfile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// benchRows is the table of the benchmarks: trips with 12 columns.
const benchRows = 1_000_000

type benchTable struct {
	schema *schema.Schema
	rows   []record.Row
	arena  record.Arena
	row    record.Row
}

// tripRow is row i of version v.
func (b *benchTable) tripRow(sh *record.Shredder, r *rand.Rand, i int, v string) record.Row {
	id := fmt.Sprintf("trip-%010d", i)
	words := []string{"late", "pickup", "airport", "rain", "cash", "tip", "night", "detour"}
	note := words[r.IntN(8)] + " " + words[r.IntN(8)] + fmt.Sprint(r.IntN(100000)) + " " + words[r.IntN(8)]
	row, err := sh.Shred(b.row[:0], []any{
		v, fmt.Sprintf("%s_0_%d", v, i), id, "city=x", "0000-0000_0-0-0_" + v + ".parquet", id, int64(1700000000000 + r.IntN(1<<30)),
		[]string{"sf", "la", "ny", "rome"}[r.IntN(4)], fmt.Sprintf("rider-%d", r.IntN(200000)), r.Float64() * 90, int32(r.IntN(6)), note,
	})
	if err != nil {
		panic(err)
	}
	b.row = row
	return b.arena.Clone(row)
}

func newBenchTable(tb testing.TB, n int) *benchTable {
	b := &benchTable{schema: mustSchema(tb, flatSchema)}
	sh := record.NewShredder(b.schema)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		b.rows = append(b.rows, b.tripRow(sh, r, i, "20260101000000000"))
	}
	return b
}

func (b *benchTable) write(tb testing.TB, w io.Writer, codec string) {
	pw, err := NewWriter(w, b.schema, WriteOptions{Codec: codec})
	if err != nil {
		tb.Fatal(err)
	}
	for _, row := range b.rows {
		if err := pw.WriteRow(row); err != nil {
			tb.Fatal(err)
		}
	}
	if err := pw.Close(); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkAll measures one file of 1 M rows × 12 columns in one run, so that the ratios hold on a busy machine: writing by codec, reading by
// rows and by keys beside an independent reader, and splicing with many and few edits.
func BenchmarkAll(b *testing.B) {
	t := newBenchTable(b, benchRows)
	files := map[string][]byte{}
	// Rates are per second of processor time of all threads: other work on the machine counts little.
	rate := func(b *testing.B, from time.Duration) {
		b.ReportMetric(float64(benchRows)*float64(b.N)/(cpuTime()-from).Seconds()/1e6, "Mrow/cpu-s")
	}
	for _, codec := range []string{"uncompressed", "snappy", "zstd", "gzip", "lz4_raw"} {
		b.Run("write/"+codec, func(b *testing.B) {
			cpu := cpuTime()
			for b.Loop() {
				var buf bytes.Buffer
				t.write(b, &buf, codec)
				files[codec] = buf.Bytes()
			}
			rate(b, cpu)
			b.ReportMetric(float64(len(files[codec]))/1e6, "MB")
		})
	}
	for _, codec := range []string{"uncompressed", "snappy", "zstd", "gzip"} {
		if files[codec] == nil {
			continue
		}
		f := openBytes(b, files[codec])
		b.Run("rows/"+codec, func(b *testing.B) {
			cpu := cpuTime()
			dst := make([]record.Row, batchRows)
			for b.Loop() {
				r, err := f.Rows(context.Background(), f.Schema())
				if err != nil {
					b.Fatal(err)
				}
				for {
					if _, err := r.Read(dst); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
			rate(b, cpu)
		})
		b.Run("keys/"+codec, func(b *testing.B) {
			cpu := cpuTime()
			for b.Loop() {
				n := 0
				if err := f.Strings(context.Background(), "_hoodie_record_key", func(_ int64, v []byte, _ bool) error { n += len(v); return nil }); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, cpu)
		})
		b.Run("arrow/"+codec, func(b *testing.B) {
			cpu := cpuTime()
			for b.Loop() {
				readArrow(b, files[codec])
			}
			rate(b, cpu)
		})
	}
	for _, codec := range []string{"snappy", "zstd"} {
		if files[codec] == nil {
			continue
		}
		f := openBytes(b, files[codec])
		for _, c := range []struct {
			name            string
			edits, appended int
		}{{"none", 0, 0}, {"1 row", 1, 0}, {"1000 rows", 1000, 0}, {"50k+50k rows", 50000, 50000}} {
			b.Run("splice/"+codec+"/"+c.name, func(b *testing.B) { benchSplice(b, t, f, codec, c.edits, c.appended) })
		}
	}
}

// cpuTime is the processor time that the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func readArrow(b *testing.B, data []byte) {
	pf, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		b.Fatal(err)
	}
	defer pf.Close()
	fr, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{BatchSize: 64 << 10}, memory.DefaultAllocator)
	if err != nil {
		b.Fatal(err)
	}
	rr, err := fr.GetRecordReader(context.Background(), nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer rr.Release()
	for rr.Next() {
	}
}

func benchSplice(b *testing.B, t *benchTable, f *File, codec string, edits, appended int) {
	r := rand.New(rand.NewPCG(3, 4))
	sh := record.NewShredder(t.schema)
	var rows []record.Row
	for i := range edits + appended {
		rows = append(rows, t.tripRow(sh, r, benchRows+i, "20260202000000000"))
	}
	at := r.Perm(benchRows)[:edits]
	leaf := t.schema.LeafOf("_hoodie_file_name")
	cpu := cpuTime()
	for b.Loop() {
		var e Edit
		for i, pos := range at {
			e.Replace(int64(pos), rows[i])
		}
		e.Fill(leaf, "0000-0000_0-0-0_20260202000000000.parquet")
		w, err := NewWriter(io.Discard, t.schema, WriteOptions{Codec: codec})
		if err != nil {
			b.Fatal(err)
		}
		if err := w.Splice(context.Background(), f, &e); err != nil {
			b.Fatal(err)
		}
		for _, row := range rows[edits:] {
			if err := w.WriteRow(row); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cpuTime()-cpu).Seconds()*1000/float64(b.N), "cpu-ms")
}
