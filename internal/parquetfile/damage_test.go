package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// smallFile is a file of every shape, small enough to damage everywhere.
func smallFile(t testing.TB, codec string, n int) ([]byte, *schema.Schema, []record.Row) {
	s := mustSchema(t, wideSchema)
	rows := randomRows(t, rand.New(rand.NewPCG(2, 3)), s, n, true)
	return writeRows(t, s, WriteOptions{Codec: codec, PageBytes: 256}, rows), s, rows
}

// readAll reads everything that a file has.
func readAll(b []byte) ([]record.Row, error) {
	f, err := Open(bytes.NewReader(b), int64(len(b)), "damaged.parquet")
	if err != nil {
		return nil, err
	}
	f.Stats()
	return readRows(f, f.Schema())
}

// TestTruncated cuts a file at every byte: no piece of it is a file.
func TestTruncated(t *testing.T) {
	b, _, _ := smallFile(t, "", 5)
	for n := range b {
		if _, err := readAll(b[:n]); !corrupt.Is(err) {
			t.Fatalf("the first %d of %d bytes: %v, want them to be damaged", n, len(b), err)
		}
	}
}

// TestFlipped turns bits all over a file. In pages the checksum must tell; in the footer a flip may mean another valid file, but nothing may
// break, and rows that are said to be good must be the rows or fit their schema.
func TestFlipped(t *testing.T) {
	for _, codec := range []string{"uncompressed", "snappy", "zstd", "gzip"} {
		b, _, rows := smallFile(t, codec, 40)
		footer := len(b) - 8 - int(binary.LittleEndian.Uint32(b[len(b)-8:]))
		dataEnd := 0
		f := openBytes(t, b)
		for c := range f.meta.groups[0].columns {
			m := &f.meta.groups[0].columns[c]
			dataEnd = max(dataEnd, int(m.start()+m.compressed))
		}
		r := rand.New(rand.NewPCG(uint64(len(codec)), *seedFlag))
		good := 0
		for range 500 {
			at := r.IntN(len(b))
			d := bytes.Clone(b)
			d[at] ^= 1 << r.IntN(8)
			got, err := readAll(d)
			switch {
			case err == nil && (at < dataEnd || at >= footer):
				good++
				if at < dataEnd && at >= 4 {
					for i := range rows {
						if diff := rowDiff(got[i], rows[i]); diff != "" {
							t.Fatalf("%s: a flip at %d of a page was not seen: row %d: %s", codec, at, i, diff)
						}
					}
				}
			case err != nil && at >= 4 && at < dataEnd && !corrupt.Is(err):
				t.Fatalf("%s: a flip at %d gave %v, want it to be damage", codec, at, err)
			}
		}
		t.Logf("%s: %d of 500 flips made no difference or a valid file", codec, good)
	}
}

// TestBombs claims sizes that are not there.
func TestBombs(t *testing.T) {
	big := pageHeader{kind: pageData, uncompressed: 1 << 29, compressed: 20, values: 1 << 25}
	for name, codec := range map[string]int32{"none": codecNone, "snappy": codecSnappy, "gzip": codecGzip, "lz4": codecLZ4Raw, "zstd": codecZstd} {
		p := page{header: big, data: make([]byte, 20)}
		if b, err := p.plain(codec, nil); err == nil || len(b) > 1<<20 {
			t.Errorf("%s: 20 bytes became %d, error %v", name, len(b), err)
		}
	}
	// A run-length header may claim 2^26 nulls in four bytes; reading them takes a batch at a time.
	h := newHybrid([]byte{0x80, 0x80, 0x80, 0x20, 1}, 1)
	if n, v, err := h.same(100); n != 100 || v != 1 || err != nil {
		t.Errorf("same = %d, %d, %v", n, v, err)
	}
	// The compact protocol can claim lists of 2^31 elements and endless nesting.
	for name, b := range map[string][]byte{
		"long list":      {0x29, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07},
		"deep nesting":   bytes.Repeat([]byte{0xCC}, 1<<16),
		"deep lists":     bytes.Repeat([]byte{0xC9, 0x19}, 1<<16),
		"long string":    {0x48, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F},
		"many schema el": append([]byte{0x29, 0xFC, 0xFF, 0x7F}, make([]byte, 1<<14)...),
	} {
		if m, err := readFileMeta(b); err == nil {
			t.Errorf("%s: read as %+v", name, m)
		}
	}
}

// TestForeignErrors sees that what is not damage is not called so.
func TestForeignErrors(t *testing.T) {
	b, s, _ := smallFile(t, "", 5)
	enc := bytes.Clone(b)
	copy(enc[len(enc)-4:], magicEncrypted)
	if _, err := readAll(enc); !errors.Is(err, ErrEncrypted) || corrupt.Is(err) {
		t.Errorf("an encrypted footer gives %v, want ErrEncrypted", err)
	}
	broken := errors.New("the disk is on fire")
	if _, err := Open(failingReader{broken}, int64(len(b)), "x"); !errors.Is(err, broken) || corrupt.Is(err) {
		t.Errorf("a failing disk gives %v, want its own error", err)
	}
	f := openBytes(t, b)
	other := mustSchema(t, `{"type":"record","name":"r","fields":[{"name":"id","type":"int"}]}`)
	if _, err := readRows(f, other); err == nil || corrupt.Is(err) {
		t.Errorf("reading a string as int gives %v, want an error that is no damage", err)
	}
	_ = s
}

type failingReader struct{ err error }

func (r failingReader) ReadAt([]byte, int64) (int, error) { return 0, r.err }

// FuzzOpen reads any bytes as a file.
func FuzzOpen(f *testing.F) {
	for _, codec := range []string{"uncompressed", "snappy", "zstd"} {
		b, _, _ := smallFile(f, codec, 10)
		f.Add(b)
	}
	f.Add([]byte("PAR1PAR1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := readAll(b)
		if err != nil {
			return
		}
		fl, err := Open(bytes.NewReader(b), int64(len(b)), "again")
		if err != nil {
			t.Fatal(err)
		}
		// What can be read can be written, except where a schema cannot be stored.
		w, err := NewWriter(io.Discard, fl.Schema(), WriteOptions{})
		if err != nil {
			return
		}
		for _, row := range rows {
			if err := w.WriteRow(row); err != nil {
				t.Fatalf("a row that was read cannot be written: %v", err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzMeta decodes any bytes as each kind of metadata.
func FuzzMeta(f *testing.F) {
	b, _, _ := smallFile(f, "", 5)
	n := int(binary.LittleEndian.Uint32(b[len(b)-8:]))
	f.Add(b[len(b)-8-n : len(b)-8])
	f.Add(encodeOffsetIndex([]pageLocation{{4, 100, 0}, {104, 50, 10}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := readFileMeta(b); err == nil {
			if _, err := buildTree(m.schema); err != nil {
				return
			}
		}
		_, _, _ = readPageHeader(b)
		_, _ = readOffsetIndex(b)
		_, _ = readColumnIndex(b)
	})
}
