package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
)

func addLogFlags(root *cobra.Command) {
	root.PersistentFlags().String("log-level", envOr("HUDIFS_LOG_LEVEL", "warn"), "least level that is logged: debug, info, warn, error")
	root.PersistentFlags().String("log-format", envOr("HUDIFS_LOG_FORMAT", "text"), "text or json")
}

// level is shared by all loggers of the process, so that a signal can change it.
var level slog.LevelVar

// logger makes the program's logger from the flags; it writes to standard error.
func logger(cmd *cobra.Command) (*slog.Logger, error) {
	name, _ := cmd.Flags().GetString("log-level")
	if err := level.UnmarshalText([]byte(name)); err != nil {
		return nil, usageError{fmt.Errorf("--log-level %s: want debug, info, warn or error", name)}
	}
	format, _ := cmd.Flags().GetString("log-format")
	o := &slog.HandlerOptions{Level: &level}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, o)), nil
	}
	return nil, usageError{fmt.Errorf("--log-format %s: want text or json", format)}
}

func envOr(key, def string) string {
	if v, ok := os.LookupEnv(key); ok {
		return v
	}
	return def
}
