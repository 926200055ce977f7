package ingest

import (
	"io/fs"
	"sort"
	"strings"
	"time"
)

// node is one name below an ingest directory, or the bytes of a drop whose name is gone. Guarded by Queue.mu.
type node struct {
	entry
	parent   *node
	children map[string]*node // of a directory
	tries    int              // of the present seal that failed
	handles  int              // open handles; bytes stay for as long as there are any
	writers  int
	sealing  bool
	keep     bool          // a rename waits for it: a rejected drop keeps its bytes for its old name
	seal     stamp         // of the bytes when they were sealed
	done     chan struct{} // closed when the outcome of the seal is known
	err      error         // that outcome
	dead     bool          // forgotten by the spool; bytes go with the last handle
	later    time.Time     // when a name that looks temporary is sealed
}

// stamp tells whether a file's bytes changed.
type stamp struct {
	size  int64
	mtime int64 // nanoseconds
}

// path is the node's path relative to its operation's directory.
func (n *node) path() string {
	if n.parent == nil {
		return ""
	}
	if p := n.parent.path(); p != "" {
		return p + "/" + n.Name
	}
	return n.Name
}

// attached reports whether the node has a place in the tree.
func (n *node) attached() bool { return n.parent == nil || n.parent.children[n.Name] == n }

func (n *node) attach(parent *node, name string) {
	n.parent, n.Name, n.Parent = parent, name, parent.ID
	parent.children[name] = n
}

func (n *node) detach() {
	if n.parent != nil && n.parent.children[n.Name] == n {
		delete(n.parent.children, n.Name)
	}
}

// find walks from a top directory.
func (n *node) find(p string) (*node, error) {
	if p == "" {
		return n, nil
	}
	for e := range strings.SplitSeq(p, "/") {
		if !n.Dir {
			return nil, refuse(refusedNotDir, "%s is not a directory", n.path())
		}
		c := n.children[e]
		if c == nil {
			return nil, &fs.PathError{Op: "find", Path: p, Err: fs.ErrNotExist}
		}
		n = c
	}
	return n, nil
}

// list returns the children by name.
func (n *node) list() []*node {
	out := make([]*node, 0, len(n.children))
	for _, c := range n.children {
		out = append(out, c)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// drops returns the files below a directory, in the order of their paths.
func (n *node) drops() []*node {
	if !n.Dir {
		return []*node{n}
	}
	var out []*node
	for _, c := range n.list() {
		out = append(out, c.drops()...)
	}
	return out
}
