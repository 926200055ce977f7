// Package storage is the contract between the engine and the place where a table's bytes lie.
//
// It knows objects under one base path, named by slash-separated paths relative to it, and it knows how exactly one of
// several writers can create an object. It must never know what an object means.
package storage

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"time"
)

// ErrExists is returned by PutIfAbsent when the object is already there. It is final: the caller lost.
var ErrExists = errors.New("object already exists")

// ErrAmbiguous is returned when a write may or may not have happened. The caller must read back before it decides.
var ErrAmbiguous = errors.New("outcome of the write is unknown")

// ErrPrecondition is returned by Replacer.PutIfMatch when the object is not the expected version.
var ErrPrecondition = errors.New("object is not the expected version")

// PutMode says what Put does with an object that is already there.
type PutMode uint8

// The modes of Put and Create.
const (
	PutReplace  PutMode = iota // the last writer wins
	PutIfAbsent                // exactly one writer wins, the others get ErrExists
)

// Info describes one object, or, in a listing with a delimiter, one common prefix.
type Info struct {
	Path    string // relative to the base path, no leading slash; a prefix ends in a slash
	Size    int64  // bytes
	ModTime time.Time
	ETag    string // changes whenever the bytes change; may be empty on stores that have none
	Prefix  bool   // a common prefix ("directory"), not an object
}

// ListOptions narrows a listing.
type ListOptions struct {
	Recursive  bool   // all objects below the prefix; otherwise one level, with Prefix entries
	StartAfter string // only paths greater than this one
	NamesOnly  bool   // Size, ModTime and ETag are not wanted and may be zero: several times faster on local disks
}

// Properties says what a store promises.
type Properties struct {
	AtomicPutIfAbsent bool // PutIfAbsent has one winner however many race
	ListAfterWrite    bool // a listing shows every write that returned before it began
	ConditionalPut    bool // implements Replacer
	Local             bool // implements LocalOpener
}

// Store holds objects under one base path. All methods are safe for concurrent use. A missing object is an error that
// matches fs.ErrNotExist. Nothing half-written is ever visible. Paths may hold any byte but NUL; "", ".", ".." and empty
// elements are refused.
type Store interface {
	// Stat describes the object at path.
	Stat(ctx context.Context, path string) (Info, error)
	// Open opens the object for random reads. The bytes read are those of one version.
	Open(ctx context.Context, path string) (Object, error)
	// ReadAll returns the whole object.
	ReadAll(ctx context.Context, path string) ([]byte, error)
	// Put publishes data at path, durably, all or nothing.
	Put(ctx context.Context, path string, data []byte, mode PutMode) (Info, error)
	// Create starts a streamed write that Commit publishes.
	Create(ctx context.Context, path string, mode PutMode) (Writer, error)
	// List yields the entries whose path begins with prefix, in ascending byte order. prefix is "" or ends in a slash; a missing one is an empty listing.
	// An error ends the sequence.
	List(ctx context.Context, prefix string, o ListOptions) iter.Seq2[Info, error]
	// Delete removes the object; a missing one matches fs.ErrNotExist. On local disks directories that become empty may stay.
	Delete(ctx context.Context, path string) error
	Properties() Properties
	// URL names the base path for messages, without credentials.
	URL() string
	Close() error
}

// Object is an open object. ReadAt is safe for concurrent use; it uses the context given to Open.
type Object interface {
	io.ReaderAt
	io.Closer
	Info() Info
}

// Writer is a streamed write. Nothing is visible before Commit returns nil. Exactly one of Commit and Abort ends it; Abort after Commit is a no-op.
type Writer interface {
	io.Writer
	Commit() (Info, error)
	Abort() error
}

// LocalOpener is the capability of a store whose objects are local files, so that a file descriptor can be handed to the kernel.
type LocalOpener interface {
	OpenLocal(ctx context.Context, path string) (*os.File, error)
}

// Replacer is the capability of a store that can replace one exact version of an object.
type Replacer interface {
	PutIfMatch(ctx context.Context, path string, data []byte, etag string) (Info, error)
}
