package handle

import (
	"bytes"
	"context"
	"fmt"
	"path"

	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
)

// rollbackToken is Hudi's token of log files that hold a rollback command.
const rollbackToken = "1-0-1"

// Undo appends a rollback command for the write at target to the slice that a log file belongs to, as a new log file (data.md §3.7). Doing it twice changes nothing more.
func Undo(ctx context.Context, st storage.Store, log string, by, target timeline.InstantTime) (p string, size int64, err error) {
	partition := path.Dir(log)
	if partition == "." {
		partition = ""
	}
	mine, err := fsview.ParseLogFileName(path.Base(log))
	if err != nil {
		return "", 0, err
	}
	next, err := nextLogVersion(ctx, st, partition, mine.FileID, mine.Instant)
	if err != nil {
		return "", 0, err
	}
	var buf bytes.Buffer
	if _, err := logfile.NewWriter(&buf).Rollback(string(by), string(target)); err != nil {
		return "", 0, err
	}
	p = filePath(partition, fmt.Sprintf(".%s_%s.log.%d_%s", mine.FileID, mine.Instant, next, rollbackToken))
	info, err := st.Put(ctx, p, buf.Bytes(), storage.PutIfAbsent)
	if err != nil {
		return "", 0, fmt.Errorf("append rollback command: %w", err)
	}
	return p, info.Size, nil
}

// nextLogVersion is one more than the greatest version of a log file of the group and instant, of whatever writer and whether or not it was committed.
func nextLogVersion(ctx context.Context, st storage.Store, partition, fileID string, at timeline.InstantTime) (int, error) {
	dir := partition
	if dir != "" {
		dir += "/"
	}
	next := 1
	for info, err := range st.List(ctx, dir, storage.ListOptions{}) {
		if err != nil {
			return 0, fmt.Errorf("list log files of %q: %w", partition, err)
		}
		l, err := fsview.ParseLogFileName(path.Base(info.Path))
		if err == nil && l.FileID == fileID && l.Instant == at {
			next = max(next, int(l.Version)+1)
		}
	}
	return next, nil
}
