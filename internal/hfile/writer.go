package hfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/gzip"
)

// Keys of the file info that the writer fills in (data.md §8.6).
const (
	infoMagic           = "PBUF"
	infoLastKey         = "hfile.LASTKEY"
	infoAvgKey          = "hfile.AVG_KEY_LEN"
	infoAvgValue        = "hfile.AVG_VALUE_LEN"
	infoCreated         = "hfile.CREATE_TIME_TS"
	infoKeyValueVersion = "KEY_VALUE_VERSION"
	infoMaxVersion      = "MAX_MEMSTORE_TS_KEY"
)

// Dialect is one of the two ways to write an HFile (data.md §8).
type Dialect uint8

// The dialects.
const (
	HBase  Dialect = iota // readable by every release; the one to write for versions 6 and 8
	Native                // as Hudi 1.1 and later write it
)

// defaultBlockSize is Hudi's hoodie.hfile.block.size.
const defaultBlockSize = 1 << 20

// maxKey is the longest key: its length is a positive Java short.
const maxKey = math.MaxInt16

// WriterOptions are the settings of a new file; the zero value is the HBase dialect with gzip and 1 MiB blocks.
type WriterOptions struct {
	Dialect      Dialect
	Uncompressed bool
	BlockSize    int   // uncompressed bytes that close a block
	CreatedAt    int64 // epoch milliseconds; written by Native only
}

// Writer writes one HFile.
type Writer struct {
	w    io.Writer
	o    WriterOptions
	off  int64
	err  error
	done bool

	block       []byte // uncompressed payload of the block at hand
	firstKey    []byte // of the block at hand
	lastKey     []byte
	root        []byte // root index payload
	blocks      uint64
	first, last int64
	entries     uint64
	keyBytes    uint64
	valueBytes  uint64
	total       uint64 // uncompressed bytes of all blocks with headers
	dataBytes   uint64 // uncompressed bytes of data blocks

	info  map[string][]byte
	metas map[string][]byte
	zip   *gzip.Writer
}

// NewWriter starts a file on w, which the caller closes after Close.
func NewWriter(w io.Writer, o WriterOptions) *Writer {
	if o.BlockSize <= 0 {
		o.BlockSize = defaultBlockSize
	}
	return &Writer{w: w, o: o, first: -1, last: -1, info: map[string][]byte{}, metas: map[string][]byte{}}
}

// Append adds an entry; keys must come in strictly ascending byte order.
func (w *Writer) Append(key, value []byte) error {
	switch {
	case w.err != nil:
		return w.err
	case w.done:
		return fmt.Errorf("append to a closed HFile")
	case len(key) > maxKey:
		return fmt.Errorf("key of %d bytes, an HFile takes %d", len(key), maxKey)
	case len(value) > maxBlock/2:
		return fmt.Errorf("value of %d bytes, an HFile takes %d", len(value), maxBlock/2)
	case w.entries > 0 && bytes.Compare(key, w.lastKey) <= 0:
		return fmt.Errorf("key %q does not come after %q", key, w.lastKey)
	}
	// A new block begins when the one at hand has reached its size; HBase and Hudi both check before they append.
	if len(w.block) >= w.o.BlockSize {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if len(w.block) == 0 {
		w.firstKey = append(w.firstKey[:0], key...)
	}
	b := w.block
	b = binary.BigEndian.AppendUint32(b, uint32(2+len(key)+keySuffixSize))
	b = binary.BigEndian.AppendUint32(b, uint32(len(value)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(key)))
	b = append(b, key...)
	b = append(b, keySuffix...)
	b = append(b, value...)
	w.block = append(b, 0) // version
	w.lastKey = append(w.lastKey[:0], key...)
	w.entries++
	w.keyBytes += uint64(len(key))
	if w.o.Dialect == HBase {
		w.keyBytes += uint64(2 + keySuffixSize) // the average there is over cell keys
	}
	w.valueBytes += uint64(len(value))
	return nil
}

// SetInfo adds a file info entry.
func (w *Writer) SetInfo(key string, value []byte) { w.info[key] = bytes.Clone(value) }

// AddMeta adds a meta block.
func (w *Writer) AddMeta(name string, payload []byte) { w.metas[name] = bytes.Clone(payload) }

// Close writes what is left.
func (w *Writer) Close() error {
	if w.err != nil || w.done {
		return w.err
	}
	w.done = true
	if err := w.flush(); err != nil {
		return err
	}
	metaIndex, err := w.writeMetas()
	if err != nil {
		return err
	}
	t := trailer{loadOnOpenOffset: uint64(w.off), dataIndexSize: w.dataBytes, dataIndexCount: w.blocks, metaIndexCount: uint64(len(w.metas)),
		entryCount: w.entries, indexLevels: 1, firstBlock: uint64(w.first), lastBlock: uint64(w.last), comparator: comparator, codec: codecGzip}
	if w.o.Uncompressed {
		t.codec = codecNone
	}
	if w.o.Dialect == HBase {
		t.dataIndexSize = uint64(len(w.root))
	}
	if _, _, err := w.write(magicRoot, w.root, -1); err != nil {
		return err
	}
	w.total -= uint64(headerSize + len(w.root)) // HBase counts every block but this one, and the trailer
	if _, _, err := w.write(magicRoot, metaIndex, -1); err != nil {
		return err
	}
	infoAt, _, err := w.write(magicInfo, w.infoPayload(), -1)
	if err != nil {
		return err
	}
	t.fileInfoOffset, t.totalUncompressed = uint64(infoAt), w.total+trailerSize
	return w.put(t.bytes(w.o.Dialect))
}

// flush writes the data block at hand and its index entry.
func (w *Writer) flush() error {
	if len(w.block) == 0 {
		return nil
	}
	at, size, err := w.write(magicData, w.block, w.last)
	if err != nil {
		return err
	}
	if w.first < 0 {
		w.first = at
	}
	w.last = at
	w.blocks++
	w.dataBytes += uint64(len(w.block))
	w.root = appendIndexEntry(w.root, at, size, w.cellKey(w.firstKey))
	w.block = w.block[:0]
	return nil
}

// cellKey is a key as indexes and file info hold it.
func (w *Writer) cellKey(key []byte) []byte {
	k := binary.BigEndian.AppendUint16(nil, uint16(len(key)))
	k = append(k, key...)
	if w.o.Dialect == HBase {
		k = append(k, keySuffix...)
	}
	return k
}

func appendIndexEntry(b []byte, at int64, size int, key []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(at))
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	b = appendVint(b, len(key))
	return append(b, key...)
}

// writeMetas writes the meta blocks in the order of their names and returns their index.
func (w *Writer) writeMetas() ([]byte, error) {
	var index []byte
	prev := int64(-1)
	for _, name := range sortedKeys(w.metas) {
		at, size, err := w.write(magicMeta, w.metas[name], prev)
		if err != nil {
			return nil, err
		}
		prev = at
		index = appendIndexEntry(index, at, size, []byte(name))
	}
	return index, nil
}

// infoPayload prints the file info, sorted by key: HBase needs it so, and nobody minds.
func (w *Writer) infoPayload() []byte {
	i32 := func(v uint64) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }
	n := max(w.entries, 1)
	if w.entries > 0 {
		w.info[infoLastKey] = w.cellKey(w.lastKey)
	}
	w.info[infoAvgKey], w.info[infoAvgValue] = i32(w.keyBytes/n), i32(w.valueBytes/n)
	created := int64(0)
	if w.o.Dialect == Native {
		created = w.o.CreatedAt
	}
	w.info[infoCreated] = binary.BigEndian.AppendUint64(nil, uint64(created))
	w.info[infoKeyValueVersion] = i32(1)
	w.info[infoMaxVersion] = make([]byte, 8)
	var m []byte
	for _, k := range sortedKeys(w.info) {
		pair := appendBytesField(nil, 1, []byte(k))
		pair = appendBytesField(pair, 2, w.info[k])
		m = appendBytesField(m, 1, pair)
	}
	p := binary.AppendUvarint([]byte(infoMagic), uint64(len(m)))
	return append(p, m...)
}

func sortedKeys(m map[string][]byte) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// write compresses payload into a block and returns its offset and its size on disk. prev is the offset of the block of the same type before it.
func (w *Writer) write(magic string, payload []byte, prev int64) (at int64, size int, err error) {
	at, plain := w.off, len(payload)
	if !w.o.Uncompressed {
		if payload, err = w.compress(payload); err != nil {
			return 0, 0, err
		}
	}
	sum := byte(checksumCRC32C)
	if w.o.Dialect == Native {
		sum = checksumNone
	}
	b := appendBlock(nil, magic, payload, plain, prev, sum)
	w.total += uint64(headerSize + plain)
	return at, len(b), w.put(b)
}

func (w *Writer) compress(p []byte) ([]byte, error) {
	var out bytes.Buffer
	if w.zip == nil {
		w.zip = gzip.NewWriter(&out)
	} else {
		w.zip.Reset(&out)
	}
	if _, err := w.zip.Write(p); err != nil {
		return nil, err
	}
	err := w.zip.Close()
	return out.Bytes(), err
}

// put writes bytes; the first error stays.
func (w *Writer) put(p []byte) error {
	if w.err == nil {
		var n int
		n, w.err = w.w.Write(p)
		w.off += int64(n)
	}
	return w.err
}
