package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/bucket"
	"github.com/hudifs/hudifs/internal/storage/local"
	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/writer/lock"
	"github.com/hudifs/hudifs/writer/lock/flock"
)

// localPath returns the directory that source names on this machine; ok is false for a bucket.
func localPath(source string) (dir string, ok bool, err error) {
	u, perr := url.Parse(source)
	if perr != nil || len(u.Scheme) < 2 || !strings.Contains(source, "://") {
		dir, err = filepath.Abs(source)
		return dir, true, err
	}
	if u.Scheme != "file" {
		return "", false, nil
	}
	if u.Host != "" && u.Host != "localhost" {
		return "", true, usageError{fmt.Errorf("%s: a file URL has no host: write file:///path", source)}
	}
	return u.Path, true, nil
}

// openStore opens the base path of a table.
func openStore(ctx context.Context, source string, create bool, log *slog.Logger) (storage.Store, error) {
	dir, isLocal, err := localPath(source)
	if err != nil {
		return nil, err
	}
	if isLocal {
		st, err := local.Open(dir, local.Options{Create: create, Log: log})
		if errors.Is(err, fs.ErrNotExist) {
			return nil, coded(exitNoTable, fmt.Errorf("no table at %s: the directory does not exist", dir))
		}
		if err != nil {
			return nil, err
		}
		return st, nil
	}
	st, err := bucket.Open(ctx, source, bucket.Options{Log: log})
	if err != nil {
		return nil, err
	}
	return storage.Retry(st, storage.RetryOptions{}), nil
}

// openTable opens the table at source. The caller closes the store.
func openTable(ctx context.Context, source string, o snapshot.Options) (*snapshot.Table, storage.Store, error) {
	st, err := openStore(ctx, source, false, o.Log)
	if err != nil {
		return nil, nil, err
	}
	t, err := snapshot.OpenTable(ctx, st, o)
	if err != nil {
		st.Close()
		if errors.Is(err, fs.ErrNotExist) {
			err = coded(exitNoTable, fmt.Errorf("no table at %s: %w", source, err))
		}
		return nil, nil, err
	}
	return t, st, nil
}

// tableLock is the lock that keeps all hudifs processes of this machine out of each other's commits. A bucket has none: nil, a lock of one process.
func tableLock(source string) lock.Provider {
	dir, isLocal, err := localPath(source)
	if err != nil || !isLocal {
		return nil
	}
	return flock.New(dir)
}

// defaultCacheDir is where caches and staged drops lie: one directory per user.
func defaultCacheDir() string {
	if os.Geteuid() == 0 {
		return "/var/cache/hudifs"
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return filepath.Join(os.TempDir(), fmt.Sprintf("hudifs-%d", os.Geteuid()))
	}
	return filepath.Join(dir, "hudifs")
}
