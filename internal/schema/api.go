package schema

// Parse reads an Avro record schema in JSON. It keeps the text as it came (String returns it).
func Parse(avroJSON string) (*Schema, error) { panic("being written") }

// New makes a schema from a tree, printing Avro JSON that Java accepts.
func New(root *Type) (*Schema, error) { panic("being written") }

// String returns the schema's Avro JSON, as it came or as New printed it.
func (s *Schema) String() string { panic("being written") }

// Root is the record type.
func (s *Schema) Root() *Type { panic("being written") }

// Leaves are the primitive columns in order. The slice is shared: do not change it.
func (s *Schema) Leaves() []Leaf { panic("being written") }

// Field returns the top-level field called name (dotted paths reach into records) and its position at the top level, -1 where there is none.
func (s *Schema) Field(name string) (*Field, int) { panic("being written") }

// LeafRange returns the leaves [from,to) that belong to top-level field i.
func (s *Schema) LeafRange(i int) (from, to int) { panic("being written") }

// LeafOf returns the index of the leaf of a primitive (possibly dotted) field, -1 where there is none.
func (s *Schema) LeafOf(path string) int { panic("being written") }

// WithMetaFields returns the schema with Hudi's five meta columns first (data.md §1.3), itself where they are there already.
func (s *Schema) WithMetaFields() *Schema { panic("being written") }

// WithoutMetaFields returns the schema without Hudi's meta columns, _hoodie_operation included.
func (s *Schema) WithoutMetaFields() *Schema { panic("being written") }

// HasMetaFields reports whether the five meta columns are there.
func (s *Schema) HasMetaFields() bool { panic("being written") }

// Equal reports whether two schemas have the same types, names and order; docs and aliases do not count.
func (s *Schema) Equal(o *Schema) bool { panic("being written") }

// Projection says for each leaf of the schema To how to get it from a row written with From. See Project.
type Projection struct {
	To, From *Schema
	Leaves   []LeafSource // one per leaf of To
}

// LeafSource is one leaf's origin.
type LeafSource struct {
	From    int   // leaf index in From, -1: not there, fill with the default (null where there is none)
	DefMap  []int // definition level in From → level in To
	Convert Conversion
	Default any // where From is -1: the field's default as a Go value, nil for null
}

// Conversion is a promotion of values (data.md §12.2).
type Conversion uint8

// The promotions.
const (
	Same Conversion = iota
	IntToLong
	IntToFloat
	IntToDouble
	LongToFloat
	LongToDouble
	FloatToDouble
	ToString // any number, date, bytes to its string as Hudi prints it
	StringToBytes
	BytesToString
	StringToDate
	Rescale // decimal to another precision or scale
	MillisToMicros
	MicrosToMillis
)

// Project plans reading rows written with from under the schema to: fields by name (and alias), added, dropped, reordered, promoted.
// It fails with an error that names the field where a value could not be read truthfully.
func Project(to, from *Schema) (*Projection, error) { panic("being written") }
