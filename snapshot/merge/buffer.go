package merge

import (
	"fmt"
	"unsafe"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// entry is what the records of one key have come to so far. Its row lies in the buffer's store.
type entry struct {
	seq     int64 // arrival of the key's first record: the order of inserts in the output
	row     int64 // handle of the row, noRow for a delete by key
	pos     int64 // row position in the base file, -1 where unknown
	ord     record.Ordering
	op      record.Op
	partial int32 // index into the buffer's field sets; 0 is the whole row
	used    bool  // a base row has met it
}

const noRow = -1

// entryBytes is what an entry weighs in memory besides its key: itself, its key's header and its place in the map.
const entryBytes = int64(unsafe.Sizeof(entry{})) + 16 + 48

// group is a set of keys that fits into memory: all of them, or after a spill the keys of some partitions.
type group struct {
	index   map[string]int32
	keys    []string
	entries []entry
	bytes   int64
	text    record.Arena
}

func newGroup() *group { return &group{index: map[string]int32{}} }

// put adds the entry of a new key.
func (g *group) put(key string, e entry) {
	key = g.text.String(key)
	g.index[key] = int32(len(g.entries))
	g.keys = append(g.keys, key)
	g.entries = append(g.entries, e)
	g.bytes += entryBytes + int64(len(key))
}

// buffer merges the records of a slice's logs by key in the order in which they come, within a memory budget. Rows are kept encoded in a store that
// spills by itself. When the keys outgrow their share, entries go to partition files by hash of their key, in order of arrival, so that loading a partition later
// and merging from the left gives what merging in memory would have given: merging is not associative (a delete that wins by arrival forgets what was before it).
type buffer struct {
	merger RecordMerger
	store  *record.Store
	limit  int64 // bytes of keys and entries in memory
	dir    string

	mem   *group // nil once spilled
	parts *partitions
	seq   int64

	sets     [][]int          // field sets of partial updates; sets[0] is nil: the whole row
	setIndex map[string]int32 // by their text

	records, deletes int64
	allPositions     bool // every record came with a position
	anyPartial       bool
	older            record.Row // scratch
}

func newBuffer(m RecordMerger, s *schema.Schema, budget int64, dir string) *buffer {
	return &buffer{merger: m, store: record.NewStore(s, budget/4, dir), limit: budget / 4, dir: dir, mem: newGroup(),
		sets: [][]int{nil}, setIndex: map[string]int32{}, allPositions: true}
}

// close frees memory and files.
func (b *buffer) close() error {
	err := b.store.Close()
	b.mem = nil
	if b.parts != nil {
		err = joined(err, b.parts.close())
	}
	return err
}

// spilled is the number of bytes on disk.
func (b *buffer) spilled() int64 {
	n := b.store.Spilled()
	if b.parts != nil {
		n += b.parts.bytes()
	}
	return n
}

// put takes one prepared record. Its row and key need to be valid only during the call.
func (b *buffer) put(r *record.Record) error {
	if r.Row == nil {
		b.deletes++
	} else {
		b.records++
	}
	b.allPositions = b.allPositions && r.Position >= 0
	b.anyPartial = b.anyPartial || r.Partial != nil
	if b.mem == nil {
		e, err := b.enter(r)
		if err != nil {
			return err
		}
		return b.parts.put(r.Key.RecordKey, &e)
	}
	i, ok := b.mem.index[r.Key.RecordKey]
	if ok {
		return b.fold(b.mem, i, r, noRow)
	}
	e, err := b.enter(r)
	if err != nil {
		return err
	}
	b.mem.put(r.Key.RecordKey, e)
	if b.mem.bytes > b.limit {
		return b.spill()
	}
	return nil
}

// enter makes the entry of a record.
func (b *buffer) enter(r *record.Record) (entry, error) {
	e := entry{seq: b.seq, row: noRow, pos: r.Position, ord: r.Ordering, op: r.Op, partial: b.setOf(r.Partial)}
	b.seq++
	if r.Row == nil {
		return e, nil
	}
	var err error
	e.row, err = b.store.Append(r.Row)
	return e, err
}

// fold merges a record that arrived later into entry i of g. row is the handle of its row where the store has it already.
func (b *buffer) fold(g *group, i int32, newer *record.Record, row int64) error {
	e := &g.entries[i]
	older := record.Record{Key: newer.Key, Op: e.op, Ordering: e.ord, Position: e.pos, Partial: b.sets[e.partial]}
	rows := b.merger.Base() == NeedRow || older.Partial != nil || newer.Partial != nil
	switch {
	case e.row == noRow:
	case rows:
		var err error
		if b.older, err = b.store.Row(e.row, b.older[:0]); err != nil {
			return err
		}
		older.Row = b.older
	default:
		older.Row = unread
	}
	out, err := b.merger.PreCombine(older, *newer)
	if err != nil {
		return fmt.Errorf("merge records of key %q: %w", newer.Key.RecordKey, err)
	}
	switch same := unsafe.SliceData(out.Row); {
	case out.Row == nil:
		e.row = noRow
	case older.Row != nil && same == unsafe.SliceData(older.Row):
	case row != noRow && newer.Row != nil && same == unsafe.SliceData(newer.Row):
		e.row = row
	default:
		if e.row, err = b.store.Append(out.Row); err != nil {
			return err
		}
	}
	e.op, e.ord, e.partial = out.Op, out.Ordering, b.setOf(out.Partial)
	if newer.Position >= 0 {
		e.pos = newer.Position
	}
	return nil
}

// unread stands for the row of a record whose merger does not look at rows.
var unread = make(record.Row, 1)[:0]

// setOf returns the index of a field set.
func (b *buffer) setOf(fields []int) int32 {
	if fields == nil {
		return 0
	}
	text := fmt.Sprint(fields)
	i, ok := b.setIndex[text]
	if !ok {
		i = int32(len(b.sets))
		b.sets = append(b.sets, fields)
		b.setIndex[text] = i
	}
	return i
}

// bare rebuilds the record of an entry; unread stands for its row.
func (b *buffer) bare(key string, e *entry) record.Record {
	r := record.Record{Key: record.Key{RecordKey: key}, Op: e.op, Ordering: e.ord, Position: e.pos, Partial: b.sets[e.partial]}
	if e.row != noRow {
		r.Row = unread
	}
	return r
}

// spill moves all entries to partition files.
func (b *buffer) spill() error {
	p, err := newPartitions(b.dir)
	if err != nil {
		return err
	}
	b.parts = p
	for i, key := range b.mem.keys {
		if err := p.put(key, &b.mem.entries[i]); err != nil {
			return err
		}
	}
	b.mem = nil
	return nil
}

// groups calls fn with all keys, in as many groups as the memory share asks for.
func (b *buffer) groups(fn func(*group) error) error {
	if b.mem != nil {
		return fn(b.mem)
	}
	g := newGroup()
	for i := range b.parts.count() {
		if err := b.parts.read(i, func(key []byte, e *entry) error { return b.load(g, key, e) }); err != nil {
			return err
		}
		if g.bytes >= b.limit {
			if err := fn(g); err != nil {
				return err
			}
			g = newGroup()
		}
	}
	if len(g.entries) == 0 {
		return nil
	}
	return fn(g)
}

// load merges a spilled entry into g.
func (b *buffer) load(g *group, key []byte, e *entry) error {
	k := unsafe.String(unsafe.SliceData(key), len(key))
	i, ok := g.index[k]
	if !ok {
		g.put(k, *e)
		return nil
	}
	newer := record.Record{Key: record.Key{RecordKey: k}, Op: e.op, Ordering: e.ord, Position: e.pos, Partial: b.sets[e.partial]}
	if e.row != noRow {
		newer.Row = loaded
		if b.merger.Base() == NeedRow || newer.Partial != nil || b.sets[g.entries[i].partial] != nil {
			var err error
			if newer.Row, err = b.store.Row(e.row, nil); err != nil {
				return err
			}
		}
	}
	return b.fold(g, i, &newer, e.row)
}

// loaded stands for the row of a record that the store has and whose merger does not look at rows. It must not be mistaken for unread.
var loaded = make(record.Row, 1)[:0]
