package commitwatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Inotify wakes when instants appear or disappear in local directories.
type Inotify struct {
	// Dirs are the directories that may hold instants: .hoodie, and .hoodie/timeline of layout 2. One that is missing is watched as
	// soon as it is there.
	Dirs []string
	// Check is how often directories are compared with what is watched, since a directory put in another's place says nothing. 0
	// means 1s.
	Check time.Duration
}

const defaultCheck = time.Second

var _ Waker = Inotify{}

// Run wakes until ctx ends. It fails at once where inotify is not to be had, for instance because the user's watches are used up.
func (n Inotify) Run(ctx context.Context, wake func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("inotify: %w", err)
	}
	defer w.Close()
	s := watches{w: w, held: map[string]os.FileInfo{}}
	if err := s.update(n.Dirs); err != nil {
		return err
	}
	wake() // what came between the caller's last look and our watch
	every := n.Check
	if every <= 0 {
		every = defaultCheck
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.Events:
			if !ok {
				return errors.New("inotify: the watch ended")
			}
			if s.concerns(e) {
				wake()
			}
		case err, ok := <-w.Errors:
			if !ok {
				return errors.New("inotify: the watch ended")
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("inotify: %w", err)
			}
			wake() // events were lost: look at everything
		case <-tick.C:
			before := s.changes
			if err := s.update(n.Dirs); err != nil {
				return err
			}
			if s.changes != before {
				wake()
			}
		}
	}
}

// watches are the directories being watched, with their identity.
type watches struct {
	w       *fsnotify.Watcher
	held    map[string]os.FileInfo
	changes int // times that update found a difference
}

// update watches what is there now, and lets go of what has been replaced.
func (s *watches) update(dirs []string) error {
	for _, d := range dirs {
		now, err := os.Stat(d)
		old, watched := s.held[d]
		if err != nil {
			if watched {
				s.drop(d)
			}
			continue
		}
		if watched && os.SameFile(old, now) {
			continue
		}
		if watched {
			s.drop(d)
		}
		if err := s.w.Add(d); err != nil {
			if errors.Is(err, os.ErrNotExist) {
				continue // gone again
			}
			return fmt.Errorf("inotify: watch %s: %w", d, err)
		}
		s.held[d] = now
		s.changes++
	}
	return nil
}

func (s *watches) drop(d string) {
	s.changes++
	delete(s.held, d)
	s.w.Remove(d) // fails where the kernel let go already
}

// concerns reports whether an event can mean a changed timeline. Instants begin with a digit; temporary files of writers do not.
func (s *watches) concerns(e fsnotify.Event) bool {
	if _, dir := s.held[e.Name]; dir {
		if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
			s.drop(e.Name)
			return true
		}
		return e.Has(fsnotify.Create)
	}
	name := filepath.Base(e.Name)
	if e.Op == fsnotify.Chmod {
		return false
	}
	return name == "hoodie.properties" || name != "" && name[0] >= '0' && name[0] <= '9'
}
