package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/fusefs"
)

func contextOf() context.Context { return context.Background() }

// mountArgs makes the call of mount(8)'s helper, `hudifs SOURCE MOUNTPOINT -o LIST`, and that of a program called mount.hudifs, a call of the mount
// command; every other call stays.
func mountArgs(all []string) []string {
	name, rest := filepath.Base(all[0]), all[1:]
	helper := strings.HasPrefix(name, "mount.")
	if !helper && len(rest) >= 4 && (rest[2] == "-o" || rest[2] == "-f" || rest[2] == "-v" || rest[2] == "-s") && !strings.HasPrefix(rest[0], "-") && !isCommand(rest[0]) {
		helper = true
	}
	if !helper || len(rest) < 2 {
		return rest
	}
	out := []string{"mount", strings.TrimPrefix(rest[0], "hudifs#"), rest[1], "--daemon"}
	for i := 2; i < len(rest); i++ {
		switch rest[i] {
		case "-o":
			if i+1 < len(rest) {
				out = append(out, "-o", rest[i+1])
				i++
			}
		case "-f", "-v", "-s", "-n":
		default:
			out = append(out, rest[i])
		}
	}
	return out
}

func isCommand(name string) bool {
	for _, c := range []string{"mount", "umount", "status", "wait", "create", "snapshots", "timeline", "info", "cat", "ingest", "demo", "version", "help", "completion", "compact"} {
		if c == name {
			return true
		}
	}
	return false
}

// ignoredOptions are mount(8)'s own, which ask for what a FUSE mount does anyway or can't do.
var ignoredOptions = map[string]bool{"rw": true, "dev": true, "nodev": true, "suid": true, "nosuid": true, "exec": true, "noexec": true, "atime": true, "noatime": true,
	"relatime": true, "strictatime": true, "diratime": true, "nodiratime": true, "async": true, "sync": true, "defaults": true, "auto": true, "noauto": true, "_netdev": true, "nofail": true, "user": true, "nouser": true, "users": true}

// applyOptions turns what -o lists into flags. A wrong one is an error with its name.
func (f *mountFlags) applyOptions(cmd *cobra.Command) error {
	for _, list := range f.options {
		for o := range strings.SplitSeq(list, ",") {
			name, value, has := strings.Cut(o, "=")
			switch {
			case o == "", ignoredOptions[name], strings.HasPrefix(name, "x-"), name == "comment":
				continue
			case name == "ro":
				f.readOnly = true
				continue
			}
			flag := cmd.Flags().Lookup(strings.ReplaceAll(name, "_", "-"))
			if flag == nil || flag.Hidden || flag.Name == "options" || flag.Name == "daemon" {
				return usageError{fmt.Errorf("mount option %q is not known", name)}
			}
			if !has {
				value = "true"
			}
			if err := cmd.Flags().Set(flag.Name, value); err != nil {
				return usageError{fmt.Errorf("mount option %s: %w", o, err)}
			}
		}
	}
	return nil
}

func newUmount() *cobra.Command {
	var lazy bool
	cmd := &cobra.Command{
		Use:   "umount MOUNTPOINT",
		Short: "Unmount a table",
		Args:  args(1, 1),
		RunE: func(_ *cobra.Command, pos []string) error {
			return coded(exitMount, unmount(pos[0], lazy))
		},
	}
	cmd.Flags().BoolVar(&lazy, "lazy", false, "also while programs use it: it goes from its place at once and ends when they are done")
	return cmd
}

// unmount takes the mount away and waits until its process has ended, so that what it held (the cache, the spool) is free.
func unmount(mountpoint string, lazy bool) error {
	pid := 0
	if s, err := readStatus(mountpoint); err == nil {
		pid = s.PID
	}
	if err := fusefs.Unmount(mountpoint, lazy); err != nil {
		return err
	}
	if !lazy && pid > 0 && pid != os.Getpid() {
		waitGone(pid)
	}
	return nil
}
