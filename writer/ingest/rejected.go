package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// Reason is why a drop was rejected, as <drop>.reason.json says it.
type Reason struct {
	Drop      string    `json:"drop"` // path relative to its ingest directory
	Operation string    `json:"operation"`
	Time      time.Time `json:"time"`
	Code      string    `json:"code"`
	Line      int64     `json:"line,omitempty"`
	Character int64     `json:"character,omitempty"`
	Column    string    `json:"column,omitempty"`
	Type      string    `json:"type,omitempty"`
	Sample    string    `json:"sample,omitempty"`
	Message   string    `json:"message"`
	Retryable bool      `json:"retryable"` // the drop is not at fault: the same bytes may be committed later
	Size      int64     `json:"size"`
	UID       uint32    `json:"uid"`
	Key       string    `json:"key"`
}

const reasonSuffix = ".reason.json"

func reasonOf(n *node, err error, now time.Time) Reason {
	r := Reason{Drop: n.Path, Operation: n.Operation, Time: now, Code: "storage", Message: err.Error(), Retryable: true, Size: n.Size, UID: n.UID, Key: n.Key}
	var re *RowError
	if errors.As(err, &re) {
		r.Code, r.Line, r.Character, r.Column, r.Type, r.Sample = re.Code, re.Line, re.Char, re.Column, re.Type, re.Sample
		r.Retryable = false
	}
	return r
}

// reject settles a drop that is not committed: its bytes and the reason lie among the rejected ones before anybody is told.
func (q *Queue) reject(n *node, err error) {
	r := reasonOf(n, err, q.now().UTC())
	name, serr := q.spool.reject(n, r)
	q.mu.Lock()
	defer q.mu.Unlock()
	n.err = outcome(fmt.Errorf("%s was not committed: %w", n.Path, err))
	if serr != nil {
		// The bytes stay where they are, under the drop's name.
		q.log.Error("a rejected drop could not be set aside", "name", n.Path, "err", serr)
		n.State, n.Reason = Abandoned, err.Error()
	}
	q.stats.Rejected++
	q.log.Warn("drop rejected", "name", n.Path, "rejected_as", name, "err", err)
	q.events.add("rejected", n, err.Error())
	if n.done != nil && !isClosed(n.done) {
		close(n.done)
	}
	switch {
	case serr != nil:
		_ = q.spool.save(&n.entry, true)
	case n.keep:
		n.State = Writing // the rename that waits puts it back under its old name
	default:
		q.drop(n)
		q.forget(n)
	}
}

// reject stores a drop's bytes and reason, and returns under which name. A drop that a crash made to be rejected again finds its first place.
func (s *spool) reject(n *node, r Reason) (string, error) {
	flat := strings.ReplaceAll(n.Path, "/", "__")
	if n.Operation != opUpsert {
		flat = n.Operation + "__" + flat
	}
	name := flat
	for i := 2; ; i++ {
		body, err := os.ReadFile(filepath.Join(s.rejected, name+reasonSuffix))
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Lstat(filepath.Join(s.rejected, name)); errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
		var have Reason
		if err == nil && json.Unmarshal(body, &have) == nil && have.Key == n.Key {
			break
		}
		ext := filepath.Ext(flat)
		name = fmt.Sprintf("%s~%d%s", strings.TrimSuffix(flat, ext), i, ext)
	}
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return name, err
	}
	if err := os.Link(s.data(n.ID), filepath.Join(s.rejected, name)); err != nil && !errors.Is(err, fs.ErrExist) {
		return name, err
	}
	if n.keep {
		// The spool file goes on living under the old name and may be written to: the rejected bytes must not change with it.
		if err := copyAside(filepath.Join(s.rejected, name)); err != nil {
			return name, err
		}
	}
	if err := writeDurably(filepath.Join(s.rejected, name+reasonSuffix), append(body, '\n')); err != nil {
		return name, err
	}
	return name, syncDir(s.rejected)
}

func copyAside(name string) error {
	src, err := os.Open(name)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.CreateTemp(filepath.Dir(name), ".copy-*")
	if err != nil {
		return err
	}
	_, err = dst.ReadFrom(src)
	if err = errors.Join(err, dst.Sync(), dst.Close()); err == nil {
		err = os.Rename(dst.Name(), name)
	}
	return err
}

func writeDurably(name string, body []byte) error {
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// RejectedFile is one file among the rejected drops.
type RejectedFile struct {
	ID      uint64
	Name    string
	Size    int64
	ModTime time.Time
}

// Rejected is the directory of rejected drops.
type Rejected struct{ dir string }

// Rejected returns the directory of rejected drops.
func (q *Queue) Rejected() *Rejected { return &Rejected{q.spool.rejected} }

// List returns the files, by name.
func (r *Rejected) List(context.Context) ([]RejectedFile, error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, err
	}
	var out []RejectedFile
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || strings.HasPrefix(e.Name(), ".copy-") || strings.HasSuffix(e.Name(), ".new") {
			continue
		}
		h := fnv.New64a()
		fmt.Fprintf(h, "%s\x00%d", e.Name(), info.ModTime().UnixNano())
		out = append(out, RejectedFile{ID: h.Sum64() | 1, Name: e.Name(), Size: info.Size(), ModTime: info.ModTime()})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

// Open opens one for reading.
func (r *Rejected) Open(_ context.Context, name string) (*os.File, error) {
	if name == "" || strings.ContainsRune(name, '/') || name == ".." {
		return nil, fs.ErrNotExist
	}
	return os.Open(filepath.Join(r.dir, name))
}

// Acknowledge removes one; with a drop's bytes go its companions.
func (r *Rejected) Acknowledge(_ context.Context, name string) error {
	if name == "" || strings.ContainsRune(name, '/') || name == ".." {
		return fs.ErrNotExist
	}
	if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
		return err
	}
	if strings.HasSuffix(name, reasonSuffix) {
		return nil
	}
	for _, c := range []string{reasonSuffix, ".bad"} {
		if err := os.Remove(filepath.Join(r.dir, name+c)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
