package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/hudifs/hudifs/internal/datadriven"
	"github.com/hudifs/hudifs/internal/storage"
)

func openT(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var errnos = map[string]syscall.Errno{
	"EOPNOTSUPP": syscall.EOPNOTSUPP, "EPERM": syscall.EPERM, "ENOSPC": syscall.ENOSPC, "EIO": syscall.EIO, "EINVAL": syscall.EINVAL,
	"ENOENT": syscall.ENOENT, "EXDEV": syscall.EXDEV, "EACCES": syscall.EACCES, "EDQUOT": syscall.EDQUOT,
}

var tempNames = regexp.MustCompile(`\.hudifs-[0-9a-f]{16}\.tmp`)

// TestTrace shows the system calls of every way to write, in their order, with and without failures. Data first, its name then,
// the directory last.
func TestTrace(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := openT(t, Options{NoSync: true})
		datadriven.Run(t, path, func(t *testing.T, c *datadriven.Case) string {
			var b strings.Builder
			fails := make(map[string]syscall.Errno)
			for _, a := range c.Args {
				if a.Key == "fail" {
					for _, v := range a.Vals {
						op, errno, _ := strings.Cut(v, ":")
						fails[op] = errnos[errno]
					}
				}
			}
			s.sys.hook = func(op, name string) error {
				fmt.Fprintf(&b, "%s %s", op, tempNames.ReplaceAllString(name, "TEMP"))
				errno, ok := fails[op]
				if !ok {
					errno, ok = fails[op+"@"+name]
				}
				if ok {
					fmt.Fprintf(&b, ": %s\n", errno)
					return errno
				}
				b.WriteString("\n")
				return nil
			}
			err := doCase(t, s, c)
			s.sys.hook = nil
			b.WriteString("= " + outcome(err) + "\n")
			for _, left := range tempsBelow(t, s.dir) {
				b.WriteString("left behind: " + left + "\n")
			}
			return b.String()
		})
	})
}

func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	for _, e := range []struct {
		err  error
		name string
	}{{storage.ErrExists, "ErrExists"}, {storage.ErrAmbiguous, "ErrAmbiguous"}, {storage.ErrPrecondition, "ErrPrecondition"}, {os.ErrNotExist, "ErrNotExist"}} {
		if errors.Is(err, e.err) {
			return e.name
		}
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return "error: " + errno.Error()
	}
	return "error: " + err.Error()
}

func doCase(t *testing.T, s *Store, c *datadriven.Case) error {
	path := c.Args[0].Key
	data := []byte(c.Input)
	ctx := t.Context()
	switch c.Cmd {
	case "put-if-absent":
		_, err := s.Put(ctx, path, data, storage.PutIfAbsent)
		return err
	case "put-replace":
		_, err := s.Put(ctx, path, data, storage.PutReplace)
		return err
	case "put-if-match":
		i, err := s.Stat(ctx, path)
		if err != nil {
			return err
		}
		_, err = s.PutIfMatch(ctx, path, data, i.ETag)
		return err
	case "stream":
		mode := storage.PutReplace
		if c.Has("if-absent") {
			mode = storage.PutIfAbsent
		}
		w, err := s.Create(ctx, path, mode)
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return errors.Join(err, w.Abort())
		}
		if c.Has("abort") {
			return w.Abort()
		}
		_, err = w.Commit()
		return err
	case "delete":
		return s.Delete(ctx, path)
	case "prune":
		return s.PruneEmpty(ctx, path)
	}
	t.Fatalf("%s: unknown command %s", c.Pos, c.Cmd)
	return nil
}

func tempsBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && isTemp(d.Name()) {
			names = append(names, "TEMP")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
