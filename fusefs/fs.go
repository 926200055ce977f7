// Package fusefs shows a table as directories: names, inodes, errno.
//
// It knows FUSE and what programs do to files. It sees the table through Source and drops through Ingester, both declared here; it
// must never know how a commit is written.
package fusefs
