package fsview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/timeline"
)

// FileGroupID names a file group: the files of one id in one partition.
type FileGroupID struct{ Partition, FileID string }

func (g FileGroupID) String() string { return join(g.Partition, g.FileID) }

// BaseFile is one base file as listed.
type BaseFile struct {
	Path string // relative to the table base path
	BaseName
	Size    int64 // bytes
	ModTime time.Time
	ETag    string // "" on stores that have none
}

// LogFile is one log file as listed.
type LogFile struct {
	Path string // relative to the table base path
	LogName
	Size    int64 // bytes
	ModTime time.Time
	ETag    string
}

// compareLogs is the order of the log files of a slice: instant in the name, version as a number, write token as a string, a missing
// one first (data.md §3.1).
func compareLogs(a, b LogFile) int {
	return cmp.Or(a.Instant.Compare(b.Instant), cmp.Compare(a.Version, b.Version),
		strings.Compare(a.WriteToken, b.WriteToken), cmp.Compare(a.Path, b.Path))
}

// compareBases orders base files by instant, then token.
func compareBases(a, b BaseFile) int {
	return cmp.Or(a.Instant.Compare(b.Instant), strings.Compare(a.WriteToken, b.WriteToken), cmp.Compare(a.Path, b.Path))
}

// FileSlice is one version of a file group: a base file, or none where the group began with log files or waits for a compaction,
// and the log files that change it, in reading order.
type FileSlice struct {
	Group FileGroupID
	Base  timeline.InstantTime // the slice's key
	File  *BaseFile            // nil: only log files
	Logs  []LogFile
}

// Newest is the greatest instant in the names of the slice's files.
func (s FileSlice) Newest() timeline.InstantTime {
	t := s.Base
	for i := range s.Logs {
		if s.Logs[i].Instant.Compare(t) > 0 {
			t = s.Logs[i].Instant
		}
	}
	return t
}

// Size is the number of bytes of the slice's files.
func (s FileSlice) Size() int64 {
	var n int64
	if s.File != nil {
		n = s.File.Size
	}
	for i := range s.Logs {
		n += s.Logs[i].Size
	}
	return n
}

// Listed is a file group as the store lists it: every file, of whatever instant, sorted. It is shared by all views; do not change it.
type Listed struct {
	ID    FileGroupID
	Bases []BaseFile
	Logs  []LogFile
	CDC   []LogFile
}

// baseExtensions are the formats of base files (data.md §1.1).
var baseExtensions = []string{".parquet", ".orc", ".hfile", ".lance"}

// PartitionMetafile is the name of the file that makes a directory a partition; with hoodie.partition.metafile.use.base.format it has the
// base format's extension (timeline.md §1.4).
const PartitionMetafile = ".hoodie_partition_metadata"

// IsPartitionMetafile reports whether name is a partition's metafile.
func IsPartitionMetafile(name string) bool {
	ext, ok := strings.CutPrefix(name, PartitionMetafile)
	return ok && (ext == "" || slices.Contains(baseExtensions, ext))
}

// Group sorts the files of one partition into file groups, ordered by file id. Files of other names are no data of the table and are
// passed over, as Java does: temporaries of copying programs look much like log files. Should a file of the table have lost its name, its
// commit names a file that is not there, and that is seen.
func Group(partition string, files []storage.Info) []*Listed {
	groups := map[string]*Listed{}
	group := func(id string) *Listed {
		g := groups[id]
		if g == nil {
			g = &Listed{ID: FileGroupID{Partition: partition, FileID: id}}
			groups[id] = g
		}
		return g
	}
	for _, f := range files {
		_, name := split(f.Path)
		switch {
		case IsLogFile(name):
			n, err := ParseLogFileName(name)
			if err != nil {
				continue
			}
			g := group(n.FileID)
			l := LogFile{Path: f.Path, LogName: n, Size: f.Size, ModTime: f.ModTime, ETag: f.ETag}
			if n.CDC {
				g.CDC = append(g.CDC, l)
			} else {
				g.Logs = append(g.Logs, l)
			}
		case strings.HasPrefix(name, "."):
		default:
			n, err := ParseBaseFileName(name)
			if err != nil || !slices.Contains(baseExtensions, n.Ext) {
				continue
			}
			g := group(n.FileID)
			g.Bases = append(g.Bases, BaseFile{Path: f.Path, BaseName: n, Size: f.Size, ModTime: f.ModTime, ETag: f.ETag})
		}
	}
	out := make([]*Listed, 0, len(groups))
	for _, g := range groups {
		slices.SortFunc(g.Bases, compareBases)
		slices.SortFunc(g.Logs, compareLogs)
		slices.SortFunc(g.CDC, compareLogs)
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b *Listed) int { return strings.Compare(a.ID.FileID, b.ID.FileID) })
	return out
}

// Bootstrap instants of a bootstrapped table (timeline.md §3.1). The base files of the first hold no data columns: the rows lie in
// foreign files beside the table.
const (
	MetadataBootstrap timeline.InstantTime = "00000000000001"
	FullBootstrap     timeline.InstantTime = "00000000000002"
)

// ErrBootstrap is matched by the error for a slice whose rows lie in a foreign file of a bootstrapped table. Retrying does not help.
var ErrBootstrap = fmt.Errorf("bootstrap base file: its rows lie in a file outside the table, which is not supported; rewrite the table with a full bootstrap")

// CheckReadable returns an error that matches ErrBootstrap where the slice's base file is the skeleton of a metadata-only bootstrap.
func (s FileSlice) CheckReadable() error {
	if s.File != nil && s.File.Instant == MetadataBootstrap {
		return fmt.Errorf("%s: %w", s.File.Path, ErrBootstrap)
	}
	return nil
}

// Has reports whether the group lists the path.
func (g *Listed) Has(path string) bool {
	return slices.ContainsFunc(g.Bases, func(f BaseFile) bool { return f.Path == path }) ||
		slices.ContainsFunc(g.Logs, func(f LogFile) bool { return f.Path == path })
}

// With returns the group with files added that are not listed (any more). The group itself stays as it is.
func (g *Listed) With(bases []BaseFile, logs []LogFile) *Listed {
	out := &Listed{ID: g.ID, Bases: slices.Concat(g.Bases, bases), Logs: slices.Concat(g.Logs, logs), CDC: g.CDC}
	slices.SortFunc(out.Bases, compareBases)
	slices.SortFunc(out.Logs, compareLogs)
	return out
}
