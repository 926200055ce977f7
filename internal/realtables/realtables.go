// Package realtables gives tests the tables that Java Hudi wrote, where they are at hand beside the repository.
//
// It knows where the zips lie and how to unpack one. Only tests import it.
package realtables

import (
	"archive/zip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Dir returns the directory of the zips: a shared/tables folder beside or above the repository root, found by walking up from the
// working directory. ok is false where there is none.
func Dir() (dir string, ok bool) {
	at, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		dir := filepath.Join(at, "shared", "tables")
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, true
		}
		up := filepath.Dir(at)
		if up == at {
			return "", false
		}
		at = up
	}
}

// Names returns the names of all tables, without .zip. It skips the test where there are none.
func Names(t testing.TB) []string {
	t.Helper()
	dir, ok := Dir()
	if !ok {
		t.Skip("no shared/tables folder beside the repository: the tables written by Java are not at hand")
	}
	zips, err := filepath.Glob(filepath.Join(dir, "*.zip"))
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(zips))
	for i, z := range zips {
		names[i] = strings.TrimSuffix(filepath.Base(z), ".zip")
	}
	return names
}

// Unzip unpacks the table called name (the zip's name without .zip) into a temporary directory. It returns the table's base path and
// the directory of its expected rows, "" where there are none. It skips the test where the tables are not at hand.
func Unzip(t testing.TB, name string) (table, expected string) {
	t.Helper()
	return UnzipOnly(t, name, func(string) bool { return true })
}

// Instants accepts what lies in a .hoodie or timeline directory: it is for tests that need no data files.
func Instants(path string) bool {
	dir := filepath.Base(filepath.Dir(path))
	return dir == ".hoodie" || dir == "timeline"
}

// UnzipOnly unpacks the files whose path below the zip's root keep accepts.
func UnzipOnly(t testing.TB, name string, keep func(path string) bool) (table, expected string) {
	t.Helper()
	dir, ok := Dir()
	if !ok {
		t.Skip("no shared/tables folder beside the repository: the tables written by Java are not at hand")
	}
	z, err := zip.OpenReader(filepath.Join(dir, name+".zip"))
	if err != nil {
		t.Fatalf("open table %s: %v", name, err)
	}
	defer z.Close()
	to := t.TempDir()
	for _, f := range z.File {
		root, _, _ := strings.Cut(f.Name, "/")
		if root == "__MACOSX" || root == "" || strings.HasPrefix(root, ".") {
			continue
		}
		table = filepath.Join(to, root)
		if !strings.HasSuffix(f.Name, "/") && !keep(f.Name) {
			continue
		}
		if err := extract(f, to); err != nil {
			t.Fatalf("unpack table %s: %v", name, err)
		}
	}
	expected = filepath.Join(dir, "expected", name)
	if _, err := os.Stat(expected); err != nil {
		expected = ""
	}
	return table, expected
}

// extract writes one entry below to, with its modification time: version-6 tables take completion times from it.
func extract(f *zip.File, to string) error {
	if !filepath.IsLocal(f.Name) {
		return &fs.PathError{Op: "unzip", Path: f.Name, Err: fs.ErrInvalid}
	}
	path := filepath.Join(to, f.Name)
	if strings.HasSuffix(f.Name, "/") {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		w.Close()
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.Chtimes(path, time.Time{}, f.Modified)
}
