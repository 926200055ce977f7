package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/rowtext"
	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/snapshot/fsview"
)

func newCat() *cobra.Command {
	var at, format string
	cmd := &cobra.Command{
		Use:   "cat SOURCE",
		Short: "Print the rows of a commit",
		Long:  "Print the rows of the newest commit, or of that at --at, on standard output: no mount is needed.",
		Args:  args(1, 1),
		RunE: func(cmd *cobra.Command, pos []string) error {
			if format != "csv" && format != "jsonl" {
				return usageError{fmt.Errorf("--format %s: want csv or jsonl", format)}
			}
			return withTable(cmd, pos[0], func(ctx context.Context, t *snapshot.Table) error {
				return catTable(ctx, cmd.OutOrStdout(), t, at, format == "csv")
			})
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "commit or time: an instant, 2026-11-29T10:00Z, -2h")
	cmd.Flags().StringVar(&format, "format", "jsonl", "csv or jsonl")
	return cmd
}

func catTable(ctx context.Context, out io.Writer, t *snapshot.Table, at string, csv bool) error {
	s, err := t.Now(ctx, nil)
	if at != "" {
		instant, rerr := t.ResolveTime(ctx, at, time.Now())
		if rerr != nil {
			return rerr
		}
		s, err = t.At(ctx, nil, instant)
	}
	if err != nil {
		return err
	}
	to, err := s.FileSchema(ctx)
	if err != nil {
		return err
	}
	p, err := rowtext.New(to)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 256<<10)
	if csv {
		w.Write(p.AppendHeader(nil))
	}
	partitions, err := s.Partitions(ctx)
	if err != nil {
		return err
	}
	for _, dir := range partitions {
		slices, err := s.Slices(ctx, dir)
		if err != nil {
			return err
		}
		for _, sl := range slices {
			if err := catSlice(ctx, w, s, sl, p, csv); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

func catSlice(ctx context.Context, w *bufio.Writer, s *snapshot.Snapshot, sl fsview.FileSlice, p *rowtext.Printer, csv bool) (err error) {
	m, _, done, err := s.MergeInput(ctx, sl)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close(), done()) }()
	rows, err := m.Records(ctx)
	if err != nil {
		return err
	}
	defer rows.Close()
	buf := make([]record.Record, 256)
	var line []byte
	for {
		n, err := rows.Read(ctx, buf)
		for _, r := range buf[:n] {
			var perr error
			if csv {
				line, perr = p.AppendCSV(line[:0], r.Row)
			} else {
				line, perr = p.AppendJSON(line[:0], r.Row)
			}
			if perr != nil {
				return perr
			}
			if _, werr := w.Write(append(line, '\n')); werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
