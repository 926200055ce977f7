package handle

import (
	"context"
	"fmt"

	"github.com/hudifs/hudifs/internal/bloom"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
)

// The footer keys that Java's indexes read (data.md §2.2).
const (
	keyBloom     = "org.apache.hudi.bloomfilter"
	keyBloomOld  = "com.uber.hoodie.bloomfilter"
	keyBloomType = "hoodie_bloom_filter_type_code"
	keyMin       = "hoodie_min_record_key"
	keyMax       = "hoodie_max_record_key"
)

// footer collects the record keys of a file: their range and their Bloom filter.
type footer struct {
	filter   *bloom.Filter
	min, max string
	any      bool
	keys     []string // added, and not yet in the filter: it takes many at once faster
}

func newFooter() *footer { return &footer{filter: bloom.Default()} }

func (f *footer) add(key string) {
	if f.keys = append(f.keys, key); len(f.keys) == cap(f.keys) && len(f.keys) >= keyBatch {
		f.flush()
	}
	f.widen(key)
}

const keyBatch = 4096

func (f *footer) flush() {
	f.filter.AddAll(f.keys)
	f.keys = f.keys[:0]
}

func (f *footer) widen(key string) {
	if !f.any {
		f.min, f.max, f.any = key, key, true
		return
	}
	if record.CompareUTF16(key, f.min) < 0 {
		f.min = key
	}
	if record.CompareUTF16(key, f.max) > 0 {
		f.max = key
	}
}

// inherit takes over what a base file says of its keys: keys that an edit deletes stay in the filter and the range, which may answer "perhaps" for them. A file
// that says nothing has its key column read.
func (f *footer) inherit(ctx context.Context, src *parquetfile.File, name string) error {
	text, ok := src.Lookup(keyBloom)
	if !ok {
		text, ok = src.Lookup(keyBloomOld)
	}
	lo, okLo := src.Lookup(keyMin)
	hi, okHi := src.Lookup(keyMax)
	if ok && okLo && okHi && ordersAgree(lo) && ordersAgree(hi) && lo <= hi {
		typ, _ := src.Lookup(keyBloomType)
		filter, err := bloom.Parse(typ, text)
		if err == nil {
			f.filter = filter
			if src.NumRows() > 0 {
				f.widen(lo)
				f.widen(hi)
			}
			return nil
		}
		// A filter or range that is damaged, or whose order is unknown, is made anew from the keys themselves.
	}
	err := src.Strings(ctx, "_hoodie_record_key", func(_ int64, v []byte, ok bool) error {
		if ok {
			f.add(string(v))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read keys of %s: %w", name, err)
	}
	return nil
}

// ordersAgree reports whether a bound of s means the same by bytes, as Spark's row writer orders keys, and by UTF-16 units, as Java does: only from U+E000 on the two
// differ.
func ordersAgree(s string) bool {
	for i := range len(s) {
		if s[i] >= 0xEE {
			return false
		}
	}
	return true
}

func (f *footer) write(w *parquetfile.Writer) {
	f.flush()
	w.SetFooter(keyBloomType, f.filter.TypeCode())
	w.SetFooter(keyBloom, f.filter.String())
	if f.any {
		w.SetFooter(keyMin, f.min)
		w.SetFooter(keyMax, f.max)
	}
}
