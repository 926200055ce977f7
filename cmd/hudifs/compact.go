package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/writer"
	"github.com/hudifs/hudifs/writer/service"
)

// compactionFlags rule when and what is compacted.
func compactionFlags(cmd *cobra.Command, o *service.CompactionOptions) {
	fl := cmd.Flags()
	fl.StringVar((*string)(&o.Trigger), "compact-trigger", string(service.NumCommits), "NUM_COMMITS, NUM_COMMITS_AFTER_LAST_REQUEST, TIME_ELAPSED, NUM_AND_TIME or NUM_OR_TIME")
	fl.IntVar(&o.DeltaCommits, "compact-delta-commits", 5, "delta commits after which a compaction is due")
	fl.IntVar(&o.DeltaSeconds, "compact-delta-seconds", 3600, "seconds after which a compaction is due")
	fl.StringVar((*string)(&o.Strategy), "compact-strategy", string(service.BySize), "LogFileSizeBased, LogFileNumBased, BoundedIO or UnBounded")
	fl.Int64Var(&o.TargetIOMB, "compact-target-io", 512000, "MiB read and written by one compaction at most")
}

func newCompact() *cobra.Command {
	var o service.CompactionOptions
	var scheduleOnly, execute, logs, disableMetadata bool
	cmd := &cobra.Command{
		Use:   "compact SOURCE [--schedule-only | --execute]",
		Short: "Merge the logs of a merge-on-read table into base files",
		Long: `Plan a compaction of all slices with logs and carry it out. With --schedule-only the plan stays on the timeline, for another engine or a later call;
with --execute only what is planned already is carried out.`,
		Args: args(1, 1),
		RunE: func(cmd *cobra.Command, pos []string) error {
			if scheduleOnly && execute {
				return usageError{errors.New("give --schedule-only or --execute, not both")}
			}
			if err := o.Validate(); err != nil {
				return usageError{err}
			}
			return withTable(cmd, pos[0], func(ctx context.Context, t *snapshot.Table) error {
				log, _ := logger(cmd)
				w, err := writer.New(writer.Options{Table: t, Lock: tableLock(pos[0]), Log: log, DisableMetadataTable: disableMetadata})
				if err != nil {
					return err
				}
				if logs {
					i, err := w.CompactLogs(ctx, 2)
					if errors.Is(err, service.ErrNothingToDo) {
						fmt.Fprintf(cmd.OutOrStdout(), "%v\n", err)
						return nil
					}
					if err == nil {
						fmt.Fprintf(cmd.OutOrStdout(), "%s: logs compacted\n", i.Time)
					}
					return err
				}
				if !execute {
					i, err := w.ScheduleCompaction(ctx, o)
					if errors.Is(err, service.ErrNothingToDo) && !strings.Contains(err.Error(), "copy-on-write") {
						fmt.Fprintf(cmd.OutOrStdout(), "%v\n", err)
					} else if err != nil {
						return err
					} else {
						fmt.Fprintf(cmd.OutOrStdout(), "%s: planned\n", i.Time)
					}
				}
				if scheduleOnly {
					return nil
				}
				done, err := w.ExecuteCompactions(ctx)
				for _, i := range done {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: compacted\n", i.Time)
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&scheduleOnly, "schedule-only", false, "plan, and leave the plan on the timeline")
	cmd.Flags().BoolVar(&logs, "logs", false, "merge log files among themselves only (log compaction)")
	cmd.Flags().BoolVar(&execute, "execute", false, "carry out what is planned already")
	cmd.Flags().BoolVar(&disableMetadata, "disable-metadata-table", false, "let it switch the table's metadata table off, which hudifs does not write")
	compactionFlags(cmd, &o)
	return cmd
}
