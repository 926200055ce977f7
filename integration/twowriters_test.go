package integration

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestTwoWriters has several processes commit into one table at once, keys of their own and keys that all of them write. Each commit is there once, or its process said that it is not.
func TestTwoWriters(t *testing.T) {
	for _, kind := range []string{"cow", "mor"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			table := newPlaces(t, "--type", kind)
			src := t.TempDir()
			const rounds, writers = 8, 2
			want := map[string]float64{}
			commits, refused := 0, 0
			for r := range rounds {
				var wg sync.WaitGroup
				said := make([]output, writers)
				for w := range writers {
					// Rows of either writer alone, new rows of both, and rows that exist already.
					text := fmt.Sprintf("%sr%d-w%d,x,%d,%d\nr%d-both,x,%d,%d\nall,x,%d,%d\n", placesHeader, r, w, r, r, r, r*10+w, r*10+w, r*10+w, r*10+w)
					f := write(t, src, fmt.Sprintf("r%d-w%d.csv", r, w), text)
					wg.Go(func() { said[w] = hudifs(t, "ingest", "put", table, f) })
				}
				wg.Wait()
				for w, o := range said {
					if o.code != 0 {
						refused++
						if !strings.Contains(o.stderr, "conflict") && o.code != 11 {
							t.Errorf("round %d, writer %d: exit status %d: %s; want success or a conflict", r, w, o.code, o.stderr)
						}
						continue
					}
					commits++
					want[fmt.Sprintf("r%d-w%d", r, w)] = float64(r)
					for _, id := range []string{fmt.Sprintf("r%d-both", r), "all"} {
						want[id] = max(want[id], float64(r*10+w))
					}
				}
			}
			m := mountTable(t, table)
			m.expect("after all rounds", want)
			if n := len(m.snapshots()); n != commits {
				t.Errorf("%d commits show, %d were acknowledged", n, commits)
			}
			t.Logf("%d commits, %d refused", commits, refused)
		})
	}
}
