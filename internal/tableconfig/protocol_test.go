package tableconfig

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/storage/faultstore"
	"github.com/hudifs/hudifs/internal/storage/storagetest"
)

func put(t *testing.T, st storage.Store, path, data string) {
	t.Helper()
	if _, err := st.Put(t.Context(), path, []byte(data), storage.PutReplace); err != nil {
		t.Fatal(err)
	}
}

const (
	whole   = "hoodie.table.name=t\nhoodie.table.version=9\nhoodie.timeline.layout.version=2\n"
	foreign = whole + "hoodie.table.checksum=1\n"
)

func sealed(extra string) string {
	return whole + extra + "hoodie.table.checksum=" + Checksum("", "t") + "\n"
}

func TestLoad(t *testing.T) {
	tests := []struct {
		name, main, backup string
		want               string // in the error, "" for success
	}{
		{"main", sealed(""), "", ""},
		{"main without checksum", whole, "", ""},
		{"only backup", "", sealed(""), ""},
		{"damaged main", foreign, sealed(""), ""},
		{"half-written main", "a=\\u12", sealed(""), ""},
		{"nothing", "", "", "not a Hudi table"},
		{"both damaged", foreign, foreign, "checksum"},
		{"empty main", "#only\n", "", "empty"},
	}
	for _, tc := range tests {
		synctest.Test(t, func(t *testing.T) {
			st := storagetest.NewMem()
			if tc.main != "" {
				put(t, st, Path, tc.main)
			}
			if tc.backup != "" {
				put(t, st, BackupPath, tc.backup)
			}
			begin := time.Now()
			c, err := Load(t.Context(), st)
			if tc.want == "" {
				if err != nil || c.Name != "t" {
					t.Errorf("%s: Load = %v, %v, want the table t", tc.name, c, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: Load error %v, want one with %q", tc.name, err, tc.want)
			}
			if missing := tc.main == "" && tc.backup == ""; errors.Is(err, ErrNotTable) != missing || errors.Is(err, fs.ErrNotExist) != missing {
				t.Errorf("%s: Is(%v, ErrNotTable) = %v, want %v", tc.name, err, !missing, missing)
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("%s: Load took %v, want at most 5 s", tc.name, took)
			}
		})
	}
}

// TestLoadDuringUpdate reads while another process is between deleting and writing the file, and after.
func TestLoadDuringUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := storagetest.NewMem()
		put(t, st, Path, "half-writ\\u0")
		go func() {
			time.Sleep(1500 * time.Millisecond)
			if _, err := st.Put(context.Background(), Path, []byte(sealed("")), storage.PutReplace); err != nil {
				t.Error(err)
			}
		}()
		if c, err := Load(t.Context(), st); err != nil || c.Name != "t" {
			t.Errorf("Load = %v, %v, want the table once it is whole", c, err)
		}
	})
}

func TestLoadStoreError(t *testing.T) {
	f := faultstore.New(storagetest.NewMem())
	f.Inject(faultstore.Fault{Path: Path})
	if _, err := Load(t.Context(), f); !errors.Is(err, faultstore.ErrInjected) || errors.Is(err, ErrNotTable) {
		t.Errorf("Load on a failing store = %v, want the store's error", err)
	}
}

func TestModify(t *testing.T) {
	st := storagetest.NewMem()
	put(t, st, Path, "#c\n#d\nunknown.key=kept\n"+whole)
	c, err := Modify(t.Context(), st, func(p *Properties) error {
		p.Set(KeyMetaPartitions, "files")
		return nil
	})
	if err != nil || !c.HasMetadata("files") {
		t.Fatalf("Modify = %v, %v", c, err)
	}
	data, err := st.ReadAll(t.Context(), Path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if !strings.HasPrefix(text, "#Updated at ") || !strings.Contains(text, "unknown.key=kept\n") ||
		!strings.HasSuffix(text, "hoodie.table.metadata.partitions=files\nhoodie.table.checksum="+Checksum("", "t")+"\n") {
		t.Errorf("after Modify the file is\n%s", text)
	}
	if got := st.Paths(); len(got) != 1 {
		t.Errorf("after Modify there are %v, want the properties alone", got)
	}
}

func TestModifyRefusesInvalid(t *testing.T) {
	st := storagetest.NewMem()
	put(t, st, Path, sealed(""))
	_, err := Modify(t.Context(), st, func(p *Properties) error { p.Set(KeyType, "ROWS"); return nil })
	if err == nil {
		t.Fatal("Modify accepted a type that no table has")
	}
	if c, err := Load(t.Context(), st); err != nil || c.Type != CopyOnWrite {
		t.Errorf("after a refused Modify Load = %+v, %v", c, err)
	}
}

// TestModifyCrash crashes at every operation: afterwards the old or the new properties load, and the next Modify works.
func TestModifyCrash(t *testing.T) {
	for _, when := range []faultstore.When{faultstore.Before, faultstore.After} {
		for n := 0; ; n++ {
			inner := storagetest.NewMem()
			put(t, inner, Path, sealed("k=old\n"))
			f := faultstore.New(inner)
			f.CrashAt(faultstore.Any, n, when)
			change := func(v string) func(p *Properties) error {
				return func(p *Properties) error { p.Set("k", v); return nil }
			}
			_, crashErr := Modify(t.Context(), f, change("new"))
			c, err := Load(t.Context(), inner)
			if err != nil {
				t.Fatalf("crash at %d: Load = %v", n, err)
			}
			v, _ := c.Get("k")
			if v != "old" && v != "new" || crashErr == nil && v != "new" {
				t.Errorf("crash at %d: k = %q after Modify = %v", n, v, crashErr)
			}
			if _, err := Modify(t.Context(), inner, change("newer")); err != nil {
				t.Fatalf("crash at %d: the next Modify = %v", n, err)
			}
			if got := inner.Paths(); len(got) != 1 {
				t.Errorf("crash at %d: left over %v", n, got)
			}
			if !f.Crashed() {
				break
			}
		}
	}
}

func TestRecover(t *testing.T) {
	tests := []struct {
		name, main, backup string
		want               string // value of k afterwards; "" for an error
	}{
		{"whole main, whole backup", sealed("k=new\n"), sealed("k=old\n"), "new"},
		{"no main", "", sealed("k=old\n"), "old"},
		{"damaged main", foreign, sealed("k=old\n"), "old"},
		{"main lost its checksum", whole + "k=tor\n", sealed("k=old\n"), "old"},
		{"damaged backup", sealed("k=new\n"), foreign, "new"},
		{"both damaged", foreign, foreign, ""},
	}
	for _, tc := range tests {
		st := storagetest.NewMem()
		if tc.main != "" {
			put(t, st, Path, tc.main)
		}
		put(t, st, BackupPath, tc.backup)
		err := Recover(t.Context(), st)
		if (err != nil) != (tc.want == "") {
			t.Errorf("%s: Recover = %v", tc.name, err)
		}
		if tc.want == "" {
			continue
		}
		c, err := Load(t.Context(), st)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if v, _ := c.Get("k"); v != tc.want || len(st.Paths()) != 1 {
			t.Errorf("%s: k = %q with %v, want %q and no backup", tc.name, v, st.Paths(), tc.want)
		}
	}
}
