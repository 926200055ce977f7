package storage

import (
	"fmt"
	"io/fs"
	"strings"
)

// CheckPath refuses paths that cannot name an object. The error matches fs.ErrInvalid. Stores call it before they touch anything.
func CheckPath(path string) error {
	if path == "" {
		return fmt.Errorf("object path is empty: %w", fs.ErrInvalid)
	}
	if strings.IndexByte(path, 0) >= 0 {
		return fmt.Errorf("object path %q holds a NUL byte: %w", path, fs.ErrInvalid)
	}
	for rest, more := path, true; more; {
		var elem string
		elem, rest, more = strings.Cut(rest, "/")
		switch elem {
		case "":
			return fmt.Errorf("object path %q has an empty element: %w", path, fs.ErrInvalid)
		case ".", "..":
			return fmt.Errorf("object path %q has the element %q: %w", path, elem, fs.ErrInvalid)
		}
	}
	return nil
}

// CheckPrefix refuses prefixes that List does not take: a prefix is "" or an object path followed by one slash.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	dir, ok := strings.CutSuffix(prefix, "/")
	if !ok {
		return fmt.Errorf("list prefix %q does not end in a slash: %w", prefix, fs.ErrInvalid)
	}
	return CheckPath(dir)
}
