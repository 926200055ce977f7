package action

import (
	"fmt"
	"testing"
)

// commitOf returns a commit with n write stats in n/10 partitions.
func commitOf(n int) *CommitMetadata {
	m := &CommitMetadata{Operation: OpUpsert, Stats: map[string][]WriteStat{}, Extra: map[string]string{"schema": `{"type":"record"}`}}
	for i := range n {
		p := fmt.Sprintf("p=%d", i/10)
		m.Stats[p] = append(m.Stats[p], WriteStat{FileID: fmt.Sprint(i), Path: p + "/" + fmt.Sprint(i), PartitionPath: p, NumWrites: int64(i), Runtime: &RuntimeStats{}})
	}
	return m
}

func BenchmarkDecode(b *testing.B) {
	for _, layout := range []int{1, 2} {
		for _, n := range []int{1, 1000} {
			body, err := Encode(layout, commitOf(n))
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("layout%d/stats=%d", layout, n), func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					if _, err := Decode[CommitMetadata]("x", body); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
