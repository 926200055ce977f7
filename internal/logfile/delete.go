package logfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/hudifs/hudifs/internal/record"
)

// deleteVersion is the version that delete blocks are written with: Avro (data.md §3.6). Versions 1 and 2 hold Java objects.
const deleteVersion = 3

// decimalScale and decimalPrecision are what a DecimalWrapper's value is rescaled to.
const (
	decimalScale     = 15
	decimalPrecision = 30
)

// ErrJavaDeletes is matched by the error for an old delete block whose serialized Java objects are of classes that hudifs does not know. Retrying does not
// help.
var ErrJavaDeletes = errors.New("its keys are serialized Java objects, as Hudi wrote them before 0.13; compact the table with the release that wrote it")

// The branches of the orderingVal union.
const (
	branchNull = iota
	branchBoolean
	branchInt
	branchLong
	branchFloat
	branchDouble
	branchBytes
	branchString
	branchDate
	branchDecimal
	branchTimeMicros
	branchTimestampMicros
	branchArray
)

// Delete is one entry of a delete block.
type Delete struct {
	Key record.Key

	// Ordering is none where the block has none or the integer 0, which Java writes for "no ordering value: the delete wins by arriving later".
	Ordering record.Ordering
}

// Deletes yields the entries of a delete block in stored order. The content is read as it is needed.
func (b *Block) Deletes() iter.Seq2[Delete, error] {
	return func(yield func(Delete, error) bool) {
		if b.Type != DeleteBlock {
			yield(Delete{}, fmt.Errorf("block at byte %d of %s is a %s block, not a delete block", b.Offset, b.name, b.Type))
			return
		}
		in := newInput(b)
		version := in.int32()
		if in.err == nil && (version == 1 || version == 2) {
			b.javaDeletes(in, int(version), yield)
			return
		}
		if in.err == nil && version != deleteVersion {
			in.err = fmt.Errorf("log file %s: delete block at byte %d has version %d, versions 1 to %d can be read", b.name, b.Offset, version, deleteVersion)
		}
		if n := int64(in.int32()); in.err == nil && n != in.left {
			in.fail("delete list of %d bytes in a block that holds %d", n, in.left)
		}
		for in.err == nil {
			n := in.arrayBlock()
			if n == 0 {
				break
			}
			for ; n > 0 && in.err == nil; n-- {
				d := in.deleteRecord()
				if in.err == nil && !yield(d, nil) {
					return
				}
			}
		}
		if in.err == nil && in.left > 0 {
			in.fail("%d bytes after the delete list", in.left)
		}
		if in.err != nil {
			yield(Delete{}, in.err)
		}
	}
}

// deleteRecord reads a HoodieDeleteRecord.
func (in *input) deleteRecord() Delete {
	var d Delete
	d.Key.RecordKey = in.optionalString()
	d.Key.PartitionPath = in.optionalString()
	vals := in.ordering()
	if in.err == nil && len(vals) > 0 {
		var err error
		if d.Ordering, err = record.OrderingOf(vals...); err != nil {
			in.fail("%w", err)
		}
	}
	return d
}

// ordering reads the orderingVal union: no values where it is null or the integer 0.
func (in *input) ordering() (vals []any) {
	branch := in.long()
	if branch != branchArray {
		if v := in.wrapped(branch); v != nil && v != int32(0) {
			vals = append(vals, v)
		}
		return vals
	}
	if in.long() == branchNull {
		return nil
	}
	for in.err == nil {
		n := in.arrayBlock()
		if n == 0 {
			break
		}
		for ; n > 0 && in.err == nil; n-- {
			vals = append(vals, in.wrapped(in.long()))
		}
	}
	return vals
}

// wrapped reads the value of one wrapper record.
func (in *input) wrapped(branch int64) any {
	if in.err != nil {
		return nil
	}
	switch branch {
	case branchNull:
		return nil
	case branchBoolean:
		return in.byte() != 0
	case branchInt, branchDate:
		v := in.long()
		if in.err == nil && v != int64(int32(v)) {
			in.fail("int ordering value %d", v)
		}
		return int32(v)
	case branchLong, branchTimeMicros, branchTimestampMicros:
		return in.long()
	case branchFloat:
		return math.Float32frombits(binary.LittleEndian.Uint32(in.fixed(4)))
	case branchDouble:
		return math.Float64frombits(binary.LittleEndian.Uint64(in.fixed(8)))
	case branchBytes:
		return in.bytes()
	case branchString:
		return string(in.bytes())
	case branchDecimal:
		return record.DecimalOf(in.bytes(), decimalScale)
	}
	in.fail("ordering value of branch %d", branch)
	return nil
}

// optionalString reads a ["null","string"].
func (in *input) optionalString() string {
	switch in.long() {
	case 0:
		return ""
	case 1:
		return string(in.bytes())
	}
	in.fail("union branch of a string")
	return ""
}

// EncodeDeletes returns the content of a delete block. A date, whose ordering is its epoch day, is written as a plain int: the Java releases cannot
// read their own DateWrapper (data.md §3.6).
func EncodeDeletes(deletes []Delete) ([]byte, error) {
	b := binary.BigEndian.AppendUint32(nil, deleteVersion)
	b = binary.BigEndian.AppendUint32(b, 0)
	if len(deletes) > 0 {
		b = appendLong(b, int64(len(deletes)))
	}
	for i := range deletes {
		d := &deletes[i]
		b = appendOptional(b, d.Key.RecordKey)
		b = appendOptional(b, d.Key.PartitionPath)
		var err error
		if b, err = appendOrdering(b, d.Ordering.Values()); err != nil {
			return nil, fmt.Errorf("delete of %q: %w", d.Key.RecordKey, err)
		}
	}
	b = append(b, 0)
	if len(b)-8 > math.MaxInt32 {
		return nil, fmt.Errorf("delete list of %d bytes does not fit into a block: split it", len(b)-8)
	}
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-8))
	return b, nil
}

// appendOrdering appends the orderingVal union.
func appendOrdering(b []byte, vals []any) ([]byte, error) {
	switch len(vals) {
	case 0:
		return appendLong(appendLong(b, branchInt), 0), nil
	case 1:
		return appendWrapped(b, vals[0])
	}
	b = appendLong(appendLong(b, branchArray), 1)
	b = appendLong(b, int64(len(vals)))
	for _, v := range vals {
		var err error
		if b, err = appendWrapped(b, v); err != nil {
			return nil, err
		}
	}
	return append(b, 0), nil
}

// appendWrapped appends a union branch and its wrapper.
func appendWrapped(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case bool:
		b = appendLong(b, branchBoolean)
		if v {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case int32:
		return appendLong(appendLong(b, branchInt), int64(v)), nil
	case int64:
		return appendLong(appendLong(b, branchLong), v), nil
	case float32:
		return binary.LittleEndian.AppendUint32(appendLong(b, branchFloat), math.Float32bits(v)), nil
	case float64:
		return binary.LittleEndian.AppendUint64(appendLong(b, branchDouble), math.Float64bits(v)), nil
	case []byte:
		return append(appendLong(appendLong(b, branchBytes), int64(len(v))), v...), nil
	case string:
		return append(appendLong(appendLong(b, branchString), int64(len(v))), v...), nil
	case *record.Decimal:
		p, err := rescaled(v)
		if err != nil {
			return nil, err
		}
		return append(appendLong(appendLong(b, branchDecimal), int64(len(p))), p...), nil
	}
	return nil, fmt.Errorf("an ordering value of %T cannot be written", v)
}

// rescaled returns d with decimalScale digits behind the point, as the shortest two's complement.
func rescaled(d *record.Decimal) ([]byte, error) {
	r, ok := d.Rescale(decimalScale)
	if !ok || r.Precision() > decimalPrecision {
		return nil, fmt.Errorf("decimal ordering value %v does not fit a delete block, which takes %d digits, %d of them behind the point", d, decimalPrecision, decimalScale)
	}
	return r.Bytes(), nil
}

// appendOptional appends a ["null","string"] that is there.
func appendOptional(b []byte, s string) []byte {
	return append(appendLong(appendLong(b, 1), int64(len(s))), s...)
}

// appendLong appends an Avro long.
func appendLong(b []byte, v int64) []byte {
	return binary.AppendUvarint(b, uint64(v)<<1^uint64(v>>63))
}
