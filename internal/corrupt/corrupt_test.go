package corrupt

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestError(t *testing.T) {
	err := At("p/f.log", 12, "block ends early: %w", io.ErrUnexpectedEOF)
	if got, want := err.Error(), "p/f.log is damaged at byte 12: block ends early: unexpected EOF"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if got, want := At("p/f", -1, "no footer").Error(), "p/f is damaged: no footer"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	wrapped := fmt.Errorf("scan: %w", err)
	var e *Error
	if !Is(wrapped) || !errors.Is(wrapped, io.ErrUnexpectedEOF) || !errors.As(wrapped, &e) || e.Path != "p/f.log" || e.Offset != 12 {
		t.Errorf("the error is not found behind %v", wrapped)
	}
	if Is(io.ErrUnexpectedEOF) || Is(nil) {
		t.Error("Is says that other errors are damage")
	}
}
