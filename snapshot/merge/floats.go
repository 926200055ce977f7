package merge

import (
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// floatWidening widens floats to doubles by value instead of by their decimal text: 0.1 becomes 0.10000000149011612.
//
// The releases before 1.1 read a log block by Avro's own schema resolution, which does so, unless some column needs a conversion that Avro does not
// know; then, as everywhere else, they go by the text (golden table widened_columns).
type floatWidening struct {
	leaves []int // of the target schema
}

// plainFloats plans reading from under to in Avro's way. It returns the schema to decode under: to, with floats left as they are.
func plainFloats(from, to *schema.Schema) (*schema.Schema, floatWidening, error) {
	var w floatWidening
	p, err := schema.Project(to, from)
	if err != nil {
		return nil, w, err
	}
	for i, l := range p.Leaves {
		switch l.Convert {
		case schema.FloatToDouble:
			w.leaves = append(w.leaves, i)
		case schema.ToString, schema.StringToDate, schema.Rescale, schema.MillisToMicros, schema.MicrosToMillis:
			return to, floatWidening{}, nil
		}
	}
	if len(w.leaves) == 0 {
		return to, w, nil
	}
	next, leaf := 0, 0
	root := narrowFloats(to.Root(), &leaf, &next, w.leaves)
	out, err := schema.New(root)
	return out, w, err
}

// narrowFloats returns t with the primitive leaves of the given numbers turned into floats. leaf counts leaves, next the given ones.
func narrowFloats(t *schema.Type, leaf, next *int, leaves []int) *schema.Type {
	out := *t
	switch t.Kind {
	case schema.Record:
		out.Fields = append([]schema.Field(nil), t.Fields...)
		for i := range out.Fields {
			f := &out.Fields[i]
			was := f.Type
			if f.Type = narrowFloats(f.Type, leaf, next, leaves); f.Type.Kind == schema.Float && was.Kind == schema.Double && f.Default != nil {
				f.HasDefault, f.Default = false, nil // the column is there, so no default is asked for
			}
		}
	case schema.Array, schema.Map:
		if t.Kind == schema.Map {
			*leaf++ // its key
		}
		out.Elem = narrowFloats(t.Elem, leaf, next, leaves)
	case schema.Union:
		*leaf += t.NumLeaves()
	default:
		if *next < len(leaves) && leaves[*next] == *leaf {
			out.Kind, out.Logical = schema.Float, schema.NoLogical
			*next++
		}
		*leaf++
	}
	return &out
}

// widen turns the floats of row into doubles.
func (w *floatWidening) widen(s *schema.Schema, row record.Row) {
	for _, i := range w.leaves {
		l := &s.Leaves()[i]
		from, to := record.Span(row, i)
		for ; from < to; from++ {
			if v := row[from]; !record.IsNull(v, l) {
				row[from] = record.Float64(float64(v.Float())).Level(v.RepetitionLevel(), v.DefinitionLevel(), i)
			}
		}
	}
}
