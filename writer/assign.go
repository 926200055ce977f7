package writer

import (
	"context"
	"fmt"

	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer/handle"
)

// assignment is where the rows of one partition go.
type assignment struct {
	part    *part
	slices  []fsview.FileSlice           // of the partition, at the write's beginning
	targets map[string]*fsview.FileSlice // by file id: the slice that logs are appended to
	updates map[int][]match              // by slice
	inserts map[int][]int32              // by slice: new rows that go into an existing, small file
	groups  []newGroup
	fresh   map[int32]bool // records that were found nowhere: the check for key conflicts looks for them again
}

// match is a record of the batch and the row that it changes.
type match struct {
	rec int32
	pos int64
}

// newGroup is a file group to make, perhaps of several files.
type newGroup struct {
	prefix string
	recs   []int32
}

// sizing is what placing inserts needs to know.
type sizing struct {
	average   int64 // bytes per record in a base file
	smallFile int64
	maxFile   int64
	split     int64
}

const (
	defaultRecordSize = 1024 // hoodie.copyonwrite.record.size.estimate
	sizingHistory     = 20   // commits looked at for the record size
)

func (w *Writer) sizing(ctx context.Context, s *snapshot.Snapshot) (sizing, error) {
	z := sizing{average: defaultRecordSize, smallFile: w.o.SmallFileBytes, maxFile: w.o.MaxFileBytes, split: w.o.InsertSplit}
	if z.maxFile <= 0 {
		z.maxFile = handle.DefaultMaxBytes
	}
	done := s.Timeline().CompletedWrites().All()
	for i := len(done) - 1; i >= 0 && i >= len(done)-sizingHistory; i-- {
		m, err := action.Read[action.CommitMetadata](ctx, w.o.Table.Active(), done[i])
		if err != nil {
			return z, err
		}
		var bytes, records int64
		for _, stats := range m.Stats {
			for _, st := range stats {
				if st.Log == nil {
					bytes += st.FileSizeInBytes
					records += st.NumWrites
				}
			}
		}
		// A small commit says little: footers and filters outweigh its rows.
		if records > 0 && bytes > z.smallFile {
			z.average = (bytes + records - 1) / records
			return z, nil
		}
		if records >= 10_000 && z.average == defaultRecordSize {
			z.average = max((bytes+records-1)/records, 1)
		}
	}
	return z, nil
}

// assignInserts puts records that are new into small files first, then into new groups (data.md §11.2).
func assignInserts(a *assignment, recs []int32, z sizing, mayGrow func(fsview.FileSlice) bool) {
	rest := recs
	for i := range a.slices {
		if len(rest) == 0 {
			return
		}
		s := &a.slices[i]
		if s.File == nil || s.File.Size >= z.smallFile || !mayGrow(*s) {
			continue
		}
		n := min((z.maxFile-s.File.Size)/z.average, int64(len(rest)))
		if n <= 0 {
			continue
		}
		a.inserts[i] = append(a.inserts[i], rest[:n]...)
		rest = rest[n:]
	}
	for len(rest) > 0 {
		n := min(z.split, int64(len(rest)))
		a.groups = append(a.groups, newGroup{prefix: handle.NewFileIDPrefix(), recs: rest[:n]})
		rest = rest[n:]
	}
}

// profile is the body of the inflight instant: what is going to be written where (timeline.md §4.3).
func profile(op action.WriteOperation, all []*assignment) *action.CommitMetadata {
	m := &action.CommitMetadata{Operation: op, Stats: map[string][]action.WriteStat{}, Extra: map[string]string{}}
	for _, a := range all {
		var inserts int64
		for _, r := range a.inserts {
			inserts += int64(len(r))
		}
		for _, g := range a.groups {
			inserts += int64(len(g.recs))
		}
		stats := []action.WriteStat{{PrevCommit: action.NullCommit, NumInserts: inserts}}
		for i, s := range a.slices {
			if n := len(a.updates[i]); n > 0 {
				stats = append(stats, action.WriteStat{FileID: s.Group.FileID, PrevCommit: string(s.Base), NumUpdateWrites: int64(n)})
			}
		}
		m.Stats[a.part.path] = stats
	}
	return m
}

func (a *assignment) String() string {
	return fmt.Sprintf("partition %q: %d slices updated, %d small files grown, %d new groups", a.part.path, len(a.updates), len(a.inserts), len(a.groups))
}
