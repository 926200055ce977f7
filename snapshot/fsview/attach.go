package fsview

import (
	"context"
	"fmt"
	"slices"

	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
)

// Naming says what the instant in a log file's name is. It is the one difference between table versions in this package.
type Naming uint8

// The naming schemes.
const (
	DeltaInstant Naming = iota // version 8 and later: the delta commit that wrote the file
	BaseInstant                // version 6: the base instant of the slice the file belongs to
)

// NamingOf returns the scheme of a table (timeline.md §5.3).
func NamingOf(f tableconfig.Features) Naming {
	if f.LogNamedByDelta {
		return DeltaInstant
	}
	return BaseInstant
}

// Rules say which files one state of a table shows. Only Committed is required. The functions must be safe for concurrent use.
type Rules struct {
	Naming Naming

	// Committed reports whether the write requested at t belongs to the state, and when it completed. Instants that nobody can prove
	// completed are not committed, however old they are.
	Committed func(t timeline.InstantTime) (completion timeline.InstantTime, ok bool)

	// Until, where set, is an instant after which Committed knows none: names beyond it are not asked about.
	Until timeline.InstantTime

	// Replaced reports whether the state holds a commit that replaced the group. nil: none is.
	Replaced func(FileGroupID) bool

	// Compacting gives the instant of the pending compaction whose plan names the group. nil: none does. Only writers' views need it.
	Compacting func(FileGroupID) (timeline.InstantTime, bool)

	// Named reports whether the write stats of commit t name path. It is asked only where a group holds several files of one
	// instant, of which a retried task may have left some. nil: all are named.
	Named func(ctx context.Context, t timeline.InstantTime, path string) (bool, error)

	// LogWritten reports whether a commit of the state wrote to the log file, for the naming scheme whose names don't tell. nil: yes.
	LogWritten func(l LogFile) bool
}

// attach builds the visible slices of a group, oldest first. The slice of a pending compaction may be empty.
func (r *Rules) attach(ctx context.Context, g *Listed) ([]FileSlice, error) {
	out, err := r.baseSlices(ctx, g.Bases)
	if err != nil {
		return nil, err
	}
	return r.attachLogs(ctx, out, g, "")
}

// attachNewest builds the newest slice that has a base file and all later ones, without looking at what is older: a group has one file
// for each of its versions, and most readers want the last.
func (r *Rules) attachNewest(ctx context.Context, g *Listed) ([]FileSlice, error) {
	bases := g.Bases
	if r.Until != "" {
		n, _ := slices.BinarySearchFunc(bases, r.Until, func(f BaseFile, t timeline.InstantTime) int {
			if f.Instant.Compare(t) <= 0 {
				return -1
			}
			return 1
		})
		bases = bases[:n]
	}
	for j := len(bases); j > 0; {
		i := j - 1
		for i > 0 && bases[i-1].Instant == bases[i].Instant {
			i--
		}
		out, err := r.baseSlices(ctx, bases[i:j])
		if err != nil {
			return nil, err
		}
		if len(out) > 0 {
			return r.attachLogs(ctx, out, g, out[0].Base)
		}
		j = i
	}
	return r.attachLogs(ctx, nil, g, "")
}

// attachLogs adds the log files of slices whose key is not before from ("" for all).
func (r *Rules) attachLogs(ctx context.Context, out []FileSlice, g *Listed, from timeline.InstantTime) ([]FileSlice, error) {
	if r.Compacting != nil {
		if t, ok := r.Compacting(g.ID); ok {
			sliceAt(&out, g.ID, t)
		}
	}
	if r.Naming == BaseInstant {
		return r.attachByBase(out, g, from), nil
	}
	return r.attachByCompletion(ctx, out, g, from)
}

// baseSlices makes a slice of each committed base file. Uncommitted ones go before logs are attached: a log completed after a failed
// base file belongs to the newest committed slice (timeline.md §5.4).
func (r *Rules) baseSlices(ctx context.Context, bases []BaseFile) ([]FileSlice, error) {
	var out []FileSlice
	for i := 0; i < len(bases); {
		j := i + 1
		for j < len(bases) && bases[j].Instant == bases[i].Instant {
			j++
		}
		same := bases[i:j]
		i = j
		if _, ok := r.Committed(same[0].Instant); !ok {
			continue
		}
		f := &same[0]
		if len(same) > 1 && r.Named != nil {
			var err error
			if f, err = r.namedBase(ctx, same); err != nil {
				return nil, err
			}
		}
		partition, _ := split(f.Path)
		out = append(out, FileSlice{Group: FileGroupID{partition, f.FileID}, Base: f.Instant, File: f})
	}
	return out, nil
}

// namedBase picks the base file that the commit's write stats name among those of one group and instant.
func (r *Rules) namedBase(ctx context.Context, same []BaseFile) (*BaseFile, error) {
	var found *BaseFile
	for i := range same {
		ok, err := r.Named(ctx, same[i].Instant, same[i].Path)
		if err != nil {
			return nil, err
		}
		if ok && found == nil {
			found = &same[i]
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%s is one of %d base files of its file group and instant %s, and the commit names none of them", same[0].Path, len(same), same[0].Instant)
	}
	return found, nil
}

// attachByBase puts each log file into the slice that its name says. Names don't tell who wrote a file, so LogWritten decides whether the
// state has any block of it. A slice whose only log files are rollback blocks has nothing to roll back.
func (r *Rules) attachByBase(out []FileSlice, g *Listed, from timeline.InstantTime) []FileSlice {
	for i := 0; i < len(g.Logs); {
		j := i + 1
		for j < len(g.Logs) && g.Logs[j].Instant == g.Logs[i].Instant {
			j++
		}
		same := g.Logs[i:j]
		i = j
		if same[0].Instant.Compare(from) < 0 {
			continue
		}
		var logs []LogFile
		data := false
		for _, l := range same {
			switch {
			case l.WriteToken == UnknownToken:
				logs = append(logs, l)
			case r.LogWritten == nil || r.LogWritten(l):
				logs, data = append(logs, l), true
			}
		}
		if data {
			s := sliceAt(&out, g.ID, same[0].Instant)
			s.Logs = append(s.Logs, logs...)
		}
	}
	return out
}

// attachByCompletion puts each committed log file into the slice with the greatest key that is not after the completion of the
// file's delta commit: a compaction requested before the delta commit completed owns its log (timeline.md §5.3).
func (r *Rules) attachByCompletion(ctx context.Context, out []FileSlice, g *Listed, from timeline.InstantTime) ([]FileSlice, error) {
	for i, l := range g.Logs {
		c, ok := r.Committed(l.Instant)
		if !ok || c.Compare(from) < 0 {
			continue
		}
		if r.Named != nil && (i > 0 && g.Logs[i-1].Instant == l.Instant || i+1 < len(g.Logs) && g.Logs[i+1].Instant == l.Instant) {
			named, err := r.Named(ctx, l.Instant, l.Path)
			if err != nil {
				return nil, err
			}
			if !named {
				continue
			}
		}
		key := l.Instant
		for k := len(out) - 1; k >= 0; k-- {
			if out[k].Base.Compare(c) <= 0 {
				key = out[k].Base
				break
			}
		}
		s := sliceAt(&out, g.ID, key)
		s.Logs = append(s.Logs, l)
	}
	return out, nil
}

// sliceAt returns the slice with the key in the sorted list, making it where it is missing.
func sliceAt(out *[]FileSlice, id FileGroupID, key timeline.InstantTime) *FileSlice {
	i, ok := slices.BinarySearchFunc(*out, key, func(s FileSlice, t timeline.InstantTime) int { return s.Base.Compare(t) })
	if !ok {
		*out = slices.Insert(*out, i, FileSlice{Group: id, Base: key})
	}
	return &(*out)[i]
}

// merged is the slice that a reader of current rows needs: the newest one, or, where it has no base file but one before it has, that one
// with all logs since. The latter is a compaction that is pending, or failed after logs went to it (timeline.md §5.5).
func merged(all []FileSlice) (FileSlice, bool) {
	n := len(all)
	if n == 0 {
		return FileSlice{}, false
	}
	i := n - 1
	for i > 0 && all[i].File == nil {
		i--
	}
	s := all[i]
	if i < n-1 {
		s.Logs = slices.Clone(s.Logs)
		for _, later := range all[i+1:] {
			s.Logs = append(s.Logs, later.Logs...)
		}
	}
	if s.File == nil && len(s.Logs) == 0 {
		return FileSlice{}, false
	}
	return s, true
}
