package fusefs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// MountInfo is one line of the kernel's list of mounts.
type MountInfo struct {
	Point  string
	Type   string
	Source string
	ID     int
}

// Mounts returns the mounts of this process's view, oldest first.
func Mounts() ([]MountInfo, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list of mounts: %w", err)
	}
	defer f.Close()
	return parseMounts(f)
}

func parseMounts(r io.Reader) ([]MountInfo, error) {
	var out []MountInfo
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		// id parent major:minor root mountpoint options optional… - type source superoptions
		left, right, ok := strings.Cut(s.Text(), " - ")
		l, rr := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 6 || len(rr) < 2 {
			continue
		}
		id, err := strconv.Atoi(l[0])
		if err != nil {
			continue
		}
		out = append(out, MountInfo{Point: unescape(l[4]), Type: rr[0], Source: unescape(rr[1]), ID: id})
	}
	return out, s.Err()
}

// unescape undoes the kernel's \040 for blanks.
func unescape(s string) string {
	if !strings.Contains(s, "\\") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// MountedAt returns the topmost mount exactly at a place.
func MountedAt(place string) (MountInfo, bool, error) {
	all, err := Mounts()
	if err != nil {
		return MountInfo{}, false, err
	}
	place = resolveDead(place)
	for _, m := range slices.Backward(all) {
		if m.Point == place {
			return m, true, nil
		}
	}
	return MountInfo{}, false, nil
}

// resolveDead resolves symbolic links in all elements but the last, which may be a dead mount that nothing can look into.
func resolveDead(p string) string {
	if abs, err := filepath.Abs(p); err == nil {
		p = abs
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(p)); err == nil {
		return filepath.Join(dir, filepath.Base(p))
	}
	return p
}

// ReplaceStale takes away a dead mount of ours: one whose daemon has died and that answers "transport endpoint is not connected". A
// living mount of ours there, or a dead one of somebody else, is an error.
func ReplaceStale(mountpoint string) (replaced bool, err error) {
	for range 16 {
		m, mounted, err := MountedAt(mountpoint)
		if err != nil || !mounted {
			return replaced, err
		}
		var st syscall.Stat_t
		serr := syscall.Stat(mountpoint, &st)
		// A request that was under way when the daemon died is told so in another way than those after it.
		dead := errors.Is(serr, syscall.ENOTCONN) || errors.Is(serr, syscall.ECONNABORTED)
		switch {
		case m.Type == Type && !dead:
			return replaced, fmt.Errorf("%w: %s is a hudifs mount already (of %s); unmount it first", ErrMount, mountpoint, m.Source)
		case dead && m.Type != Type:
			return replaced, fmt.Errorf("%w: %s is a dead mount of type %s; unmount it first", ErrMount, mountpoint, m.Type)
		case !dead:
			return replaced, nil
		}
		if err := Unmount(mountpoint, true); err != nil {
			return replaced, fmt.Errorf("take away the dead mount: %w", err)
		}
		replaced = true
	}
	return replaced, fmt.Errorf("%w: %s is covered by many dead mounts; unmount them first", ErrMount, mountpoint)
}

// CheckMountpoint refuses a mountpoint that is one of the directories, lies in one, or contains one: the daemon would wait for itself.
// Symbolic links and bind mounts are seen through. Directories that do not exist are passed over.
func CheckMountpoint(mountpoint string, apart ...string) error {
	mp, err := filepath.EvalSymlinks(mountpoint)
	if err != nil {
		return fmt.Errorf("%w: mountpoint: %w", ErrMount, err)
	}
	for _, a := range apart {
		dir, err := filepath.EvalSymlinks(a)
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			return fmt.Errorf("%w: %w", ErrMount, err)
		}
		switch {
		case hasAncestor(mp, dir):
			return fmt.Errorf("%w: mountpoint %s lies in %s, which the mount needs itself; choose a place outside", ErrMount, mountpoint, a)
		case hasAncestor(dir, mp):
			return fmt.Errorf("%w: mountpoint %s would cover %s, which the mount needs itself; choose another place", ErrMount, mountpoint, a)
		}
	}
	return nil
}

// hasAncestor reports whether p is a or lies below it, by name or by identity.
func hasAncestor(p, a string) bool {
	want, err := os.Stat(a)
	if err != nil {
		return false
	}
	for abs, _ := filepath.Abs(p); ; abs = filepath.Dir(abs) {
		if st, err := os.Stat(abs); err == nil && os.SameFile(st, want) {
			return true
		}
		if abs == filepath.Dir(abs) {
			return false
		}
	}
}

// Unmount takes a mount away. Lazy also takes one that is in use: it disappears from its place at once and ends when nothing uses it.
func Unmount(mountpoint string, lazy bool) error {
	place := resolveDead(mountpoint)
	const noFollow = 8 // UMOUNT_NOFOLLOW
	flags := noFollow
	if lazy {
		flags |= syscall.MNT_DETACH
	}
	err := syscall.Unmount(place, flags)
	if errors.Is(err, syscall.EPERM) {
		err = fusermount(place, lazy)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("%w: %s is in use by %s: %w", ErrMount, mountpoint, orUnknown(Holders(place)), err)
	case errors.Is(err, syscall.EINVAL):
		return fmt.Errorf("%w: %s is not a mountpoint: %w", ErrMount, mountpoint, err)
	}
	return fmt.Errorf("%w: unmount %s: %w", ErrMount, mountpoint, err)
}

func fusermount(place string, lazy bool) error {
	arg := "-u"
	if lazy {
		arg = "-uz"
	}
	for _, name := range []string{"fusermount3", "fusermount"} {
		bin, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.Command(bin, arg, "--", place).CombinedOutput()
		if err == nil {
			return nil
		}
		text := strings.TrimSpace(string(out))
		if strings.Contains(text, "busy") {
			return syscall.EBUSY
		}
		return fmt.Errorf("%s: %s: %w", name, text, err)
	}
	return fmt.Errorf("unmounting needs root or fusermount3: %w", syscall.EPERM)
}

func orUnknown(who []string) string {
	if len(who) == 0 {
		return "a process that cannot be seen"
	}
	return strings.Join(who, ", ")
}

// maxHolders bounds what Holders names.
const maxHolders = 8

// Holders names the processes that have files open or a working directory below a place, as far as /proc shows them.
func Holders(place string) []string {
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []string
	for _, p := range procs {
		if _, err := strconv.Atoi(p.Name()); err != nil || len(out) == maxHolders {
			continue
		}
		if holdsBelow("/proc/"+p.Name(), place) {
			comm, _ := os.ReadFile("/proc/" + p.Name() + "/comm")
			out = append(out, fmt.Sprintf("%s (process %s)", strings.TrimSpace(string(comm)), p.Name()))
		}
	}
	return out
}

func holdsBelow(proc, place string) bool {
	below := func(link string) bool {
		t, err := os.Readlink(link)
		return err == nil && (t == place || strings.HasPrefix(t, place+"/"))
	}
	if below(proc+"/cwd") || below(proc+"/root") {
		return true
	}
	fds, err := os.ReadDir(proc + "/fd")
	if err != nil {
		return false
	}
	for _, fd := range fds {
		if below(proc + "/fd/" + fd.Name()) {
			return true
		}
	}
	return false
}
