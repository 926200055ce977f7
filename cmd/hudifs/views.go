package main

import "github.com/hudifs/hudifs/fusefs"

// views are the renderings beside snapshots/, by directory name.
func (m *mounted) views() map[string]fusefs.View {
	return map[string]fusefs.View{"optimized": fusefs.ViewOptimized, "csv": fusefs.ViewCSV, "jsonl": fusefs.ViewJSONL}
}
