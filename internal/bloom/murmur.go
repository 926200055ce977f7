package bloom

// mix is murmur's multiplier.
const mix = 0x5bd1e995

// keyWords appends the part of Hadoop's MurmurHash2 that does not depend on the seed: each four bytes of the key scrambled, then the rest of the
// key as one word. A filter hashes each key thirty times, and this part is the larger one.
func keyWords(dst []uint32, key string) []uint32 {
	n := len(key) &^ 3
	for i := 0; i < n; i += 4 {
		k := uint32(key[i]) | uint32(key[i+1])<<8 | uint32(key[i+2])<<16 | uint32(key[i+3])<<24
		k *= mix
		k ^= k >> 24
		dst = append(dst, k*mix)
	}
	// The tail counts from the end of the key, and Java's bytes are signed: a byte above 0x7f flips all bits above it.
	if left := len(key) - n; left > 0 {
		var t uint32
		for i := 1; i <= left; i++ {
			t ^= uint32(int32(int8(key[len(key)-i])) << (8 * (i - 1)))
		}
		dst = append(dst, t)
	}
	return dst
}

// murmurWords finishes the hash of a key of size bytes, given its words, with a seed.
func murmurWords(words []uint32, size int, seed int32) int32 {
	h := uint32(seed) ^ uint32(size)
	n := size >> 2
	for _, k := range words[:n] {
		h = h*mix ^ k
	}
	if size&3 != 0 {
		h = (h ^ words[n]) * mix
	}
	h ^= h >> 13
	h *= mix
	return int32(h ^ h>>15)
}

// murmur is Hadoop's MurmurHash2 of a key.
func murmur(key string, seed int32) int32 { return murmurWords(keyWords(nil, key), len(key), seed) }
