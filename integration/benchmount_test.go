package integration

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/hudifs/hudifs/internal/tableconfig"
)

// mountBench builds the program, mounts a table with it and returns the mountpoint. It skips where nothing can be mounted.
func mountBench(b *testing.B, table string) string {
	b.Helper()
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		b.Skipf("no FUSE here: %v", err)
	} else {
		f.Close()
	}
	dir := b.TempDir()
	bin, mnt := filepath.Join(dir, "hudifs"), filepath.Join(dir, "mnt")
	if out, err := exec.Command("go", "build", "-o", bin, "../cmd/hudifs").CombinedOutput(); err != nil {
		b.Fatalf("build: %v: %s", err, out)
	}
	if err := os.Mkdir(mnt, 0o755); err != nil {
		b.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command(bin, "mount", "--cache-dir", filepath.Join(dir, "cache"), table, mnt)
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			b.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Errorf("hudifs mount: %v: %s", err, log.String())
		}
	})
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
		if _, err := os.Stat(filepath.Join(mnt, "ingest")); err == nil {
			return mnt
		}
		if time.Now().After(deadline) {
			b.Fatalf("the mount does not answer: %s", log.String())
		}
	}
}

// BenchmarkDropToVisible writes a CSV file of 1,000 rows into a mount and waits until latest names its commit. The close of the file returns when the rows are committed,
// durably; half of the rows are updates.
func BenchmarkDropToVisible(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "table")
	createBenchTable(b, dir, tableconfig.Options{})
	mnt := mountBench(b, dir)
	r := rand.New(rand.NewPCG(5, 6))
	drop := filepath.Join(b.TempDir(), "drop.csv")
	link := filepath.Join(mnt, "latest")
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		writeTrips(b, drop, 1000, r, func(i int) int { return 500*n + i })
		data, err := os.ReadFile(drop)
		if err != nil {
			b.Fatal(err)
		}
		before, _ := os.Readlink(link) // none before the first commit
		b.StartTimer()
		if err := os.WriteFile(filepath.Join(mnt, "ingest", fmt.Sprintf("%d.csv", n)), data, 0o644); err != nil {
			b.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); ; {
			if now, err := os.Readlink(link); err == nil && now != before {
				break
			}
			if time.Now().After(deadline) {
				b.Fatal("the commit is not visible a minute after its drop was closed")
			}
		}
	}
}
