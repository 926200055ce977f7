package local

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hudifs/hudifs/internal/storage"
)

// The floor of a durable publication, by hand: temp, fsync, rename, fsync of the directory.
func BenchmarkByHand(b *testing.B) {
	dir := b.TempDir()
	d, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	data := make([]byte, 4096)
	for i := 0; b.Loop(); i++ {
		f, err := os.Create(filepath.Join(dir, "tmp"))
		if err != nil {
			b.Fatal(err)
		}
		f.Write(data)
		f.Sync()
		f.Close()
		if err := os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, fmt.Sprint(i))); err != nil {
			b.Fatal(err)
		}
		d.Sync()
	}
}

func BenchmarkPut(b *testing.B) {
	data := make([]byte, 4096)
	for _, c := range []struct {
		name string
		o    Options
		mode storage.PutMode
	}{
		{"IfAbsent", Options{}, storage.PutIfAbsent},
		{"Replace", Options{}, storage.PutReplace},
		{"IfAbsentNoSync", Options{NoSync: true}, storage.PutIfAbsent},
		{"ReplaceNoSync", Options{NoSync: true}, storage.PutReplace},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := openT(b, c.o)
			for i := 0; b.Loop(); i++ {
				if _, err := s.Put(b.Context(), fmt.Sprintf("p=1/%d", i), data, c.mode); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// 30 000 names are the timeline of 10 000 commits.
func BenchmarkList(b *testing.B) {
	s := openT(b, Options{NoSync: true})
	const n = 30_000
	if err := os.MkdirAll(filepath.Join(s.dir, "timeline"), 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(s.dir, "timeline", fmt.Sprintf("20240101%09d_20240101%09d.deltacommit", i, i)), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("Store", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			k := 0
			for _, err := range s.List(b.Context(), "timeline/", storage.ListOptions{}) {
				if err != nil {
					b.Fatal(err)
				}
				k++
			}
			if k != n {
				b.Fatalf("%d entries", k)
			}
		}
	})
	b.Run("ReadDirAndInfo", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			es, err := os.ReadDir(filepath.Join(s.dir, "timeline"))
			if err != nil {
				b.Fatal(err)
			}
			for _, e := range es {
				if _, err := e.Info(); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func BenchmarkStat(b *testing.B) {
	s := openT(b, Options{NoSync: true})
	put(b, s, ".hoodie/timeline/x", "1")
	for b.Loop() {
		if _, err := s.Stat(b.Context(), ".hoodie/timeline/x"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadAll(b *testing.B) {
	s := openT(b, Options{NoSync: true})
	put(b, s, ".hoodie/timeline/x", string(make([]byte, 1024)))
	for b.Loop() {
		if _, err := s.ReadAll(b.Context(), ".hoodie/timeline/x"); err != nil {
			b.Fatal(err)
		}
	}
}
