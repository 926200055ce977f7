package txn_test

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/faultstore"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer/handle"
	"github.com/hudifs/hudifs/writer/txn"
)

func TestRecoverJudgesByHeartbeat(t *testing.T) {
	for name, c := range map[string]struct {
		heartbeat string // content; "-": none
		age       time.Duration
		want      string
	}{
		"live":                      {"some/other/writer\n", time.Minute, "inflight"},
		"Java's, live":              {"", time.Minute, "inflight"},
		"Java's, old":               {"", 4 * time.Minute, ""},
		"old":                       {"some/other/writer\n", 4 * time.Minute, ""},
		"fresh, process is dead":    {deadOwner() + "\n", time.Second, ""},
		"none, written to recently": {"-", 9 * time.Minute, "inflight"},
		"none, still":               {"-", 11 * time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := newTable(t, 9)
				x := tb.begin(tb.manager(nil), timeline.DeltaCommit)
				s := tb.write(x, "a", fileID, "0-1-1")
				if err := x.Leave(t.Context()); err != nil {
					t.Fatal(err)
				}
				if c.heartbeat != "-" {
					tb.put(".hoodie/.heartbeat/"+string(x.Time()), c.heartbeat)
				}
				time.Sleep(c.age)
				if err := tb.manager(nil).Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				tb.wantState(x.Time(), timeline.DeltaCommit, c.want)
				if c.want == "" {
					tb.wantPaths("")
					tb.wantPaths(".hoodie/.heartbeat/")
				} else {
					tb.wantPaths("", s.Path)
				}
			})
		})
	}
}

// C2: the writer completes, and deletes its heartbeat, between the listing and the rollback.
func TestRecoverSparesAWriteThatJustCompleted(t *testing.T) {
	forVersions(t, func(t *testing.T, tb *table) {
		m := tb.manager(nil)
		x := tb.begin(m, timeline.DeltaCommit)
		s := tb.write(x, "a", fileID, "0-1-1")
		faults := faultstore.New(tb.st)
		faults.Inject(faultstore.Fault{Ops: faultstore.Stat, Path: ".hoodie/.heartbeat/", Times: 1, Do: func(faultstore.Op, string) {
			if err := tb.commit(x, result(s)); err != nil {
				t.Error(err)
			}
		}})
		other := tb.over(faults)
		if err := other.manager(stillFor(-time.Hour)).Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		tb.wantState(x.Time(), timeline.DeltaCommit, "completed")
		tb.wantPaths("", s.Path)
		if times, _ := tb.rollbacks(); len(times) > 0 {
			t.Errorf("rollbacks %q, want none", times)
		}
	})
}

func TestPlansAreNoFailedWrites(t *testing.T) {
	tb := newTable(t, 9)
	m := tb.manager(stillFor(-time.Hour))
	plan := &action.CompactionPlan{Extra: map[string]string{}, Version: 2, MissingPartitions: []string{}}
	body, err := action.Encode(tb.active.Layout(), plan)
	if err != nil {
		t.Fatal(err)
	}
	i, err := m.Schedule(t.Context(), timeline.Compaction, func(context.Context, *timeline.Timeline, timeline.InstantTime) ([]byte, error) { return body, nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	tb.wantState(i.Time, timeline.Compaction, "requested")

	x, err := tb.manager(dies).Resume(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	tb.write(x, "a", fileID, "0-1-1")
	if _, err := m.Resume(t.Context(), i); err != nil {
		t.Fatalf("Resume after the process before died = %v, want nil", err)
	}
	tb.wantState(i.Time, timeline.Compaction, "requested")
	tb.wantPaths("")
	if _, err := m.Resume(t.Context(), i); !errors.Is(err, txn.ErrBusy) {
		t.Errorf("Resume of what runs = %v, want ErrBusy", err)
	}
}

// L1, L2: a rollback that crashes at any point is finished by the next one, under its own time.
func TestRollbackSurvivesCrashes(t *testing.T) {
	forVersions(t, func(t *testing.T, tb *table) {
		points := 0
		for _, when := range []faultstore.When{faultstore.Before, faultstore.After} {
			for n := 0; ; n++ {
				tb := tb.over(tb.st.(*storagetest.Mem).Clone())
				done := tb.begin(tb.manager(nil), timeline.DeltaCommit)
				kept := tb.write(done, "a", fileID, "9-1-1")
				if err := tb.commit(done, result(kept)); err != nil {
					t.Fatal(err)
				}
				x := tb.begin(tb.manager(nil), timeline.DeltaCommit)
				tb.write(x, "a", fileID, "0-1-1")
				tb.write(x, "b", fileID, "1-1-1")
				if err := x.Leave(t.Context()); err != nil {
					t.Fatal(err)
				}
				crashed := false
				for range 3 {
					faults := faultstore.New(tb.st)
					faults.CrashAt(faultstore.Mutation, n, when)
					_ = tb.over(faults).manager(stillFor(-time.Hour)).Recover(t.Context())
					crashed = crashed || faults.Crashed()
				}
				if err := tb.manager(stillFor(-time.Hour)).Recover(t.Context()); err != nil {
					t.Fatalf("crash at %d: Recover = %v", n, err)
				}
				tb.wantState(x.Time(), timeline.DeltaCommit, "")
				tb.wantState(done.Time(), timeline.DeltaCommit, "completed")
				tb.wantPaths("", kept.Path)
				if times, pending := tb.rollbacks(); len(times) != 1 || pending > 0 {
					t.Fatalf("crash at %d: rollbacks %q, %d pending, want one completed", n, times, pending)
				}
				if !crashed {
					break
				}
				points++
			}
		}
		if points < 10 {
			t.Errorf("%d crash points, want at least 10", points)
		}
	})
}

func TestMarkersOfEveryKind(t *testing.T) {
	const at = timeline.InstantTime("20260102030405006")
	own := func(token string) string { return fileID + "_" + token + "_" + string(at) + ".parquet" }
	for name, c := range map[string]struct {
		markers map[string]string
		files   []string
		stay    []string
	}{
		"direct":     {map[string]string{"a/" + own("0-1-1") + ".marker.CREATE": "", "p=1/b/" + own("0-1-2") + ".marker.MERGE": ""}, []string{"a/" + own("0-1-1"), "p=1/b/" + own("0-1-2")}, nil},
		"by server":  {map[string]string{"MARKERS.type": "TIMELINE_SERVER_BASED", "MARKERS0": "a/" + own("0-1-1") + ".marker.CREATE\n", "MARKERS7": "p=1/b/" + own("0-1-2") + ".marker.MERGE\na/" + own("0-1-3") + ".marker.CRE"}, []string{"a/" + own("0-1-1"), "p=1/b/" + own("0-1-2"), "a/" + own("0-1-3")}, nil},
		"lost":       {nil, []string{"a/" + own("0-1-1"), own("0-1-2")}, nil},
		"of others":  {map[string]string{"MARKERS0": "a/" + fileID + "_0-1-1_20260102030405005.parquet.marker.CREATE\n../x/" + own("0-1-1") + ".marker.CREATE\n/etc/" + own("0-1-1") + ".marker.CREATE\nplain.marker.CREATE\n.marker.CREATE\n"}, nil, []string{"a/" + fileID + "_0-1-1_20260102030405005.parquet", "plain"}},
		"never made": {map[string]string{"a/" + own("0-1-1") + ".marker.CREATE": ""}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			forVersions(t, func(t *testing.T, tb *table) {
				i, err := tb.active.Request(t.Context(), at, timeline.DeltaCommit, nil)
				if err == nil {
					_, err = tb.active.Start(t.Context(), i, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				for p, body := range c.markers {
					tb.put(".hoodie/.temp/"+string(at)+"/"+p, body)
				}
				for _, f := range append(slices.Clone(c.files), c.stay...) {
					tb.put(f, "rows")
				}
				if err := tb.manager(stillFor(-time.Hour)).Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				tb.wantPaths("", c.stay...)
				tb.wantPaths(".hoodie/.temp/")
			})
		})
	}
}

// Version 6: what a dead writer appended is taken back with one command for each slice, whatever names it.
func TestAppendsAreTakenBack(t *testing.T) {
	const (
		at   = timeline.InstantTime("20260102030405006")
		base = "20260101000000000"
		log  = "." + fileID + "_" + base + ".log.3_0-1-1"
	)
	for name, c := range map[string]struct {
		markers []string
		profile string
		plan    *action.RollbackRequest
	}{
		"marked":                {markers: []string{"a/" + log + ".marker.APPEND", "a/." + fileID + "_" + base + ".log.2_0-1-1.marker.APPEND"}},
		"marked by base name":   {markers: []string{"a/" + fileID + "_0-1-1_" + base + ".parquet.marker.APPEND"}},
		"markers lost":          {profile: fileID},
		"planned by Java":       {plan: &action.RollbackRequest{Partition: "a", FileID: fileID, LatestBaseInstant: base, LogBlocks: map[string]int64{"file:/old/place/a/" + log: 1}}},
		"planned without names": {plan: &action.RollbackRequest{Partition: "a", FileID: fileID, LatestBaseInstant: base, LogBlocks: map[string]int64{}}},
	} {
		t.Run(name, func(t *testing.T) {
			tb := newTable(t, 6)
			var body []byte
			var err error
			if c.profile != "" {
				m := result(action.WriteStat{PartitionPath: "a", PrevCommit: action.NullCommit}, action.WriteStat{PartitionPath: "a", FileID: c.profile, PrevCommit: base, NumUpdateWrites: 1})
				if body, err = action.Encode(1, m); err != nil {
					t.Fatal(err)
				}
			}
			i, err := tb.active.Request(t.Context(), at, timeline.DeltaCommit, nil)
			if err == nil {
				_, err = tb.active.Start(t.Context(), i, body)
			}
			if err != nil {
				t.Fatal(err)
			}
			tb.put("a/"+log, "blocks")
			tb.put("a/"+fileID+"_0-1-1_"+base+".parquet", "rows")
			for _, p := range c.markers {
				tb.put(".hoodie/.temp/"+string(at)+"/"+p, "")
			}
			if c.plan != nil {
				c.plan.FilesToDelete = []string{}
				body, err := action.Encode(1, &action.RollbackPlan{Target: action.InstantInfo{Time: string(at), Action: "deltacommit"}, Version: 1, Requests: []action.RollbackRequest{*c.plan}})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tb.active.Request(t.Context(), "20260102030405007", timeline.Rollback, body); err != nil {
					t.Fatal(err)
				}
			}
			var undone []txn.Marker
			m := tb.manager(func(o *txn.Options) {
				o.Abandoned = -time.Hour
				o.Undo = func(_ context.Context, target timeline.Instant, _ timeline.InstantTime, mk []txn.Marker) (map[string]map[string]int64, error) {
					if target.Time != at {
						t.Errorf("undo of %s, want %s", target.Time, at)
					}
					undone = append(undone, mk...)
					return map[string]map[string]int64{"a": {"file:/t/a/cmd": 105}}, nil
				}
			})
			if err := m.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(undone) != 1 || !strings.HasPrefix(undone[0].Path, "a/."+fileID+"_"+base+".log.") {
				t.Errorf("undone %q, want one log file of the slice", undone)
			}
			tb.wantState(at, timeline.DeltaCommit, "")
			tb.wantPaths("", "a/"+log, "a/"+fileID+"_0-1-1_"+base+".parquet")
		})
	}
}

// Plans of other engines, or of a table that was moved, spell paths their way.
func TestForeignPlanPaths(t *testing.T) {
	const at = timeline.InstantTime("20260102030405006")
	file := fileID + "_0-1-1_" + string(at) + ".parquet"
	for name, c := range map[string]struct {
		partition, path string
		want            string // of the error
	}{
		"absolute":       {"a", "/opt/elsewhere/a/" + file, ""},
		"with a scheme":  {"a", "s3a://bucket/x/a/" + file, ""},
		"file URI":       {"a", "file:/opt/x/a/" + file, ""},
		"encoded twice":  {"p=x%2Fy", "file:///opt/t/p=x%2Fy/" + file, ""},
		"percent":        {"100%", "/opt/t/100%/" + file, ""},
		"colon":          {"t=12:00", "/opt/t/t=12:00/" + file, ""},
		"another's file": {"a", "/opt/t/a/" + fileID + "_0-1-1_20260102030405005.parquet", "not a file of that write"},
		"properties":     {"a", "/opt/t/.hoodie/hoodie.properties", "not a file of that write"},
	} {
		t.Run(name, func(t *testing.T) {
			forVersions(t, func(t *testing.T, tb *table) {
				i, err := tb.active.Request(t.Context(), at, timeline.DeltaCommit, nil)
				if err == nil {
					_, err = tb.active.Start(t.Context(), i, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				tb.put(c.partition+"/"+file, "rows")
				req := action.RollbackRequest{Partition: c.partition, FilesToDelete: []string{"/opt/t/" + c.partition + "/" + file, c.path}, LogBlocks: map[string]int64{}}
				body, err := action.Encode(tb.active.Layout(), &action.RollbackPlan{Target: action.InstantInfo{Time: string(at), Action: "deltacommit"}, Version: 1, Requests: []action.RollbackRequest{req}})
				if err != nil {
					t.Fatal(err)
				}
				if c.want == "" {
					req.FilesToDelete = req.FilesToDelete[1:]
				}
				if _, err := tb.active.Request(t.Context(), "20260102030405007", timeline.Rollback, body); err != nil {
					t.Fatal(err)
				}
				err = tb.manager(nil).Recover(t.Context())
				if c.want == "" {
					if err != nil {
						t.Fatal(err)
					}
					tb.wantPaths("")
					return
				}
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("Recover = %v, want an error with %q", err, c.want)
				}
				tb.wantPaths("", c.partition+"/"+file)
			})
		})
	}
}

// golden copies a table that Spark wrote into memory.
func golden(t *testing.T, name string) *table {
	t.Helper()
	z, err := zip.OpenReader(filepath.Join("..", "..", "integration", "testdata", "golden", name+".zip"))
	if err != nil {
		t.Skipf("no golden table: %v", err)
	}
	defer z.Close()
	st := storagetest.NewMem()
	for _, f := range z.File {
		p, ok := strings.CutPrefix(f.Name, "table/")
		if !ok || p == "" || strings.HasSuffix(p, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err == nil {
			_, err = st.Put(t.Context(), p, body, storage.PutReplace)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := tableconfig.Load(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	return &table{t: t, st: st, cfg: cfg, active: timeline.NewActive(st, cfg), lock: newTable(t, 9).lock}
}

// What Spark left pending is rolled back: no file of it stays, and none of a completed write goes.
func TestRollbackOfWhatSparkLeft(t *testing.T) {
	for _, kind := range []string{"inflight", "killed", "failed_everything"} {
		for _, typ := range []string{"cow", "mor"} {
			if typ == "cow" && kind == "failed_everything" {
				continue // services that fail are those of merge-on-read tables
			}
			for _, v := range versions {
				name := fmt.Sprintf("%s_v%d_%s", typ, v, kind)
				t.Run(name, func(t *testing.T) {
					tb := golden(t, name)
					before, wrote := tb.paths(""), tb.timeline()
					undone := 0
					m := tb.manager(func(o *txn.Options) {
						o.Abandoned = -time.Hour
						o.Undo = func(ctx context.Context, target timeline.Instant, by timeline.InstantTime, logs []txn.Marker) (map[string]map[string]int64, error) {
							out := map[string]map[string]int64{}
							for _, l := range logs {
								p, size, err := handle.Undo(ctx, tb.st, l.Path, by, target.Time)
								if err != nil {
									return nil, err
								}
								undone++
								out[filepath.Dir(p)] = map[string]int64{p: size}
							}
							return out, nil
						}
					})
					if err := m.Recover(t.Context()); err != nil {
						t.Fatal(err)
					}
					now := tb.timeline()
					if p := now.Pending(timeline.Commit, timeline.DeltaCommit, timeline.ReplaceCommit, timeline.Rollback); p.Len() > 0 {
						t.Errorf("still pending: %v", p.All())
					}
					if got, want := now.CompletedWrites().Len(), wrote.CompletedWrites().Len(); got != want {
						t.Errorf("%d completed writes, want the %d of before", got, want)
					}
					gone := wrote.Pending(timeline.Commit, timeline.DeltaCommit, timeline.ReplaceCommit).All()
					after := tb.paths("")
					for _, p := range before {
						lost := !slices.Contains(after, p)
						mine := slices.ContainsFunc(gone, func(i timeline.Instant) bool {
							return strings.HasSuffix(p, "_"+string(i.Time)+".parquet") || wrote.Layout() == 2 && strings.Contains(p, "_"+string(i.Time)+".log.")
						})
						if lost != mine {
							t.Errorf("%s: deleted %v, of a write that was rolled back %v", p, lost, mine)
						}
					}
					appended := wrote.Layout() == 1 && typ == "mor" && kind == "inflight"
					if (undone > 0) != appended && kind == "inflight" {
						t.Errorf("%d rollback commands, want some: %v", undone, appended)
					}
				})
			}
		}
	}
}
