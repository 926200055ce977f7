package rowtext

import (
	"bytes"
	"encoding/hex"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// appendJSONLeaf spells a value that is not null.
func appendJSONLeaf(dst []byte, v record.Value, t *schema.Type) []byte {
	if isText(t) {
		return appendString(dst, record.Text(v))
	}
	if bare(v, t) {
		return appendLeaf(dst, v, t)
	}
	dst = append(dst, '"')
	return append(appendLeaf(dst, v, t), '"')
}

// appendCSVLeaf spells a value that is not null as a CSV field.
func appendCSVLeaf(dst []byte, v record.Value, t *schema.Type) []byte {
	if isText(t) {
		return appendField(dst, v.ByteArray())
	}
	return appendLeaf(dst, v, t)
}

// isText reports whether the value's bytes are its text.
func isText(t *schema.Type) bool {
	return t.Kind == schema.Enum || t.Kind == schema.String
}

// bare reports whether JSON takes the value without quotes.
func bare(v record.Value, t *schema.Type) bool {
	switch t.Kind {
	case schema.Boolean:
		return true
	case schema.Int, schema.Long:
		return t.Logical == schema.NoLogical
	case schema.Float:
		return finite(float64(v.Float()))
	case schema.Double:
		return finite(v.Double())
	}
	return false
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// appendLeaf spells everything but text.
func appendLeaf(dst []byte, v record.Value, t *schema.Type) []byte {
	switch t.Kind {
	case schema.Boolean:
		return strconv.AppendBool(dst, v.Boolean())
	case schema.Int:
		return appendWhole(dst, int64(v.Int32()), t)
	case schema.Long:
		return appendWhole(dst, v.Int64(), t)
	case schema.Float:
		return appendFloat(dst, float64(v.Float()), 32)
	case schema.Double:
		return appendFloat(dst, v.Double(), 64)
	}
	b := v.ByteArray()
	switch {
	case t.Logical == schema.Decimal:
		return appendDecimal(dst, b, t.Scale)
	case t.Logical == schema.UUID && len(b) == 16:
		return appendUUID(dst, b)
	}
	return hex.AppendEncode(append(dst, "0x"...), b)
}

// appendWhole spells integers and what is stored as one.
func appendWhole(dst []byte, n int64, t *schema.Type) []byte {
	const (
		day       = "2006-01-02"
		clock     = "15:04:05"
		daysUntil = 24 * 60 * 60
	)
	switch t.Logical {
	case schema.Date:
		return time.Unix(n*daysUntil, 0).UTC().AppendFormat(dst, day)
	case schema.TimeMillis:
		return time.UnixMilli(n).UTC().AppendFormat(dst, clock+".000")
	case schema.TimeMicros:
		return time.UnixMicro(n).UTC().AppendFormat(dst, clock+".000000")
	case schema.TimestampMillis:
		return time.UnixMilli(n).UTC().AppendFormat(dst, day+"T"+clock+".000Z")
	case schema.TimestampMicros:
		return time.UnixMicro(n).UTC().AppendFormat(dst, day+"T"+clock+".000000Z")
	case schema.TimestampNanos:
		return time.Unix(0, n).UTC().AppendFormat(dst, day+"T"+clock+".000000000Z")
	case schema.LocalTimestampMillis:
		return time.UnixMilli(n).UTC().AppendFormat(dst, day+"T"+clock+".000")
	case schema.LocalTimestampMicros:
		return time.UnixMicro(n).UTC().AppendFormat(dst, day+"T"+clock+".000000")
	case schema.LocalTimestampNanos:
		return time.Unix(0, n).UTC().AppendFormat(dst, day+"T"+clock+".000000000")
	}
	return strconv.AppendInt(dst, n, 10)
}

// appendFloat is the shortest text that reads back, without an exponent where numbers are of everyday size.
func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bits)
}

// appendDecimal spells a big-endian two's complement unscaled value. Most fit a machine word.
func appendDecimal(dst, b []byte, scale int) []byte {
	if len(b) == 0 || len(b) > 8 {
		return append(dst, record.DecimalOf(b, scale).String()...)
	}
	n := int64(int8(b[0]))
	for _, c := range b[1:] {
		n = n<<8 | int64(c)
	}
	u := uint64(n)
	if n < 0 {
		dst, u = append(dst, '-'), -u
	}
	var buf [20]byte
	digits := strconv.AppendUint(buf[:0], u, 10)
	if scale <= 0 {
		dst = append(dst, digits...)
		for ; scale < 0 && u != 0; scale++ {
			dst = append(dst, '0')
		}
		return dst
	}
	if len(digits) > scale {
		dst = append(dst, digits[:len(digits)-scale]...)
		return append(append(dst, '.'), digits[len(digits)-scale:]...)
	}
	dst = append(dst, "0."...)
	for k := len(digits); k < scale; k++ {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

func appendUUID(dst, b []byte) []byte {
	for i, c := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, []byte{c})
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// appendString spells a JSON string. Bytes that are no UTF-8 become the replacement character, since JSON has no way to say them.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), `\ufffd`...)
				from = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// appendField spells a CSV field, in quotes where a reader needs them: also the empty one, which without quotes is a null, and text with
// blanks at its ends, which some readers trim.
func appendField(dst, b []byte) []byte {
	if len(b) > 0 && bytes.IndexByte(b, '"') < 0 && bytes.IndexByte(b, ',') < 0 && bytes.IndexByte(b, '\n') < 0 && bytes.IndexByte(b, '\r') < 0 &&
		b[0] != ' ' && b[len(b)-1] != ' ' && b[0] != 0xef {
		return append(dst, b...)
	}
	dst = append(dst, '"')
	for {
		i := bytes.IndexByte(b, '"')
		if i < 0 {
			return append(append(dst, b...), '"')
		}
		dst = append(append(dst, b[:i+1]...), '"')
		b = b[i+1:]
	}
}
