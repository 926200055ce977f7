// Package local keeps the objects of a store as files below one directory.
package local

import (
	"log/slog"

	"github.com/hudifs/hudifs/internal/storage"
)

// Options of Open. The zero value is the safe default.
type Options struct {
	Create bool         // make the root directory when it is missing
	NoSync bool         // leave out every fsync: for tests and throw-away data only
	Log    *slog.Logger // nil discards
}

// Open opens the directory root, which must exist unless o.Create.
func Open(root string, o Options) (*Store, error) { panic("being written") }

// Store is a storage.Store over a directory.
type Store struct{ storage.Store }
