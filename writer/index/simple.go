package index

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hudifs/hudifs/internal/bloom"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/snapshot/fsview"
)

// Simple reads the key columns of base files: Hudi's SIMPLE index (data.md §7.2). Files whose footer proves that they hold none of the keys are
// passed over, which is what Hudi's BLOOM index does; so it serves tables of both.
type Simple struct {
	Store storage.Store
	// KeyOf reads the record keys of a file without meta columns, in row order; nil where tables have them.
	KeyOf func(ctx context.Context, f *parquetfile.File, fn func(pos int64, key []byte) error) error
}

var _ Index = (*Simple)(nil)

// Find implements Index.
func (s *Simple) Find(ctx context.Context, slices []fsview.FileSlice, keys Keys, fn func(Found)) error {
	if len(keys.ByKey) == 0 {
		return nil
	}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range slices {
		if slices[i].File == nil {
			continue
		}
		g.Go(func() error {
			found, err := s.findIn(ctx, i, slices[i].File, keys)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			for _, f := range found {
				fn(f)
			}
			return nil
		})
	}
	return g.Wait()
}

func (s *Simple) findIn(ctx context.Context, slice int, base *fsview.BaseFile, keys Keys) ([]Found, error) {
	obj, err := s.Store.Open(ctx, base.Path)
	if err != nil {
		return nil, fmt.Errorf("open base file %s: %w", base.Path, err)
	}
	defer obj.Close()
	f, err := parquetfile.Open(obj, obj.Info().Size, base.Path)
	if err != nil {
		return nil, err
	}
	if s.KeyOf == nil && !mayHold(f, keys) {
		return nil, nil
	}
	var found []Found
	match := func(pos int64, key []byte) error {
		if k, ok := keys.ByKey[string(key)]; ok {
			found = append(found, Found{k, Location{slice, pos}})
		}
		return nil
	}
	if s.KeyOf != nil {
		err = s.KeyOf(ctx, f, match)
	} else {
		err = f.Strings(ctx, "_hoodie_record_key", func(pos int64, v []byte, ok bool) error {
			if !ok {
				return fmt.Errorf("row %d has no record key", pos)
			}
			return match(pos, v)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("look for keys in %s: %w", base.Path, err)
	}
	return found, nil
}

// manyKeys is where reading the key column is cheaper than asking the filter for each key.
const manyKeys = 4096

// mayHold asks the footer's key range and Bloom filter.
func mayHold(f *parquetfile.File, keys Keys) bool {
	lo, okLo := f.Lookup("hoodie_min_record_key")
	hi, okHi := f.Lookup("hoodie_max_record_key")
	if !okLo || !okHi || len(keys.ByKey) > manyKeys {
		return true
	}
	if lo > hi && record.CompareUTF16(lo, hi) > 0 {
		return true // damaged, or in an order of its own: it proves nothing
	}
	var filter *bloom.Filter
	for k := range keys.ByKey {
		// Java's Avro writer orders keys by UTF-16 units, Spark's row writer by bytes; the footer does not say who wrote it.
		if (k < lo || k > hi) && (record.CompareUTF16(k, lo) < 0 || record.CompareUTF16(k, hi) > 0) {
			continue
		}
		if filter == nil {
			if filter = filterOf(f); filter == nil {
				return true
			}
		}
		if filter.Has(k) {
			return true
		}
	}
	return false
}

// filterOf reads the footer's filter; nil where there is none that can be read.
func filterOf(f *parquetfile.File) *bloom.Filter {
	text, ok := f.Lookup("org.apache.hudi.bloomfilter")
	if !ok {
		return nil
	}
	typ, _ := f.Lookup("hoodie_bloom_filter_type_code")
	filter, err := bloom.Parse(typ, text)
	if err != nil {
		return nil
	}
	return filter
}
