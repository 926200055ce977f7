package commitwatch

import "github.com/hudifs/hudifs/timeline"

// subscriber is one receiver of events. Its channel holds at most one event; when the receiver is slow, the event that waits is
// replaced by one that covers both.
type subscriber struct {
	ch   chan Event
	seen *timeline.Timeline // what the receiver knows once it has taken the event that waits
}

// Subscribe returns a channel of changes from now on and a function that ends the subscription and closes the channel. The first
// event of a watcher that has looked before says everything that is there.
func (w *Watcher) Subscribe() (<-chan Event, func()) {
	s := &subscriber{ch: make(chan Event, 1)}
	w.subs.Lock()
	defer w.subs.Unlock()
	w.subs.list = append(w.subs.list, s)
	if tl := w.current.Load(); tl != nil {
		s.offer(tl)
	}
	return s.ch, func() { w.unsubscribe(s) }
}

func (w *Watcher) unsubscribe(s *subscriber) {
	w.subs.Lock()
	defer w.subs.Unlock()
	for i, x := range w.subs.list {
		if x == s {
			w.subs.list = append(w.subs.list[:i:i], w.subs.list[i+1:]...)
			close(s.ch)
			return
		}
	}
}

// publish makes tl current and tells the subscribers. Only the holder of the turn calls it.
func (w *Watcher) publish(tl *timeline.Timeline) {
	w.subs.Lock()
	defer w.subs.Unlock()
	w.current.Store(tl)
	for _, s := range w.subs.list {
		s.offer(tl)
	}
}

// offer needs the lock of the list: only senders take events back.
func (s *subscriber) offer(tl *timeline.Timeline) {
	base := s.seen
	select {
	case e := <-s.ch:
		base = e.base
	default:
	}
	e := diff(base, tl)
	s.seen = tl
	if !e.empty() {
		s.ch <- e
	}
}
