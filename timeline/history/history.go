// Package history is the archived part of a table's timeline: instants that completed and were moved out of the active timeline.
//
// It knows both forms, the archive log of layout 1 and the LSM tree of parquet files of layout 2 (timeline.md §6), and answers whether
// and when an archived instant completed. It must never know why an instant was archived.
package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// Entry is one archived instant, completed.
type Entry struct {
	Time       timeline.InstantTime
	Completion timeline.InstantTime
	Action     timeline.Action // as completed
	Metadata   []byte          // body of the completed file, for action.Decode; nil where it was empty
	Plan       []byte          // body of the requested file where the archive keeps it; of an overwrite, of the inflight file
}

// Instant returns the entry as an instant of the timeline.
func (e Entry) Instant() timeline.Instant {
	return timeline.Instant{Time: e.Time, Completion: e.Completion, Action: e.Action, State: timeline.Completed}
}

// History is the archived timeline of one table. It remembers the times of files that it has read: they never change. Safe for
// concurrent use.
type History struct {
	st  storage.Store
	cfg *tableconfig.Config
	dir string // with a slash behind
	mu  struct {
		sync.Mutex
		runs     map[string]*run
		index    *Index
		rollback map[string][]timeline.InstantTime // by file name of a completed rollback or restore
	}
}

// New returns the history of the table at the base path of st.
func New(st storage.Store, cfg *tableconfig.Config) *History {
	h := &History{st: st, cfg: cfg, dir: cfg.HistoryDir()}
	h.mu.runs = map[string]*run{}
	h.mu.rollback = map[string][]timeline.InstantTime{}
	return h
}

// loadTries is how often the set of files may change under a reader before it gives up.
const loadTries = 5

// Load returns the index of all archived instants. Files that were read before are not read again.
func (h *History) Load(ctx context.Context) (*Index, error) {
	var last error
	for range loadTries {
		runs, err := h.loadRuns(ctx)
		if err == nil {
			return h.indexOf(runs), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read history %s: %w", h.dir, err)
		}
		last = err // a writer compacted or merged the files meanwhile: look again
	}
	return nil, fmt.Errorf("read history %s: its files keep vanishing: %w", h.dir, last)
}

// loadRuns returns the runs of the files that now make up the history, in the order in which they are to be read.
func (h *History) loadRuns(ctx context.Context) ([]*run, error) {
	list := h.archiveFiles
	if h.cfg.Features.LSMHistory {
		list = h.lsmFiles
	}
	files, err := list(ctx)
	if err != nil {
		return nil, err
	}
	runs := make([]*run, len(files))
	keep := make(map[string]*run, len(files))
	for i, f := range files {
		r := h.known(f)
		if r == nil {
			if r, err = h.readRun(ctx, f); err != nil {
				return nil, err
			}
		}
		runs[i], keep[f.name] = r, r
	}
	h.mu.Lock()
	h.mu.runs = keep
	h.mu.Unlock()
	return runs, nil
}

// known returns the run of f where that file, by name and size, was read before.
func (h *History) known(f file) *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r, ok := h.mu.runs[f.name]; ok && r.file == f {
		return r
	}
	return nil
}

// indexOf returns the index of runs, the one that is there where nothing changed.
func (h *History) indexOf(runs []*run) *Index {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ix := h.mu.index; ix != nil && ix.madeOf(runs) {
		return ix
	}
	h.mu.index = newIndex(runs, h.cfg.WholeHistory())
	return h.mu.index
}

// file names a file of the history.
type file struct {
	name string // without directory
	size int64
}

// readRun reads the times of one file.
func (h *History) readRun(ctx context.Context, f file) (*run, error) {
	b := &runBuilder{run: &run{file: f}}
	read := h.readArchiveTimes
	if h.cfg.Features.LSMHistory {
		read = h.readLSMTimes
	}
	if err := read(ctx, f, b); err != nil {
		return nil, err
	}
	return b.finish(), nil
}

// Attach returns tl with its history, and with what completed rollbacks and restores undid: where the history cannot tell, an instant
// that they name is not taken as archived.
func (h *History) Attach(ctx context.Context, a *timeline.Active, tl *timeline.Timeline) (*timeline.Timeline, error) {
	ix, err := h.Load(ctx)
	if err != nil {
		return nil, err
	}
	var undone []timeline.InstantTime
	for _, i := range tl.Completed(timeline.Rollback, timeline.Restore).All() {
		times, err := h.undone(ctx, a, i)
		if errors.Is(err, fs.ErrNotExist) {
			continue // archived meanwhile: the caller's timeline is a moment old
		}
		if err != nil {
			return nil, err
		}
		undone = append(undone, times...)
	}
	return tl.WithHistory(ix).WithRolledBack(undone...), nil
}

// undone returns the instants that a completed rollback or restore undid.
func (h *History) undone(ctx context.Context, a *timeline.Active, i timeline.Instant) ([]timeline.InstantTime, error) {
	h.mu.Lock()
	times, ok := h.mu.rollback[i.File]
	h.mu.Unlock()
	if ok {
		return times, nil
	}
	var names []string
	if i.Action == timeline.Restore {
		m, err := action.Read[action.RestoreMetadata](ctx, a, i)
		if err != nil {
			return nil, err
		}
		names = m.Instants
	} else {
		m, err := action.Read[action.RollbackMetadata](ctx, a, i)
		if err != nil {
			return nil, err
		}
		names = m.Commits
	}
	for _, n := range names {
		times = append(times, timeline.InstantTime(n))
	}
	h.mu.Lock()
	h.mu.rollback[i.File] = times
	h.mu.Unlock()
	return times, nil
}
