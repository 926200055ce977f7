package txn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/timeline"
)

// heartbeatDir holds one file per running write (timeline.md §7.5). Java looks at its modification time only and leaves it empty; ours names the
// process, so that after a crash on the same host the next start need not wait for the heartbeat to expire.
const heartbeatDir = ".hoodie/.heartbeat/"

// tolerableMisses is Hudi's hoodie.client.heartbeat.tolerable.misses, plus the one that newer releases add.
const tolerableMisses = 3

type heartbeat struct {
	m       *Manager
	path    string
	stopped chan struct{}
	quit    context.CancelFunc
	mu      struct {
		sync.Mutex
		last time.Time // when a beat last succeeded, by the monotonic clock
	}
}

func (m *Manager) startHeartbeat(ctx context.Context, at timeline.InstantTime, mode storage.PutMode) (*heartbeat, error) {
	h := &heartbeat{m: m, path: heartbeatDir + string(at), stopped: make(chan struct{})}
	if err := h.send(ctx, mode); err != nil {
		return nil, fmt.Errorf("start heartbeat of %s: %w", at, err)
	}
	run, quit := context.WithCancel(context.WithoutCancel(ctx))
	h.quit = quit
	go h.run(run)
	return h, nil
}

func (h *heartbeat) send(ctx context.Context, mode storage.PutMode) error {
	began := time.Now()
	if _, err := h.m.o.Store.Put(ctx, h.path, []byte(h.m.o.Owner+"\n"), mode); err != nil {
		return err
	}
	h.mu.Lock()
	h.mu.last = began
	h.mu.Unlock()
	return nil
}

func (h *heartbeat) run(ctx context.Context) {
	defer close(h.stopped)
	tick := time.NewTicker(h.m.o.HeartbeatInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := h.send(ctx, storage.PutReplace); err != nil && ctx.Err() == nil {
				h.m.o.Log.Warn("heartbeat failed", "path", h.path, "err", err)
			}
		}
	}
}

// alive fails where the heartbeat may have seemed dead to others: somebody may be rolling the write back right now.
func (h *heartbeat) alive(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	// One interval before others may act: they and we read different clocks.
	if age := time.Since(h.mu.last); age > (tolerableMisses-1)*h.m.o.HeartbeatInterval {
		return fmt.Errorf("%w: no heartbeat for %s", ErrGone, age.Round(time.Second))
	}
	return nil
}

func (h *heartbeat) stop(ctx context.Context) error {
	h.quit()
	<-h.stopped
	return h.m.deleteIfThere(ctx, h.path)
}

func (m *Manager) deleteIfThere(ctx context.Context, path string) error {
	if err := m.o.Store.Delete(ctx, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", path, err)
	}
	return nil
}

// liveness is what is known about the writer of a pending instant.
type liveness uint8

const (
	dead liveness = iota
	running
	unknown // no heartbeat: a Java single writer, or none
)

// writerOf judges the writer of a pending instant by its heartbeat.
func (m *Manager) writerOf(ctx context.Context, at timeline.InstantTime) (liveness, error) {
	path := heartbeatDir + string(at)
	info, err := m.o.Store.Stat(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return unknown, nil
	}
	if err != nil {
		return unknown, fmt.Errorf("look at heartbeat %s: %w", path, err)
	}
	if time.Since(info.ModTime) > tolerableMisses*m.o.HeartbeatInterval {
		return dead, nil
	}
	if info.Size == 0 || info.Size > 4096 {
		return running, nil
	}
	body, err := m.o.Store.ReadAll(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return unknown, nil
	}
	if err != nil {
		return unknown, err
	}
	if processIsGone(strings.TrimSpace(string(body))) {
		return dead, nil
	}
	return running, nil
}

var process = sync.OnceValue(func() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("hudifs/%s/%s/%d/%s", host, bootID(), os.Getpid(), startTime(os.Getpid()))
})

// processName names this process so that another one on the same host can tell whether it still runs: host, boot, process number, start time.
func processName() string { return process() }

// processIsGone reports whether name is a process of this host that certainly does not run any more.
func processIsGone(name string) bool {
	p := strings.Split(name, "/")
	mine := strings.Split(processName(), "/")
	// Another boot or PID namespace may be another machine or container of the same name: nothing is certain there.
	if len(p) != 5 || p[0] != "hudifs" || p[1] != mine[1] || p[2] != mine[2] || p[2] == "" || p[4] == "" {
		return false
	}
	pid, err := strconv.Atoi(p[3])
	if err != nil {
		return false
	}
	return startTime(pid) != p[4]
}

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	// Process numbers mean something within one PID namespace only.
	return strings.TrimSpace(string(b)) + "+" + strings.Trim(strings.TrimPrefix(ns, "pid:"), "[]")
}

// startTime is when a process began, in clock ticks since boot; "" where it does not run or is a zombie.
func startTime(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The command's name may hold anything: fields are counted from its closing bracket.
	s := string(b)
	f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return ""
	}
	return f[19]
}
