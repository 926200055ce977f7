package logfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/avrocodec"
	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/hfile"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/realtables"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

const wideSchema = `{"type":"record","name":"r","fields":[{"name":"id","type":"string"},{"name":"n","type":["null","int"],"default":null},
	{"name":"tags","type":["null",{"type":"array","items":"string"}],"default":null}]}`

// evolved has a column widened, one dropped, one added, and another order.
const evolved = `{"type":"record","name":"r","fields":[{"name":"n","type":["null","long"],"default":null},{"name":"id","type":"string"},
	{"name":"x","type":["null","double"],"default":null}]}`

func mustParse(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rowsOf makes n rows of wideSchema.
func rowsOf(t testing.TB, s *schema.Schema, n int) []record.Row {
	t.Helper()
	sh := record.NewShredder(s)
	var rows []record.Row
	for i := range n {
		vals := []any{fmt.Sprintf("k%03d", i), int32(i), []any{"a", fmt.Sprint(i)}}
		if i%3 == 1 {
			vals[1], vals[2] = nil, nil
		}
		row, err := sh.Shred(nil, vals)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// read reads a data block under the schema to and returns the assembled rows.
func read(t testing.TB, b *Block, to *schema.Schema, key string) ([][]any, error) {
	t.Helper()
	from, err := b.Schema()
	if err != nil {
		return nil, err
	}
	p, err := NewPlan(from, to, key)
	if err != nil {
		return nil, err
	}
	r, err := b.Rows(context.Background(), p)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	asm := record.NewAssembler(to)
	var out [][]any
	var row record.Row
	for {
		if row, err = r.Next(row[:0]); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		vals, err := asm.Assemble(nil, row)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, vals)
	}
}

// dataBlock writes one block and reads its frame back.
func dataBlock(t testing.TB, typ BlockType, text string, content []byte) *Block {
	t.Helper()
	var out bytes.Buffer
	if _, err := NewWriter(&out).Append(typ, Header{InstantTime: "1", SchemaText: text}, content); err != nil {
		t.Fatal(err)
	}
	return mustBlocks(t, out.Bytes())[0]
}

// contents holds the same rows as the content of every kind of data block.
func contents(t testing.TB, s *schema.Schema, rows []record.Row) map[BlockType][]byte {
	t.Helper()
	enc := avrocodec.NewEncoder(s)
	var avro AvroContent
	var pq, hf bytes.Buffer
	pw, err := parquetfile.NewWriter(&pq, s, parquetfile.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	hw := hfile.NewWriter(&hf, hfile.WriterOptions{})
	hw.SetInfo("schema", []byte(s.String()))
	for _, row := range rows {
		if err := avro.Append(enc, row); err != nil {
			t.Fatal(err)
		}
		if err := pw.WriteRow(row); err != nil {
			t.Fatal(err)
		}
		// HFile blocks blank the key column.
		key := record.Text(row[0])
		blank := append(record.Row{record.String("").Level(0, 0, 0)}, row[1:]...)
		rec, err := enc.EncodeRow(nil, blank)
		if err != nil {
			t.Fatal(err)
		}
		if err := hw.Append([]byte(key), rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(pw.Close(), hw.Close()); err != nil {
		t.Fatal(err)
	}
	if avro.Len() != len(rows) || avro.Size() != len(avro.Bytes()) && len(rows) > 0 {
		t.Errorf("content of %d records and %d bytes, want %d and %d", avro.Len(), avro.Size(), len(rows), len(avro.Bytes()))
	}
	return map[BlockType][]byte{AvroBlock: avro.Bytes(), ParquetBlock: pq.Bytes(), HFileBlock: hf.Bytes(), CDCBlock: avro.Bytes()}
}

func TestDataBlocks(t *testing.T) {
	s, to := mustParse(t, wideSchema), mustParse(t, evolved)
	for _, n := range []int{0, 1, 200} {
		for typ, content := range contents(t, s, rowsOf(t, s, n)) {
			b := dataBlock(t, typ, wideSchema, content)
			same, err := read(t, b, s, "id")
			if err != nil || len(same) != n {
				t.Fatalf("%s block of %d rows: %d, %v", typ, n, len(same), err)
			}
			other, err := read(t, b, to, "id")
			if err != nil || len(other) != n {
				t.Fatalf("%s block of %d rows under another schema: %d, %v", typ, n, len(other), err)
			}
			for i := range n {
				want := []any{fmt.Sprintf("k%03d", i), int32(i), []any{"a", fmt.Sprint(i)}}
				wide := []any{int64(i), want[0], nil}
				if i%3 == 1 {
					want[1], want[2], wide[0] = nil, nil, nil
				}
				if !reflect.DeepEqual(same[i], want) || !reflect.DeepEqual(other[i], wide) {
					t.Fatalf("%s block, row %d: %v and %v, want %v and %v", typ, i, same[i], other[i], want, wide)
				}
			}
		}
	}
}

// TestAvroBlockVersions reads the older versions, whose framing is the same, and refuses others.
func TestAvroBlockVersions(t *testing.T) {
	s := mustParse(t, wideSchema)
	content := bytes.Clone(contents(t, s, rowsOf(t, s, 5))[AvroBlock])
	for v, ok := range map[uint32]bool{0: false, 1: true, 2: true, 3: true, 4: false} {
		binary.BigEndian.PutUint32(content, v)
		rows, err := read(t, dataBlock(t, AvroBlock, wideSchema, content), s, "")
		if (err == nil) != ok || ok && len(rows) != 5 {
			t.Errorf("version %d: %d rows, %v", v, len(rows), err)
		}
	}
}

// TestAvroDamage cuts the content at every byte and flips every byte of its structure: never fewer rows without an error.
func TestAvroDamage(t *testing.T) {
	s := mustParse(t, wideSchema)
	content := bytes.Clone(contents(t, s, rowsOf(t, s, 6))[AvroBlock])
	for cut := range content {
		if rows, err := read(t, dataBlock(t, AvroBlock, wideSchema, content[:cut]), s, ""); err == nil {
			t.Fatalf("content cut at byte %d of %d gives %d rows", cut, len(content), len(rows))
		} else if cut >= 8 && !corrupt.Is(err) {
			t.Errorf("content cut at byte %d: %v is no damage", cut, err)
		}
	}
	for i := range content {
		p := bytes.Clone(content)
		p[i] ^= 0x02
		if rows, err := read(t, dataBlock(t, AvroBlock, wideSchema, p), s, ""); err == nil && len(rows) != 6 {
			t.Errorf("a flip in byte %d gives %d rows silently", i, len(rows))
		}
	}
	if _, err := read(t, dataBlock(t, AvroBlock, wideSchema, append(content, 0)), s, ""); !corrupt.Is(err) {
		t.Errorf("a byte behind the records: %v, want damage", err)
	}
}

// TestPartialUpdateVector reads the record that Java 1.2 wrote for "update set v = 100, ts = 2" (data.md §3.9).
func TestPartialUpdateVector(t *testing.T) {
	const text = `{"type":"record","name":"r","fields":[{"name":"_hoodie_commit_time","type":["null","string"],"default":null},
		{"name":"_hoodie_commit_seqno","type":["null","string"],"default":null},{"name":"_hoodie_record_key","type":["null","string"],"default":null},
		{"name":"_hoodie_partition_path","type":["null","string"],"default":null},{"name":"_hoodie_file_name","type":["null","string"],"default":null},
		{"name":"v","type":["null","long"],"default":null},{"name":"ts","type":["null","long"],"default":null}]}`
	id := "c94a4c11-0d31-4a9c-b0a2-0123456789ab-0"
	rec := unhex(t, "02 22 3230323631313330303232323539363037 02 2a 3230323631313330303232323539363037 5f305f31 02 04 6b31 02 08 703d7031 02 4c")
	rec = append(append(rec, id...), 0x02, 0xc8, 0x01, 0x02, 0x04)
	if len(rec) != 0x61 {
		t.Fatalf("the record has %d bytes, Java's has %d", len(rec), 0x61)
	}
	content := append([]byte{0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0x61}, rec...)
	var out bytes.Buffer
	if _, err := NewWriter(&out).Append(AvroBlock, Header{InstantTime: "20261130022259607", SchemaText: text, IsPartial: "true"}, content); err != nil {
		t.Fatal(err)
	}
	b := mustBlocks(t, out.Bytes())[0]
	rows, err := read(t, b, mustParse(t, text), "")
	want := []any{"20261130022259607", "20261130022259607_0_1", "k1", "p=p1", id, int64(100), int64(2)}
	if err != nil || !b.Partial() || len(rows) != 1 || !reflect.DeepEqual(rows[0], want) {
		t.Errorf("partial update %v, %v, want %v", rows, err, want)
	}
}

func TestWrongBlockKinds(t *testing.T) {
	b := dataBlock(t, DeleteBlock, "{}", []byte{0, 0, 0, 3, 0, 0, 0, 1, 0})
	if _, err := b.Rows(context.Background(), &Plan{}); err == nil {
		t.Error("a delete block has rows")
	}
	if _, err := b.HFile(); err == nil {
		t.Error("a delete block is an HFile")
	}
	if _, err := deletesOf(dataBlock(t, AvroBlock, "{}", nil)); err == nil {
		t.Error("a data block has deletes")
	}
	if _, err := dataBlock(t, AvroBlock, "{", nil).Schema(); !corrupt.Is(err) {
		t.Errorf("a schema that does not parse: %v, want damage", err)
	}
}

// TestRealLogs reads every block of every log file of the real tables, data and metadata, and writes each file anew: but for the order of header
// entries the bytes are Java's.
func TestRealLogs(t *testing.T) {
	files, count := 0, map[BlockType]int{}
	for _, name := range realtables.Names(t) {
		base, _ := realtables.Unzip(t, name)
		err := filepath.WalkDir(base, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.Contains(d.Name(), ".log.") || strings.HasSuffix(d.Name(), ".crc") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files++
			var out bytes.Buffer
			w := NewWriter(&out)
			for _, b := range mustBlocks(t, data) {
				count[b.Type]++
				readBlock(t, b)
				content, err := io.ReadAll(b.Section())
				if err != nil {
					return err
				}
				if _, err := w.Append(b.Type, b.Header, content); err != nil {
					return err
				}
				if len(b.Footer) != 0 {
					t.Errorf("%s: footer %v", path, b.Footer)
				}
			}
			if out.Len() != len(data) {
				t.Errorf("%s: written anew %d bytes, was %d", path, out.Len(), len(data))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d files, blocks %v", files, count)
	if count[AvroBlock] == 0 || count[HFileBlock] == 0 || count[DeleteBlock] == 0 || count[ParquetBlock] == 0 {
		t.Errorf("blocks of the real tables: %v, want some of every kind", count)
	}
}

// readBlock reads the content of a real block whole.
func readBlock(t *testing.T, b *Block) {
	t.Helper()
	switch {
	case b.Type == CorruptBlock:
		t.Errorf("%s: damaged at %d: %s", b.File(), b.Offset, b.Damage)
	case b.Type == DeleteBlock:
		if _, err := deletesOf(b); err != nil {
			t.Error(err)
		}
	case b.Type == HFileBlock:
		h, err := b.HFile()
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range h.Scan(nil) {
			if err != nil {
				t.Fatal(err)
			}
		}
	case b.Type.IsData():
		s, err := b.Schema()
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := read(t, b, s, ""); err != nil || len(rows) == 0 {
			t.Errorf("%s: %d rows, %v", b.File(), len(rows), err)
		}
	}
}
