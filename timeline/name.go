package timeline

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotInstant says that a file name is none of an instant: it is foreign and ignored.
var ErrNotInstant = errors.New("not the name of an instant file")

// ParseFileName reads a file name of the timeline directory (timeline.md §3.3). A completed instant of layout 1, and a legacy one of
// layout 2, has no completion time in its name: the caller fills it in from the file's modification time. Names of other files fail
// with ErrNotInstant.
func ParseFileName(layout int, name string) (Instant, error) {
	i, ok := parseName(layout, name)
	if !ok {
		return Instant{}, fmt.Errorf("%q: %w", name, ErrNotInstant)
	}
	return i, nil
}

// parseName does not allocate: it is called for every file of the directory.
func parseName(layout int, name string) (Instant, bool) {
	n := digitsLen(name)
	if n == 0 || n > maxDigits || n == len(name) {
		return Instant{}, false
	}
	i := Instant{Time: InstantTime(name[:n]), File: name, State: Completed}
	rest := name[n:]
	if layout >= 2 && rest[0] == '_' {
		c := digitsLen(rest[1:])
		if c == 0 || c > maxDigits {
			return Instant{}, false
		}
		i.Completion, rest = InstantTime(rest[1:1+c]), rest[1+c:]
	}
	word, ok := strings.CutPrefix(rest, ".")
	if !ok {
		return Instant{}, false
	}
	if word == "inflight" {
		i.Action, i.State = Commit, Inflight
		return i, i.Completion == ""
	}
	if w, ok := strings.CutSuffix(word, ".requested"); ok {
		i.State, word = Requested, w
	} else if w, ok := strings.CutSuffix(word, ".inflight"); ok {
		i.State, word = Inflight, w
	}
	i.Action = Action(word)
	info, ok := actions[i.Action]
	switch {
	case !ok || info.onlyLayout > layout:
		return Instant{}, false
	case i.State != Completed:
		pendingName := i.State == Requested && info.noRequest || i.State == Inflight && i.Action == Commit
		return i, i.Completion == "" && !pendingName
	}
	i.Legacy = layout >= 2 && i.Completion == ""
	return i, info.completes == i.Action
}

// FileName is the name that the instant's file has in its state.
func (i Instant) FileName(layout int) string {
	switch {
	case i.State == Requested:
		return string(i.Time) + "." + string(i.Action) + ".requested"
	case i.State == Inflight && i.Action == Commit:
		return string(i.Time) + ".inflight"
	case i.State == Inflight:
		return string(i.Time) + "." + string(i.Action) + ".inflight"
	case layout >= 2 && !i.Legacy:
		return string(i.Time) + "_" + string(i.Completion) + "." + string(i.Action.Completes())
	}
	return string(i.Time) + "." + string(i.Action.Completes())
}
