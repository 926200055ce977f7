package snapshot

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/snapshot/fsview"
	"github.com/hudifs/hudifs/timeline"
)

// ErrNoSchema says that nothing tells the table's schema: it has no commit with one, no create schema and no base file.
var ErrNoSchema = fmt.Errorf("the table has no schema yet: %w", fs.ErrNotExist)

// schemaCache keeps parsed schemas by text, how each pair of them compares, and the schema of files whose commits are archived.
type schemaCache struct {
	mu     sync.Mutex
	parsed map[string]*schema.Schema
	pairs  map[[2]*schema.Schema]shape
	files  map[timeline.InstantTime]*schema.Schema
}

// shape says what it takes to show rows of one schema under another.
type shape uint8

const (
	sameShape  shape = iota
	lacksOnly        // nullable columns are missing: readers that unite by name fill them in
	otherShape       // a reader would be misled: the file must be rewritten
)

func (c *schemaCache) parse(text string) (*schema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.parsed[text]; s != nil {
		return s, nil
	}
	s, err := schema.Parse(text)
	if err != nil {
		return nil, err
	}
	if c.parsed == nil {
		c.parsed = map[string]*schema.Schema{}
	}
	s = s.WithoutMetaFields()
	c.parsed[text] = s
	return s, nil
}

// Schema is the table's schema at this commit, without Hudi's meta columns: that of the newest commit which may have changed it, else of
// any commit, else the one the table was created with, else that of a base file (data.md §12.1). Where columns have ids, former names
// are aliases.
func (s *Snapshot) Schema(ctx context.Context) (*schema.Schema, error) {
	s.mu.Lock()
	sc := s.mu.schema
	s.mu.Unlock()
	if sc != nil {
		return sc, nil
	}
	sc, err := s.storedSchema(ctx)
	if err != nil {
		return nil, err
	}
	if sc, err = s.aliasedSchema(ctx, sc); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.schema = sc
	return sc, nil
}

func (s *Snapshot) storedSchema(ctx context.Context) (*schema.Schema, error) {
	st := s.state
	n := len(st.order)
	if s.commit != nil {
		n = st.pos[s.at] + 1
	}
	var other *string
	for k := n - 1; k >= 0; k-- {
		f := st.facts[st.order[k].Time]
		if f.schema == nil {
			continue
		}
		if f.op.ChangesSchema() {
			return st.parse(st.order[k], *f.schema)
		}
		if other == nil {
			other = f.schema
		}
	}
	switch {
	case other != nil:
		return st.table.schemas.parse(*other)
	case st.cfg.CreateSchema != "":
		sc, err := st.table.schemas.parse(st.cfg.CreateSchema)
		if err != nil {
			return nil, fmt.Errorf("hoodie.table.create.schema: %w", err)
		}
		return sc, nil
	}
	return s.schemaOfFiles(ctx)
}

func (s *state) parse(i timeline.Instant, text string) (*schema.Schema, error) {
	sc, err := s.table.schemas.parse(text)
	if err != nil {
		return nil, fmt.Errorf("schema in commit %s: %w", i.Time, err)
	}
	return sc, nil
}

// schemaOfFiles takes the schema of the first base file.
func (s *Snapshot) schemaOfFiles(ctx context.Context) (*schema.Schema, error) {
	partitions, err := s.view.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range partitions {
		list, err := s.view.LatestBase(ctx, p)
		if err != nil {
			return nil, err
		}
		for i := range list {
			return s.state.footerSchema(ctx, list[i].File)
		}
	}
	return nil, fmt.Errorf("table %s: %w", s.state.cfg.Name, ErrNoSchema)
}

// FileSchema is the schema of the rows that the snapshot's files show: Schema, with the meta columns where the table fills them.
func (s *Snapshot) FileSchema(ctx context.Context) (*schema.Schema, error) {
	sc, err := s.Schema(ctx)
	if err != nil || !s.state.cfg.MetaFields {
		return sc, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.fileSchema == nil {
		s.mu.fileSchema = sc.WithMetaFields()
	}
	return s.mu.fileSchema, nil
}

// reshape reports whether the base file would mislead a reader who takes its rows for rows of the snapshot's schema.
func (s *Snapshot) reshape(ctx context.Context, f *fsview.BaseFile) (bool, error) {
	to, err := s.Schema(ctx)
	if err != nil {
		return false, err
	}
	from, err := s.state.schemaOfFile(ctx, f)
	if err != nil {
		return false, err
	}
	switch s.state.table.schemas.compare(from, to) {
	case sameShape:
		return false, nil
	case lacksOnly:
		return s.state.table.opts.UnifySchema, nil
	}
	return true, nil
}

// evolved reports whether schema-on-read evolution has begun: names alone no longer say which column is which.
func (s *Snapshot) evolved() bool {
	n := len(s.state.order)
	if s.commit != nil {
		n = s.state.pos[s.at] + 1
	}
	for k := n - 1; k >= 0; k-- {
		if f := s.state.facts[s.state.order[k].Time]; f.schema != nil {
			return f.evolved
		}
	}
	return false
}

// schemaOfFile is the schema that a base file was written with: its commit's. Of an archived commit one file's footer is read, which
// speaks for all files of the commit.
func (s *state) schemaOfFile(ctx context.Context, f *fsview.BaseFile) (*schema.Schema, error) {
	if k, ok := s.pos[f.Instant]; ok {
		if text := s.facts[f.Instant].schema; text != nil {
			return s.parse(s.order[k], *text)
		}
	}
	c := &s.table.schemas
	c.mu.Lock()
	sc := c.files[f.Instant]
	c.mu.Unlock()
	if sc != nil {
		return sc, nil
	}
	sc, err := s.footerSchema(ctx, f)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[timeline.InstantTime]*schema.Schema{}
	}
	c.files[f.Instant] = sc
	return sc, nil
}

// footerSchema reads a base file's own schema.
func (s *state) footerSchema(ctx context.Context, f *fsview.BaseFile) (*schema.Schema, error) {
	o, err := s.table.st.Open(ctx, f.Path)
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", f.Path, err)
	}
	defer o.Close()
	pf, err := parquetfile.Open(o, o.Info().Size, f.Path)
	if err != nil {
		return nil, err
	}
	return pf.Schema().WithoutMetaFields(), nil
}

// compare says what it takes to show rows of from under to.
func (c *schemaCache) compare(from, to *schema.Schema) shape {
	if from == to {
		return sameShape
	}
	key := [2]*schema.Schema{from, to}
	c.mu.Lock()
	defer c.mu.Unlock()
	sh, ok := c.pairs[key]
	if !ok {
		sh = compareRecords(from.Root(), to.Root())
		if c.pairs == nil {
			c.pairs = map[[2]*schema.Schema]shape{}
		}
		c.pairs[key] = sh
	}
	return sh
}

// compareRecords compares the columns of two schemas by name. A column less is bearable at the top level only: few readers fill in fields
// inside a struct.
func compareRecords(from, to *schema.Type) shape {
	out := sameShape
	have := map[string]*schema.Type{}
	for i := range from.Fields {
		have[from.Fields[i].Name] = from.Fields[i].Type
	}
	for i := range to.Fields {
		f := &to.Fields[i]
		t, ok := have[f.Name]
		switch {
		case !ok && f.Type.Nullable && f.Default == nil:
			out = lacksOnly
		case !ok || !sameType(t, f.Type):
			return otherShape
		}
		delete(have, f.Name)
	}
	if len(have) > 0 {
		return otherShape // a dropped column would come back
	}
	return out
}

// sameType reports whether the bytes of values mean the same; whether nulls are allowed does not matter.
func sameType(a, b *schema.Type) bool {
	if a.Kind != b.Kind || a.Logical != b.Logical || a.Size != b.Size || a.Precision != b.Precision || a.Scale != b.Scale ||
		len(a.Fields) != len(b.Fields) || len(a.Branches) != len(b.Branches) {
		return false
	}
	if a.Elem != nil && b.Elem != nil && !sameType(a.Elem, b.Elem) {
		return false
	}
	if !slices.EqualFunc(a.Branches, b.Branches, sameType) {
		return false
	}
	types := map[string]*schema.Type{}
	for i := range a.Fields {
		types[a.Fields[i].Name] = a.Fields[i].Type
	}
	for i := range b.Fields {
		t := types[b.Fields[i].Name]
		if t == nil || !sameType(t, b.Fields[i].Type) {
			return false
		}
	}
	return true
}

// mergeKey is what the table's configuration adds to the outcome of a merge.
func (s *state) mergeKey() string {
	c := s.cfg
	h := newHasher("merge")
	h.add(string(c.MergeMode), c.MergeStrategyID, c.PayloadClass, c.LegacyPayload, c.PartialUpdate)
	h.add(c.OrderingFields...)
	h.add(c.RecordKeys...)
	for _, k := range slices.Sorted(maps.Keys(c.MergeProperties)) {
		h.add(k, c.MergeProperties[k])
	}
	return h.key()
}
