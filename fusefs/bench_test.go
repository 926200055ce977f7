package fusefs

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
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

// BenchmarkReadRatio reads the disk's file and the mount's in turns and reports the median of the rounds' ratios: above 1 the mount is faster. self is the disk
// against itself, which says how far noise alone goes. It fails where the kernel does not read the file itself.
func BenchmarkReadRatio(b *testing.B) {
	dir := b.TempDir()
	native := filepath.Join(dir, "table", "a1")
	if err := os.MkdirAll(filepath.Dir(native), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(native, bytes.Repeat([]byte("0123456789abcdef"), benchSize/16), 0o644); err != nil {
		b.Fatal(err)
	}
	m := mount(b, childConfig{Dir: dir, Big: benchSize})
	shown := m.path("latest/big.parquet")
	for _, c := range []struct {
		name  string
		block int
		rand  bool
	}{{"sequential1M", 1 << 20, false}, {"random4k", 4 << 10, true}, {"random64k", 64 << 10, true}} {
		b.Run(c.name, func(b *testing.B) {
			var files [3]*os.File // native, mount, native again
			for i, p := range []string{native, shown, native} {
				f, err := os.Open(p)
				if err != nil {
					b.Fatal(err)
				}
				defer f.Close()
				files[i] = f
			}
			if m.ask("state").Pass == 0 {
				b.Fatal("the mount's file is not passed through")
			}
			var ratio, self []float64
			for b.Loop() {
				var took [3]float64
				for i, f := range files {
					took[i] = readBlocks(b, f, c.block, c.rand).Seconds()
				}
				ratio, self = append(ratio, took[0]/took[1]), append(self, took[0]/took[2])
			}
			slices.Sort(ratio)
			slices.Sort(self)
			b.ReportMetric(ratio[len(ratio)/2], "mount/disk")
			b.ReportMetric(self[len(self)/2], "self")
		})
	}
}

// readBlocks reads 64 MiB in blocks, or 4096 blocks at random, and returns the time that it took.
func readBlocks(b *testing.B, f *os.File, block int, random bool) time.Duration {
	buf := make([]byte, block)
	n := benchSize / 4 / block
	if random {
		n = 4096
	}
	r := rand.New(rand.NewPCG(3, 4))
	began := time.Now()
	for i := range n {
		at := int64(i)
		if random {
			at = r.Int64N(int64(benchSize / block))
		}
		if _, err := f.ReadAt(buf, at*int64(block)); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
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
