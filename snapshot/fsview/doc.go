// Package fsview groups the files of a table: which file group and which slice each one belongs to, and which of them a reader of one
// state of the table may see.
//
// It knows base and log file names, the rules that attach log files to slices in each naming scheme (attach.go is the only file that
// knows the difference), pending compactions and replaced file groups. It must never know what is inside a file.
//
// A file group is all files of one file id in one partition. A slice is one base file (or none yet) with the log files that change
// it, keyed by its base instant. A view is the file groups as one set of committed instants shows them: files of other instants are
// as if they were not there.
package fsview
