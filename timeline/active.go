package timeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// ErrState says that a transition does not fit the state in which the instant is.
var ErrState = errors.New("instant is not in the state for this step")

// Active is the active timeline of one table, and the only code that writes instant files. A transition creates a file that was not
// there; nothing is renamed or rewritten (timeline.md §3.5). Safe for concurrent use.
type Active struct {
	st    storage.Store
	place place
}

// NewActive returns the active timeline of the table at the base path of st.
func NewActive(st storage.Store, cfg *tableconfig.Config) *Active {
	return &Active{st: st, place: placeOf(cfg)}
}

// Layout is the timeline's layout, 1 or 2.
func (a *Active) Layout() int { return a.place.layout }

// Path is the instant's file, relative to the base path.
func (a *Active) Path(i Instant) string {
	if i.File != "" {
		return a.place.dir + i.File
	}
	return a.place.dir + i.FileName(a.place.layout)
}

// Read returns the body of the instant in its state. Pending instants may have none; a completed one without is damaged.
func (a *Active) Read(ctx context.Context, i Instant) ([]byte, error) {
	path := a.Path(i)
	body, err := a.st.ReadAll(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read instant %s: %w", i, err)
	}
	if len(body) == 0 && i.State == Completed {
		return nil, corrupt.At(path, 0, "the completed instant %s is empty: its writer died while writing it, or the disk was full", i)
	}
	return body, nil
}

// ReadRequested returns the body of the requested file, which holds the plan of a service action, also where the instant is further on.
func (a *Active) ReadRequested(ctx context.Context, i Instant) ([]byte, error) {
	requested, _ := a.place.states(i)
	return a.readFirst(ctx, i, requested)
}

// ReadInflight returns the body of the inflight file, also where the instant has completed.
func (a *Active) ReadInflight(ctx context.Context, i Instant) ([]byte, error) {
	_, inflight := a.place.states(i)
	return a.readFirst(ctx, i, inflight)
}

func (a *Active) readFirst(ctx context.Context, i Instant, names []string) ([]byte, error) {
	for _, name := range names {
		body, err := a.st.ReadAll(ctx, a.place.dir+name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return body, err
		}
	}
	return nil, fmt.Errorf("read plan of instant %s: none of %s in %s: %w", i, strings.Join(names, ", "), a.place.dir, fs.ErrNotExist)
}

// create publishes a file that must not be there yet. Where the store cannot say whether it did, the bytes there decide: equal bytes
// that can only be ours are success.
func (a *Active) create(ctx context.Context, i Instant, body []byte) (Instant, error) {
	i.File = i.FileName(a.place.layout)
	path := a.place.dir + i.File
	info, err := a.st.Put(ctx, path, body, storage.PutIfAbsent)
	if errors.Is(err, storage.ErrAmbiguous) && len(body) > 0 {
		if have, e := a.st.ReadAll(ctx, path); e == nil && bytes.Equal(have, body) {
			info, err = a.st.Stat(ctx, path)
		}
	}
	if err != nil {
		return Instant{}, fmt.Errorf("create %s: %w", path, err)
	}
	return a.place.complete(i, info.ModTime), nil
}

// Request creates a new instant in state requested. plan is empty for a commit or deltacommit. storage.ErrExists: the time is taken.
func (a *Active) Request(ctx context.Context, at InstantTime, act Action, plan []byte) (Instant, error) {
	info, ok := actions[act]
	if _, err := ParseInstantTime(string(at)); err != nil {
		return Instant{}, err
	}
	if !ok || info.noRequest || info.onlyLayout > a.place.layout {
		return Instant{}, fmt.Errorf("request %s at %s: layout %d has no such requested instant", act, at, a.place.layout)
	}
	return a.create(ctx, Instant{Time: at, Action: act, State: Requested}, plan)
}

// Start creates the inflight file of a requested instant. A savepoint has no requested state: give an Instant with its time and action.
// storage.ErrExists: it was started before.
func (a *Active) Start(ctx context.Context, i Instant, body []byte) (Instant, error) {
	if !actions[i.Action].noRequest {
		if err := a.requireState(ctx, i, Requested); err != nil {
			return Instant{}, err
		}
	}
	return a.create(ctx, Instant{Time: i.Time, Action: i.Action, State: Inflight}, body)
}

// Complete publishes the instant: from then on readers see what it did. done is its completion time, greater than its own and than that
// of all completed instants; take it from the clock inside the table lock. Layout 1 has no place for it. storage.ErrExists: somebody
// completed it before.
func (a *Active) Complete(ctx context.Context, i Instant, done InstantTime, body []byte) (Instant, error) {
	if len(body) == 0 {
		return Instant{}, fmt.Errorf("complete %s: a completed instant needs a body", i)
	}
	out := Instant{Time: i.Time, Action: i.Action.Completes(), State: Completed}
	if a.place.layout >= 2 {
		if done <= i.Time {
			return Instant{}, fmt.Errorf("complete %s: completion time %s is not greater than its own", i, done)
		}
		out.Completion = done
		if err := a.requireUncompleted(ctx, out); err != nil {
			return Instant{}, err
		}
	}
	if err := a.requireState(ctx, i, Inflight); err != nil {
		return Instant{}, err
	}
	return a.create(ctx, out, body)
}

// requireState checks that the instant's file of state s is there.
func (a *Active) requireState(ctx context.Context, i Instant, s State) error {
	name := Instant{Time: i.Time, Action: i.Action, State: s}.FileName(a.place.layout)
	_, err := a.st.Stat(ctx, a.place.dir+name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s has no %s (was it rolled back?)", ErrState, i, name)
	}
	if err != nil {
		return fmt.Errorf("look for %s: %w", name, err)
	}
	return nil
}

// requireUncompleted fails with storage.ErrExists where the instant has completed with another completion time, which create could not see.
func (a *Active) requireUncompleted(ctx context.Context, i Instant) error {
	done, err := a.completed(ctx, i)
	if err != nil {
		return err
	}
	if len(done) > 0 {
		return fmt.Errorf("complete %s: %s is there already: %w", i, done[0], storage.ErrExists)
	}
	return nil
}

// completed lists the completed files of instant i's time and action in layout 2.
func (a *Active) completed(ctx context.Context, i Instant) ([]string, error) {
	var names []string
	after := a.place.dir + string(i.Time) + "_"
	for info, err := range a.st.List(ctx, a.place.dir, storage.ListOptions{StartAfter: after}) {
		if err != nil {
			return nil, fmt.Errorf("list timeline %s: %w", a.place.dir, err)
		}
		if !strings.HasPrefix(info.Path, after) {
			break
		}
		have, ok := parseName(a.place.layout, strings.TrimPrefix(info.Path, a.place.dir))
		if ok && have.Action == i.Action.Completes() {
			names = append(names, have.File)
		}
	}
	return names, nil
}
