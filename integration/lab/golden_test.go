package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goldenBudget is what the whole set may take in the repository, in bytes.
const goldenBudget = 30 << 20

func TestGoldenTablesAreWhole(t *testing.T) {
	tables, err := Golden()
	if err != nil {
		t.Fatal(err)
	}
	var total int64
	for _, g := range tables {
		st, err := os.Stat(g.zip)
		if err != nil {
			t.Fatal(err)
		}
		total += st.Size()
		t.Run(g.Name, func(t *testing.T) { checkGolden(t, g) })
	}
	if total > goldenBudget {
		t.Errorf("golden tables take %d bytes, want at most %d", total, goldenBudget)
	}
}

func checkGolden(t *testing.T, g GoldenTable) {
	x, err := g.Index()
	if err != nil {
		t.Fatal(err)
	}
	if x.Name != g.Name {
		t.Errorf("index names %q, want %q", x.Name, g.Name)
	}
	latest, err := g.Latest()
	if err != nil {
		t.Fatal(err)
	}
	checkLines(t, "latest", latest, x.LatestRows, x.LatestSum)
	for _, i := range x.Instants {
		if i.Refused == "" {
			rows, err := g.At(i.Instant)
			if err != nil {
				t.Fatal(err)
			}
			checkLines(t, i.Instant, rows, i.Rows, "")
		}
		if i.LiveSum != "" {
			rows, err := g.Live(i.Instant)
			if err != nil {
				t.Fatal(err)
			}
			checkLines(t, i.Instant+" live", rows, i.LiveRows, i.LiveSum)
		}
	}
	for _, w := range x.Windows {
		if w.Refused != "" {
			continue
		}
		rows, err := g.Window(w)
		if err != nil {
			t.Fatal(err)
		}
		checkLines(t, w.File, rows, w.Rows, "")
	}
}

func checkLines(t *testing.T, what string, lines []string, rows int, sum string) {
	t.Helper()
	if len(lines) != rows {
		t.Errorf("%s: %d rows, index says %d", what, len(lines), rows)
	}
	if !slices.IsSorted(lines) {
		t.Errorf("%s: lines are not sorted", what)
	}
	text := ""
	if len(lines) > 0 {
		text = strings.Join(lines, "\n") + "\n"
	}
	h := sha256.Sum256([]byte(text))
	if got := hex.EncodeToString(h[:]); sum != "" && got != sum {
		t.Errorf("%s: sha256 %s, index says %s", what, got, sum)
	}
}

func TestUnpackKeepsFilesAndTimes(t *testing.T) {
	tables, err := Golden()
	if err != nil {
		t.Fatal(err)
	}
	g := tables[0]
	base, err := g.Unpack(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(filepath.Join(base, ".hoodie", "hoodie.properties"))
	if err != nil {
		t.Fatal(err)
	}
	if st.Size() == 0 || st.ModTime().Year() < 2000 {
		t.Errorf("hoodie.properties: %d bytes of %v, want content and the writer's own time", st.Size(), st.ModTime())
	}
	if _, err := g.Unpack(filepath.Dir(base)); err == nil {
		t.Error("a second Unpack into the same place succeeded, want an error")
	}
}

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want []string
		same      bool
	}{
		{"both empty", nil, nil, true},
		{"order does not count", []string{"a", "b"}, []string{"b", "a"}, true},
		{"a row twice is not a row once", []string{"a", "a"}, []string{"a"}, false},
		{"missing", []string{"a"}, []string{"a", "b"}, false},
		{"other", []string{"a"}, []string{"b"}, false},
	} {
		if d := Diff(c.got, c.want); (d == "") != c.same {
			t.Errorf("%s: Diff(%q, %q) = %q", c.name, c.got, c.want, d)
		}
	}
}
