package writer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer/conflict"
	"github.com/hudifs/hudifs/writer/lock"
)

// metadataDir is where a table's metadata table lies.
const metadataDir = ".hoodie/metadata/"

// settleMetadataTable sees to it that no metadata table is listed in the properties when a commit completes: other engines would read a stale one.
// Where that was allowed it switches the metadata table off: properties first, directory second, so that a crash leaves a directory that
// nobody reads and never the reverse (data.md §9.13).
func (w *Writer) settleMetadataTable(ctx context.Context) error {
	cfg := w.o.Table.Config()
	if len(cfg.MetaPartitions) == 0 && len(cfg.MetaInflight) == 0 {
		return w.removeUnlisted(ctx)
	}
	if !w.o.DisableMetadataTable {
		return fmt.Errorf("%w (%s lists %s): write with Spark or Flink, or allow hudifs to switch it off with --disable-metadata-table",
			ErrMetadataTable, tableconfig.Path, strings.Join(append(cfg.MetaPartitions, cfg.MetaInflight...), ", "))
	}
	err := lock.Do(ctx, w.o.Lock, "hudifs", func(ctx context.Context, _ uint64) error {
		_, err := tableconfig.Modify(ctx, w.o.Table.Store(), func(p *tableconfig.Properties) error {
			p.Set(tableconfig.KeyMetaPartitions, "")
			p.Delete(tableconfig.KeyMetaInflight)
			return nil
		})
		if err != nil {
			return err
		}
		return w.deleteTree(ctx, metadataDir)
	})
	if err != nil {
		return fmt.Errorf("switch off the metadata table: %w", err)
	}
	w.log.Warn("the metadata table was switched off; other engines list files until one of them builds it anew")
	_, err = w.o.Table.Reload(ctx)
	return err
}

// removeUnlisted deletes a metadata table that the properties do not list: what a crash left of switching it off. A Java writer may be building a new one at
// this moment, so it goes only where this process is allowed to switch it off, under the lock.
func (w *Writer) removeUnlisted(ctx context.Context) error {
	if !w.o.DisableMetadataTable {
		return nil
	}
	for _, err := range w.o.Table.Store().List(ctx, metadataDir, storage.ListOptions{NamesOnly: true}) {
		if err != nil {
			return err
		}
		return lock.Do(ctx, w.o.Lock, "hudifs", func(ctx context.Context, _ uint64) error {
			cfg, err := tableconfig.Load(ctx, w.o.Table.Store())
			if err != nil || len(cfg.MetaPartitions)+len(cfg.MetaInflight) > 0 {
				return err // it was completed meanwhile; the commit finds that out
			}
			return w.deleteTree(ctx, metadataDir)
		})
	}
	return nil
}

// withoutMetadataTable fails, under the lock, where another engine has made a metadata table since this write began: the commit would be missing in it.
func (w *Writer) withoutMetadataTable(ctx context.Context, _ timeline.Instant, _ timeline.InstantTime, _ action.Result) error {
	cfg, err := tableconfig.Load(ctx, w.o.Table.Store())
	if err != nil {
		return err
	}
	switch {
	case len(cfg.MetaPartitions)+len(cfg.MetaInflight) == 0:
		return nil
	case w.o.DisableMetadataTable:
		return fmt.Errorf("%w: the table was given a metadata table meanwhile", conflict.ErrConflict)
	}
	return fmt.Errorf("%w: it was made while this write ran", ErrMetadataTable)
}

func (w *Writer) deleteTree(ctx context.Context, dir string) error {
	st := w.o.Table.Store()
	var paths []string
	for info, err := range st.List(ctx, dir, storage.ListOptions{Recursive: true}) {
		if err != nil {
			return err
		}
		paths = append(paths, info.Path)
	}
	for _, p := range paths {
		if err := st.Delete(ctx, p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete %s: %w", p, err)
		}
	}
	return nil
}
