package tableconfig

import (
	"testing"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/local"
)

// A file that ends within a line, before its checksum, is no table's configuration, however many keys it has.
func TestTornProperties(t *testing.T) {
	st, err := local.Open(t.TempDir(), local.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	text := "hoodie.table.name=t\nhoodie.table.type=COPY_ON_WRITE\nhoodie.table.version=9\nhoodie.timeline.layout.version=2\nhoodie.table.partition.fi"
	if _, err := st.Put(t.Context(), Path, []byte(text), storage.PutReplace); err != nil {
		t.Fatal(err)
	}
	if _, err := readFile(t.Context(), st, Path); !corrupt.Is(err) {
		t.Errorf("readFile of a torn file = %v, want a corruption", err)
	}
	if _, err := st.Put(t.Context(), Path, []byte(text+"elds=a\n"), storage.PutReplace); err != nil {
		t.Fatal(err)
	}
	if _, err := readFile(t.Context(), st, Path); err != nil {
		t.Errorf("readFile of the whole file = %v, want nil", err)
	}
}
