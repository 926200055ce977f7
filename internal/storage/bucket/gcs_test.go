package bucket

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	gcs "cloud.google.com/go/storage"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
)

// startGCS starts fake-gcs-server, where it is installed (go install github.com/fsouza/fake-gcs-server@latest).
func startGCS(t *testing.T) {
	t.Helper()
	bin, err := exec.LookPath("fake-gcs-server")
	if err != nil {
		t.Skip("fake-gcs-server is not in the PATH")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	l.Close()
	c := exec.Command(bin, "-scheme", "http", "-backend", "memory", "-host", "127.0.0.1", "-port", fmt.Sprint(addr.Port), "-public-host", addr.String())
	out, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout = c.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	t.Setenv("STORAGE_EMULATOR_HOST", addr.String()) // which the client library heeds
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "server started at") {
			go func() {
				for lines.Scan() { // or it stops when the pipe is full
				}
			}()
			return
		}
	}
	t.Fatalf("fake-gcs-server ends without listening: %v", lines.Err())
}

func TestSuiteGCS(t *testing.T) {
	startGCS(t)
	var n atomic.Int32
	storagetest.Run(t, func(t *testing.T) storage.Store {
		b, err := gcsblob.OpenBucket(t.Context(), gcp.NewAnonymousHTTPClient(gcp.DefaultTransport()), fmt.Sprintf("suite%d", n.Add(1)), nil)
		if err != nil {
			t.Fatal(err)
		}
		var client *gcs.Client
		if !b.As(&client) {
			t.Fatal("no client behind the bucket")
		}
		if err := client.Bucket(fmt.Sprintf("suite%d", n.Load())).Create(t.Context(), "project", nil); err != nil {
			t.Fatal(err)
		}
		s, err := New(b, Options{Prefix: "lake/t/"})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
