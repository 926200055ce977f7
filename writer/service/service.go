// Package service holds the table services: each plans, which only reads, and executes a plan, which may be done twice.
//
// It knows which slices are worth rewriting and how. It must never know where rows come from.
package service

import (
	"errors"
	"log/slog"

	"github.com/hudifs/hudifs/internal/parquetfile"
	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/writer/txn"
)

// ErrNothingToDo says that a plan would be empty. It is no failure.
var ErrNothingToDo = errors.New("nothing to do")

// Env is what services work with.
type Env struct {
	Table    *snapshot.Table
	Txn      *txn.Manager
	Write    parquetfile.WriteOptions
	MaxBytes int64 // of a base file; 0: Hudi's default
	Log      *slog.Logger
}
