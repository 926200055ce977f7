package writer_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/timeline/action"
	"github.com/hudifs/hudifs/writer"
)

// Inserts fill small files first, as far as their size lets them, then make new groups of at most so many rows.
func TestSmallFilesAreFilled(t *testing.T) {
	rows := func(from, n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("%05d|x|1|v", from+i))
		}
		return out
	}
	for name, o := range crashTables() {
		t.Run(name, func(t *testing.T) {
			st := newTable(t, o)
			tb := open(t, st, writer.Options{InsertSplit: 30})
			tb.do(action.OpInsert, rows(0, 70)...)
			sizes := func() (out []int64) {
				for _, s := range tb.last().Stats["x"] {
					out = append(out, s.NumInserts)
				}
				slices.Sort(out)
				return out
			}
			if got := sizes(); !slices.Equal(got, []int64{10, 30, 30}) {
				t.Errorf("inserts by file %v, want two full groups and the rest", got)
			}
			// Commits of less than the small file limit say nothing of the size of a row: with Hudi's 1 KiB each of the three files has room for some twenty more.
			size := tb.last().Stats["x"][0].FileSizeInBytes
			grow := open(t, st, writer.Options{MaxFileBytes: size + 20<<10, SmallFileBytes: size * 4})
			grow.do(action.OpInsert, rows(100, 75)...)
			grown, made := int64(0), int64(0)
			for _, s := range grow.last().Stats["x"] {
				if s.PrevCommit == action.NullCommit {
					made += s.NumInserts
				} else if grown += s.NumInserts; s.NumWrites != s.NumInserts+30 && s.NumWrites != s.NumInserts+10 {
					t.Errorf("a grown file has %d rows of which %d are new", s.NumWrites, s.NumInserts)
				}
			}
			if grown+made != 75 || grown < 55 || grown > 65 {
				t.Errorf("%d rows went into small files and %d into new ones, want about 60 and 15", grown, made)
			}
			// Files that are not small, and bulk inserts, grow nothing.
			for op, small := range map[action.WriteOperation]int64{action.OpInsert: 1000, action.OpBulkInsert: math.MaxInt64} {
				none := open(t, st, writer.Options{SmallFileBytes: small})
				none.do(op, "9|x|1|"+string(op))
				if s := none.last().Stats["x"]; len(s) != 1 || s[0].PrevCommit != action.NullCommit {
					t.Errorf("%s with small files below %d: %+v, want one new group", op, small, s)
				}
			}
			if got := len(grow.rows()); got != 147 {
				t.Errorf("%d rows, want 147", got)
			}
		})
	}
}

// Values that make odd directories come back as they are, and are found again.
func TestOddPartitionValues(t *testing.T) {
	t.Parallel()
	values := []string{"plain", "two words", "é中😀", "100%", "a%2Fb", "k=v", "a:b", "x#y", "-", "tab\tin", "a'b", "%25", "__HIVE_DEFAULT_PARTITION__"}
	for _, style := range []tableconfig.Options{{HiveStyle: true}, {URLEncode: true}, {HiveStyle: true, URLEncode: true}, {}} {
		for name, o := range crashTables() {
			if o.Version == 6 && style.HiveStyle != style.URLEncode {
				continue // the styles do not depend on the version
			}
			o.HiveStyle, o.URLEncode = style.HiveStyle, style.URLEncode
			t.Run(fmt.Sprintf("%s hive %v encoded %v", name, o.HiveStyle, o.URLEncode), func(t *testing.T) {
				tb := open(t, newTable(t, o), writer.Options{})
				var old, updated, changed []string
				dirs := map[string]bool{}
				for i, v := range values {
					old = append(old, fmt.Sprintf("%d|%s|1|old", i, v))
					changed = append(changed, fmt.Sprintf("%d|%s|2|new", i, v))
				}
				tb.do(action.OpUpsert, old...)
				for dir := range tb.last().Stats {
					dirs[dir] = true
					if o.HiveStyle && !strings.HasPrefix(dir, "p=") {
						t.Errorf("directory %q, want one that begins with p=", dir)
					}
				}
				if len(dirs) != len(values) {
					t.Errorf("%d directories of %d values: %v", len(dirs), len(values), dirs)
				}
				tb.do(action.OpUpsert, changed...)
				if got := len(tb.last().Stats); got != len(values) {
					t.Errorf("the update wrote to %d directories, want %d", got, len(values))
				}
				updated = append(updated, changed...)
				tb.want(updated...)
				tb.compact()
				tb.want(updated...)
				tb.do(action.OpDelete, changed...)
				tb.want()
			})
		}
	}
}

// D2: every operation writes one key in one way.
func TestCompositeKeys(t *testing.T) {
	for name, o := range crashTables() {
		o.RecordKeys, o.OrderingFields = []string{"v", "id"}, []string{"ts"}
		t.Run(name, func(t *testing.T) {
			tb := open(t, newTable(t, o), writer.Options{})
			tb.do(action.OpBulkInsert, "1|x|1|k")
			tb.do(action.OpUpsert, "1|x|2|k", "2|x|1|")
			tb.do(action.OpInsert, "3|x|1|a:b,c")
			for key, times := range map[string]int{"v:k,id:1": 1, "v:__empty__,id:2": 1, "v:a:b,c,id:3": 1} {
				if got := len(tb.meta(key)); got < 30 || got > 60 {
					t.Errorf("key %q: meta columns of %d bytes, want those of %d row", key, got, times)
				}
			}
			tb.do(action.OpDelete, "2|x|0|", "3|x|0|a:b,c")
			tb.want("1|x|2|k")
		})
	}
}

func TestTablesWithoutMetaColumns(t *testing.T) {
	for name, o := range crashTables() {
		o.NoMetaFields = true
		t.Run(name, func(t *testing.T) {
			tb := open(t, newTable(t, o), writer.Options{})
			tb.do(action.OpUpsert, "1|x|1|a", "2|x|1|a")
			tb.do(action.OpUpsert, "1|x|2|b", "3|y|1|a")
			tb.do(action.OpDelete, "2|x|0|")
			tb.want("1|x|2|b", "3|y|1|a")
			tb.compact()
			tb.want("1|x|2|b", "3|y|1|a")
		})
	}
}
