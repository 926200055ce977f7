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
	dir := partition
	if dir != "" {
		dir += "/"
	}
	next := int64(1)
	for info, err := range st.List(ctx, dir, storage.ListOptions{}) {
		if err != nil {
			return "", 0, fmt.Errorf("list logs beside %s: %w", log, err)
		}
		l, err := fsview.ParseLogFileName(path.Base(info.Path))
		if err == nil && l.FileID == mine.FileID && l.Instant == mine.Instant {
			next = max(next, int64(l.Version)+1)
		}
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
