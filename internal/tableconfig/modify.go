package tableconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/storage"
)

// Modify changes the table's properties by change, with Java's protocol (timeline.md §2.4), so that a Java reader or writer that looks
// in between finds the file or its backup. The caller holds the table lock if there may be other writers. A cancelled context is
// honoured before the first change only; after it the protocol runs to its end.
func Modify(ctx context.Context, st storage.Store, change func(p *Properties) error) (*Config, error) {
	if err := Recover(ctx, st); err != nil {
		return nil, fmt.Errorf("recover table properties of %s: %w", st.URL(), err)
	}
	old, err := st.ReadAll(ctx, Path)
	if err != nil {
		return nil, fmt.Errorf("read table properties: %w", err)
	}
	p, err := ParseProperties(Path, old)
	if err != nil {
		return nil, err
	}
	if err := change(p); err != nil {
		return nil, err
	}
	seal(p)
	c, err := FromProperties(p)
	if err != nil {
		return nil, fmt.Errorf("change table properties: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if err := replace(ctx, st, old, p.Bytes(headerUpdate(time.Now())...)); err != nil {
		return nil, fmt.Errorf("replace table properties of %s: %w", st.URL(), err)
	}
	return c, nil
}

// replace runs steps 3 to 7. A store whose Put replaces atomically never shows a missing file; the backup is still written, for a
// reader that finds the file damaged.
func replace(ctx context.Context, st storage.Store, old, data []byte) error {
	if _, err := st.Put(ctx, BackupPath, old, storage.PutIfAbsent); err != nil {
		return fmt.Errorf("write %s (is another process changing the table?): %w", BackupPath, err)
	}
	if _, err := st.Put(ctx, Path, data, storage.PutReplace); err != nil {
		return err // the backup stays: the next reader or writer recovers from it
	}
	if _, err := readFile(ctx, st, Path); err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	return st.Delete(ctx, BackupPath)
}

// Recover ends an update that a dead process left half done: a missing or damaged file is restored from a valid backup, then the backup
// is deleted. A damaged backup is deleted too; that is an error only if the file itself is not whole either.
func Recover(ctx context.Context, st storage.Store) error {
	backup, err := readFile(ctx, st, BackupPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	damaged := err != nil && (corrupt.Is(err) || errors.Is(err, errChecksum))
	if err != nil && !damaged {
		return err
	}
	main, mainErr := readFile(ctx, st, Path)
	whole := mainErr == nil && hasChecksum(main)
	switch {
	case mainErr != nil && !errors.Is(mainErr, fs.ErrNotExist) && !corrupt.Is(mainErr) && !errors.Is(mainErr, errChecksum):
		return mainErr
	case damaged && mainErr != nil:
		return fmt.Errorf("neither %s nor its backup is whole: %w", Path, errors.Join(mainErr, err))
	case !damaged && !whole && (mainErr != nil || hasChecksum(backup)):
		data, err := st.ReadAll(ctx, BackupPath)
		if err != nil {
			return err
		}
		if _, err := st.Put(ctx, Path, data, storage.PutReplace); err != nil {
			return err
		}
	}
	if err := st.Delete(ctx, BackupPath); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func hasChecksum(p *Properties) bool { _, ok := p.Get(KeyChecksum); return ok }

// seal makes the checksum right and puts it last, so that a truncated file lacks it.
func seal(p *Properties) {
	p.Delete(KeyChecksum)
	p.Set(KeyChecksum, checksumOf(p))
}

// headerUpdate and headerCreate are the two comment lines that Java writes: an instant in UTC, and Date.toString in the local zone.
func headerUpdate(now time.Time) []string { return header("Updated at ", now) }
func headerCreate(now time.Time) []string { return header("Properties saved on ", now) }

func header(word string, now time.Time) []string {
	return []string{
		word + now.UTC().Format("2006-01-02T15:04:05.000000Z"),
		now.Local().Format("Mon Jan 02 15:04:05 MST 2006"),
	}
}
