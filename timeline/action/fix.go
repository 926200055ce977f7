package action

import "reflect"

// fromObject finds out whether the body is a replacecommit's.
func (m *CommitMetadata) fromObject(o *object) error {
	_, m.Replace = o.get("partitionToReplaceFileIds")
	return nil
}

func (m *CommitMetadata) toObject(*object) error { return nil }

// fromObject reads the log fields where they are there. JSON has no type tag: their presence is one (timeline.md §4.3).
func (s *WriteStat) fromObject(o *object) error {
	version, _ := o.get("logVersion")
	files, _ := o.get("logFiles")
	if version == nil && files == nil {
		return nil
	}
	s.Log = &LogStat{}
	return structFrom(reflect.ValueOf(s.Log).Elem(), o)
}

// toObject adds the log fields, and nulls the partition of a planned stat as Java does.
func (s *WriteStat) toObject(o *object) error {
	if s.Path == "" {
		o.set("partitionPath", nil)
	}
	if s.Log == nil {
		return nil
	}
	n, err := structTo(reflect.ValueOf(s.Log).Elem())
	if err != nil {
		return err
	}
	log := n.(*object)
	for i, name := range log.names {
		o.add(name, log.values[i])
	}
	return nil
}

// fromObject reads the class name under either plan's spelling.
func (s *Strategy) fromObject(o *object) error {
	for _, name := range []string{"compactorClassName", "strategyClassName"} {
		if v, _ := o.get(name); v != nil {
			return scalarFrom(reflect.ValueOf(&s.Class).Elem(), v)
		}
	}
	return nil
}

// toObject adds the class name under both spellings: each plan's schema picks its own.
func (s *Strategy) toObject(o *object) error {
	o.add("compactorClassName", s.Class)
	o.add("strategyClassName", s.Class)
	return nil
}

func (o *object) set(name string, v any) {
	for i := range o.names {
		if o.names[i] == name {
			o.values[i] = v
			return
		}
	}
	o.add(name, v)
}
