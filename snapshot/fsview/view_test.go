package fsview

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hudifs/hudifs/internal/datadriven"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/timeline"
)

// fakeTable is a table told by a test file: instants, files and what commits say of them.
type fakeTable struct {
	naming     Naming
	completion map[timeline.InstantTime]timeline.InstantTime
	replaced   map[FileGroupID]timeline.InstantTime
	compacting map[FileGroupID]timeline.InstantTime
	writers    map[string][]timeline.InstantTime
	files      map[string][]storage.Info
}

func (ft *fakeTable) Partitions(context.Context) ([]string, error) {
	var out []string
	for p := range ft.files {
		out = append(out, p)
	}
	slices.Sort(out)
	return out, nil
}

func (ft *fakeTable) Files(_ context.Context, partition string) ([]storage.Info, error) {
	return ft.files[partition], nil
}

func parseTable(t *testing.T, c *datadriven.Case) *fakeTable {
	t.Helper()
	ft := &fakeTable{completion: map[timeline.InstantTime]timeline.InstantTime{}, replaced: map[FileGroupID]timeline.InstantTime{},
		compacting: map[FileGroupID]timeline.InstantTime{}, writers: map[string][]timeline.InstantTime{}, files: map[string][]storage.Info{}}
	if c.Arg("naming", "delta") == "base" {
		ft.naming = BaseInstant
	}
	for line := range strings.SplitSeq(c.Input, "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 3 && f[0] == "instant":
			ft.completion[timeline.InstantTime(f[1])] = timeline.InstantTime(f[2])
		case len(f) == 3 && f[0] == "replaced":
			p, id := split(f[2])
			ft.replaced[FileGroupID{p, id}] = timeline.InstantTime(f[1])
		case len(f) == 3 && f[0] == "compacting":
			p, id := split(f[2])
			ft.compacting[FileGroupID{p, id}] = timeline.InstantTime(f[1])
		case len(f) == 3 && f[0] == "wrote":
			ft.writers[f[2]] = append(ft.writers[f[2]], timeline.InstantTime(f[1]))
		case len(f) == 2 && f[0] == "file":
			p, _ := split(f[1])
			ft.files[p] = append(ft.files[p], storage.Info{Path: f[1], Size: 10, ModTime: time.Unix(1, 0)})
		default:
			t.Fatalf("%s: cannot read %q", c.Pos, line)
		}
	}
	return ft
}

// rules are those of the state of commit at ("" for all completed commits).
func (ft *fakeTable) rules(at timeline.InstantTime) Rules {
	committed := func(t timeline.InstantTime) (timeline.InstantTime, bool) {
		c, ok := ft.completion[t]
		switch {
		case !ok || at == "":
			return c, ok
		case ft.naming == BaseInstant:
			return c, t.Compare(at) <= 0
		}
		return c, c.Compare(ft.completion[at]) <= 0
	}
	wrote := func(path string) bool {
		return slices.ContainsFunc(ft.writers[path], func(t timeline.InstantTime) bool { _, ok := committed(t); return ok })
	}
	r := Rules{Naming: ft.naming, Committed: committed,
		Replaced: func(g FileGroupID) bool {
			t, ok := ft.replaced[g]
			if ok {
				_, ok = committed(t)
			}
			return ok
		},
		Compacting: func(g FileGroupID) (timeline.InstantTime, bool) { t, ok := ft.compacting[g]; return t, ok },
		Named: func(_ context.Context, t timeline.InstantTime, path string) (bool, error) {
			return slices.Contains(ft.writers[path], t), nil
		},
	}
	if ft.naming == BaseInstant {
		r.LogWritten = func(l LogFile) bool { return wrote(l.Path) }
	}
	return r
}

func printSlice(s FileSlice) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s slice %s:", s.Group, s.Base)
	if s.File != nil {
		b.WriteString(" " + s.File.String())
	} else {
		b.WriteString(" no base")
	}
	for _, l := range s.Logs {
		b.WriteString(" + " + l.String())
	}
	return b.String()
}

func TestSlices(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		ft := &fakeTable{}
		datadriven.Run(t, path, func(t *testing.T, c *datadriven.Case) string {
			if c.Cmd == "table" {
				ft = parseTable(t, c)
				return "ok"
			}
			rules := ft.rules(timeline.InstantTime(c.Arg("at", "")))
			if c.Cmd != "write" {
				rules.Compacting = nil
			}
			return runView(t, NewView(NewIndex(ft), rules), c.Cmd)
		})
	})
}

func runView(t *testing.T, v *View, cmd string) string {
	t.Helper()
	ctx := t.Context()
	partitions, err := v.Partitions(ctx)
	if err != nil {
		return "error: " + err.Error()
	}
	var out []string
	for _, p := range partitions {
		var got []FileSlice
		switch cmd {
		case "latest":
			got, err = v.Latest(ctx, p)
		case "base":
			got, err = v.LatestBase(ctx, p)
		case "write":
			got, err = v.ForWrite(ctx, p)
		case "groups":
			var groups []FileGroup
			groups, err = v.Groups(ctx, p)
			for _, g := range groups {
				got = append(got, g.Slices...)
			}
		default:
			t.Fatalf("unknown command %q", cmd)
		}
		if err != nil {
			return "error: " + err.Error()
		}
		for _, s := range got {
			out = append(out, printSlice(s))
		}
	}
	if out == nil {
		return "nothing"
	}
	return strings.Join(out, "\n")
}
