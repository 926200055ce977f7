// Package index finds where keys live.
//
// It knows keys and base files. It must never know what is written for a key.
package index

import (
	"context"

	"github.com/hudifs/hudifs/snapshot/fsview"
)

// Location is one row of a base file.
type Location struct {
	Slice int   // index into the slices that were searched
	Pos   int64 // row position in its base file
}

// Found is a key that is there. A key can be found more than once: tables that were filled by plain inserts hold duplicates.
type Found struct {
	Key int32 // index of the key that was asked for
	Location
}

// Keys are the keys to look for in one partition.
type Keys struct {
	ByKey map[string]int32 // key → its index
}

// Index finds keys in the slices of one partition.
type Index interface {
	// Find calls fn for every row that holds one of the keys, file by file. fn is not called concurrently.
	Find(ctx context.Context, slices []fsview.FileSlice, keys Keys, fn func(Found)) error
}
