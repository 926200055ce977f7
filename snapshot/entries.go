package snapshot

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
)

// Entry is one name in a snapshot's directory.
type Entry struct {
	Name    string
	Path    string // below the snapshot
	Dir     bool
	Size    int64 // bytes; -1: not known before Stat
	ModTime time.Time
	Key     string // identity of the bytes: the same in every snapshot and after a restart exactly while the bytes are the same; "" for directories

	slice *fsview.FileSlice // nil for directories
	asIs  bool              // the slice's base file, byte for byte
	err   error             // why the file cannot be shown: its neighbours can
}

// Slice returns the slice that the entry shows.
func (e Entry) Slice() (fsview.FileSlice, bool) {
	if e.slice == nil {
		return fsview.FileSlice{}, false
	}
	return *e.slice, true
}

// Entries lists the directory dir ("" is the top), sorted by name: partition levels as directories, one file per slice. Nothing else
// is ever in it. A directory that the state does not have matches fs.ErrNotExist. The slice is shared: do not change it.
func (s *Snapshot) Entries(ctx context.Context, dir string) ([]Entry, error) {
	s.mu.Lock()
	have, ok := s.mu.dirs[dir]
	s.mu.Unlock()
	if ok {
		return s.freshSizes(have), nil
	}
	tree, err := s.tree(ctx)
	if err != nil {
		return nil, err
	}
	children, ok := tree[dir]
	if !ok {
		return nil, fmt.Errorf("directory %q of snapshot %s: %w", dir, s, fs.ErrNotExist)
	}
	modified := s.modTime()
	out := make([]Entry, 0, len(children))
	for _, name := range children {
		out = append(out, Entry{Name: name, Path: joinPath(dir, name), Dir: true, ModTime: modified})
	}
	slicesOf, err := s.Slices(ctx, dir)
	if err != nil {
		return nil, err
	}
	for i := range slicesOf {
		e, err := s.entryOf(ctx, dir, &slicesOf[i])
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.dirs == nil {
		s.mu.dirs = map[string][]Entry{}
	}
	s.mu.dirs[dir] = out
	return out, nil
}

// freshSizes fills in sizes that have become known since the listing was made.
func (s *Snapshot) freshSizes(list []Entry) []Entry {
	c := s.state.table.opts.Cache
	if c == nil {
		return list
	}
	copied := false
	for i := range list {
		if list[i].Size >= 0 || list[i].Dir {
			continue
		}
		if n, ok := c.Size(list[i].Key); ok {
			if !copied {
				list, copied = slices.Clone(list), true
			}
			list[i].Size = n
		}
	}
	return list
}

// Lookup returns the entry at a path below the snapshot. A missing one matches fs.ErrNotExist.
func (s *Snapshot) Lookup(ctx context.Context, path string) (Entry, error) {
	dir, name := splitPath(path)
	list, err := s.Entries(ctx, dir)
	if err != nil {
		return Entry{}, err
	}
	i, ok := slices.BinarySearchFunc(list, name, func(e Entry, name string) int { return strings.Compare(e.Name, name) })
	if !ok {
		return Entry{}, fmt.Errorf("%q in snapshot %s: %w", path, s, fs.ErrNotExist)
	}
	return list[i], nil
}

// entryOf describes the file that shows a slice.
func (s *Snapshot) entryOf(ctx context.Context, dir string, sl *fsview.FileSlice) (Entry, error) {
	e := Entry{slice: sl, ModTime: sliceTime(sl)}
	verbatim, err := s.verbatim(ctx, sl)
	if err == nil {
		err = s.checkColumns(ctx, sl)
	}
	if corrupt.Is(err) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, tableconfig.ErrUnsupported) {
		verbatim, e.err, err = sl.File != nil, err, nil
	}
	if err != nil {
		return Entry{}, err
	}
	if verbatim {
		e.Name, e.Size, e.Key, e.asIs = sl.File.String(), sl.File.Size, fileKey(sl.File), true
	} else {
		e.Name = s.madeName(sl)
		if e.Key, err = s.madeKey(ctx, sl); err != nil {
			return Entry{}, err
		}
		e.Size = -1
		if c := s.state.table.opts.Cache; c != nil {
			if n, ok := c.Size(e.Key); ok {
				e.Size = n
			}
		}
	}
	e.Path = joinPath(dir, e.Name)
	return e, nil
}

// verbatim reports whether the slice is shown by its base file as it lies.
func (s *Snapshot) verbatim(ctx context.Context, sl *fsview.FileSlice) (bool, error) {
	if s.rendering == CSV || s.rendering == JSONL || len(sl.Logs) > 0 || s.window != nil {
		return false, nil
	}
	reshape, err := s.reshape(ctx, sl.File)
	return !reshape, err
}

// madeName is the name of a file that is made from the slice: that of a base file of the same group, written by the newest commit
// that has a part in it.
func (s *Snapshot) madeName(sl *fsview.FileSlice) string {
	n := fsview.BaseName{FileID: sl.Group.FileID, WriteToken: "0-0-0", Instant: s.newest(sl), Ext: ".parquet"}
	if sl.File != nil {
		n.WriteToken = sl.File.WriteToken
	}
	switch s.rendering {
	case CSV:
		n.Ext = ".csv"
	case JSONL:
		n.Ext = ".jsonl"
	}
	return n.String()
}

// newest is the newest commit of the state that wrote to the slice.
func (s *Snapshot) newest(sl *fsview.FileSlice) timeline.InstantTime {
	t := sl.Base
	if s.rules.LogWritten == nil {
		return sl.Newest()
	}
	for i := range sl.Logs {
		for _, w := range s.state.writers[sl.Logs[i].Path] {
			if _, ok := s.state.shows(s.commit, w); ok && w.Compare(t) > 0 {
				t = w
			}
		}
	}
	return t
}

// madeKey identifies the bytes of a file that is made from the slice: everything that goes into making it.
func (s *Snapshot) madeKey(ctx context.Context, sl *fsview.FileSlice) (string, error) {
	to, err := s.FileSchema(ctx)
	if err != nil {
		return "", err
	}
	h := newHasher(makeVersion)
	h.add(strconv.Itoa(int(s.textual())), to.String(), s.state.mergeKey())
	if s.window != nil {
		h.add("changes", string(s.window.from), string(s.Instant()))
	}
	if sl.File != nil {
		h.file(sl.File.Path, sl.File.Size, sl.File.ModTime, sl.File.ETag)
	}
	for i := range sl.Logs {
		l := &sl.Logs[i]
		h.file(l.Path, l.Size, l.ModTime, l.ETag)
		if s.sharedLog(l) {
			h.add("as of", string(s.Instant()))
		}
	}
	return h.key(), nil
}

// textual is the rendering as far as the bytes go: an optimized file with nothing to merge is a parquet file like others.
func (s *Snapshot) textual() Rendering {
	if s.rendering == Optimized {
		return Parquet
	}
	return s.rendering
}

// sharedLog reports whether commits of later states wrote to the log file too, so that what it holds depends on the state.
func (s *Snapshot) sharedLog(l *fsview.LogFile) bool {
	for _, w := range s.state.writers[l.Path] {
		if _, ok := s.state.shows(s.commit, w); !ok {
			return true
		}
	}
	return false
}

// makeVersion is part of every key of a made file: raise it when the same input would give other bytes.
const makeVersion = "1"

// fileKey identifies the bytes of a base file that is shown as it lies.
func fileKey(f *fsview.BaseFile) string {
	h := newHasher("base")
	h.file(f.Path, f.Size, f.ModTime, f.ETag)
	return h.key()
}

// hasher makes keys out of fields.
type hasher struct{ buf []byte }

func newHasher(kind string) *hasher {
	h := &hasher{buf: make([]byte, 0, 256)}
	h.add(kind)
	return h
}

func (h *hasher) add(fields ...string) {
	for _, f := range fields {
		h.buf = strconv.AppendInt(h.buf, int64(len(f)), 10)
		h.buf = append(append(h.buf, ':'), f...)
	}
}

func (h *hasher) file(path string, size int64, modified time.Time, etag string) {
	h.add(path, strconv.FormatInt(size, 10), strconv.FormatInt(modified.UnixNano(), 10), etag)
}

func (h *hasher) key() string {
	sum := sha256.Sum256(h.buf)
	return hex.EncodeToString(sum[:16])
}

// sliceTime is the modification time of the slice's newest file: the same after a restart, whenever the file is made.
func sliceTime(sl *fsview.FileSlice) time.Time {
	var t time.Time
	if sl.File != nil {
		t = sl.File.ModTime
	}
	for i := range sl.Logs {
		if sl.Logs[i].ModTime.After(t) {
			t = sl.Logs[i].ModTime
		}
	}
	return t
}

// modTime is when the state came to be.
func (s *Snapshot) modTime() time.Time {
	c, ok := s.last()
	if !ok {
		return time.Time{}
	}
	at, err := cmp.Or(c.Completion, c.Time).Time(s.state.cfg.Zone)
	if err != nil {
		return time.Time{} // a made-up instant, such as those of a metadata table
	}
	return at
}

func joinPath(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
