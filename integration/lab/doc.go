// Package lab is the laboratory of other engines: golden tables that Spark with Apache Hudi wrote, with the rows it read of
// them, and the same engines running as judges of tables that hudifs wrote.
//
// Golden tables (golden.go) and the canonical spelling of rows (canon.go) need nothing but this repository. Judges
// (lab.go) need Java and what the command `integration/lab/setup` installs in a cache folder outside the checkout; Start
// says what is missing. How all of it is run, and what was seen of each engine, is in docs/interop.md.
//
// The package knows files, rows as text, and processes. It must never know the engine under test: callers read with it
// and compare here.
package lab
