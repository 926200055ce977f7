package avrocodec

import (
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// ValueDecoder reads records as Go values, for records that are few and deep: Hudi's own metadata. One value per top-level field of the reader's
// schema, in the form that record.Assembler documents. Not safe for concurrent use.
type ValueDecoder struct {
	dec *Decoder
	asm *record.Assembler
	row record.Row
}

// NewValueDecoder compiles the plan. Fields that the writer's schema lacks get the reader's default.
func NewValueDecoder(writer, reader *schema.Schema) (*ValueDecoder, error) {
	dec, err := NewDecoder(writer, reader)
	if err != nil {
		return nil, err
	}
	return &ValueDecoder{dec: dec, asm: record.NewAssembler(reader)}, nil
}

// DecodeValue reads the one record that buf holds. The values do not share buf's memory.
func (d *ValueDecoder) DecodeValue(buf []byte) ([]any, error) {
	v, rest, err := d.DecodeNextValue(buf)
	if err == nil && len(rest) > 0 {
		return nil, errLeftOver(len(rest))
	}
	return v, err
}

// DecodeNextValue reads the first record in buf and returns the bytes behind it.
func (d *ValueDecoder) DecodeNextValue(buf []byte) ([]any, []byte, error) {
	row, rest, err := d.dec.DecodeNext(buf, d.row[:0])
	if err != nil {
		return nil, nil, err
	}
	d.row = row
	v, err := d.asm.Assemble(nil, row)
	return v, rest, err
}

// ValueEncoder writes Go values as records. Not safe for concurrent use.
type ValueEncoder struct {
	enc *Encoder
	sh  *record.Shredder
	row record.Row
}

// NewValueEncoder compiles the plan.
func NewValueEncoder(s *schema.Schema) *ValueEncoder {
	return &ValueEncoder{enc: NewEncoder(s), sh: record.NewShredder(s)}
}

// EncodeValue appends the record with one value per top-level field to dst, in the form that record.Shredder documents.
func (e *ValueEncoder) EncodeValue(dst []byte, fields []any) ([]byte, error) {
	row, err := e.sh.Shred(e.row[:0], fields)
	if err != nil {
		return dst, err
	}
	e.row = row
	return e.enc.EncodeRow(dst, row)
}
