package fusefs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestCache(t *testing.T) {
	f := testFS(t, Config{})
	c := cache[int, string]{max: 3}
	loads := map[int]int{}
	var mu sync.Mutex
	get := func(k int) (string, error) {
		return c.get(t.Context(), f, f.openWait(), k, func(context.Context) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			loads[k]++
			if k < 0 {
				return "", errors.New("no")
			}
			return fmt.Sprint(k), nil
		})
	}
	for _, k := range []int{1, 2, 3, 1, 4, 1, 2} { // 4 drops 2, the least recently used; 2 then drops 3
		if v, err := get(k); err != nil || v != fmt.Sprint(k) {
			t.Errorf("get(%d) = %q, %v", k, v, err)
		}
	}
	for k, want := range map[int]int{1: 1, 2: 2, 3: 1, 4: 1} {
		if loads[k] != want {
			t.Errorf("%d was loaded %d times, want %d", k, loads[k], want)
		}
	}
	for range 2 {
		if _, err := get(-1); err == nil {
			t.Error("a failed load succeeded")
		}
	}
	if loads[-1] != 2 {
		t.Errorf("a failed load was kept: %d loads, want 2", loads[-1])
	}
	c.drop(1)
	get(1)
	if loads[1] != 2 {
		t.Error("a dropped value came back")
	}
	c.dropIf(func(int) bool { return true })
	if c.mu.total != 0 || len(c.mu.slots) != 0 || c.mu.order.Len() != 0 {
		t.Errorf("after dropping everything: total %d, %d slots, %d in order", c.mu.total, len(c.mu.slots), c.mu.order.Len())
	}
}

func TestCacheLoadsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFS(t, Config{})
		c := cache[int, int]{max: 10}
		loads := 0
		release := make(chan struct{})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				v, err := c.get(t.Context(), f, f.openWait(), 1, func(context.Context) (int, error) { loads++; <-release; return 7, nil })
				if v != 7 || err != nil {
					t.Errorf("get = %d, %v", v, err)
				}
			})
		}
		synctest.Wait()
		close(release)
		wg.Wait()
		if loads != 1 {
			t.Errorf("ten at once loaded %d times", loads)
		}
	})
}

// TestAwait is the rule how long a request waits.
func TestAwait(t *testing.T) {
	long := func(d time.Duration) func(context.Context) (int, error) {
		return func(context.Context) (int, error) { time.Sleep(d); return 1, nil }
	}
	for _, c := range []struct {
		name    string
		w       waiting
		work    time.Duration
		signal  time.Duration // 0: none
		wantErr error
		want    time.Duration // how long the request waits
	}{
		{"quick", waiting{limit: time.Minute}, time.Millisecond, 0, nil, time.Millisecond},
		{"too slow", waiting{limit: time.Second}, time.Hour, 0, errTooSlow, time.Second},
		{"a signal, soon done", waiting{limit: time.Minute}, 500 * time.Millisecond, 100 * time.Millisecond, nil, 500 * time.Millisecond},
		{"a signal, long work", waiting{limit: time.Minute}, time.Hour, 100 * time.Millisecond, context.Canceled, 100*time.Millisecond + patience},
		{"a signal, firm", waiting{limit: time.Minute, firm: true}, 30 * time.Second, 100 * time.Millisecond, nil, 30 * time.Second},
		{"a signal, firm, too slow", waiting{limit: time.Minute, firm: true}, time.Hour, 100 * time.Millisecond, errTooSlow, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := testFS(t, Config{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.signal > 0 {
					time.AfterFunc(c.signal, cancel)
				}
				begin := time.Now()
				_, err := await(ctx, f, c.w, long(c.work), nil)
				if !errors.Is(err, c.wantErr) || time.Since(begin) != c.want {
					t.Errorf("await = %v after %v, want %v after %v", err, time.Since(begin), c.wantErr, c.want)
				}
				f.work.Wait()
			})
		})
	}
}

func TestAwaitClosesWhatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFS(t, Config{})
		closed := 0
		_, err := await(t.Context(), f, waiting{limit: time.Second}, func(context.Context) (int, error) { time.Sleep(time.Minute); return 5, nil },
			func(n int) { closed = n })
		if !errors.Is(err, errTooSlow) {
			t.Errorf("await = %v", err)
		}
		f.work.Wait()
		if closed != 5 {
			t.Error("the late result was not taken care of")
		}
	})
}

func TestAwaitEndsWithTheMount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFS(t, Config{})
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := await(t.Context(), f, waiting{limit: time.Hour, firm: true}, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }, nil)
			if !errors.Is(err, errStopping) {
				t.Errorf("await = %v, want that the mount ends", err)
			}
		})
		synctest.Wait()
		f.stop()
		wg.Wait()
		f.end()
		f.work.Wait()
	})
}
