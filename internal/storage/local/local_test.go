package local_test

import (
	"testing"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/local"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
)

func open(t testing.TB, dir string, o local.Options) *local.Store {
	t.Helper()
	s, err := local.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestSuite(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storage.Store {
		s, err := local.Open(t.TempDir(), local.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
