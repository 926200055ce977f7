package filecache

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"sync"
)

// maxSizes bounds the keys whose size is remembered: about 8 MB of memory and of log.
const maxSizes = 100_000

// maxLog bounds the log in bytes: twice the keys, of at most 64 bytes a line, and some.
const maxLog = 32 << 20

// sizeState says how much a line of the log vouches for.
type sizeState byte

const (
	onlySize sizeState = 'S' // the file of the key has this size
	durable  sizeState = 'D' // and its newest file is on disk as a whole
)

// sizes is the memory of file sizes: a map, and a log that makes it last. A line is
//
//	<key, 32 hex digits> <size, decimal> <state> <CRC-32 of all before, 8 hex digits>
//
// Later lines win; lines that are torn or damaged are left out. The log is written anew when it has grown to twice the map.
type sizes struct {
	mu    sync.Mutex
	log   *slog.Logger
	path  string
	f     *os.File // nil once the log cannot be written: sizes are then remembered until the end of the process
	lines int      // in the log
	known map[id]knownSize
	order []id // as they came, for forgetting the oldest; may hold ids that are known by a later place
	seq   int64
}

type knownSize struct {
	size  int64
	state sizeState
	seq   int64 // of its last place in order
}

// open reads the log and writes it anew.
func (s *sizes) open(path string, log *slog.Logger) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.path, s.log, s.known = path, log, make(map[id]knownSize)
	if fi, err := os.Stat(path); err == nil && fi.Size() > maxLog {
		log.Warn("the log of sizes is longer than it can be and is left out", "path", path, "bytes", fi.Size())
		return s.rewriteLocked()
	}
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the log of sizes: %w", err)
	}
	damaged := 0
	for line := range bytes.Lines(b) {
		k, size, state, ok := parseSize(line)
		if !ok {
			damaged++
			continue
		}
		s.setLocked(k, size, state)
	}
	if damaged > 0 {
		log.Info("lines of the log of sizes are damaged and left out", "path", path, "lines", damaged)
	}
	return s.rewriteLocked()
}

func (s *sizes) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		return nil
	}
	f := s.f
	s.f = nil
	return f.Close()
}

func (s *sizes) get(k id) (int64, bool) {
	size, _, ok := s.state(k)
	return size, ok
}

func (s *sizes) state(k id) (int64, sizeState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.known[k]
	return v.size, v.state, ok
}

// put remembers. Its one short write is made under the lock of sizes, which nothing else waits for long.
func (s *sizes) put(k id, size int64, state sizeState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(k, size, state)
	if s.f == nil {
		return
	}
	_, err := s.f.Write(appendSize(nil, k, size, state))
	if s.lines++; err == nil && s.lines > 2*len(s.known)+1000 {
		err = s.rewriteLocked()
	}
	if err != nil {
		s.log.Warn("sizes of cached files are no longer remembered across restarts", "path", s.path, "err", err)
		s.f.Close()
		s.f = nil
	}
}

func (s *sizes) setLocked(k id, size int64, state sizeState) {
	s.seq++
	s.known[k] = knownSize{size, state, s.seq}
	s.order = append(s.order, k)
	if len(s.order) > 2*maxSizes {
		s.compactLocked()
	}
	for len(s.known) > maxSizes {
		oldest := s.order[0]
		if s.known[oldest].seq == s.placeLocked(0) {
			delete(s.known, oldest)
		}
		s.order = s.order[1:]
	}
}

// placeLocked is the seq that belongs to order[i]: seq counts the places.
func (s *sizes) placeLocked(i int) int64 { return s.seq - int64(len(s.order)-1-i) }

// compactLocked leaves each key in order once, at its last place.
func (s *sizes) compactLocked() {
	kept := make([]id, 0, len(s.known))
	for i, k := range s.order {
		if v, ok := s.known[k]; ok && v.seq == s.placeLocked(i) {
			kept = append(kept, k)
		}
	}
	for i, k := range kept {
		v := s.known[k]
		v.seq = int64(i) + 1
		s.known[k] = v
	}
	s.order, s.seq = kept, int64(len(kept))
}

// rewriteLocked replaces the log by one that has each key once, in order.
func (s *sizes) rewriteLocked() error {
	tmp, err := os.OpenFile(s.path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write the log of sizes: %w", err)
	}
	w := bufio.NewWriterSize(tmp, 64<<10)
	s.compactLocked()
	var line []byte
	for _, k := range s.order {
		v := s.known[k]
		line = appendSize(line[:0], k, v.size, v.state)
		w.Write(line) // its error comes back from Flush
	}
	err = w.Flush()
	if err == nil {
		err = os.Rename(s.path+".new", s.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the log of sizes: %w", err), tmp.Close())
	}
	if s.f != nil {
		s.f.Close()
	}
	s.f, s.lines = tmp, len(s.order)
	return nil
}

func appendSize(b []byte, k id, size int64, state sizeState) []byte {
	start := len(b)
	b = hex.AppendEncode(b, k[:])
	b = append(b, ' ')
	b = strconv.AppendInt(b, size, 10)
	b = append(b, ' ', byte(state), ' ')
	sum := crc32.ChecksumIEEE(b[start:])
	return fmt.Appendf(b, "%08x\n", sum)
}

func parseSize(line []byte) (k id, size int64, state sizeState, ok bool) {
	text, ok := bytes.CutSuffix(line, []byte("\n"))
	if !ok {
		return k, 0, 0, false
	}
	parts := bytes.Split(text, []byte(" "))
	if len(parts) != 4 || len(parts[0]) != hex.EncodedLen(len(k)) || len(parts[2]) != 1 {
		return k, 0, 0, false
	}
	if _, err := hex.Decode(k[:], parts[0]); err != nil {
		return k, 0, 0, false
	}
	size, err := strconv.ParseInt(string(parts[1]), 10, 64)
	state = sizeState(parts[2][0])
	if err != nil || size < 0 || (state != onlySize && state != durable) {
		return k, 0, 0, false
	}
	return k, size, state, bytes.Equal(line, appendSize(nil, k, size, state))
}
