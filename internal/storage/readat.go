package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// BufferOptions bounds Buffer. The zero value means blocks of 1 MiB, 16 of them, and 2 blocks of prefetch.
type BufferOptions struct {
	BlockSize int // bytes fetched at least
	Blocks    int // blocks kept
	Prefetch  int // blocks fetched ahead of a sequential reader; -1 for none
}

// OpenBuffered opens path for many small reads: as it is where the store is local, through Buffer elsewhere.
func OpenBuffered(ctx context.Context, s Store, path string, o BufferOptions) (Object, error) {
	obj, err := s.Open(ctx, path)
	if err != nil || s.Properties().Local {
		return obj, err
	}
	return Buffer(obj, o), nil
}

// Buffer makes few large reads of many small ones. Bytes are fetched in aligned blocks; neighbouring blocks that a read
// misses are fetched by one read, whoever else wants them meanwhile waits for that one, and a reader that goes forward
// finds the next blocks already under way. Reads longer than half the buffer pass it by. Memory is at most twice
// Blocks × BlockSize. Closing the result waits for what is under way and closes o.
func Buffer(o Object, opts BufferOptions) Object {
	if opts.BlockSize <= 0 {
		opts.BlockSize = 1 << 20
	}
	if opts.Blocks <= 0 {
		opts.Blocks = 16
	}
	if opts.Prefetch == 0 {
		opts.Prefetch = 2
	}
	opts.Prefetch = min(opts.Prefetch, opts.Blocks/2) // or they would push out what is being read
	b := &buffered{o: o, opts: opts, size: o.Info().Size}
	b.mu.blocks = make(map[int64]*block)
	b.mu.next = -1
	return b
}

type buffered struct {
	o    Object
	opts BufferOptions
	size int64
	wg   sync.WaitGroup // prefetches

	mu struct {
		sync.Mutex
		blocks map[int64]*block // by block number
		clock  int64            // orders the uses of blocks
		next   int64            // block after the last read: where a sequential reader goes on
		closed bool
	}
}

// block is the bytes of one block, or the wait for them. data and err are set before done is closed, and never changed.
type block struct {
	done chan struct{}
	data []byte
	err  error
	used int64 // guarded by mu
}

// run is a range of neighbouring blocks that one read fetches.
type run struct {
	first  int64
	blocks []*block
}

func (b *buffered) Info() Info { return b.o.Info() }

func (b *buffered) Close() error {
	b.mu.Lock()
	b.mu.closed = true
	b.mu.blocks = nil
	b.mu.Unlock()
	b.wg.Wait()
	return b.o.Close()
}

func (b *buffered) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read %s at %d: %w", b.Info().Path, off, fs.ErrInvalid)
	}
	if off >= b.size {
		return 0, io.EOF
	}
	short := int64(len(p)) > b.size-off
	if short {
		p = p[:b.size-off]
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := b.read(p, off)
	if err == nil && short {
		err = io.EOF
	}
	return n, err
}

func (b *buffered) read(p []byte, off int64) (int, error) {
	size := int64(b.opts.BlockSize)
	first, last := off/size, (off+int64(len(p))-1)/size
	if last-first >= int64(b.opts.Blocks)/2 && last > first {
		n, err := b.o.ReadAt(p, off)
		if n == len(p) && errors.Is(err, io.EOF) {
			err = nil
		}
		return n, err
	}
	blocks, missing, err := b.reserve(first, last)
	if err != nil {
		return 0, err
	}
	for _, r := range missing {
		b.fetch(r)
	}
	n := 0
	for i, k := range blocks {
		<-k.done
		if k.err != nil {
			return n, k.err
		}
		from := max(off-(first+int64(i))*size, 0)
		n += copy(p[n:], k.data[from:])
	}
	return n, nil
}

// reserve returns the blocks first..last, and those of them that the caller must fetch. It also starts prefetches.
func (b *buffered) reserve(first, last int64) ([]*block, []run, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.closed {
		return nil, nil, fmt.Errorf("read %s: %w", b.Info().Path, fs.ErrClosed)
	}
	blocks, missing := b.take(first, last)
	sequential := first == b.mu.next || first == b.mu.next-1
	b.mu.next = last + 1
	if sequential && b.opts.Prefetch > 0 {
		end := min(last+int64(b.opts.Prefetch), (b.size-1)/int64(b.opts.BlockSize))
		_, ahead := b.take(last+1, end)
		for _, r := range ahead {
			b.wg.Go(func() { b.fetch(r) })
		}
	}
	b.evict()
	return blocks, missing, nil
}

// take needs mu.
func (b *buffered) take(first, last int64) (blocks []*block, missing []run) {
	for i := first; i <= last; i++ {
		k := b.mu.blocks[i]
		if k == nil {
			k = &block{done: make(chan struct{})}
			b.mu.blocks[i] = k
			if m := len(missing); m > 0 && missing[m-1].first+int64(len(missing[m-1].blocks)) == i {
				missing[m-1].blocks = append(missing[m-1].blocks, k)
			} else {
				missing = append(missing, run{first: i, blocks: []*block{k}})
			}
		}
		b.mu.clock++
		k.used = b.mu.clock
		blocks = append(blocks, k)
	}
	return blocks, missing
}

// evict forgets the blocks used longest ago; who reads them now keeps them. It needs mu.
func (b *buffered) evict() {
	for len(b.mu.blocks) > b.opts.Blocks {
		oldest, at := int64(-1), b.mu.clock+1
		for i, k := range b.mu.blocks {
			if k.used < at {
				oldest, at = i, k.used
			}
		}
		delete(b.mu.blocks, oldest)
	}
}

// fetch reads one run. A run that failed is forgotten, so that the next reader tries again.
func (b *buffered) fetch(r run) {
	size := int64(b.opts.BlockSize)
	start := r.first * size
	buf := make([]byte, min(int64(len(r.blocks))*size, b.size-start))
	n, err := b.o.ReadAt(buf, start)
	if n == len(buf) {
		err = nil
	} else if err == nil || errors.Is(err, io.EOF) {
		err = fmt.Errorf("read %s: object ends at %d, it was opened with %d bytes: %w", b.Info().Path, start+int64(n), b.size, io.ErrUnexpectedEOF)
	}
	if err != nil {
		b.mu.Lock()
		for i, k := range r.blocks {
			if b.mu.blocks[r.first+int64(i)] == k {
				delete(b.mu.blocks, r.first+int64(i))
			}
		}
		b.mu.Unlock()
	}
	for i, k := range r.blocks {
		if k.err = err; err == nil {
			k.data = buf[int64(i)*size : min(int64(i+1)*size, int64(len(buf)))]
		}
		close(k.done)
	}
}
