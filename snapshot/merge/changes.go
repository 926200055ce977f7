package merge

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
)

// change is what happens to one base row, or one row that is inserted.
type change struct {
	at  int64 // row position in the base file; of an insert: order of arrival
	row int64 // handle of the row in the store; noRow: the base row goes
}

// changeSize is a change on disk, in bytes.
const changeSize = 16

// changes are changes in ascending order of at, gathered in sorted batches: in memory, or, for slices that spill, in a file without a name.
type changes struct {
	mem   [][]change
	dir   string
	file  *os.File // set from the first batch on where batches go to disk
	disk  bool
	ends  []int64 // where each batch on disk ends
	count int64
}

// add takes one batch, which it sorts. The slice belongs to changes then.
func (c *changes) add(batch []change) error {
	if len(batch) == 0 {
		return nil
	}
	slices.SortFunc(batch, func(a, b change) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	c.count += int64(len(batch))
	if !c.disk {
		c.mem = append(c.mem, batch)
		return nil
	}
	if c.file == nil {
		f, err := tempFile(c.dir)
		if err != nil {
			return err
		}
		c.file = f
	}
	w := bufio.NewWriterSize(c.file, 256<<10)
	var b [changeSize]byte
	for _, x := range batch {
		binary.LittleEndian.PutUint64(b[:], uint64(x.at))
		binary.LittleEndian.PutUint64(b[8:], uint64(x.row))
		if _, err := w.Write(b[:]); err != nil {
			return fmt.Errorf("spill merge result: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("spill merge result: %w", err)
	}
	end := int64(len(batch)) * changeSize
	if n := len(c.ends); n > 0 {
		end += c.ends[n-1]
	}
	c.ends = append(c.ends, end)
	return nil
}

func (c *changes) close() error {
	c.mem = nil
	if c.file == nil {
		return nil
	}
	f := c.file
	c.file = nil
	return f.Close()
}

// changeSource yields one batch.
type changeSource struct {
	mem []change
	in  *bufio.Reader
	cur change
	ok  bool
	err error
}

func (s *changeSource) advance() {
	if s.in == nil {
		s.ok = len(s.mem) > 0
		if s.ok {
			s.cur, s.mem = s.mem[0], s.mem[1:]
		}
		return
	}
	var b [changeSize]byte
	_, err := io.ReadFull(s.in, b[:])
	s.ok = err == nil
	if err != nil && err != io.EOF {
		s.err = fmt.Errorf("read merge result: %w", err)
	}
	s.cur = change{int64(binary.LittleEndian.Uint64(b[:])), int64(binary.LittleEndian.Uint64(b[8:]))}
}

// changeIterator yields all changes in ascending order.
type changeIterator struct {
	sources []*changeSource
	err     error
}

// iterate starts over all batches. There are as many as groups of keys, mostly one.
func (c *changes) iterate() *changeIterator {
	it := &changeIterator{}
	for _, m := range c.mem {
		it.sources = append(it.sources, &changeSource{mem: m})
	}
	from := int64(0)
	for _, end := range c.ends {
		in := bufio.NewReaderSize(io.NewSectionReader(c.file, from, end-from), 16<<10)
		it.sources = append(it.sources, &changeSource{in: in})
		from = end
	}
	for _, s := range it.sources {
		s.advance()
	}
	return it
}

// peek returns the next change without taking it.
func (it *changeIterator) peek() (change, bool) {
	s := it.least()
	if s == nil {
		return change{}, false
	}
	return s.cur, true
}

// next takes the next change.
func (it *changeIterator) next() (change, bool) {
	s := it.least()
	if s == nil {
		return change{}, false
	}
	c := s.cur
	s.advance()
	return c, true
}

func (it *changeIterator) least() *changeSource {
	var best *changeSource
	for _, s := range it.sources {
		if s.err != nil && it.err == nil {
			it.err = s.err
		}
		if s.ok && (best == nil || s.cur.at < best.cur.at) {
			best = s
		}
	}
	return best
}
