package storage

// Unwrapper is implemented by stores that wrap another one without changing its paths. A store that changes paths (Sub)
// must not implement it, or a capability found behind it would be called with the wrong paths.
type Unwrapper interface{ Unwrap() Store }

// As finds the capability T of s, looking behind wrapping stores. Always ask through As and never by a type assertion:
// wrappers have the methods of every capability, and Properties says which of them work.
func As[T any](s Store) (T, bool) {
	var zero T
	switch any(&zero).(type) {
	case *Replacer:
		if !s.Properties().ConditionalPut {
			return zero, false
		}
	case *LocalOpener:
		if !s.Properties().Local {
			return zero, false
		}
	}
	for {
		if t, ok := s.(T); ok {
			return t, true
		}
		u, ok := s.(Unwrapper)
		if !ok {
			return zero, false
		}
		s = u.Unwrap()
	}
}
