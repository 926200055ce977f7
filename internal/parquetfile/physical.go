package parquetfile

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/hudifs/hudifs/internal/record"
)

// physicalValue makes a row's value of a column's plain bytes. kind is the physical type that the row's leaf has.
func physicalValue(c conversion, typ, kind physical, b []byte) (record.Value, error) {
	switch c.convert {
	case int96Micros:
		t := int96ToMicros(int64(binary.LittleEndian.Uint64(b)), int64(int32(binary.LittleEndian.Uint32(b[8:]))), c.legacy)
		return record.Int64(t), nil
	case uint32Long:
		return record.Int64(int64(binary.LittleEndian.Uint32(b))), nil
	case uint64Decimal:
		out := make([]byte, c.size)
		binary.BigEndian.PutUint64(out[len(out)-8:], binary.LittleEndian.Uint64(b))
		return record.FixedBytes(out), nil
	case intUnscaled:
		n := int64(0)
		if typ == physInt32 {
			n = int64(int32(binary.LittleEndian.Uint32(b)))
		} else {
			n = int64(binary.LittleEndian.Uint64(b))
		}
		var big [8]byte
		binary.BigEndian.PutUint64(big[:], uint64(n))
		return unscaled(big[:], c.size)
	case bytesUnscaled:
		return unscaled(b, c.size)
	case uuidText:
		return record.Bytes(uuid(b)), nil
	case halfFloat:
		return record.Float32(half(binary.LittleEndian.Uint16(b))), nil
	case oldDays:
		return record.Int32(int32(sameDay(int64(int32(binary.LittleEndian.Uint32(b)))))), nil
	case oldMicros:
		return record.Int64(sameInstant(int64(binary.LittleEndian.Uint64(b)), dayMicros)), nil
	case oldMillis:
		return record.Int64(sameInstant(int64(binary.LittleEndian.Uint64(b)), dayMillis)), nil
	}
	switch kind {
	case physBool:
		return record.Bool(b[0] != 0), nil
	case physInt32:
		return record.Int32(int32(binary.LittleEndian.Uint32(b))), nil
	case physInt64:
		return record.Int64(int64(binary.LittleEndian.Uint64(b))), nil
	case physFloat:
		return record.Float32(math.Float32frombits(binary.LittleEndian.Uint32(b))), nil
	case physDouble:
		return record.Float64(math.Float64frombits(binary.LittleEndian.Uint64(b))), nil
	case physFixed:
		return record.FixedBytes(b), nil
	}
	return record.Bytes(b), nil
}

// unscaled changes the length of a big-endian two's complement number: size bytes, or the fewest where size is 0.
func unscaled(b []byte, size int) (record.Value, error) {
	sign := byte(0)
	if len(b) > 0 && b[0]&0x80 != 0 {
		sign = 0xFF
	}
	for len(b) > 1 && b[0] == sign && b[1]&0x80 == sign&0x80 {
		b = b[1:]
	}
	if size == 0 {
		return record.Bytes(append([]byte{}, b...)), nil
	}
	if len(b) > size {
		return record.Value{}, fmt.Errorf("the decimal %x does not fit %d bytes", b, size)
	}
	out := make([]byte, size)
	for i := range out[:size-len(b)] {
		out[i] = sign
	}
	copy(out[size-len(b):], b)
	return record.FixedBytes(out), nil
}

// uuid prints 16 bytes as 8-4-4-4-12 hexadecimal digits.
func uuid(b []byte) []byte {
	out := make([]byte, 36)
	hex.Encode(out, b[:4])
	out[8] = '-'
	hex.Encode(out[9:], b[4:6])
	out[13] = '-'
	hex.Encode(out[14:], b[6:8])
	out[18] = '-'
	hex.Encode(out[19:], b[8:10])
	out[23] = '-'
	hex.Encode(out[24:], b[10:])
	return out
}

// half reads an IEEE 754 number of 16 bits.
func half(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10&0x1F), uint32(h&0x3FF)
	switch exp {
	case 0:
		f := float32(frac) / (1 << 24)
		if sign != 0 {
			f = -f
		}
		return f
	case 0x1F:
		return math.Float32frombits(sign | 0xFF<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
