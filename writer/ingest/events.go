package ingest

import (
	"encoding/json"
	"os"
	"sync"
	"time"
)

// eventLog is what happened to drops, one JSON object a line: the file .hudifs/ingest.log. It is kept within two files of eventBytes.
type eventLog struct {
	path string
	mu   sync.Mutex
	f    *os.File
	size int64
}

const eventBytes = 8 << 20

type event struct {
	Time   time.Time `json:"time"`
	Event  string    `json:"event"`
	Drop   string    `json:"drop"`
	Op     string    `json:"operation"`
	Size   int64     `json:"size"`
	Key    string    `json:"key,omitempty"`
	UID    uint32    `json:"uid"`
	PID    uint32    `json:"pid,omitempty"`
	Detail string    `json:"detail,omitempty"`
}

// add appends an event. A log that can't be written loses lines, never drops.
func (l *eventLog) add(what string, n *node, detail string) {
	p := n.Path
	if p == "" {
		p = n.path()
	}
	line, err := json.Marshal(event{time.Now().UTC(), what, p, n.Operation, n.Size, n.Key, n.UID, n.PID, detail})
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil || l.size > eventBytes {
		if l.f != nil {
			l.f.Close()
			os.Rename(l.path, l.path+".1")
		}
		if l.f, err = os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
			l.f = nil
			return
		}
		if st, err := l.f.Stat(); err == nil {
			l.size = st.Size()
		}
	}
	k, _ := l.f.Write(append(line, '\n'))
	l.size += int64(k)
}

func (l *eventLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}

// LogPath is the local file that holds the events.
func (q *Queue) LogPath() string { return q.events.path }
