package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/writer/ingest"
)

// readStatus reads a mount's status, within a bounded time: a mount that hangs must not hang who asks.
func readStatus(mountpoint string) (*mountStatus, error) {
	type answer struct {
		body []byte
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		body, err := os.ReadFile(filepath.Join(mountpoint, ".hudifs", "status.json"))
		got <- answer{body, err}
	}()
	select {
	case a := <-got:
		if a.err != nil {
			return nil, coded(exitMount, fmt.Errorf("%s is not a hudifs mount: %w", mountpoint, a.err))
		}
		var s mountStatus
		if err := json.Unmarshal(a.body, &s); err != nil {
			return nil, coded(exitMount, fmt.Errorf("%s is not a hudifs mount: %w", mountpoint, err))
		}
		return &s, nil
	case <-time.After(10 * time.Second):
		return nil, coded(exitMount, fmt.Errorf("the mount at %s does not answer", mountpoint))
	}
}

func newStatus() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status MOUNTPOINT",
		Short: "Say how a mount is",
		Args:  args(1, 1),
		RunE: func(cmd *cobra.Command, pos []string) error {
			s, err := readStatus(pos[0])
			if err != nil {
				return err
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(s)
			}
			return printStatus(cmd.OutOrStdout(), s)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func printStatus(out io.Writer, s *mountStatus) error {
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	fmt.Fprintf(w, "table\t%s\nsource\t%s\nmountpoint\t%s\nprocess\t%d, since %s\ncommits\t%d, latest %s\n",
		s.Table, s.Source, s.Mountpoint, s.PID, s.Started.Format(time.RFC3339), s.Commits, s.Latest)
	switch {
	case s.NoDrops != "":
		fmt.Fprintf(w, "drops\tnot taken: %s\n", s.NoDrops)
	case s.Ingest == nil:
		fmt.Fprintf(w, "drops\tnot taken: mounted read-only\n")
	default:
		i := s.Ingest
		fmt.Fprintf(w, "drops\t%d queued, %d committed, %d rejected, %d abandoned since the start\n", i.Queued, i.Committed, i.Rejected, i.Abandoned)
		if i.LastError != "" {
			fmt.Fprintf(w, "last error\t%s\n", i.LastError)
		}
		for _, d := range i.Drops {
			fmt.Fprintf(w, "drop %s\t%s %s %s\n", d.Path, d.State, d.Instant, d.Reason)
		}
	}
	return w.Flush()
}

func newWait() *cobra.Command {
	var idle bool
	var instant string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait MOUNTPOINT [--idle | --instant T]",
		Short: "Wait until drops are committed, or until a commit shows",
		Long: `Wait until every sealed drop has its outcome (--idle, the default), or until the commit T shows (--instant T).
Exit code 3 says that drops were rejected meanwhile, 4 that the time was over.`,
		Args: args(1, 1),
		RunE: func(cmd *cobra.Command, pos []string) error {
			if idle && instant != "" {
				return usageError{errors.New("give --idle or --instant, not both")}
			}
			return wait(cmd.Context(), pos[0], instant, timeout)
		},
	}
	cmd.Flags().BoolVar(&idle, "idle", false, "until no drop is under way")
	cmd.Flags().StringVar(&instant, "instant", "", "until this commit, or a later one, is the latest")
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait")
	return cmd
}

func wait(ctx context.Context, mountpoint, instant string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	first, err := readStatus(mountpoint)
	if err != nil {
		return err
	}
	for {
		s, err := readStatus(mountpoint)
		if err != nil {
			return err
		}
		done := instant != "" && s.Latest >= instant
		if instant == "" {
			done = s.Ingest == nil || s.Ingest.Queued == 0 && !busy(s.Ingest)
		}
		if done {
			if s.Ingest != nil && first.Ingest != nil && s.Ingest.Rejected > first.Ingest.Rejected {
				return coded(exitPartly, fmt.Errorf("%d drops were rejected: see %s", s.Ingest.Rejected-first.Ingest.Rejected, filepath.Join(mountpoint, ".hudifs/rejected")))
			}
			return nil
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return coded(exitTimeout, fmt.Errorf("%s is not there after %s", waitedFor(instant), timeout))
			}
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func waitedFor(instant string) string {
	if instant == "" {
		return "quiet"
	}
	return "commit " + instant
}

func busy(s *ingest.Status) bool {
	for _, d := range s.Drops {
		if d.State == ingest.Sealed || d.State == ingest.Committing {
			return true
		}
	}
	return false
}

// waitGone waits, within bounds, until a process has ended.
func waitGone(pid int) {
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
			return
		}
	}
}
