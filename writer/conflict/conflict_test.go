package conflict_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/datadriven"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer/conflict"
)

// at spells a time of the test files, a number, as an instant.
func at(n string) timeline.InstantTime {
	return timeline.InstantTime(fmt.Sprintf("202601010000%05s", n))
}

// effects of one action, from words: "log:g" appends to group g, "base:g" rewrites its base file, "new:g" makes it, "replace:g" replaces it.
func effects(words []string) *action.CommitMetadata {
	m := &action.CommitMetadata{Operation: action.OpUpsert, Stats: map[string][]action.WriteStat{}, Extra: map[string]string{}}
	for _, w := range words {
		kind, g, _ := strings.Cut(w, ":")
		part, id, ok := strings.Cut(g, "/")
		if !ok {
			part, id = "p", g
		}
		s := action.WriteStat{FileID: id, Path: part + "/" + id, PartitionPath: part, PrevCommit: string(at("1"))}
		switch kind {
		case "log":
			s.Log = &action.LogStat{Files: []string{}}
		case "new":
			s.PrevCommit = action.NullCommit
		case "replace":
			if m.ReplacedFileIDs == nil {
				m.Replace, m.ReplacedFileIDs = true, map[string][]string{}
			}
			m.ReplacedFileIDs[part] = append(m.ReplacedFileIDs[part], id)
			continue
		}
		m.Stats[part] = append(m.Stats[part], s)
	}
	return m
}

type world struct {
	t      *testing.T
	st     *storagetest.Mem
	active *timeline.Active
	begin  *timeline.Timeline
}

func newWorld(t *testing.T, layout int) *world {
	st := storagetest.NewMem()
	v := 9
	if layout == 1 {
		v = 6
	}
	cfg, err := tableconfig.Create(t.Context(), st, tableconfig.Options{Name: "t", Type: tableconfig.MergeOnRead, Version: v, RecordKeys: []string{"id"}, UTC: true})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, st: st, active: timeline.NewActive(st, cfg)}
}

func (w *world) load() *timeline.Timeline {
	tl, err := w.active.Load(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return tl
}

func (w *world) plan(a timeline.Action, groups []string) ([]byte, error) {
	layout := w.active.Layout()
	switch a {
	case timeline.Compaction, timeline.LogCompaction:
		p := &action.CompactionPlan{Extra: map[string]string{}, Version: 2, MissingPartitions: []string{}}
		for _, g := range groups {
			p.Operations = append(p.Operations, action.CompactionOperation{Partition: "p", FileID: g, BaseInstant: string(at("1")), DeltaFiles: []string{}, Metrics: map[string]float64{}})
		}
		return action.Encode(layout, p)
	case timeline.Clustering, timeline.ReplaceCommit:
		p := &action.RequestedReplace{}
		if len(groups) > 0 {
			p.Clustering = &action.ClusteringPlan{}
			for _, g := range groups {
				p.Clustering.Groups = append(p.Clustering.Groups, action.ClusteringGroup{Slices: []action.SliceInfo{{Partition: "p", FileID: g}}})
			}
		}
		return action.Encode(layout, p)
	}
	return nil, nil
}

// other puts an instant of another writer on the timeline: "<time> <action> <state> <effects or planned groups>".
func (w *world) other(line string) error {
	f := strings.Fields(line)
	a, words := timeline.Action(f[1]), f[3:]
	var groups []string
	for _, x := range words {
		_, g, _ := strings.Cut(x, ":")
		groups = append(groups, g)
	}
	body, err := w.plan(a, groups)
	if err != nil {
		return err
	}
	ctx := w.t.Context()
	i, err := w.active.Request(ctx, at(f[0]), a, body)
	if err != nil || f[2] == "requested" {
		return err
	}
	if i, err = w.active.Start(ctx, i, nil); err != nil || f[2] == "inflight" {
		return err
	}
	if body, err = action.Encode(w.active.Layout(), effects(words)); err != nil {
		return err
	}
	_, err = w.active.Complete(ctx, i, at("9"+f[0]), body)
	return err
}

// The matrix of timeline.md §8.2: each case is one write, and what others did since it began.
func TestMatrix(t *testing.T) {
	datadriven.Run(t, "testdata/matrix", func(t *testing.T, c *datadriven.Case) string {
		out := ""
		for _, layout := range []int{1, 2} {
			if only := c.Arg("layout", ""); only != "" && only != fmt.Sprint(layout) {
				continue
			}
			w := newWorld(t, layout)
			before, after, ok := strings.Cut(c.Input+"\n", "begin\n")
			if !ok {
				before, after = "", c.Input
			}
			for _, lines := range []string{before, after} {
				for line := range strings.Lines(lines) {
					if err := w.other(line); err != nil {
						t.Fatalf("%s: %s: %v", c.Pos, line, err)
					}
				}
				if w.begin == nil {
					w.begin = w.load()
				}
			}
			var words []string
			for _, a := range c.Args {
				if a.Key == "does" {
					words = a.Vals
				}
			}
			mine := timeline.Instant{Time: at(c.Arg("at", "50")), Action: timeline.Action(c.Cmd), State: timeline.Inflight}
			err := conflict.Check(t.Context(), w.active, conflict.Input{Mine: mine, Result: effects(words), Begin: w.begin, Now: w.load()})
			switch {
			case err == nil:
				out += fmt.Sprintf("layout %d: fine\n", layout)
			case errors.Is(err, conflict.ErrConflict):
				out += fmt.Sprintf("layout %d: conflict\n", layout)
			default:
				t.Fatalf("%s: %v", c.Pos, err)
			}
		}
		return out
	})
}

// A conflict names the instant and the file group, so that people can look.
func TestMessageNamesTheOther(t *testing.T) {
	w := newWorld(t, 2)
	w.begin = w.load()
	if err := w.other("60 commit completed base:g1"); err != nil {
		t.Fatal(err)
	}
	mine := timeline.Instant{Time: at("50"), Action: timeline.Commit, State: timeline.Inflight}
	err := conflict.Check(t.Context(), w.active, conflict.Input{Mine: mine, Result: effects([]string{"base:g1"}), Begin: w.begin, Now: w.load()})
	for _, want := range []string{string(at("60")), "g1", `"p"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check = %v, want an error with %s", err, want)
		}
	}
}

// C7: a plan that is taken back between the listing and its reading stands in nobody's way; one that lost its body does.
func TestPlansThatVanish(t *testing.T) {
	for _, layout := range []int{1, 2} {
		for _, a := range []timeline.Action{timeline.Compaction, timeline.ReplaceCommit} {
			w := newWorld(t, layout)
			w.begin = w.load()
			if err := w.other("60 " + string(a) + " inflight :g1"); err != nil {
				t.Fatal(err)
			}
			now := w.load()
			i, _ := now.FindAction(at("60"), a)
			in := conflict.Input{Mine: timeline.Instant{Time: at("50"), Action: timeline.Commit, State: timeline.Inflight}, Result: effects([]string{"base:g1"}), Begin: w.begin, Now: now}
			if a == timeline.Compaction {
				in.Mine.Action = timeline.DeltaCommit
			}
			dir := path.Dir(w.active.Path(i))
			if err := w.st.Delete(t.Context(), path.Join(dir, string(i.Time)+"."+string(a)+".requested")); err != nil {
				t.Fatal(err)
			}
			if err := conflict.Check(t.Context(), w.active, in); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s without its plan, still inflight: %v, want fs.ErrNotExist", a, err)
			}
			if err := w.active.Remove(t.Context(), i); err != nil {
				t.Fatal(err)
			}
			if err := conflict.Check(t.Context(), w.active, in); err != nil {
				t.Errorf("%s that was taken back: %v, want nil", a, err)
			}
		}
	}
}

func TestUnreadableCommitsAreErrors(t *testing.T) {
	w := newWorld(t, 2)
	w.begin = w.load()
	ctx := context.Background()
	i, err := w.active.Request(ctx, at("60"), timeline.Commit, nil)
	if err == nil {
		i, err = w.active.Start(ctx, i, nil)
	}
	if err == nil {
		_, err = w.active.Complete(ctx, i, at("61"), []byte("no metadata"))
	}
	if err != nil {
		t.Fatal(err)
	}
	mine := timeline.Instant{Time: at("50"), Action: timeline.Commit, State: timeline.Inflight}
	if err := conflict.Check(ctx, w.active, conflict.Input{Mine: mine, Result: effects(nil), Begin: w.begin, Now: w.load()}); err == nil || errors.Is(err, conflict.ErrConflict) {
		t.Errorf("Check beside a damaged commit = %v, want an error that is no conflict", err)
	}
}
