package logfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"
	"unicode/utf16"

	"github.com/hudifs/hudifs/internal/record"
)

// Delete blocks of versions 1 and 2 hold an array of HoodieKey or DeleteRecord as Kryo 4 writes it with references and without registered
// classes. Read from what Hudi 0.15 writes with its own serializer:
//
//	class    varint: 0 null, 1 by name (varint name id, and the name where the id is new), else a registered class plus 2
//	object   varint: 0 null, 1 new, else a back reference plus 2; boxed numbers have none of this
//	fields   in the order of their names: HoodieKey partitionPath, recordKey; DeleteRecord hoodieKey, orderingVal
//	string   ASCII of 2 to 63 characters with the last one's high bit set; else a length and UTF-8 of UTF-16 units
const (
	kryoKeys    = "[Lorg.apache.hudi.common.model.HoodieKey;"
	kryoKey     = "org.apache.hudi.common.model.HoodieKey"
	kryoDeletes = "[Lorg.apache.hudi.common.model.DeleteRecord;"
	kryoDelete  = "org.apache.hudi.common.model.DeleteRecord"
	kryoDecimal = "java.math.BigDecimal"
	kryoDate    = "java.time.LocalDate"
)

// kryoBoxes are the classes that Kryo knows by number.
var kryoBoxes = map[uint64]string{2: "int", 3: "string", 4: "float", 5: "boolean", 9: "long", 10: "double"}

// parseKryo reads the payload of a delete block of version 1 or 2. Anything that it does not expect is an error.
func parseKryo(p []byte, version int) ([]Delete, error) {
	k := &kryo{b: p}
	array, element := kryoDeletes, kryoDelete
	if version == 1 {
		array, element = kryoKeys, kryoKey
	}
	k.expect(array)
	k.object()
	n := k.uvarint()
	if k.err == nil && (n == 0 || n-1 > uint64(len(k.b))) {
		k.fail("array of %d elements in %d bytes", n-1, len(k.b))
	}
	var out []Delete
	for ; n > 1 && k.err == nil; n-- {
		var d Delete
		k.expect(element)
		if version == 1 {
			d.Key = known(k, k.key)
		} else {
			d = known(k, k.deleteRecord)
		}
		out = append(out, d)
	}
	if k.err == nil && len(k.b) > 0 {
		k.fail("%d bytes are left", len(k.b))
	}
	return out, k.err
}

// kryo reads front to back and keeps the first error.
type kryo struct {
	b       []byte
	names   []string
	objects []any // what back references may name; nil for the rest
	err     error
}

func (k *kryo) fail(format string, args ...any) {
	if k.err == nil {
		k.err = fmt.Errorf("serialized Java objects: "+format, args...)
	}
	k.b = nil
}

func (k *kryo) take(n int) []byte {
	if k.err == nil && (n < 0 || n > len(k.b)) {
		k.fail("%d bytes are wanted where %d are left", n, len(k.b))
	}
	if k.err != nil {
		return make([]byte, min(max(n, 0), 8))
	}
	p := k.b[:n]
	k.b = k.b[n:]
	return p
}

func (k *kryo) uvarint() uint64 {
	v, n := binary.Uvarint(k.b)
	if n <= 0 {
		k.fail("a number does not end")
		return 0
	}
	k.b = k.b[n:]
	return v
}

func (k *kryo) varint() int64 {
	v := k.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// class reads a class and returns its name, "" for null.
func (k *kryo) class() string {
	switch c := k.uvarint(); {
	case k.err != nil || c == 0:
		return ""
	case c == 1:
		id := k.uvarint()
		if id == uint64(len(k.names)) {
			k.names = append(k.names, k.text())
		}
		if id >= uint64(len(k.names)) {
			k.fail("class name %d of %d", id, len(k.names))
			return ""
		}
		return k.names[id]
	default:
		name, ok := kryoBoxes[c]
		if !ok {
			k.fail("class number %d", c)
		}
		return name
	}
}

// expect reads the class that must be there.
func (k *kryo) expect(name string) {
	if got := k.class(); k.err == nil && got != name {
		k.fail("class %q where %s should be", got, name)
	}
}

// object reads the head of an object that must be a new one.
func (k *kryo) object() {
	if m := k.uvarint(); k.err == nil && m != 1 {
		k.fail("object mark %d where a new object should be", m)
	}
	k.objects = append(k.objects, nil)
}

// known reads an object that is new, or one that was there before.
func known[T any](k *kryo, read func() T) (v T) {
	m := k.uvarint()
	if k.err == nil && m == 1 {
		at := len(k.objects)
		k.objects = append(k.objects, nil)
		v = read()
		k.objects[at] = v
		return v
	}
	if k.err == nil && m > 1 && m-2 < uint64(len(k.objects)) {
		if o, ok := k.objects[m-2].(T); ok {
			return o
		}
	}
	k.fail("reference %d to no such object", m)
	return v
}

// deleteRecord reads the fields of a DeleteRecord.
func (k *kryo) deleteRecord() (d Delete) {
	k.expect(kryoKey)
	d.Key = known(k, k.key)
	d.Ordering = k.ordering()
	return d
}

// key reads the fields of a HoodieKey.
func (k *kryo) key() record.Key {
	partition := k.str()
	return record.Key{RecordKey: k.str(), PartitionPath: partition}
}

// str reads a string that may be null, which counts as empty, or known already.
func (k *kryo) str() string {
	if len(k.b) > 0 && k.b[0] == 0 {
		k.b = k.b[1:]
		return ""
	}
	return known(k, k.text)
}

// text reads the characters of a string.
func (k *kryo) text() string {
	if k.err == nil && len(k.b) == 0 {
		k.fail("a string is missing")
	}
	if k.err != nil {
		return ""
	}
	if k.b[0] < 0x80 {
		return k.ascii()
	}
	n, ok := k.length()
	if !ok || n == 0 || n-1 > uint64(len(k.b)) {
		k.fail("string of %d characters in %d bytes", n, len(k.b))
		return ""
	}
	units := make([]uint16, n-1)
	for i := range units {
		units[i] = k.unit()
	}
	return string(utf16.Decode(units))
}

// ascii reads characters up to the one whose high bit is set.
func (k *kryo) ascii() string {
	for i, c := range k.b {
		if c >= 0x80 {
			s := append([]byte{}, k.b[:i+1]...)
			s[i] &= 0x7f
			k.b = k.b[i+1:]
			return string(s)
		}
	}
	k.fail("a string does not end")
	return ""
}

// length reads a count of characters plus one: six bits beside two flags, then seven a byte.
func (k *kryo) length() (uint64, bool) {
	c := k.take(1)[0]
	n := uint64(c & 0x3f)
	for shift := 6; c&0x40 != 0 && shift == 6 || c&0x80 != 0 && shift > 6; shift += 7 {
		if shift > 27 {
			return 0, false
		}
		c = k.take(1)[0]
		n |= uint64(c&0x7f) << shift
	}
	return n, k.err == nil
}

// unit reads one UTF-16 unit, in one to three bytes.
func (k *kryo) unit() uint16 {
	switch c := k.take(1)[0]; {
	case c < 0x80:
		return uint16(c)
	case c>>5 == 6:
		return uint16(c&0x1f)<<6 | uint16(k.take(1)[0]&0x3f)
	case c>>4 == 14:
		p := k.take(2)
		return uint16(c&0x0f)<<12 | uint16(p[0]&0x3f)<<6 | uint16(p[1]&0x3f)
	}
	k.fail("a character is damaged")
	return 0
}

// ordering reads an ordering value; null and the int 0 are none.
func (k *kryo) ordering() record.Ordering {
	var v any
	switch name := k.class(); name {
	case "":
		return record.Ordering{}
	case "int":
		n := k.varint()
		if n != int64(int32(n)) {
			k.fail("int %d", n)
		}
		if v = int32(n); n == 0 {
			return record.Ordering{}
		}
	case "long":
		v = k.varint()
	case "float":
		v = math.Float32frombits(binary.BigEndian.Uint32(k.take(4)))
	case "double":
		v = math.Float64frombits(binary.BigEndian.Uint64(k.take(8)))
	case "boolean":
		v = k.take(1)[0] != 0
	case "string":
		v = k.str()
	case kryoDecimal:
		v = k.decimal()
	case kryoDate:
		v = k.date()
	default:
		k.fail("an ordering value of class %s cannot be read", name)
	}
	if k.err != nil {
		return record.Ordering{}
	}
	o, err := record.OrderingOf(v)
	if err != nil {
		k.fail("%v", err)
	}
	return o
}

// decimal reads the unscaled value, its length plus one before it, and the scale.
func (k *kryo) decimal() any {
	k.object()
	n := k.uvarint()
	if k.err == nil && (n < 2 || n-1 > uint64(len(k.b))) {
		k.fail("decimal of %d bytes", n)
	}
	if k.err != nil {
		return record.NewDecimal(0, 0)
	}
	p := k.take(int(n - 1))
	scale := k.varint()
	if scale < -1000 || scale > 1000 {
		k.fail("decimal of scale %d", scale)
	}
	u := new(big.Int).Set(record.DecimalOf(p, 0).Unscaled)
	return &record.Decimal{Unscaled: u, Scale: int(scale)}
}

// date reads a year, a month and a day as the number of days since 1970.
func (k *kryo) date() any {
	k.object()
	year, month, day := k.uvarint(), k.take(1)[0], k.take(1)[0]
	if year > 9999 {
		k.fail("year %d", year)
		return int32(0)
	}
	t := time.Date(int(year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC)
	return int32(t.Unix() / 86400)
}

// javaDeletes reads the whole payload of an old delete block.
func (b *Block) javaDeletes(in *input, version int, yield func(Delete, error) bool) {
	n := int64(in.int32())
	if in.err == nil && n != in.left {
		in.fail("delete list of %d bytes in a block that holds %d", n, in.left)
	}
	var deletes []Delete
	if in.err == nil {
		p := in.fixed(int(n))
		if in.err == nil {
			var err error
			if deletes, err = parseKryo(p, version); err != nil {
				in.err = fmt.Errorf("log file %s: delete block at byte %d has version %d: %w", b.name, b.Offset, version, errors.Join(ErrJavaDeletes, err))
			}
		}
	}
	if in.err != nil {
		yield(Delete{}, in.err)
		return
	}
	for _, d := range deletes {
		if !yield(d, nil) {
			return
		}
	}
}
