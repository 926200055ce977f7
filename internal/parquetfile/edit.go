package parquetfile

import (
	"context"

	"github.com/hudifs/hudifs/internal/record"
)

func (w *Writer) Splice(ctx context.Context, src *File, e *Edit) error { panic("x") }

type Edit struct{}

func (e *Edit) Replace(pos int64, row record.Row) { panic("being written") }
func (e *Edit) Drop(pos int64)                    { panic("being written") }
func (e *Edit) Fill(leaf int, v string)           { panic("being written") }
