// Package logfile reads and writes the log files of a merge-on-read table: a run of "#HUDI#" blocks.
//
// It knows the framing of a block, its header, the bodies of every block type, and how to go on after damage. It must never know
// which blocks count (rolled back, compacted, uncommitted): that is snapshot/merge.
package logfile

import (
	"fmt"
	"io"
	"strconv"

	"github.com/hudifs/hudifs/internal/corrupt"
)

// magic begins every block (data.md §3.3).
const magic = "#HUDI#"

// Sizes of the framing, in bytes.
const (
	lengthSize  = 8                              // blockLength, after the magic
	fixedSize   = 4 + 4 + 4                      // format version, block type, number of header entries
	trailerSize = 8 + 4 + 8                      // content length, number of footer entries, total
	prefixSize  = int64(len(magic)) + lengthSize // magic and blockLength
	minBlock    = fixedSize + trailerSize        // smallest possible blockLength
)

// formatVersion is the only log format version that anybody writes. Version 0 is pre-0.4 and has no header.
const formatVersion = 1

// BlockType is what a block holds, by its ordinal on disk.
type BlockType int32

// The block types. The numbers are the format; new ones are only appended.
const (
	CommandBlock BlockType = 0
	DeleteBlock  BlockType = 1
	CorruptBlock BlockType = 2 // never written: a reader's mark for a damaged region
	AvroBlock    BlockType = 3
	HFileBlock   BlockType = 4
	ParquetBlock BlockType = 5
	CDCBlock     BlockType = 6
)

// blockTypes lists every type that we read, in ordinal order.
var blockTypes = [...]struct {
	name string
	data bool // holds rows of the table
}{
	CommandBlock: {"command", false},
	DeleteBlock:  {"delete", false},
	CorruptBlock: {"corrupt", false},
	AvroBlock:    {"avro", true},
	HFileBlock:   {"hfile", true},
	ParquetBlock: {"parquet", true},
	CDCBlock:     {"cdc", false},
}

// String names the type as `hudifs inspect` prints it.
func (t BlockType) String() string {
	if t < 0 || int(t) >= len(blockTypes) {
		return "type " + strconv.Itoa(int(t))
	}
	return blockTypes[t].name
}

// IsData reports whether blocks of the type hold rows of the table.
func (t BlockType) IsData() bool { return t >= 0 && int(t) < len(blockTypes) && blockTypes[t].data }

// HeaderKey is the ordinal of a header or footer entry.
type HeaderKey int32

// The header entries. The numbers are the format. Never write one that the table's version does not know: old Java readers index an
// enum array with it.
const (
	InstantTime       HeaderKey = 0 // always there: the instant that wrote the block
	TargetInstantTime HeaderKey = 1 // rollback command: the instant to undo
	SchemaText        HeaderKey = 2 // Avro JSON of the writer's schema
	CommandType       HeaderKey = 3 // "0": rollback
	CompactedTimes    HeaderKey = 4 // log compaction: comma separated instants that the block replaces
	RecordPositions   HeaderKey = 5 // see Positions
	BlockIdentifier   HeaderKey = 6 // of 0.14 only; ignored
	IsPartial         HeaderKey = 7 // "true": columns that are not in SchemaText keep their older value
	BaseInstantOfPos  HeaderKey = 8 // the base file that RecordPositions count in
	rollbackCommand             = "0"
	maxHeaderEntries            = 1 << 10  // far more than the format can name
	maxHeaderValue              = 64 << 20 // bytes; the largest are schemas and record positions
)

var headerNames = [...]string{
	InstantTime: "INSTANT_TIME", TargetInstantTime: "TARGET_INSTANT_TIME", SchemaText: "SCHEMA", CommandType: "COMMAND_BLOCK_TYPE",
	CompactedTimes: "COMPACTED_BLOCK_TIMES", RecordPositions: "RECORD_POSITIONS", BlockIdentifier: "BLOCK_IDENTIFIER",
	IsPartial: "IS_PARTIAL", BaseInstantOfPos: "BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS",
}

// String is Java's name of the entry.
func (k HeaderKey) String() string {
	if k < 0 || int(k) >= len(headerNames) {
		return "header " + strconv.Itoa(int(k))
	}
	return headerNames[k]
}

// Header is a block's header or footer. Entries of unknown ordinals are kept.
type Header map[HeaderKey]string

// Block is one block of a log file. Its header is in memory, its content is not: read it by Section, Rows, Deletes or HFile while the
// file it came from is open.
type Block struct {
	Type          BlockType
	Header        Header
	Footer        Header
	Offset        int64  // of the magic in the file
	Size          int64  // magic to the end, bytes; a corrupt region: up to the next magic
	ContentOffset int64  // in the file
	ContentSize   int64  // bytes
	Damage        string // CorruptBlock: which rule found it

	name string
	src  io.ReaderAt
}

// Instant is the INSTANT_TIME header.
func (b *Block) Instant() string { return b.Header[InstantTime] }

// Partial reports whether the block's rows carry only some columns (data.md §3.9).
func (b *Block) Partial() bool { return b.Header[IsPartial] == "true" }

// RollbackTarget returns the instant that a rollback command undoes. An unknown command is an error: ignoring it could show what it hides.
func (b *Block) RollbackTarget() (string, error) {
	if b.Type != CommandBlock {
		return "", fmt.Errorf("block at byte %d of %s is a %s block, not a command", b.Offset, b.name, b.Type)
	}
	if c := b.Header[CommandType]; c != rollbackCommand {
		return "", fmt.Errorf("log file %s holds a command %q at byte %d that this version does not know", b.name, c, b.Offset)
	}
	t := b.Header[TargetInstantTime]
	if t == "" {
		return "", corrupt.At(b.name, b.Offset, "rollback command without TARGET_INSTANT_TIME")
	}
	return t, nil
}

// File is the name of the log file, for messages.
func (b *Block) File() string { return b.name }

// Section reads the content bytes as they lie in the file.
func (b *Block) Section() *io.SectionReader {
	return io.NewSectionReader(b.src, b.ContentOffset, b.ContentSize)
}

// Attach makes the block read from r, which must hold the same bytes as the file it was found in. A caller that indexed many files and
// closed them uses it to come back to one.
func (b *Block) Attach(r io.ReaderAt) { b.src = r }
