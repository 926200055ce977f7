// Package timeline is the ledger of a table: what happened, in which order, in which state.
//
// It knows instants, their file names in both layouts, and who may write them. It must never know file groups or rows.
package timeline

// Instant is one entry of the timeline in its furthest state.
type Instant struct {
	Time       InstantTime // when it was requested; its name
	Completion InstantTime // when it completed; layout 1: from the file's modification time; zero while pending
	Action     Action
	State      State
	Legacy     bool   // layout 2: a completed file without completion time in its name, carried over from layout 1; its body is JSON
	File       string // file name of this state, without directory
}

// String prints the instant for messages.
func (i Instant) String() string {
	if i.State == Completed {
		return string(i.Time) + " " + string(i.Action)
	}
	return string(i.Time) + " " + string(i.Action) + " (" + i.State.String() + ")"
}
