package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer"
)

// extraKey is the key of a commit's extra metadata under which the drops that it holds are listed: the only place that says whether a drop is committed.
const extraKey = "hudifs.drops"

// dropMark is one drop in a commit's extra metadata.
type dropMark struct {
	Key    string `json:"key"`
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	UID    uint32 `json:"uid"`
}

// errChanged says that a drop's bytes changed while they were read.
var errChanged = errors.New("the drop's bytes changed while they were read")

// stopGrace is how long the commit in hand may go on after the queue was told to end.
const stopGrace = 30 * time.Second

// commit brings a group of drops to their outcome. It returns false where they are queued again for another try.
func (q *Queue) commit(ctx context.Context, group []*node) bool {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(stopGrace, cancel) })
	defer stop()

	group, err := q.settleKnown(work, group)
	if err == nil && len(group) > 0 {
		err = q.write(work, group)
	}
	if err == nil {
		return true
	}
	return q.failed(group, err)
}

// settleKnown finishes drops of an earlier run whose commit is on the timeline, and returns the others.
func (q *Queue) settleKnown(ctx context.Context, group []*node) ([]*node, error) {
	var rest []*node
	for _, n := range group {
		if n.Since == "" {
			rest = append(rest, n)
			continue
		}
		tl, err := q.o.Table.Reload(ctx)
		if err != nil {
			return group, err
		}
		i, ok, err := q.committedIn(ctx, tl, []*node{n})
		if err != nil {
			return group, err
		}
		if ok {
			q.finish(n, i, 0)
		} else {
			rest = append(rest, n)
		}
	}
	return rest, nil
}

// committedIn looks on the timeline for the commit that holds all of the drops.
func (q *Queue) committedIn(ctx context.Context, tl *timeline.Timeline, group []*node) (timeline.Instant, bool, error) {
	since := timeline.InstantTime(group[0].Since)
	for _, n := range group {
		if s := timeline.InstantTime(n.Since); s < since {
			since = s
		}
	}
	if start := tl.Start(); since != "" && since < start && tl.Len() > 0 {
		q.log.Warn("the timeline was archived past the time at which a drop was begun; its commit is looked for on what is left", "since", since, "start", start)
	}
	for _, i := range tl.CompletedWrites().All() {
		if i.Time <= since {
			continue
		}
		m, err := action.Read[action.CommitMetadata](ctx, q.o.Table.Active(), i)
		if err != nil {
			return timeline.Instant{}, false, fmt.Errorf("look for drops in %s: %w", i, err)
		}
		if holds(m.Extra[extraKey], group) {
			return i, true, nil
		}
	}
	return timeline.Instant{}, false, nil
}

func holds(text string, group []*node) bool {
	var marks []dropMark
	if text == "" || json.Unmarshal([]byte(text), &marks) != nil {
		return false
	}
	have := map[string]bool{}
	for _, m := range marks {
		have[m.Key] = true
	}
	for _, n := range group {
		if !have[n.Key] {
			return false
		}
	}
	return true
}

// write decodes the drops into a batch and commits it. Rejected drops are settled on the way.
func (q *Queue) write(ctx context.Context, group []*node) error {
	b, err := q.o.Writer.NewBatch(ctx, operations[group[0].Operation])
	if err != nil {
		return err
	}
	defer b.Close()
	var good []*node
	var marks []dropMark
	rows := map[*node]int64{}
	for _, n := range group {
		mark, count, err := q.decode(ctx, b, n)
		if errors.Is(err, ErrRejected) {
			if n.Group == 0 {
				q.reject(n, err)
				continue
			}
			for _, x := range group {
				why := err
				if x != n {
					why = rejectf("group", "another file of the same directory was rejected: %s: %v", n.Path, err)
				}
				q.reject(x, why)
			}
			return nil
		}
		if err != nil {
			return err
		}
		good, marks = append(good, n), append(marks, mark)
		rows[n] = count
	}
	if len(good) == 0 {
		return nil
	}
	if err := q.begin(ctx, good); err != nil {
		return err
	}
	text, err := json.Marshal(marks)
	if err != nil {
		return err
	}
	c, err := b.Commit(ctx, writer.CommitOptions{
		Extra: map[string]string{extraKey: string(text)},
		Known: func(ctx context.Context, tl *timeline.Timeline) (timeline.Instant, bool, error) {
			return q.committedIn(ctx, tl, good)
		},
	})
	if err != nil {
		return err
	}
	for _, n := range good {
		q.finish(n, c.Instant, rows[n])
	}
	return nil
}

// begin records, before the first attempt, from where on the timeline has to be searched for these drops' commit.
func (q *Queue) begin(ctx context.Context, group []*node) error {
	tl, err := q.o.Table.Reload(ctx)
	if err != nil {
		return err
	}
	since := string(tl.Greatest())
	if since == "" {
		since = "0"
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, n := range group {
		if n.Since != "" {
			continue
		}
		n.Since = since
		if err := q.spool.save(&n.entry, true); err != nil {
			return err
		}
	}
	return nil
}

// decode adds one drop's rows to the batch.
func (q *Queue) decode(ctx context.Context, b *writer.Batch, n *node) (dropMark, int64, error) {
	f, err := os.Open(q.spool.data(n.ID))
	if err != nil {
		return dropMark{}, 0, fmt.Errorf("read drop %s: %w", n.Path, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return dropMark{}, 0, fmt.Errorf("read drop %s: %w", n.Path, err)
	}
	before := stamp{st.Size(), st.ModTime().UnixNano()}
	sum := sha256.New()
	if _, err := io.Copy(sum, &ctxReader{ctx, io.NewSectionReader(f, 0, before.size)}); err != nil {
		return dropMark{}, 0, fmt.Errorf("read drop %s: %w", n.Path, err)
	}
	rows, err := Decode(ctx, Input{Name: n.Path, R: f, Size: before.size, Skip: n.Skip, Schema: b.Schema(), Fixed: fixedColumns(n.Path),
		Options: q.o.Decode, KeysOnly: n.Operation == opDelete, Keys: KeyColumns(q.o.Table.Config()), TempDir: q.spool.dir})
	if err != nil {
		return dropMark{}, 0, err
	}
	count, err := b.Add(ctx, rows)
	if err = errors.Join(err, rows.Close()); err != nil {
		return dropMark{}, 0, rowError(n, err)
	}
	if st, err = f.Stat(); err != nil {
		return dropMark{}, 0, fmt.Errorf("read drop %s: %w", n.Path, err)
	}
	after := stamp{st.Size(), st.ModTime().UnixNano()}
	if after != before {
		return dropMark{}, 0, fmt.Errorf("%s: %w", n.Path, errChanged)
	}
	q.mu.Lock()
	n.seal, n.Size = after, after.size
	q.mu.Unlock()
	return dropMark{Key: n.Key, Name: n.Path, Size: before.size, SHA256: hex.EncodeToString(sum.Sum(nil)), UID: n.UID}, count, nil
}

// rowError makes a row that the table can't take a rejection that names its line.
func rowError(n *node, err error) error {
	var re *writer.RowError
	if !errors.As(err, &re) {
		return err
	}
	d, _, _ := format(n.Path)
	return &RowError{Line: re.Line, Code: re.Code, Msg: re.Err.Error(), Binary: d.ext == ".parquet" || d.ext == ".avro"}
}

// finish records that a drop is committed.
func (q *Queue) finish(n *node, i timeline.Instant, rows int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n.State, n.Instant, n.Done, n.Reason = Committed, string(i.Time), q.now().UTC(), ""
	q.staged -= n.seal.size
	q.stats.Committed++
	q.stats.Rows += rows
	q.stats.Failed = 0
	// Not durable: after a crash the timeline says the same.
	if err := q.spool.save(&n.entry, false); err != nil {
		q.log.Error("a committed drop could not be marked", "name", n.Path, "err", err)
	}
	q.events.add("committed", n, fmt.Sprintf("%d rows in %s", rows, i.Time))
	if n.Hidden {
		q.forget(n)
	}
	if !isClosed(n.done) {
		close(n.done)
	}
}

// failed decides what a failure that is not the drops' own leads to. In commit mode somebody waits: after a few tries the drops are set aside, so that
// what close said stays true; in stage mode they are tried again for as long as it takes.
func (q *Queue) failed(group []*node, err error) bool {
	q.mu.Lock()
	q.stats.Failed++
	q.stats.LastError, q.stats.LastErrorAt = err.Error(), q.now().UTC()
	q.mu.Unlock()
	q.log.Error("drops could not be committed", "drops", len(group), "first", group[0].Path, "err", err)
	again := errors.Is(err, errChanged) || errors.Is(err, writer.ErrSchemaChanged)
	if !again && q.o.Ack == AckCommit && group[0].tries+1 >= q.o.Attempts || permanent(err) {
		for _, n := range group {
			q.reject(n, err)
		}
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, n := range group {
		n.State, n.Reason = Sealed, err.Error()
		n.tries++
	}
	q.pending = append(append([]*node(nil), group...), q.pending...)
	return again
}

// permanent reports failures that no waiting mends.
func permanent(err error) bool {
	return errors.Is(err, writer.ErrNotWritable) || errors.Is(err, writer.ErrMetadataTable)
}
