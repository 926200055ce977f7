package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// withTable opens the table that a command's first argument names and runs fn on it.
func withTable(cmd *cobra.Command, source string, fn func(ctx context.Context, t *snapshot.Table) error) error {
	log, err := logger(cmd)
	if err != nil {
		return err
	}
	t, st, err := openTable(cmd.Context(), source, snapshot.Options{Log: log})
	if err != nil {
		return err
	}
	defer st.Close()
	return fn(cmd.Context(), t)
}

func newSnapshots() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "snapshots SOURCE",
		Short: "List the commits that can be read",
		Args:  args(1, 1),
		RunE: func(cmd *cobra.Command, pos []string) error {
			return withTable(cmd, pos[0], func(ctx context.Context, t *snapshot.Table) error {
				return listSnapshots(ctx, cmd.OutOrStdout(), t, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return cmd
}

type snapshotLine struct {
	Instant    string `json:"instant"`
	Completion string `json:"completion"`
	Action     string `json:"action"`
	Operation  string `json:"operation,omitempty"`
	Files      int    `json:"files"`
	Inserts    int64  `json:"inserts"`
	Updates    int64  `json:"updates"`
	Deletes    int64  `json:"deletes"`
}

func listSnapshots(ctx context.Context, out io.Writer, t *snapshot.Table, asJSON bool) error {
	commits, err := t.Commits(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "INSTANT\tOPERATION\tFILES\tINSERTS\tUPDATES\tDELETES")
	}
	enc := json.NewEncoder(out)
	for _, c := range commits {
		m, err := action.Read[action.CommitMetadata](ctx, t.Active(), c.Instant)
		if err != nil {
			return err
		}
		l := snapshotLine{Instant: string(c.Time), Completion: string(c.Completion), Action: string(c.Action), Operation: string(m.Operation)}
		for _, stats := range m.Stats {
			for _, s := range stats {
				l.Files++
				l.Inserts += s.NumInserts
				l.Updates += s.NumUpdateWrites
				l.Deletes += s.NumDeletes
			}
		}
		if asJSON {
			if err := enc.Encode(l); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\n", l.Instant, l.Operation, l.Files, l.Inserts, l.Updates, l.Deletes)
	}
	return w.Flush()
}

func newTimeline() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "timeline SOURCE",
		Short: "List every instant of the active timeline",
		Args:  args(1, 1),
		RunE: func(cmd *cobra.Command, pos []string) error {
			return withTable(cmd, pos[0], func(ctx context.Context, t *snapshot.Table) error {
				return listTimeline(cmd.OutOrStdout(), t, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return cmd
}

type instantLine struct {
	Instant    string `json:"instant"`
	Action     string `json:"action"`
	State      string `json:"state"`
	Completion string `json:"completion,omitempty"`
}

func listTimeline(out io.Writer, t *snapshot.Table, asJSON bool) error {
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	enc := json.NewEncoder(out)
	if !asJSON {
		fmt.Fprintln(w, "INSTANT\tACTION\tSTATE\tCOMPLETED")
	}
	for _, i := range t.Timeline().All() {
		l := instantLine{string(i.Time), string(i.Action), i.State.String(), string(i.Completion)}
		if asJSON {
			if err := enc.Encode(l); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Instant, l.Action, l.State, l.Completion)
	}
	return w.Flush()
}

func newInfo() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info SOURCE",
		Short: "Say what a table is",
		Args:  args(1, 1),
		RunE: func(cmd *cobra.Command, pos []string) error {
			return withTable(cmd, pos[0], func(ctx context.Context, t *snapshot.Table) error {
				return info(ctx, cmd.OutOrStdout(), t, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

type tableInfo struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	Version     int      `json:"version"`
	Keys        []string `json:"keys"`
	Partition   []string `json:"partition"`
	Ordering    []string `json:"ordering"`
	KeyGen      string   `json:"key_generator"`
	MergeMode   string   `json:"merge_mode"`
	Metadata    []string `json:"metadata_table"`
	Commits     int      `json:"commits"`
	Latest      string   `json:"latest,omitempty"`
	Schema      string   `json:"schema"`
	GeneratedAt string   `json:"generated_at"`
}

func info(ctx context.Context, out io.Writer, t *snapshot.Table, asJSON bool) error {
	cfg := t.Config()
	i := tableInfo{Name: cfg.Name, Type: string(cfg.Type), Version: cfg.Version, Keys: cfg.RecordKeys, Partition: cfg.PartitionNames(),
		Ordering: cfg.OrderingFields, KeyGen: string(cfg.KeyGen), MergeMode: string(cfg.MergeMode), Metadata: cfg.MetaPartitions,
		GeneratedAt: time.Now().UTC().Format(time.RFC3339)}
	commits, err := t.Commits(ctx)
	if err != nil {
		return err
	}
	i.Commits = len(commits)
	var at timeline.InstantTime
	if len(commits) > 0 {
		at = commits[len(commits)-1].Time
	}
	i.Latest = string(at)
	now, err := t.Now(ctx, nil)
	if err != nil {
		return err
	}
	s, err := now.Schema(ctx)
	if err != nil {
		return err
	}
	i.Schema = s.String()
	if asJSON {
		return json.NewEncoder(out).Encode(i)
	}
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	fmt.Fprintf(w, "name\t%s\ntype\t%s\nversion\t%d\nkey\t%v\npartition\t%v\nordering\t%v\nkey generator\t%s\nmerge mode\t%s\nmetadata table\t%v\ncommits\t%d\nlatest\t%s\n",
		i.Name, i.Type, i.Version, i.Keys, i.Partition, i.Ordering, i.KeyGen, i.MergeMode, i.Metadata, i.Commits, i.Latest)
	for _, f := range s.Root().Fields {
		null := ""
		if f.Type.Nullable {
			null = ", may be null"
		}
		fmt.Fprintf(w, "column %s\t%s%s\n", f.Name, ingestType(f.Type), null)
	}
	return w.Flush()
}
