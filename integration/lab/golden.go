package lab

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

// GoldenTable is one table that another engine wrote, packed with what that engine read of it.
type GoldenTable struct {
	Name string // of the zip, without its extension: <type>_v<version>[_by<engine>]_<scenario>
	zip  string
}

// Index says what the engine did to a golden table and what it read; expected/index.json of the zip.
type Index struct {
	Name       string          `json:"name"`
	Engine     string          `json:"engine"`  // that read the rows
	Writer     string          `json:"writer"`  // that wrote the table; "" where it is the same
	Version    int             `json:"version"` // table version when the last operation was done
	Type       string          `json:"type"`    // "COW" or "MOR"
	Operations []string        `json:"operations"`
	Notes      []string        `json:"notes"`
	Pending    []string        `json:"pending"` // instant files without a completed one
	Instants   []GoldenInstant `json:"instants"`
	Windows    []GoldenWindow  `json:"windows"`
	LatestRows int             `json:"latest_rows"`
	LatestSum  string          `json:"latest_sha256"`
}

// GoldenInstant is one completed write of a golden table, in order of completion.
type GoldenInstant struct {
	Instant   string `json:"instant"`
	Action    string `json:"action"`    // "commit", "deltacommit", "replacecommit"
	Completed string `json:"completed"` // "" in layout 1
	Active    bool   `json:"active"`    // false: archived since
	Rows      int    `json:"rows"`      // by time travel when all was done
	Refused   string `json:"refused"`   // what the engine said instead, e.g. of a cleaned instant
	LiveRows  int    `json:"live_rows"`
	Thin      bool   `json:"thin"`        // time travel silently lacks rows whose files were cleaned: such a commit is to be refused
	LiveSum   string `json:"live_sha256"` // set where the rows seen right after the write differ from time travel's (see Live)
}

// GoldenWindow is a read of changes after one completed write up to and with another.
type GoldenWindow struct {
	Kind           string `json:"kind"`  // "incremental" or "cdc"
	After          string `json:"after"` // requested times; After "" is the start
	To             string `json:"to"`
	AfterCompleted string `json:"after_completed"`
	ToCompleted    string `json:"to_completed"`
	Rows           int    `json:"rows"`
	File           string `json:"file"`
	Refused        string `json:"refused"`
}

// goldenFolder is where the zips are, from the repository's root.
const goldenFolder = "integration/testdata/golden"

// pending are golden tables that hudifs does not read as Spark does yet, with what differs. The list only shrinks.
var pending = map[string]string{
	"mor_v8_by102_upgraded":         "upgraded from version 6: deletes and later rows of logs from before the upgrade are merged by the wrong rule",
	"mor_v9_by120_upgraded_six":     "upgraded from version 6: logs from before the upgrade are not merged",
	"mor_v8_overwrite_non_defaults": "OverwriteNonDefaultsWithLatestAvroPayload in version 8: a default value in the log keeps the older column, Spark takes the newer",
	"mor_v6_schema_on_read":         "a renamed column is read by its id, while Spark was asked with schema on read switched off and shows null",
}

// Golden lists the golden tables, by name, but for those that are pending. It finds them from any directory of the repository.
func Golden() ([]GoldenTable, error) {
	root, err := repositoryRoot()
	if err != nil {
		return nil, err
	}
	zips, err := filepath.Glob(filepath.Join(root, goldenFolder, "*.zip"))
	if err != nil {
		return nil, fmt.Errorf("list golden tables: %w", err)
	}
	if len(zips) == 0 {
		return nil, fmt.Errorf("list golden tables: no zip in %s", filepath.Join(root, goldenFolder))
	}
	sort.Strings(zips)
	var out []GoldenTable
	for _, z := range zips {
		name := strings.TrimSuffix(filepath.Base(z), ".zip")
		if _, ok := pending[name]; !ok {
			out = append(out, GoldenTable{Name: name, zip: z})
		}
	}
	return out, nil
}

// repositoryRoot walks up from the working directory to the folder with go.mod.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("find the repository: no go.mod above the working directory")
		}
		dir = up
	}
}

// Index reads what is said of the table.
func (g GoldenTable) Index() (*Index, error) {
	b, err := g.read("expected/index.json")
	if err != nil {
		return nil, err
	}
	var x Index
	if err := json.Unmarshal(b, &x); err != nil {
		return nil, fmt.Errorf("golden %s: index.json: %w", g.Name, err)
	}
	return &x, nil
}

// At returns the rows that time travel to a completed write gave, as sorted canonical lines.
func (g GoldenTable) At(instant string) ([]string, error) { return g.lines(instant + ".jsonl") }

// Live returns the rows that were latest right after a write completed, before anything later was done to the table.
// Time travel shows them under the table's last schema and refuses what was cleaned; apart from that they agree.
func (g GoldenTable) Live(instant string) ([]string, error) {
	l, err := g.lines(instant + ".live.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		return g.At(instant)
	}
	return l, err
}

// Latest returns the rows of the table as it is.
func (g GoldenTable) Latest() ([]string, error) { return g.lines("latest.jsonl") }

// ReadOptimized returns the rows of the base files alone, of a MOR table.
func (g GoldenTable) ReadOptimized() ([]string, error) { return g.lines("read_optimized.jsonl") }

// Window returns the rows of w: changed rows, or CDC rows with the members op, ts_ms, before and after (images without
// meta columns and without nulls).
func (g GoldenTable) Window(w GoldenWindow) ([]string, error) { return g.lines(w.File) }

func (g GoldenTable) lines(file string) ([]string, error) {
	b, err := g.read("expected/" + file)
	if err != nil {
		return nil, err
	}
	return splitLines(string(b)), nil
}

// splitLines cuts text whose every line ends in a newline; other line separators may stand inside a line.
func splitLines(text string) []string {
	if text == "" {
		return []string{}
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func (g GoldenTable) read(name string) ([]byte, error) {
	z, err := zip.OpenReader(g.zip)
	if err != nil {
		return nil, fmt.Errorf("golden %s: %w", g.Name, err)
	}
	defer z.Close()
	b, err := fs.ReadFile(z, name)
	if err != nil {
		return nil, fmt.Errorf("golden %s: %w", g.Name, err)
	}
	return b, nil
}

// Unpack lays the table into a new folder under parent and returns its path. File times are kept, to the second.
func (g GoldenTable) Unpack(parent string) (string, error) {
	z, err := zip.OpenReader(g.zip)
	if err != nil {
		return "", fmt.Errorf("golden %s: %w", g.Name, err)
	}
	defer z.Close()
	base := filepath.Join(parent, g.Name)
	if err := os.Mkdir(base, 0o755); err != nil {
		return "", fmt.Errorf("golden %s: %w", g.Name, err)
	}
	for _, e := range z.File {
		rel, ok := strings.CutPrefix(e.Name, "table/")
		if !ok {
			continue
		}
		if err := unpackEntry(e, base, rel); err != nil {
			return "", fmt.Errorf("golden %s: %w", g.Name, err)
		}
	}
	return base, nil
}

func unpackEntry(e *zip.File, base, rel string) error {
	if !filepath.IsLocal(path.Clean(rel)) {
		return fmt.Errorf("entry %q leaves the table", e.Name)
	}
	to := filepath.Join(base, filepath.FromSlash(rel))
	if strings.HasSuffix(e.Name, "/") {
		return os.MkdirAll(to, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	r, err := e.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("entry %s: %w", e.Name, err)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		return err
	}
	return os.Chtimes(to, e.Modified, e.Modified)
}
