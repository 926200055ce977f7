package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/timeline"
)

// DefaultFilesPerLevel is hoodie.timeline.compaction.batch.size.
const DefaultFilesPerLevel = 10

// Limits of one level compaction (timeline.md §6.2).
const (
	minMerged      = 2
	maxMergedBytes = 1 << 30
	maxLevel       = 9 // a level is one digit
	keptManifests  = 3
)

// Compact merges the oldest files of every level that has filesPerLevel or more into one file of the next level, and deletes what no
// recent manifest names. The caller holds the table lock; it runs after Append.
func (h *History) Compact(ctx context.Context, filesPerLevel int) error {
	if filesPerLevel < minMerged {
		filesPerLevel = DefaultFilesPerLevel
	}
	n, m, err := h.current(ctx)
	if err != nil || n == 0 {
		return err
	}
	merged := 0
	for level := 0; level < maxLevel; level++ {
		sources := m.oldest(level, filesPerLevel)
		if sources == nil {
			break
		}
		f, err := h.mergeLSM(ctx, sources, level+1)
		if err != nil {
			return fmt.Errorf("compact history level %d: %w", level, err)
		}
		next := &manifest{slices.DeleteFunc(slices.Clone(m.Files), func(f manifestFile) bool { return slices.Contains(sources, f) })}
		next.Files = append(next.Files, f)
		if err := h.publish(ctx, n+1, next); err != nil {
			return fmt.Errorf("compact history level %d: %w", level, err)
		}
		n, m = n+1, next
		merged++
	}
	return h.clean(ctx, n, keptManifests+merged)
}

// oldest picks the files of a level to merge, nil where it has too few.
func (m *manifest) oldest(level, filesPerLevel int) []manifestFile {
	var files []manifestFile
	for _, f := range m.Files {
		if strings.HasSuffix(f.Name, fmt.Sprintf("_%d.parquet", level)) {
			files = append(files, f)
		}
	}
	if len(files) < filesPerLevel {
		return nil
	}
	slices.SortFunc(files, func(a, b manifestFile) int { return strings.Compare(a.Name, b.Name) })
	files = files[:filesPerLevel]
	total := int64(0)
	for k, f := range files {
		if total += f.Size; total > maxMergedBytes && k >= minMerged {
			return files[:k]
		}
	}
	return files
}

// mergeLSM writes the rows of sources, sorted and each once, into one file.
func (h *History) mergeLSM(ctx context.Context, sources []manifestFile, level int) (manifestFile, error) {
	group := make([]*run, len(sources))
	var first, last timeline.InstantTime
	for i, f := range sources {
		group[i] = &run{file: file{f.Name, f.Size}}
		m := lsmName.FindStringSubmatch(f.Name)
		for _, t := range []timeline.InstantTime{timeline.InstantTime(m[1]), timeline.InstantTime(m[2])} {
			if first == "" || t < first {
				first = t
			}
			last = max(last, t)
		}
	}
	list, err := h.readGroup(ctx, group, "", "")
	if err != nil {
		return manifestFile{}, err
	}
	list = slices.CompactFunc(list, func(a, b Entry) bool { return a.Time == b.Time && a.Action == b.Action })
	return h.writeLSM(ctx, lsmFileName(first, last, level), slices.Values(list))
}

// clean keeps the newest manifests up to number n, deletes older ones, and then every parquet file that no kept one names. A reader of
// a deleted manifest finds its files gone and reads the current one.
func (h *History) clean(ctx context.Context, n, keep int) error {
	used := map[string]bool{}
	var old, parquets []string
	for info, err := range h.st.List(ctx, h.dir, storage.ListOptions{}) {
		if err != nil {
			return fmt.Errorf("list history: %w", err)
		}
		name := strings.TrimPrefix(info.Path, h.dir)
		if k, ok := manifestNumber(name); ok {
			if k <= n-keep {
				old = append(old, name)
				continue
			}
			m, err := h.readManifest(ctx, k)
			if err != nil {
				return fmt.Errorf("clean history: %w", err)
			}
			for _, f := range m.Files {
				used[f.Name] = true
			}
		} else if lsmName.MatchString(name) || strings.HasPrefix(name, manifestPrefix) {
			parquets = append(parquets, name) // or a temporary manifest
		}
	}
	for _, name := range append(old, parquets...) {
		if used[name] {
			continue
		}
		if err := h.deleteIfThere(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
