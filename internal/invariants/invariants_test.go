package invariants

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	Check(true, "never")
	defer func() {
		r := recover()
		if (r != nil) != Enabled {
			t.Errorf("a broken invariant panics: %v; checks are on: %v", r != nil, Enabled)
		}
		if s, _ := r.(string); Enabled && !strings.Contains(s, "3 rows of 4") {
			t.Errorf("panic %q, want the message", s)
		}
	}()
	Check(false, "%d rows of %d", 3, 4)
}
