package avrocodec

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hamba/avro/v2/ocf"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/realtables"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

func TestContainerRoundTrip(t *testing.T) {
	s := parse(t, everything)
	r := rand.New(rand.NewPCG(7, 8))
	var in [][]any
	for range 200 {
		in = append(in, randomRecord(r, s.Root(), 0))
	}
	for _, codec := range []string{"", "null", "deflate", "snappy", "zstandard"} {
		var b bytes.Buffer
		w, err := NewContainerWriter(&b, s, ContainerOptions{Codec: codec, BlockBytes: 1000, Meta: map[string]string{"a.b": "c"}})
		if err != nil {
			t.Fatal(err)
		}
		sh := record.NewShredder(s)
		for _, v := range in {
			row, err := sh.Shred(nil, v)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.WriteRow(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := w.WriteRow(nil); err == nil {
			t.Error("a closed writer took a row")
		}
		got, err := ReadContainer(b.Bytes(), "f.avro", nil)
		if err != nil || !reflect.DeepEqual(got, in) {
			t.Fatalf("codec %q: read %d records, %v, want %d", codec, len(got), err, len(in))
		}
		// An independent reader finds as many.
		od, err := ocf.NewDecoder(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatalf("codec %q: hamba: %v", codec, err)
		}
		n := 0
		for od.HasNext() {
			var v any
			if err := od.Decode(&v); err != nil {
				t.Fatalf("codec %q: hamba: %v", codec, err)
			}
			n++
		}
		if n != len(in) || od.Error() != nil {
			t.Errorf("codec %q: hamba reads %d records, %v, want %d", codec, n, od.Error(), len(in))
		}
		c, err := NewContainerReader(iotest.OneByteReader(bytes.NewReader(b.Bytes())), "f.avro")
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := c.Meta("a.b"); !ok || string(v) != "c" {
			t.Errorf("Meta(a.b) = %q, %v", v, ok)
		}
		rows := 0
		if err := c.Rows(parse(t, `{"name":"last","type":["null","int"]}`), func(row record.Row) error { rows++; return nil }); err != nil || rows != len(in) {
			t.Errorf("codec %q: Rows gave %d, %v", codec, rows, err)
		}
	}
}

func TestContainerBytesAsJava(t *testing.T) {
	// The indexing plan of the samples: fields, bytes and framing as Java wrote them.
	s, err := schema.Parse(`{"type":"record","name":"HoodieIndexPlan","namespace":"org.apache.hudi.avro.model","fields":[{"name":"version","type":["int","null"],"default":1},` +
		`{"name":"indexPartitionInfos","type":["null",{"type":"array","items":{"type":"record","name":"HoodieIndexPartitionInfo","fields":[{"name":"version","type":["int","null"],"default":1},` +
		`{"name":"metadataPartitionPath","type":["null",{"type":"string","avro.java.string":"String"}],"default":null},{"name":"indexUptoInstant","type":["null",{"type":"string","avro.java.string":"String"}],"default":null},` +
		`{"name":"extraMetadata","type":["null",{"type":"map","values":{"type":"string","avro.java.string":"String"},"avro.java.string":"String"}],"default":null}]}}],"default":null}]}`)
	if err != nil {
		t.Fatal(err)
	}
	path := strings.Repeat("p", 28)
	got, err := WriteContainer(s, ContainerOptions{Sync: [16]byte{0xaa, 15: 0xbb}},
		[]any{int32(1), []any{[]any{int32(1), path, "20260307162652504", []record.MapEntry{}}}})
	if err != nil {
		t.Fatal(err)
	}
	sync := "\xaa" + strings.Repeat("\x00", 14) + "\xbb"
	text := s.String()
	want := "Obj\x01\x02\x16avro.schema" + string(appendLong(nil, int64(len(text)))) + text + "\x00" + sync +
		"\x02\x74" + "\x00\x02\x02\x02\x00\x02\x02\x38" + path + "\x02\x22" + "20260307162652504" + "\x02\x00\x00" + sync
	if string(got) != want {
		t.Errorf("container =\n%q\nwant\n%q", got, want)
	}
}

const wrappers = `{"type":"record","name":"BooleanWrapper","fields":[{"name":"value","type":"boolean"}]},{"type":"record","name":"IntWrapper","fields":[{"name":"value","type":"int"}]},` +
	`{"type":"record","name":"LongWrapper","fields":[{"name":"value","type":"long"}]}`

func TestHudiVectors(t *testing.T) {
	// A delete list of one key with the ordering value 0 (data.md §3.6).
	del := parse(t, `{"name":"deleteRecordList","type":{"type":"array","items":{"type":"record","name":"HoodieDeleteRecord","fields":[{"name":"recordKey","type":["null","string"]},`+
		`{"name":"partitionPath","type":["null","string"]},{"name":"orderingVal","type":["null",`+wrappers+`]}]}}`+`}`)
	check := func(s *schema.Schema, hexBytes string, want []any) {
		t.Helper()
		buf, err := hex.DecodeString(strings.ReplaceAll(hexBytes, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		dec, err := NewValueDecoder(s, s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dec.DecodeValue(buf)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %v, %v, want %v", hexBytes, got, err, want)
		}
		if back, err := NewValueEncoder(s).EncodeValue(nil, want); err != nil || !bytes.Equal(back, buf) {
			t.Errorf("%v encodes as %x, %v, want %x", want, back, err, buf)
		}
	}
	check(del, "02 02 0e 54584e2d303032 02 00 04 00 00", []any{[]any{[]any{"TXN-002", "", record.UnionValue{Branch: 1, Value: []any{int32(0)}}}}})
	check(del, "00", []any{[]any{}})
	// A record-index value (data.md §9.5).
	rli := parse(t, `{"name":"m","type":["null","string"]},{"name":"key","type":"string"},{"name":"type","type":"int"},{"name":"filesystemMetadata","type":["null",{"type":"map","values":"long"}]},`+
		`{"name":"recordIndexMetadata","type":["null",{"type":"record","name":"HoodieRecordIndexInfo","fields":[{"name":"partitionName","type":["null","string"]},{"name":"fileIdHighBits","type":["null","long"]},`+
		`{"name":"fileIdLowBits","type":["null","long"]},{"name":"fileIndex","type":["null","int"]},{"name":"fileId","type":["null","string"]},{"name":"instantTime","type":["null","long"]},`+
		`{"name":"fileIdEncoding","type":"int"},{"name":"position","type":["null","long"]}]}]}`)
	check(rli, "00 00 0a 00 02 0200 02bcaad2d1bbefa7d315 02c795e0fff7afce989901 0200 0200 0282d9c9a69967 00 00",
		[]any{nil, "", int32(5), nil, []any{"", int64(780054837342128798), int64(-5519333690716194148), int32(0), "", int64(1772922418753), int32(0), nil}})
}

func TestContainerDamage(t *testing.T) {
	s := parse(t, `{"name":"a","type":"string"},{"name":"l","type":{"type":"array","items":"int"}}`)
	for _, codec := range []string{"", "deflate", "snappy", "zstandard"} {
		good, err := WriteContainer(s, ContainerOptions{Codec: codec}, []any{"hello", []any{int32(1)}}, []any{strings.Repeat("x", 300), []any{}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ReadContainer(good, "f", s); err != nil || len(got) != 2 {
			t.Fatalf("%q: %v, %v", codec, got, err)
		}
		body := bytes.Index(good, []byte("\x00")) // within the header, the schema text has no zero
		for n := range len(good) {
			got, err := ReadContainer(good[:n], "f", s)
			if err != nil && !corrupt.Is(err) {
				t.Fatalf("%q cut at %d: error %v, want damage", codec, n, err)
			}
			if err == nil && len(got) != 0 {
				t.Fatalf("%q cut at %d: %d records and no error", codec, n, len(got))
			}
			if err == nil && n < body {
				t.Fatalf("%q cut at %d within the header: no error", codec, n)
			}
		}
		for i := range good {
			bad := bytes.Clone(good)
			bad[i] ^= 0x41
			_, _ = ReadContainer(bad, "f", s) // an error or other values, never a panic
		}
		bad := bytes.Clone(good)
		bad[len(bad)-1] ^= 1
		if _, err := ReadContainer(bad, "f", s); !corrupt.Is(err) || !strings.Contains(err.Error(), "sync") {
			t.Errorf("%q: wrong sync marker: error %v", codec, err)
		}
	}
	for name, bad := range map[string]string{
		"empty": "", "other": "PAR1", "no schema": "Obj\x01\x00" + strings.Repeat("s", 16), "many entries": "Obj\x01\xfe\xff\xff\xff\x0f",
		"huge entry": "Obj\x01\x02\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	} {
		if _, err := NewContainerReader(strings.NewReader(bad), "f"); !corrupt.Is(err) {
			t.Errorf("%s: error %v, want damage", name, err)
		}
	}
	boom := errors.New("disk on fire")
	if _, err := NewContainerReader(io.MultiReader(strings.NewReader("Obj\x01\x02"), iotest.ErrReader(boom)), "f"); !errors.Is(err, boom) || corrupt.Is(err) {
		t.Errorf("a read error: %v, want it as it is", err)
	}
	if _, err := NewContainerWriter(io.Discard, s, ContainerOptions{Codec: "bzip2"}); err == nil {
		t.Error("bzip2 can be written")
	}
	if _, err := NewContainerWriter(io.Discard, s, ContainerOptions{Codec: "lzo"}); err == nil || !strings.Contains(err.Error(), "lzo") {
		t.Errorf("codec lzo: error %v", err)
	}
}

func FuzzContainer(f *testing.F) {
	s := parse(f, `{"name":"a","type":"string"}`)
	for _, codec := range []string{"", "deflate", "snappy", "zstandard"} {
		b, err := WriteContainer(s, ContainerOptions{Codec: codec}, []any{"x"}, []any{"yy"})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := ReadContainer(b, "f", nil)
		if err != nil || len(got) == 0 {
			return
		}
		c, err := NewContainerReader(bytes.NewReader(b), "f")
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Schema().Leaves()) == 0 {
			return
		}
		again, err := WriteContainer(c.Schema(), ContainerOptions{}, got...)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		back, err := ReadContainer(again, "f", nil)
		if err != nil || len(back) != len(got) {
			t.Fatalf("written again: %d records, %v, want %d", len(back), err, len(got))
		}
	})
}

// Every container file of the Java timelines must decode with nothing left over, and its records must encode to the very same bytes.
func TestJavaTimelines(t *testing.T) {
	files := 0
	for _, name := range realtables.Names(t) {
		dir, _ := realtables.UnzipOnly(t, name, realtables.Instants)
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil || !IsContainer(data) {
				return err
			}
			files++
			c, err := NewContainerReader(bytes.NewReader(data), path)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				return nil
			}
			vals, err := ReadContainer(data, path, nil)
			if err != nil {
				t.Errorf("%v", err)
				return nil
			}
			back, err := WriteContainer(c.Schema(), ContainerOptions{Sync: c.sync, Codec: string(c.meta["avro.codec"])}, vals...)
			if err != nil {
				t.Errorf("%s: %v", path, err)
			} else if !bytes.Equal(back, data) {
				t.Errorf("%s: %d bytes written where Java wrote %d", filepath.Base(path), len(back), len(data))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 100 {
		t.Errorf("only %d container files were found", files)
	}
	t.Logf("%d container files", files)
}
