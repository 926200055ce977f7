package commitwatch

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hudifs/hudifs/timeline"
)

// table is a timeline that tests change.
type table struct {
	mu    sync.Mutex
	list  []timeline.Instant
	err   error
	loads int
	hold  chan struct{} // when set, loads wait for it
}

func (b *table) load(ctx context.Context) (*timeline.Timeline, error) {
	b.mu.Lock()
	b.loads++
	list, err, hold := append([]timeline.Instant(nil), b.list...), b.err, b.hold
	b.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	return timeline.New(2, list), nil
}

func (b *table) set(list ...timeline.Instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = list
}

func (b *table) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.loads
}

func done(t, c timeline.InstantTime) timeline.Instant {
	return timeline.Instant{Time: t, Completion: c, Action: timeline.Commit, State: timeline.Completed}
}

func inflight(t timeline.InstantTime) timeline.Instant {
	return timeline.Instant{Time: t, Action: timeline.Commit, State: timeline.Inflight}
}

// fakeWaker wakes when told.
type fakeWaker struct {
	wakes chan struct{}
	err   error
}

func (f *fakeWaker) Run(ctx context.Context, wake func()) error {
	if f.err != nil {
		return f.err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.wakes:
			wake()
		}
	}
}

func times(list []timeline.Instant) string {
	s := ""
	for _, i := range list {
		s += string(i.Time) + " "
	}
	return s
}

func TestDiff(t *testing.T) {
	compacting := timeline.Instant{Time: "3", Action: timeline.Compaction, State: timeline.Inflight}
	compacted := timeline.Instant{Time: "3", Completion: "9", Action: timeline.Commit, State: timeline.Completed}
	for _, c := range []struct {
		name           string
		old, now       []timeline.Instant
		added, removed string
	}{
		{"nothing", nil, nil, "", ""},
		{"first look", nil, []timeline.Instant{done("1", "2")}, "1 ", ""},
		{"same", []timeline.Instant{done("1", "2")}, []timeline.Instant{done("1", "2")}, "", ""},
		{"new one", []timeline.Instant{done("1", "2")}, []timeline.Instant{done("1", "2"), done("3", "4")}, "3 ", ""},
		{"completes late, before the last name", []timeline.Instant{inflight("1"), done("3", "4")}, []timeline.Instant{done("1", "5"), done("3", "4")}, "1 ", ""},
		{"archived", []timeline.Instant{done("1", "2"), done("3", "4")}, []timeline.Instant{done("3", "4")}, "", "1 "},
		{"rolled back and another", []timeline.Instant{inflight("1")}, []timeline.Instant{done("2", "3")}, "2 ", "1 "},
		{"a compaction becomes a commit", []timeline.Instant{compacting}, []timeline.Instant{compacted}, "3 ", ""},
		{"completed anew at another time", []timeline.Instant{done("1", "2")}, []timeline.Instant{done("1", "3")}, "1 ", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := diff(timeline.New(2, c.old), timeline.New(2, c.now))
			if got := times(e.Added); got != c.added {
				t.Errorf("added = %q, want %q", got, c.added)
			}
			if got := times(e.Removed); got != c.removed {
				t.Errorf("removed = %q, want %q", got, c.removed)
			}
		})
	}
}

func TestWatcherTellsSubscribers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &table{}
		b.set(done("1", "2"))
		k := &fakeWaker{wakes: make(chan struct{})}
		w, err := New(Options{Load: b.load, Wakers: []Waker{k}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { w.Run(ctx) })
		events, stop := w.Subscribe()
		if e := <-events; times(e.Added) != "1 " {
			t.Errorf("first event adds %q, want the instant that was there", times(e.Added))
		}
		b.set(done("1", "2"), done("3", "4"))
		k.wakes <- struct{}{}
		if e := <-events; times(e.Added) != "3 " || e.Timeline.Len() != 2 {
			t.Errorf("event adds %q of %d, want the new instant of 2", times(e.Added), e.Timeline.Len())
		}
		if w.Current().Len() != 2 {
			t.Errorf("current has %d instants, want 2", w.Current().Len())
		}
		// A wake without a change is no event.
		k.wakes <- struct{}{}
		time.Sleep(time.Second)
		select {
		case e := <-events:
			t.Errorf("event without a change: %+v", e)
		default:
		}
		// A slow subscriber gets one event for all changes.
		for n := range 3 {
			list := []timeline.Instant{done("3", "4")}
			for i := range n + 1 {
				list = append(list, done(timeline.InstantTime(rune('5'+i)), "9"))
			}
			b.set(list...)
			if err := w.Poke(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if e := <-events; times(e.Added) != "5 6 7 " || times(e.Removed) != "1 " {
			t.Errorf("merged event adds %q removes %q, want 5 6 7 and 1", times(e.Added), times(e.Removed))
		}
		stop()
		stop()
		if _, ok := <-events; ok {
			t.Error("the channel is open after the subscription ended")
		}
		cancel()
		wg.Wait()
	})
}

func TestWatcherGathersWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &table{}
		k := &fakeWaker{wakes: make(chan struct{})}
		w, _ := New(Options{Load: b.load, Wakers: []Waker{k}})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { w.Run(ctx) })
		synctest.Wait()
		before := b.count()
		for range 100 {
			k.wakes <- struct{}{}
		}
		time.Sleep(time.Second)
		if got := b.count() - before; got != 1 {
			t.Errorf("a burst of wakes made %d looks, want 1", got)
		}
		cancel()
		wg.Wait()
	})
}

func TestWatcherTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &table{err: errors.New("storage is down")}
		w, _ := New(Options{Load: b.load, Wakers: []Waker{&fakeWaker{err: errors.New("no watches left")}}})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { w.Run(ctx) })
		time.Sleep(3500 * time.Millisecond)
		if got := b.count(); got != 4 {
			t.Errorf("looks in 3.5s of failure = %d, want one at once and one a second", got)
		}
		if w.Current() != nil {
			t.Error("a failed look made a timeline current")
		}
		b.mu.Lock()
		b.err = nil
		b.list = []timeline.Instant{done("1", "2")}
		b.mu.Unlock()
		time.Sleep(time.Second)
		if tl := w.Current(); tl == nil || tl.Len() != 1 {
			t.Errorf("current after the storage came back = %v, want 1 instant", tl)
		}
		cancel()
		wg.Wait()
	})
}

func TestPokeSharesLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &table{hold: make(chan struct{})}
		w, _ := New(Options{Load: b.load})
		var wg sync.WaitGroup
		wg.Go(func() { w.Poke(t.Context()) }) // begins before the others ask
		synctest.Wait()
		b.set(done("1", "2"))
		for range 10 {
			wg.Go(func() {
				if err := w.Poke(t.Context()); err != nil {
					t.Error(err)
				}
				if tl := w.Current(); tl == nil || tl.Len() != 1 {
					t.Errorf("after Poke the timeline is %v, want one that was read after the call", tl)
				}
			})
		}
		synctest.Wait()
		close(b.hold)
		wg.Wait()
		if got := b.count(); got != 2 {
			t.Errorf("11 calls made %d looks, want 2", got)
		}
	})
}

func TestPokeGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &table{hold: make(chan struct{})}
		w, _ := New(Options{Load: b.load})
		var wg sync.WaitGroup
		wg.Go(func() { w.Poke(t.Context()) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Poke(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Poke behind a hanging look = %v, want its deadline", err)
		}
		close(b.hold)
		wg.Wait()
	})
}

func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10500*time.Millisecond)
		defer cancel()
		n := 0
		if err := (Poll{}).Run(ctx, func() { n++ }); err != nil {
			t.Fatal(err)
		}
		if n != 10 {
			t.Errorf("wakes in 10.5s = %d, want 10", n)
		}
	})
}

func TestNewWithoutLoad(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("New without Load succeeded")
	}
}
