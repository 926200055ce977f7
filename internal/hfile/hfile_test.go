package hfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/hudifs/hudifs/internal/corrupt"
)

// build writes n entries key%06d → value and returns the file.
func build(t testing.TB, o WriterOptions, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, o)
	for i := range n {
		if err := w.Append(fmt.Appendf(nil, "key%06d", 2*i), fmt.Appendf(nil, "value %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	w.SetInfo("schema", []byte(`{"type":"record"}`))
	w.AddMeta("bloomFilter", []byte("AAAA"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func open(t testing.TB, data []byte) *Reader {
	t.Helper()
	r, err := Open(bytes.NewReader(data), int64(len(data)), "test.hfile")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	for _, o := range []WriterOptions{{}, {Dialect: Native}, {Uncompressed: true}, {BlockSize: 100}, {BlockSize: 1, Dialect: Native, Uncompressed: true}} {
		for _, n := range []int{0, 1, 2, 500} {
			t.Run(fmt.Sprintf("%+v/%d", o, n), func(t *testing.T) {
				r := open(t, build(t, o, n))
				if all := collect(t, r, ""); len(all) != n || r.Len() != int64(n) {
					t.Fatalf("%d entries, Len %d, want %d", len(all), r.Len(), n)
				}
				for i := range n {
					v, ok, err := r.Get(fmt.Appendf(nil, "key%06d", 2*i))
					if err != nil || !ok || string(v) != fmt.Sprintf("value %d", i) {
						t.Fatalf("Get(%d) = %q, %v, %v", i, v, ok, err)
					}
					if v, ok, err := r.Get(fmt.Appendf(nil, "key%06d", 2*i+1)); ok || err != nil {
						t.Fatalf("Get(absent) = %q, %v, %v", v, ok, err)
					}
				}
				for _, k := range []string{"", "a", "kez", "key", "key000"} {
					if _, ok, err := r.Get([]byte(k)); ok || err != nil {
						t.Errorf("Get(%q) = %v, %v, want nothing", k, ok, err)
					}
				}
				if s, ok := r.Info("schema"); !ok || string(s) != `{"type":"record"}` {
					t.Errorf("Info(schema) = %q, %v", s, ok)
				}
				if b, ok, err := r.Meta("bloomFilter"); string(b) != "AAAA" || !ok || err != nil {
					t.Errorf("Meta(bloomFilter) = %q, %v, %v", b, ok, err)
				}
				if _, ok, err := r.Meta("other"); ok || err != nil {
					t.Errorf("Meta(other) = %v, %v, want nothing", ok, err)
				}
			})
		}
	}
}

func TestScanPrefix(t *testing.T) {
	r := open(t, build(t, WriterOptions{BlockSize: 64}, 1000))
	for prefix, want := range map[string]int{"": 1000, "key": 1000, "key0000": 50, "key00012": 5, "key000123": 0, "key001998": 1, "kez": 0, "a": 0} {
		got := collect(t, r, prefix)
		if len(got) != want {
			t.Errorf("Scan(%q) = %d entries, want %d", prefix, len(got), want)
		}
		for _, e := range got {
			if !strings.HasPrefix(string(e.Key), prefix) {
				t.Errorf("Scan(%q) yields %q", prefix, e.Key)
			}
		}
	}
}

func TestWriterRefuses(t *testing.T) {
	w := NewWriter(io.Discard, WriterOptions{})
	if err := w.Append([]byte("b"), nil); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"b", "a", strings.Repeat("c", maxKey+1)} {
		if err := w.Append([]byte(k), nil); err == nil {
			t.Errorf("Append(%.10q) after b succeeds", k)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Append([]byte("c"), nil); err == nil {
		t.Error("Append after Close succeeds")
	}
}

// TestMultiLevelIndex builds, from a file of many blocks, one whose root names intermediate blocks, as HBase does with large files, and whose
// index keys are made up between blocks.
func TestMultiLevelIndex(t *testing.T) {
	data := build(t, WriterOptions{BlockSize: 60, Uncompressed: true}, 200)
	src := open(t, data)
	data = data[:src.trailer.loadOnOpenOffset]
	fake := func(k []byte) []byte {
		// "key000008" may be entered as "key000007": greater than all before, not greater than the first.
		f := bytes.Clone(k)
		f[len(f)-1]--
		c := binary.BigEndian.AppendUint16(nil, uint16(len(f)))
		return append(append(c, f...), keySuffix...)
	}
	refs, level, magic := src.root, uint64(1), magicLeafIndex
	for len(refs) > 3 {
		var up []blockRef
		for len(refs) > 0 {
			group := refs[:min(5, len(refs))]
			refs = refs[len(group):]
			var table, body []byte
			for _, g := range group {
				table = binary.BigEndian.AppendUint32(table, uint32(len(body)))
				body = binary.BigEndian.AppendUint64(body, uint64(g.offset))
				body = binary.BigEndian.AppendUint32(body, uint32(g.size))
				body = append(body, fake(g.key)...)
			}
			table = binary.BigEndian.AppendUint32(table, uint32(len(body)))
			p := binary.BigEndian.AppendUint32(nil, uint32(len(group)))
			p = append(append(p, table...), body...)
			at := len(data)
			data = appendBlock(data, magic, p, len(p), -1, checksumCRC32C)
			up = append(up, blockRef{int64(at), len(data) - at, group[0].key})
		}
		refs, level, magic = up, level+1, magicMidIndex
	}
	tr := src.trailer
	tr.loadOnOpenOffset, tr.dataIndexCount, tr.indexLevels = uint64(len(data)), uint64(len(refs)), level
	var root []byte
	for _, g := range refs {
		root = appendIndexEntry(root, g.offset, g.size, fake(g.key))
	}
	data = appendBlock(data, magicRoot, root, len(root), -1, checksumCRC32C)
	data = appendBlock(data, magicRoot, nil, 0, -1, checksumCRC32C)
	tr.metaIndexCount, tr.fileInfoOffset = 0, uint64(len(data))
	info := NewWriter(nil, WriterOptions{}).infoPayload()
	data = appendBlock(data, magicInfo, info, len(info), -1, checksumCRC32C)
	data = append(data, tr.bytes(HBase)...)

	r := open(t, data)
	if level < 3 {
		t.Fatalf("only %d levels", level)
	}
	if got := len(collect(t, r, "")); got != 200 {
		t.Errorf("%d entries, want 200", got)
	}
	for i := range 200 {
		if v, ok, err := r.Get(fmt.Appendf(nil, "key%06d", 2*i)); !ok || err != nil || string(v) != fmt.Sprintf("value %d", i) {
			t.Errorf("Get(%d) = %q, %v, %v", i, v, ok, err)
		}
		if _, ok, _ := r.Get(fmt.Appendf(nil, "key%06d", 2*i+1)); ok {
			t.Errorf("Get of an absent key finds one")
		}
	}
}

func TestCodecs(t *testing.T) {
	plain := []byte(strings.Repeat("some text that repeats. ", 5000))
	hadoop := func(compress func([]byte) []byte) []byte {
		var b []byte
		b = binary.BigEndian.AppendUint32(b, uint32(len(plain)))
		for _, part := range [][]byte{plain[:70000], plain[70000:]} {
			c := compress(part)
			b = binary.BigEndian.AppendUint32(b, uint32(len(c)))
			b = append(b, c...)
		}
		return b
	}
	enc, _ := zstd.NewWriter(nil)
	zip, _ := NewWriter(nil, WriterOptions{}).compress(plain)
	for codec, payload := range map[uint64][]byte{
		codecNone: append(bytes.Clone(plain), "padding"...), codecGzip: zip, codecZstd: enc.EncodeAll(plain, nil),
		codecSnappy: hadoop(func(p []byte) []byte { return snappy.Encode(nil, p) }),
		codecLZ4: hadoop(func(p []byte) []byte {
			c := make([]byte, lz4.CompressBlockBound(len(p)))
			n, err := lz4.CompressBlock(p, c, nil)
			if err != nil {
				t.Fatal(err)
			}
			return c[:n]
		}),
	} {
		got, err := decompress(codec, payload, len(plain))
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("codec %d: %d bytes, %v", codec, len(got), err)
		}
		if _, err := decompress(codec, payload[:len(payload)/2], len(plain)); err == nil {
			t.Errorf("codec %d: half of the bytes decompress", codec)
		}
		if _, err := decompress(codec, payload, maxBlock); err == nil {
			t.Errorf("codec %d: gives more bytes than were compressed", codec)
		}
	}
	if _, err := decompress(codecLZO, nil, 1); err == nil {
		t.Error("LZO decompresses")
	}
}

// TestDamage flips every bit position of every byte and cuts at every byte: the result must be the same entries or an error, never others.
func TestDamage(t *testing.T) {
	data := build(t, WriterOptions{BlockSize: 200}, 40)
	want := collect(t, open(t, data), "")
	body := len(data) - trailerSize + 300 // the rest of the trailer is padding
	for i := range data {
		if i > body && i < len(data)-4 {
			continue
		}
		p := bytes.Clone(data)
		p[i] ^= 1 << (i % 8)
		got, err := readAll(p)
		if err == nil && !sameEntries(got, want) {
			t.Fatalf("a flip in byte %d changes the entries silently", i)
		}
	}
	for i := range data {
		if got, err := readAll(data[:i]); err == nil {
			t.Fatalf("a file cut at byte %d of %d reads as %d entries", i, len(data), len(got))
		}
	}
	if _, err := readAll(data[:len(data)-1]); !corrupt.Is(err) {
		t.Errorf("cut file: %v, want damage", err)
	}
}

func readAll(data []byte) (all []Entry, err error) {
	r, err := Open(bytes.NewReader(data), int64(len(data)), "test.hfile")
	if err != nil {
		return nil, err
	}
	for e, err := range r.Scan(nil) {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if int64(len(all)) != r.Len() {
		return nil, fmt.Errorf("%d entries of %d", len(all), r.Len())
	}
	return all, nil
}

func sameEntries(a, b []Entry) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i].Key, b[i].Key) || !bytes.Equal(a[i].Value, b[i].Value) {
			return false
		}
	}
	return true
}

func TestVint(t *testing.T) {
	for _, v := range []int{0, 1, 127, 128, 255, 256, 65535, 1 << 20, 1<<31 - 1} {
		b := appendVint(nil, v)
		got, n, err := vint(b)
		if err != nil || got != int64(v) || n != len(b) {
			t.Errorf("vint(%d) = %d, %d of %d bytes, %v", v, got, n, len(b), err)
		}
		if _, _, err := vint(b[:len(b)-1]); err == nil {
			t.Errorf("vint of %d cut short reads", v)
		}
	}
	if v, n, err := vint([]byte{0x87, 0x05}); v != ^int64(5) || n != 2 || err != nil {
		t.Errorf("negative vint = %d, %d, %v", v, n, err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(build(f, WriterOptions{BlockSize: 50}, 5))
	f.Add(build(f, WriterOptions{Dialect: Native, Uncompressed: true}, 3))
	f.Add(build(f, WriterOptions{}, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Open(bytes.NewReader(data), int64(len(data)), "fuzz")
		if err != nil {
			return
		}
		n := 0
		for _, err := range r.Scan(nil) {
			if n++; err != nil || n > 1000 {
				break
			}
		}
		_, _, _ = r.Get([]byte("key000002"))
		_, _, _ = r.Meta("bloomFilter")
	})
}

// FuzzRoundTrip writes random sorted keys and finds them again.
func FuzzRoundTrip(f *testing.F) {
	f.Add(uint64(1), 10, 40)
	f.Add(uint64(2), 300, 1)
	f.Fuzz(func(t *testing.T, seed uint64, n, blockSize int) {
		if n < 0 || n > 2000 || blockSize > 1<<20 {
			t.Skip()
		}
		rnd := rand.New(rand.NewPCG(seed, 0))
		var out bytes.Buffer
		w := NewWriter(&out, WriterOptions{BlockSize: blockSize, Dialect: Dialect(seed & 1)})
		var keys [][]byte
		k := []byte{}
		for range n {
			k = append(bytes.Clone(k[:rnd.IntN(len(k)+1)]), byte(rnd.Uint32()), byte(rnd.Uint32()))
			if err := w.Append(k, k); err == nil {
				keys = append(keys, k)
			} else if len(keys) > 0 {
				k = keys[len(keys)-1]
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r := open(t, out.Bytes())
		for _, k := range keys {
			if v, ok, err := r.Get(k); !ok || err != nil || !bytes.Equal(v, k) {
				t.Fatalf("Get(%x) = %x, %v, %v", k, v, ok, err)
			}
		}
	})
}
