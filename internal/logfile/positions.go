package logfile

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/hudifs/hudifs/internal/corrupt"
)

// maxPosition bounds the row positions that are accepted: no parquet file has more rows.
const maxPosition = 1 << 40

// maxPositions bounds the positions of one block: a bitmap of runs names billions in a few bytes. 64 Mi records are more than a block of 2 GiB holds.
const maxPositions = 1 << 26

// Positions returns the row positions of the block's records in the base file of instant base, ascending, the i-th for the i-th record
// (data.md §3.8). ok is false where the block has none.
func (b *Block) Positions() (pos []int64, base string, ok bool, err error) {
	text, base := b.Header[RecordPositions], b.Header[BaseInstantOfPos]
	if text == "" || base == "" {
		return nil, "", false, nil
	}
	pos, err = parsePositions(text)
	if err != nil {
		return nil, "", false, corrupt.At(b.name, b.Offset, "record positions: %w", err)
	}
	return pos, base, true, nil
}

// parsePositions reads the portable form of a 64-bit roaring bitmap: a count of buckets, then for each its high half and a 32-bit bitmap.
func parsePositions(text string) ([]int64, error) {
	p, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	if len(p) < 8 {
		return nil, fmt.Errorf("bitmap of %d bytes", len(p))
	}
	buckets := binary.LittleEndian.Uint64(p)
	p = p[8:]
	if buckets > uint64(len(p))/4 {
		return nil, fmt.Errorf("%d buckets in %d bytes", buckets, len(p))
	}
	var pos []int64
	last := int64(-1)
	for range buckets {
		if len(p) < 4 {
			return nil, fmt.Errorf("bitmap is cut off")
		}
		high := int64(binary.LittleEndian.Uint32(p)) << 32
		if high >= maxPosition || high <= last {
			return nil, fmt.Errorf("bucket of positions from %d on", high)
		}
		last = high
		in := bytes.NewReader(p[4:])
		bm := roaring.New()
		if _, err := bm.ReadFrom(in); err != nil {
			return nil, err
		}
		if n := bm.GetCardinality(); n > maxPositions-uint64(len(pos)) {
			return nil, fmt.Errorf("more than %d positions", maxPositions)
		}
		p = p[len(p)-in.Len():]
		for it := bm.Iterator(); it.HasNext(); {
			pos = append(pos, high|int64(it.Next()))
		}
	}
	if len(p) > 0 {
		return nil, fmt.Errorf("%d bytes after the bitmap", len(p))
	}
	return pos, nil
}

// EncodePositions returns the RECORD_POSITIONS header for ascending positions.
func EncodePositions(pos []int64) (string, error) {
	var out []byte
	buckets := uint64(0)
	out = binary.LittleEndian.AppendUint64(out, 0)
	for i := 0; i < len(pos); {
		high := pos[i] >> 32
		bm := roaring.New()
		for ; i < len(pos) && pos[i]>>32 == high; i++ {
			if pos[i] < 0 || pos[i] >= maxPosition || i > 0 && pos[i] <= pos[i-1] {
				return "", fmt.Errorf("record position %d: positions must be distinct and ascending", pos[i])
			}
			bm.Add(uint32(pos[i]))
		}
		bm.RunOptimize()
		p, err := bm.ToBytes()
		if err != nil {
			return "", err
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(high))
		out = append(out, p...)
		buckets++
	}
	binary.LittleEndian.PutUint64(out, buckets)
	return base64.StdEncoding.EncodeToString(out), nil
}
