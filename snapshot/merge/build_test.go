package merge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/avrocodec"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// sampleFields are the user columns of the tables in these tests. Op, seq and lsn serve the change data payloads.
const sampleFields = `{"name":"id","type":"string"},{"name":"ts","type":["null","long"],"default":null},{"name":"v","type":["null","string"],"default":null},
	{"name":"n","type":"int","default":7},{"name":"_hoodie_is_deleted","type":["null","boolean"],"default":null},
	{"name":"Op","type":["null","string"],"default":null},{"name":"_event_seq","type":["null","string"],"default":null},
	{"name":"_event_lsn","type":["null","long"],"default":null},{"name":"_change_operation_type","type":["null","string"],"default":null}`

func mustSchema(t testing.TB, fields string) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(`{"type":"record","name":"row","fields":[` + fields + `]}`)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// config makes the configuration of a merge-on-read table of a version with more properties, one "key=value" each.
func config(t testing.TB, version int, props ...string) *tableconfig.Config {
	t.Helper()
	text := fmt.Sprintf("hoodie.table.name=t\nhoodie.table.type=MERGE_ON_READ\nhoodie.table.version=%d\nhoodie.timeline.layout.version=%d\nhoodie.table.recordkey.fields=id\n",
		version, tableconfig.LayoutOf(version))
	ordering := "hoodie.table.ordering.fields=ts\n"
	if version < tableconfig.Version9 {
		ordering = "hoodie.table.precombine.field=ts\n"
	}
	for _, p := range props {
		if strings.HasPrefix(p, "ordering=") {
			ordering = strings.Replace(ordering, "=ts", p[len("ordering"):], 1)
			if p == "ordering=" {
				ordering = ""
			}
			continue
		}
		text += p + "\n"
	}
	cfg, err := tableconfig.Parse("hoodie.properties", []byte(text+ordering))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// object is a file in memory.
type object struct {
	*bytes.Reader
	info storage.Info
}

func (o object) Info() storage.Info { return o.info }
func (o object) Close() error       { return nil }

func logOf(path string, data []byte) Log {
	return Log{Path: path, Size: int64(len(data)), Open: func(context.Context) (storage.Object, error) {
		return object{bytes.NewReader(data), storage.Info{Path: path, Size: int64(len(data))}}, nil
	}}
}

// fixture builds slices of rows written as "id,ts,v" with further columns as name=value.
type fixture struct {
	t      testing.TB
	schema *schema.Schema // with meta fields
	cfg    *tableconfig.Config
}

// row makes a row of schema s from text; a column that the text does not name has its default.
func (f *fixture) row(s *schema.Schema, commit, text string) record.Row {
	f.t.Helper()
	vals := map[string]string{"_hoodie_commit_time": commit, "_hoodie_commit_seqno": commit + "_0_0", "_hoodie_partition_path": "", "_hoodie_file_name": "f"}
	for i, part := range strings.Split(text, ",") {
		if name, v, ok := strings.Cut(part, "="); ok {
			vals[name] = v
		} else {
			vals[[]string{"id", "ts", "v"}[i]] = part
		}
	}
	vals["_hoodie_record_key"] = vals["id"]
	var fields []any
	for _, x := range s.Root().Fields {
		fields = append(fields, fieldValue(f.t, x, vals))
	}
	row, err := record.NewShredder(s).Shred(nil, fields)
	if err != nil {
		f.t.Fatal(err)
	}
	return row
}

func fieldValue(t testing.TB, x schema.Field, vals map[string]string) any {
	t.Helper()
	text, ok := vals[x.Name]
	if !ok && x.HasDefault && x.Default != nil {
		v, err := schema.LeafDefault(x.Type, x.Default)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if !ok || text == "null" {
		return nil
	}
	switch x.Type.Kind {
	case schema.String:
		return text
	case schema.Boolean:
		return text == "true"
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("field %s: %v", x.Name, err)
	}
	if x.Type.Kind == schema.Int {
		return int32(n)
	}
	return n
}

// base writes the rows as a base file of instant "000", each "id,ts,v…".
func (f *fixture) base(rows ...string) *parquetfile.File {
	f.t.Helper()
	var out bytes.Buffer
	w, err := parquetfile.NewWriter(&out, f.schema, parquetfile.WriteOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, r := range rows {
		if err := w.WriteRow(f.row(f.schema, "000", r)); err != nil {
			f.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.t.Fatal(err)
	}
	pf, err := parquetfile.Open(bytes.NewReader(out.Bytes()), int64(out.Len()), "base.parquet")
	if err != nil {
		f.t.Fatal(err)
	}
	return pf
}

// log writes blocks in order as one log file. Each block is "instant: item; item": items are rows, "del id" (without ordering value), "del id@5", or
// the headers "partial a b" (a block with these columns only), "compacts t1,t2", "rollback t".
func (f *fixture) log(blocks ...string) []byte {
	f.t.Helper()
	var out bytes.Buffer
	w := logfile.NewWriter(&out)
	for _, b := range blocks {
		if err := f.block(w, b); err != nil {
			f.t.Fatalf("block %q: %v", b, err)
		}
	}
	return out.Bytes()
}

func (f *fixture) block(w *logfile.Writer, text string) error {
	instant, items, _ := strings.Cut(text, ": ")
	s := f.schema
	h := logfile.Header{logfile.InstantTime: instant}
	var rows logfile.AvroContent
	var deletes []logfile.Delete
	var enc *avrocodec.Encoder
	for item := range strings.SplitSeq(items, "; ") {
		word, rest, _ := strings.Cut(item, " ")
		switch word {
		case "rollback":
			_, err := w.Rollback(instant, rest)
			return err
		case "compacts":
			h[logfile.CompactedTimes] = rest
		case "partial":
			h[logfile.IsPartial] = "true"
			names := []string{}
			for _, x := range f.schema.Root().Fields[:schema.NumMetaFields] {
				names = append(names, x.Name)
			}
			s = f.schema.Select(append(names, strings.Fields(rest)...)...)
		case "del":
			key, ord, has := strings.Cut(rest, "@")
			d := logfile.Delete{Key: record.Key{RecordKey: key}}
			if has {
				n, err := strconv.ParseInt(ord, 10, 64)
				if err != nil {
					return err
				}
				if d.Ordering, err = record.OrderingOf(n); err != nil {
					return err
				}
			}
			deletes = append(deletes, d)
		default:
			if enc == nil {
				enc = avrocodec.NewEncoder(s)
			}
			if err := rows.Append(enc, f.row(s, instant, item)); err != nil {
				return err
			}
		}
	}
	h[logfile.SchemaText] = s.String()
	if rows.Len() > 0 {
		if _, err := w.Append(logfile.AvroBlock, h, rows.Bytes()); err != nil {
			return err
		}
	}
	if len(deletes) == 0 {
		return nil
	}
	content, err := logfile.EncodeDeletes(deletes)
	if err != nil {
		return err
	}
	_, err = w.Append(logfile.DeleteBlock, h, content)
	return err
}

// show prints a row as its columns that are neither null nor default, the meta columns left out but for the commit time.
func show(t testing.TB, s *schema.Schema, row record.Row) string {
	t.Helper()
	vals, err := record.NewAssembler(s).Assemble(nil, row)
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	commit := ""
	for i, x := range s.Root().Fields {
		switch {
		case x.Name == schema.CommitTimeField:
			commit = fmt.Sprint(vals[i])
		case schema.IsMetaField(x.Name) && x.Name != schema.OperationField || vals[i] == nil:
		case x.Name == "id" || x.Name == "ts" || x.Name == "v":
			parts = append(parts, fmt.Sprint(vals[i]))
		case x.Name == "n" && vals[i] == int32(7):
		default:
			parts = append(parts, fmt.Sprintf("%s=%v", x.Name, vals[i]))
		}
	}
	return strings.Join(parts, ",") + "@" + commit
}

// rowsOf reads a slice by Records.
func rowsOf(t testing.TB, s *Slice, sc *schema.Schema) ([]string, error) {
	t.Helper()
	ctx := context.Background()
	rd, err := s.Records(ctx)
	if err != nil {
		return nil, err
	}
	defer rd.Close()
	out := []string{}
	recs := make([]record.Record, 3)
	for {
		n, err := rd.Read(ctx, recs)
		for _, r := range recs[:n] {
			out = append(out, show(t, sc, r.Row))
			if k, _ := record.StringAt(r.Row, &sc.Leaves()[0]); sc.HasMetaFields() && k != "" && r.Key.RecordKey == "" {
				t.Errorf("row %s has no key", out[len(out)-1])
			}
		}
		if err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// written reads a slice by WriteTo.
func written(t testing.TB, s *Slice, sc *schema.Schema) ([]string, error) {
	t.Helper()
	ctx := context.Background()
	var out bytes.Buffer
	w, err := parquetfile.NewWriter(&out, sc, parquetfile.WriteOptions{})
	if err != nil {
		return nil, err
	}
	if err := s.WriteTo(ctx, w, "merged.parquet"); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	f, err := parquetfile.Open(bytes.NewReader(out.Bytes()), int64(out.Len()), "merged.parquet")
	if err != nil {
		return nil, err
	}
	rows, err := f.Rows(ctx, sc)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	lines := []string{}
	for {
		var batch [4]record.Row
		n, err := rows.Read(batch[:])
		for _, r := range batch[:n] {
			lines = append(lines, show(t, sc, r))
			if name, _ := record.StringAt(r, &sc.Leaves()[4]); sc.HasMetaFields() && name != "merged.parquet" {
				t.Errorf("row %s has the file name %q", lines[len(lines)-1], name)
			}
		}
		if err == io.EOF {
			return lines, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// merged merges in every way there is, which must all agree: rows and file, in memory and spilled.
func merged(t testing.TB, in SliceInput) ([]string, Stats, error) {
	t.Helper()
	var first []string
	var stats Stats
	for _, spillAt := range []int64{0, 1} {
		in.spillAt = spillAt
		s, err := Open(context.Background(), in)
		if err != nil {
			return nil, Stats{}, err
		}
		rows, err := rowsOf(t, s, in.Schema)
		if err != nil {
			return nil, Stats{}, errors.Join(err, s.Close())
		}
		file, err := written(t, s, in.Schema)
		if err != nil {
			return nil, Stats{}, errors.Join(err, s.Close())
		}
		if !reflect.DeepEqual(rows, file) {
			t.Errorf("spill at %d: Records gives\n%v, WriteTo\n%v", spillAt, rows, file)
		}
		if first == nil {
			first, stats = rows, s.Stats()
		} else if !reflect.DeepEqual(first, rows) {
			t.Errorf("in memory\n%v, spilled\n%v", first, rows)
		}
		if n := s.Stats().Rows; n != int64(len(rows)) {
			t.Errorf("Stats.Rows = %d of %d", n, len(rows))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	return first, stats, nil
}

// shared is a file that several opened logs read.
type shared struct {
	io.ReaderAt
	info storage.Info
}

func (o shared) Info() storage.Info { return o.info }
func (o shared) Close() error       { return nil }

func fileLog(path string, r io.ReaderAt, size int64) Log {
	return Log{Path: path, Size: size, Open: func(context.Context) (storage.Object, error) {
		return shared{r, storage.Info{Path: path, Size: size}}, nil
	}}
}
