package parquetfile

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// maxWorkers is how many columns are worked on side by side at most.
const maxWorkers = 4

// eachColumn runs fn for every column, side by side, and joins. Columns do not share state, so the outcome does not depend on the order.
func (w *Writer) eachColumn(fn func(c *columnWriter) error) error {
	return parallel(len(w.cols), func(i int) error { return fn(w.cols[i]) })
}

// parallel runs fn(0…n-1) on up to maxWorkers goroutines and returns the error of the lowest number.
func parallel(n int, fn func(i int) error) error {
	workers := min(n, maxWorkers, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for i := range n {
			if err := fn(i); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				if errs[i] = fn(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
