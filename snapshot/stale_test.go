package snapshot

import (
	"sync"
	"testing"

	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
)

// A writer that begins on a timeline gets the state of that timeline, also while others set the table back to what they read before: rows of a commit that its state lacked
// would be overwritten.
func TestNowOfTimelineWhileOthersReload(t *testing.T) {
	m, _ := localMaker(t, tableconfig.Options{})
	m.commit(timeline.Commit, "20260101000000010", "20260101000000011", base("p", "g", "20260101000000010"))
	tab := m.open(Options{})
	older, err := tab.Active().Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m.commit(timeline.Commit, "20260101000000020", "20260101000000021", base("p", "g", "20260101000000020"))
	newer, err := tab.Active().Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if err := tab.Use(t.Context(), older); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for range 2000 {
		s, err := tab.Now(t.Context(), newer)
		if err != nil {
			t.Fatal(err)
		}
		slices, err := s.Slices(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		if len(slices) != 1 || slices[0].File.Instant != "20260101000000020" {
			t.Fatalf("Now of the newer timeline shows %v, want the file of its last commit", slices)
		}
	}
	close(stop)
	wg.Wait()
}
