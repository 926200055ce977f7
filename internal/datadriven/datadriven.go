// Package datadriven runs tests that are written as text files.
//
// A file is a list of cases, separated by blank lines. A case is a command line, input lines, a line of four dashes, and the
// output that the command must give:
//
//	# a comment
//	command arg key=value key=(v1, v2)
//	input line
//	----
//	output line
//
// Output that has blank lines in it begins with a second line of "----" and ends with two more. Values may be quoted as in Go. With the flag -rewrite
// the files are rewritten with the output that the code gives now; read the difference before you keep it.
package datadriven

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the test files with the output that the code gives now")

const (
	separator = "----"
	doubleEnd = separator + "\n" + separator + "\n"
)

// Case is one command with its input.
type Case struct {
	Pos   string // file:line
	Cmd   string
	Args  []Arg
	Input string // without the final newline
}

// Arg is one argument of a command: a bare word (Vals empty) or key=value(s).
type Arg struct {
	Key  string
	Vals []string
}

// Arg returns the first value of key, or def.
func (c *Case) Arg(key, def string) string {
	for _, a := range c.Args {
		if a.Key == key && len(a.Vals) > 0 {
			return a.Vals[0]
		}
	}
	return def
}

// Has reports whether key is among the arguments.
func (c *Case) Has(key string) bool {
	for _, a := range c.Args {
		if a.Key == key {
			return true
		}
	}
	return false
}

// Run runs every case of the file at path; f returns the output. A missing final newline is added to it.
func Run(t *testing.T, path string, f func(t *testing.T, c *Case) string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := run(path, data, func(c *Case, want string) string {
		got := f(t, c)
		if got != "" && !strings.HasSuffix(got, "\n") {
			got += "\n"
		}
		if got != want && !*rewrite {
			t.Errorf("%s: %s\n%sgives:\n%swant:\n%s", c.Pos, c.Cmd, indent(c.Input), indent(got), indent(want))
		}
		return got
	})
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite && !bytes.Equal(out, data) {
		if err := os.WriteFile(path, out, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Walk runs do on every file below dir, each as a subtest. Files whose names begin with a dot are left out.
func Walk(t *testing.T, dir string, do func(t *testing.T, path string)) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		n++
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		t.Run(filepath.ToSlash(name), func(t *testing.T) { do(t, path) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Fatalf("no test files below %s", dir)
	}
}

func indent(s string) string {
	if s == "" {
		return ""
	}
	return "    " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n    ") + "\n"
}

// run gives each case of a file to do and returns the file with the outputs that do returned.
func run(path string, data []byte, do func(c *Case, want string) string) ([]byte, error) {
	p := &parser{path: path, rest: string(data)}
	for {
		c, want, err := p.next()
		if err != nil {
			return nil, err
		}
		if c == nil {
			return p.out.Bytes(), nil
		}
		got := do(c, want)
		if strings.Contains("\n"+got, "\n"+separator+"\n") {
			return nil, fmt.Errorf("%s: the output has a line %q, which these files cannot hold", c.Pos, separator)
		}
		p.out.WriteString(separator + "\n")
		if needsDouble(got) {
			p.out.WriteString(separator + "\n" + got + doubleEnd)
		} else {
			p.out.WriteString(got)
		}
	}
}

// needsDouble reports whether a blank line would otherwise end the output too early.
func needsDouble(out string) bool {
	return strings.HasPrefix(out, "\n") || strings.Contains(out, "\n\n")
}

type parser struct {
	path string
	rest string
	line int
	out  bytes.Buffer // what was read, without the outputs
}

// take removes one line.
func (p *parser) take() (line string, ok bool) {
	if p.rest == "" {
		return "", false
	}
	p.line++
	line, rest, _ := strings.Cut(p.rest, "\n")
	p.rest = rest
	return line, true
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.path, p.line, fmt.Sprintf(format, args...))
}

// next reads one case with its output; nil at the end of the file.
func (p *parser) next() (*Case, string, error) {
	var c *Case
	for c == nil {
		line, ok := p.take()
		if !ok {
			return nil, "", nil
		}
		p.out.WriteString(line + "\n")
		if s := strings.TrimSpace(line); s == "" || s[0] == '#' {
			continue
		}
		c = &Case{Pos: fmt.Sprintf("%s:%d", p.path, p.line)}
		if err := c.parse(line); err != nil {
			return nil, "", p.errorf("%v", err)
		}
	}
	var input []string
	for {
		line, ok := p.take()
		if !ok {
			return nil, "", p.errorf("command %s has no line %q", c.Cmd, separator)
		}
		if line == separator {
			break
		}
		p.out.WriteString(line + "\n")
		input = append(input, line)
	}
	c.Input = strings.Join(input, "\n")
	want, err := p.output()
	return c, want, err
}

// output reads the output of a case. The blank line that ends it stays.
func (p *parser) output() (string, error) {
	var b strings.Builder
	if rest, ok := strings.CutPrefix(p.rest, separator+"\n"); ok {
		p.rest = rest
		p.line++
		for {
			if rest, ok := strings.CutPrefix(p.rest, doubleEnd); ok {
				p.rest = rest
				p.line += 2
				return b.String(), nil
			}
			line, ok := p.take()
			if !ok {
				return "", p.errorf("output that begins with two lines %q does not end with two", separator)
			}
			b.WriteString(line + "\n")
		}
	}
	for p.rest != "" && !strings.HasPrefix(p.rest, "\n") {
		line, _ := p.take()
		b.WriteString(line + "\n")
	}
	return b.String(), nil
}

// parse reads a command line.
func (c *Case) parse(line string) error {
	for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimLeft(rest, " \t") {
		key, more, err := word(rest, " \t=")
		if err != nil {
			return err
		}
		a := Arg{Key: key}
		if value, ok := strings.CutPrefix(more, "="); ok {
			if a.Vals, more, err = values(value); err != nil {
				return fmt.Errorf("argument %s: %w", key, err)
			}
		}
		if c.Cmd == "" {
			c.Cmd = a.Key
			if a.Vals != nil {
				return fmt.Errorf("the line begins with %s=, not with a command", key)
			}
		} else {
			c.Args = append(c.Args, a)
		}
		rest = more
	}
	return nil
}

// values reads a value or (a, b, …).
func values(s string) (vals []string, rest string, err error) {
	list, ok := strings.CutPrefix(s, "(")
	if !ok {
		v, rest, err := word(s, " \t")
		return []string{v}, rest, err
	}
	vals = []string{}
	for {
		list = strings.TrimLeft(list, " \t,")
		if rest, ok := strings.CutPrefix(list, ")"); ok {
			return vals, rest, nil
		}
		if list == "" {
			return nil, "", fmt.Errorf("no closing parenthesis")
		}
		var v string
		if v, list, err = word(list, " \t,)"); err != nil {
			return nil, "", err
		}
		vals = append(vals, v)
	}
}

// word reads up to one of the bytes of end, or a Go string.
func word(s, end string) (w, rest string, err error) {
	if strings.HasPrefix(s, `"`) {
		q, err := strconv.QuotedPrefix(s)
		if err != nil {
			return "", "", fmt.Errorf("the string %s is not closed", s)
		}
		w, err = strconv.Unquote(q)
		return w, s[len(q):], err
	}
	if i := strings.IndexAny(s, end); i >= 0 {
		return s[:i], s[i:], nil
	}
	return s, "", nil
}
