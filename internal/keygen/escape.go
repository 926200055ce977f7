package keygen

import "strings"

// escaped are the characters above the control codes that Escape replaces (data.md §5.3).
const escaped = "\"#%'*/:=?\\{[]^\x7f"

func mustEscape(c byte) bool { return c < 0x20 || strings.IndexByte(escaped, c) >= 0 }

const hexDigits = "0123456789ABCDEF"

// Escape replaces what Hive cannot have in a directory name by % and two hex digits: exactly the characters of Hudi's escapePathName. An
// empty text is the default partition.
func Escape(s string) string {
	if s == "" {
		return DefaultPartition
	}
	return escape(s, "")
}

// EscapeFileName is Escape for partition names inside file names: _ and - are replaced too, since they separate the parts of a file name.
func EscapeFileName(s string) string { return escape(s, "_-") }

func escape(s, more string) string {
	n := 0
	for i := range len(s) {
		if mustEscape(s[i]) || strings.IndexByte(more, s[i]) >= 0 {
			n++
		}
	}
	if n == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if c := s[i]; mustEscape(c) || strings.IndexByte(more, c) >= 0 {
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// Unescape undoes Escape. What is not % and two hex digits stays as it is. Codes above 0x7f are the characters of Latin-1, as in Java.
func Unescape(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if hi, lo := unhex(s[i+1]), unhex(s[i+2]); hi >= 0 && lo >= 0 {
				b = append(b, string(rune(hi<<4|lo))...)
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
