// Package arch holds no code: its test is the import diagram of the project.
package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"strings"
	"testing"
)

const module = "github.com/hudifs/hudifs/"

// layers ranks the packages; a package may import packages of lower layers only, never one of its own.
var layers = [][]string{
	{"internal/corrupt", "internal/datadriven", "internal/invariants", "internal/arch", "internal/realtables"},
	{"internal/storage", "internal/hfile", "internal/filecache", "internal/schema", "internal/bloom"},
	{"internal/storage/local", "internal/storage/bucket", "internal/storage/faultstore", "internal/storage/storagetest", "internal/tableconfig", "internal/record"},
	{"internal/avrocodec", "internal/parquetfile", "internal/keygen", "internal/rowtext", "timeline"},
	{"internal/keygen/keygentest", "internal/logfile", "timeline/action", "commitwatch"},
	{"timeline/history", "snapshot/fsview"},
	{"snapshot/merge"},
	{"snapshot/merge/mergetest", "snapshot/metatable"},
	{"snapshot"},
	{"writer/lock", "writer/conflict", "writer/handle", "writer/index"},
	{"writer/lock/memlock", "writer/lock/filelock", "writer/lock/flock", "writer/lock/locktest", "writer/index/indextest", "writer/metawriter"},
	{"writer/txn"},
	{"writer/service"},
	{"writer"},
	{"writer/ingest"},
	{"fusefs"},
	{"cmd/hudifs"},
	{"integration", "integration/lab"},
}

// forbidden are edges that the layers allow and the design does not.
var forbidden = map[string][]string{
	"fusefs":         {"writer"}, // drops arrive through fusefs.Ingester
	"commitwatch":    {"snapshot"},
	"internal/hfile": {"internal/schema"},
}

// fences say which packages may know a library.
var fences = map[string][]string{
	"gocloud.dev":                      {"internal/storage/bucket", "cmd/hudifs"},
	"github.com/hanwen/go-fuse":        {"fusefs", "cmd/hudifs"},
	"github.com/hamba/avro":            {"internal/schema", "internal/avrocodec"},
	"github.com/parquet-go/parquet-go": {"internal/record", "internal/parquetfile"},
	"github.com/fsnotify/fsnotify":     {"commitwatch"},
	"github.com/spf13/cobra":           {"cmd/hudifs"},
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func TestImports(t *testing.T) {
	rank := map[string]int{}
	for i, l := range layers {
		for _, p := range l {
			rank[p] = i
		}
	}
	for _, p := range list(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		mine, ok := rank[from]
		if !ok {
			t.Errorf("%s is in no layer: place it in internal/arch and in the architecture document", from)
			continue
		}
		for _, imp := range p.Imports {
			if to, own := strings.CutPrefix(imp, module); own {
				if r, ok := rank[to]; ok && r >= mine {
					t.Errorf("%s may not import %s", from, to)
				}
				for _, f := range forbidden[from] {
					if to == f || strings.HasPrefix(to, f+"/") {
						t.Errorf("%s may not import %s", from, to)
					}
				}
				continue
			}
			for lib, may := range fences {
				if imp != lib && !strings.HasPrefix(imp, lib+"/") || contains(may, from) {
					continue
				}
				t.Errorf("%s may not know %s (only %s)", from, imp, strings.Join(may, ", "))
			}
		}
	}
}

func TestTopLevel(t *testing.T) {
	allowed := map[string]bool{"timeline": true, "snapshot": true, "writer": true, "commitwatch": true, "fusefs": true, "cmd": true, "integration": true, "internal": true}
	for _, p := range list(t) {
		top, _, _ := strings.Cut(strings.TrimPrefix(p.ImportPath, module), "/")
		if !allowed[top] {
			t.Errorf("package %s lies in %s, which is not one of the top-level directories", p.ImportPath, top)
		}
	}
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = path.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func contains(all []string, s string) bool {
	for _, a := range all {
		if a == s {
			return true
		}
	}
	return false
}
