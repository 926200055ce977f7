// Package handle writes the files of one file group: a new base file, a new version of one, or log blocks.
//
// It knows meta columns, footers, tokens, sizes and write stats. It must never know which rows belong where.
package handle

import (
	"context"
	"crypto/rand"
	"fmt"
	"path"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/timeline"
)

// Marker announces a data file before it is written. It is the part of a transaction that handles need.
type Marker interface {
	Time() timeline.InstantTime
	MarkCreate(ctx context.Context, partition, name string) error
	MarkMerge(ctx context.Context, partition, name string) error
	MarkLog(ctx context.Context, partition, name string) error
}

// Env is what all handles of one write share.
type Env struct {
	Store      storage.Store
	Txn        Marker
	Schema     *schema.Schema // of the files: with meta columns where the table has them
	MetaFields bool
	NoBloom    bool // leave out the filter and the key range
	Write      parquetfile.WriteOptions
	MaxBytes   int64 // of a base file; 0: Hudi's 120 MiB

	LogNamedByDelta bool // log files bear the instant of their delta commit; otherwise that of their slice's base file
	ParquetLogs     bool // data blocks are Parquet; otherwise Avro

	tokens  atomic.Int64
	once    sync.Once
	attempt int // random: two attempts at one instant never make the same name
}

// DefaultMaxBytes is hoodie.parquet.max.file.size.
const DefaultMaxBytes = 120 << 20

func (e *Env) maxBytes() int64 {
	if e.MaxBytes > 0 {
		return e.MaxBytes
	}
	return DefaultMaxBytes
}

// token is a write token: unique within the write, whatever is retried (data.md §1.1). task is its first number, which also stands in sequence numbers. The middle number
// keeps clear of the reserved tokens 0-0-0 and 1-0-1: a log file with the latter passes for a rollback command.
func (e *Env) token() (task int64, token string) {
	task = e.tokens.Add(1) - 1
	return task, e.tokenOf(task)
}

func (e *Env) tokenOf(task int64) string {
	e.once.Do(func() {
		var b [3]byte
		rand.Read(b[:]) // never fails
		e.attempt = int(b[0])<<16 | int(b[1])<<8 | int(b[2])
	})
	return fmt.Sprintf("%d-1-%d", task, e.attempt)
}

// NewFileIDPrefix is a random UUID; a file id is the prefix, a dash and a counter.
func NewFileIDPrefix() string {
	var u [16]byte
	if _, err := rand.Read(u[:]); err != nil {
		panic(err) // crypto/rand never fails
	}
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// baseName is the name of a base file.
func baseName(fileID, token string, at timeline.InstantTime) string {
	return fileID + "_" + token + "_" + string(at) + ".parquet"
}

func filePath(partition, name string) string { return path.Join(partition, name) }

// The positions of the meta columns (data.md §1.3).
const (
	colCommitTime = iota
	colSeqNo
	colRecordKey
	colPartition
	colFileName
	metaColumns
)

// stamp fills the meta columns of row, which begins with them.
type stamp struct {
	time, partition, file record.Value
	task                  int64
	prefix                []byte
	arena                 []byte // memory of the next sequence numbers
}

func newStamp(at timeline.InstantTime, partition, file string, task int64) *stamp {
	return &stamp{
		time: present(string(at), colCommitTime), partition: present(partition, colPartition), file: present(file, colFileName),
		prefix: fmt.Appendf(nil, "%s_%d_", at, task), task: task,
	}
}

func present(s string, col int) record.Value { return record.String(s).Level(0, 1, col) }

// put writes the meta columns into row. ordinal is the row's place in its file.
func (s *stamp) put(row record.Row, key string, ordinal int64) {
	if cap(s.arena)-len(s.arena) < len(s.prefix)+20 {
		s.arena = make([]byte, 0, 64<<10) // the old one stays with the rows that point into it
	}
	from := len(s.arena)
	s.arena = strconv.AppendInt(append(s.arena, s.prefix...), ordinal, 10)
	seq := s.arena[from:len(s.arena):len(s.arena)]
	row[colCommitTime] = s.time
	row[colSeqNo] = record.Bytes(seq).Level(0, 1, colSeqNo)
	row[colRecordKey] = present(key, colRecordKey)
	row[colPartition] = s.partition
	row[colFileName] = s.file
}
