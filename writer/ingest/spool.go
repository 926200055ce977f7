package ingest

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// State is how far a drop has come.
type State string

// The states.
const (
	Writing    State = "writing"
	Sealed     State = "sealed"
	Committing State = "committing"
	Committed  State = "committed"
	Abandoned  State = "abandoned"
)

// entry is what the spool remembers of one name: a file "<id>.json" beside the bytes "<id>.data".
type entry struct {
	ID        uint64      `json:"id"`
	Parent    uint64      `json:"parent"` // 0: the operation's top directory
	Operation string      `json:"operation"`
	Name      string      `json:"name"`
	Dir       bool        `json:"dir,omitempty"`
	Mode      fs.FileMode `json:"mode"`
	UID       uint32      `json:"uid"`
	GID       uint32      `json:"gid"`
	PID       uint32      `json:"pid,omitempty"`
	ModTime   *time.Time  `json:"mtime,omitempty"` // set by utimens
	State     State       `json:"state,omitempty"`

	// Key is the drop's identity in the table's timeline, for ever: random, given when it is sealed.
	Key     string    `json:"key,omitempty"`
	Path    string    `json:"path,omitempty"` // when it was sealed, relative to the operation's directory
	Size    int64     `json:"size,omitempty"` // when it was sealed
	Skip    int64     `json:"skip,omitempty"` // bytes at the front whose rows belong to an earlier drop
	Sealed  time.Time `json:"sealed,omitzero"`
	Since   string    `json:"since,omitempty"`   // the greatest instant before the first attempt to commit it
	Group   uint64    `json:"group,omitempty"`   // drops of one group are one commit
	Instant string    `json:"instant,omitempty"` // of its commit
	Done    time.Time `json:"done,omitzero"`
	Reason  string    `json:"reason,omitempty"` // why it was abandoned, or why the last attempt failed
	Hidden  bool      `json:"hidden,omitempty"` // its name was taken over or removed; it is still to be committed
}

// spool is the directory of staged drops. It is locked: two daemons must not commit the same drop.
type spool struct {
	dir      string
	rejected string
	lock     *os.File
}

func openSpool(dir string) (*spool, error) {
	s := &spool{dir: filepath.Join(dir, "drops"), rejected: filepath.Join(dir, "rejected")}
	for _, d := range []string{s.dir, s.rejected} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("open spool: %w", err)
		}
	}
	var err error
	if s.lock, err = lockFile(filepath.Join(dir, "lock")); err != nil {
		return nil, fmt.Errorf("open spool %s: %w", dir, err)
	}
	return s, nil
}

func (s *spool) close() error { return s.lock.Close() }

func (s *spool) data(id uint64) string {
	return filepath.Join(s.dir, strconv.FormatUint(id, 10)+".data")
}
func (s *spool) meta(id uint64) string {
	return filepath.Join(s.dir, strconv.FormatUint(id, 10)+".json")
}

// save writes an entry. durable: it is on disk when save returns, with the bytes' own durability being the caller's business.
func (s *spool) save(e *entry, durable bool) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	tmp := s.meta(e.ID) + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("save drop %s: %w", e.Name, err)
	}
	_, err = f.Write(body)
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, s.meta(e.ID))
	}
	if err == nil && durable {
		err = s.sync()
	}
	if err != nil {
		return fmt.Errorf("save drop %s: %w", e.Name, err)
	}
	return nil
}

// sync makes names in the spool durable.
func (s *spool) sync() error { return syncDir(s.dir) }

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// remove forgets an entry: its record first, so that a crash leaves bytes without a record, which load keeps as abandoned, and never the reverse.
func (s *spool) remove(id uint64) error {
	err := os.Remove(s.meta(id))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if derr := os.Remove(s.data(id)); derr != nil && !errors.Is(derr, fs.ErrNotExist) {
		err = errors.Join(err, derr)
	}
	return err
}

// load reads the entries that an earlier run left. A record that can't be read keeps its bytes, under a name that says so.
func (s *spool) load() ([]*entry, error) {
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("read spool: %w", err)
	}
	known := map[uint64]bool{}
	var out []*entry
	for _, n := range names {
		base, ok := strings.CutSuffix(n.Name(), ".json")
		id, perr := strconv.ParseUint(base, 10, 64)
		if !ok || perr != nil {
			continue
		}
		body, err := os.ReadFile(filepath.Join(s.dir, n.Name()))
		if err != nil {
			return nil, fmt.Errorf("read spool: %w", err)
		}
		e := &entry{}
		if json.Unmarshal(body, e) != nil || e.ID != id {
			continue
		}
		known[id] = true
		out = append(out, e)
	}
	for _, n := range names {
		base, ok := strings.CutSuffix(n.Name(), ".data")
		id, perr := strconv.ParseUint(base, 10, 64)
		if !ok || perr != nil || known[id] {
			continue
		}
		if info, err := n.Info(); err == nil && info.Size() == 0 {
			os.Remove(filepath.Join(s.dir, n.Name()))
			continue
		}
		out = append(out, &entry{ID: id, Operation: opUpsert, Name: fmt.Sprintf("recovered-%d", id), Mode: 0o600, State: Abandoned,
			Reason: "its record was lost in a crash; the bytes are whole as far as they were written"})
	}
	return out, nil
}

func newKey() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // crypto/rand never fails
	}
	return hex.EncodeToString(b[:])
}
