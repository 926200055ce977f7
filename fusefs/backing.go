package fusefs

import (
	"os"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// maxStackDepth lets files on an overlay (containers) back ours; with 1, the default, the kernel refuses them.
const maxStackDepth = 2

// backing knows which disks the kernel can read by itself. Each is tried once, with a registration that is taken back: a failing one
// later on would switch passthrough off for the whole mount, and files that are open in that mode would give EIO.
type backing struct {
	mu struct {
		sync.Mutex
		try  func(fd int) bool // nil: no passthrough at all
		devs map[uint64]bool
	}
}

func (b *backing) use(s *fuse.Server) {
	if s.KernelSettings().Flags64()&fuse.CAP_PASSTHROUGH == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.devs = map[uint64]bool{}
	b.mu.try = func(fd int) bool {
		id, e := s.RegisterBackingFd(&fuse.BackingMap{Fd: int32(fd)})
		if e != 0 {
			return false
		}
		return s.UnregisterBackingFd(id) == 0
	}
}

// ok reports whether the kernel can read this file by itself.
func (b *backing) ok(f *os.File) bool {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.try == nil {
		return false
	}
	ok, known := b.mu.devs[st.Dev]
	if !known {
		ok = b.mu.try(int(f.Fd()))
		b.mu.devs[st.Dev] = ok
	}
	return ok
}
