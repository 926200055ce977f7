package parquetfile

import (
	"errors"
	"fmt"
)

// physical is a column's physical type, by its number in the format.
type physical int8

const (
	physBool physical = iota
	physInt32
	physInt64
	physInt96
	physFloat
	physDouble
	physBytes
	physFixed
)

func (p physical) String() string {
	names := [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}
	if p >= 0 && int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("TYPE(%d)", int8(p))
}

// Encodings of pages and levels.
const (
	encPlain      = 0
	encPlainDict  = 2
	encRLE        = 3
	encBitPacked  = 4
	encDeltaInt   = 5
	encDeltaLen   = 6
	encDeltaBytes = 7
	encRLEDict    = 8
	encByteSplit  = 9
)

// Repetition of a schema element.
const (
	repRequired = 0
	repOptional = 1
	repRepeated = 2
)

// Numbers of the logical type union's members.
const (
	logNone      = 0
	logString    = 1
	logMap       = 2
	logList      = 3
	logEnum      = 4
	logDecimal   = 5
	logDate      = 6
	logTime      = 7
	logTimestamp = 8
	logInteger   = 10
	logUnknown   = 11
	logJSON      = 12
	logBSON      = 13
	logUUID      = 14
	logFloat16   = 15
)

// Converted types, the older annotation.
const (
	convUTF8        = 0
	convMap         = 1
	convMapKeyValue = 2
	convList        = 3
	convEnum        = 4
	convDecimal     = 5
	convDate        = 6
	convTimeMillis  = 7
	convTimeMicros  = 8
	convTsMillis    = 9
	convTsMicros    = 10
	convUint8       = 11
	convInt64       = 18
	convJSON        = 19
	convBSON        = 20
	convInterval    = 21
)

// Units of TIME and TIMESTAMP, by their number in the union.
const (
	unitMillis = 1
	unitMicros = 2
	unitNanos  = 3
)

// logicalType is an element's annotation.
type logicalType struct {
	id               int16 // logNone: none
	scale, precision int32
	utc              bool
	unit             int16
	bits             int8
	signed           bool
}

// element is one SchemaElement. Numbers that the format leaves out are -1.
type element struct {
	name      string
	typ       physical // -1: a group
	length    int32
	rep       int8
	children  int32
	converted int32
	scale     int32
	precision int32
	fieldID   int32
	hasID     bool
	logical   logicalType
}

// statistics of a column chunk or page. nulls is -1 where unknown; min and max are nil where unknown.
type statistics struct {
	min, max       []byte // min_value, max_value
	oldMin, oldMax []byte // the deprecated pair, signed order
	nulls          int64
	inexact        bool // the writer says that min or max is a bound and not a value
}

// chunkMeta is a ColumnChunk with its ColumnMetaData.
type chunkMeta struct {
	typ          physical
	encodings    []int32
	path         []string
	codec        int32
	values       int64
	uncompressed int64
	compressed   int64
	dataOffset   int64
	dictOffset   int64 // 0: no dictionary page
	stats        statistics
	filePath     string
	encrypted    bool
	offsetIndex  indexRef
	columnIndex  indexRef

	encodingStats []pageCount // of chunks being written
}

// pageCount counts the pages of one kind and encoding in a chunk.
type pageCount struct{ kind, encoding, count int32 }

// indexRef says where a page index lies; length 0: nowhere.
type indexRef struct {
	offset int64
	length int32
}

// start is the file offset of the chunk's first page. Some writers say 0 for "no dictionary", some put the dictionary's offset behind the data's.
func (c *chunkMeta) start() int64 {
	if c.dictOffset > 0 && c.dictOffset < c.dataOffset {
		return c.dictOffset
	}
	return c.dataOffset
}

type rowGroupMeta struct {
	columns []chunkMeta
	bytes   int64
	rows    int64
}

type keyValue struct{ key, value string }

// fileMeta is the footer.
type fileMeta struct {
	version   int32
	schema    []element
	rows      int64
	groups    []rowGroupMeta
	kv        []keyValue
	createdBy string
	orders    []bool // per column: min_value and max_value are in the order of the type
	encrypted bool
}

// pageHeader is a PageHeader. Sizes are those of the page without its header.
type pageHeader struct {
	kind         int32 // pageData …
	uncompressed int32
	compressed   int32
	crc          uint32
	hasCRC       bool
	values       int32
	encoding     int32
	defEncoding  int32
	repEncoding  int32
	nulls        int32 // v2
	rows         int32 // v2
	defBytes     int32 // v2
	repBytes     int32 // v2
	raw          bool  // v2: the values are not compressed
}

// Page kinds.
const (
	pageData   = 0
	pageIndex  = 1
	pageDict   = 2
	pageDataV2 = 3
)

var errMetaMissing = errors.New("metadata lacks a required field")

// maxPageValues bounds what one page may claim to hold, so that a few damaged bytes cannot ask for gigabytes. Java stops at 20,000 rows
// per page, DuckDB at a row group of some hundred thousand.
const maxPageValues = 1 << 26

// maxPageBytes bounds one page's size in memory.
const maxPageBytes = 1 << 30

func (h *pageHeader) check() error {
	if h.kind != pageIndex && h.values > maxPageValues {
		return fmt.Errorf("a page of %d values is over the limit of %d", h.values, maxPageValues)
	}
	if h.uncompressed > maxPageBytes || h.compressed > maxPageBytes {
		return fmt.Errorf("a page of %d bytes is over the limit of %d", max(h.uncompressed, h.compressed), maxPageBytes)
	}
	if h.kind == pageDataV2 {
		if h.defBytes < 0 || h.repBytes < 0 || int64(h.defBytes)+int64(h.repBytes) > int64(min(h.compressed, h.uncompressed)) {
			return errors.New("a page's levels are longer than the page")
		}
		if h.nulls < 0 || h.nulls > h.values || h.rows < 0 || h.rows > h.values {
			return errors.New("a page counts more nulls or rows than values")
		}
	}
	return nil
}
