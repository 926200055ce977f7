// Command hudifs mounts an Apache Hudi table as a directory, and reads, writes and looks after such tables.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run(os.Args)) }

// run is the program: it returns its exit code.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot()
	root.SetArgs(mountArgs(args))
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := exitCode(ctx, err)
	var silent *silentError
	if !errors.As(err, &silent) {
		fmt.Fprintf(os.Stderr, "hudifs: %v\n", err)
		if code == exitUsage {
			fmt.Fprintln(os.Stderr, "hudifs: see 'hudifs help' or 'hudifs COMMAND --help'")
		}
	}
	return code
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "hudifs",
		Short: "An Apache Hudi table as a directory",
		Long: `hudifs mounts an Apache Hudi table as a directory. Every commit is a read-only directory of Parquet files; a file dropped into
ingest/ becomes an upsert commit. Spark, Flink, Trino and hudi-rs can use the same table at the same time.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	addLogFlags(root)
	root.AddCommand(
		newMount(), newUmount(), newStatus(), newWait(),
		newCreate(), newSnapshots(), newTimeline(), newInfo(), newCat(), newIngest(), newCompact(),
		newDemo(), newVersion(),
	)
	return root
}

// args checks the number of positional arguments and says which ones are wanted.
func args(min, max int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, got []string) error {
		if len(got) < min || max >= 0 && len(got) > max {
			return usageError{fmt.Errorf("usage: %s", cmd.UseLine())}
		}
		return nil
	}
}
