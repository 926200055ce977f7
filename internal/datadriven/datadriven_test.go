package datadriven

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const sample = `# a comment

echo a=1 b=(x, y) c="p q" bare d=() e=
one
two
----
one
two

# blank lines inside
lines n=3
----
----
1

2

3
----
----

nothing
----
`

func eval(c *Case) string {
	switch c.Cmd {
	case "echo":
		return c.Input + "\n"
	case "lines":
		var n int
		fmt.Sscan(c.Arg("n", "0"), &n)
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprint(i+1))
		}
		return strings.Join(parts, "\n\n") + "\n"
	}
	return ""
}

func TestParse(t *testing.T) {
	var cases []*Case
	out, err := run("f", []byte(sample), func(c *Case, want string) string {
		cases = append(cases, c)
		if got := eval(c); got != want {
			t.Errorf("%s: the file wants %q, want %q", c.Pos, want, got)
		}
		return want
	})
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != sample {
		t.Errorf("rewritten with the same outputs the file is\n%s\nwant\n%s", out, sample)
	}
	if len(cases) != 3 {
		t.Fatalf("%d cases, want 3", len(cases))
	}
	c := cases[0]
	want := []Arg{{"a", []string{"1"}}, {"b", []string{"x", "y"}}, {"c", []string{"p q"}}, {Key: "bare"}, {"d", []string{}}, {"e", []string{""}}}
	if c.Pos != "f:3" || c.Cmd != "echo" || !reflect.DeepEqual(c.Args, want) || c.Input != "one\ntwo" {
		t.Errorf("case = %+v, want args %+v", c, want)
	}
	if c.Arg("b", "") != "x" || c.Arg("z", "def") != "def" || !c.Has("bare") || c.Has("z") {
		t.Errorf("Arg and Has do not find what is there")
	}
	if cases[1].Pos != "f:11" || cases[2].Pos != "f:22" {
		t.Errorf("positions %s, %s; want f:11, f:22", cases[1].Pos, cases[2].Pos)
	}
}

func TestRewrite(t *testing.T) {
	stale := strings.NewReplacer("one\ntwo\n\n", "old\n\n", "1\n\n2\n\n3\n", "x\n").Replace(sample)
	if stale == sample {
		t.Fatal("the sample has nothing to make stale")
	}
	out, err := run("f", []byte(stale), func(c *Case, want string) string { return eval(c) })
	if err != nil || string(out) != sample {
		t.Errorf("rewritten: %v\n%s\nwant\n%s", err, out, sample)
	}
	// Whatever a command gives is read back as it was.
	for _, odd := range []string{"", "\n", "a\n\n", "\n\n", "a\n\nb\n", "-----\n"} {
		file, err := run("f", []byte("cmd\n----\n\ncmd\n----\n"), func(*Case, string) string { return odd })
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		if _, err := run("f", file, func(c *Case, want string) string {
			if n++; want != odd {
				t.Errorf("output %q is read back as %q from\n%s", odd, want, file)
			}
			return want
		}); err != nil || n != 2 {
			t.Errorf("output %q: %d cases, %v", odd, n, err)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, bad := range []string{"----\n", "a\n----\nb\n"} {
		if _, err := run("f", []byte("cmd\n----\n"), func(*Case, string) string { return bad }); err == nil {
			t.Errorf("output %q is taken although it could not be read back", bad)
		}
	}
	for in, want := range map[string]string{
		"cmd\ninput\n":              "f:2: command cmd has no line",
		"cmd a=(x\n----\n":          "f:1: argument a: no closing",
		"cmd a=\"x\n----\n":         "f:1: argument a: the string",
		"\n\na=1\n----\n":           "f:3: the line begins with a=",
		"cmd\n----\n----\nno end\n": "does not end with two",
	} {
		_, err := run("f", []byte(in), func(c *Case, want string) string { return want })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", in, err, want)
		}
	}
}

func TestRunAndWalk(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "sub/b", ".hidden"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(sample), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	Walk(t, dir, func(t *testing.T, path string) {
		Run(t, path, func(t *testing.T, c *Case) string { n++; return strings.TrimSuffix(eval(c), "\n") })
	})
	if n != 6 {
		t.Errorf("%d cases ran, want 6", n)
	}
}
