package filecache

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// recover rebuilds the index from the directory. The lock is held, so whatever lies in tmp/ is of a process that has ended.
func (c *Cache) recover() error {
	if err := os.RemoveAll(filepath.Join(c.dir, "tmp")); err != nil {
		return fmt.Errorf("sweep unfinished files: %w", err)
	}
	if err := c.makeDirs(); err != nil {
		return err
	}
	if err := c.sizes.open(filepath.Join(c.dir, "sizes"), c.log); err != nil {
		return err
	}
	same, err := c.sameBoot()
	if err != nil {
		return err
	}
	files, err := os.ReadDir(filepath.Join(c.dir, "files"))
	if err != nil {
		return fmt.Errorf("list cached files: %w", err)
	}
	var found []found
	for _, f := range files {
		e, ok := c.examine(f, same)
		if ok {
			found = append(found, e)
			continue
		}
		if err := os.RemoveAll(c.path(f.Name())); err != nil {
			return fmt.Errorf("remove a stray file: %w", err)
		}
	}
	c.adopt(found)
	return nil
}

type found struct {
	e    *entry
	used time.Time
}

// examine decides whether a file in files/ can be used.
func (c *Cache) examine(f fs.DirEntry, sameBoot bool) (found, bool) {
	k, ok := parseName(f.Name())
	if !ok || !f.Type().IsRegular() {
		return found{}, false
	}
	fi, err := f.Info()
	if err != nil {
		return found{}, false
	}
	// Without a machine crash a rename comes after its bytes; after one, only what was forced to disk is whole.
	size, state, ok := c.sizes.state(k)
	if ok && size != fi.Size() || !sameBoot && state != durable {
		c.log.Info("a cached file is removed because it may be incomplete", "path", c.path(f.Name()))
		return found{}, false
	}
	if !ok {
		c.sizes.put(k, fi.Size(), onlySize)
	}
	return found{&entry{id: k, name: f.Name(), size: fi.Size()}, fi.ModTime()}, true
}

// adopt puts the files into the index, in order of use, and evicts down to the bound.
func (c *Cache) adopt(files []found) {
	slices.SortFunc(files, func(a, b found) int { return a.used.Compare(b.used) })
	c.mu.Lock()
	var victims []*entry
	for _, f := range files {
		if old := c.mu.entries[f.e.id]; old != nil {
			c.forgetLocked(old)
			victims = append(victims, old)
		}
		c.addLocked(f.e, 0)
	}
	victims = append(victims, c.evictLocked(c.maxBytes)...)
	c.mu.Unlock()
	c.remove(victims)
}

func parseName(name string) (k id, ok bool) {
	digits, suffix, ok := strings.Cut(name, "-")
	if !ok || suffix == "" || len(digits) != hex.EncodedLen(len(k)) {
		return k, false
	}
	_, err := hex.Decode(k[:], []byte(digits))
	return k, err == nil
}

// sameBoot reports whether the machine has run without a break since the directory was last opened, and notes this boot.
func (c *Cache) sameBoot() (bool, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		boot = nil // not known: trust nothing that is not durable
	}
	path := filepath.Join(c.dir, "boot")
	last, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if len(boot) > 0 && string(last) == string(boot) {
		return true, nil
	}
	if err := os.WriteFile(path, boot, 0o600); err != nil {
		return false, err
	}
	return false, nil
}
