package fusefs

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The benchmarks come in pairs, the mount and the same file or directory on the disk below it; run them with -count and compare the
// best. Two runs of the disk itself differ by up to 7%.

const benchSize = 256 << 20

// benchMount mounts one large file and returns its path in the mount and on disk.
func benchMount(b *testing.B, plain bool) (shown, native string) {
	b.Helper()
	dir := b.TempDir()
	native = filepath.Join(dir, "table", "a1")
	if err := os.MkdirAll(filepath.Dir(native), 0o755); err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(native)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(r.Uint32())
	}
	for range benchSize / len(block) {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	f.Close()
	m := mount(b, childConfig{Dir: dir, Big: benchSize, Plain: plain})
	return m.path("latest/big.parquet"), native
}

func BenchmarkRead(b *testing.B) {
	shown, native := benchMount(b, false)
	for _, c := range []struct{ name, path string }{{"native", native}, {"mount", shown}} {
		b.Run("sequential/"+c.name, func(b *testing.B) { readAll(b, c.path) })
		b.Run("random4k/"+c.name, func(b *testing.B) { readRandom(b, c.path, 4<<10) })
		b.Run("random64k/"+c.name, func(b *testing.B) { readRandom(b, c.path, 64<<10) })
		b.Run("open/"+c.name, func(b *testing.B) { openClose(b, c.path) })
		b.Run("stat/"+c.name, func(b *testing.B) { stat(b, c.path) })
	}
}

// BenchmarkReadPlain is without passthrough.
func BenchmarkReadPlain(b *testing.B) {
	shown, native := benchMount(b, true)
	for _, c := range []struct{ name, path string }{{"native", native}, {"mount", shown}} {
		b.Run("sequential/"+c.name, func(b *testing.B) { readAll(b, c.path) })
		b.Run("random4k/"+c.name, func(b *testing.B) { readRandom(b, c.path, 4<<10) })
	}
}

func readAll(b *testing.B, p string) {
	buf := make([]byte, 1<<20)
	b.SetBytes(benchSize)
	for b.Loop() {
		f, err := os.Open(p)
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, buf)
		f.Close()
		if err != nil || n != benchSize {
			b.Fatal(n, err)
		}
	}
}

func readRandom(b *testing.B, p string, size int) {
	f, err := os.Open(p)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, size)
	r := rand.New(rand.NewPCG(3, 4))
	b.SetBytes(int64(size))
	for b.Loop() {
		if _, err := f.ReadAt(buf, r.Int64N(benchSize/int64(size))*int64(size)); err != nil {
			b.Fatal(err)
		}
	}
}

func openClose(b *testing.B, p string) {
	for b.Loop() {
		f, err := os.Open(p)
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

func stat(b *testing.B, p string) {
	for b.Loop() {
		if _, err := os.Stat(p); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList lists 10,000 files with real tools, after the first time.
func BenchmarkList(b *testing.B) {
	const files = 10_000
	dir := b.TempDir()
	m := mount(b, childConfig{Dir: dir, Files: files})
	for _, c := range []struct{ name, dir string }{{"native", filepath.Join(dir, "table")}, {"mount", m.path("latest") + "/"}} {
		for _, args := range [][]string{{"ls", "-l"}, {"ls", "-U"}, {"find", "-type", "f"}} {
			b.Run(args[0]+args[1]+"/"+c.name, func(b *testing.B) {
				for b.Loop() {
					cmd := exec.Command(args[0], append([]string{args[1]}, c.dir)...)
					if args[0] == "find" {
						cmd = exec.Command("find", c.dir, "-type", "f")
					}
					if out, err := cmd.Output(); err != nil || len(out) < files {
						b.Fatal(len(out), err)
					}
				}
			})
		}
	}
}

// BenchmarkDrop drops small files until their commit is acknowledged (by an ingester that costs nothing), and copies a large one.
func BenchmarkDrop(b *testing.B) {
	dir := b.TempDir()
	m := mount(b, childConfig{Dir: dir})
	b.Run("small", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if err := os.WriteFile(m.path("ingest", fmt.Sprintf("%d.csv", i)), []byte("id,n\n1,x\n"), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	})
	data := make([]byte, 64<<20)
	for _, c := range []struct{ name, path string }{{"native", filepath.Join(dir, "copy")}, {"mount", m.path("ingest/.copy")}} {
		b.Run("64MiB/"+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := os.WriteFile(c.path, data, 0o644); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
