package handle

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"time"

	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline/action"
)

// Change is what becomes of one row of a base file.
type Change struct {
	Pos int64      // position in the base file
	Key string     // record key
	Row record.Row // of Env.Schema, kept until Merge returns; nil deletes the row
}

// Insert is a row that is new in the file group.
type Insert struct {
	Key string
	Row record.Row // valid until the next one is asked for
}

// Merge writes a new version of a base file: rows that no change names are copied with their meta columns, but for the file name.
func (e *Env) Merge(ctx context.Context, base *fsview.BaseFile, partition string, changes []Change, inserts iter.Seq2[Insert, error]) (action.WriteStat, error) {
	began := time.Now()
	src, obj, err := OpenBase(ctx, e.Store, base)
	if err != nil {
		return action.WriteStat{}, err
	}
	defer obj.Close()
	task, token := e.token()
	o, err := e.create(ctx, partition, base.FileID, token, task, e.Txn.MarkMerge)
	if err != nil {
		return action.WriteStat{}, err
	}
	stat, err := e.merge(ctx, o, src, changes, inserts)
	if err != nil {
		return stat, errors.Join(fmt.Errorf("rewrite %s as %s: %w", base.Path, filePath(partition, o.name), err), o.abort())
	}
	info, err := o.commit(e)
	if err != nil {
		return stat, fmt.Errorf("write %s: %w", filePath(partition, o.name), err)
	}
	stat.FileID, stat.Path, stat.PartitionPath = base.FileID, filePath(partition, o.name), partition
	stat.PrevCommit, stat.PrevBaseFile = string(base.Instant), path.Base(base.Path)
	stat.TotalWriteBytes, stat.FileSizeInBytes = info.Size, info.Size
	stat.Runtime = &action.RuntimeStats{TotalUpsertTime: time.Since(began).Milliseconds()}
	return stat, nil
}

func (e *Env) merge(ctx context.Context, o *open, src *parquetfile.File, changes []Change, inserts iter.Seq2[Insert, error]) (stat action.WriteStat, err error) {
	if o.footer != nil {
		if err := o.footer.inherit(ctx, src, o.name); err != nil {
			return stat, err
		}
	}
	var edit parquetfile.Edit
	for i := range changes {
		c := &changes[i]
		if c.Row == nil {
			edit.Drop(c.Pos)
			stat.NumDeletes++
			continue
		}
		if o.stamp != nil {
			o.stamp.put(c.Row, c.Key, c.Pos)
		}
		edit.Replace(c.Pos, c.Row)
		stat.NumUpdateWrites++
	}
	if o.stamp != nil {
		edit.Fill(colFileName, o.name)
	}
	if err := o.w.Splice(ctx, src, &edit); err != nil {
		return stat, err
	}
	ordinal := src.NumRows() // behind every position, so that sequence numbers stay unique
	for in, err := range inserts {
		if err != nil {
			return stat, err
		}
		if o.stamp != nil {
			o.stamp.put(in.Row, in.Key, ordinal)
		}
		if o.footer != nil {
			o.footer.add(in.Key)
		}
		if err := o.w.WriteRow(in.Row); err != nil {
			return stat, err
		}
		ordinal++
		stat.NumInserts++
	}
	stat.NumWrites = o.w.Rows()
	return stat, nil
}

// OpenBase opens a base file for reading. The object has to be closed after the file was used.
func OpenBase(ctx context.Context, st storage.Store, base *fsview.BaseFile) (*parquetfile.File, storage.Object, error) {
	obj, err := st.Open(ctx, base.Path)
	if err != nil {
		return nil, nil, fmt.Errorf("open base file %s: %w", base.Path, err)
	}
	f, err := parquetfile.Open(obj, obj.Info().Size, base.Path)
	if err != nil {
		return nil, nil, errors.Join(err, obj.Close())
	}
	return f, obj, nil
}
