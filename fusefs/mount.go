package fusefs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/hudifs/hudifs/timeline"
)

// ErrMount is matched by every error that says: the mount itself cannot be made or ended, whatever the table.
var ErrMount = errors.New("mount problem")

// Type is the file system type that /proc/mounts shows.
const Type = "fuse.hudifs"

// maxRequest is the largest read or write request, the kernel's own limit.
const maxRequest = 1 << 20

// MountOptions say how a mount is made.
type MountOptions struct {
	FSName string // first column of df; default hudifs:<table>
	// AllowOther lets other users in; it turns on the kernel's permission checks.
	AllowOther bool
	// DefaultPermissions lets the kernel check modes also in a mount of one user.
	DefaultPermissions bool
	// AllowNonEmpty mounts over a directory that is not empty.
	AllowNonEmpty bool
	// Apart are local directories that the mount must neither cover nor lie in: the table, the staging and cache directories.
	Apart []string
	// Options are further options for the kernel, such as noexec.
	Options []string
	// Debug logs every request.
	Debug bool
}

// Mount mounts on the directory and returns when the mount answers. Then call Run. A dead mount of ours on the same place is replaced.
func (f *FS) Mount(ctx context.Context, mountpoint string, o MountOptions) error {
	abs, err := filepath.Abs(mountpoint)
	if err != nil {
		return fmt.Errorf("mountpoint %s: %w", mountpoint, err)
	}
	replaced, err := ReplaceStale(abs)
	if err != nil {
		return err
	}
	if replaced {
		f.log.Info("replaced a dead mount", "mountpoint", abs)
	}
	if err := CheckMountpoint(abs, o.Apart...); err != nil {
		return err
	}
	if err := checkEmpty(abs, o.AllowNonEmpty); err != nil {
		return err
	}
	commits, err := f.cfg.Source.Commits(ctx)
	if err != nil {
		return err
	}
	f.state.Store(newState(commits))
	server, err := fuse.NewServer(fs.NewNodeFS(f.root, f.nodeOptions()), abs, f.mountOptions(o))
	if err != nil {
		return explainMount(abs, err)
	}
	go server.Serve()
	if err := server.WaitMount(); err != nil {
		return fmt.Errorf("%w: %s was mounted and does not answer: %w", ErrMount, abs, err)
	}
	f.server, f.mountpoint = server, abs
	f.backing.use(server)
	if server.KernelSettings().Flags64()&fuse.CAP_PASSTHROUGH == 0 {
		f.log.Info("this kernel has no FUSE passthrough: reads go through the daemon", "mountpoint", abs)
		raiseReadAhead(abs)
	}
	return nil
}

func newState(commits []Commit) *tableState {
	s := &tableState{commits: commits, index: make(map[timeline.InstantTime]int, len(commits))}
	for i, c := range commits {
		s.index[c.Instant] = i
	}
	return s
}

func (f *FS) nodeOptions() *fs.Options {
	return &fs.Options{NullPermissions: true, RootStableAttr: &fs.StableAttr{Ino: 1, Mode: syscall.S_IFDIR}, Logger: f.fuseLog(slog.LevelDebug)}
}

func (f *FS) mountOptions(o MountOptions) *fuse.MountOptions {
	name := o.FSName
	if name == "" {
		name = "hudifs:" + f.cfg.Source.Name()
	}
	m := &fuse.MountOptions{
		FsName:     strings.NewReplacer(",", "_", "\\", "_").Replace(name),
		Name:       strings.TrimPrefix(Type, "fuse."),
		AllowOther: o.AllowOther,
		Options:    append([]string(nil), o.Options...),
		MaxWrite:   maxRequest, MaxReadAhead: maxRequest,
		MaxStackDepth:            maxStackDepth,
		EnableSymlinkCaching:     true,
		ExplicitDataCacheControl: true,
		// O_TRUNC must come with OPEN: writing a committed drop anew is allowed, writing into it is not.
		ExtraCapabilities: fuse.CAP_ATOMIC_O_TRUNC,
		DirectMount:       os.Geteuid() == 0,
		Debug:             o.Debug,
		Logger:            f.fuseLog(slog.LevelInfo),
		PanicHandler: func(p any) fuse.Status {
			f.log.Error("a request failed in an unforeseen way; this is a fault in hudifs", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			return fuse.EIO
		},
	}
	m.DirectMountFlags = syscall.MS_NOSUID | syscall.MS_NODEV
	if o.AllowOther || o.DefaultPermissions {
		m.Options = append(m.Options, "default_permissions")
	}
	if f.cfg.ReadOnly {
		m.DirectMountFlags |= syscall.MS_RDONLY
		if !m.DirectMount {
			m.Options = append(m.Options, "ro")
		}
	}
	return m
}

// fuseLog carries the FUSE library's lines into the log.
func (f *FS) fuseLog(level slog.Level) *log.Logger {
	return slog.NewLogLogger(f.log.Handler(), level)
}

// explainMount says what is missing and how to get it.
func explainMount(at string, err error) error {
	hint := ""
	switch {
	case !exists("/dev/fuse"):
		hint = "there is no /dev/fuse: load the fuse module, or give the container --device /dev/fuse --cap-add SYS_ADMIN"
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		hint = "mounting is not permitted: run as root, or give the container --cap-add SYS_ADMIN"
	case os.Geteuid() != 0:
		hint = "mounting as a user needs fusermount3 (package fuse3), and user_allow_other in /etc/fuse.conf for allow_other"
	}
	if hint == "" {
		return fmt.Errorf("%w: mount on %s: %w", ErrMount, at, err)
	}
	return fmt.Errorf("%w: mount on %s: %s (%w)", ErrMount, at, hint, err)
}

func exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}

func checkEmpty(dir string, allow bool) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("%w: mountpoint: %w", ErrMount, err)
	}
	defer d.Close()
	st, err := d.Stat()
	if err != nil {
		return fmt.Errorf("%w: mountpoint: %w", ErrMount, err)
	}
	if !st.IsDir() {
		return fmt.Errorf("%w: mountpoint %s is not a directory", ErrMount, dir)
	}
	names, err := d.Readdirnames(1)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: mountpoint: %w", ErrMount, err)
	}
	if len(names) > 0 && !allow {
		return fmt.Errorf("%w: mountpoint %s is not empty (it holds %s); use an empty directory", ErrMount, dir, names[0])
	}
	return nil
}

// raiseReadAhead makes the kernel read ahead further where reads go through us. Only root may; others go without.
func raiseReadAhead(mountpoint string) {
	var st syscall.Stat_t
	if os.Geteuid() != 0 || syscall.Stat(mountpoint, &st) != nil {
		return
	}
	major, minor := st.Dev>>8&0xfff, st.Dev&0xff|st.Dev>>12&0xfff00
	os.WriteFile(fmt.Sprintf("/sys/class/bdi/%d:%d/read_ahead_kb", major, minor), []byte("1024"), 0o644)
}

// How long Run waits for what is under way when it is told to end.
const (
	finishSeals = 5 * time.Second
	finishWork  = 2 * time.Second
)

// Run serves until the mount is gone or ctx ends; then it unmounts, lets requests that wait go with an error and joins what it
// started. A mount that is in use is taken from its place; programs that use it get errors once this process ends.
func (f *FS) Run(ctx context.Context) error {
	serving, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { f.serve(serving) })
	gone := make(chan struct{})
	go func() { f.server.Wait(); close(gone) }()

	var err error
	select {
	case <-gone:
	case <-ctx.Done():
		f.finish(finishSeals)
		f.stop()
		err = f.leave()
	}
	f.stop()
	f.end()
	cancel()
	wg.Wait()
	f.joinWork(finishWork)
	return err
}

// finish gives commits that a close waits for a moment to end.
func (f *FS) finish(limit time.Duration) {
	end := time.Now().Add(limit)
	for f.sealing.Load() > 0 && time.Now().Before(end) {
		time.Sleep(20 * time.Millisecond)
	}
}

func (f *FS) joinWork(limit time.Duration) {
	done := make(chan struct{})
	go func() { f.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
		f.log.Warn("work goes on after the mount has ended")
	}
}

// leaveTries and leavePause give programs that are just closing their files a moment.
const (
	leaveTries = 5
	leavePause = 20 * time.Millisecond
)

func (f *FS) leave() error {
	var err error
	for range leaveTries {
		if err = Unmount(f.mountpoint, false); err == nil {
			f.server.Wait()
			return nil
		}
		time.Sleep(leavePause)
	}
	f.log.Warn("taking the mount from its place while it is used", "err", err)
	if err = Unmount(f.mountpoint, true); errors.Is(err, syscall.EINVAL) {
		return nil // somebody else has unmounted it meanwhile
	}
	return err
}
