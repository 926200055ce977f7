package lab

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

// judgesVariable switches the tests that need other engines on. They take minutes, so that installing the laboratory must not
// by itself make every test run slow.
const judgesVariable = "HUDIFS_LAB"

// startWait is how long a judge may take to be ready on a busy machine.
const startWait = 3 * time.Minute

// Require starts a judge for a test and closes it at the test's end. Without HUDIFS_LAB=1 in the environment the test is
// skipped; with it, a laboratory that is not installed is a failure, because a check that was asked for must not pass unseen.
func Require(tb testing.TB, bundle string) *Session {
	tb.Helper()
	if os.Getenv(judgesVariable) == "" {
		tb.Skipf("judges are off: set %s=1, after integration/lab/setup, to have %s judge", judgesVariable, bundle)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	s, err := Start(ctx, bundle)
	if errors.Is(err, ErrNotInstalled) {
		tb.Fatalf("%v", err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close judge %s: %v", bundle, err)
		}
	})
	return s
}
