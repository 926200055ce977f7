package lab

import (
	"context"
	"encoding/json"
)

// EngineInstant is one instant of an active timeline as the engine's own meta client sees it.
type EngineInstant struct {
	Instant   string `json:"instant"`
	Action    string `json:"action"`
	State     string `json:"state"`     // "REQUESTED", "INFLIGHT", "COMPLETED"
	Completed string `json:"completed"` // "" where not completed
}

// Options are Hudi options by their full names.
type Options map[string]string

// NewTable says how Create makes a table.
type NewTable struct {
	Path      string
	Schema    string   // Spark's DDL: "id string, ts bigint"
	Operation string   // of the first write: "insert", "upsert", "bulk_insert"
	Rows      []string // canonical lines
	Options   Options  // keys, partitions, table type, table version …
}

// The words that Compact and Cluster take.
const (
	Schedule           = "schedule"
	Execute            = "execute"
	ScheduleAndExecute = "scheduleAndExecute"
)

func (s *Session) lines(ctx context.Context, do string, args map[string]any) ([]string, error) {
	var r struct{ Lines []string }
	if err := s.ask(ctx, do, args, &r); err != nil {
		return nil, err
	}
	return r.Lines, nil
}

// Rows returns the rows that Spark reads, as sorted canonical lines; at "" is the latest.
func (s *Session) Rows(ctx context.Context, table, at string) ([]string, error) {
	return s.lines(ctx, "rows", map[string]any{"table": table, "at": orNil(at)})
}

// ReadOptimized returns the rows of the base files alone.
func (s *Session) ReadOptimized(ctx context.Context, table string) ([]string, error) {
	return s.lines(ctx, "rows", map[string]any{"table": table, "query": "read_optimized"})
}

// Incremental returns the rows changed in (begin, end]: completion times from bundle 1.0 on, requested times before.
func (s *Session) Incremental(ctx context.Context, table, begin, end string) ([]string, error) {
	return s.lines(ctx, "incremental", map[string]any{"table": table, "begin": begin, "end": end})
}

// CDC returns the change data of (begin, end], spelt as GoldenTable.Window tells.
func (s *Session) CDC(ctx context.Context, table, begin, end string) ([]string, error) {
	return s.lines(ctx, "cdc", map[string]any{"table": table, "begin": begin, "end": end})
}

// HudiRS returns the rows that hudi-rs reads.
func (s *Session) HudiRS(ctx context.Context, table, at string) ([]string, error) {
	return s.lines(ctx, "hudirs_rows", map[string]any{"table": table, "at": orNil(at)})
}

// HudiRSWrite writes rows with the hudi-rs program that writes, where it is built (see HudiRSWriter), and returns the
// completed instant, "" where nothing was to be done. The operation is "upsert", "append", "delete" or "compact"; rows hold
// scalars only, and of deletes the members key and partition.
func (s *Session) HudiRSWrite(ctx context.Context, table, operation string, rows []string) (string, error) {
	var r struct{ Instant string }
	err := s.ask(ctx, "hudirs_write", map[string]any{"table": table, "operation": operation, "rows": raw(rows)}, &r)
	return r.Instant, err
}

// PyArrow returns the rows of Parquet files as pyarrow reads each by itself.
func (s *Session) PyArrow(ctx context.Context, files []string) ([]string, error) {
	return s.lines(ctx, "parquet_rows", map[string]any{"files": files, "reader": "pyarrow"})
}

// DuckDB returns the rows of Parquet files as duckdb reads each by itself.
func (s *Session) DuckDB(ctx context.Context, files []string) ([]string, error) {
	return s.lines(ctx, "parquet_rows", map[string]any{"files": files, "reader": "duckdb"})
}

// Timeline returns the active timeline as the engine's meta client lists it.
func (s *Session) Timeline(ctx context.Context, table string) ([]EngineInstant, error) {
	var r struct{ Instants []EngineInstant }
	err := s.ask(ctx, "timeline", map[string]any{"table": table}, &r)
	return r.Instants, err
}

// Create makes a table and returns when its first write is completed.
func (s *Session) Create(ctx context.Context, t NewTable) error {
	var r struct{}
	return s.ask(ctx, "create", map[string]any{
		"table": t.Path, "schema": t.Schema, "operation": t.Operation, "rows": raw(t.Rows), "options": t.Options,
	}, &r)
}

// Write writes rows, canonical lines whose lacking fields are null, into an existing table with the table's own schema and
// keys, and returns the instants that are new on the timeline. Options are added to those that follow from
// hoodie.properties; what is not in there (timestamp formats of version 6, bucket counts) must be given.
func (s *Session) Write(ctx context.Context, table, operation string, rows []string, o Options) ([]string, error) {
	var r struct{ Instants []string }
	err := s.ask(ctx, "write", map[string]any{"table": table, "operation": operation, "rows": raw(rows), "options": o}, &r)
	return r.Instants, err
}

// Upsert writes rows by key.
func (s *Session) Upsert(ctx context.Context, table string, rows []string) ([]string, error) {
	return s.Write(ctx, table, "upsert", rows, nil)
}

// Insert writes new rows.
func (s *Session) Insert(ctx context.Context, table string, rows []string) ([]string, error) {
	return s.Write(ctx, table, "insert", rows, nil)
}

// Delete removes the keys of rows; their ordering values count.
func (s *Session) Delete(ctx context.Context, table string, rows []string) ([]string, error) {
	return s.Write(ctx, table, "delete", rows, nil)
}

// DeletePartition removes whole partitions, given as paths.
func (s *Session) DeletePartition(ctx context.Context, table string, partitions []string) ([]string, error) {
	var r struct{ Instants []string }
	err := s.ask(ctx, "delete_partition", map[string]any{"table": table, "partitions": partitions}, &r)
	return r.Instants, err
}

func (s *Session) texts(ctx context.Context, do string, args map[string]any) ([]map[string]string, error) {
	var r struct{ Rows []map[string]string }
	err := s.ask(ctx, do, args, &r)
	return r.Rows, err
}

// Call runs a procedure or other SQL and returns its rows as texts.
func (s *Session) Call(ctx context.Context, statement string) ([]map[string]string, error) {
	return s.texts(ctx, "call", map[string]any{"statement": statement})
}

// Compact plans and runs compaction: Schedule, Execute or ScheduleAndExecute.
func (s *Session) Compact(ctx context.Context, table, op string) error {
	_, err := s.texts(ctx, "compact", map[string]any{"table": table, "op": op})
	return err
}

// Cluster plans and runs clustering: Schedule, Execute or ScheduleAndExecute.
func (s *Session) Cluster(ctx context.Context, table, op string) error {
	_, err := s.texts(ctx, "cluster", map[string]any{"table": table, "op": op})
	return err
}

// Clean removes file versions that the newest retained commits do not need.
func (s *Session) Clean(ctx context.Context, table string, retained int) error {
	_, err := s.texts(ctx, "clean", map[string]any{"table": table, "retained": retained})
	return err
}

// Savepoint keeps a completed commit from being cleaned.
func (s *Session) Savepoint(ctx context.Context, table, instant string) error {
	_, err := s.texts(ctx, "savepoint", map[string]any{"table": table, "instant": instant})
	return err
}

// Restore takes the table back to a savepoint.
func (s *Session) Restore(ctx context.Context, table, instant string) error {
	_, err := s.texts(ctx, "restore", map[string]any{"table": table, "instant": instant})
	return err
}

// Rollback takes back the last commit.
func (s *Session) Rollback(ctx context.Context, table, instant string) error {
	_, err := s.texts(ctx, "rollback", map[string]any{"table": table, "instant": instant})
	return err
}

// ShowCommits lists the commits as the procedure show_commits does.
func (s *Session) ShowCommits(ctx context.Context, table string) ([]map[string]string, error) {
	return s.texts(ctx, "show_commits", map[string]any{"table": table})
}

// ValidateMetadata compares the metadata table's file listing with the files; its rows name each file and whether both have it.
func (s *Session) ValidateMetadata(ctx context.Context, table string) ([]map[string]string, error) {
	return s.texts(ctx, "validate_metadata", map[string]any{"table": table})
}

func raw(lines []string) []json.RawMessage {
	out := make([]json.RawMessage, len(lines))
	for i, l := range lines {
		out[i] = json.RawMessage(l)
	}
	return out
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
