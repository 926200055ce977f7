package logfile

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/record"
)

// unhex reads hex with blanks and bars.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "|", "", "\n", "", "\t", "").Replace(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// blocks reads all blocks of data.
func blocks(data []byte) (all []*Block, err error) {
	r, err := Open(bytes.NewReader(data), int64(len(data)), "test.log")
	if err != nil {
		return nil, err
	}
	for b, err := range r.Blocks(context.Background()) {
		if err != nil {
			return all, err
		}
		all = append(all, b)
	}
	return all, nil
}

func mustBlocks(t testing.TB, data []byte) []*Block {
	t.Helper()
	all, err := blocks(data)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func deletesOf(b *Block) (all []Delete, err error) {
	for d, err := range b.Deletes() {
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// rollbackFile is the whole log file that Java 0.15 wrote for a rollback (data.md §3.3).
const rollbackFile = `23 48 55 44 49 23 | 00 00 00 00 00 00 00 5b | 00 00 00 01 | 00 00 00 00 | 00 00 00 03 |
	00000000 00000011 3230323530313236303430393336353738 | 00000003 00000001 30 | 00000001 00000011 3230323530313236303430383236383738 |
	00 00 00 00 00 00 00 00 | 00 00 00 00 | 00 00 00 00 00 00 00 61`

// initFile is the whole log file that Java writes when it makes the metadata table (data.md Appendix A): an empty delete list.
const initFile = `23 48 55 44 49 23 | 00 00 00 00 00 00 00 42 | 00 00 00 01 | 00 00 00 01 | 00 00 00 01 | 00 00 00 00 00 00 00 11 3030303030303030303030303030303030
	| 00 00 00 00 00 00 00 09 | 00 00 00 03 00 00 00 01 00 | 00 00 00 00 | 00 00 00 00 00 00 00 48`

func TestReadJavaRollback(t *testing.T) {
	all := mustBlocks(t, unhex(t, rollbackFile))
	if len(all) != 1 || all[0].Type != CommandBlock || all[0].Instant() != "20250126040936578" || all[0].Size != 105 {
		t.Fatalf("blocks %+v", all)
	}
	if target, err := all[0].RollbackTarget(); target != "20250126040826878" || err != nil {
		t.Errorf("RollbackTarget = %q, %v", target, err)
	}
}

// TestWriteJavaBytes writes what Java wrote, byte for byte but for the order of the header.
func TestWriteJavaBytes(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	content, err := EncodeDeletes(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(DeleteBlock, Header{InstantTime: "00000000000000000"}, content); err != nil {
		t.Fatal(err)
	}
	if want := unhex(t, initFile); !bytes.Equal(out.Bytes(), want) {
		t.Errorf("wrote\n%x, want\n%x", out.Bytes(), want)
	}
	out.Reset()
	w = NewWriter(&out)
	if _, err := w.Rollback("20250126040936578", "20250126040826878"); err != nil {
		t.Fatal(err)
	}
	want := unhex(t, rollbackFile)
	if out.Len() != len(want) || !reflect.DeepEqual(mustBlocks(t, out.Bytes())[0].Header, mustBlocks(t, want)[0].Header) {
		t.Errorf("rollback block %x, want %x", out.Bytes(), want)
	}
}

func TestPositionVectors(t *testing.T) {
	for text, want := range map[string][]int64{
		"AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAAAEAAAAAAA":         {0},
		"AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAEAEAAAAAAAAgA=":     {0, 2},
		"AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAIAEAAAAAEAAgAEAA==": {1, 2, 4},
	} {
		if got, err := parsePositions(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("positions %v, %v, want %v", got, err, want)
		}
		if got, err := EncodePositions(want); err != nil || got != text {
			t.Errorf("EncodePositions(%v) = %s, %v, want %s", want, got, err, text)
		}
	}
	far := []int64{3, 1<<32 - 1, 1 << 32, 1<<33 + 7}
	text, err := EncodePositions(far)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := parsePositions(text); err != nil || !reflect.DeepEqual(got, far) {
		t.Errorf("positions %v, %v, want %v", got, err, far)
	}
	for _, bad := range [][]int64{{1, 1}, {2, 1}, {-1}, {maxPosition}} {
		if _, err := EncodePositions(bad); err == nil {
			t.Errorf("EncodePositions(%v) succeeds", bad)
		}
	}
	for i := range text {
		_, _ = parsePositions(text[:i]) // must not panic
	}
}

// sample is a log file with one block of every kind that can be made without a schema.
func sample(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	deletes, err := EncodeDeletes([]Delete{{record.Key{RecordKey: "a", PartitionPath: "p"}, record.Ordering{}}, {record.Key{RecordKey: "b"}, ordering(t, int64(5))}})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []struct {
		t BlockType
		h Header
		c []byte
	}{
		{DeleteBlock, Header{InstantTime: "20240101000000001", SchemaText: `{"type":"record"}`}, deletes},
		{AvroBlock, Header{InstantTime: "20240101000000002", SchemaText: `{}`, CompactedTimes: "1,2"}, []byte("\x00\x00\x00\x03\x00\x00\x00\x01\x00\x00\x00\x02ab")},
		{CDCBlock, Header{InstantTime: "20240101000000003", SchemaText: `{}`}, []byte("\x00\x00\x00\x03\x00\x00\x00\x00")},
	} {
		if _, err := w.Append(b.t, b.h, b.c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Rollback("20240101000000004", "20240101000000002"); err != nil {
		t.Fatal(err)
	}
	if w.Size() != int64(out.Len()) {
		t.Fatalf("Size = %d of %d", w.Size(), out.Len())
	}
	return out.Bytes()
}

func TestForwardsAndBackwards(t *testing.T) {
	data := sample(t)
	forth := mustBlocks(t, data)
	if len(forth) != 4 {
		t.Fatalf("%d blocks, want 4", len(forth))
	}
	r, err := Open(bytes.NewReader(data), int64(len(data)), "test.log")
	if err != nil {
		t.Fatal(err)
	}
	i := len(forth)
	for b, err := range r.Backwards(context.Background()) {
		i--
		if err != nil {
			t.Fatal(err)
		}
		if !sameBlock(b, forth[i]) {
			t.Errorf("block %d backwards %+v, want %+v", i, b, forth[i])
		}
	}
	if i != 0 {
		t.Errorf("%d blocks were not met backwards", i)
	}
}

func sameBlock(a, b *Block) bool {
	x, y := *a, *b
	x.src, y.src = nil, nil
	return reflect.DeepEqual(x, y)
}

// TestCutAtEveryByte cuts a file at every byte: the blocks that lie before the cut whole are read, the torn one is corrupt, none is made up.
func TestCutAtEveryByte(t *testing.T) {
	data := sample(t)
	whole := mustBlocks(t, data)
	for cut := range len(data) {
		got, err := blocks(data[:cut])
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		want := 0
		for _, b := range whole {
			if b.Offset+b.Size <= int64(cut) {
				want++
			}
		}
		rest := cut
		if want > 0 {
			rest -= int(whole[want-1].Offset + whole[want-1].Size)
		}
		for i, b := range got {
			if i < want && !sameBlock(b, whole[i]) || i >= want && b.Type != CorruptBlock {
				t.Fatalf("cut at %d: block %d is %+v", cut, i, b)
			}
		}
		if torn := rest >= len(magic); len(got) < want || torn != (len(got) > want) {
			t.Fatalf("cut at %d: %d blocks, want %d whole, torn %v", cut, len(got), want, torn)
		}
	}
}

// TestFlipEveryByte damages every byte in turn: a frame that is not whole makes a corrupt region, an inside that makes no sense an error.
func TestFlipEveryByte(t *testing.T) {
	data := sample(t)
	whole := mustBlocks(t, data)
	for i := range data {
		p := bytes.Clone(data)
		p[i] ^= 0x10
		got, err := blocks(p)
		if err != nil {
			continue
		}
		bad := 0
		for _, b := range got {
			if b.Type == CorruptBlock {
				bad++
			}
		}
		if bad == 0 && len(got) != len(whole) {
			t.Errorf("flip in byte %d: %d blocks and no damage reported, want %d", i, len(got), len(whole))
		}
		if bad == 0 {
			for j := range got {
				if got[j].Offset != whole[j].Offset || got[j].Size != whole[j].Size {
					t.Errorf("flip in byte %d moves block %d silently", i, j)
				}
			}
		}
	}
}

func TestRecovery(t *testing.T) {
	data := sample(t)
	bs := mustBlocks(t, data)
	second := bs[1].Offset
	splice := func(at int64, junk string) []byte {
		return append(append(bytes.Clone(data[:at]), junk...), data[at:]...)
	}
	types := func(all []*Block) string {
		var s []string
		for _, b := range all {
			s = append(s, b.Type.String())
		}
		return strings.Join(s, " ")
	}
	huge := bytes.Clone(data)
	copy(huge[bs[3].Offset+6:], []byte{0, 0, 0, 0, 0x40, 0, 0, 0}) // the last block declares 1 GiB
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty file", nil, ""},
		{"magic written twice", splice(second, magic), "delete corrupt avro cdc command"},
		{"magic twice at the start", splice(0, magic), "corrupt delete avro cdc command"},
		{"garbage between blocks", splice(second, strings.Repeat("x", 100)), "corrupt avro cdc command"},
		{"large garbage with a magic across the search step", splice(second, strings.Repeat("y", scanStep-int(second)-3)), "corrupt avro cdc command"},
		{"a torn block before a good one", splice(second, string(data[second:second+40])), "delete corrupt avro cdc command"},
		{"garbage at the end", append(bytes.Clone(data), "garbage"...), "delete avro cdc corrupt"},
		{"half a magic at the end", append(bytes.Clone(data), magic[:4]...), "delete avro cdc command"},
		{"block of 1 GiB", huge, "delete avro cdc corrupt"},
	} {
		got, err := blocks(c.data)
		if err != nil || types(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, types(got), err, c.want)
		}
	}
	if _, err := blocks([]byte("no log file")); !corrupt.Is(err) {
		t.Errorf("a file of something else: %v, want damage", err)
	}
}

func TestUnknownThingsAreErrors(t *testing.T) {
	data := sample(t)
	for _, c := range []struct {
		at   int
		b    byte
		want string
	}{{17, 0, "version 0"}, {17, 2, "version 2"}, {21, 7, "block type 7"}, {21, 2, "block type 2"}, {25, 200, "header"}} {
		p := bytes.Clone(data)
		p[c.at] = c.b
		if _, err := blocks(p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("byte %d = %d: %v, want an error about %s", c.at, c.b, err, c.want)
		}
	}
	var out bytes.Buffer
	if _, err := NewWriter(&out).Append(CommandBlock, Header{InstantTime: "1", CommandType: "1"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := mustBlocks(t, out.Bytes())[0].RollbackTarget(); err == nil {
		t.Error("an unknown command has a target")
	}
}

func TestWriterRefuses(t *testing.T) {
	w := NewWriter(new(bytes.Buffer))
	for name, try := range map[string]func() error{
		"corrupt block":    func() error { _, err := w.Append(CorruptBlock, Header{InstantTime: "1"}, nil); return err },
		"no instant":       func() error { _, err := w.Append(DeleteBlock, Header{}, nil); return err },
		"no schema":        func() error { _, err := w.Append(AvroBlock, Header{InstantTime: "1"}, nil); return err },
		"command, content": func() error { _, err := w.Append(CommandBlock, Header{InstantTime: "1"}, []byte{1}); return err },
		"positions alone": func() error {
			_, err := w.Append(DeleteBlock, Header{InstantTime: "1", RecordPositions: "x"}, nil)
			return err
		},
	} {
		if try() == nil {
			t.Errorf("%s: written", name)
		}
	}
	if w.Size() != 0 {
		t.Errorf("%d bytes were written", w.Size())
	}
}

// countReads counts the bytes that are read.
type countReads struct {
	*bytes.Reader
	n int64
}

func (c *countReads) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.Reader.ReadAt(p, off)
	c.n += int64(n)
	return n, err
}

// TestScanReadsNoContent keeps the forward scan bounded: of blocks of megabytes only the framing is read.
func TestScanReadsNoContent(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	for i := range 8 {
		if _, err := w.Append(AvroBlock, Header{InstantTime: fmt.Sprint(i), SchemaText: "{}"}, make([]byte, 4<<20)); err != nil {
			t.Fatal(err)
		}
	}
	src := &countReads{Reader: bytes.NewReader(out.Bytes())}
	r, err := Open(src, int64(out.Len()), "big.log")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range r.Blocks(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 8 || src.n > 10*windowSize {
		t.Errorf("%d blocks by reading %d of %d bytes", n, src.n, out.Len())
	}
}

func TestCancelledScan(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	data := sample(t)
	r, err := Open(bytes.NewReader(data), int64(len(data)), "test.log")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range r.Blocks(ctx) {
		if n++; n == 1 {
			cancel()
		} else if err != context.Canceled {
			t.Errorf("after cancel: %v", err)
		}
	}
	if n != 2 {
		t.Errorf("%d results, want a block and the cancellation", n)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(sample(f))
	f.Add(unhex(f, rollbackFile))
	f.Add(unhex(f, initFile))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, _ := blocks(data)
		end := int64(0)
		for _, b := range all {
			if b.Offset != end {
				t.Fatalf("block at %d after one that ends at %d", b.Offset, end)
			}
			end = b.Offset + b.Size
			if b.Type == DeleteBlock {
				_, _ = deletesOf(b)
			}
			_, _, _, _ = b.Positions()
		}
		if end > int64(len(data)) {
			t.Fatalf("blocks end at %d of %d", end, len(data))
		}
	})
}
