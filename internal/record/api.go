package record

import "github.com/hudifs/hudifs/internal/schema"

// Ordering is a comparable ordering value, of one or several fields. The zero Ordering is "none known" (IsZero).
type Ordering struct{ vals []orderingValue }

type orderingValue struct{} // being written

// IsZero reports whether there is no ordering value.
func (o Ordering) IsZero() bool { panic("being written") }

// Compare orders two values of the same fields as Java does (data.md §4.6); numbers of different width compare by value.
func (o Ordering) Compare(p Ordering) int { panic("being written") }

// OrderingReader takes the ordering value out of rows of one schema.
type OrderingReader struct{}

// NewOrderingReader returns a reader of the named (possibly dotted) fields.
func NewOrderingReader(s *schema.Schema, fields []string) (*OrderingReader, error) {
	panic("being written")
}

// Of returns row's ordering value; a row with a null in an ordering field: see data.md §4.6.
func (r *OrderingReader) Of(row Row) Ordering { panic("being written") }

// OrderingOf makes an ordering from Go values (int64, float64, string, []byte, decimals as *big.Int with scale …), as delete blocks carry them.
func OrderingOf(vals ...any) (Ordering, error) { panic("being written") }

// Arena keeps rows beyond the reader's buffers: Clone copies values and bytes into large chunks.
type Arena struct{}

// Clone returns a copy of row that lives as long as the arena's memory is referenced.
func (a *Arena) Clone(row Row) Row { panic("being written") }

// Size is the number of bytes held.
func (a *Arena) Size() int64 { panic("being written") }

// Value is a Go value of a field: nil, bool, int32, int64, float32, float64, string, []byte, *Decimal …; []any for arrays, []MapEntry for maps, []any (by field) for records.
// Shred and Assemble are the only places that see rows in this form.

// Shredder turns Go values into rows of one schema.
type Shredder struct{}

// NewShredder plans s.
func NewShredder(s *schema.Schema) *Shredder { panic("being written") }

// Shred appends the row of fields (one Go value per top-level field of the schema, in order) to dst.
func (sh *Shredder) Shred(dst Row, fields []any) (Row, error) { panic("being written") }

// MapEntry is one entry of a map value, in stored order.
type MapEntry struct {
	Key   string
	Value any
}

// Assembler turns rows of one schema into Go values.
type Assembler struct{}

// NewAssembler plans s.
func NewAssembler(s *schema.Schema) *Assembler { panic("being written") }

// Assemble returns one Go value per top-level field, reusing dst.
func (a *Assembler) Assemble(dst []any, row Row) ([]any, error) { panic("being written") }
