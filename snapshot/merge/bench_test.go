package merge

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/avrocodec"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// The rows of the benchmark: trips, as other engines were measured on them.
const tripFields = `{"name":"id","type":["null","string"],"default":null},{"name":"ts","type":["null","long"],"default":null},
	{"name":"city","type":["null","string"],"default":null},{"name":"rider","type":["null","string"],"default":null},{"name":"driver","type":["null","string"],"default":null},
	{"name":"lat","type":["null","double"],"default":null},{"name":"lon","type":["null","double"],"default":null},{"name":"fare","type":["null","double"],"default":null},
	{"name":"seats","type":["null","int"],"default":null},{"name":"note","type":["null","string"],"default":null}`

// tripMaker makes rows of the trips table.
type tripMaker struct {
	rnd    *rand.Rand
	sh     *record.Shredder
	fields []any
	row    record.Row
}

func newTripMaker(s *schema.Schema) *tripMaker {
	return &tripMaker{rnd: rand.New(rand.NewPCG(1, 2)), sh: record.NewShredder(s), fields: make([]any, len(s.Root().Fields))}
}

var noteText = strings.Repeat("lorem ipsum dolor sit amet ", 4)

func (m *tripMaker) trip(commit string, n int, file string) (record.Row, error) {
	id := fmt.Sprintf("trip-%010d", n)
	r := m.rnd
	at := r.IntN(40)
	m.fields = append(m.fields[:0], commit, fmt.Sprintf("%s_0_%d", commit, n), id, "", file, id, 1_700_000_000_000+r.Int64N(1e9),
		[]string{"berlin", "chennai", "lagos", "sao paulo"}[r.IntN(4)], fmt.Sprintf("rider-%06d", r.IntN(200_000)), fmt.Sprintf("driver-%05d", r.IntN(30_000)),
		r.Float64()*180-90, r.Float64()*360-180, float64(r.IntN(10_000))/100, int32(r.IntN(6)), noteText[at:at+5+r.IntN(30)])
	var err error
	m.row, err = m.sh.Shred(m.row[:0], m.fields)
	return m.row, err
}

// trips writes a base file of rows rows and one log of updates updates, half of them new keys; commit time of the updates is later.
func trips(tb testing.TB, dir string, rows, updates int) (s *schema.Schema, base, log string) {
	tb.Helper()
	s = mustSchema(tb, tripFields).WithMetaFields()
	base, log = filepath.Join(dir, "base.parquet"), filepath.Join(dir, ".f_1.log.1_0-0-0")
	m := newTripMaker(s)
	bf, err := os.Create(base)
	if err != nil {
		tb.Fatal(err)
	}
	defer bf.Close()
	w, err := parquetfile.NewWriter(bf, s, parquetfile.WriteOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range rows {
		row, err := m.trip("20240101000000000", i, "base.parquet")
		if err == nil {
			err = w.WriteRow(row)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	lf, err := os.Create(log)
	if err != nil {
		tb.Fatal(err)
	}
	defer lf.Close()
	lw := logfile.NewWriter(lf)
	enc := avrocodec.NewEncoder(s)
	var content logfile.AvroContent
	h := logfile.Header{logfile.InstantTime: "20240102000000000", logfile.SchemaText: s.String()}
	for i := range updates {
		n := rows + i
		if i%2 == 0 {
			n = m.rnd.IntN(max(rows, 1))
		}
		row, err := m.trip("20240102000000000", n, "f")
		if err == nil {
			err = content.Append(enc, row)
		}
		if err == nil && content.Size() > 64<<20 {
			_, err = lw.Append(logfile.AvroBlock, h, content.Bytes())
			content.Reset()
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := lw.Append(logfile.AvroBlock, h, content.Bytes()); err != nil {
		tb.Fatal(err)
	}
	return s, base, log
}

func openBase(tb testing.TB, path string) *parquetfile.File {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	pf, err := parquetfile.Open(f, info.Size(), path)
	if err != nil {
		tb.Fatal(err)
	}
	return pf
}

func diskLog(tb testing.TB, path string) Log {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return logOf(path, data)
}

// BenchmarkMerge merges 100,000 logged rows into 1,000,000: into a parquet file, and only up to the decision about every row; beside it a plain read and
// write of the base file.
func BenchmarkMerge(b *testing.B) {
	s, base, log := trips(b, b.TempDir(), 1_000_000, 100_000)
	pf, l := openBase(b, base), diskLog(b, log)
	for _, mode := range []string{"COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING"} {
		in := SliceInput{Base: pf, BaseInstant: "20240101000000000", Logs: []Log{l}, Schema: s, Config: config(b, 9, "hoodie.record.merge.mode="+mode)}
		b.Run(mode+"/decide", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m, err := Open(context.Background(), in)
				if err != nil {
					b.Fatal(err)
				}
				if st := m.Stats(); st.Inserted != 50_000 {
					b.Fatalf("%+v", st)
				}
				m.Close()
			}
		})
		b.Run(mode+"/file", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mergeToFile(b, in)
			}
		})
	}
	b.Run("plain rewrite", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w, err := parquetfile.NewWriter(io.Discard, s, parquetfile.WriteOptions{})
			if err != nil {
				b.Fatal(err)
			}
			rows, err := pf.Rows(context.Background(), s)
			if err != nil {
				b.Fatal(err)
			}
			var batch [512]record.Row
			for {
				n, err := rows.Read(batch[:])
				for _, r := range batch[:n] {
					if err := w.WriteRow(r); err != nil {
						b.Fatal(err)
					}
				}
				if err == io.EOF {
					break
				} else if err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func mergeToFile(tb testing.TB, in SliceInput) Stats {
	tb.Helper()
	m, err := Open(context.Background(), in)
	if err != nil {
		tb.Fatal(err)
	}
	defer m.Close()
	w, err := parquetfile.NewWriter(io.Discard, in.Schema, parquetfile.WriteOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	if err := m.WriteTo(context.Background(), w, "merged.parquet"); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return m.Stats()
}
