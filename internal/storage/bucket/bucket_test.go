package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"gocloud.dev/blob/memblob"
	"gocloud.dev/blob/s3blob"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
)

func TestSuiteMem(t *testing.T) {
	for _, prefix := range []string{"", "lake/table/"} {
		t.Run("prefix="+prefix, func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) storage.Store { return openMem(t, prefix) })
		})
	}
}

func openMem(t *testing.T, prefix string) *Store {
	s, err := New(memblob.OpenBucket(nil), Options{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// s3Server is an S3 in this process whose answers a test can spoil.
type s3Server struct {
	*httptest.Server
	mu     sync.Mutex
	before func(w http.ResponseWriter, r *http.Request) bool // true: has answered
	after  func(w http.ResponseWriter, r *http.Request) bool // true: replaces the answer of a request that was carried out
}

func (v *s3Server) spoil(before, after func(w http.ResponseWriter, r *http.Request) bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.before, v.after = before, after
}

func newS3(t *testing.T) *s3Server {
	backend := s3mem.New()
	if err := backend.CreateBucket("lake"); err != nil {
		t.Fatal(err)
	}
	h := gofakes3.New(backend).Server()
	v := &s3Server{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		before, after := v.before, v.after
		v.mu.Unlock()
		if before != nil && before(w, r) {
			return
		}
		if after == nil {
			h.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if after(w, r) {
			return
		}
		for k, vs := range rec.Header() {
			w.Header()[k] = vs
		}
		w.WriteHeader(rec.Code)
		w.Write(rec.Body.Bytes())
	}))
	t.Cleanup(v.Close)
	return v
}

func (v *s3Server) open(t *testing.T, attempts int) *Store {
	client := s3.New(s3.Options{
		BaseEndpoint:     aws.String(v.URL),
		Region:           "us-east-1",
		UsePathStyle:     true,
		Credentials:      credentials.NewStaticCredentialsProvider("id", "secret", ""),
		RetryMaxAttempts: attempts,
	})
	b, err := s3blob.OpenBucket(t.Context(), client, "lake", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(b, Options{Prefix: "t/"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSuiteS3(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of HTTP requests")
	}
	storagetest.Run(t, func(t *testing.T) storage.Store { return newS3(t).open(t, 1) })
}

func fail(status int, code string) func(w http.ResponseWriter, r *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>spoiled</Message></Error>`, code)
		return true
	}
}

// What the store says when a PUT goes wrong, and what is then there.
func TestS3Answers(t *testing.T) {
	for _, c := range []struct {
		name    string
		before  func(w http.ResponseWriter, r *http.Request) bool
		after   func(w http.ResponseWriter, r *http.Request) bool
		there   bool // another object is there beforehand
		want    error
		content string // afterwards; "" for none
	}{
		{name: "slow down", before: fail(503, "SlowDown"), want: storage.ErrTransient},
		{name: "internal error, not carried out", before: fail(500, "InternalError"), want: storage.ErrAmbiguous},
		{name: "internal error, carried out", after: fail(500, "InternalError"), want: nil, content: "mine"},
		{name: "internal error, lost", before: fail(500, "InternalError"), there: true, want: storage.ErrExists, content: "other"},
		{name: "exists", there: true, want: storage.ErrExists, content: "other"},
		{name: "says exists to a repetition of the winner", after: fail(412, "PreconditionFailed"), want: nil, content: "mine"},
		{name: "conflict, nobody won", before: fail(409, "ConditionalRequestConflict"), want: storage.ErrTransient},
		{name: "conflict, another won", before: fail(409, "ConditionalRequestConflict"), there: true, want: storage.ErrExists, content: "other"},
		{name: "conflict, we won", after: fail(409, "ConditionalRequestConflict"), want: nil, content: "mine"},
		{name: "forbidden", before: fail(403, "AccessDenied"), want: fs.ErrPermission},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newS3(t)
			s := v.open(t, 1)
			if c.there {
				if _, err := s.Put(t.Context(), "x", []byte("other"), storage.PutIfAbsent); err != nil {
					t.Fatal(err)
				}
			}
			v.spoil(c.before, c.after)
			i, err := s.Put(t.Context(), "x", []byte("mine"), storage.PutIfAbsent)
			v.spoil(nil, nil)
			if !errors.Is(err, c.want) || (c.want == nil && err != nil) {
				t.Errorf("Put: %v, want %v", err, c.want)
			}
			if err == nil && (i.Path != "x" || i.Size != 4 || i.ETag == "") {
				t.Errorf("Put = %+v", i)
			}
			if b, err := s.ReadAll(t.Context(), "x"); string(b) != c.content || (err == nil) != (c.content != "") {
				t.Errorf("afterwards the object is %q, %v; want %q", b, err, c.content)
			}
		})
	}
}

// With Retry in front, a create of empty objects whose answers get lost still has one winner, and it knows.
func TestS3RetryKnowsTheWinner(t *testing.T) {
	v := newS3(t)
	s := v.open(t, 1)
	lost := 0
	v.spoil(nil, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			if lost++; lost%2 == 1 {
				return fail(500, "InternalError")(w, r)
			}
		}
		if r.Method == http.MethodHead && lost == 1 { // the first look fails too
			lost++
			w.WriteHeader(500)
			return true
		}
		return false
	})
	r := storage.Retry(s, storage.RetryOptions{MinWait: 1, MaxWait: 1})
	if _, err := r.Put(t.Context(), "instant.requested", nil, storage.PutIfAbsent); err != nil {
		t.Errorf("the create that was carried out: %v, want success", err)
	}
	v.spoil(nil, nil)
	if _, err := r.Put(t.Context(), "instant.requested", nil, storage.PutIfAbsent); !errors.Is(err, storage.ErrExists) {
		t.Errorf("a second create with the same empty bytes: %v, want ErrExists", err)
	}
}

func TestS3CutRead(t *testing.T) {
	v := newS3(t)
	s := v.open(t, 1)
	data := bytes.Repeat([]byte("0123456789"), 10_000)
	if _, err := s.Put(t.Context(), "x", data, storage.PutReplace); err != nil {
		t.Fatal(err)
	}
	o, err := s.Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	cuts := 0
	v.spoil(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || cuts > 0 {
			return false
		}
		cuts++
		w.Header().Set("Content-Length", "50000")
		w.Header().Set("Content-Range", "bytes 0-49999/100000")
		w.Header().Set("ETag", `"`+o.Info().ETag+`"`)
		w.WriteHeader(http.StatusPartialContent)
		w.Write(data[:1000])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}, nil)
	p := make([]byte, 50_000)
	if _, err := o.ReadAt(p, 0); !errors.Is(err, storage.ErrTransient) {
		t.Errorf("ReadAt of a connection that is cut: %v, want ErrTransient", err)
	}
	if n, err := o.ReadAt(p, 0); n != len(p) || err != nil || !bytes.Equal(p, data[:len(p)]) {
		t.Errorf("ReadAt again = %d, %v", n, err)
	}
}

func TestMarkersOfOtherToolsAreNotListed(t *testing.T) {
	b := memblob.OpenBucket(nil)
	for _, key := range []string{"t/", "t/dir/", "t/dir/x", "t//y", "t/dir//z", "t/../up", "u"} {
		if err := b.WriteAll(t.Context(), key, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	s, err := New(b, Options{Prefix: "t/"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct {
		prefix string
		o      storage.ListOptions
		want   string
	}{
		{"", storage.ListOptions{Recursive: true}, "dir/x"},
		{"", storage.ListOptions{}, "dir/"},
		{"dir/", storage.ListOptions{}, "dir/x"},
	} {
		var got []string
		for i, err := range s.List(t.Context(), c.prefix, c.o) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, i.Path)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("List(%q, %+v) = %q, want %q", c.prefix, c.o, got, c.want)
		}
	}
}

func TestKeysThatProvidersRewrite(t *testing.T) {
	for _, c := range []struct {
		p    provider
		bad  []string
		good []string
	}{
		{s3Provider(), []string{"a\nb", "a../b", "__0x25__"}, []string{"p=a%3Ab/f", "a#b?c", `a\b"c`, "é", "__0x__"}},
		{gcsProvider(), []string{"a\nb", "a\rb", "a../b", "x__0xff__y"}, []string{"p=a%3Ab/f", "a\tb"}},
		{azureProvider(), []string{`a\b`, "a\x7f", "a\tb", "a../b", "a./b", "a."}, []string{"p=a%3Ab/f", "a#b", "a?b", `a"b`, "p=1/f_0-1-0_001.parquet", "a b", "é", "__0x25__"}},
	} {
		for _, k := range c.bad {
			if !c.p.rewrites(k) {
				t.Errorf("%s: key %q is taken, want it refused", c.p.name, k)
			}
		}
		for _, k := range c.good {
			if c.p.rewrites(k) {
				t.Errorf("%s: key %q is refused, want it taken", c.p.name, k)
			}
		}
	}
}

func TestSplitURL(t *testing.T) {
	for _, c := range []struct{ in, driver, prefix, shown string }{
		{"s3://lake", "s3://lake", "", "s3://lake"},
		{"s3://lake/a/b/?region=eu&endpoint=http%3A%2F%2Fh", "s3://lake?region=eu&endpoint=http%3A%2F%2Fh", "a/b/", "s3://lake/a/b"},
		{"s3a://lake/t", "s3://lake", "t/", "s3a://lake/t"},
		{"gs://lake/t%20x", "gs://lake", "t x/", "gs://lake/t x"},
		{"mem://", "mem:", "", "mem://"},
		{"azblob://c/t?storage_account=a", "azblob://c?storage_account=a", "t/", "azblob://c/t"},
		{"abfss://c@acc.dfs.core.windows.net/t", "azblob://c?storage_account=acc", "t/", "abfss://c@acc.dfs.core.windows.net/t"},
		{"wasb://c@acc.blob.core.chinacloudapi.cn/t", "azblob://c?domain=blob.core.chinacloudapi.cn&storage_account=acc", "t/", "wasb://c@acc.blob.core.chinacloudapi.cn/t"},
		{"s3://key:secret@lake/t", "s3://lake", "t/", "s3://lake/t"},
	} {
		driver, prefix, shown, err := splitURL(c.in)
		if err != nil || driver != c.driver || prefix != c.prefix || shown != c.shown {
			t.Errorf("splitURL(%q) = %q, %q, %q, %v; want %q, %q, %q", c.in, driver, prefix, shown, err, c.driver, c.prefix, c.shown)
		}
	}
	for _, in := range []string{"s3://lake/a/../b", "s3://lake/a//b", "abfss://acc.dfs.core.windows.net/t", "s3://se%zzcret"} {
		if _, _, _, err := splitURL(in); err == nil {
			t.Errorf("splitURL(%q) succeeds", in)
		} else if strings.Contains(err.Error(), "cret") {
			t.Errorf("splitURL(%q): the error %q shows the URL", in, err)
		}
	}
	s, err := Open(t.Context(), "mem://x/lake/t", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "o", nil, storage.PutIfAbsent); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.b.(*portable).b.Exists(t.Context(), "lake/t/o"); !ok || err != nil {
		t.Errorf("the object lies under its prefix: %v, %v", ok, err)
	}
}

// An aborted or cancelled stream publishes nothing, also with drivers that would publish what they have.
func TestStreamedAbort(t *testing.T) {
	s := openMem(t, "")
	defer s.Close()
	for _, how := range []string{"abort", "cancel"} {
		ctx, cancel := context.WithCancel(t.Context())
		w, err := s.Create(ctx, how, storage.PutReplace)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := w.Write(make([]byte, streamFrom)); err != nil {
				t.Fatal(err)
			}
		}
		if how == "cancel" {
			cancel()
			if _, err := w.Commit(); !errors.Is(err, context.Canceled) {
				t.Errorf("Commit: %v", err)
			}
		}
		if err := w.Abort(); err != nil {
			t.Errorf("Abort: %v", err)
		}
		cancel()
		if _, err := s.Stat(t.Context(), how); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after %s: %v, want no object", how, err)
		}
	}
}
