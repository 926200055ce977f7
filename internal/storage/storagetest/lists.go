package storagetest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/storage"
)

// list: prefixes, one level or all, and starting after a path.
func list(t *testing.T, s storage.Store) {
	all := storage.ListOptions{Recursive: true}
	one := storage.ListOptions{}
	wantPaths(t, s, "", all)
	wantPaths(t, s, "", one)
	for _, p := range []string{".hoodie/x", "a/1", "a/b/2", "a/b/3", "c", "ab/4"} {
		mustPut(t, s, p, []byte(p))
	}
	wantPaths(t, s, "", all, ".hoodie/x", "a/1", "a/b/2", "a/b/3", "ab/4", "c")
	wantPaths(t, s, "", one, ".hoodie/", "a/", "ab/", "c")
	wantPaths(t, s, "a/", all, "a/1", "a/b/2", "a/b/3")
	wantPaths(t, s, "a/", one, "a/1", "a/b/")
	wantPaths(t, s, "a/b/", one, "a/b/2", "a/b/3")
	for _, none := range []string{"nothing/", "a/b/2/", "c/", "a/nothing/", "c/d/"} {
		wantPaths(t, s, none, all)
		wantPaths(t, s, none, one)
	}
	after := func(o storage.ListOptions, p string) storage.ListOptions { o.StartAfter = p; return o }
	wantPaths(t, s, "", after(all, "a/1"), "a/b/2", "a/b/3", "ab/4", "c")
	wantPaths(t, s, "", after(all, "a/b"), "a/b/2", "a/b/3", "ab/4", "c")
	wantPaths(t, s, "", after(all, "a/b/2"), "a/b/3", "ab/4", "c")
	wantPaths(t, s, "", after(all, "zzz"))
	wantPaths(t, s, "", after(one, "a/"), "ab/", "c")
	wantPaths(t, s, "", after(one, "a"), "a/", "ab/", "c")
	wantPaths(t, s, "", after(one, "a/b/2"), "ab/", "c")
	wantPaths(t, s, "a/", after(one, "a/1"), "a/b/")
	wantPaths(t, s, "a/", after(all, "0"), "a/1", "a/b/2", "a/b/3")
	wantPaths(t, s, "a/", after(all, "b"))
}

// listOrder: byte order of the full paths, which is not the order of a walk: "." and "-" come before "/".
func listOrder(t *testing.T, s storage.Store) {
	want := []string{"B", "a b", "a-b", "a.b", "a/x", "a/y/z", "a0", "b-/1", "b/1", "é", "日"}
	shuffled := slices.Clone(want)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for _, p := range shuffled {
		mustPut(t, s, p, []byte(p))
	}
	wantPaths(t, s, "", storage.ListOptions{Recursive: true}, want...)
	wantPaths(t, s, "", storage.ListOptions{}, "B", "a b", "a-b", "a.b", "a/", "a0", "b-/", "b/", "é", "日")
	wantPaths(t, s, "", storage.ListOptions{Recursive: true, StartAfter: "a.b"}, want[4:]...)
	wantPaths(t, s, "", storage.ListOptions{StartAfter: "a.b"}, "a/", "a0", "b-/", "b/", "é", "日")
}

// listStops: the caller may stop, and the sequence may be used again.
func listStops(t *testing.T, s storage.Store) {
	for i := range 20 {
		mustPut(t, s, fmt.Sprintf("d%d/o", i), nil)
	}
	wantAgain := func(seq iter.Seq2[storage.Info, error]) {
		for range 2 {
			n := 0
			for i, err := range seq {
				if err != nil || i.Path <= "d18/o" {
					t.Errorf("List after d18/o used again gives %q, %v", i.Path, err)
				}
				n++
			}
			if n != 9 {
				t.Errorf("List after d18/o gives %d entries, want 9", n)
			}
		}
	}
	wantAgain(s.List(t.Context(), "", storage.ListOptions{Recursive: true, StartAfter: "d18/o"}))
	seq := s.List(t.Context(), "", storage.ListOptions{Recursive: true})
	for stop := 1; stop < 20; stop += 6 {
		n := 0
		for _, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("List gave %d entries, want %d before the stop", n, stop)
		}
	}
}

// listMany: more objects than one page of any store.
func listMany(t *testing.T, s storage.Store) {
	const n = 1100
	want := make([]string, n)
	for i := range n {
		want[i] = fmt.Sprintf("many/%05d", i)
		mustPut(t, s, want[i], nil)
	}
	wantPaths(t, s, "many/", storage.ListOptions{Recursive: true}, want...)
	wantPaths(t, s, "many/", storage.ListOptions{}, want...)
	wantPaths(t, s, "many/", storage.ListOptions{StartAfter: want[900]}, want[901:]...)
	wantPaths(t, s, "", storage.ListOptions{}, "many/")
}

// listRandom: any listing of a random tree is what the definition says.
func listRandom(t *testing.T, s storage.Store) {
	seed := uint64(20240611)
	rng := rand.New(rand.NewPCG(seed, 0))
	elems := []string{"a", "b", "a.b", "a-", "a0", "é", "A"}
	have := map[string]bool{}
	for len(have) < 120 {
		depth := 1 + rng.IntN(4)
		parts := make([]string, depth)
		for i := range parts {
			parts[i] = elems[rng.IntN(len(elems))]
		}
		// Names of objects end in "!", so that none is a directory of another: not every store can have both.
		p := strings.Join(parts, "/") + "!"
		if !have[p] {
			have[p] = true
			mustPut(t, s, p, []byte(p))
		}
	}
	objects := make([]string, 0, len(have))
	for p := range have {
		objects = append(objects, p)
	}
	slices.Sort(objects)
	pick := func() string {
		p := objects[rng.IntN(len(objects))]
		return p[:rng.IntN(len(p)+1)]
	}
	for range 150 {
		prefix := pick()
		prefix = prefix[:strings.LastIndexByte(prefix, '/')+1]
		o := storage.ListOptions{Recursive: rng.IntN(2) == 0, NamesOnly: rng.IntN(2) == 0}
		if rng.IntN(2) == 0 {
			o.StartAfter = strings.ToValidUTF8(pick(), "")
		}
		if got, want := paths(t, s, prefix, o), model(objects, prefix, o); !slices.Equal(got, want) {
			t.Fatalf("seed %d: List(%q, %+v) = %q, want %q", seed, prefix, o, got, want)
		}
	}
}

// model is the definition of List.
func model(objects []string, prefix string, o storage.ListOptions) []string {
	out := []string{}
	for _, p := range objects {
		rest, ok := strings.CutPrefix(p, prefix)
		if !ok {
			continue
		}
		if name, _, sub := strings.Cut(rest, "/"); sub && !o.Recursive {
			p = prefix + name + "/"
		}
		if p > o.StartAfter {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
