package flock

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/writer/lock"
	"github.com/hudifs/hudifs/writer/lock/locktest"
)

const helper = "HUDIFS_FLOCK_HELPER"

// TestMain is, when told so, another process that takes the lock and holds it until it is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(helper); dir != "" {
		if _, err := New(dir).TryLock(context.Background(), "the other process", lock.TTL); err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Stdout.WriteString("held\n")
		select {}
	}
	os.Exit(m.Run())
}

func table(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".hoodie"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestProvider(t *testing.T) {
	locktest.Run(t, func(t *testing.T) lock.Provider { return New(table(t)) })
}

func TestTwoProvidersOfOneTable(t *testing.T) {
	dir := table(t)
	a, err := New(dir).TryLock(t.Context(), "first", lock.TTL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(dir).TryLock(t.Context(), "second", lock.TTL); !errors.Is(err, lock.ErrHeld) || !strings.Contains(err.Error(), "first") {
		t.Errorf("the second provider's TryLock = %v, want ErrHeld with the holder's name", err)
	}
	if err := a.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestKilledHolder(t *testing.T) {
	dir := table(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helper+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "held\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	p := New(dir)
	if _, err := p.TryLock(t.Context(), "b", lock.TTL); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("TryLock while another process holds it = %v, want ErrHeld", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, err := p.TryLock(t.Context(), "b", lock.TTL); err != nil {
		t.Errorf("TryLock after the holder was killed = %v, want nil", err)
	}
}

func TestReplacedFileIsALostLease(t *testing.T) {
	dir := table(t)
	a, err := New(dir).TryLock(t.Context(), "a", lock.TTL)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, Name)); err != nil {
		t.Fatal(err)
	}
	if err := a.Renew(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Renew after the lock file was removed = %v, want ErrLost", err)
	}
	if err := a.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Unlock after the lock file was removed = %v, want ErrLost", err)
	}
}
