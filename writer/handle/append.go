package handle

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/hudifs/hudifs/internal/avrocodec"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline/action"
)

// The sizes of log files and of their blocks. Blocks are smaller than Hudi's 256 MiB so that writing one takes little memory.
const (
	maxLogBlock = 32 << 20
	maxLogFile  = 1 << 30 // hoodie.logfile.max.size
)

// Compacted makes the blocks to come stand for those of earlier instants in the same slice: a log compaction (data.md §3.10).
func (a *Append) Compacted(instants []string) { a.compacted = strings.Join(instants, ",") }

// Keep appends a row with the meta columns that it has.
func (a *Append) Keep(ctx context.Context, row record.Row) error { return a.add(ctx, row) }

// header is that of the next block.
func (a *Append) header() logfile.Header {
	h := logfile.Header{logfile.InstantTime: string(a.e.Txn.Time()), logfile.SchemaText: a.e.Schema.String()}
	if a.compacted != "" {
		h[logfile.CompactedTimes] = a.compacted
	}
	return h
}

// Append writes a file group's changes into a new log file: data blocks first, then one delete block (data.md §3.5). It never appends to a file that is there.
type Append struct {
	e         *Env
	slice     *fsview.FileSlice
	part      string
	began     time.Time
	enc       *avrocodec.Encoder
	content   logfile.AvroContent
	block     *parquetBlock
	deletes   []logfile.Delete
	task      int64
	ordinal   int64
	stamp     *stamp
	version   int
	compacted string // instants that the blocks stand for
	cur       *openLog
	stats     []action.WriteStat
}

// openLog is a log file that is being written.
type openLog struct {
	name string
	vers int
	out  storage.Writer
	buf  *bufio.Writer
	w    *logfile.Writer
	stat action.WriteStat
}

// parquetBlock collects the rows of a Parquet data block.
type parquetBlock struct {
	buf bytes.Buffer
	w   *parquetfile.Writer
}

// NewAppend returns a handle that appends to the slice: the one that a pending compaction will make where there is one.
func (e *Env) NewAppend(partition string, slice *fsview.FileSlice) *Append {
	a := &Append{e: e, slice: slice, part: partition, began: time.Now()}
	a.task = e.tokens.Add(1) - 1
	if e.MetaFields {
		a.stamp = newStamp(e.Txn.Time(), partition, slice.Group.FileID, a.task)
	}
	if !e.ParquetLogs {
		a.enc = avrocodec.NewEncoder(e.Schema)
	}
	return a
}

// Update appends a row of Env.Schema; its meta columns are filled in.
func (a *Append) Update(ctx context.Context, key string, row record.Row) error {
	if a.stamp != nil {
		a.stamp.put(row, key, a.ordinal)
	}
	a.ordinal++
	return a.add(ctx, row)
}

func (a *Append) add(ctx context.Context, row record.Row) error {
	if a.e.ParquetLogs {
		return a.updateParquet(ctx, row)
	}
	if err := a.content.Append(a.enc, row); err != nil {
		return err
	}
	if a.content.Size() >= maxLogBlock {
		return a.flush(ctx)
	}
	return nil
}

func (a *Append) updateParquet(ctx context.Context, row record.Row) (err error) {
	if a.block == nil {
		a.block = &parquetBlock{}
		if a.block.w, err = parquetfile.NewWriter(&a.block.buf, a.e.Schema, a.e.Write); err != nil {
			return err
		}
	}
	if err := a.block.w.WriteRow(row); err != nil {
		return err
	}
	if a.block.w.Size() >= maxLogBlock {
		return a.flush(ctx)
	}
	return nil
}

// Delete appends a delete of a key. A zero ordering value means that the delete wins by arriving later.
func (a *Append) Delete(key record.Key, o record.Ordering) {
	a.deletes = append(a.deletes, logfile.Delete{Key: key, Ordering: o})
}

// flush writes the rows that are collected as one block.
func (a *Append) flush(ctx context.Context) error {
	h := a.header()
	switch {
	case a.content.Len() > 0:
		n := int64(a.content.Len())
		if err := a.append(ctx, logfile.AvroBlock, h, a.content.Bytes(), n, 0); err != nil {
			return err
		}
		a.content.Reset()
	case a.block != nil:
		n := a.block.w.Rows()
		a.block.w.SetFooter("parquet.avro.schema", a.e.Schema.String())
		if err := a.block.w.Close(); err != nil {
			return err
		}
		if err := a.append(ctx, logfile.ParquetBlock, h, a.block.buf.Bytes(), n, 0); err != nil {
			return err
		}
		a.block = nil
	}
	return nil
}

func (a *Append) append(ctx context.Context, t logfile.BlockType, h logfile.Header, content []byte, rows, deletes int64) error {
	if a.cur != nil && a.cur.w.Size() >= maxLogFile {
		if err := a.finish(); err != nil {
			return err
		}
	}
	if a.cur == nil {
		if err := a.open(ctx); err != nil {
			return err
		}
	}
	if _, err := a.cur.w.Append(t, h, content); err != nil {
		return fmt.Errorf("write %s: %w", filePath(a.part, a.cur.name), err)
	}
	a.cur.stat.NumWrites += rows
	a.cur.stat.NumUpdateWrites += rows
	a.cur.stat.NumDeletes += deletes
	return nil
}

func (a *Append) open(ctx context.Context) error {
	at := a.e.Txn.Time()
	if !a.e.LogNamedByDelta {
		at = a.slice.Base
	}
	var err error
	if a.version, err = nextLogVersion(ctx, a.e.Store, a.part, a.slice.Group.FileID, at); err != nil {
		return err
	}
	token := a.e.tokenOf(a.task)
	name := fmt.Sprintf(".%s_%s.log.%d_%s", a.slice.Group.FileID, at, a.version, token)
	if err := a.e.Txn.MarkLog(ctx, a.part, name); err != nil {
		return err
	}
	out, err := a.e.Store.Create(ctx, filePath(a.part, name), storage.PutIfAbsent)
	if err != nil {
		return fmt.Errorf("create %s: %w", filePath(a.part, name), err)
	}
	a.cur = &openLog{name: name, vers: a.version, out: out, buf: bufio.NewWriterSize(out, 256<<10)}
	a.cur.w = logfile.NewWriter(a.cur.buf)
	return nil
}

// finish publishes the open log file.
func (a *Append) finish() error {
	o := a.cur
	a.cur = nil
	if err := o.buf.Flush(); err != nil {
		return errors.Join(err, o.out.Abort())
	}
	info, err := o.out.Commit()
	if err != nil {
		return fmt.Errorf("write %s: %w", filePath(a.part, o.name), err)
	}
	s := o.stat
	s.FileID, s.Path, s.PartitionPath = a.slice.Group.FileID, filePath(a.part, o.name), a.part
	s.TotalWriteBytes, s.FileSizeInBytes = info.Size, info.Size
	s.Log = &action.LogStat{Version: int32(o.vers), Files: []string{o.name}}
	s.PrevCommit = string(a.e.Txn.Time())
	if !a.e.LogNamedByDelta {
		a.baseNamed(&s)
	}
	s.Runtime = &action.RuntimeStats{TotalUpsertTime: time.Since(a.began).Milliseconds()}
	a.stats = append(a.stats, s)
	return nil
}

// baseNamed fills in what a stat says where logs belong to their slice by name: the slice's base file and all of its logs.
func (a *Append) baseNamed(s *action.WriteStat) {
	s.PrevCommit = string(a.slice.Base)
	if a.slice.File != nil {
		s.Log.BaseFile = path.Base(a.slice.File.Path)
	}
	for i := range a.slice.Logs {
		s.Log.Files = append(s.Log.Files, path.Base(a.slice.Logs[i].Path))
	}
}

// Close writes what is left and the delete block, and returns what was written: a stat for each file.
func (a *Append) Close(ctx context.Context) ([]action.WriteStat, error) {
	if err := a.flush(ctx); err != nil {
		return nil, err
	}
	if n := len(a.deletes); n > 0 {
		body, err := logfile.EncodeDeletes(a.deletes)
		if err != nil {
			return nil, err
		}
		h := a.header()
		if err := a.append(ctx, logfile.DeleteBlock, h, body, 0, int64(n)); err != nil {
			return nil, err
		}
	}
	if a.cur != nil {
		if err := a.finish(); err != nil {
			return nil, err
		}
	}
	return a.stats, nil
}

// Abort gives up the file that is being written.
func (a *Append) Abort() error {
	if a.cur == nil {
		return nil
	}
	o := a.cur
	a.cur = nil
	return o.out.Abort()
}
