package main

import (
	"fmt"
	"strconv"
	"strings"
)

// byteSize is a number of bytes with a unit, as a flag: 512, 64KiB, 256MiB, 10GiB, 1GB.
type byteSize int64

var units = []struct {
	name string
	size int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3},
	{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"B", 1},
}

func (b *byteSize) Set(s string) error {
	unit := int64(1)
	number := s
	for _, u := range units {
		if n, ok := strings.CutSuffix(s, u.name); ok {
			unit, number = u.size, n
			break
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(v >= 0) || v*float64(unit) > 1<<62 { // NaN is neither
		return fmt.Errorf("want a number of bytes such as 512MiB or 10GiB")
	}
	*b = byteSize(v * float64(unit))
	return nil
}

func (b *byteSize) String() string {
	for _, u := range units[:4] {
		if int64(*b) >= u.size && int64(*b)%u.size == 0 {
			return fmt.Sprintf("%d%s", int64(*b)/u.size, u.name)
		}
	}
	return strconv.FormatInt(int64(*b), 10)
}

func (*byteSize) Type() string { return "bytes" }
