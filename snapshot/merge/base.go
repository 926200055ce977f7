package merge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unsafe"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// hits finds the base rows that records of g meet, in order of position, and marks those records as used.
func (s *Slice) hits(ctx context.Context, g *group) (hits []hit, err error) {
	if s.in.ByPosition && s.buf.allPositions && s.in.BaseInstant != "" {
		return s.hitsByPosition(g)
	}
	add := func(pos int64, key string) {
		i, ok := g.index[key]
		if !ok {
			return
		}
		e := &g.entries[i]
		// The releases that know no merge modes forget a record once it has met a row: further rows of the same key stay as they are.
		if e.used && !s.in.Config.Features.MergeModeStored {
			return
		}
		e.used = true
		hits = append(hits, hit{pos, i})
	}
	if !s.in.Schema.HasMetaFields() {
		err = s.eachBaseRow(ctx, s.key.schema, func(pos int64, row record.Row) error {
			k, err := s.key.narrow(row)
			if err != nil {
				return fmt.Errorf("row %d of the base file: %w", pos, err)
			}
			add(pos, k.RecordKey)
			return nil
		})
		return hits, err
	}
	err = s.in.Base.Strings(ctx, schema.RecordKeyField, func(pos int64, v []byte, ok bool) error {
		if !ok {
			return fmt.Errorf("row %d of the base file has no %s, so it cannot be merged with the logs", pos, schema.RecordKeyField)
		}
		add(pos, unsafe.String(unsafe.SliceData(v), len(v)))
		return nil
	})
	return hits, err
}

// hitsByPosition takes the rows that the log blocks name.
func (s *Slice) hitsByPosition(g *group) ([]hit, error) {
	hits := make([]hit, 0, len(g.entries))
	for i := range g.entries {
		e := &g.entries[i]
		if e.pos >= s.in.Base.NumRows() {
			return nil, fmt.Errorf("a log block names row %d of a base file of %d rows", e.pos, s.in.Base.NumRows())
		}
		e.used = true
		hits = append(hits, hit{e.pos, int32(i)})
	}
	slices.SortFunc(hits, func(a, b hit) int { return int(a.pos - b.pos) })
	return hits, nil
}

// withOrdering calls fn with each hit and its base row's ordering value.
func (s *Slice) withOrdering(ctx context.Context, hits []hit, fn func(hit, record.Record) error) error {
	var tops []string
	fields := s.orderingFields()
	for _, f := range fields {
		top, _, _ := strings.Cut(f, ".")
		tops = append(tops, top)
	}
	if len(fields) == 0 {
		for _, h := range hits {
			if err := fn(h, record.Record{Position: h.pos}); err != nil {
				return err
			}
		}
		return nil
	}
	narrow := s.in.Schema.Select(tops...)
	reader, err := record.NewOrderingReader(narrow, fields)
	if err != nil {
		return err
	}
	return s.eachHit(ctx, narrow, hits, func(h hit, row record.Row) error {
		return fn(h, record.Record{Ordering: reader.Of(row), Position: h.pos})
	})
}

// orderingFields are the table's ordering fields that the schema has.
func (s *Slice) orderingFields() []string {
	return slices.DeleteFunc(slices.Clone(s.in.Config.OrderingFields), func(f string) bool { return s.in.Schema.LeafOf(f) < 0 })
}

// withRows calls fn with each hit and its base row.
func (s *Slice) withRows(ctx context.Context, hits []hit, fn func(hit, record.Record) error) error {
	return s.eachHit(ctx, s.in.Schema, hits, func(h hit, row record.Row) error {
		base := record.Record{Row: row, Position: h.pos}
		s.merger.Prepare(&base)
		return fn(h, base)
	})
}

// eachHit reads the columns of to and calls fn with the rows of the hits.
func (s *Slice) eachHit(ctx context.Context, to *schema.Schema, hits []hit, fn func(hit, record.Row) error) error {
	next := 0
	err := s.eachBaseRow(ctx, to, func(pos int64, row record.Row) error {
		for next < len(hits) && hits[next].pos == pos {
			if err := fn(hits[next], row); err != nil {
				return err
			}
			next++
		}
		if next == len(hits) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// errEnough ends a scan of base rows early.
var errEnough = errors.New("no more rows are wanted")

// eachBaseRow calls fn with every base row under the schema to until it returns an error. Rows are valid during the call.
func (s *Slice) eachBaseRow(ctx context.Context, to *schema.Schema, fn func(pos int64, row record.Row) error) (err error) {
	rows, err := s.in.Base.Rows(ctx, to)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, rows.Close()) }()
	var batch [512]record.Row
	for pos := int64(0); ; {
		n, err := rows.Read(batch[:])
		for _, row := range batch[:n] {
			if err := fn(pos, row); err != nil {
				return err
			}
			pos++
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
