package history

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hudifs/hudifs/internal/avrocodec"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// StateRecord is one state file of an archived instant, as layout 1 keeps it.
type StateRecord struct {
	Time       timeline.InstantTime
	Action     timeline.Action // of that state's file: a compaction's completed record is a commit
	State      timeline.State
	Transition timeline.InstantTime // when the file was written; "" where unknown
	Body       []byte
}

//go:embed archived.avsc
var archivedSchema []byte

// recordsPerBlock is hoodie.commits.archival.batch: records, so that an instant may be split over two blocks.
const recordsPerBlock = 10

// AppendStates archives instants in a table of layout 1: one new archive log file. records are in order of time, each instant's states
// from requested to completed. The caller holds the table lock, and deletes the instants' files only after AppendStates has returned.
func (h *History) AppendStates(ctx context.Context, records []StateRecord) error {
	if h.cfg.Features.LSMHistory {
		return fmt.Errorf("append to archive: %w", ErrLayout)
	}
	if len(records) == 0 {
		return nil
	}
	content, err := archiveLog(records)
	if err != nil {
		return fmt.Errorf("append to archive %s: %w", h.dir, err)
	}
	files, err := h.archiveFiles(ctx)
	if err != nil {
		return fmt.Errorf("append to archive %s: %w", h.dir, err)
	}
	next := 1
	for _, f := range files {
		if n, err := strconv.Atoi(archiveName.FindStringSubmatch(f.name)[1]); err == nil && n >= next {
			next = n + 1
		}
	}
	path := fmt.Sprintf("%s.commits_.archive.%d_1-0-1", h.dir, next)
	if _, err := h.st.Put(ctx, path, content, storage.PutIfAbsent); err != nil {
		return fmt.Errorf("append to archive: write %s: %w", path, err)
	}
	return nil
}

// archiveLog builds the log file.
func archiveLog(records []StateRecord) ([]byte, error) {
	var text bytes.Buffer
	if err := json.Compact(&text, archivedSchema); err != nil {
		return nil, err
	}
	s, err := schema.Parse(text.String())
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := logfile.NewArchiveWriter(&out)
	enc, sh := avrocodec.NewEncoder(s), record.NewShredder(s)
	var content logfile.AvroContent
	flush := func() error {
		if content.Len() == 0 {
			return nil
		}
		_, err := w.Append(logfile.AvroBlock, logfile.Header{logfile.SchemaText: s.String()}, content.Bytes())
		content.Reset()
		return err
	}
	for _, r := range records {
		fields, err := r.fields(s)
		if err != nil {
			return nil, fmt.Errorf("%s %s %s: %w", r.Time, r.Action, r.State, err)
		}
		row, err := sh.Shred(nil, fields)
		if err == nil {
			err = content.Append(enc, row)
		}
		if err == nil && content.Len() == recordsPerBlock {
			err = flush()
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s %s: %w", r.Time, r.Action, r.State, err)
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// bodyField names the field that holds the body of a state (timeline.md §6.1), "" where it has none.
func (r StateRecord) bodyField() string {
	done := r.State == timeline.Completed
	switch r.Action {
	case timeline.Commit, timeline.DeltaCommit:
		return "hoodieCommitMetadata"
	case timeline.ReplaceCommit:
		switch r.State {
		case timeline.Completed:
			return "hoodieReplaceCommitMetadata"
		case timeline.Inflight:
			return "HoodieInflightReplaceMetadata"
		}
		return "hoodieRequestedReplaceMetadata"
	case timeline.Compaction, timeline.LogCompaction:
		return "hoodieCompactionPlan"
	case timeline.Clean:
		if done {
			return "hoodieCleanMetadata"
		}
		return "hoodieCleanerPlan"
	case timeline.Rollback:
		if done {
			return "hoodieRollbackMetadata"
		}
	case timeline.Savepoint:
		if done {
			return "hoodieSavePointMetadata"
		}
	case timeline.Indexing:
		if done {
			return "hoodieIndexCommitMetadata"
		}
	}
	return ""
}

// fields makes the archive record.
func (r StateRecord) fields(s *schema.Schema) ([]any, error) {
	if err := checkEntry("archive record", Entry{Time: r.Time, Completion: r.Time, Action: r.Action}); err != nil {
		return nil, err
	}
	fields := make([]any, len(s.Root().Fields))
	set := func(name string, v any) error {
		_, i := s.Field(name)
		if i < 0 {
			return errors.New("the archive schema lacks " + name)
		}
		fields[i] = v
		return nil
	}
	err := errors.Join(set("commitTime", string(r.Time)), set("actionType", string(r.Action)), set("actionState", strings.ToUpper(r.State.String())))
	if r.Transition != "" {
		err = errors.Join(err, set("stateTransitionTime", string(r.Transition)))
	}
	name := r.bodyField()
	if err != nil || name == "" {
		return fields, err
	}
	f, _ := s.Field(name)
	body, err := r.archivedBody()
	if err != nil {
		return nil, err
	}
	v, err := action.NestedValue(string(r.Time)+"."+string(r.Action), body, f.Type)
	if err != nil {
		return nil, err
	}
	return fields, set(name, v)
}

// archivedBody is the body as it goes into the archive: Java gives every commit one more extra key, and an empty request an empty commit.
func (r StateRecord) archivedBody() ([]byte, error) {
	if r.bodyField() != "hoodieCommitMetadata" {
		return r.Body, nil
	}
	m, err := action.Decode[action.CommitMetadata](string(r.Time)+"."+string(r.Action), r.Body)
	if err != nil {
		return nil, err
	}
	if m.Operation == "" {
		m.Operation = action.OpUnknown
	}
	if m.Extra == nil {
		m.Extra = map[string]string{}
	}
	m.Extra[rollingStat] = ""
	return action.Encode(2, m)
}
