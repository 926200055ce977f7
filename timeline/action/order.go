package action

import "slices"

// javaOrder returns the keys of m in the order in which a Java HashMap of default size that has grown to hold them iterates: by hash
// bucket. Files written here then have the order of files written there, and the same commit always has the same bytes. Keys of one
// bucket are sorted; Java keeps them as they came.
func javaOrder[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	buckets := uint32(16)
	for uint32(len(keys)) > buckets/4*3 {
		buckets *= 2
	}
	slices.SortFunc(keys, func(a, b string) int {
		ha, hb := javaHash(a)&(buckets-1), javaHash(b)&(buckets-1)
		switch {
		case ha != hb:
			return int(ha) - int(hb)
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	return keys
}

// javaHash is String.hashCode, spread as HashMap does.
func javaHash(s string) uint32 {
	var h uint32
	for _, r := range s {
		if r > 0xffff {
			r -= 0x10000
			h = 31*h + uint32(0xd800+r>>10)
			r = 0xdc00 + r&0x3ff
		}
		h = 31*h + uint32(r)
	}
	return h ^ h>>16
}
