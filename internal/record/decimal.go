package record

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Decimal is the number Unscaled · 10^-Scale. Scale counts: 1.50 is not the same text as 1.5, though Cmp finds them equal.
type Decimal struct {
	Unscaled *big.Int
	Scale    int
}

// maxDigits bounds the text and exponent of decimals that are parsed, far above any column's precision.
const maxDigits = 1000

// NewDecimal returns the decimal unscaled · 10^-scale.
func NewDecimal(unscaled int64, scale int) *Decimal {
	return &Decimal{Unscaled: big.NewInt(unscaled), Scale: scale}
}

// ParseDecimal reads a decimal number, with exponent or without, as Java's BigDecimal does.
func ParseDecimal(s string) (*Decimal, error) {
	digits, exp := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		var err error
		if exp, err = strconv.Atoi(s[i+1:]); err != nil || exp > maxDigits || exp < -maxDigits {
			return nil, fmt.Errorf("%q is not a decimal number", s)
		}
		digits = s[:i]
	}
	scale := 0
	if i := strings.IndexByte(digits, '.'); i >= 0 {
		scale = len(digits) - i - 1
		digits = digits[:i] + digits[i+1:]
	}
	bare := strings.TrimLeft(digits, "+-")
	if bare == "" || len(digits) > len(bare)+1 || len(bare) > maxDigits || strings.Trim(bare, "0123456789") != "" {
		return nil, fmt.Errorf("%q is not a decimal number", s)
	}
	u, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return nil, fmt.Errorf("%q is not a decimal number", s)
	}
	return &Decimal{Unscaled: u, Scale: scale - exp}, nil
}

// DecimalOf reads an unscaled value in big-endian two's complement.
func DecimalOf(b []byte, scale int) *Decimal {
	u := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		u.Sub(u, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return &Decimal{Unscaled: u, Scale: scale}
}

// Bytes is the unscaled value in the shortest big-endian two's complement, as Java's BigInteger.toByteArray.
func (d *Decimal) Bytes() []byte {
	u := d.Unscaled
	if u.Sign() >= 0 {
		n := u.BitLen()/8 + 1
		return u.FillBytes(make([]byte, n))
	}
	// -2^(8n-1) still fits n bytes.
	n := new(big.Int).Not(u).BitLen()/8 + 1
	return new(big.Int).Add(u, new(big.Int).Lsh(big.NewInt(1), uint(8*n))).FillBytes(make([]byte, n))
}

// Fixed is the unscaled value in two's complement of size bytes; ok is false where it does not fit.
func (d *Decimal) Fixed(size int) (b []byte, ok bool) {
	s := d.Bytes()
	if len(s) > size {
		return nil, false
	}
	b = make([]byte, size)
	if s[0] >= 0x80 {
		for i := range size - len(s) {
			b[i] = 0xff
		}
	}
	copy(b[size-len(s):], s)
	return b, true
}

// Rescale returns the same number with another scale; ok is false where digits would be lost.
func (d *Decimal) Rescale(scale int) (r *Decimal, ok bool) {
	if scale == d.Scale {
		return d, true
	}
	if scale > d.Scale {
		if scale-d.Scale > 2*maxDigits {
			return nil, false
		}
		return &Decimal{Unscaled: new(big.Int).Mul(d.Unscaled, pow10(scale-d.Scale)), Scale: scale}, true
	}
	if d.Unscaled.Sign() == 0 {
		return &Decimal{Unscaled: new(big.Int), Scale: scale}, true
	}
	if d.Scale-scale > 2*maxDigits {
		return nil, false
	}
	q, m := new(big.Int).QuoRem(d.Unscaled, pow10(d.Scale-scale), new(big.Int))
	return &Decimal{Unscaled: q, Scale: scale}, m.Sign() == 0
}

// Precision is the number of decimal digits of the unscaled value, 1 for zero.
func (d *Decimal) Precision() int {
	return len(new(big.Int).Abs(d.Unscaled).String())
}

// Cmp compares by value.
func (d *Decimal) Cmp(e *Decimal) int {
	if d.Scale == e.Scale {
		return d.Unscaled.Cmp(e.Unscaled)
	}
	if s := d.Unscaled.Sign() - e.Unscaled.Sign(); s != 0 || d.Unscaled.Sign() == 0 {
		return sign(s)
	}
	if d.Scale < e.Scale {
		return new(big.Int).Mul(d.Unscaled, pow10(e.Scale-d.Scale)).Cmp(e.Unscaled)
	}
	return d.Unscaled.Cmp(new(big.Int).Mul(e.Unscaled, pow10(d.Scale-e.Scale)))
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// String prints as Java's BigDecimal.toString: with an exponent where the scale is negative or the number is very small.
func (d *Decimal) String() string {
	digits := new(big.Int).Abs(d.Unscaled).String()
	minus := ""
	if d.Unscaled.Sign() < 0 {
		minus = "-"
	}
	if d.Scale == 0 {
		return minus + digits
	}
	adjusted := len(digits) - 1 - d.Scale
	if d.Scale > 0 && adjusted >= -6 {
		if pad := d.Scale - len(digits) + 1; pad > 0 {
			digits = strings.Repeat("0", pad) + digits
		}
		i := len(digits) - d.Scale
		return minus + digits[:i] + "." + digits[i:]
	}
	if len(digits) > 1 {
		digits = digits[:1] + "." + digits[1:]
	}
	if adjusted == 0 {
		return minus + digits
	}
	return minus + digits + fmt.Sprintf("E%+d", adjusted)
}
