package fsview

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/hudifs/hudifs/timeline"
)

// UnknownToken is the write token of files whose writer had none: version 6 rollback blocks among them (data.md §1.1).
const UnknownToken = "1-0-1"

// externalMark marks a file of foreign name that was registered with a commit (data.md §1.1). Such files are not read.
const externalMark = "_hudiext"

// maxNameBytes bounds what the parsers look at; no file system allows longer names.
const maxNameBytes = 4096

// BaseName is a parsed base file name: <fileId>_<writeToken>_<instant><ext> (data.md §1.1).
type BaseName struct {
	FileID     string
	WriteToken string // <partition>-<stage>-<attempt>
	Instant    timeline.InstantTime
	Ext        string // with its dot; compound extensions are kept whole
}

// String prints the file name.
func (n BaseName) String() string {
	return n.FileID + "_" + n.WriteToken + "_" + string(n.Instant) + n.Ext
}

// ParseBaseFileName parses the name (without directory) of a base file. The first underscore ends the file id, the second
// the write token, and the instant runs to the next dot.
func ParseBaseFileName(name string) (BaseName, error) {
	if len(name) > maxNameBytes {
		return BaseName{}, fmt.Errorf("base file name of %d bytes", len(name))
	}
	fail := func(why string) (BaseName, error) { return BaseName{}, fmt.Errorf("base file name %q: %s", name, why) }
	if name == "" || name[0] == '.' || strings.ContainsRune(name, '/') {
		return fail("hidden, empty or with a directory")
	}
	if strings.Contains(name, externalMark) {
		return fail("externally registered file")
	}
	id, rest, ok := strings.Cut(name, "_")
	if !ok || id == "" {
		return fail("no file id")
	}
	token, rest, ok := strings.Cut(rest, "_")
	if !ok || !isToken(token) {
		return fail("no write token")
	}
	dot := strings.IndexByte(rest, '.')
	if dot <= 0 || dot == len(rest)-1 {
		return fail("no extension")
	}
	if !isDigits(rest[:dot]) {
		return fail("no instant")
	}
	return BaseName{FileID: id, WriteToken: token, Instant: timeline.InstantTime(rest[:dot]), Ext: rest[dot:]}, nil
}

// LogName is a parsed log file name: .<fileId>_<instant>.log.<version>[_<writeToken>[.cdc]] (data.md §3.1).
type LogName struct {
	FileID     string
	Instant    timeline.InstantTime // table version 6: base instant of the slice; 8 and later: the delta commit
	Version    int                  // from 1
	WriteToken string               // "" where the name carries none
	CDC        bool                 // holds change data, no records of the table
}

// String prints the file name.
func (n LogName) String() string {
	s := "." + n.FileID + "_" + string(n.Instant) + ".log." + strconv.Itoa(n.Version)
	if n.WriteToken != "" {
		s += "_" + n.WriteToken
	}
	if n.CDC {
		s += cdcSuffix
	}
	return s
}

const cdcSuffix = ".cdc"

// ParseLogFileName parses the name (without directory) of a log file.
func ParseLogFileName(name string) (LogName, error) {
	if len(name) > maxNameBytes {
		return LogName{}, fmt.Errorf("log file name of %d bytes", len(name))
	}
	fail := func(why string) (LogName, error) { return LogName{}, fmt.Errorf("log file name %q: %s", name, why) }
	if len(name) < 2 || name[0] != '.' || strings.ContainsRune(name, '/') {
		return fail("no leading dot")
	}
	id, rest, ok := strings.Cut(name[1:], "_")
	if !ok || id == "" || strings.ContainsRune(id, '.') {
		return fail("no file id")
	}
	instant, rest, ok := strings.Cut(rest, ".log.")
	if !ok || !isDigits(instant) {
		return fail("no instant before .log.")
	}
	n := LogName{FileID: id, Instant: timeline.InstantTime(instant)}
	version, rest, hasToken := strings.Cut(rest, "_")
	v, err := strconv.Atoi(version)
	if err != nil || v < 1 || strconv.Itoa(v) != version {
		return fail("no log version")
	}
	n.Version = v
	if !hasToken {
		return n, nil
	}
	n.WriteToken, n.CDC = strings.CutSuffix(rest, cdcSuffix)
	if !isToken(n.WriteToken) {
		return fail("bad write token")
	}
	return n, nil
}

// IsLogFile reports whether name looks like a log file: hidden and with ".log." in it.
func IsLogFile(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, ".log.") && !strings.HasSuffix(name, ".crc")
}

// isToken accepts three decimal numbers joined by hyphens.
func isToken(s string) bool {
	a, rest, ok := strings.Cut(s, "-")
	if !ok {
		return false
	}
	b, c, ok := strings.Cut(rest, "-")
	return ok && isDigits(a) && isDigits(b) && isDigits(c)
}

func isDigits(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// join puts a name under a partition path; the partition of a non-partitioned table is "".
func join(partition, name string) string {
	if partition == "" {
		return name
	}
	return partition + "/" + name
}

// split takes a path apart into partition and name.
func split(p string) (partition, name string) {
	dir, name := path.Split(p)
	return strings.TrimSuffix(dir, "/"), name
}
