package fusefs

import (
	"context"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// fakeKernel records notifications.
type fakeKernel struct {
	mu   sync.Mutex
	sent []string
	busy func() // called while a notification is sent
}

func (k *fakeKernel) EntryNotify(parent uint64, name string) fuse.Status {
	if k.busy != nil {
		k.busy()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sent = append(k.sent, name)
	return fuse.ENOENT // the kernel did not know it: as good
}
func (k *fakeKernel) DeleteNotify(uint64, uint64, string) fuse.Status         { return fuse.OK }
func (k *fakeKernel) InodeNotify(uint64, int64, int64) fuse.Status            { return fuse.OK }
func (k *fakeKernel) InodeNotifyStoreCache(uint64, int64, []byte) fuse.Status { return fuse.OK }
func (k *fakeKernel) InodeRetrieveCache(uint64, int64, []byte) (int, fuse.Status) {
	return 0, fuse.OK
}

// TestNotifications runs the mount without a kernel: what is told, after the new state can be seen, by one goroutine.
func TestNotifications(t *testing.T) {
	s := newFakeSource(t.TempDir())
	standardTable(s)
	f := testFS(t, Config{Source: s, Views: map[string]View{"csv": "csv"}})
	k := &fakeKernel{}
	raw := gofs.NewNodeFS(f.root, &gofs.Options{ServerCallbacks: k, RootStableAttr: &gofs.StableAttr{Ino: 1, Mode: syscall.S_IFDIR}})
	lookup := func(parent uint64, name string) (fuse.EntryOut, fuse.Status) {
		var out fuse.EntryOut
		st := raw.Lookup(nil, &fuse.InHeader{NodeId: parent}, name, &out)
		return out, st
	}
	snaps, _ := lookup(1, "snapshots")
	csv, _ := lookup(1, "csv")
	for _, c := range []struct {
		parent uint64
		name   string
		ttl    time.Duration
	}{{1, "latest", longTTL}, {snaps.NodeId, "20261129100000000", longTTL}, {csv.NodeId, "latest", longTTL}} {
		if out, st := lookup(c.parent, c.name); st != fuse.OK || out.EntryTimeout() != c.ttl {
			t.Errorf("lookup %s = %v, kept for %v; want %v", c.name, st, out.EntryTimeout(), c.ttl)
		}
	}
	if out, st := lookup(snaps.NodeId, "20261129120000000"); st != fuse.ENOENT || out.EntryTimeout() != 0 {
		t.Errorf("lookup of a commit to come = %v, kept for %v; want ENOENT, not kept", st, out.EntryTimeout())
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { f.serve(ctx) })
	k.busy = func() {
		// Whoever is told to forget must find the new state.
		if c, _ := f.state.Load().latest(); c.Instant != "20261129120000000" {
			t.Errorf("told while the latest commit is %s", c.Instant)
		}
	}
	s.commit("20261129120000000", fakeFile{path: "x", key: "x", data: "x"})
	s.remove("20261129100000000")
	if err := f.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	want := "20261129100000000 20261129100000000 latest latest"
	if got := strings.Join(slices.Sorted(slices.Values(k.sent)), " "); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	// Nothing new: nothing told, and the old state stays when the storage is down.
	k.sent = nil
	f.Refresh(ctx)
	s.mu.Lock()
	s.mu.err = errStorage
	s.mu.Unlock()
	f.Refresh(ctx)
	if len(k.sent) != 0 {
		t.Errorf("told %q without a change", k.sent)
	}
	if _, ok := f.state.Load().latest(); !ok {
		t.Error("a failed look emptied the mount")
	}
	cancel()
	wg.Wait()
}

func TestRefreshSharesReloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reloads := 0
		hold := make(chan struct{})
		f := testFS(t, Config{Reload: func(context.Context) error { reloads++; <-hold; return nil }})
		gofs.NewNodeFS(f.root, &gofs.Options{ServerCallbacks: &fakeKernel{}})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { f.serve(ctx) })
		var callers sync.WaitGroup
		callers.Go(func() { f.Refresh(ctx) })
		synctest.Wait()
		for range 20 {
			callers.Go(func() { f.Refresh(ctx) })
		}
		synctest.Wait()
		close(hold)
		callers.Wait()
		if reloads != 2 {
			t.Errorf("21 refreshes read the timeline %d times, want 2", reloads)
		}
		cancel()
		wg.Wait()
	})
}
