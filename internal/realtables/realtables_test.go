package realtables

import (
	"os"
	"path/filepath"
	"testing"
)

func TestUnzip(t *testing.T) {
	for _, name := range Names(t)[:3] {
		table, _ := UnzipOnly(t, name, Instants)
		info, err := os.Stat(filepath.Join(table, ".hoodie", "hoodie.properties"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// Completion times of version 6 come from it, so it must be that in the zip.
		if info.ModTime().Year() != 2024 {
			t.Errorf("%s: unpacked with modification time %v", name, info.ModTime())
		}
		if data, _ := filepath.Glob(filepath.Join(table, "*.parquet")); len(data) > 0 {
			t.Errorf("%s: unpacked data files %v, want instants alone", name, data)
		}
	}
}
