package ingest

import (
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// goValue is a leaf value in the form that record.Shredder takes.
func goValue(t *schema.Type, v record.Value) any {
	switch t.Kind {
	case schema.Boolean:
		return v.Boolean()
	case schema.Int:
		return v.Int32()
	case schema.Long:
		return v.Int64()
	case schema.Float:
		return v.Float()
	case schema.Double:
		return v.Double()
	case schema.String, schema.Enum:
		return string(v.ByteArray())
	}
	if t.Logical == schema.Decimal {
		return record.DecimalOf(v.ByteArray(), t.Scale)
	}
	return v.ByteArray()
}
