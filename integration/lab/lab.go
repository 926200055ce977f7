package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The Hudi bundles that a Session can be started with. None starts no Spark: it reads with hudi-rs, pyarrow and duckdb alone.
const (
	Bundle015 = "0.15.0" // writes table version 6
	Bundle102 = "1.0.2"  // writes 8, and 6 when told
	Bundle111 = "1.1.1"  // writes 9, and 6 and 8 when told
	Bundle120 = "1.2.0"  // writes 9, and 6 and 8 when told
	None      = "none"
)

// ErrNotInstalled says that the laboratory's engines are not there; the error's text says what is missing and how to get it.
// A test that needs them skips on it. Trying again helps only after `integration/lab/setup`.
var ErrNotInstalled = errors.New("the laboratory is not installed")

// ErrRefused is an engine's own error; the session goes on. The text is what the engine said.
var ErrRefused = errors.New("the engine refused")

// ErrEnded says that a session's process is gone; start another.
var ErrEnded = errors.New("the session has ended")

// stopWait is how long Close lets Spark end by itself.
const stopWait = 20 * time.Second

// Session is one running judge: a Python process with Spark and one Hudi bundle. Its methods may be called from several
// goroutines; they run one after another. A call whose context ends takes the whole session with it, because Spark cannot be
// interrupted and its answer would be taken for the next one's.
type Session struct {
	Bundle string

	turn   chan struct{} // held by the call that is talking
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	spoken *tail
	number int
	end    sync.Once
	ended  chan struct{}
}

// Start starts a judge and waits until it is ready: six seconds and more with Spark. The session outlives ctx; Close it.
func Start(ctx context.Context, bundle string) (*Session, error) {
	root, err := repositoryRoot()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(root, "integration", "lab")
	if err := installed(ctx, dir, bundle); err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(dir, "judge.py"), "--bundle", bundle)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s := &Session{Bundle: bundle, turn: make(chan struct{}, 1), cmd: cmd, spoken: &tail{}, ended: make(chan struct{})}
	cmd.Stderr = s.spoken
	if s.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start judge %s: %w", bundle, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start judge %s: %w", bundle, err)
	}
	s.out = bufio.NewReaderSize(out, 1<<20)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start judge %s: %w", bundle, err)
	}
	var hello struct{ Ready json.RawMessage }
	if err := s.receive(ctx, &hello); err != nil {
		return nil, fmt.Errorf("start judge %s: %w", bundle, err)
	}
	return s, nil
}

// installed asks the set-up command whether all that bundle needs is there.
func installed(ctx context.Context, dir, bundle string) error {
	args := []string{"--check", "--bundle"}
	if bundle != None {
		args = append(args, bundle)
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "setup"), args...)
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		if said.Len() == 0 {
			fmt.Fprint(&said, err, ": Python 3 is needed (Debian: apt-get install python3 python3-venv)")
		}
		return fmt.Errorf("%w: %s", ErrNotInstalled, strings.TrimSpace(said.String()))
	}
	return nil
}

// Close ends the session and waits for its processes. Closing twice is harmless.
func (s *Session) Close() error {
	_ = s.in.Close() // the judge ends at the end of its input
	t := time.AfterFunc(stopWait, s.kill)
	defer t.Stop()
	s.reap()
	return nil
}

// kill ends the judge and the Java machine below it at once.
func (s *Session) kill() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
}

// reap waits for the process once; later callers wait for that.
func (s *Session) reap() {
	s.end.Do(func() {
		_ = s.cmd.Wait()
		close(s.ended)
	})
	<-s.ended
}

// ask sends one request and reads its answer into result.
func (s *Session) ask(ctx context.Context, do string, args map[string]any, result any) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return fmt.Errorf("judge %s: %s: %w", s.Bundle, do, context.Cause(ctx))
	}
	s.number++
	request := map[string]any{"id": s.number, "do": do}
	for k, v := range args {
		request[k] = v
	}
	line, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("judge %s: %s: %w", s.Bundle, do, err)
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("judge %s: %s: %w: %v\n%s", s.Bundle, do, ErrEnded, err, s.spoken)
	}
	var said struct {
		ID    int
		OK    json.RawMessage
		Error string
	}
	if err := s.receive(ctx, &said); err != nil {
		return fmt.Errorf("judge %s: %s: %w", s.Bundle, do, err)
	}
	if said.Error != "" {
		return fmt.Errorf("judge %s: %s: %w: %s", s.Bundle, do, ErrRefused, said.Error)
	}
	if err := json.Unmarshal(said.OK, result); err != nil {
		return fmt.Errorf("judge %s: %s: answer: %w", s.Bundle, do, err)
	}
	return nil
}

// receive reads one line into v. When ctx ends first the session is killed.
func (s *Session) receive(ctx context.Context, v any) error {
	type read struct {
		line []byte
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := s.out.ReadBytes('\n')
		got <- read{line, err}
	}()
	select {
	case r := <-got:
		if r.err != nil {
			s.kill()
			s.reap()
			return fmt.Errorf("%w: %v\n%s", ErrEnded, r.err, s.spoken)
		}
		return json.Unmarshal(r.line, v)
	case <-ctx.Done():
		s.kill()
		<-got
		s.reap()
		return context.Cause(ctx)
	}
}

// tail keeps the end of what the judge says on standard error.
type tail struct {
	mu struct {
		sync.Mutex
		b []byte
	}
}

const tailBytes = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.b = append(t.mu.b, p...)
	if over := len(t.mu.b) - tailBytes; over > 0 {
		t.mu.b = append([]byte(nil), t.mu.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.mu.b)
}

// HudiRSWriter returns the path of the hudi-rs program that writes, or ErrNotInstalled.
func HudiRSWriter() (string, error) {
	cache := os.Getenv("HUDIFS_LAB_CACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the laboratory's cache: %w", err)
		}
		cache = filepath.Join(home, ".cache", "hudifs-lab")
	}
	p := filepath.Join(cache, "bin", "hudirs-writer")
	if _, err := os.Stat(p); err != nil {
		return "", fmt.Errorf("%w: the hudi-rs writer is not built; run integration/lab/setup --hudirs", ErrNotInstalled)
	}
	return p, nil
}
