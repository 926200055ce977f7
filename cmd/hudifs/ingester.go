package main

import (
	"context"
	"os"

	"github.com/hudifs/hudifs/fusefs"
	"github.com/hudifs/hudifs/writer/ingest"
)

// ingester shows an ingest directory to the mount: the two packages don't know each other.
type ingester struct {
	*ingest.Dir
	q *ingest.Queue
}

var _ fusefs.Ingester = ingester{}

var dropStates = map[ingest.State]fusefs.DropState{
	ingest.Writing: fusefs.DropWriting, ingest.Sealed: fusefs.DropSealed, ingest.Committing: fusefs.DropCommitting,
	ingest.Committed: fusefs.DropCommitted, ingest.Abandoned: fusefs.DropAbandoned,
}

func dropInfo(i ingest.Info) fusefs.DropInfo {
	return fusefs.DropInfo{ID: i.ID, Name: i.Name, Dir: i.Dir, State: dropStates[i.State], Size: i.Size, ModTime: i.ModTime, Mode: i.Mode, UID: i.UID, GID: i.GID}
}

func process(w fusefs.Writer) ingest.Process {
	return ingest.Process{UID: w.UID, GID: w.GID, PID: w.PID}
}

func (g ingester) Stat(ctx context.Context, path string) (fusefs.DropInfo, error) {
	i, err := g.Dir.Stat(ctx, path)
	return dropInfo(i), err
}

func (g ingester) StatID(ctx context.Context, id uint64) (fusefs.DropInfo, error) {
	i, err := g.Dir.StatID(ctx, id)
	return dropInfo(i), err
}

func (g ingester) List(ctx context.Context, dir string) ([]fusefs.DropInfo, error) {
	all, err := g.Dir.List(ctx, dir)
	out := make([]fusefs.DropInfo, len(all))
	for i := range all {
		out[i] = dropInfo(all[i])
	}
	return out, err
}

func (g ingester) Create(ctx context.Context, path string, o fusefs.CreateOptions) (fusefs.Drop, error) {
	return handle(g.Dir.Create(ctx, path, o.Mode, process(o.Writer)))
}

func (g ingester) Open(ctx context.Context, id uint64, o fusefs.OpenOptions) (fusefs.Drop, error) {
	return handle(g.Dir.Open(ctx, id, ingest.OpenMode{Write: o.Write, Truncate: o.Truncate, Append: o.Append}, process(o.Writer)))
}

func (g ingester) Mkdir(ctx context.Context, path string, o fusefs.CreateOptions) (fusefs.DropInfo, error) {
	i, err := g.Dir.Mkdir(ctx, path, o.Mode, process(o.Writer))
	return dropInfo(i), err
}

func (g ingester) Rename(ctx context.Context, from, to string, mode fusefs.RenameMode) error {
	return g.Dir.Rename(ctx, from, to, mode == fusefs.RenameReplace)
}

func (g ingester) SetAttr(ctx context.Context, id uint64, c fusefs.AttrChange) error {
	return g.Dir.SetAttr(ctx, id, ingest.AttrChange{Mode: c.Mode, UID: c.UID, GID: c.GID, ModTime: c.ModTime})
}

func (g ingester) Rejected() fusefs.Rejected { return rejected{g.q.Rejected()} }

// drop is an open drop as the mount sees it.
type drop struct{ *ingest.Drop }

func handle(d *ingest.Drop, err error) (fusefs.Drop, error) {
	if err != nil {
		return nil, err
	}
	return drop{d}, nil
}

func (d drop) Info() fusefs.DropInfo { return dropInfo(d.Drop.Info()) }

type rejected struct{ *ingest.Rejected }

func (r rejected) List(ctx context.Context) ([]fusefs.RejectedFile, error) {
	all, err := r.Rejected.List(ctx)
	out := make([]fusefs.RejectedFile, len(all))
	for i, f := range all {
		out[i] = fusefs.RejectedFile{ID: f.ID, Name: f.Name, Size: f.Size, ModTime: f.ModTime}
	}
	return out, err
}

func (r rejected) Open(ctx context.Context, name string) (*os.File, error) {
	return r.Rejected.Open(ctx, name)
}
