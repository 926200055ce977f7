package ingest

import (
	"path"
	"strings"
)

// neverCommit are the names that stay what they are: temporary files of editors and transfer tools, marks, lists. Filled in by `ingest.never` of the configuration.
var neverCommit = []string{
	".*", "*~", "*.tmp", "*.temp", "*.part", "*.partial", "*.filepart", "*.crdownload", "*.download", "*.swp", "*.swx", "*.lock", "*.lck",
	"~$*", "_*", "*.crc", "*.bak", "*.inprogress", "*.pending", "*._COPYING_", "*.writing",
	"sed??????", "zi??????", "*.sb-????????-??????", "perl??????", "Thumbs.db", "desktop.ini",
}

// perhapsTemporary are names that programs write first and rename afterwards, but that people use as well: they are sealed only after a while.
var perhapsTemporary = []string{"tmp_*", "tmp????????.*", "tmp??????.*"}

// NeverCommits lists the patterns of names that are never committed, for README.txt and status.
func NeverCommits() []string { return append([]string(nil), neverCommit...) }

func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return false
}

// commits reports whether a drop at this path, relative to its ingest directory, is ever committed: no element of it is a name that never is.
func commits(p string, extra []string) bool {
	for e := range strings.SplitSeq(p, "/") {
		if matches(neverCommit, e) || matches(extra, e) {
			return false
		}
	}
	return true
}

// fixedColumns reads the columns that k=v directory names give.
func fixedColumns(p string) map[string]string {
	var out map[string]string
	dir := path.Dir(p)
	if dir == "." {
		return nil
	}
	for e := range strings.SplitSeq(dir, "/") {
		if k, v, ok := strings.Cut(e, "="); ok && k != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = unescape(v)
		}
	}
	return out
}

// unescape undoes Hive's percent-encoding; what is no escape stays.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			b.WriteByte(unhex(s[i+1])<<4 | unhex(s[i+2]))
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c >= 'a':
		return c - 'a' + 10
	}
	return c - 'A' + 10
}
