// Package schema is the table schema: an Avro schema as Hudi stores it, as an immutable tree that remembers its text.
//
// It knows Avro's type system, Hudi's meta columns, the leaves a parquet file shreds a row into, and how one schema is read
// as another. It must never know files, rows in flight, or a table.
package schema

import "sync/atomic"

// Kind is the shape of a type, after a union with null has been folded into Nullable.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Boolean
	Int    // 32 bit
	Long   // 64 bit
	Float  // 32 bit
	Double // 64 bit
	Bytes
	String
	Fixed
	Enum
	Record
	Array
	Map   // keys are strings
	Union // two or more branches besides null, or a single one without null; seen in Hudi's own metadata records
)

// Logical is what the bytes of a Kind mean.
type Logical uint8

// The logical types.
const (
	NoLogical            Logical = iota
	Date                         // Int: days since 1970-01-01
	TimeMillis                   // Int
	TimeMicros                   // Long
	TimestampMillis              // Long, an instant
	TimestampMicros              // Long, an instant
	TimestampNanos               // Long, an instant
	LocalTimestampMillis         // Long, a wall clock reading
	LocalTimestampMicros         // Long, a wall clock reading
	LocalTimestampNanos          // Long, a wall clock reading
	Decimal                      // Bytes or Fixed: big-endian two's complement unscaled value
	UUID                         // String, Fixed of 16
)

// Type is one node of the tree. It is immutable once built.
type Type struct {
	Kind      Kind
	Logical   Logical
	Nullable  bool // written as a union with null
	NullFirst bool // that union's first branch is null
	Name      string
	Namespace string // Record, Enum, Fixed; as resolved, "" where none
	Size      int    // Fixed: bytes
	Precision int    // Decimal
	Scale     int    // Decimal
	Symbols   []string
	Fields    []Field // Record
	Elem      *Type   // Array: element. Map: value.
	Branches  []*Type // Union: the branches that are not null, in order
	NullIndex int     // Nullable Union: position of null among all branches as written
	Doc       string
	Aliases   []string // Record, Enum, Fixed
	Props     []Prop   // what else the schema text says of the type, in order: avro.java.string, an unknown logicalType …
}

// Prop is a property of the schema text that the tree gives no meaning. It is kept so that printing loses nothing.
type Prop struct {
	Name  string
	Value any // as encoding/json decodes it with UseNumber
}

// Field is one field of a Record.
type Field struct {
	Name       string
	Type       *Type
	Doc        string
	HasDefault bool
	Default    any // as encoding/json decodes it with UseNumber; nil for null
	Aliases    []string
	Props      []Prop
}

// Leaf is one primitive column of the shredded row, in depth-first order. Levels are those of the canonical parquet shape
// that internal/record uses in memory: a nullable node adds one definition level; an array is a three-level LIST and a map a three-level MAP,
// whose repeated group adds one definition and one repetition level. A union of several types is a group of optional members, as parquet-avro
// writes it: each member adds one definition level.
type Leaf struct {
	Path   []string // field names; "list","element" below arrays, "key_value","key"|"value" below maps, "member0", "member1" … below unions
	Index  int      // position among the leaves = parquet column index
	MaxRep int
	MaxDef int
	Type   *Type // the primitive type
}

// Schema is a record schema with the text it came from. It is immutable and safe for concurrent use.
type Schema struct {
	root   *Type
	text   string
	leaves []Leaf
	starts []int          // starts[i]: first leaf of top-level field i; one more entry ends the last
	names  map[string]int // top-level field name → position
	paths  map[string]int // joined leaf path → leaf index
	with   atomic.Pointer[Schema]
	sans   atomic.Pointer[Schema]
}
