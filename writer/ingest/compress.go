package ingest

import (
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

type compression struct {
	ext  string
	open func(r io.Reader) (io.Reader, error)
}

var compressions = []compression{
	{".gz", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{".zst", func(r io.Reader) (io.Reader, error) {
		// One goroutine, a bounded window: a drop must not choose how much memory is used.
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(128<<20), zstd.WithDecoderLowmem(true))
	}},
	{".bz2", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
}

func compressionOf(base string) compression {
	for _, c := range compressions {
		if strings.HasSuffix(base, c.ext) {
			return c
		}
	}
	return compression{}
}

// maxUnpacked bounds what a compressed drop may grow to, as a multiple of its size with a floor: a bomb is refused, real data is not.
const (
	maxUnpackRatio = 1200 // above gzip's 1032
	minUnpackLimit = 1 << 30
)

// decodeCompressed unpacks the drop into an unlinked temporary file, so that every format has random access and a damaged archive is found before the first row is used.
func decodeCompressed(ctx context.Context, in Input, d decoder, c compression) (RowReader, error) {
	r, err := c.open(io.NewSectionReader(in.R, 0, in.Size))
	if err != nil {
		return nil, rejectf("encoding", "%s: not a %s file: %v", in.Name, c.ext, err)
	}
	f, err := os.CreateTemp(in.TempDir, "unpack-*")
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", in.Name, err)
	}
	os.Remove(f.Name())
	limit := max(in.Size*maxUnpackRatio, minUnpackLimit)
	n, err := io.Copy(f, &ctxReader{ctx, io.LimitReader(r, limit+1)})
	if z, ok := r.(*zstd.Decoder); ok {
		z.Close()
	}
	if err != nil {
		f.Close()
		var pe *os.PathError
		if errors.As(err, &pe) || ctx.Err() != nil {
			return nil, fmt.Errorf("unpack %s: %w", in.Name, err)
		}
		return nil, rejectf("encoding", "%s: damaged %s data after %d bytes: %v", in.Name, c.ext, n, err)
	}
	if n > limit {
		f.Close()
		return nil, rejectf("size", "%s: unpacks to more than %d bytes; drop it in parts", in.Name, limit)
	}
	in.R, in.Size = f, n
	rows, err := d.decode(ctx, &in)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &closing{rows, f}, nil
}

type closing struct {
	RowReader
	c io.Closer
}

func (c *closing) Close() error { return errors.Join(c.RowReader.Close(), c.c.Close()) }

type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
