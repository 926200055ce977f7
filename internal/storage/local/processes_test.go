package local

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/storage"
)

// Several processes: one winner for each name, and no lost increment of a counter.
func TestProcesses(t *testing.T) {
	const processes, names, increments = 3, 40, 25
	if dir := os.Getenv("LOCAL_TEST_DIR"); dir != "" {
		racer(t, dir, os.Getenv("LOCAL_TEST_ID"), names, increments)
		return
	}
	s := openT(t, Options{NoSync: true})
	put(t, s, "counter", "0")
	var out [processes]bytes.Buffer
	var cmds [processes]*exec.Cmd
	for i := range cmds {
		c := exec.Command(os.Args[0], "-test.run=^TestProcesses$", "-test.v")
		c.Env = append(os.Environ(), "LOCAL_TEST_DIR="+s.dir, fmt.Sprintf("LOCAL_TEST_ID=%d", i))
		c.Stdout, c.Stderr = &out[i], &out[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		cmds[i] = c
	}
	winners := make(map[string]string)
	for i, c := range cmds {
		if err := c.Wait(); err != nil {
			t.Errorf("process %d: %v\n%s", i, err, out[i].Bytes())
		}
		for _, line := range strings.Split(out[i].String(), "\n") {
			if name, ok := strings.CutPrefix(line, "won "); ok {
				if other, ok := winners[name]; ok {
					t.Errorf("%s was created by %s and by %d", name, other, i)
				}
				winners[name] = strconv.Itoa(i)
			}
		}
	}
	if len(winners) != names {
		t.Errorf("%d names have a winner, want %d", len(winners), names)
	}
	for name, id := range winners {
		if b, err := s.ReadAll(t.Context(), name); string(b) != id || err != nil {
			t.Errorf("%s holds %q, %v; want its winner's %q", name, b, err, id)
		}
	}
	if b, _ := s.ReadAll(t.Context(), "counter"); string(b) != strconv.Itoa(processes*increments) {
		t.Errorf("the counter is %q, want %d", b, processes*increments)
	}
}

// racer is one process of TestProcesses.
func racer(t *testing.T, dir, id string, names, increments int) {
	s, err := Open(dir, Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range names {
		name := fmt.Sprintf("race/%d/o", i)
		_, err := s.Put(t.Context(), name, []byte(id), storage.PutIfAbsent)
		switch {
		case err == nil:
			fmt.Printf("won %s\n", name)
		case !errors.Is(err, storage.ErrExists):
			t.Fatal(err)
		}
	}
	for done := 0; done < increments; {
		i, err := s.Stat(t.Context(), "counter")
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.ReadAll(t.Context(), "counter")
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(string(b))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.PutIfMatch(t.Context(), "counter", []byte(strconv.Itoa(n+1)), i.ETag)
		switch {
		case err == nil:
			done++
		case !errors.Is(err, storage.ErrPrecondition):
			t.Fatal(err)
		}
	}
}
