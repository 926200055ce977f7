package handle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/timeline/action"
)

// Create writes new file groups: one, and the next whenever a file has reached its size.
type Create struct {
	e         *Env
	partition string
	prefix    string
	next      int
	began     time.Time
	cur       *open
	stats     []action.WriteStat
}

// open is a base file that is being written.
type open struct {
	name, fileID string
	stamp        *stamp
	footer       *footer
	out          storage.Writer
	buf          *bufio.Writer
	w            *parquetfile.Writer
}

// NewCreate returns a handle that writes file groups <prefix>-0, <prefix>-1, … of a partition.
func (e *Env) NewCreate(partition, prefix string) *Create {
	return &Create{e: e, partition: partition, prefix: prefix}
}

// Write appends a row of Env.Schema; its meta columns are filled in.
func (c *Create) Write(ctx context.Context, key string, row record.Row) error {
	if c.cur != nil && c.cur.w.Size() >= c.e.maxBytes() {
		if err := c.finish(); err != nil {
			return err
		}
	}
	if c.cur == nil {
		fileID := fmt.Sprintf("%s-%d", c.prefix, c.next)
		c.next++
		task, token := c.e.token()
		o, err := c.e.create(ctx, c.partition, fileID, token, task, c.e.Txn.MarkCreate)
		if err != nil {
			return err
		}
		c.cur, c.began = o, time.Now()
	}
	return c.cur.append(c.e, key, row)
}

// create marks and opens a base file.
func (e *Env) create(ctx context.Context, partition, fileID, token string, task int64, mark func(context.Context, string, string) error) (*open, error) {
	name := baseName(fileID, token, e.Txn.Time())
	if err := mark(ctx, partition, name); err != nil {
		return nil, err
	}
	out, err := e.Store.Create(ctx, filePath(partition, name), storage.PutIfAbsent)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", filePath(partition, name), err)
	}
	o := &open{name: name, fileID: fileID, out: out, buf: bufio.NewWriterSize(out, 1<<20)}
	if e.MetaFields {
		o.stamp = newStamp(e.Txn.Time(), partition, name, task)
		if !e.NoBloom {
			o.footer = newFooter()
		}
	}
	if o.w, err = parquetfile.NewWriter(o.buf, e.Schema, e.Write); err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	return o, nil
}

func (o *open) append(e *Env, key string, row record.Row) error {
	if o.stamp != nil {
		o.stamp.put(row, key, o.w.Rows())
	}
	if o.footer != nil {
		o.footer.add(key)
	}
	return o.w.WriteRow(row)
}

// commit finishes the parquet file and publishes it, durably.
func (o *open) commit(e *Env) (storage.Info, error) {
	if o.footer != nil {
		o.footer.write(o.w)
	}
	o.w.SetFooter("parquet.avro.schema", e.Schema.String())
	o.w.SetFooter("writer.model.name", "avro")
	if err := o.w.Close(); err != nil {
		return storage.Info{}, errors.Join(err, o.out.Abort())
	}
	if err := o.buf.Flush(); err != nil {
		return storage.Info{}, errors.Join(err, o.out.Abort())
	}
	return o.out.Commit()
}

func (o *open) abort() error { return o.out.Abort() }

func (c *Create) finish() error {
	o := c.cur
	c.cur = nil
	rows := o.w.Rows()
	info, err := o.commit(c.e)
	if err != nil {
		return fmt.Errorf("write %s: %w", filePath(c.partition, o.name), err)
	}
	c.stats = append(c.stats, action.WriteStat{
		FileID: o.fileID, Path: filePath(c.partition, o.name), PartitionPath: c.partition, PrevCommit: action.NullCommit,
		NumWrites: rows, NumInserts: rows, TotalWriteBytes: info.Size, FileSizeInBytes: info.Size,
		Runtime: &action.RuntimeStats{TotalCreateTime: time.Since(c.began).Milliseconds()},
	})
	return nil
}

// Close publishes the last file and returns what was written.
func (c *Create) Close(context.Context) ([]action.WriteStat, error) {
	if c.cur != nil {
		if err := c.finish(); err != nil {
			return nil, err
		}
	}
	return c.stats, nil
}

// Abort gives up the file that is being written; files before it are deleted by the write's rollback.
func (c *Create) Abort() error {
	if c.cur == nil {
		return nil
	}
	o := c.cur
	c.cur = nil
	return o.abort()
}
