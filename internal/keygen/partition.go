package keygen

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/hudifs/hudifs/internal/record"
)

// DefaultPartition is the directory of rows whose partition value is null or empty.
const DefaultPartition = "__HIVE_DEFAULT_PARTITION__"

// part makes one segment of the path.
type part struct {
	field
	prefix string // hive style: "field="
	encode bool
	time   *timePart // nil: the value itself
}

// Partition implements KeyGenerator.
func (g *generator) Partition(row record.Row) (string, error) {
	if len(g.parts) == 0 {
		return "", nil
	}
	// Tables have few partitions and many rows, so paths are remembered by the raw values.
	var buf [128]byte
	raw := buf[:0]
	for i := range g.parts {
		p := &g.parts[i]
		at := len(raw)
		raw = append(raw, 0, 0, 0, 0)
		var null bool
		var err error
		if raw, null, err = p.append(raw, row); err != nil {
			return "", fmt.Errorf("%w: partition field %q: %w", ErrRow, p.name, err)
		}
		size := uint32(len(raw) - at - 4)
		if null {
			size = 1<<32 - 1
		}
		binary.LittleEndian.PutUint32(raw[at:], size)
	}
	if path, ok := g.cache.get(raw); ok {
		return path, nil
	}
	path, err := g.path(row)
	if err == nil {
		g.cache.put(raw, path)
	}
	return path, err
}

// path makes the path anew.
func (g *generator) path(row record.Row) (string, error) {
	segments := make([]string, len(g.parts))
	for i := range g.parts {
		p := &g.parts[i]
		s, err := p.segment(row)
		if err == nil && g.slash && !strings.HasPrefix(s, "-") {
			s = strings.ReplaceAll(s, "-", "/")
		}
		if err == nil {
			s = p.prefix + s
			err = checkSegment(s, i == 0)
		}
		if err != nil {
			return "", fmt.Errorf("%w: partition field %q: %w", ErrRow, p.name, err)
		}
		segments[i] = s
	}
	return strings.Join(segments, "/"), nil
}

// segment is the part's text without the hive prefix.
func (p *part) segment(row record.Row) (string, error) {
	if p.time != nil {
		s, err := p.time.text(p, row)
		if err != nil {
			return "", err
		}
		if p.encode {
			s = Escape(s)
		}
		return s, nil
	}
	b, null, err := p.append(nil, row)
	if err != nil {
		return "", err
	}
	switch {
	case null || len(b) == 0:
		return DefaultPartition, nil
	case p.encode:
		return Escape(string(b)), nil
	}
	return string(b), nil
}

// checkSegment refuses what would leave the table's directory, name no directory, or fall among Hudi's own files. A value may hold slashes
// where paths are not encoded: each stretch between them is a directory.
func checkSegment(s string, first bool) error {
	for i, dir := range strings.Split(s, "/") {
		switch {
		case dir == "" || dir == "." || dir == "..":
			return fmt.Errorf("the value makes the path %q, in which %q names no directory", s, dir)
		case first && i == 0 && strings.HasPrefix(dir, ".hoodie"):
			return fmt.Errorf("the value makes the path %q, which is kept for Hudi's own files", s)
		case strings.IndexByte(dir, 0) >= 0:
			return fmt.Errorf("the value makes the path %q, which holds a zero byte", s)
		case len(dir) > 255:
			return fmt.Errorf("the value makes a directory name of %d bytes, more than the 255 that file systems take", len(dir))
		}
	}
	return nil
}

// pathCache remembers recent paths by their raw values, without locks: each slot is replaced whole.
type pathCache struct {
	slots [64]atomic.Pointer[cachedPath]
}

type cachedPath struct{ raw, path string }

var cacheSeed = maphash.MakeSeed()

func (c *pathCache) slot(raw []byte) *atomic.Pointer[cachedPath] {
	return &c.slots[maphash.Bytes(cacheSeed, raw)%uint64(len(c.slots))]
}

func (c *pathCache) get(raw []byte) (string, bool) {
	if e := c.slot(raw).Load(); e != nil && e.raw == string(raw) {
		return e.path, true
	}
	return "", false
}

func (c *pathCache) put(raw []byte, path string) {
	c.slot(raw).Store(&cachedPath{raw: string(raw), path: path})
}

var _ KeyGenerator = (*generator)(nil)
