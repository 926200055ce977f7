package txn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// tempDir holds the markers of writes, one directory per instant (timeline.md §7.3).
const tempDir = ".hoodie/.temp/"

const (
	markerInfix     = ".marker."
	markerTypeFile  = "MARKERS.type"
	markerFile      = "MARKERS"
	timelineMarkers = "TIMELINE_SERVER_BASED"
)

// MarkerType is what happens to the marked file.
type MarkerType string

// The marker types.
const (
	MarkCreate MarkerType = "CREATE" // a new base file; from version 8 on also every log file
	MarkMerge  MarkerType = "MERGE"  // a new version of a base file
	MarkAppend MarkerType = "APPEND" // version 6: a log file that may have been there before
)

// Marker is one marked file.
type Marker struct {
	Path string // of the data file, relative to the base path
	Type MarkerType
}

// Mark announces a data file before it is written, and makes its partition a partition. A file without a marker would outlive the rollback of its write.
func (t *Txn) Mark(ctx context.Context, partition, name string, typ MarkerType) error {
	if err := t.partition(ctx, partition); err != nil {
		return err
	}
	p := tempDir + string(t.instant.Time) + "/" + path.Join(partition, name) + markerInfix + string(typ)
	t.mu.Lock()
	t.mu.marked = true
	t.mu.Unlock()
	if _, err := t.m.o.Store.Put(ctx, p, nil, storage.PutIfAbsent); err != nil && !errors.Is(err, storage.ErrAmbiguous) {
		return fmt.Errorf("mark %s: %w", path.Join(partition, name), err)
	}
	return nil
}

// partition writes the file that makes a directory a partition (data.md §1.7), before its first data file.
func (t *Txn) partition(ctx context.Context, partition string) error {
	t.mu.Lock()
	known := t.mu.partitions[partition]
	t.mu.Unlock()
	if known {
		return nil
	}
	depth := 0
	if partition != "" {
		depth = strings.Count(partition, "/") + 1
	}
	body := fmt.Sprintf("#partition metadata\n#%s\ncommitTime=%s\npartitionDepth=%d\n",
		time.Now().In(t.m.o.Config.Zone).Format("Mon Jan 02 15:04:05 MST 2006"), t.instant.Time, depth)
	p := path.Join(partition, ".hoodie_partition_metadata")
	if _, err := t.m.o.Store.Stat(ctx, p); errors.Is(err, fs.ErrNotExist) {
		_, err = t.m.o.Store.Put(ctx, p, []byte(body), storage.PutIfAbsent)
		if err != nil && !errors.Is(err, storage.ErrExists) && !errors.Is(err, storage.ErrAmbiguous) {
			return fmt.Errorf("make partition %q: %w", partition, err)
		}
	} else if err != nil {
		return fmt.Errorf("look at partition %q: %w", partition, err)
	}
	t.mu.Lock()
	t.mu.partitions[partition] = true
	t.mu.Unlock()
	return nil
}

// markers reads the markers of an instant, ours and those of Java's timeline server; found is false where the directory is missing or empty.
func (m *Manager) markers(ctx context.Context, at timeline.InstantTime) (all []Marker, found bool, err error) {
	dir := tempDir + string(at) + "/"
	for info, err := range m.o.Store.List(ctx, dir, storage.ListOptions{Recursive: true}) {
		if err != nil {
			return nil, false, fmt.Errorf("list markers of %s: %w", at, err)
		}
		found = true
		rest := strings.TrimPrefix(info.Path, dir)
		if mk, ok := parseMarker(rest); ok {
			all = append(all, mk)
			continue
		}
		if rest == markerTypeFile || !strings.HasPrefix(rest, markerFile) {
			continue
		}
		body, err := m.o.Store.ReadAll(ctx, info.Path)
		if err != nil {
			return nil, false, fmt.Errorf("read markers %s: %w", info.Path, err)
		}
		for line := range strings.Lines(string(body)) {
			if mk, ok := parseMarker(strings.TrimSpace(line)); ok {
				all = append(all, mk)
			}
		}
	}
	return all, found, nil
}

func parseMarker(s string) (Marker, bool) {
	i := strings.LastIndex(s, markerInfix)
	if i <= 0 {
		return Marker{}, false
	}
	mk := Marker{Path: s[:i], Type: MarkerType(s[i+len(markerInfix):])}
	switch mk.Type {
	case MarkCreate, MarkMerge, MarkAppend:
		return mk, path.Clean(mk.Path) == mk.Path && !strings.HasPrefix(mk.Path, "../") && !path.IsAbs(mk.Path)
	}
	return Marker{}, false
}

// deleteMarkers removes the marker directory of an instant.
func (m *Manager) deleteMarkers(ctx context.Context, at timeline.InstantTime) error {
	dir := tempDir + string(at) + "/"
	var paths []string
	for info, err := range m.o.Store.List(ctx, dir, storage.ListOptions{Recursive: true}) {
		if err != nil {
			return fmt.Errorf("list markers of %s: %w", at, err)
		}
		paths = append(paths, info.Path)
	}
	for _, p := range paths {
		if err := m.deleteIfThere(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// reconcile deletes the files of attempts that failed and were repeated: marked, but not in the result (timeline.md §7.4).
func (t *Txn) reconcile(ctx context.Context, r action.Result) error {
	marked, _, err := t.m.markers(ctx, t.instant.Time)
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, c := range r.Changes() {
		keep[c.Path] = true
	}
	for _, mk := range marked {
		if keep[mk.Path] || mk.Type == MarkAppend {
			continue
		}
		if !ownFile(mk.Path, t.instant.Time) {
			continue // a marker whose name is not of this write deletes nothing
		}
		t.m.o.Log.Info("deleting the file of a failed attempt", "instant", t.instant.Time, "path", mk.Path)
		if err := t.m.deleteIfThere(ctx, mk.Path); err != nil {
			return err
		}
	}
	return nil
}

// MarkCreate announces a new base file, or in layout 2 a new log file.
func (t *Txn) MarkCreate(ctx context.Context, partition, name string) error {
	return t.Mark(ctx, partition, name, MarkCreate)
}

// MarkMerge announces a new version of a base file.
func (t *Txn) MarkMerge(ctx context.Context, partition, name string) error {
	return t.Mark(ctx, partition, name, MarkMerge)
}

// MarkLog announces a log file, in the type that the table's version has for it.
func (t *Txn) MarkLog(ctx context.Context, partition, name string) error {
	if t.m.o.Config.Features.AppendMarkers {
		return t.Mark(ctx, partition, name, MarkAppend)
	}
	return t.Mark(ctx, partition, name, MarkCreate)
}
