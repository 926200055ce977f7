package timeline

import (
	"time"

	"github.com/hudifs/hudifs/internal/tableconfig"
)

// place is where and how one table's instants are stored.
type place struct {
	layout int
	dir    string // with a slash behind
	zone   *time.Location
}

func placeOf(cfg *tableconfig.Config) place {
	return place{layout: cfg.Layout, dir: cfg.TimelineDir(), zone: cfg.Zone}
}

// timesInNames reports whether completion times are in the file names, so that a listing needs no modification times.
func (p place) timesInNames() bool { return p.layout >= 2 }

// complete fills in the completion time that the name does not hold: the file's modification time in the table's zone.
func (p place) complete(i Instant, modified time.Time) Instant {
	if i.State == Completed && i.Completion == "" {
		i.Completion = FormatInstantTime(modified.In(p.zone))
	}
	return i
}

// states returns the file names that the states of instant i can have, in the order in which they are made. A finished commit may
// have been a commit or a compaction, and so on.
func (p place) states(i Instant) (requested, inflight []string) {
	var origins []Action
	if i.State != Completed {
		origins = []Action{i.Action}
	} else {
		for _, a := range []Action{i.Action, Compaction, LogCompaction, Clustering} {
			if a.Completes() == i.Action.Completes() && actions[a].onlyLayout <= p.layout {
				origins = append(origins, a)
			}
		}
	}
	for _, a := range origins {
		if !actions[a].noRequest {
			requested = append(requested, Instant{Time: i.Time, Action: a, State: Requested}.FileName(p.layout))
		}
		inflight = append(inflight, Instant{Time: i.Time, Action: a, State: Inflight}.FileName(p.layout))
	}
	return requested, inflight
}
