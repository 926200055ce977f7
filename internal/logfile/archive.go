package logfile

import "io"

// OpenArchive returns a reader of an archive log of timeline layout 1 (timeline.md §6.1): a log file whose blocks belong to no instant and
// have only a schema in their header.
func OpenArchive(r io.ReaderAt, size int64, name string) (*Reader, error) {
	rd, err := Open(r, size, name)
	if err == nil {
		rd.archive = true
	}
	return rd, err
}

// NewArchiveWriter returns a writer of an archive log: its blocks need no INSTANT_TIME.
func NewArchiveWriter(w io.Writer) *Writer { return &Writer{w: w, archive: true} }
