package lab

import (
	"fmt"
	"sort"
	"strings"
)

// shownLines is how many lines of each kind Diff shows.
const shownLines = 5

// Diff compares rows as canonical lines, each of them counted as often as it comes, in any order. It returns "" where they
// are the same and otherwise a text that names the first missing and surplus lines.
func Diff(got, want []string) string {
	count := make(map[string]int, len(want))
	for _, l := range want {
		count[l]++
	}
	var surplus, missing []string
	for _, l := range got {
		if count[l] > 0 {
			count[l]--
			continue
		}
		surplus = append(surplus, l)
	}
	for l, n := range count {
		for range n {
			missing = append(missing, l)
		}
	}
	if len(surplus)+len(missing) == 0 {
		return ""
	}
	sort.Strings(surplus)
	sort.Strings(missing)
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows, want %d; %d missing, %d surplus", len(got), len(want), len(missing), len(surplus))
	show(&b, "missing", missing)
	show(&b, "surplus", surplus)
	return b.String()
}

func show(b *strings.Builder, what string, lines []string) {
	for i, l := range lines {
		if i == shownLines {
			fmt.Fprintf(b, "\n  … and %d more %s", len(lines)-i, what)
			return
		}
		fmt.Fprintf(b, "\n  %s %s", what, l)
	}
}
