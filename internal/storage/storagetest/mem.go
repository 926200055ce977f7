package storagetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
)

// Mem is a complete store in memory, for tests. Like a bucket it has no directories and no local files.
type Mem struct {
	mu struct {
		sync.RWMutex
		objects map[string]memVersion
		clock   int64 // versions made
	}
}

type memVersion struct {
	data []byte // never changed
	info storage.Info
}

var (
	_ storage.Store    = (*Mem)(nil)
	_ storage.Replacer = (*Mem)(nil)
)

// NewMem returns an empty Mem.
func NewMem() *Mem {
	m := &Mem{}
	m.mu.objects = make(map[string]memVersion)
	return m
}

// Clone returns a store of its own with the same objects: the state before an experiment.
func (m *Mem) Clone() *Mem {
	m.mu.RLock()
	defer m.mu.RUnlock()
	c := NewMem()
	c.mu.objects = maps.Clone(m.mu.objects)
	c.mu.clock = m.mu.clock
	return c
}

// Paths returns the paths of all objects, sorted.
func (m *Mem) Paths() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Sorted(maps.Keys(m.mu.objects))
}

func (m *Mem) find(ctx context.Context, op, path string) (memVersion, error) {
	if err := ctx.Err(); err != nil {
		return memVersion{}, fmt.Errorf("%s %s: %w", op, path, err)
	}
	if err := storage.CheckPath(path); err != nil {
		return memVersion{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	v, ok := m.mu.objects[path]
	if !ok {
		return memVersion{}, fmt.Errorf("%s %s: %w", op, path, fs.ErrNotExist)
	}
	return v, nil
}

// Stat implements storage.Store.
func (m *Mem) Stat(ctx context.Context, path string) (storage.Info, error) {
	v, err := m.find(ctx, "stat", path)
	return v.info, err
}

// Open implements storage.Store.
func (m *Mem) Open(ctx context.Context, path string) (storage.Object, error) {
	v, err := m.find(ctx, "open", path)
	if err != nil {
		return nil, err
	}
	return &memObject{ctx: ctx, v: v}, nil
}

type memObject struct {
	ctx context.Context
	v   memVersion
}

func (o *memObject) ReadAt(p []byte, off int64) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, fmt.Errorf("read %s: %w", o.v.info.Path, err)
	}
	if off < 0 {
		return 0, fmt.Errorf("read %s at %d: %w", o.v.info.Path, off, fs.ErrInvalid)
	}
	if off >= int64(len(o.v.data)) {
		return 0, io.EOF
	}
	n := copy(p, o.v.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (o *memObject) Info() storage.Info { return o.v.info }
func (o *memObject) Close() error       { return nil }

// ReadAll implements storage.Store.
func (m *Mem) ReadAll(ctx context.Context, path string) ([]byte, error) {
	v, err := m.find(ctx, "read", path)
	return bytes.Clone(v.data), err
}

// Put implements storage.Store.
func (m *Mem) Put(ctx context.Context, path string, data []byte, mode storage.PutMode) (storage.Info, error) {
	return m.put(ctx, path, bytes.Clone(data), mode, "")
}

// PutIfMatch implements storage.Replacer.
func (m *Mem) PutIfMatch(ctx context.Context, path string, data []byte, etag string) (storage.Info, error) {
	if etag == "" {
		return storage.Info{}, fmt.Errorf("put %s: the expected etag is empty: %w", path, fs.ErrInvalid)
	}
	return m.put(ctx, path, bytes.Clone(data), storage.PutReplace, etag)
}

func (m *Mem) put(ctx context.Context, path string, data []byte, mode storage.PutMode, etag string) (storage.Info, error) {
	if err := ctx.Err(); err != nil {
		return storage.Info{}, fmt.Errorf("put %s: %w", path, err)
	}
	if err := storage.CheckPath(path); err != nil {
		return storage.Info{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, ok := m.mu.objects[path]
	if ok && mode == storage.PutIfAbsent {
		return storage.Info{}, fmt.Errorf("put %s: %w", path, storage.ErrExists)
	}
	if etag != "" && old.info.ETag != etag {
		return storage.Info{}, fmt.Errorf("put %s: have version %q, want %q: %w", path, old.info.ETag, etag, storage.ErrPrecondition)
	}
	m.mu.clock++
	i := storage.Info{Path: path, Size: int64(len(data)), ModTime: time.Now(), ETag: strconv.FormatInt(m.mu.clock, 10)}
	m.mu.objects[path] = memVersion{data: data, info: i}
	return i, nil
}

// Create implements storage.Store.
func (m *Mem) Create(ctx context.Context, path string, mode storage.PutMode) (storage.Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	if err := storage.CheckPath(path); err != nil {
		return nil, err
	}
	return &memWriter{ctx: ctx, m: m, path: path, mode: mode}, nil
}

type memWriter struct {
	ctx   context.Context
	m     *Mem
	path  string
	mode  storage.PutMode
	buf   bytes.Buffer
	ended bool
}

func (w *memWriter) Write(p []byte) (int, error) {
	if w.ended {
		return 0, fmt.Errorf("write %s after its end: %w", w.path, fs.ErrClosed)
	}
	return w.buf.Write(p)
}

func (w *memWriter) Commit() (storage.Info, error) {
	if w.ended {
		return storage.Info{}, fmt.Errorf("commit %s a second time: %w", w.path, fs.ErrClosed)
	}
	w.ended = true
	return w.m.put(w.ctx, w.path, w.buf.Bytes(), w.mode, "")
}

func (w *memWriter) Abort() error {
	w.ended = true
	return nil
}

// List implements storage.Store.
func (m *Mem) List(ctx context.Context, prefix string, o storage.ListOptions) iter.Seq2[storage.Info, error] {
	return func(yield func(storage.Info, error) bool) {
		if err := storage.CheckPrefix(prefix); err != nil {
			yield(storage.Info{}, err)
			return
		}
		for _, i := range m.list(prefix, o) {
			if err := ctx.Err(); err != nil {
				yield(storage.Info{}, fmt.Errorf("list %s: %w", prefix, err))
				return
			}
			if !yield(i, nil) {
				return
			}
		}
	}
}

func (m *Mem) list(prefix string, o storage.ListOptions) []storage.Info {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var out []storage.Info
	seen := make(map[string]bool)
	for path, v := range m.mu.objects {
		rest, ok := strings.CutPrefix(path, prefix)
		if !ok {
			continue
		}
		i := v.info
		if name, _, sub := strings.Cut(rest, "/"); sub && !o.Recursive {
			i = storage.Info{Path: prefix + name + "/", Prefix: true}
		}
		if i.Path > o.StartAfter && !seen[i.Path] {
			seen[i.Path] = i.Prefix
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b storage.Info) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Delete implements storage.Store.
func (m *Mem) Delete(ctx context.Context, path string) error {
	if _, err := m.find(ctx, "delete", path); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.mu.objects[path]; !ok {
		return fmt.Errorf("delete %s: %w", path, fs.ErrNotExist)
	}
	delete(m.mu.objects, path)
	return nil
}

// Properties implements storage.Store.
func (m *Mem) Properties() storage.Properties {
	return storage.Properties{AtomicPutIfAbsent: true, ListAfterWrite: true, ConditionalPut: true}
}

// URL implements storage.Store.
func (m *Mem) URL() string { return "mem://" }

// Close implements storage.Store. The objects stay.
func (m *Mem) Close() error { return nil }
