package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/writer/lock"
)

func TestMountArgs(t *testing.T) {
	cases := []struct{ in, want string }{
		{"hudifs mount a b -o ro", "mount a b -o ro"},
		{"hudifs status m", "status m"},
		{"hudifs /t /m -o rw,allow_other", "mount /t /m --daemon -o rw,allow_other"},
		{"mount.hudifs /t /m", "mount /t /m --daemon"},
		{"/sbin/mount.fuse.hudifs hudifs#/t /m -n -o ro", "mount /t /m --daemon -o ro"},
		{"hudifs cat /t -o x", "cat /t -o x"},
		{"hudifs /t", "/t"},
		{"hudifs", ""},
	}
	for _, c := range cases {
		if got := mountArgs(strings.Fields(c.in)); !reflect.DeepEqual(got, strings.Fields(c.want)) && len(got)+len(c.want) > 0 {
			t.Errorf("mountArgs(%s) = %v, want %s", c.in, got, c.want)
		}
	}
}

func TestMountOptions(t *testing.T) {
	cases := []struct {
		o     string
		code  int
		names string
	}{
		{"nonsense", exitUsage, "nonsense"},
		{"rw,noatime,_netdev,x-systemd.automount,nonsense=1", exitUsage, "nonsense"},
		{"ack=never", exitUsage, "never"},
		{"cache_size=lots", exitUsage, "cache_size"},
		{"daemon", exitUsage, "daemon"},
		{"ready_fd=3", exitUsage, "ready_fd"},
		{"options=ro", exitUsage, "options"},
		{"ingest-mode=999", exitUsage, "ingest-mode"},
		{"seal_timeout=0s", exitUsage, "seal-timeout"},
		{"csv_delimiter=ab", exitUsage, "delimiter"},
		{"ro,ack=stage", exitNoTable, "none"}, // all is well but the table
	}
	for _, c := range cases {
		root := newRoot()
		root.SetArgs([]string{"mount", filepath.Join(t.TempDir(), "none"), t.TempDir(), "--cache-dir", t.TempDir(), "-o", c.o})
		err := root.ExecuteContext(t.Context())
		if got := exitCode(t.Context(), err); err == nil || got != c.code || !strings.Contains(err.Error(), c.names) {
			t.Errorf("-o %s: exit code %d, %v; want %d and an error that names %s", c.o, got, err, c.code, c.names)
		}
	}
}

func TestOptionsReachTheFlags(t *testing.T) {
	cmd := newMount()
	if err := cmd.Flags().Parse([]string{"-o", "ack=stage,cache_size=1MiB", "-o", "prepare=0,ingest_mode=1777"}); err != nil {
		t.Fatal(err)
	}
	list, err := cmd.Flags().GetStringArray("options")
	if err != nil {
		t.Fatal(err)
	}
	f := mountFlags{options: list}
	if err := f.applyOptions(cmd); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"ack": "stage", "cache-size": "1MiB", "prepare": "0", "ingest-mode": "1777"} {
		if got := cmd.Flags().Lookup(name).Value.String(); got != want {
			t.Errorf("flag %s = %s, want %s", name, got, want)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range []string{"mount a", "cat", "cat t --format xml", "ingest put t f --operation merge", "create t", "create t --key id --type row", "wait m --idle --instant 1",
		"status --no-such-flag m", "demo extra", "ingest put t", "compact", "umount"} {
		root := newRoot()
		root.SetArgs(strings.Fields(args))
		root.SetOut(new(bytes.Buffer))
		if err := root.ExecuteContext(t.Context()); exitCode(t.Context(), err) != exitUsage {
			t.Errorf("hudifs %s: %v, want a usage error", args, err)
		}
	}
}

func TestExitCodes(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	cases := []struct {
		err  error
		ctx  context.Context
		want int
	}{
		{errors.New("x"), t.Context(), 1},
		{usageError{errors.New("x")}, t.Context(), 64},
		{fmt.Errorf("y: %w", usageError{errors.New("x")}), gone, 64},
		{coded(exitPartly, errors.New("x")), gone, 3},
		{&silentError{4}, t.Context(), 4},
		{context.Canceled, gone, 130},
		{corrupt.At("f", 3, "bad"), t.Context(), 14},
		{fmt.Errorf("y: %w", lock.ErrTimeout), t.Context(), 11},
		{fmt.Errorf("y: %w", fs.ErrPermission), t.Context(), 12},
	}
	for _, c := range cases {
		if got := exitCode(c.ctx, c.err); got != c.want {
			t.Errorf("exitCode(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "512": 512, "64KiB": 64 << 10, "64K": 64 << 10, "1.5MiB": 3 << 19, "10GiB": 10 << 30, "1GB": 1e9, "1kB": 1000, "2T": 2 << 40, "7B": 7} {
		var b byteSize
		if err := b.Set(text); err != nil || int64(b) != want {
			t.Errorf("Set(%s) = %d, %v; want %d", text, int64(b), err, want)
		}
		var again byteSize
		if err := again.Set(b.String()); err != nil || again != b {
			t.Errorf("Set(%s.String() = %s) = %d, %v", text, b.String(), int64(again), err)
		}
	}
	for _, text := range []string{"", "-1", "x", "1XB", "1e30TiB", "GiB", "NaN", "inf"} {
		var b byteSize
		if err := b.Set(text); err == nil {
			t.Errorf("Set(%q) = %d, want an error", text, int64(b))
		}
	}
}

func TestFileMode(t *testing.T) {
	var m fileMode
	if err := m.Set("0775"); err != nil || m != 0o775 || m.String() != "0775" {
		t.Errorf("Set(0775) = %o, %v", m, err)
	}
	for _, text := range []string{"", "0", "888", "77777", "rwx"} {
		if err := m.Set(text); err == nil {
			t.Errorf("Set(%q) = %o, want an error", text, m)
		}
	}
}

// The journey without a mount is what a machine without FUSE shows.
func TestDemoWithoutMount(t *testing.T) {
	var out bytes.Buffer
	dir := t.TempDir()
	d := &demonstration{ctx: t.Context(), out: &out, dir: dir, table: filepath.Join(dir, "weather"), mount: filepath.Join(dir, "mount")}
	if err := errors.Join(d.unpack(), d.create(), d.withoutMount("it is a test")); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"it is a test", "180 inserted", "2 updated", "hudifs ingest put"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo does not say %q:\n%s", want, out.String())
		}
	}
}
