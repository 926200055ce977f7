package writer

import (
	"context"
	"sync"

	"github.com/hudifs/hudifs/internal/record"
)

// overlapping is a source whose rows stay valid during the Read after the one that gave them, so that the next rows can be decoded while these are staged.
type overlapping interface{ Overlaps() }

// rowBatch is what one Read gave.
type rowBatch struct {
	rows  []record.Row
	n     int
	lines []int64
	err   error
}

func (r *rowBatch) read(in Rows) {
	r.n, r.err = in.Read(r.rows)
	r.lines = r.lines[:0]
	for i := range r.n {
		r.lines = append(r.lines, in.Line(i))
	}
}

// reading walks through a source, one read ahead of its caller where the source allows it.
type reading struct {
	in         Rows
	free, full chan *rowBatch // nil: not ahead
	done       chan struct{}
	wg         sync.WaitGroup
	cur        *rowBatch
}

// startReading begins. The caller ends it with stop before it closes the source.
func startReading(in Rows, batchRows int) *reading {
	r := &reading{in: in}
	if _, ok := in.(overlapping); !ok {
		r.cur = &rowBatch{rows: make([]record.Row, batchRows)}
		return r
	}
	r.free, r.full, r.done = make(chan *rowBatch, 2), make(chan *rowBatch, 1), make(chan struct{})
	for range cap(r.free) {
		r.free <- &rowBatch{rows: make([]record.Row, batchRows)}
	}
	r.wg.Go(r.run)
	return r
}

// run reads until the source ends or nobody wants more. Two batches are all there are: when the third Read begins, the first one's rows are done with.
func (r *reading) run() {
	for {
		var b *rowBatch
		select {
		case b = <-r.free:
		case <-r.done:
			return
		}
		b.read(r.in)
		select {
		case r.full <- b:
		case <-r.done:
			return
		}
		if b.err != nil {
			return
		}
	}
}

// next returns the next batch, whose rows are valid until next is called again. None follows one with an error.
func (r *reading) next(ctx context.Context) (*rowBatch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.free == nil {
		r.cur.read(r.in)
		return r.cur, nil
	}
	if r.cur != nil {
		r.free <- r.cur // has room for all there are
	}
	select {
	case r.cur = <-r.full:
		return r.cur, nil
	case <-ctx.Done():
		r.cur = nil
		return nil, ctx.Err()
	}
}

func (r *reading) stop() {
	if r.done != nil {
		close(r.done)
		r.wg.Wait()
	}
}
