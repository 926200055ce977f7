// Package hfile reads and writes HFiles: sorted keys with values in checksummed blocks, as the metadata table stores them.
//
// It knows bytes only: both dialects that Hudi releases write (data.md §8), their indexes and their codecs. It must never know what a value
// means.
package hfile
