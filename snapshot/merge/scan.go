package merge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/storage"
)

// Log is one log file of a slice. Open is called when its bytes are needed, and at most one log file is open at a time.
type Log struct {
	Path string
	Size int64
	Open func(ctx context.Context) (storage.Object, error)
}

// Ref is a block of a slice's logs and the log that it lies in.
type Ref struct {
	Log   int // index into the logs
	Block *logfile.Block
}

// Scanned is what the logs of a slice hold.
type Scanned struct {
	InForce []Ref // data and delete blocks that count, oldest first
	Corrupt []Ref // damaged regions that were passed over
}

// Scan reads the framing of all logs, which come in reading order, and returns the blocks in force (data.md §4.2): blocks of instants that valid
// refuses are out, and so are those that a later rollback command names and those that a log compaction replaced. valid nil accepts all. CDC blocks
// are no rows of the table.
func Scan(ctx context.Context, logs []Log, valid func(instant string) bool) (*Scanned, error) {
	s := &scan{valid: valid, blocks: map[string][]Ref{}}
	for i := range logs {
		if err := s.file(ctx, i, &logs[i]); err != nil {
			return nil, fmt.Errorf("scan %s: %w", logs[i].Path, err)
		}
	}
	return &Scanned{InForce: s.inForce(), Corrupt: s.corrupt}, nil
}

// scan collects blocks per instant, in the order in which instants were first met.
type scan struct {
	valid   func(string) bool
	order   []string
	blocks  map[string][]Ref
	corrupt []Ref
}

func (s *scan) file(ctx context.Context, index int, l *Log) (err error) {
	if l.Size == 0 {
		return nil
	}
	obj, err := l.Open(ctx)
	if err != nil {
		return err
	}
	defer obj.Close()
	r, err := logfile.Open(obj, l.Size, l.Path)
	if err != nil {
		return err
	}
	for b, err := range r.Blocks(ctx) {
		if err != nil {
			return err
		}
		if err := s.add(Ref{index, b}); err != nil {
			return err
		}
	}
	return nil
}

// add takes one block in.
func (s *scan) add(ref Ref) error {
	b := ref.Block
	ref.Block.Attach(nil) // its file is closed before the block is read
	switch {
	case b.Type == logfile.CorruptBlock:
		s.corrupt = append(s.corrupt, ref)
	case b.Type == logfile.CommandBlock:
		target, err := b.RollbackTarget()
		if err != nil {
			return err
		}
		// A rollback is not asked whether its own instant counts: it may still be going on, and what it undoes never committed.
		if _, ok := s.blocks[target]; ok {
			delete(s.blocks, target)
			s.order = slices.DeleteFunc(s.order, func(t string) bool { return t == target })
		}
	case b.Type.IsData() || b.Type == logfile.DeleteBlock:
		t := b.Instant()
		if s.valid != nil && !s.valid(t) {
			return nil
		}
		if _, ok := s.blocks[t]; !ok {
			s.order = append(s.order, t)
		}
		s.blocks[t] = append(s.blocks[t], ref)
	}
	return nil
}

// inForce resolves log compactions: their blocks stand in the place of the newest of the blocks that they replaced. A compaction of which no original
// is there counts for nothing, as in Java.
func (s *scan) inForce() []Ref {
	final := map[string]string{} // original instant → the outermost log compaction that replaced it
	emitted := map[string]bool{}
	var out []Ref // newest first
	emit := func(t string) {
		blocks := s.blocks[t]
		for i := len(blocks) - 1; i >= 0; i-- {
			out = append(out, blocks[i])
		}
	}
	for i := len(s.order) - 1; i >= 0; i-- {
		t := s.order[i]
		originals := s.blocks[t][0].Block.Header[logfile.CompactedTimes]
		by, replaced := final[t]
		switch {
		case originals != "":
			if !replaced {
				by = t
			}
			for o := range strings.SplitSeq(originals, ",") {
				final[strings.TrimSpace(o)] = by
			}
		case replaced:
			if !emitted[by] {
				emitted[by] = true
				emit(by)
			}
		default:
			emit(t)
		}
	}
	slices.Reverse(out)
	return out
}
