package fusefs

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
)

// procs answers questions about processes from /proc, at the moment when one of their system calls waits for us. The requests name
// threads; files belong to processes.
type procs struct {
	root string // "/proc"
}

// Bits and fields of /proc/<pid>/stat and status.
const (
	flagExiting  = 0x4   // PF_EXITING
	flagSignaled = 0x400 // PF_SIGNALED
	statFlags    = 9     // field numbers as in proc(5)
	statExitCode = 52
	sigkillBit   = 1 << 8 // bit 8 of a signal mask is signal 9
)

// process returns the process of a thread; the thread's own number when /proc does not say.
func (p *procs) process(tid uint32) uint32 {
	if tid == 0 {
		return 0
	}
	n, ok := p.status(tid, "Tgid:", 10)
	if !ok {
		return tid
	}
	return uint32(n)
}

// status reads one number of /proc/<pid>/status.
func (p *procs) status(tid uint32, field string, base int) (uint64, bool) {
	b, err := os.ReadFile(fmt.Sprintf("%s/%d/status", p.root, tid))
	if err != nil {
		return 0, false
	}
	_, rest, ok := bytes.Cut(b, []byte("\n"+field))
	if !ok {
		return 0, false
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), base, 64)
	return n, err == nil
}

// dying reports whether a thread has a signal pending that ends it. The kernel turns every signal that ends a process into a
// SIGKILL for each of its threads, so this one bit covers them.
func (p *procs) dying(tid uint32) bool {
	if tid == 0 {
		return false
	}
	for _, field := range []string{"SigPnd:", "ShdPnd:"} {
		if n, ok := p.status(tid, field, 16); ok && n&sigkillBit != 0 {
			return true
		}
	}
	e, err := p.exit(tid)
	return err == nil && e.killed
}

// exitState says whether a process is ending, and how.
type exitState struct {
	exiting bool
	killed  bool // by a signal
	signal  int  // 0 when not known
}

// exit looks whether a thread is on its way out. Its files are closed during that, so a FLUSH can come from it.
func (p *procs) exit(tid uint32) (exitState, error) {
	b, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", p.root, tid))
	if err != nil {
		return exitState{}, err
	}
	return parseStat(string(b))
}

func parseStat(s string) (exitState, error) {
	// The second field is the name in parentheses, which may hold anything.
	i := strings.LastIndexByte(s, ')')
	if i < 0 {
		return exitState{}, fmt.Errorf("process stat %q has no name", s)
	}
	const before = 2 // fields up to the name
	fields := strings.Fields(s[i+1:])
	if len(fields) < statExitCode-before {
		return exitState{}, fmt.Errorf("process stat has %d fields, want %d", len(fields)+before, statExitCode)
	}
	flags, err := strconv.ParseUint(fields[statFlags-before-1], 10, 64)
	if err != nil {
		return exitState{}, fmt.Errorf("process flags: %w", err)
	}
	code, err := strconv.Atoi(fields[statExitCode-before-1])
	if err != nil {
		return exitState{}, fmt.Errorf("process exit code: %w", err)
	}
	e := exitState{exiting: flags&flagExiting != 0}
	if !e.exiting {
		return e, nil
	}
	e.signal = code & 0x7f
	e.killed = e.signal != 0
	if code == 0 && os.Geteuid() != 0 && flags&flagSignaled != 0 {
		// The exit code of another user's process reads as 0; the flag does not lie about that one thread.
		e.killed = true
	}
	return e, nil
}

// maxDescendants bounds the search through a process's children.
const maxDescendants = 256

// holds reports whether a process or a descendant of it has a descriptor on the inode. name is the last element of the file's path,
// which spares looking into every descriptor. When /proc does not let us look, it says yes: then the last close decides.
func (p *procs) holds(pid uint32, ino uint64, name string, self bool) bool {
	if self {
		if held, known := p.holdsOne(pid, ino, name); held || !known {
			return true
		}
	}
	queue := p.children(pid)
	for n := 0; len(queue) > 0 && n < maxDescendants; n++ {
		c := queue[0]
		queue = append(queue[1:], p.children(c)...)
		if held, _ := p.holdsOne(c, ino, name); held {
			return true
		}
	}
	return len(queue) > 0
}

// holdsOne looks at one process's descriptors and memory maps: a file may be written through its map after the descriptor is closed.
func (p *procs) holdsOne(pid uint32, ino uint64, name string) (held, known bool) {
	if p.maps(pid, ino, name) {
		return true, true
	}
	dir := fmt.Sprintf("%s/%d/fd", p.root, pid)
	d, err := os.Open(dir)
	if err != nil {
		return false, false
	}
	fds, err := d.Readdirnames(-1)
	d.Close()
	if err != nil {
		return false, false
	}
	for _, fd := range fds {
		link, err := os.Readlink(dir + "/" + fd)
		if err != nil {
			continue
		}
		if path.Base(strings.TrimSuffix(link, " (deleted)")) != name {
			continue
		}
		if n, ok := p.fdInode(pid, fd); !ok || n == ino {
			return true, true
		}
	}
	return false, true
}

// maps reports whether the process has the file in its memory.
func (p *procs) maps(pid uint32, ino uint64, name string) bool {
	b, err := os.ReadFile(fmt.Sprintf("%s/%d/maps", p.root, pid))
	if err != nil {
		return false
	}
	want := strconv.FormatUint(ino, 10)
	for line := range bytes.Lines(b) {
		// address permissions offset device inode path
		f := bytes.Fields(line)
		if len(f) > 5 && string(f[4]) == want && bytes.Contains(line, []byte(name)) {
			return true
		}
	}
	return false
}

// fdInode reads the inode number of a descriptor without asking the file system, which is us.
func (p *procs) fdInode(pid uint32, fd string) (uint64, bool) {
	b, err := os.ReadFile(fmt.Sprintf("%s/%d/fdinfo/%s", p.root, pid, fd))
	if err != nil {
		return 0, false
	}
	_, rest, ok := bytes.Cut(b, []byte("ino:"))
	if !ok {
		return 0, false
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 10, 64)
	return n, err == nil
}

func (p *procs) children(pid uint32) []uint32 {
	dir := fmt.Sprintf("%s/%d/task", p.root, pid)
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []uint32
	for _, t := range tasks {
		b, err := os.ReadFile(dir + "/" + t.Name() + "/children")
		if err != nil {
			continue
		}
		for _, f := range strings.Fields(string(b)) {
			if n, err := strconv.ParseUint(f, 10, 32); err == nil {
				out = append(out, uint32(n))
			}
		}
	}
	return out
}
