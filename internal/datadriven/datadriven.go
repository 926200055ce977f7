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
// Output that has blank lines in it is written between two lines of "----" and ends with two more. With the flag -rewrite
// the files are rewritten with the output that the code gives now; read the difference before you keep it.
package datadriven

import "testing"

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

// Run runs every case of the file at path; f returns the output.
func Run(t *testing.T, path string, f func(t *testing.T, c *Case) string) { panic("being written") }

// Walk runs do on every file below dir, each as a subtest.
func Walk(t *testing.T, dir string, do func(t *testing.T, path string)) { panic("being written") }
