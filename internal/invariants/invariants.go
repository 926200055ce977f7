// Package invariants holds checks that cost nothing in release builds. They are compiled in by the build tag "invariants"
// or by -race, and panic, because a broken invariant is a fault of this program and never of its input.
package invariants

import "fmt"

// Check panics with the formatted message when ok is false and checks are on. Wrap costly conditions in if Enabled.
func Check(ok bool, format string, args ...any) {
	if Enabled && !ok {
		panic("invariant broken: " + fmt.Sprintf(format, args...))
	}
}
