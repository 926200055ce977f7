package storagetest

import "github.com/hudifs/hudifs/internal/storage"

// Mem is a complete store in memory, for tests.
type Mem struct{ storage.Store }

// NewMem returns an empty Mem.
func NewMem() *Mem { panic("being written") }
