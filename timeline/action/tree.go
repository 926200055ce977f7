package action

// A body between its bytes and its struct is a tree of nodes: nil, bool, int64, float64, string, []byte, []any for arrays, and *object for
// records and maps. Avro, JSON and the structs each turn into it and back, so that every pair of them agrees.

// object is a record or a map: names with values, in order. The names of a record are shared with its schema.
type object struct {
	names  []string
	values []any
	isMap  bool // its names are data, not fields
}

// get returns the value of name; ok is false where there is none.
func (o *object) get(name string) (any, bool) {
	for i := len(o.names) - 1; i >= 0; i-- {
		if o.names[i] == name {
			return o.values[i], true
		}
	}
	return nil, false
}

func (o *object) add(name string, v any) {
	o.names = append(o.names, name)
	o.values = append(o.values, v)
}
