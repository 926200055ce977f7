package storagetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"testing"

	"github.com/hudifs/hudifs/internal/storage"
)

// createCommit: a streamed object appears at Commit, whole, and not before.
func createCommit(t *testing.T, s storage.Store) {
	ctx := t.Context()
	for k, n := range []int{0, 1, 100, 300 << 10, 9 << 20} {
		path := fmt.Sprintf("c/%d", n)
		data := fill(n, byte(k))
		w, err := s.Create(ctx, path, storage.PutMode(k%2))
		if err != nil {
			t.Fatalf("Create(%q): %v", path, err)
		}
		for rest := data; len(rest) > 0; {
			m := min(len(rest), 70_000+len(rest)%1000)
			if got, err := w.Write(rest[:m]); got != m || err != nil {
				t.Fatalf("Write(%d bytes) = %d, %v", m, got, err)
			}
			rest = rest[m:]
		}
		_, err = s.Stat(ctx, path)
		wantErr(t, "Stat before Commit", err, fs.ErrNotExist)
		for _, p := range paths(t, s, "", storage.ListOptions{Recursive: true}) {
			if p == path || k == 0 {
				t.Errorf("List before Commit shows %q", p)
			}
		}
		i, err := w.Commit()
		if err != nil {
			t.Fatalf("Commit of %q: %v", path, err)
		}
		wantBytes(t, s, path, data)
		stat, err := s.Stat(ctx, path)
		if err != nil {
			t.Fatalf("Stat after Commit: %v", err)
		}
		same(t, "Commit", i, stat)
		if err := w.Abort(); err != nil {
			t.Errorf("Abort after Commit: %v, want nil", err)
		}
		if _, err := w.Commit(); err == nil {
			t.Error("a second Commit succeeds")
		}
		if _, err := w.Write([]byte("more")); err == nil {
			t.Error("Write after Commit succeeds")
		}
		wantBytes(t, s, path, data)
		if err := s.Delete(ctx, path); err != nil {
			t.Fatal(err)
		}
	}
}

// createAbort: after Abort nothing is left and nothing can be committed.
func createAbort(t *testing.T, s storage.Store) {
	mustPut(t, s, "there", []byte("old"))
	for _, path := range []string{"there", "new"} {
		w, err := s.Create(t.Context(), path, storage.PutReplace)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(fill(100_000, 1)); err != nil {
			t.Fatal(err)
		}
		if err := w.Abort(); err != nil {
			t.Errorf("Abort: %v", err)
		}
		if err := w.Abort(); err != nil {
			t.Errorf("second Abort: %v", err)
		}
		if _, err := w.Commit(); err == nil {
			t.Error("Commit after Abort succeeds")
		}
		if _, err := w.Write([]byte("x")); err == nil {
			t.Error("Write after Abort succeeds")
		}
	}
	wantBytes(t, s, "there", []byte("old"))
	wantPaths(t, s, "", storage.ListOptions{Recursive: true}, "there")
}

// createIfAbsent: a streamed create loses against one that committed first, at whatever moment that happens.
func createIfAbsent(t *testing.T, s storage.Store) {
	ctx := t.Context()
	first, err := s.Create(ctx, "x", storage.PutIfAbsent)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Create(ctx, "x", storage.PutIfAbsent)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		w storage.Writer
		b []byte
	}{{first, []byte("first")}, {second, []byte("second")}} {
		if _, err := w.w.Write(w.b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := second.Commit(); err != nil {
		t.Fatalf("Commit of the one that commits first: %v", err)
	}
	_, err = first.Commit()
	wantErr(t, "Commit of the later one", err, storage.ErrExists)
	if err := first.Abort(); err != nil {
		t.Errorf("Abort after a failed Commit: %v", err)
	}
	wantBytes(t, s, "x", []byte("second"))

	// Both of these are right: losing at once, or at Commit.
	w, err := s.Create(ctx, "x", storage.PutIfAbsent)
	if err == nil {
		if _, werr := w.Write([]byte("third")); werr != nil {
			t.Fatal(werr)
		}
		_, err = w.Commit()
	}
	wantErr(t, "a create over an object", err, storage.ErrExists)
	wantBytes(t, s, "x", []byte("second"))
	wantPaths(t, s, "", storage.ListOptions{Recursive: true}, "x")
}

// readAt: io.ReaderAt to the letter, from many goroutines.
func readAt(t *testing.T, s storage.Store) {
	const n = 100_003
	data := fill(n, 9)
	mustPut(t, s, "r", data)
	o, err := s.Open(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		off int64
		len int
		n   int
		err error
	}{
		{0, 10, 10, nil}, {0, n, n, nil}, {n - 1, 1, 1, nil}, {0, n + 1, n, io.EOF}, {n - 5, 10, 5, io.EOF}, {n, 1, 0, io.EOF}, {n + 50, 3, 0, io.EOF}, {7, 0, 0, nil},
	}
	for _, c := range cases {
		p := make([]byte, c.len)
		got, err := o.ReadAt(p, c.off)
		// A reader may say io.EOF together with the last byte.
		if got != c.n || (err != c.err && !(err == io.EOF && c.off+int64(c.n) == n)) {
			t.Errorf("ReadAt(%d bytes at %d) = %d, %v; want %d, %v", c.len, c.off, got, err, c.n, c.err)
		} else if got > 0 && !bytes.Equal(p[:got], data[c.off:c.off+int64(got)]) {
			t.Errorf("ReadAt(%d bytes at %d) gives other bytes than were written", c.len, c.off)
		}
	}
	if _, err := o.ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("ReadAt(-1) succeeds")
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			p := make([]byte, 997)
			for off := int64(g * 1000); off+997 <= n; off += 8000 {
				if got, err := o.ReadAt(p, off); got != len(p) || !bytes.Equal(p, data[off:off+997]) {
					t.Errorf("concurrent ReadAt at %d = %d, %v or wrong bytes", off, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := o.Close(); err != nil {
		t.Errorf("Close of object: %v", err)
	}
}

// oneVersion: an open object shows the version it was opened at or fails; it never shows another one, nor a mixture.
func oneVersion(t *testing.T, s storage.Store) {
	const n = 200_000
	old := fill(n, 1)
	for _, change := range []struct {
		name string
		do   func() error
	}{
		{"replaced", func() error { _, err := s.Put(t.Context(), "v", fill(n, 2), storage.PutReplace); return err }},
		{"replaced by a shorter one", func() error { _, err := s.Put(t.Context(), "v", []byte("x"), storage.PutReplace); return err }},
		{"deleted", func() error { return s.Delete(t.Context(), "v") }},
	} {
		mustPut(t, s, "v", old)
		o, err := s.Open(t.Context(), "v")
		if err != nil {
			t.Fatal(err)
		}
		if err := change.do(); err != nil {
			t.Fatalf("%s: %v", change.name, err)
		}
		p := make([]byte, 1000)
		if got, err := o.ReadAt(p, n/2); err == nil && !bytes.Equal(p[:got], old[n/2:n/2+got]) {
			t.Errorf("%s: ReadAt of the object opened before gives new bytes", change.name)
		}
		if err := o.Close(); err != nil {
			t.Errorf("Close of object: %v", err)
		}
	}
}

// putIfMatch: only the version named is replaced.
func putIfMatch(t *testing.T, s storage.Store) {
	r, ok := storage.As[storage.Replacer](s)
	if !ok {
		t.Skip("the store cannot replace one version of an object")
	}
	ctx := t.Context()
	v1 := mustPut(t, s, "lock", []byte("one"))
	if v1.ETag == "" {
		t.Fatal("Put gives no etag although the store can replace one version")
	}
	v2, err := r.PutIfMatch(ctx, "lock", []byte("two"), v1.ETag)
	if err != nil {
		t.Fatalf("PutIfMatch with the current etag: %v", err)
	}
	if v2.ETag == v1.ETag || v2.ETag == "" || v2.Path != "lock" || v2.Size != 3 {
		t.Errorf("PutIfMatch = %+v, want a new etag after %q", v2, v1.ETag)
	}
	wantBytes(t, s, "lock", []byte("two"))
	_, err = r.PutIfMatch(ctx, "lock", []byte("old"), v1.ETag)
	wantErr(t, "PutIfMatch with an old etag", err, storage.ErrPrecondition)
	wantBytes(t, s, "lock", []byte("two"))
	if st, err := s.Stat(ctx, "lock"); err != nil || st.ETag != v2.ETag {
		t.Errorf("Stat = %+v, %v; want etag %q", st, err, v2.ETag)
	}
	_, err = r.PutIfMatch(ctx, "lock", []byte("x"), "")
	wantErr(t, "PutIfMatch with an empty etag", err, fs.ErrInvalid)
	if err := s.Delete(ctx, "lock"); err != nil {
		t.Fatal(err)
	}
	_, err = r.PutIfMatch(ctx, "lock", []byte("three"), v2.ETag)
	wantErr(t, "PutIfMatch of a deleted object", err, storage.ErrPrecondition)
	_, err = s.Stat(ctx, "lock")
	wantErr(t, "Stat after that", err, fs.ErrNotExist)
}

// openLocal: the file is the object.
func openLocal(t *testing.T, s storage.Store) {
	l, ok := storage.As[storage.LocalOpener](s)
	if !ok {
		t.Skip("the store has no local files")
	}
	data := fill(50_000, 3)
	mustPut(t, s, "p=1/f.parquet", data)
	f, err := l.OpenLocal(t.Context(), "p=1/f.parquet")
	if err != nil {
		t.Fatalf("OpenLocal: %v", err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the local file has %d bytes, %v; want %d as written", len(got), err, len(data))
	}
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("the local file can be written to")
	}
	for _, p := range []string{"nothing", "p=1"} {
		_, err := l.OpenLocal(t.Context(), p)
		wantErr(t, "OpenLocal("+p+")", err, fs.ErrNotExist)
	}
	if _, err := l.OpenLocal(t.Context(), "../etc/passwd"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("OpenLocal(../etc/passwd): %v, want fs.ErrInvalid", err)
	}
}
