package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hudifs/hudifs/internal/storage"
)

// recorder is an object that notes each read, and can hold reads back or fail them.
type recorder struct {
	data []byte
	mu   sync.Mutex
	log  [][2]int64 // offset, length
	fail error
	hold chan struct{}
}

func (r *recorder) ReadAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	r.log = append(r.log, [2]int64{off, int64(len(p))})
	err, hold := r.fail, r.hold
	r.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if err != nil {
		return 0, err
	}
	return bytes.NewReader(r.data).ReadAt(p, off)
}

func (r *recorder) reads() [][2]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.log
	r.log = nil
	return l
}

func (r *recorder) Info() storage.Info { return storage.Info{Path: "o", Size: int64(len(r.data))} }
func (r *recorder) Close() error       { return nil }

func data(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7 / 3)
	}
	return b
}

func wantRead(t *testing.T, o storage.Object, all []byte, off, n int) {
	t.Helper()
	p := make([]byte, n)
	got, err := o.ReadAt(p, int64(off))
	want := max(min(n, len(all)-off), 0)
	if got != want || (want == n && err != nil) || (want < n && err != io.EOF) || (want > 0 && !bytes.Equal(p[:got], all[off:off+want])) {
		t.Errorf("ReadAt(%d at %d) = %d, %v or wrong bytes; want %d", n, off, got, err, want)
	}
}

func TestBufferCoalesces(t *testing.T) {
	r := &recorder{data: data(1000)}
	o := storage.Buffer(r, storage.BufferOptions{BlockSize: 100, Blocks: 10, Prefetch: -1})
	for off := 210; off < 290; off += 3 {
		wantRead(t, o, r.data, off, 3)
	}
	if got := r.reads(); len(got) != 1 || got[0] != [2]int64{200, 100} {
		t.Errorf("small reads of one block made the reads %v, want one of 200..300", got)
	}
	wantRead(t, o, r.data, 50, 320) // blocks 0 to 3, of which 2 is there
	if got := r.reads(); len(got) != 2 || got[0] != [2]int64{0, 200} || got[1] != [2]int64{300, 100} {
		t.Errorf("a read over a known block made the reads %v, want 0..200 and 300..400", got)
	}
	wantRead(t, o, r.data, 0, 1000) // longer than half the buffer
	if got := r.reads(); len(got) != 1 || got[0] != [2]int64{0, 1000} {
		t.Errorf("a long read made the reads %v, want itself", got)
	}
	for _, c := range [][2]int{{990, 20}, {1000, 1}, {2000, 5}, {0, 0}, {999, 1}} {
		wantRead(t, o, r.data, c[0], c[1])
	}
	if _, err := o.ReadAt(make([]byte, 1), -1); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("ReadAt(-1): %v", err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := o.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("ReadAt after Close: %v", err)
	}
}

func TestBufferForgetsTheOldest(t *testing.T) {
	r := &recorder{data: data(1000)}
	o := storage.Buffer(r, storage.BufferOptions{BlockSize: 100, Blocks: 3, Prefetch: -1})
	defer o.Close()
	for _, b := range []int{0, 1, 2, 0, 3} { // 1 is the oldest when 3 comes
		wantRead(t, o, r.data, b*100, 10)
	}
	r.reads()
	for _, b := range []int{0, 2, 3} {
		wantRead(t, o, r.data, b*100, 10)
	}
	if got := r.reads(); len(got) != 0 {
		t.Errorf("blocks that should be kept were read again: %v", got)
	}
	wantRead(t, o, r.data, 100, 10)
	if got := r.reads(); len(got) != 1 {
		t.Errorf("the block that should be forgotten made the reads %v", got)
	}
}

func TestBufferPrefetches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{data: data(1000)}
		o := storage.Buffer(r, storage.BufferOptions{BlockSize: 100, Blocks: 8, Prefetch: 2})
		wantRead(t, o, r.data, 100, 100)
		synctest.Wait()
		if got := r.reads(); len(got) != 1 {
			t.Errorf("the first read made %v, want no prefetch", got)
		}
		wantRead(t, o, r.data, 200, 100)
		synctest.Wait()
		if got := r.reads(); len(got) != 2 || got[1] != [2]int64{300, 200} && got[0] != [2]int64{300, 200} {
			t.Errorf("a reader that goes forward made %v, want 300..500 ahead", got)
		}
		wantRead(t, o, r.data, 300, 100)
		synctest.Wait()
		if got := r.reads(); len(got) != 1 || got[0] != [2]int64{500, 100} {
			t.Errorf("the next read made %v, want 500..600 ahead and nothing else", got)
		}
		wantRead(t, o, r.data, 800, 100)
		wantRead(t, o, r.data, 900, 100)
		synctest.Wait()
		if got := r.reads(); len(got) != 2 {
			t.Errorf("reads at the end made %v, want no prefetch beyond it", got)
		}
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// Readers of one block share one fetch; a failed one is for all who waited, and the next reader tries again.
func TestBufferShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		r := &recorder{data: data(1000), hold: make(chan struct{}), fail: boom}
		o := storage.Buffer(r, storage.BufferOptions{BlockSize: 100, Blocks: 8, Prefetch: -1})
		defer o.Close()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if _, err := o.ReadAt(make([]byte, 10), 5); !errors.Is(err, boom) {
					t.Errorf("ReadAt: %v, want boom", err)
				}
			})
		}
		synctest.Wait()
		close(r.hold)
		wg.Wait()
		if got := r.reads(); len(got) != 1 {
			t.Errorf("five readers made %v, want one read", got)
		}
		r.mu.Lock()
		r.fail = nil
		r.mu.Unlock()
		wantRead(t, o, r.data, 5, 10)
	})
}

// The object is shorter than it said: an error, not zeros.
func TestBufferShortObject(t *testing.T) {
	r := &recorder{data: data(1000)}
	o := storage.Buffer(r, storage.BufferOptions{BlockSize: 100, Blocks: 8})
	defer o.Close()
	r.data = r.data[:950]
	if _, err := o.ReadAt(make([]byte, 10), 905); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("ReadAt of a shorter object: %v, want io.ErrUnexpectedEOF", err)
	}
}

func TestBufferRandomReads(t *testing.T) {
	r := &recorder{data: data(10_007)}
	for _, opts := range []storage.BufferOptions{{BlockSize: 64, Blocks: 4}, {BlockSize: 1000, Blocks: 2, Prefetch: 5}, {BlockSize: 1, Blocks: 50}, {}} {
		o := storage.Buffer(r, opts)
		var wg sync.WaitGroup
		for g := range 4 {
			rng := rand.New(rand.NewPCG(3, uint64(g)))
			wg.Go(func() {
				for range 300 {
					wantRead(t, o, r.data, rng.IntN(10_100), rng.IntN(1+rng.IntN(700)))
				}
			})
		}
		wg.Wait()
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenBufferedLeavesLocalFilesAlone(t *testing.T) {
	l := openLocal(t)
	defer l.Close()
	if _, err := l.Put(t.Context(), "x", []byte("bytes"), storage.PutReplace); err != nil {
		t.Fatal(err)
	}
	plainObject, err := l.Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer plainObject.Close()
	o, err := storage.OpenBuffered(t.Context(), l, "x", storage.BufferOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	wantRead(t, o, []byte("bytes"), 1, 3)
	if got, want := typeName(o), typeName(plainObject); got != want {
		t.Errorf("OpenBuffered of a local file = %s, want %s", got, want)
	}
}

func typeName(v any) string { return fmt.Sprintf("%T", v) }
