package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
)

// schemaFolder holds the histories of schema-on-read evolution (timeline.md §4.13, data.md §12.4).
const schemaFolder = ".hoodie/.schema/"

// evolution is the history of a table's columns where schema-on-read evolution is in use: columns have ids that stay through renames. It is
// immutable.
type evolution struct {
	versions []schemaVersion  // oldest first; the first is from before the first ALTER TABLE
	names    map[int][]string // all names that an id ever had, oldest first
}

// schemaVersion is the columns from one commit on.
type schemaVersion struct {
	from timeline.InstantTime // "0": the beginning
	root []idColumn
}

// idColumn is a column, or a field of a record inside one.
type idColumn struct {
	id   int
	name string
	sub  []idColumn // of the record in it, also below arrays and maps
}

// evolutionOnce reads the history once per state.
type evolutionOnce struct {
	mu   sync.Mutex
	done *evolution
}

// evolution returns the table's column history.
func (s *state) evolution(ctx context.Context) (*evolution, error) {
	s.columns.mu.Lock()
	defer s.columns.mu.Unlock()
	if s.columns.done != nil {
		return s.columns.done, nil
	}
	e, err := s.readEvolution(ctx)
	if err != nil {
		return nil, err
	}
	s.columns.done = e
	return e, nil
}

// readEvolution reads the newest history whose commit has completed: each file holds all that came before.
func (s *state) readEvolution(ctx context.Context) (*evolution, error) {
	var newest timeline.Instant
	for f, err := range s.table.st.List(ctx, schemaFolder, storage.ListOptions{}) {
		if err != nil {
			return nil, fmt.Errorf("list the schema history: %w", err)
		}
		_, name := splitPath(f.Path)
		i, err := timeline.ParseFileName(s.cfg.Layout, name)
		if err != nil || i.Action != timeline.SchemaCommit || i.State != timeline.Completed || i.Time.Compare(newest.Time) < 0 {
			continue
		}
		if _, ok := s.done[i.Time]; ok {
			newest = i
		}
	}
	if newest.Time == "" {
		return nil, fmt.Errorf("columns are known by ids (schema-on-read evolution), but %s has no history of a completed commit: %w", schemaFolder, tableconfig.ErrUnsupported)
	}
	path := schemaFolder + newest.File
	data, err := s.table.st.ReadAll(ctx, path)
	if err != nil {
		return nil, err
	}
	return parseEvolution(path, data)
}

func parseEvolution(path string, data []byte) (*evolution, error) {
	var in struct{ Schemas []json.RawMessage }
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, corrupt.At(path, -1, "schema history: %w", err)
	}
	e := &evolution{names: map[int][]string{}}
	for _, raw := range slices.Backward(in.Schemas) { // newest first in the file
		var v struct {
			Version json.Number `json:"version_id"`
		}
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, corrupt.At(path, -1, "schema history: %w", err)
		}
		root, err := parseColumns(raw, 0)
		if err != nil {
			return nil, corrupt.At(path, -1, "schema of version %s: %w", v.Version, err)
		}
		e.versions = append(e.versions, schemaVersion{timeline.InstantTime(v.Version), root})
		e.note(root)
	}
	if len(e.versions) == 0 {
		return nil, corrupt.At(path, -1, "schema history: it holds no schema")
	}
	slices.SortStableFunc(e.versions, func(a, b schemaVersion) int { return a.from.Compare(b.from) })
	return e, nil
}

// maxDepth bounds nested types.
const maxDepth = 64

// parseColumns returns the fields of the record that a type is or holds, none where there is no record.
func parseColumns(raw json.RawMessage, depth int) ([]idColumn, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, nil // a primitive type is a string
	}
	if depth > maxDepth {
		return nil, errors.New("types are nested too deeply")
	}
	var t struct {
		Fields []struct {
			ID   int
			Name string
			Type json.RawMessage
		}
		Element, Value json.RawMessage
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, err
	}
	if t.Element != nil {
		return parseColumns(t.Element, depth+1)
	}
	if t.Value != nil {
		return parseColumns(t.Value, depth+1)
	}
	out := make([]idColumn, len(t.Fields))
	for i, f := range t.Fields {
		sub, err := parseColumns(f.Type, depth+1)
		if err != nil {
			return nil, err
		}
		out[i] = idColumn{f.ID, f.Name, sub}
	}
	return out, nil
}

// note remembers the names of all ids.
func (e *evolution) note(list []idColumn) {
	for _, c := range list {
		if !slices.Contains(e.names[c.id], c.name) {
			e.names[c.id] = append(e.names[c.id], c.name)
		}
		e.note(c.sub)
	}
}

// at returns the columns in force for what holds accepts: the newest version whose commit it accepts.
func (e *evolution) at(holds func(timeline.InstantTime) bool) *schemaVersion {
	for i := len(e.versions) - 1; i > 0; i-- {
		if holds(e.versions[i].from) {
			return &e.versions[i]
		}
	}
	return &e.versions[0]
}

// of returns the columns that the write of an instant used (data.md §12.4).
func (e *evolution) of(t timeline.InstantTime) *schemaVersion {
	return e.at(func(v timeline.InstantTime) bool { return v.Compare(t) <= 0 })
}

// aliased returns the record type with every former name of each column as an alias, which is how files of older versions are read.
func (e *evolution) aliased(t *schema.Type, columns []idColumn) *schema.Type {
	out := *t
	if t.Elem != nil {
		out.Elem = e.aliased(t.Elem, columns)
		return &out
	}
	if t.Kind != schema.Record {
		return t
	}
	out.Fields = slices.Clone(t.Fields)
	for i := range out.Fields {
		f := &out.Fields[i]
		k := slices.IndexFunc(columns, func(c idColumn) bool { return c.name == f.Name })
		if k < 0 {
			continue
		}
		f.Type = e.aliased(f.Type, columns[k].sub)
		f.Aliases = nil
		for _, name := range e.names[columns[k].id] {
			if name != f.Name {
				f.Aliases = append(f.Aliases, name)
			}
		}
	}
	return &out
}

// mixedUp names a column of to that, looked up by its names in from, would be found in another column: a dropped column's name was used
// again.
func (e *evolution) mixedUp(to, from []idColumn) string {
	for _, c := range to {
		for _, name := range slices.Concat([]string{c.name}, e.names[c.id]) {
			k := slices.IndexFunc(from, func(f idColumn) bool { return f.name == name })
			if k < 0 {
				continue
			}
			if from[k].id != c.id {
				return c.name
			}
			if sub := e.mixedUp(c.sub, from[k].sub); sub != "" {
				return c.name + "." + sub
			}
			break
		}
	}
	return ""
}

// aliasedSchema is sc, the schema of the snapshot's newest commit, with former names where columns have ids.
func (s *Snapshot) aliasedSchema(ctx context.Context, sc *schema.Schema) (*schema.Schema, error) {
	if !s.evolved() {
		return sc, nil
	}
	e, err := s.state.evolution(ctx)
	if err != nil {
		return nil, err
	}
	v := e.at(s.holds)
	key := strings.Join([]string{"ids", string(v.from), string(e.versions[len(e.versions)-1].from), sc.String()}, "\x00")
	c := &s.state.table.schemas
	c.mu.Lock()
	defer c.mu.Unlock()
	if have := c.parsed[key]; have != nil {
		return have, nil
	}
	out, err := schema.New(e.aliased(sc.Root(), v.root))
	if err != nil {
		return nil, err
	}
	c.parsed[key] = out
	return out, nil
}

// holds reports whether a write belongs to the snapshot's state.
func (s *Snapshot) holds(t timeline.InstantTime) bool {
	_, ok := s.Committed(t)
	return ok
}

// checkColumns fails where a file of the slice was written when a name meant another column than it does in this snapshot.
func (s *Snapshot) checkColumns(ctx context.Context, sl *fsview.FileSlice) error {
	if !s.evolved() {
		return nil
	}
	e, err := s.state.evolution(ctx)
	if err != nil {
		return err
	}
	to := e.at(s.holds)
	var written []timeline.InstantTime
	if sl.File != nil {
		written = append(written, sl.File.Instant)
	}
	for i := range sl.Logs {
		written = append(append(written, sl.Logs[i].Instant), s.state.writers[sl.Logs[i].Path]...)
	}
	for _, t := range written {
		from := e.of(t)
		if from == to {
			continue
		}
		if name := e.mixedUp(to.root, from.root); name != "" {
			return fmt.Errorf("a file of commit %s is older than column %q, whose name belonged to a dropped column then: %w", t, name, tableconfig.ErrUnsupported)
		}
	}
	return nil
}
