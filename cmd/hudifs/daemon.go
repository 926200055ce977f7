package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// daemonWait is how long --daemon waits for its child to answer.
const daemonWait = 2 * time.Minute

// daemonize starts this program again, in a session of its own, and returns when that one's mount answers or has failed.
func daemonize(cmd *cobra.Command, source, mountpoint string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	// What the child logs once it stands alone goes where a person looks for it.
	logFile, err := daemonLog(cmd, source)
	if err != nil {
		return err
	}
	defer logFile.Close()
	args := daemonArgs(os.Args[1:])
	child := exec.Command(self, append(args, "--daemon=false", "--ready-fd=3")...)
	child.ExtraFiles = []*os.File{w}
	child.Stdout, child.Stderr = logFile, logFile
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		return err
	}
	w.Close()
	r.SetReadDeadline(time.Now().Add(daemonWait))
	line, err := bufio.NewReader(r).ReadString('\n')
	code, text, _ := strings.Cut(strings.TrimSpace(line), " ")
	if err == nil && code == "0" {
		return child.Process.Release()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		child.Process.Kill()
		return coded(exitMount, fmt.Errorf("the mount did not answer within %s; see %s", daemonWait, logFile.Name()))
	}
	child.Wait()
	if n, aerr := strconv.Atoi(code); aerr == nil && n > 0 {
		return coded(n, errors.New(text))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return coded(exitMount, fmt.Errorf("the mount process ended before it answered; see %s", logFile.Name()))
}

// daemonArgs are this call's arguments for the child; mount(8)'s spelling is made that of the mount command.
func daemonArgs(args []string) []string {
	return mountArgs(append([]string{os.Args[0]}, args...))
}

func daemonLog(cmd *cobra.Command, source string) (*os.File, error) {
	cache, _ := cmd.Flags().GetString("cache-dir")
	dir, err := stateDir(cache, source)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cache directory: %w (choose another with --cache-dir)", err)
	}
	return os.OpenFile(filepath.Join(dir, "mount.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// notifyReady tells the process that started the daemon how it went: "<exit code> <message>". It returns err.
func notifyReady(fd int, err error) error {
	if fd == 0 {
		return err
	}
	f := os.NewFile(uintptr(fd), "ready")
	defer f.Close()
	if err == nil {
		fmt.Fprintln(f, "0 ok")
		return nil
	}
	code := exitCode(contextOf(), err)
	fmt.Fprintf(f, "%d %s\n", code, strings.ReplaceAll(err.Error(), "\n", "; "))
	return err
}
