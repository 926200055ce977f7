package main

import (
	"fmt"
	"strconv"
)

// fileMode is permission bits in octal, as a flag: 755, 0775, 1777.
type fileMode uint32

func (m *fileMode) Set(s string) error {
	v, err := strconv.ParseUint(s, 8, 32)
	if err != nil || v == 0 || v > 0o7777 {
		return fmt.Errorf("want permissions in octal such as 0775")
	}
	*m = fileMode(v)
	return nil
}

func (m *fileMode) String() string { return fmt.Sprintf("%04o", uint32(*m)) }

func (*fileMode) Type() string { return "octal" }
