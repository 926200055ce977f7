package fusefs

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"syscall"
)

// controlChild is .hudifs: what the mount says about itself. Its name begins with a dot so that globs pass it by.
func (f *FS) controlChild(root *fixedDir) fixedChild {
	d := fixedDir{path: root.path + "/" + nameControl}
	for _, c := range f.controlFiles() {
		path := nameControl + "/" + c.Name
		d.add(f.fixed(&d, c.Name, syscall.S_IFREG, func(b nodeBase) knownNode {
			if c.Local != "" {
				return &localNode{readOnly: readOnly{b}, path: path, local: c.Local}
			}
			return &textNode{readOnly: readOnly{b}, path: path, content: c.Content}
		}))
	}
	if r := f.rejected(); len(r) > 0 {
		d.add(f.fixed(&d, nameRejected, syscall.S_IFDIR, func(b nodeBase) knownNode {
			return &rejectedDir{readOnly: readOnly{b}, from: r}
		}))
	}
	children := d.children
	return f.fixed(root, nameControl, syscall.S_IFDIR, func(b nodeBase) knownNode {
		return &fixedDir{readOnly: readOnly{b}, path: d.path, children: children}
	})
}

// nameMetrics is there without being asked for.
const nameMetrics = "metrics"

func (f *FS) controlFiles() []ControlFile {
	has := func(c ControlFile) bool { return c.Name == nameMetrics }
	if slices.ContainsFunc(f.cfg.Control, has) {
		return f.cfg.Control
	}
	return append(slices.Clone(f.cfg.Control), ControlFile{Name: nameMetrics, Content: func(context.Context) ([]byte, error) { return f.Metrics(), nil }})
}

// Metrics are the mount's own counters as Prometheus text.
func (f *FS) Metrics() []byte {
	var b []byte
	for _, m := range []struct {
		name, kind, help string
		n                int64
	}{
		{"hudifs_mount_opens_total", "counter", "Snapshot files opened.", f.counters.opens.Load()},
		{"hudifs_mount_passthrough_opens_total", "counter", "Snapshot files handed to the kernel.", f.counters.passthrough.Load()},
		{"hudifs_mount_lookups_total", "counter", "Names looked up in snapshots.", f.counters.lookups.Load()},
		{"hudifs_mount_failures_total", "counter", "Requests that failed.", f.counters.failures.Load()},
		{"hudifs_mount_notifications_total", "counter", "Notifications sent to the kernel.", f.counters.notices.Load()},
		{"hudifs_mount_refreshes_total", "counter", "Times the timeline was read for the mount.", f.counters.refreshes.Load()},
		{"hudifs_mount_seals_total", "counter", "Drops sealed by close or rename.", f.counters.seals.Load()},
		{"hudifs_mount_abandoned_total", "counter", "Drops abandoned because their writer was killed.", f.counters.abandons.Load()},
		{"hudifs_mount_inodes", "gauge", "Inodes that the kernel holds.", int64(f.inodes.size())},
		{"hudifs_mount_commits", "gauge", "Snapshots shown.", int64(len(f.state.Load().commits))},
	} {
		b = fmt.Appendf(b, "# HELP %s %s\n# TYPE %s %s\n%s %d\n", m.name, m.help, m.name, m.kind, m.name, m.n)
	}
	return b
}

// readme is the text of README.txt, with this table's names.
func (f *FS) readme(context.Context) ([]byte, error) {
	s := f.state.Load()
	example, latest := "<instant>", "none yet"
	if c, ok := s.latest(); ok {
		example, latest = string(c.Instant), string(c.Instant)
	}
	var b []byte
	b = fmt.Appendf(b, `Table %s
%s

This directory is an Apache Hudi table, shown by hudifs. It has %d snapshots; the newest is %s.

READ
  latest/                    the table now: Parquet files, partitions as directories. A link: with each commit it points
                             to another snapshot. Programs that open many files should resolve it once:
                             S=$(readlink -f latest)
  snapshots/%s/
                             the table just after one commit; never changes
  at/<time>                  the snapshot of a time, found by name and not listed:
                             at/2026-11-29T10:00Z, at/2026-11-29, at/-2h, at/<instant>
  timeline/                  what happened to the table, one JSON file per instant
`, f.cfg.Source.Name(), f.cfg.Source.URL(), len(s.commits), latest, example)
	var names []string
	for n := range f.cfg.Views {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		b = fmt.Appendf(b, "  %-26s the same snapshots as %s\n", n+"/<instant>/", n)
	}
	if f.cfg.Ingest != nil && !f.cfg.ReadOnly {
		b = fmt.Appendf(b, `
WRITE
  cp new.csv ingest/         drop a file: its rows are inserted, and those whose key is there are updated, in one commit.
                             csv, tsv, json, jsonl, ndjson, avro, parquet; plain or .gz .zst .bz2. The exit status of cp and mv
                             says whether the rows are in. Dotfiles and names such as *.tmp wait until they are renamed.
`)
		ops := make([]string, 0, len(f.cfg.Operations))
		for n := range f.cfg.Operations {
			ops = append(ops, n)
		}
		sort.Strings(ops)
		for _, n := range ops {
			b = fmt.Appendf(b, "  %-26s the same with the write operation %s\n", "operations/"+n+"/", n)
		}
		b = fmt.Appendf(b, "  .hudifs/rejected/          drops that could not become rows, each with its reason; remove one to acknowledge it\n")
	} else {
		b = fmt.Appendf(b, "\nThis mount takes no drops: nothing in it can be changed.\n")
	}
	b = fmt.Appendf(b, "\nSTATE\n")
	for _, c := range f.controlFiles() {
		b = fmt.Appendf(b, "  .hudifs/%s\n", c.Name)
	}
	return b, nil
}
