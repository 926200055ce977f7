// Package storagetest is the contract of storage.Store as a test suite, and a store in memory for the tests of others.
//
// A new store runs Run in its own test. A rule that is found missing is added here, so that every store has to keep it.
package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/storage"
)

// Run checks every rule of the contract. open returns a new, empty store; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) storage.Store) {
	rules := []struct {
		name string
		rule func(t *testing.T, s storage.Store)
	}{
		{"RoundTrip", roundTrip},
		{"Missing", missing},
		{"BadPaths", badPaths},
		{"OddPaths", oddPaths},
		{"PutModes", putModes},
		{"BytesBelongToTheirOwner", ownBytes},
		{"CreateCommit", createCommit},
		{"CreateAbort", createAbort},
		{"CreateIfAbsent", createIfAbsent},
		{"ReadAt", readAt},
		{"OneVersion", oneVersion},
		{"Cancelled", cancelled},
		{"Delete", deletes},
		{"Properties", properties},
		{"PutIfMatch", putIfMatch},
		{"OpenLocal", openLocal},
		{"List", list},
		{"ListOrder", listOrder},
		{"ListStops", listStops},
		{"ListManyPages", listMany},
		{"ListRandom", listRandom},
		{"RaceOneWinner", raceOneWinner},
		{"RaceReplace", raceReplace},
		{"RaceIfMatch", raceIfMatch},
		{"RaceList", raceList},
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			r.rule(t, s)
		})
	}
}

// fill returns n bytes that depend on seed and on their place.
func fill(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = seed ^ byte(i) ^ byte(i>>8)*31 ^ byte(i>>16)*7
	}
	return b
}

func mustPut(t *testing.T, s storage.Store, path string, data []byte) storage.Info {
	t.Helper()
	i, err := s.Put(t.Context(), path, data, storage.PutReplace)
	if err != nil {
		t.Fatalf("Put(%q, %d bytes): %v", path, len(data), err)
	}
	return i
}

func wantBytes(t *testing.T, s storage.Store, path string, want []byte) {
	t.Helper()
	got, err := s.ReadAll(t.Context(), path)
	if err != nil {
		t.Fatalf("ReadAll(%q): %v", path, err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("ReadAll(%q) = %d bytes %.40q, want %d bytes %.40q", path, len(got), got, len(want), want)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want one that matches %q", what, err, want)
	}
}

// paths lists everything below prefix and returns the paths.
func paths(t *testing.T, s storage.Store, prefix string, o storage.ListOptions) []string {
	t.Helper()
	out := []string{}
	for i, err := range s.List(t.Context(), prefix, o) {
		if err != nil {
			t.Fatalf("List(%q, %+v): %v", prefix, o, err)
		}
		if i.Prefix != strings.HasSuffix(i.Path, "/") {
			t.Errorf("List(%q): %q has Prefix = %v", prefix, i.Path, i.Prefix)
		}
		out = append(out, i.Path)
	}
	return out
}

func wantPaths(t *testing.T, s storage.Store, prefix string, o storage.ListOptions, want ...string) {
	t.Helper()
	if got := paths(t, s, prefix, o); !slices.Equal(got, want) {
		t.Errorf("List(%q, %+v) = %q, want %q", prefix, o, got, want)
	}
}

// roundTrip: what is put is what is read, and every method describes it alike.
func roundTrip(t *testing.T, s storage.Store) {
	for k, n := range []int{0, 1, 511, 64 << 10, 3<<20 + 1} {
		path := fmt.Sprintf("deep/er/p=%d/object", n)
		data := fill(n, byte(k))
		put := mustPut(t, s, path, data)
		wantBytes(t, s, path, data)
		if put.Path != path || put.Size != int64(n) || put.ModTime.IsZero() || put.Prefix {
			t.Errorf("Put(%q) = %+v, want its path, size %d and a time", path, put, n)
		}
		stat, err := s.Stat(t.Context(), path)
		if err != nil {
			t.Fatalf("Stat(%q): %v", path, err)
		}
		same(t, "Stat", stat, put)
		o, err := s.Open(t.Context(), path)
		if err != nil {
			t.Fatalf("Open(%q): %v", path, err)
		}
		same(t, "Open", o.Info(), put)
		got, err := io.ReadAll(io.NewSectionReader(o, 0, int64(n)))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("Open(%q) reads %d bytes, %v; want %d bytes as written", path, len(got), err, n)
		}
		if err := o.Close(); err != nil {
			t.Errorf("Close of object: %v", err)
		}
		for i, err := range s.List(t.Context(), path[:strings.LastIndex(path, "/")+1], storage.ListOptions{}) {
			if err != nil {
				t.Fatalf("List: %v", err)
			}
			same(t, "List", i, put)
		}
	}
}

func same(t *testing.T, what string, got, want storage.Info) {
	t.Helper()
	// Times come in seconds from some stores; their listing and their answers must still say the same second.
	if d := got.ModTime.Sub(want.ModTime).Abs().Seconds(); got.Path != want.Path || got.Size != want.Size || got.Prefix || d >= 1 {
		t.Errorf("%s = %+v, want %+v as Put said", what, got, want)
	}
	if got.ETag != "" && want.ETag != "" && got.ETag != want.ETag {
		t.Errorf("%s of %q: ETag %q, want %q as Put said", what, got.Path, got.ETag, want.ETag)
	}
}

// missing: an object that is not there is fs.ErrNotExist, also below an object and where only a prefix is.
func missing(t *testing.T, s storage.Store) {
	ctx := t.Context()
	mustPut(t, s, "dir/object", []byte("x"))
	for _, path := range []string{"nothing", "no/such/dir", "dir", "dir/object/below", "dir/objec", "dir/objects"} {
		_, err := s.Stat(ctx, path)
		wantErr(t, "Stat("+path+")", err, fs.ErrNotExist)
		o, err := s.Open(ctx, path)
		if o != nil || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%q) = %v, %v; want nil and fs.ErrNotExist", path, o, err)
		}
		_, err = s.ReadAll(ctx, path)
		wantErr(t, "ReadAll("+path+")", err, fs.ErrNotExist)
		wantErr(t, "Delete("+path+")", s.Delete(ctx, path), fs.ErrNotExist)
	}
	wantBytes(t, s, "dir/object", []byte("x"))
}

// badPaths: paths that cannot name an object are refused by every method, before anything happens.
func badPaths(t *testing.T, s storage.Store) {
	ctx := t.Context()
	for _, path := range []string{"", ".", "..", "/", "/a", "a/", "a//b", "a/./b", "a/../b", "../a", "a\x00b", "a/.."} {
		_, err := s.Stat(ctx, path)
		wantErr(t, fmt.Sprintf("Stat(%q)", path), err, fs.ErrInvalid)
		_, err = s.Open(ctx, path)
		wantErr(t, fmt.Sprintf("Open(%q)", path), err, fs.ErrInvalid)
		_, err = s.ReadAll(ctx, path)
		wantErr(t, fmt.Sprintf("ReadAll(%q)", path), err, fs.ErrInvalid)
		_, err = s.Put(ctx, path, nil, storage.PutReplace)
		wantErr(t, fmt.Sprintf("Put(%q)", path), err, fs.ErrInvalid)
		_, err = s.Create(ctx, path, storage.PutIfAbsent)
		wantErr(t, fmt.Sprintf("Create(%q)", path), err, fs.ErrInvalid)
		wantErr(t, fmt.Sprintf("Delete(%q)", path), s.Delete(ctx, path), fs.ErrInvalid)
	}
	for _, prefix := range []string{"a", "/", "../", "a//", "/a/", "./"} {
		for _, err := range s.List(ctx, prefix, storage.ListOptions{}) {
			wantErr(t, fmt.Sprintf("List(%q)", prefix), err, fs.ErrInvalid)
		}
	}
	wantPaths(t, s, "", storage.ListOptions{Recursive: true})
}

// oddPaths: names that real tables have, and worse, work everywhere exactly as they are, or are refused before anything is stored.
func oddPaths(t *testing.T, s storage.Store) {
	must := []string{
		".hoodie_partition_metadata", ".hoodie/.aux/.bootstrap", "p=a%3Ab/f_0-1-0_001.parquet", "x y/z", "ünï/日本", "a.crc", ".a.log.1_0-1-0",
		"a:b", "a#b", "a?b", "a+b&c=d", "~", "-", "p=__HIVE_DEFAULT_PARTITION__/f", "quo\"te'", "a*b[c]{d}", "..a",
		"x.tmp", ".hudifs-x.tmp", strings.Repeat("l", 200),
	}
	may := []string{"tab\tnew\nline", "\x7f", "\xff\xfe", "e\u0301", "back\\slash", "__0x9__", "d../e", "...", "a.."}
	var want []string
	for i, path := range append(must, may...) {
		data := []byte(path)
		if _, err := s.Put(t.Context(), path, data, storage.PutIfAbsent); err != nil {
			if i < len(must) || !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("Put(%q): %v", path, err)
			}
			continue
		}
		want = append(want, path)
		wantBytes(t, s, path, data)
		if _, err := s.Stat(t.Context(), path); err != nil {
			t.Errorf("Stat(%q): %v", path, err)
		}
	}
	slices.Sort(want)
	wantPaths(t, s, "", storage.ListOptions{Recursive: true}, want...)
	for _, path := range want {
		if err := s.Delete(t.Context(), path); err != nil {
			t.Errorf("Delete(%q): %v", path, err)
		}
	}
	wantPaths(t, s, "", storage.ListOptions{Recursive: true})
}

// putModes: PutIfAbsent never replaces, PutReplace does, and a new version has a new etag.
func putModes(t *testing.T, s storage.Store) {
	ctx := t.Context()
	first, err := s.Put(ctx, "a/b", []byte("one"), storage.PutIfAbsent)
	if err != nil {
		t.Fatalf("Put of a new object: %v", err)
	}
	for range 3 {
		_, err = s.Put(ctx, "a/b", []byte("two"), storage.PutIfAbsent)
		wantErr(t, "PutIfAbsent over an object", err, storage.ErrExists)
	}
	wantBytes(t, s, "a/b", []byte("one"))
	seen := map[string]bool{first.ETag: true}
	for k := range 20 {
		data := fmt.Appendf(nil, "%03d", k) // all of one length, as fast as can be
		i := mustPut(t, s, "a/b", data)
		if first.ETag != "" && seen[i.ETag] {
			t.Errorf("version %d has the etag %q of an earlier one", k, i.ETag)
		}
		seen[i.ETag] = true
		wantBytes(t, s, "a/b", data)
	}
	if err := s.Delete(ctx, "a/b"); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	if _, err := s.Put(ctx, "a/b", []byte("three"), storage.PutIfAbsent); err != nil {
		t.Errorf("PutIfAbsent after Delete: %v", err)
	}
	wantBytes(t, s, "a/b", []byte("three"))
}

// ownBytes: the caller may change its buffers after the call.
func ownBytes(t *testing.T, s storage.Store) {
	data := []byte("original")
	mustPut(t, s, "o", data)
	clear(data)
	wantBytes(t, s, "o", []byte("original"))
	got, err := s.ReadAll(t.Context(), "o")
	if err != nil {
		t.Fatal(err)
	}
	clear(got)
	wantBytes(t, s, "o", []byte("original"))
	w, err := s.Create(t.Context(), "w", storage.PutReplace)
	if err != nil {
		t.Fatal(err)
	}
	data = []byte("streamed")
	if n, err := w.Write(data); n != len(data) || err != nil {
		t.Fatalf("Write = %d, %v", n, err)
	}
	clear(data)
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	wantBytes(t, s, "w", []byte("streamed"))
}

// cancelled: a cancelled context means that nothing further changes.
func cancelled(t *testing.T, s storage.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	mustPut(t, s, "there", []byte("old"))
	w, err := s.Create(ctx, "streamed", storage.PutIfAbsent)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	o, err := s.Open(ctx, "there")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = w.Commit()
	wantErr(t, "Commit", err, context.Canceled)
	_, err = o.ReadAt(make([]byte, 1), 0)
	wantErr(t, "ReadAt", err, context.Canceled)
	if err := o.Close(); err != nil {
		t.Errorf("Close of object: %v", err)
	}
	_, err = s.Put(ctx, "put", []byte("x"), storage.PutIfAbsent)
	wantErr(t, "Put", err, context.Canceled)
	_, err = s.Put(ctx, "there", []byte("new"), storage.PutReplace)
	wantErr(t, "Put over", err, context.Canceled)
	wantErr(t, "Delete", s.Delete(ctx, "there"), context.Canceled)
	_, err = s.Stat(ctx, "there")
	wantErr(t, "Stat", err, context.Canceled)
	_, err = s.ReadAll(ctx, "there")
	wantErr(t, "ReadAll", err, context.Canceled)
	n := 0
	for _, err := range s.List(ctx, "", storage.ListOptions{}) {
		wantErr(t, "List", err, context.Canceled)
		n++
	}
	if n != 1 {
		t.Errorf("List with a cancelled context yields %d times, want one error", n)
	}
	wantBytes(t, s, "there", []byte("old"))
	wantPaths(t, s, "", storage.ListOptions{Recursive: true}, "there")
}

// deletes: a deleted object is gone from everywhere, its neighbours stay.
func deletes(t *testing.T, s storage.Store) {
	for _, p := range []string{"d/a", "d/b", "d/a.x", "d/ab/c"} {
		mustPut(t, s, p, []byte(p))
	}
	if err := s.Delete(t.Context(), "d/a"); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	wantErr(t, "second Delete", s.Delete(t.Context(), "d/a"), fs.ErrNotExist)
	_, err := s.Stat(t.Context(), "d/a")
	wantErr(t, "Stat after Delete", err, fs.ErrNotExist)
	wantPaths(t, s, "", storage.ListOptions{Recursive: true}, "d/a.x", "d/ab/c", "d/b")
	if err := storage.PruneEmpty(t.Context(), s, ""); err != nil {
		t.Errorf("PruneEmpty: %v", err)
	}
	wantPaths(t, s, "", storage.ListOptions{Recursive: true}, "d/a.x", "d/ab/c", "d/b")
	if err := s.Delete(t.Context(), "d/ab/c"); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	if err := storage.PruneEmpty(t.Context(), s, "d/"); err != nil {
		t.Errorf("PruneEmpty: %v", err)
	}
	wantPaths(t, s, "d/", storage.ListOptions{}, "d/a.x", "d/b")
}

// properties: what a store says it can do, it can, and As agrees.
func properties(t *testing.T, s storage.Store) {
	p := s.Properties()
	if !p.AtomicPutIfAbsent {
		t.Errorf("AtomicPutIfAbsent = false; no commit protocol can run on such a store")
	}
	if _, ok := storage.As[storage.Replacer](s); ok != p.ConditionalPut {
		t.Errorf("As[Replacer] = %v, Properties().ConditionalPut = %v", ok, p.ConditionalPut)
	}
	if _, ok := storage.As[storage.LocalOpener](s); ok != p.Local {
		t.Errorf("As[LocalOpener] = %v, Properties().Local = %v", ok, p.Local)
	}
	if s.URL() == "" {
		t.Error("URL is empty")
	}
}
