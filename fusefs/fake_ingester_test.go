package fusefs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"
)

// fakeIngester follows the contract of Ingester in memory, with real spool files. Names that end in .csv commit, unless a part of
// their path begins with a dot. Content decides: "bad" is rejected, "storage" fails, "slow" waits for release.
type fakeIngester struct {
	dir      string
	maxSize  int64 // 0: unlimited
	onCommit func(names []string)
	release  chan struct{}

	mu struct {
		sync.Mutex
		next    uint64
		names   map[string]*fakeDrop // by path, directories too
		byID    map[uint64]*fakeDrop
		commits []string // "name=content" per committed drop
		rejects []rejectedFake
	}
}

type rejectedFake struct {
	RejectedFile
	path string
}

type fakeDrop struct {
	in      *fakeIngester
	info    DropInfo
	path    string // in the tree; "" once replaced or removed
	spool   string
	base    int64 // rows begin here: appended drops
	sealed  int64 // size at the last seal
	why     string
	handles int
}

func newFakeIngester(dir string) *fakeIngester {
	in := &fakeIngester{dir: dir, release: make(chan struct{}), onCommit: func([]string) {}}
	in.mu.names, in.mu.byID = map[string]*fakeDrop{}, map[uint64]*fakeDrop{}
	return in
}

type fakeRefusal string

func (r fakeRefusal) Error() string   { return "refused: " + string(r) }
func (r fakeRefusal) Refusal() string { return string(r) }

func commits(p string) bool {
	for _, e := range strings.Split(p, "/") {
		if strings.HasPrefix(e, ".") || strings.HasPrefix(e, "_") {
			return false
		}
	}
	return strings.HasSuffix(p, ".csv")
}

// now needs the lock.
func (d *fakeDrop) now() DropInfo {
	i := d.info
	i.Name = path.Base(d.path)
	if st, err := os.Stat(d.spool); err == nil && !i.Dir {
		i.Size = st.Size()
		if i.ModTime.IsZero() {
			i.ModTime = st.ModTime()
		}
	}
	return i
}

// add needs the lock.
func (in *fakeIngester) add(p string, dir bool, o CreateOptions) *fakeDrop {
	in.mu.next++
	d := &fakeDrop{in: in, path: p, info: DropInfo{ID: in.mu.next, Dir: dir, Mode: o.Mode, UID: o.Writer.UID, GID: o.Writer.GID}}
	if !dir {
		d.spool = filepath.Join(in.dir, fmt.Sprint(d.info.ID))
	}
	in.mu.names[p] = d
	in.mu.byID[d.info.ID] = d
	return d
}

// parentOK needs the lock.
func (in *fakeIngester) parentOK(p string) bool {
	dir := path.Dir(p)
	if dir == "." {
		return true
	}
	d, ok := in.mu.names[dir]
	return ok && d.info.Dir
}

func (in *fakeIngester) Stat(_ context.Context, p string) (DropInfo, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if p == "" {
		return DropInfo{Dir: true, Mode: 0o755, ModTime: fakeEpoch}, nil
	}
	d, ok := in.mu.names[p]
	if !ok {
		return DropInfo{}, fs.ErrNotExist
	}
	return d.now(), nil
}

func (in *fakeIngester) StatID(_ context.Context, id uint64) (DropInfo, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	d, ok := in.mu.byID[id]
	if !ok {
		return DropInfo{}, fs.ErrNotExist
	}
	return d.now(), nil
}

func (in *fakeIngester) List(_ context.Context, dir string) ([]DropInfo, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if dir != "" && in.mu.names[dir] == nil {
		return nil, fs.ErrNotExist
	}
	var out []DropInfo
	for p, d := range in.mu.names {
		parent := path.Dir(p)
		if parent == "." {
			parent = ""
		}
		if parent == dir {
			out = append(out, d.now())
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

func (in *fakeIngester) open(d *fakeDrop, flag int) (Drop, error) {
	f, err := os.OpenFile(d.spool, flag|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	d.handles++
	return &fakeHandle{d: d, f: f}, nil
}

func (in *fakeIngester) Create(_ context.Context, p string, o CreateOptions) (Drop, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mu.names[p] != nil {
		return nil, fs.ErrExist
	}
	if !in.parentOK(p) {
		return nil, fs.ErrNotExist
	}
	return in.open(in.add(p, false, o), os.O_RDWR)
}

func (in *fakeIngester) Open(_ context.Context, id uint64, o OpenOptions) (Drop, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	d := in.mu.byID[id]
	if d == nil {
		return nil, fs.ErrNotExist
	}
	if !o.Write {
		return in.open(d, os.O_RDONLY)
	}
	if d.info.State != DropWriting && d.info.State != DropAbandoned {
		if !o.Truncate && !o.Append {
			return nil, fakeRefusal(RefusedSealed)
		}
		old := d
		d = in.add(old.path, false, CreateOptions{Mode: old.info.Mode, Writer: o.Writer})
		if !o.Truncate {
			b, err := os.ReadFile(old.spool)
			if err != nil {
				return nil, err
			}
			if err := os.WriteFile(d.spool, b, 0o600); err != nil {
				return nil, err
			}
			d.base = int64(len(b))
		}
		old.path = ""
	}
	d.info.State = DropWriting
	flag := os.O_RDWR
	if o.Truncate {
		flag |= os.O_TRUNC
	}
	return in.open(d, flag)
}

func (in *fakeIngester) Mkdir(_ context.Context, p string, o CreateOptions) (DropInfo, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mu.names[p] != nil {
		return DropInfo{}, fs.ErrExist
	}
	return in.add(p, true, o).now(), nil
}

func (in *fakeIngester) Remove(_ context.Context, p string) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	d := in.mu.names[p]
	switch {
	case d == nil:
		return fs.ErrNotExist
	case d.info.Dir:
		return fakeRefusal(RefusedIsDir)
	case d.info.State == DropCommitting:
		return fakeRefusal(RefusedBusy)
	}
	delete(in.mu.names, p)
	delete(in.mu.byID, d.info.ID)
	return nil
}

func (in *fakeIngester) RemoveDir(_ context.Context, p string) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	d := in.mu.names[p]
	if d == nil {
		return fs.ErrNotExist
	}
	if !d.info.Dir {
		return fakeRefusal(RefusedNotDir)
	}
	for q := range in.mu.names {
		if strings.HasPrefix(q, p+"/") {
			return fakeRefusal(RefusedNotEmpty)
		}
	}
	delete(in.mu.names, p)
	delete(in.mu.byID, d.info.ID)
	return nil
}

func (in *fakeIngester) Rename(ctx context.Context, from, to string, m RenameMode) error {
	in.mu.Lock()
	d := in.mu.names[from]
	if d == nil {
		in.mu.Unlock()
		return fs.ErrNotExist
	}
	if in.mu.names[to] != nil && m == RenameNoReplace {
		in.mu.Unlock()
		return fs.ErrExist
	}
	var batch []*fakeDrop
	var names []string
	for q, x := range in.mu.names {
		if q == from || strings.HasPrefix(q, from+"/") {
			n := to + strings.TrimPrefix(q, from)
			if !x.info.Dir && !commits(q) && commits(n) && x.now().Size > 0 && x.info.State == DropWriting {
				batch, names = append(batch, x), append(names, n)
			}
		}
	}
	in.mu.Unlock()
	if len(batch) > 0 {
		if err := in.commit(ctx, batch, names); err != nil {
			return err
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if old := in.mu.names[to]; old != nil && old != d {
		old.path = ""
		delete(in.mu.byID, old.info.ID)
	}
	for q, x := range in.mu.names {
		if q == from || strings.HasPrefix(q, from+"/") {
			delete(in.mu.names, q)
			x.path = to + strings.TrimPrefix(q, from)
			in.mu.names[x.path] = x
		}
	}
	return nil
}

func (in *fakeIngester) SetAttr(_ context.Context, id uint64, c AttrChange) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	d := in.mu.byID[id]
	if d == nil {
		return fs.ErrNotExist
	}
	if c.Mode != nil {
		d.info.Mode = *c.Mode
	}
	if c.UID != nil {
		d.info.UID = *c.UID
	}
	if c.GID != nil {
		d.info.GID = *c.GID
	}
	if c.ModTime != nil {
		d.info.ModTime = *c.ModTime
	}
	return nil
}

func (in *fakeIngester) Rejected() Rejected { return fakeRejected{in} }

func (in *fakeIngester) listRejected() []rejectedFake {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]rejectedFake(nil), in.mu.rejects...)
}

// commit decides the fate of drops that share one commit.
func (in *fakeIngester) commit(ctx context.Context, batch []*fakeDrop, names []string) error {
	var lines []string
	for i, d := range batch {
		b, err := os.ReadFile(d.spool)
		if err != nil {
			return err
		}
		text := string(b[d.base:])
		switch {
		case strings.Contains(text, "slow"):
			select {
			case <-in.release:
			case <-ctx.Done():
				return ctx.Err()
			}
		case strings.Contains(text, "storage"):
			return fakeRefusal(RefusedStorage)
		case strings.Contains(text, "bad"):
			in.reject(d, names[i], b)
			return fakeRefusal(RefusedRejected)
		}
		lines = append(lines, names[i]+"="+text)
	}
	in.mu.Lock()
	for _, d := range batch {
		d.info.State = DropCommitted
	}
	sort.Strings(lines)
	in.mu.commits = append(in.mu.commits, strings.Join(lines, "|"))
	in.mu.Unlock()
	in.onCommit(names)
	return nil
}

func (in *fakeIngester) reject(d *fakeDrop, name string, b []byte) {
	p := filepath.Join(in.dir, fmt.Sprintf("rejected-%d", d.info.ID))
	os.WriteFile(p, b, 0o600)
	in.mu.Lock()
	defer in.mu.Unlock()
	d.info.State = DropRejected
	in.mu.rejects = append(in.mu.rejects, rejectedFake{RejectedFile{ID: d.info.ID, Name: path.Base(name), Size: int64(len(b)), ModTime: time.Now()}, p})
}

// fakeHandle is an open drop.
type fakeHandle struct {
	d *fakeDrop
	f *os.File
}

func (h *fakeHandle) Info() DropInfo {
	h.d.in.mu.Lock()
	defer h.d.in.mu.Unlock()
	return h.d.now()
}

func (h *fakeHandle) File() *os.File  { return h.f }
func (h *fakeHandle) Unlimited() bool { return h.d.in.maxSize == 0 }

func (h *fakeHandle) Reserve(_ context.Context, end int64) error {
	if end > h.d.in.maxSize {
		return fakeRefusal(RefusedTooBig)
	}
	return nil
}

func (h *fakeHandle) Sync(context.Context) error { return h.f.Sync() }

func (h *fakeHandle) Seal(ctx context.Context) error {
	in := h.d.in
	in.mu.Lock()
	name, size := h.d.path, h.d.now().Size
	done := h.d.info.State == DropCommitted && size == h.d.sealed
	if done || !commits(name) || size == h.d.base {
		in.mu.Unlock()
		return nil
	}
	h.d.sealed = size
	h.d.info.State = DropCommitting
	in.mu.Unlock()
	return in.commit(ctx, []*fakeDrop{h.d}, []string{name})
}

func (h *fakeHandle) Abandon(_ context.Context, why string) error {
	h.d.in.mu.Lock()
	defer h.d.in.mu.Unlock()
	h.d.info.State, h.d.why = DropAbandoned, why
	return nil
}

func (h *fakeHandle) Close() error {
	h.d.in.mu.Lock()
	h.d.handles--
	h.d.in.mu.Unlock()
	return h.f.Close()
}

// List, Open and Acknowledge make it Rejected as well; Ingester has methods of the same names.
type fakeRejected struct{ in *fakeIngester }

func (r fakeRejected) List(context.Context) ([]RejectedFile, error) {
	var out []RejectedFile
	for _, f := range r.in.listRejected() {
		out = append(out, f.RejectedFile)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

func (r fakeRejected) Open(_ context.Context, name string) (*os.File, error) {
	for _, f := range r.in.listRejected() {
		if f.Name == name {
			return os.Open(f.path)
		}
	}
	return nil, fs.ErrNotExist
}

func (r fakeRejected) Acknowledge(_ context.Context, name string) error {
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	for i, f := range r.in.mu.rejects {
		if f.Name == name {
			r.in.mu.rejects = append(r.in.mu.rejects[:i:i], r.in.mu.rejects[i+1:]...)
			return nil
		}
	}
	return fs.ErrNotExist
}

var errStorage = errors.New("storage is down")
