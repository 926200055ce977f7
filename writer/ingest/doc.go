// Package ingest turns dropped files into upserts.
//
// It knows file formats that people drop, the rules by which their values become values of the table schema, the spool that keeps a drop's
// bytes until its rows are committed, and the one goroutine that commits. It must never know FUSE.
package ingest
