package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hudifs/hudifs/internal/avrocodec"
	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

func openAvro(ctx context.Context, in *Input) (*avrocodec.ContainerReader, error) {
	c, err := avrocodec.NewContainerReader(&ctxReader{ctx, io.NewSectionReader(in.R, 0, in.Size)}, in.Name)
	return c, avroError(in, err)
}

// avroError makes everything that is wrong with the dropped bytes a rejection.
func avroError(in *Input, err error) error {
	if err == nil || !corrupt.Is(err) && !errors.Is(err, avrocodec.ErrDamaged) {
		return err
	}
	return &RowError{Code: "format", Msg: fmt.Sprintf("%s can't be read: %v", in.Name, err)}
}

func avroSchema(in *Input) (*schema.Schema, error) {
	c, err := openAvro(context.Background(), in)
	if err != nil {
		return nil, err
	}
	return c.Schema(), nil
}

func decodeAvro(ctx context.Context, in *Input) (RowReader, error) {
	c, err := openAvro(ctx, in)
	if err != nil {
		return nil, err
	}
	b, err := newBinary(in, c.Schema())
	if err != nil {
		return nil, err
	}
	dec, err := avrocodec.NewDecoder(c.Schema(), in.Schema)
	if err != nil {
		return nil, &RowError{Code: "type", Msg: err.Error()}
	}
	r := &avroRows{in: in, c: c, dec: dec}
	b.read, b.close = r.read, func() error { return nil }
	return b, nil
}

// avroRows pulls rows out of a container, block by block.
type avroRows struct {
	in   *Input
	c    *avrocodec.ContainerReader
	dec  *avrocodec.Decoder
	left int
	data []byte
}

func (r *avroRows) read(dst []record.Row) (int, error) {
	for r.left == 0 {
		if len(r.data) > 0 {
			return 0, &RowError{Code: "format", Msg: fmt.Sprintf("%s: %d bytes are left over in a block", r.in.Name, len(r.data))}
		}
		var err error
		if r.left, r.data, err = r.c.NextBlock(); err != nil {
			return 0, avroError(r.in, err)
		}
	}
	n := 0
	for ; n < len(dst) && r.left > 0; n++ {
		var err error
		if dst[n], r.data, err = r.dec.DecodeNext(r.data, dst[n][:0]); err != nil {
			return n, &RowError{Code: "format", Msg: fmt.Sprintf("%s: record %d of its block: %v", r.in.Name, n+1, err)}
		}
		r.left--
	}
	return n, nil
}
