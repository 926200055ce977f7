// Package storagetest is the contract of storage.Store as a test suite, and a store in memory for the tests of others.
package storagetest

import (
	"testing"

	"github.com/hudifs/hudifs/internal/storage"
)

// Run checks every rule of the contract. open returns a new, empty store; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) storage.Store) { panic("being written") }
