package integration

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hudifs/hudifs/internal/storage/local"
	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

var (
	killSeed  = flag.Uint64("kill.seed", 0, "seed of the kill test; 0: another one each time")
	killCount = flag.Int("kill.count", 25, "how often the kill test kills the daemon")
)

// killing is one run of the kill test on one table.
type killing struct {
	t    *testing.T
	m    *mounted
	rnd  *rand.Rand
	dir  string
	next int

	mu     sync.Mutex
	acked  map[string]float64 // value by key, of drops whose cp returned 0
	tried  map[string]float64 // of all drops
	told   map[string]bool
	shared float64 // the largest value that was acknowledged for the keys which all drops write
}

const sharedKeys = 3

// drop makes the next drop: keys of its own, and keys that every drop writes with a value that grows.
func (k *killing) drop() (file string, own []string, value float64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next++
	value = float64(k.next)
	var b strings.Builder
	b.WriteString(placesHeader)
	for i := range 20 {
		id := fmt.Sprintf("d%04d-%02d", k.next, i)
		own = append(own, id)
		fmt.Fprintf(&b, "%s,c%d,%d,%d\n", id, i%3, k.next, k.next)
		k.tried[id] = value
	}
	for i := range sharedKeys {
		fmt.Fprintf(&b, "shared%d,c%d,%d,%d\n", i, i, k.next, k.next)
	}
	return write(k.t, k.dir, fmt.Sprintf("drop%04d.csv", k.next), b.String()), own, value
}

// copy drops files one after another until the mount is gone.
func (k *killing) copy() {
	for range 200 {
		file, own, value := k.drop()
		ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
		err := exec.CommandContext(ctx, "cp", file, k.m.path("ingest")+"/").Run()
		cancel()
		if err != nil {
			return
		}
		k.mu.Lock()
		for _, id := range own {
			k.acked[id] = value
		}
		k.shared = max(k.shared, value)
		k.mu.Unlock()
	}
}

// TestKill kills the daemon at random moments while files are dropped, and starts it again. What was acknowledged is there, once; nothing is there in part.
func TestKill(t *testing.T) {
	needFUSE(t)
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-kill.seed=%d", seed)
	cow, mor := *killCount-*killCount/3, *killCount/3
	t.Run("cow", func(t *testing.T) { t.Parallel(); killRun(t, seed, cow) })
	t.Run("mor", func(t *testing.T) { t.Parallel(); killRun(t, seed+1, mor, "--type", "mor") })
}

func killRun(t *testing.T, seed uint64, kills int, create ...string) {
	table := newPlaces(t, create...)
	k := &killing{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), dir: t.TempDir(), acked: map[string]float64{}, tried: map[string]float64{}, told: map[string]bool{}}
	k.m = newMount(t, table)
	for n := range kills {
		k.m.flags = nil
		if n%3 == 2 {
			k.m.flags = []string{"--ack=stage"}
		}
		k.m.start()
		s, err := k.m.status()
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(k.copy)
		}
		time.Sleep(time.Duration(k.rnd.IntN(700)) * time.Millisecond) // the moment of the kill is what is random here
		if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if !waitEnd(s.PID) {
			t.Fatal("the killed daemon does not end")
		}
		if n%4 == 3 || n == kills-1 {
			k.m.flags = nil
			k.m.start()
			k.check(n)
			k.m.kill()
		}
	}
	k.m.start()
	k.last()
}

// check waits until what was sealed is committed and looks at every row.
func (k *killing) check(n int) {
	k.t.Helper()
	if o := hudifs(k.t, "wait", k.m.at, "--timeout", "50s"); o.code != 0 {
		k.t.Fatalf("kill %d: wait: exit status %d: %s", n, o.code, o.stderr)
	}
	have := byID(k.t, k.m.rows())
	k.whole(n, have)
	for id, v := range k.acked {
		if have[id] != v {
			k.t.Errorf("kill %d: %s was acknowledged with %v, the table says %v%s", n, id, v, have[id], k.story(id))
		}
	}
	for i := range sharedKeys {
		if got := have[fmt.Sprintf("shared%d", i)]; got < k.shared {
			k.t.Errorf("kill %d: shared%d is %v, but %v was acknowledged", n, i, got, k.shared)
		}
	}
}

// story is what the ingest log says of the drop that a row came with, once per drop.
func (k *killing) story(id string) string {
	drop, _, _ := strings.Cut(id, "-")
	if k.told[drop] {
		return ""
	}
	k.told[drop] = true
	body, err := os.ReadFile(k.m.path(".hudifs/ingest.log"))
	if err != nil {
		return err.Error()
	}
	out := ""
	for line := range strings.Lines(string(body)) {
		if strings.Contains(line, "drop"+strings.TrimPrefix(drop, "d")) {
			out += "\n\t" + line
		}
	}
	return out
}

// whole checks that of each drop all rows are there or none.
func (k *killing) whole(n int, have map[string]float64) {
	k.t.Helper()
	count := map[string]int{}
	for id, v := range have {
		if drop, _, ok := strings.Cut(id, "-"); ok {
			count[drop]++
			if k.tried[id] != v {
				k.t.Errorf("kill %d: %s is %v, but %v was written", n, id, v, k.tried[id])
			}
		}
	}
	for drop, c := range count {
		if c != 20 {
			k.t.Errorf("kill %d: %d of the 20 rows of %s are there", n, c, drop)
		}
	}
}

// last drops once more and looks at the timeline: each drop in one commit, and nothing left of dead writers.
func (k *killing) last() {
	k.t.Helper()
	file, own, value := k.drop()
	must(k.t, "cp", file, k.m.path("ingest")+"/")
	for _, id := range own {
		k.acked[id] = value
	}
	k.shared = value
	k.check(-1)
	for _, s := range k.m.snapshots() {
		k.whole(-1, byID(k.t, k.m.rowsAt(s)))
	}
	ctx := k.t.Context()
	st, err := local.Open(k.m.table, local.Options{})
	if err != nil {
		k.t.Fatal(err)
	}
	defer st.Close()
	tab, err := snapshot.OpenTable(ctx, st, snapshot.Options{})
	if err != nil {
		k.t.Fatal(err)
	}
	tl, err := tab.Active().Load(ctx)
	if err != nil {
		k.t.Fatal(err)
	}
	if p := tl.Pending(timeline.Commit, timeline.DeltaCommit, timeline.ReplaceCommit, timeline.Rollback); p.Len() > 0 {
		k.t.Errorf("%d instants of dead writers are still pending: %v", p.Len(), p.All())
	}
	marks := map[string]int{}
	names := map[string]bool{}
	for _, i := range tl.CompletedWrites().All() {
		m, err := action.Read[action.CommitMetadata](ctx, tab.Active(), i)
		if err != nil {
			k.t.Fatal(err)
		}
		var drops []struct{ Key, Name string }
		if text := m.Extra["hudifs.drops"]; text == "" {
			continue // a compaction
		} else if err := json.Unmarshal([]byte(text), &drops); err != nil {
			k.t.Fatalf("%s: hudifs.drops: %v", i, err)
		}
		for _, d := range drops {
			marks[d.Key]++
			names[d.Name] = true
		}
	}
	for key, n := range marks {
		if n != 1 {
			k.t.Errorf("drop %s is in %d commits, want 1", key, n)
		}
	}
	for id := range maps.Keys(k.acked) {
		drop, _, _ := strings.Cut(id, "-")
		if name := "drop" + strings.TrimPrefix(drop, "d") + ".csv"; !names[name] {
			k.t.Errorf("no commit lists %s, which was acknowledged", name)
		}
	}
	k.t.Logf("%d drops tried, %d acknowledged, %d commits", k.next, len(k.acked)/20, tl.CompletedWrites().Len())
	if left, _ := os.ReadDir(filepath.Join(k.m.table, ".hoodie", ".heartbeat")); len(left) > 0 {
		k.t.Logf("%d heartbeats of killed writers stay", len(left))
	}
}
