package bucket

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/gcerrors"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
)

// The account that every Azurite has; it is public.
const (
	devAccount = "devstoreaccount1"
	devKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// startAzurite starts the blob service of Azurite, where it is installed (npm install -g azurite), and returns its URL.
func startAzurite(t *testing.T) string {
	t.Helper()
	bin, err := exec.LookPath("azurite-blob")
	if err != nil {
		t.Skip("azurite-blob is not in the PATH")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	c := exec.Command(bin, "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--blobHost", "127.0.0.1", "--blobPort", fmt.Sprint(port))
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "successfully listen") {
			go func() {
				for lines.Scan() { // or it stops when the pipe is full
				}
			}()
			return fmt.Sprintf("http://127.0.0.1:%d/%s", port, devAccount)
		}
	}
	t.Fatalf("azurite ends without listening: %v", lines.Err())
	return ""
}

func openAzure(t *testing.T, service, name string) (*Store, *container.Client) {
	t.Helper()
	cred, err := container.NewSharedKeyCredential(devAccount, devKey)
	if err != nil {
		t.Fatal(err)
	}
	client, err := container.NewClientWithSharedKeyCredential(service+"/"+name, cred, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	b, err := azureblob.OpenBucket(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(b, Options{Prefix: "lake/t/"})
	if err != nil {
		t.Fatal(err)
	}
	return s, client
}

func TestSuiteAzure(t *testing.T) {
	service := startAzurite(t)
	var n atomic.Int32
	storagetest.Run(t, func(t *testing.T) storage.Store {
		s, _ := openAzure(t, service, fmt.Sprintf("suite%d", n.Add(1)))
		return s
	})
}

// Keys are stored as they are, so that other engines find them; directories of hierarchical namespaces are no objects.
func TestAzureKeys(t *testing.T) {
	s, client := openAzure(t, startAzurite(t), "keys")
	defer s.Close()
	for _, p := range []string{"p=a%3Ab/f#1?.parquet", "__0x25__"} {
		if _, err := s.Put(t.Context(), p, []byte(p), storage.PutIfAbsent); err != nil {
			t.Fatal(err)
		}
		r, err := client.NewBlobClient("lake/t/"+p).DownloadStream(t.Context(), nil)
		if err != nil {
			t.Errorf("the client does not find %q: %v", p, err)
			continue
		}
		r.Body.Close()
	}
	yes, nothing := "true", bytes.NewReader(nil)
	if _, err := client.NewBlockBlobClient("lake/t/folder").UploadStream(t.Context(), nothing, &blockblob.UploadStreamOptions{Metadata: map[string]*string{"hdi_isfolder": &yes}}); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"Stat": second(s.Stat(t.Context(), "folder")), "Open": second(s.Open(t.Context(), "folder")),
		"ReadAll": second(s.ReadAll(t.Context(), "folder")), "Delete": s.Delete(t.Context(), "folder"),
	} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of a folder: %v, want fs.ErrNotExist", what, err)
		}
	}
	if _, err := client.NewBlobClient("lake/t/folder").GetProperties(t.Context(), nil); err != nil {
		t.Errorf("Delete has removed a folder: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestAzureAnswers(t *testing.T) {
	o := &azure{}
	for _, c := range []struct {
		status int
		code   string
		want   gcerrors.ErrorCode
	}{
		{404, "BlobNotFound", gcerrors.NotFound}, {404, "", gcerrors.NotFound}, {409, "BlobAlreadyExists", gcerrors.FailedPrecondition},
		{412, "ConditionNotMet", gcerrors.FailedPrecondition}, {412, "", gcerrors.FailedPrecondition}, {403, "AuthenticationFailed", gcerrors.PermissionDenied},
		{409, "ContainerBeingDeleted", gcerrors.Unknown}, {503, "ServerBusy", gcerrors.Unknown},
	} {
		if got := o.code(fmt.Errorf("wrapped: %w", &azcore.ResponseError{StatusCode: c.status, ErrorCode: c.code})); got != c.want {
			t.Errorf("%d %s = %v, want %v", c.status, c.code, got, c.want)
		}
	}
	if got := temporary(&azcore.ResponseError{StatusCode: 503, ErrorCode: "ServerBusy"}); got != refused {
		t.Errorf("ServerBusy is %v, want refused", got)
	}
}

// Folders of a hierarchical namespace come in flat listings among the objects.
func TestAzureItems(t *testing.T) {
	name := func(s string) *string { return &s }
	dir, yes, size := "directory", "true", int64(3)
	etag := azcore.ETag("0x1")
	props := func() *container.BlobProperties { return &container.BlobProperties{ContentLength: &size, ETag: &etag} }
	folder := props()
	folder.ResourceType = &dir
	got := items(nil, []*container.BlobItem{
		{Name: name("a"), Properties: props()}, {Name: name("d"), Properties: folder},
		{Name: name("m"), Properties: props(), Metadata: map[string]*string{"Hdi_isfolder": &yes}}, {Name: name("broken")},
	})
	if len(got) != 1 || got[0].key != "a" || got[0].size != 3 || got[0].etag != "0x1" {
		t.Errorf("items = %+v, want a alone", got)
	}
}
