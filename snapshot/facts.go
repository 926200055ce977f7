package snapshot

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// facts are what stays in memory of one commit's metadata: what every later state needs to know of it.
type facts struct {
	op       action.WriteOperation
	schema   *string // the commit's schema text, shared by commits of equal text; nil: it has none
	evolved  bool    // schema-on-read evolution is in use (data.md §12.4)
	replaced []fsview.FileGroupID
	logs     []string // paths of log files written; kept only where names don't tell the writer
	err      error    // the metadata could not be read
}

// body is one commit's metadata on its way into facts.
type body struct {
	instant timeline.Instant
	meta    *action.CommitMetadata
	err     error
}

// readersLocal and readersRemote bound how many bodies are read at once: on disk the processors are the limit, on buckets the round trips.
const readersRemote = 32

// readBodies reads the metadata of commits and hands each to absorb, one at a time, in no order. A body that can't be read is handed
// over with its error, unless ctx has ended.
func (s *state) readBodies(ctx context.Context, commits []timeline.Instant, absorb func(body)) error {
	workers := runtime.GOMAXPROCS(0)
	if !s.table.st.Properties().Local {
		workers = readersRemote
	}
	workers = min(workers, len(commits))
	work := make(chan timeline.Instant)
	done := make(chan body, workers)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range work {
				m, err := action.Read[action.CommitMetadata](ctx, s.active, i)
				done <- body{i, m, err}
			}
		})
	}
	go func() {
		defer close(done)
		defer wg.Wait()
		defer close(work)
		for _, i := range commits {
			select {
			case work <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	for b := range done {
		if ctx.Err() == nil {
			absorb(b)
		}
	}
	return ctx.Err()
}

// factsOf keeps what is needed of a commit's metadata. intern shares equal schema texts.
func factsOf(b body, keepLogs bool, intern func(string) *string) *facts {
	if b.err != nil {
		return &facts{err: b.err}
	}
	f := &facts{op: b.meta.Operation, evolved: b.meta.Extra[action.ExtraLatestSchema] != ""}
	if text := b.meta.Schema(); text != "" {
		f.schema = intern(text)
	}
	for p, ids := range b.meta.ReplacedFileIDs {
		for _, id := range ids {
			f.replaced = append(f.replaced, fsview.FileGroupID{Partition: p, FileID: id})
		}
	}
	if keepLogs {
		for _, stats := range b.meta.Stats {
			for i := range stats {
				if _, name := splitPath(stats[i].Path); fsview.IsLogFile(name) {
					f.logs = append(f.logs, stats[i].Path)
				}
			}
		}
	}
	return f
}

// partitionsOf are the partitions whose files the commit changed or replaced.
func partitionsOf(m *action.CommitMetadata) []string {
	var out []string
	for p, stats := range m.Stats {
		if slices.ContainsFunc(stats, func(w action.WriteStat) bool { return w.Path != "" }) {
			out = append(out, p)
		}
	}
	return out
}

// bodiesKept is how many decoded commit bodies stay in memory for questions that facts don't answer.
const bodiesKept = 32

// bodyCache keeps the last few decoded bodies by file name. Bodies are immutable.
type bodyCache struct {
	mu   sync.Mutex
	list []cachedBody // most recent last
}

type cachedBody struct {
	file string
	meta *action.CommitMetadata
}

// Metadata returns the metadata of a completed commit. It is shared: do not change it.
func (t *Table) Metadata(ctx context.Context, i timeline.Instant) (*action.CommitMetadata, error) {
	if m := t.bodies.get(i.File); m != nil {
		return m, nil
	}
	m, err := action.Read[action.CommitMetadata](ctx, t.Active(), i)
	if err != nil {
		return nil, err
	}
	t.bodies.put(i.File, m)
	return m, nil
}

func (c *bodyCache) get(file string) *action.CommitMetadata {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.list) - 1; i >= 0; i-- {
		if c.list[i].file == file {
			hit := c.list[i]
			c.list = append(slices.Delete(c.list, i, i+1), hit)
			return hit.meta
		}
	}
	return nil
}

func (c *bodyCache) put(file string, m *action.CommitMetadata) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, cachedBody{file, m})
	if len(c.list) > bodiesKept {
		c.list = slices.Delete(c.list, 0, 1)
	}
}
