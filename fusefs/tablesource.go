package fusefs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// The renderings of a table besides its own files.
const (
	ViewOptimized View = "optimized" // base files without their logs
	ViewCSV       View = "csv"
	ViewJSONL     View = "jsonl"
)

var renderings = map[View]snapshot.Rendering{"": snapshot.Parquet, ViewOptimized: snapshot.Optimized, ViewCSV: snapshot.CSV, ViewJSONL: snapshot.JSONL}

// tableSource shows a snapshot.Table.
type tableSource struct{ t *snapshot.Table }

// NewTableSource shows a table. What it answers follows the table's timeline: reload that (Config.Reload) for new commits.
func NewTableSource(t *snapshot.Table) Source { return &tableSource{t} }

func (s *tableSource) Name() string { return s.t.Config().Name }
func (s *tableSource) URL() string  { return s.t.Store().URL() }

func (s *tableSource) Commits(ctx context.Context) ([]Commit, error) {
	all, err := s.t.Commits(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Commit, len(all))
	for i, c := range all {
		out[i] = Commit{Instant: c.Time, Completed: s.when(c.Instant)}
	}
	return out, nil
}

// when is the moment of an instant's last change, the zero time where its name is no date.
func (s *tableSource) when(i timeline.Instant) time.Time {
	at, err := cmp.Or(i.Completion, i.Time).Time(s.t.Config().Zone)
	if err != nil {
		return time.Time{}
	}
	return at
}

func (s *tableSource) Open(ctx context.Context, at timeline.InstantTime, v View) (Snapshot, error) {
	r, ok := renderings[v]
	if !ok {
		return nil, fmt.Errorf("no view %q: %w", v, fs.ErrNotExist)
	}
	n, err := s.t.At(ctx, nil, at)
	if err != nil {
		return nil, err
	}
	return &tableSnapshot{n.As(r)}, nil
}

func (s *tableSource) ResolveTime(ctx context.Context, spec string, now time.Time) (timeline.InstantTime, error) {
	at, err := s.t.ResolveTime(ctx, spec, now)
	if errors.Is(err, snapshot.ErrTimeSpec) {
		err = fmt.Errorf("%w (%w)", err, fs.ErrNotExist) // as a name, a text that is no time is one that does not exist
	}
	return at, err
}

func timelineName(i timeline.Instant) string {
	return fmt.Sprintf("%s.%s.%s.json", i.Time, i.Action, i.State)
}

func (s *tableSource) TimelineFiles(context.Context) ([]TimelineFile, error) {
	all := s.t.Timeline().All()
	out := make([]TimelineFile, len(all))
	for i, x := range all {
		out[i] = TimelineFile{Name: timelineName(x), ModTime: s.when(x), Fixed: x.State == timeline.Completed}
	}
	slices.SortFunc(out, func(a, b TimelineFile) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (s *tableSource) ReadTimeline(ctx context.Context, name string) ([]byte, error) {
	tl, active := s.t.Timeline(), s.t.Active()
	for _, x := range tl.All() {
		if timelineName(x) != name {
			continue
		}
		body, err := active.Read(ctx, x)
		if err != nil {
			return nil, err
		}
		return action.ToJSON(active.Layout(), x, body)
	}
	return nil, fmt.Errorf("instant %s: %w", name, fs.ErrNotExist)
}

// tableSnapshot shows a snapshot.Snapshot. Entries carry the snapshot's own along.
type tableSnapshot struct{ n *snapshot.Snapshot }

func shown(e *snapshot.Entry) Entry {
	return Entry{Name: e.Name, Dir: e.Dir, Size: e.Size, ModTime: e.ModTime, Key: e.Key, Ref: e}
}

// own returns the snapshot's entry, with what has become known of its size.
func own(e Entry) (snapshot.Entry, error) {
	p, ok := e.Ref.(*snapshot.Entry)
	if !ok {
		return snapshot.Entry{}, fmt.Errorf("entry %q is not this snapshot's", e.Name)
	}
	o := *p
	o.Size = e.Size
	return o, nil
}

func (s *tableSnapshot) Entries(ctx context.Context, dir string) ([]Entry, error) {
	all, err := s.n.Entries(ctx, dir)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(all))
	for i := range all {
		out[i] = shown(&all[i])
	}
	return out, nil
}

func (s *tableSnapshot) Stat(ctx context.Context, _ string, e Entry) (Entry, error) {
	o, err := own(e)
	if err != nil {
		return Entry{}, err
	}
	if o, err = s.n.Stat(ctx, o); err != nil {
		return Entry{}, err
	}
	e.Size = o.Size
	return e, nil
}

func (s *tableSnapshot) OpenFile(ctx context.Context, _ string, e Entry) (*os.File, func() error, error) {
	o, err := own(e)
	if err != nil {
		return nil, nil, err
	}
	f, err := s.n.OpenFile(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return f.File, f.Close, nil
}
