package merge

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/avrocodec"
	"github.com/hudifs/hudifs/internal/hfile"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

var large = flag.Bool("large", false, "merge 2 GiB of logs")

func mustMerge(t testing.TB, in SliceInput) []string {
	t.Helper()
	rows, _, err := merged(t, in)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func expect(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: rows\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEmptyLogsAndNoLogs(t *testing.T) {
	f := ruleFixture(t, "v9 event")
	in := SliceInput{Schema: f.schema, Config: f.cfg, Base: f.base("a,1,x")}
	expect(t, "no logs", mustMerge(t, in), "a,1,x@000")
	in.Logs = []Log{logOf("empty", nil), logOf("one", f.log("1: a,2,y")), logOf("half a magic", []byte("#HU"))}
	expect(t, "empty logs", mustMerge(t, in), "a,2,y@1")
	in.Base = nil
	expect(t, "logs only", mustMerge(t, in), "a,2,y@1")
	in.Logs = nil
	expect(t, "nothing", mustMerge(t, in))
}

// TestReadingOrderIsTheCallers: logs come in the order given, not by their names.
func TestReadingOrderIsTheCallers(t *testing.T) {
	f := ruleFixture(t, "v9 commit")
	in := SliceInput{Schema: f.schema, Config: f.cfg, Logs: []Log{logOf("z", f.log("2: a,1,first")), logOf("a", f.log("1: a,1,second"))}}
	expect(t, "rows", mustMerge(t, in), "a,1,second@1")
}

// TestDamagedLog goes on behind damage, and says so.
func TestDamagedLog(t *testing.T) {
	f := ruleFixture(t, "v9 event")
	one, two := f.log("1: a,2,y"), f.log("2: b,2,z")
	torn := append(append(bytes.Clone(one), two[:len(two)/2]...), two...)
	in := SliceInput{Schema: f.schema, Config: f.cfg, Base: f.base("a,1,x"), Logs: []Log{logOf("l", torn)}}
	rows, stats, err := merged(t, in)
	if err != nil || stats.Corrupt != 1 || stats.Blocks != 2 {
		t.Fatalf("%+v, %v, want one corrupt region and two blocks", stats, err)
	}
	expect(t, "rows", rows, "a,2,y@1", "b,2,z@2")
	in.Logs = []Log{logOf("l", []byte("something else entirely"))}
	if _, _, err := merged(t, in); err == nil {
		t.Error("a file that is no log file merges")
	}
}

// TestFlipEveryByteOfALog: whatever byte of the structure is damaged, the rows are the right ones, or damage is reported. Values carry no checksum: a flip inside
// a value may change it.
func TestFlipEveryByteOfALog(t *testing.T) {
	f := ruleFixture(t, "v9 event")
	in := SliceInput{Schema: f.schema, Config: f.cfg, Base: f.base("a,1,x", "b,1,x", "c,1,x")}
	data := f.log("20240101: a,2,y; d,1,new", "20240102: del b; del c@5")
	in.Logs = []Log{logOf("l", data)}
	want := mustMerge(t, in)
	value := valueBytes(t, data)
	for i := range data {
		p := bytes.Clone(data)
		p[i] ^= 1 << (i % 8)
		in.Logs = []Log{logOf("l", p)}
		s, err := Open(context.Background(), in)
		if err != nil {
			continue
		}
		rows, err := rowsOf(t, s, f.schema)
		if err == nil && s.Stats().Corrupt == 0 && !value[i] && !slices.Equal(rows, want) {
			t.Errorf("a flip in byte %d (%#x) gives silently\n%v, want\n%v", i, data[i], rows, want)
		}
		s.Close()
	}
	for cut := range data {
		in.Logs = []Log{logOf("l", data[:cut])}
		s, err := Open(context.Background(), in)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		rows, err := rowsOf(t, s, f.schema)
		whole := s.Stats().Blocks == 2 || s.Stats().Blocks == 1 && len(rows) == 4 || s.Stats().Blocks == 0 && len(rows) == 3
		if err != nil || !whole {
			t.Fatalf("cut at %d: %d blocks and rows %v, %v", cut, s.Stats().Blocks, rows, err)
		}
		s.Close()
	}
}

// valueBytes marks the bytes of values: of header entries and of records.
func valueBytes(t *testing.T, data []byte) map[int]bool {
	t.Helper()
	out := map[int]bool{}
	r, err := logfile.Open(bytes.NewReader(data), int64(len(data)), "l")
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range r.Blocks(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		block := data[b.Offset : b.Offset+b.Size]
		for _, v := range b.Header {
			at := int(b.Offset) + bytes.Index(block, []byte(v))
			for i := range len(v) {
				out[at+i] = true
			}
		}
		// Behind version and count, or version and length: records.
		for i := b.ContentOffset + 8; i < b.ContentOffset+b.ContentSize; i++ {
			out[int(i)] = true
		}
	}
	return out
}

// TestPositions: by position or by key, the rows are the same; positions of another base file are not used (G10).
func TestPositions(t *testing.T) {
	f := ruleFixture(t, "v9 event")
	base := f.base("a,1,x", "b,1,x", "c,9,x", "d,1,x", "e,1,x")
	with := func(pos []int64, baseInstant string, rows ...string) []byte {
		var content logfile.AvroContent
		enc := avrocodec.NewEncoder(f.schema)
		for _, r := range rows {
			if err := content.Append(enc, f.row(f.schema, "1", r)); err != nil {
				t.Fatal(err)
			}
		}
		text, err := logfile.EncodePositions(pos)
		if err != nil {
			t.Fatal(err)
		}
		h := logfile.Header{logfile.InstantTime: "1", logfile.SchemaText: f.schema.String(), logfile.RecordPositions: text, logfile.BaseInstantOfPos: baseInstant}
		var out bytes.Buffer
		if _, err := logfile.NewWriter(&out).Append(logfile.AvroBlock, h, content.Bytes()); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	want := []string{"a,1,x@000", "b,2,y@1", "c,9,x@000", "d,1,x@000", "e,2,z@1"}
	in := SliceInput{Schema: f.schema, Config: f.cfg, Base: base, BaseInstant: "000", Logs: []Log{logOf("l", with([]int64{1, 2, 4}, "000", "b,2,y", "c,2,late", "e,2,z"))}}
	expect(t, "by key", mustMerge(t, in), want...)
	in.ByPosition = true
	expect(t, "by position", mustMerge(t, in), want...)
	// Positions that count in an older base file would hit other rows.
	in.Logs = []Log{logOf("l", with([]int64{0, 1, 2}, "older", "b,2,y", "c,2,late", "e,2,z"))}
	expect(t, "stale positions", mustMerge(t, in), want...)
	in.Logs = append(in.Logs, logOf("m", f.log("2: a,3,w")))
	want[0] = "a,3,w@2"
	expect(t, "a block without positions", mustMerge(t, in), want...)
	in.Logs = []Log{logOf("l", with([]int64{77}, "000", "b,2,y"))}
	if _, _, err := merged(t, in); err == nil {
		t.Error("a position behind the base file is accepted")
	}
}

// TestSchemas: base and logs of older and newer schemas than the one to read by (O4, X5).
func TestSchemas(t *testing.T) {
	old := `{"name":"id","type":"string"},{"name":"v","type":["null","string"],"default":null},{"name":"ts","type":["null","int"],"default":null}`
	now := `{"name":"id","type":"string"},{"name":"ts","type":["null","long"],"default":null},{"name":"v","type":["null","string"],"default":null},{"name":"n","type":["null","int"],"default":null}`
	f := ruleFixture(t, "v9 event")
	f.schema = mustSchema(t, old).WithMetaFields()
	base := f.base("a,5,x", "b,5,x", "c,5,x")
	first := f.log("1: a,6,y; c,4,late")
	f.schema = mustSchema(t, now).WithMetaFields()
	second := f.log("2: b,6,z,n=3; d,1,new,n=4")
	in := SliceInput{Schema: f.schema, Config: f.cfg, Base: base, Logs: []Log{logOf("1", first), logOf("2", second)}}
	expect(t, "rows", mustMerge(t, in), "a,6,y@1", "b,6,z,n=3@2", "c,5,x@000", "d,1,new,n=4@2")
}

// TestDeleteFieldOfTheBlockOnly: a block may flag deletes by a column that the schema to read by does not have yet, or not any more.
func TestDeleteFieldOfTheBlockOnly(t *testing.T) {
	f := ruleFixture(t, "v9 event")
	narrow := mustSchema(t, `{"name":"id","type":"string"},{"name":"ts","type":["null","long"],"default":null},{"name":"v","type":["null","string"],"default":null}`).WithMetaFields()
	log := f.log("1: a,2,x,_hoodie_is_deleted=true; b,2,y")
	f.schema = narrow
	in := SliceInput{Schema: narrow, Config: f.cfg, Base: f.base("a,1,x", "b,1,x"), Logs: []Log{logOf("l", log)}}
	expect(t, "rows", mustMerge(t, in), "b,2,y@1")
}

// TestChangelogOperations: rows with the operation D or -U are gone, I and U stay.
func TestChangelogOperations(t *testing.T) {
	f := ruleFixture(t, "v9 event")
	f.schema = mustSchema(t, sampleFields+`,{"name":"_hoodie_operation","type":["null","string"],"default":null}`).WithMetaFields()
	in := SliceInput{Schema: f.schema, Config: f.cfg, Base: f.base("a,1,x", "b,1,x", "c,1,x", "d,1,x")}
	in.Logs = []Log{logOf("l", f.log("1: a,2,y,_hoodie_operation=D; b,2,y,_hoodie_operation=-U; c,2,y,_hoodie_operation=U; e,2,y,_hoodie_operation=I"))}
	expect(t, "rows", mustMerge(t, in), "c,2,y,_hoodie_operation=U@1", "d,1,x@000", "e,2,y,_hoodie_operation=I@1")
	in.Config = ruleFixture(t, "v6 overwrite").cfg
	expect(t, "rows of version 6", mustMerge(t, in), "b,2,y,_hoodie_operation=-U@1", "c,2,y,_hoodie_operation=U@1", "d,1,x@000", "e,2,y,_hoodie_operation=I@1")
}

// TestWithoutMetaFields computes keys from the columns, whatever the meta columns of a file hold (data.md §1.4).
func TestWithoutMetaFields(t *testing.T) {
	f := ruleFixture(t, "v9 event")
	f.cfg = config(t, 9, "hoodie.record.merge.mode=EVENT_TIME_ORDERING", "hoodie.populate.meta.fields=false", "hoodie.table.keygenerator.type=NON_PARTITION")
	filled := f.base("a,1,x", "b,5,x", "c,1,x") // as the row writer leaves them: meta columns are there
	f.schema = mustSchema(t, sampleFields)
	plain := f.base("a,1,x", "b,5,x", "c,1,x")
	log := f.log("1: a,2,y; b,2,late; d,1,new; del c")
	for name, base := range map[string]*parquetfile.File{"plain": plain, "with meta columns": filled} {
		in := SliceInput{Schema: f.schema, Config: f.cfg, Base: base, Logs: []Log{logOf("l", log)}}
		expect(t, name, mustMerge(t, in), "a,2,y@", "b,5,x@", "d,1,new@")
	}
}

// TestHFileAndParquetLogs reads data blocks of the other formats.
func TestHFileAndParquetLogs(t *testing.T) {
	f := ruleFixture(t, "v9 event")
	enc := avrocodec.NewEncoder(f.schema)
	var hf, pq bytes.Buffer
	hw := hfile.NewWriter(&hf, hfile.WriterOptions{})
	pw, err := parquetfile.NewWriter(&pq, f.schema, parquetfile.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	key := f.schema.LeafOf(schema.RecordKeyField)
	for _, r := range []string{"a,2,y", "z,1,new"} {
		row := f.row(f.schema, "1", r)
		if err := pw.WriteRow(row); err != nil {
			t.Fatal(err)
		}
		k := string(row[key].ByteArray())
		row[key] = record.String("").Level(0, 1, key)
		rec, err := enc.EncodeRow(nil, row)
		if err == nil {
			err = hw.Append([]byte(k), rec)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := joined(hw.Close(), pw.Close()); err != nil {
		t.Fatal(err)
	}
	for typ, content := range map[logfile.BlockType][]byte{logfile.HFileBlock: hf.Bytes(), logfile.ParquetBlock: pq.Bytes()} {
		var out bytes.Buffer
		if _, err := logfile.NewWriter(&out).Append(typ, logfile.Header{logfile.InstantTime: "1", logfile.SchemaText: f.schema.String()}, content); err != nil {
			t.Fatal(err)
		}
		in := SliceInput{Schema: f.schema, Config: f.cfg, Base: f.base("a,1,x"), Logs: []Log{logOf("l", out.Bytes())}}
		expect(t, typ.String(), mustMerge(t, in), "a,2,y@1", "z,1,new@1")
	}
}

// TestRandomAgainstModel merges random histories and compares with the rules written down plainly.
func TestRandomAgainstModel(t *testing.T) {
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		f := ruleFixture(t, "v9 event")
		type version struct {
			ts   int64
			text string
			dead bool
			none bool // a delete without ordering value
		}
		model := map[string]version{}
		var base, order []string
		for i := range 5 + rnd.IntN(20) {
			k := fmt.Sprintf("k%02d", i)
			ts := rnd.Int64N(20) - 5
			base = append(base, fmt.Sprintf("%s,%d,base", k, ts))
			order = append(order, k)
			model[k] = version{ts: ts, text: fmt.Sprintf("%s,%d,base@000", k, ts)}
		}
		logged := map[string]version{}
		var blocks []string
		for c := range 1 + rnd.IntN(6) {
			var rows, dels []string
			for range 1 + rnd.IntN(10) {
				k := fmt.Sprintf("k%02d", rnd.IntN(30))
				ts := rnd.Int64N(20) - 5
				old, had := logged[k]
				if !slices.Contains(order, k) {
					order = append(order, k)
				}
				switch x := rnd.IntN(5); {
				case x > 1:
					rows = append(rows, fmt.Sprintf("%s,%d,c%d", k, ts, c))
					if !had || old.none || ts >= old.ts {
						logged[k] = version{ts: ts, text: fmt.Sprintf("%s,%d,c%d@%d", k, ts, c, c)}
					}
				default:
					// Deletes come behind the rows of their commit, so they are applied below.
					if x == 0 {
						dels = append(dels, "del "+k)
					} else {
						dels = append(dels, fmt.Sprintf("del %s@%d", k, ts))
					}
				}
			}
			for _, d := range dels {
				k, ord, has := strings.Cut(strings.TrimPrefix(d, "del "), "@")
				old, had := logged[k]
				if had && old.none {
					continue
				}
				var ts int64
				fmt.Sscan(ord, &ts)
				if has && had && old.ts > ts {
					continue
				}
				logged[k] = version{ts: ts, dead: true, none: !has}
			}
			blocks = append(blocks, fmt.Sprintf("%d: %s", c, strings.Join(append(rows, dels...), "; ")))
		}
		var want []string
		for _, k := range order {
			b, hasBase := model[k]
			l, hasLog := logged[k]
			switch {
			case hasLog && (!hasBase || l.none || l.ts >= b.ts):
				if !l.dead {
					want = append(want, l.text)
				}
			case hasBase:
				want = append(want, b.text)
			}
		}
		in := SliceInput{Schema: f.schema, Config: f.cfg, Base: f.base(base...), Logs: []Log{logOf("l", f.log(blocks...))}, TempDir: t.TempDir()}
		got := mustMerge(t, in)
		slices.Sort(got)
		slices.Sort(want)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: rows\n%s\nwant\n%s\nlog %v", seed, strings.Join(got, "\n"), strings.Join(want, "\n"), blocks)
		}
	}
}

func TestOrderingValuesSpill(t *testing.T) {
	for _, vals := range [][]any{{}, {nil}, {true}, {false}, {int32(-5)}, {int64(1) << 60}, {float32(1.5)}, {-0.25}, {"text"}, {[]byte{0, 255}}, {record.NewDecimal(-12345, 3)}, {"a", int64(2), nil}} {
		o, err := record.OrderingOf(vals...)
		if err != nil {
			t.Fatal(err)
		}
		b := appendOrdering(nil, o)
		d := spillDecoder{b: b}
		if got := d.ordering(); d.bad || len(d.b) > 0 || got.Compare(o) != 0 || got.String() != o.String() {
			t.Errorf("%v comes back as %v", o, got)
		}
		for i := range b {
			d := spillDecoder{b: b[:i]}
			d.ordering() // must not panic
		}
	}
}

// TestBoundedMemory merges far more log records than the budget holds. With -large it is the promise: 2 GiB of logs within 512 MiB.
func TestBoundedMemory(t *testing.T) {
	rows, updates, budget := 20_000, 40_000, int64(2<<20)
	if *large {
		rows, updates, budget = 1_000_000, 13_000_000, DefaultMemory
	}
	dir := t.TempDir()
	s, base, log := trips(t, dir, rows, updates)
	info, err := os.Stat(log)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	runtime.GC()
	in := SliceInput{Base: openBase(t, base), BaseInstant: "20240101000000000", Schema: s, Config: config(t, 9, "hoodie.record.merge.mode=EVENT_TIME_ORDERING"),
		Logs: []Log{fileLog(log, f, info.Size())}, MemoryBudget: budget, TempDir: dir}
	st := mergeToFile(t, in)
	if st.LogRecords != int64(updates) || st.Inserted != int64(updates/2) || st.Rows != int64(rows+updates/2) || st.Spilled == 0 {
		t.Errorf("merge of %d bytes of log: %+v", info.Size(), st)
	}
	left, err := filepath.Glob(filepath.Join(dir, "merge-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files left behind: %v, %v", left, err)
	}
	t.Logf("%d MiB of log, %d MiB spilled, peak resident %s", info.Size()>>20, st.Spilled>>20, peak())
}

// peak is the process's high-water mark.
func peak() string {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

func TestCancelledMerge(t *testing.T) {
	f := ruleFixture(t, "v9 event")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	_, err := Open(ctx, SliceInput{Schema: f.schema, Config: f.cfg, Logs: []Log{logOf("l", f.log("1: a,2,y"))}, TempDir: dir})
	if err == nil || ctx.Err() == nil {
		t.Errorf("a cancelled merge opens: %v", err)
	}
}
