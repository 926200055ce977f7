package fusefs

import (
	"context"
	"sync"
	"syscall"

	"github.com/cespare/xxhash/v2"
	"github.com/hanwen/go-fuse/v2/fs"
)

// Kinds of things with inode numbers, so that equal keys of different kinds differ.
const (
	kindFile     = "file"     // key: Entry.Key
	kindDir      = "dir"      // key: view, instant, path
	kindFixed    = "fixed"    // key: path in the mount
	kindLink     = "link"     // key: path and target
	kindDrop     = "drop"     // key: operation and DropInfo.ID
	kindRejected = "rejected" // key: RejectedFile.ID
	kindTimeline = "timeline" // key: name
)

// firstIno keeps small numbers free: 1 is the root, and others look like mistakes.
const firstIno = 1 << 16

// nodeBase is what every inode of the mount carries.
type nodeBase struct {
	f     *FS
	ino   uint64
	check uint64 // second hash of what the inode is; tells two things of the same number apart
}

func (b *nodeBase) base() *nodeBase { return b }

// OnForget is called when the kernel has no use for the inode any more.
func (b *nodeBase) OnForget() { b.f.inodes.forget(b) }

// knownNode is an inode that the table of numbers holds.
type knownNode interface {
	fs.InodeEmbedder
	base() *nodeBase
}

// inodeTable gives inode numbers: 64-bit hashes of what a thing is, so that they are the same in every snapshot and after a remount.
// It holds the inodes that the kernel knows, so that one thing is one inode, and so that two things whose hashes collide get
// different numbers (the later one of a pair gets another number than it would have alone; one pair is expected in 5·10⁹ files).
type inodeTable struct {
	seed string // tells tables in one mount apart
	hash func(string) uint64
	mu   struct {
		sync.Mutex
		live map[uint64]knownNode
	}
}

func newInodeTable(seed string) *inodeTable {
	t := &inodeTable{seed: seed, hash: xxhash.Sum64String}
	t.mu.live = map[uint64]knownNode{}
	return t
}

// check is a hash independent of the inode number's.
func check(key string) uint64 { return xxhash.Sum64String("check\x00" + key) }

// number returns the try-th candidate for a key.
func (t *inodeTable) number(key string, try int) uint64 {
	s := t.seed + "\x00" + key
	for range try {
		s += "\x00"
	}
	n := t.hash(s)
	if n < firstIno || n == ^uint64(0) {
		n = n%firstIno + firstIno
	}
	return n
}

// peek returns the number that a key has or would get.
func (t *inodeTable) peek(kind, key string) uint64 {
	k := kind + "\x00" + key
	c := check(k)
	t.mu.Lock()
	defer t.mu.Unlock()
	for try := 0; ; try++ {
		n := t.number(k, try)
		if old, ok := t.mu.live[n]; !ok || old.base().check == c {
			return n
		}
	}
}

// lookup returns the inode for a key if the kernel knows it, else nil.
func (t *inodeTable) lookup(kind, key string) knownNode {
	k := kind + "\x00" + key
	c := check(k)
	t.mu.Lock()
	defer t.mu.Unlock()
	for try := 0; ; try++ {
		old, ok := t.mu.live[t.number(k, try)]
		if !ok {
			return nil
		}
		if old.base().check == c {
			return old
		}
	}
}

// node returns the inode for a key, made by fresh unless the kernel knows it already.
func (t *inodeTable) node(ctx context.Context, parent *fs.Inode, f *FS, kind, key string, mode uint32, fresh func(nodeBase) knownNode) knownNode {
	k := kind + "\x00" + key
	c := check(k)
	t.mu.Lock()
	defer t.mu.Unlock()
	for try := 0; ; try++ {
		n := t.number(k, try)
		old, ok := t.mu.live[n]
		if ok && old.base().check != c {
			continue
		}
		if ok {
			return old
		}
		node := fresh(nodeBase{f: f, ino: n, check: c})
		parent.NewInode(ctx, node, fs.StableAttr{Mode: mode & syscall.S_IFMT, Ino: n})
		t.mu.live[n] = node
		return node
	}
}

func (t *inodeTable) forget(b *nodeBase) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, ok := t.mu.live[b.ino]; ok && n.base() == b {
		delete(t.mu.live, b.ino)
	}
}

// size is the number of inodes that the kernel knows.
func (t *inodeTable) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.mu.live)
}
