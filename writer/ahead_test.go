package writer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/hudifs/hudifs/internal/record"
)

// countingRows yields the numbers 0 to n-1 in one column, and overwrites rows as soon as it may.
type countingRows struct {
	n, at int
	fail  error // instead of io.EOF
	lines []int64
	given [2][]record.Row
}

func (c *countingRows) Read(dst []record.Row) (int, error) {
	for _, old := range c.given[0] {
		old[0] = record.Int64(-1) // of the batch before the last
	}
	c.lines = c.lines[:0]
	n := 0
	for ; n < min(len(dst), 3) && c.at < c.n; n++ {
		dst[n] = append(dst[n][:0], record.Int64(int64(c.at)))
		c.lines = append(c.lines, int64(c.at)+2)
		c.at++
	}
	c.given[0], c.given[1] = c.given[1], dst[:n]
	if c.at < c.n {
		return n, nil
	}
	if c.fail != nil {
		return n, c.fail
	}
	return n, io.EOF
}

func (c *countingRows) Line(i int) int64 { return c.lines[i] }

type overlappingRows struct{ countingRows }

func (*overlappingRows) Overlaps() {}

func TestReadingAheadGivesTheSameRows(t *testing.T) {
	broken := errors.New("broken")
	for _, n := range []int{0, 1, 3, 4, 100} {
		for _, fail := range []error{nil, broken} {
			for name, in := range map[string]Rows{"plain": &countingRows{n: n, fail: fail}, "ahead": &overlappingRows{countingRows{n: n, fail: fail}}} {
				t.Run(fmt.Sprintf("%s/%d/%v", name, n, fail), func(t *testing.T) {
					r := startReading(in, 5)
					defer r.stop()
					want := int64(0)
					for {
						got, err := r.next(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						for i, row := range got.rows[:got.n] {
							if row[0].Int64() != want || got.lines[i] != want+2 {
								t.Fatalf("row %d: value %d on line %d, want %d on line %d", want, row[0].Int64(), got.lines[i], want, want+2)
							}
							want++
						}
						if got.err != nil {
							if wantErr := fail; wantErr == nil && got.err != io.EOF || wantErr != nil && got.err != wantErr {
								t.Fatalf("the source ended with %v, want %v", got.err, fail)
							}
							break
						}
					}
					if want != int64(n) {
						t.Fatalf("%d rows, want %d", want, n)
					}
				})
			}
		}
	}
}

func TestReadingAheadCanBeLeft(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := startReading(&overlappingRows{countingRows{n: 1000}}, 5)
	if _, err := r.next(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := r.next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("next after cancel: %v, want context.Canceled", err)
	}
	r.stop() // returns, with batches unread
}
