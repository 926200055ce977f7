package parquetfile

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	apq "github.com/apache/arrow-go/v18/parquet"
	acodec "github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/hudifs/hudifs/internal/record"
)

// goRows reads a file as Go values.
func goRows(t testing.TB, f *File) [][]any {
	t.Helper()
	rows, err := readRows(f, f.Schema())
	if err != nil {
		t.Fatal(err)
	}
	as := record.NewAssembler(f.Schema())
	out := make([][]any, len(rows))
	for i, row := range rows {
		vals, err := as.Assemble(nil, row)
		if err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		out[i] = vals
	}
	return out
}

// arrowFile writes an arrow record with an independent writer.
func arrowFile(t *testing.T, rec arrow.RecordBatch, opts ...apq.WriterProperty) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(rec.Schema(), &buf, apq.NewWriterProperties(opts...), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

var arrowTypes = []struct {
	name   string
	typ    arrow.DataType
	json   string // of four values
	want   []any
	schema string // part of the derived Avro schema
}{
	{"u8", arrow.PrimitiveTypes.Uint8, `[0,255,null,7]`, []any{int32(0), int32(255), nil, int32(7)}, `"int"`},
	{"u32", arrow.PrimitiveTypes.Uint32, `[0,4294967295,null,7]`, []any{int64(0), int64(4294967295), nil, int64(7)}, `"long"`},
	{"u64", arrow.PrimitiveTypes.Uint64, `[0,9223372036854775808,null,7]`, []any{"0", "9223372036854775808", nil, "7"}, `"precision":20`},
	{"i8", arrow.PrimitiveTypes.Int8, `[-128,127,null,7]`, []any{int32(-128), int32(127), nil, int32(7)}, `"int"`},
	{"i64", arrow.PrimitiveTypes.Int64, `[-9223372036854775808,127,null,7]`, []any{int64(math.MinInt64), int64(127), nil, int64(7)}, `"long"`},
	{"f32", arrow.PrimitiveTypes.Float32, `[-1.5,0,null,7]`, []any{float32(-1.5), float32(0), nil, float32(7)}, `"float"`},
	{"bool", arrow.FixedWidthTypes.Boolean, `[true,false,null,true]`, []any{true, false, nil, true}, `"boolean"`},
	{"str", arrow.BinaryTypes.String, `["","é",null,"x"]`, []any{"", "é", nil, "x"}, `"string"`},
	{"bin", arrow.BinaryTypes.Binary, `["","AAE=",null,"eA=="]`, []any{[]byte{}, []byte{0, 1}, nil, []byte("x")}, `"bytes"`},
	{"date", arrow.FixedWidthTypes.Date32, `["1582-10-04","1969-12-31",null,"9999-12-31"]`, []any{int32(-141438), int32(-1), nil, int32(2932896)}, `"date"`},
	{"ts_us", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, `["1969-12-31T23:59:59.999999Z","1970-01-01T00:00:00Z",null,"2020-01-01T00:00:00Z"]`, []any{int64(-1), int64(0), nil, int64(1577836800000000)}, `"timestamp-micros"`},
	{"ts_ms", &arrow.TimestampType{Unit: arrow.Millisecond}, `["1970-01-01T00:00:00.001","1970-01-01T00:00:00",null,"2020-01-01T00:00:00"]`, []any{int64(1), int64(0), nil, int64(1577836800000)}, `"local-timestamp-millis"`},
	{"dec9", &arrow.Decimal128Type{Precision: 9, Scale: 2}, `["-1.50","0.00",null,"1234567.89"]`, []any{"-1.50", "0.00", nil, "1234567.89"}, `"precision":9`},
	{"dec38", &arrow.Decimal128Type{Precision: 38, Scale: 10}, `["-1.5000000000","0.0000000000",null,"12.3400000000"]`, []any{"-1.5000000000", "0E-10", nil, "12.3400000000"}, `"precision":38`},
	{"list", arrow.ListOf(arrow.PrimitiveTypes.Int32), `[[1,null,2],[],null,[3]]`, []any{[]any{int32(1), nil, int32(2)}, []any{}, nil, []any{int32(3)}}, `"array"`},
	{"llist", arrow.ListOf(arrow.ListOf(arrow.BinaryTypes.String)), `[[["a"],[],null],[],null,[["b","c"]]]`, []any{[]any{[]any{"a"}, []any{}, nil}, []any{}, nil, []any{[]any{"b", "c"}}}, `"array"`},
	{"struct", arrow.StructOf(arrow.Field{Name: "p", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: "q", Type: arrow.BinaryTypes.String, Nullable: true}), `[{"p":1,"q":"a"},{"p":null,"q":null},null,{"p":2,"q":"b"}]`, []any{[]any{int32(1), "a"}, []any{nil, nil}, nil, []any{int32(2), "b"}}, `"record"`},
}

// TestReadsArrows reads files of an independent writer: all types, page versions, encodings and codecs.
func TestReadsArrows(t *testing.T) {
	var fields []arrow.Field
	var cols []arrow.Array
	for _, c := range arrowTypes {
		a, _, err := array.FromJSON(memory.DefaultAllocator, c.typ, strings.NewReader(c.json))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		fields = append(fields, arrow.Field{Name: c.name, Type: c.typ, Nullable: true})
		cols = append(cols, a)
	}
	rec := array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, 4)
	for name, opts := range map[string][]apq.WriterProperty{
		"default":  nil,
		"v2 pages": {apq.WithDataPageVersion(apq.DataPageV2), apq.WithCompression(acodec.Codecs.Snappy)},
		"plain":    {apq.WithDictionaryDefault(false), apq.WithCompression(acodec.Codecs.Gzip)},
		"brotli":   {apq.WithCompression(acodec.Codecs.Brotli)},
		"lz4 raw":  {apq.WithCompression(acodec.Codecs.Lz4Raw)},
		"zstd":     {apq.WithCompression(acodec.Codecs.Zstd), apq.WithDataPageVersion(apq.DataPageV2)},
		"deltas": {apq.WithDictionaryDefault(false), apq.WithEncodingFor("i64", apq.Encodings.DeltaBinaryPacked),
			apq.WithEncodingFor("i8", apq.Encodings.DeltaBinaryPacked), apq.WithEncodingFor("str", apq.Encodings.DeltaByteArray),
			apq.WithEncodingFor("bin", apq.Encodings.DeltaLengthByteArray)},
	} {
		t.Run(name, func(t *testing.T) {
			f := openBytes(t, arrowFile(t, rec, opts...))
			rows := goRows(t, f)
			for c, col := range arrowTypes {
				for i := range 4 {
					got := rows[i][c]
					if d, ok := got.(*record.Decimal); ok {
						got = d.String()
					}
					if !reflect.DeepEqual(got, col.want[i]) {
						t.Errorf("%s row %d = %#v, want %#v", col.name, i, got, col.want[i])
					}
				}
				if !strings.Contains(f.Schema().String(), col.schema) {
					t.Errorf("the schema %s has no %s", f.Schema(), col.schema)
				}
			}
		})
	}
}

// TestReadsArrowsAtLength reads a long file of many pages with dictionary fallback, and splices it.
func TestReadsArrowsAtLength(t *testing.T) {
	sb := array.NewStringBuilder(memory.DefaultAllocator)
	const n = 12000
	value := func(i int) any {
		switch {
		case i%10 == 3:
			return nil
		case i < n/2:
			return fmt.Sprint("city", i%20)
		}
		return fmt.Sprint("unique-", i)
	}
	for i := range n {
		if v, ok := value(i).(string); ok {
			sb.Append(v)
		} else {
			sb.AppendNull()
		}
	}
	rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}, nil), []arrow.Array{sb.NewArray()}, n)
	for _, v := range []apq.DataPageVersion{apq.DataPageV1, apq.DataPageV2} {
		f := openBytes(t, arrowFile(t, rec, apq.WithDataPageVersion(v), apq.WithDataPageSize(8<<10), apq.WithDictionaryPageSizeLimit(16<<10), apq.WithMaxRowGroupLength(5000)))
		rows := goRows(t, f)
		for i, row := range rows {
			if row[0] != value(i) {
				t.Fatalf("row %d = %v, want %v", i, row[0], value(i))
			}
		}
		var e Edit
		e.Drop(7)
		e.Drop(9999)
		out := spliceBytes(t, f.Schema(), WriteOptions{}, func(w *Writer) {
			if err := w.Splice(t.Context(), f, &e); err != nil {
				t.Fatal(err)
			}
		})
		want := append(append(append([][]any{}, rows[:7]...), rows[8:9999]...), rows[10000:]...)
		if got := goRows(t, openBytes(t, out)); !reflect.DeepEqual(got, want) {
			t.Fatalf("page version %v: the spliced rows differ", v)
		}
		if rows, _, _ := arrowRows(t, out); rows != n-2 {
			t.Errorf("arrow finds %d rows, want %d", rows, n-2)
		}
	}
}

// TestInt96 reads the timestamps of old Spark and Impala, and counts dates before 1582 as the writer meant them.
func TestInt96(t *testing.T) {
	day := func(julian uint32, nanos uint64) parquet.Row {
		return parquet.Row{parquet.Int32Value(int32(julian)-unixJulianDay).Level(0, 1, 0), parquet.Int96Value(deprecated.Int96{uint32(nanos), uint32(nanos >> 32), julian}).Level(0, 1, 1)}
	}
	root := parquet.Group{"ts": parquet.Optional(parquet.Leaf(parquet.Int96Type)), "d": parquet.Optional(parquet.Date())}
	rows := []parquet.Row{day(2440588, 1000), day(2440587, 86399999999000), day(unixJulianDay-141427, 0), day(unixJulianDay-141428, 0), day(1721424, 5000)}
	// 1582-10-04 Julian is the day before 1582-10-15; its proleptic number is -141438. 0001-01-01 Julian is Julian day 1721424.
	modern, modernDays := []int64{1, -1, -141427 * dayMicros, -141428 * dayMicros, (1721424-unixJulianDay)*dayMicros + 5}, []int32{0, -1, -141427, -141428, 1721424 - unixJulianDay}
	old, oldDays := []int64{1, -1, -141427 * dayMicros, -141438 * dayMicros, -719162*dayMicros + 5}, []int32{0, -1, -141427, -141438, -719162}
	for _, c := range []struct {
		name  string
		meta  []string
		ts    []int64
		dates []int32
	}{
		{"modern", []string{"org.apache.spark.version", "3.5.1"}, modern, modernDays},
		{"spark 2", []string{"org.apache.spark.version", "2.4.8"}, old, oldDays},
		{"legacy on request", []string{"org.apache.spark.legacyINT96", "", "org.apache.spark.legacyDateTime", ""}, old, oldDays},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := []parquet.WriterOption{parquet.NewSchema("spark_schema", root), parquet.DataPageVersion(1)}
			for i := 0; i < len(c.meta); i += 2 {
				o = append(o, parquet.KeyValueMetadata(c.meta[i], c.meta[i+1]))
			}
			var buf bytes.Buffer
			w := parquet.NewWriter(&buf, o...)
			if _, err := w.WriteRows(rows); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			f := openBytes(t, buf.Bytes())
			check := func(f *File) {
				for i, row := range goRows(t, f) {
					if row[0] != c.dates[i] || row[1] != c.ts[i] {
						t.Errorf("row %d = %v, want %d %d", i, row, c.dates[i], c.ts[i])
					}
				}
			}
			check(f)
			// A rewrite holds the corrected days, and no key that would have them corrected twice.
			check(openBytes(t, spliceBytes(t, f.Schema(), WriteOptions{}, func(w *Writer) {
				if err := w.Splice(t.Context(), f, nil); err != nil {
					t.Fatal(err)
				}
			})))
		})
	}
}
