package storagetest_test

import (
	"testing"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
)

func TestMem(t *testing.T) {
	storagetest.Run(t, func(*testing.T) storage.Store { return storagetest.NewMem() })
}

func TestCloneIsApart(t *testing.T) {
	a := storagetest.NewMem()
	if _, err := a.Put(t.Context(), "x", []byte("1"), storage.PutReplace); err != nil {
		t.Fatal(err)
	}
	b := a.Clone()
	if _, err := b.Put(t.Context(), "y", nil, storage.PutReplace); err != nil {
		t.Fatal(err)
	}
	if err := a.Delete(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if got := a.Paths(); len(got) != 0 {
		t.Errorf("the original has %q, want nothing", got)
	}
	if got := b.Paths(); len(got) != 2 {
		t.Errorf("the clone has %q, want x and y", got)
	}
}
