package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer"
	"github.com/hudifs/hudifs/writer/ingest"
)

var putOperations = map[string]action.WriteOperation{
	"upsert": action.OpUpsert, "insert": action.OpInsert, "bulk_insert": action.OpBulkInsert, "delete": action.OpDelete,
}

func newIngest() *cobra.Command {
	cmd := &cobra.Command{Use: "ingest", Short: "Write files' rows into a table"}
	cmd.AddCommand(newPut())
	return cmd
}

func newPut() *cobra.Command {
	var operation, delimiter, null string
	var disableMetadata, fillMissing, asOne bool
	cmd := &cobra.Command{
		Use:   "put SOURCE FILE...",
		Short: "Commit files without a mount",
		Long:  "Commit each file's rows as one commit, in the order given; with --one all of them together.",
		Args:  args(2, -1),
		RunE: func(cmd *cobra.Command, pos []string) error {
			op, ok := putOperations[operation]
			if !ok {
				return usageError{fmt.Errorf("--operation %s: want upsert, insert, bulk_insert or delete", operation)}
			}
			if len(delimiter) != 1 {
				return usageError{fmt.Errorf("--csv-delimiter %q: want one character", delimiter)}
			}
			groups := [][]string{pos[1:]}
			if !asOne {
				groups = nil
				for _, f := range pos[1:] {
					groups = append(groups, []string{f})
				}
			}
			return withTable(cmd, pos[0], func(ctx context.Context, t *snapshot.Table) error {
				log, _ := logger(cmd)
				w, err := writer.New(writer.Options{Table: t, Lock: tableLock(pos[0]), Log: log, DisableMetadataTable: disableMetadata})
				if err != nil {
					return err
				}
				for _, files := range groups {
					in := ingest.Input{KeysOnly: op == action.OpDelete, Keys: ingest.KeyColumns(t.Config()),
						Options: ingest.DecodeOptions{Delimiter: delimiter[0], NullToken: null, FillMissing: fillMissing}}
					if err := put(ctx, cmd, w, op, files, in); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&operation, "operation", "upsert", "upsert, insert, bulk_insert or delete")
	fl.BoolVar(&asOne, "one", false, "all files in one commit")
	fl.BoolVar(&disableMetadata, "disable-metadata-table", false, "let the commit switch the table's metadata table off, which hudifs does not write")
	fl.BoolVar(&fillMissing, "fill-missing-columns", false, "take files that lack nullable columns, as null")
	fl.StringVar(&delimiter, "csv-delimiter", ",", "field delimiter of .csv files")
	fl.StringVar(&null, "csv-null", "", "text that means null in CSV files, besides an empty field")
	return cmd
}

func put(ctx context.Context, cmd *cobra.Command, w *writer.Writer, op action.WriteOperation, files []string, in ingest.Input) error {
	b, err := w.NewBatch(ctx, op)
	if err != nil {
		return err
	}
	defer b.Close()
	for _, name := range files {
		if err := putFile(ctx, b, name, in); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	c, err := b.Commit(ctx, writer.CommitOptions{})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d inserted, %d updated, %d deleted\n", c.Instant.Time, c.Inserts, c.Updates, c.Deletes)
	return err
}

// putFile adds one file's rows to the batch; in says how files are read.
func putFile(ctx context.Context, b *writer.Batch, name string, in ingest.Input) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	in.Name, in.R, in.Size, in.Schema = name, f, info.Size(), b.Schema()
	rows, err := ingest.Decode(ctx, in)
	if err != nil {
		return err
	}
	_, err = b.Add(ctx, rows)
	return errors.Join(err, rows.Close())
}
