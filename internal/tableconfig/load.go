package tableconfig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/storage"
)

// ErrNotTable says that there is no hoodie.properties: the base path holds no Hudi table, or not yet. It matches fs.ErrNotExist.
var ErrNotTable error = notTable{}

type notTable struct{}

func (notTable) Error() string        { return "not a Hudi table" }
func (notTable) Is(target error) bool { return target == fs.ErrNotExist }

// Another process may be between deleting and writing the file (timeline.md §2.3). A whole round of misses is repeated after
// missingDelay, damaged files after damagedDelay.
const (
	readRounds   = 5
	missingDelay = 20 * time.Millisecond
	damagedDelay = time.Second
	missRounds   = 3
)

// Load reads the table's properties by the protocol of timeline.md §2.3: the file, else its backup, else again, because an updater has
// moments in which only one of them is whole.
func Load(ctx context.Context, st storage.Store) (*Config, error) {
	p, err := load(ctx, st)
	if err != nil {
		return nil, fmt.Errorf("read table properties of %s: %w", st.URL(), err)
	}
	c, err := FromProperties(p)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", st.URL(), err)
	}
	return c, nil
}

func load(ctx context.Context, st storage.Store) (*Properties, error) {
	var last error
	misses := 0
	for round := range readRounds {
		p, found, err := readOnce(ctx, st)
		if p != nil {
			return p, nil
		}
		if found {
			last = err
		} else if misses++; misses == missRounds && last == nil {
			return nil, fmt.Errorf("%w: it has no %s", ErrNotTable, Path)
		}
		if err != nil && !corrupt.Is(err) && !errors.Is(err, errChecksum) {
			return nil, err
		}
		if round+1 < readRounds {
			if err := wait(ctx, found); err != nil {
				return nil, err
			}
		}
	}
	if last == nil {
		return nil, fmt.Errorf("%w: it has no %s", ErrNotTable, Path)
	}
	return nil, last
}

// wait pauses between rounds.
func wait(ctx context.Context, damaged bool) error {
	d := missingDelay
	if damaged {
		d = damagedDelay
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// errChecksum marks a file whose checksum is wrong: it may be half-written.
var errChecksum = errors.New("checksum of the table properties is wrong")

// readOnce tries the file and its backup. found says whether any of them exists; err is what is wrong with the main one.
func readOnce(ctx context.Context, st storage.Store) (p *Properties, found bool, err error) {
	for _, path := range []string{Path, BackupPath} {
		q, e := readFile(ctx, st, path)
		switch {
		case e == nil:
			return q, true, nil
		case errors.Is(e, fs.ErrNotExist):
		case corrupt.Is(e) || errors.Is(e, errChecksum):
			found = true
			if err == nil {
				err = e
			}
		default:
			return nil, false, e
		}
	}
	return nil, found, err
}

// readFile reads one properties file. A damaged one matches corrupt.Is or errChecksum.
func readFile(ctx context.Context, st storage.Store, path string) (*Properties, error) {
	data, err := st.ReadAll(ctx, path)
	if err != nil {
		return nil, err
	}
	p, err := ParseProperties(path, data)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 || p.Len() == 0 {
		return nil, corrupt.At(path, 0, "the file is empty")
	}
	if _, ok := p.Get(KeyChecksum); !ok && data[len(data)-1] != '\n' {
		// Every writer ends each line, and adds the checksum last but at a table's creation.
		return nil, corrupt.At(path, int64(len(data)), "the file has no checksum and ends within a line: it is cut off")
	}
	if err := verifyChecksum(p); err != nil {
		return nil, fmt.Errorf("%w: %w", errChecksum, err)
	}
	return p, nil
}
