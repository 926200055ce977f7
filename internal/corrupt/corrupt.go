// Package corrupt holds the one error that says: these stored bytes are damaged.
//
// It knows a path, an offset and a cause. It must never know a format.
package corrupt

import (
	"errors"
	"fmt"
)

// Error says that the object at Path holds bytes that no writer of its format can have meant. Reading again does not help.
type Error struct {
	Path   string // object path relative to the table base path, or a name that tells the reader where to look
	Offset int64  // byte offset of the damage, -1 where it has none
	Err    error  // what is wrong
}

func (e *Error) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s is damaged: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s is damaged at byte %d: %v", e.Path, e.Offset, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// At returns an Error for path at offset with a formatted cause. A wrapped %w stays reachable by errors.Is.
func At(path string, offset int64, format string, args ...any) error {
	return &Error{Path: path, Offset: offset, Err: fmt.Errorf(format, args...)}
}

// Is reports whether err says that stored bytes are damaged.
func Is(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
