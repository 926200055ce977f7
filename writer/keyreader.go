package writer

import (
	"context"
	"errors"
	"io"

	"github.com/hudifs/hudifs/internal/keygen"
	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// keyReader returns how to read the record keys of base files; nil where the meta column holds them.
func (b *Batch) keyReader() func(ctx context.Context, f *parquetfile.File, fn func(pos int64, key []byte) error) error {
	if b.p.cfg.MetaFields {
		return nil
	}
	return func(ctx context.Context, f *parquetfile.File, fn func(pos int64, key []byte) error) error {
		cols := append(append([]string(nil), b.p.cfg.RecordKeys...), b.p.cfg.PartitionNames()...)
		want := b.p.rows.Select(cols...)
		keys, err := keygen.New(b.p.cfg, want)
		if err != nil {
			return err
		}
		rows, err := f.Rows(ctx, want)
		if err != nil {
			return err
		}
		defer rows.Close()
		buf := make([]record.Row, 1024)
		for pos := int64(0); ; {
			n, err := rows.Read(buf)
			for _, row := range buf[:n] {
				k, kerr := keys.Key(row)
				if kerr != nil {
					return kerr
				}
				if ferr := fn(pos, []byte(k.RecordKey)); ferr != nil {
					return ferr
				}
				pos++
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
}

// logs reports whether the table keeps changes in log files.
func (b *Batch) logs() bool { return b.p.cfg.Type == tableconfig.MergeOnRead }
