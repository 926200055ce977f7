package handle

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/snapshot/merge"
	"github.com/hudifs/hudifs/timeline/action"
)

// Compact writes a slice's merged rows as a new base file. Rows keep their commit times.
func (e *Env) Compact(ctx context.Context, sl *fsview.FileSlice, src *parquetfile.File, m *merge.Slice) (action.WriteStat, error) {
	began := time.Now()
	task, token := e.token()
	partition := sl.Group.Partition
	mark := e.Txn.MarkCreate
	if sl.File != nil {
		mark = e.Txn.MarkMerge
	}
	o, err := e.create(ctx, partition, sl.Group.FileID, token, task, mark)
	if err != nil {
		return action.WriteStat{}, err
	}
	if err := e.compact(ctx, o, src, m); err != nil {
		return action.WriteStat{}, errors.Join(fmt.Errorf("compact %s: %w", sl.Group, err), o.abort())
	}
	rows := o.w.Rows()
	info, err := o.commit(e)
	if err != nil {
		return action.WriteStat{}, fmt.Errorf("write %s: %w", filePath(partition, o.name), err)
	}
	st := m.Stats()
	s := action.WriteStat{
		FileID: sl.Group.FileID, Path: filePath(partition, o.name), PartitionPath: partition, PrevCommit: string(sl.Base),
		NumWrites: rows, NumUpdateWrites: st.Updated, NumInserts: st.Inserted, NumDeletes: st.Deleted,
		TotalWriteBytes: info.Size, FileSizeInBytes: info.Size,
		TotalLogRecords: st.LogRecords + st.LogDeletes, TotalLogBlocks: int64(st.Blocks), TotalCorruptLogBlock: int64(st.Corrupt),
		TotalUpdatedRecordsCompacted: st.Updated, TotalLogFilesCompacted: int64(len(sl.Logs)),
		Runtime: &action.RuntimeStats{TotalUpsertTime: time.Since(began).Milliseconds()},
	}
	if sl.File == nil {
		s.PrevCommit = action.NullCommit
	} else {
		s.PrevBaseFile = path.Base(sl.File.Path)
	}
	for i := range sl.Logs {
		s.TotalLogSizeCompacted += sl.Logs[i].Size
	}
	return s, nil
}

func (e *Env) compact(ctx context.Context, o *open, src *parquetfile.File, m *merge.Slice) error {
	if o.footer != nil {
		if src != nil {
			if err := o.footer.inherit(ctx, src, o.name); err != nil {
				return err
			}
		}
		if err := m.InsertedKeys(ctx, o.footer.add); err != nil {
			return err
		}
	}
	name := ""
	if e.MetaFields {
		name = o.name
	}
	return m.WriteTo(ctx, o.w, name)
}
