package history

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/timeline/action"
)

// archiveName is the name of an archive log file; its number orders the files (timeline.md §6.1).
var archiveName = regexp.MustCompile(`^\.commits_\.archive\.([0-9]+)[^/]*$`)

// mergePlanFile exists while small archive files are merged.
const mergePlanFile = "mergeArchivePlan"

// archiveFiles lists the archive log files in order of their numbers, without those of a merge that has not come far enough.
func (h *History) archiveFiles(ctx context.Context) ([]file, error) {
	type numbered struct {
		file
		n int
	}
	var found []numbered
	for info, err := range h.st.List(ctx, h.dir, storage.ListOptions{}) {
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(info.Path, h.dir)
		m := archiveName.FindStringSubmatch(name)
		if info.Prefix || m == nil || strings.HasSuffix(name, ".crc") || strings.HasSuffix(name, ".tmp") {
			continue
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		found = append(found, numbered{file{name, info.Size}, n})
	}
	slices.SortFunc(found, func(a, b numbered) int {
		if a.n != b.n {
			return a.n - b.n
		}
		return strings.Compare(a.name, b.name)
	})
	files := make([]file, len(found))
	for i, f := range found {
		files[i] = f.file
	}
	return h.withoutMerging(ctx, files)
}

// withoutMerging leaves out the result of a merge while all its sources are there: it may be half written. Once a source is gone, it is
// whole, and the sources that are left say nothing new.
func (h *History) withoutMerging(ctx context.Context, files []file) ([]file, error) {
	body, err := h.st.ReadAll(ctx, h.dir+mergePlanFile)
	if errors.Is(err, fs.ErrNotExist) {
		return files, nil
	}
	if err != nil {
		return nil, err
	}
	plan, err := action.Decode[action.MergeArchivePlan](h.dir+mergePlanFile, body)
	if err != nil || plan.Merged == "" {
		return files, nil // the plan itself is half written: nothing was merged yet
	}
	have := func(path string) bool {
		name := path[strings.LastIndexByte(path, '/')+1:]
		return slices.ContainsFunc(files, func(f file) bool { return f.name == name })
	}
	for _, c := range plan.Candidates {
		if !have(c) {
			return files, nil
		}
	}
	merged := plan.Merged[strings.LastIndexByte(plan.Merged, '/')+1:]
	return slices.DeleteFunc(files, func(f file) bool { return f.name == merged }), nil
}

// archiveTimesText is what the index needs of an archived record.
const archiveTimesText = `{"type":"record","name":"HoodieArchivedMetaEntry","namespace":"org.apache.hudi.avro.model","fields":[` +
	`{"name":"commitTime","type":["null","string"],"default":null},` +
	`{"name":"actionType","type":["null","string"],"default":null},` +
	`{"name":"actionState","type":["null","string"],"default":null},` +
	`{"name":"stateTransitionTime","type":["null","string"],"default":null}]}`

// readArchiveTimes reads the completed instants of an archive log file.
func (h *History) readArchiveTimes(ctx context.Context, f file, b *runBuilder) error {
	to, err := schema.Parse(archiveTimesText)
	if err != nil {
		return err
	}
	leaves := to.Leaves()
	damaged, err := h.scanArchive(ctx, f, func(*schema.Schema) *schema.Schema { return to }, func(_ *schema.Schema, r record.Row) error {
		text := func(i int) string {
			v, _ := record.StringAt(r, &leaves[i])
			return strings.Clone(v)
		}
		e := Entry{Time: timeline.InstantTime(text(0)), Completion: timeline.InstantTime(text(3)), Action: timeline.Action(text(1))}
		if !completedState(text(2)) {
			return nil
		}
		if e.Completion == "" {
			e.Completion = e.Time
		}
		if err := checkEntry(h.dir+f.name, e); err != nil {
			return err
		}
		b.add(e.Time, e.Completion, e.Action.Completes())
		return nil
	})
	b.damaged = damaged
	return err
}

// completedState reads actionState; releases before it existed archived completed instants only.
func completedState(s string) bool { return s == "" || strings.EqualFold(s, "COMPLETED") }

// scanArchive calls fn for the records of an archive log file, each under the schema that under makes of its block's. damaged says that
// a block could not be read: a writer died in it.
func (h *History) scanArchive(ctx context.Context, f file, under func(*schema.Schema) *schema.Schema, fn func(*schema.Schema, record.Row) error) (damaged bool, err error) {
	path := h.dir + f.name
	o, err := h.st.Open(ctx, path)
	if err != nil {
		return false, err
	}
	defer o.Close()
	r, err := logfile.OpenArchive(o, o.Info().Size, path)
	if err != nil {
		return false, err
	}
	plans := archivePlans{under: under}
	for b, err := range r.Blocks(ctx) {
		if err != nil {
			return false, err
		}
		if b.Type == logfile.CorruptBlock {
			damaged = true
			continue
		}
		if b.Type != logfile.AvroBlock {
			return false, corrupt.At(path, b.Offset, "a %s block in an archive", b.Type)
		}
		p, err := plans.of(b)
		if err != nil {
			return false, err
		}
		if err := eachRow(ctx, b, p, fn); err != nil {
			return false, err
		}
	}
	return damaged, nil
}

func eachRow(ctx context.Context, b *logfile.Block, p *logfile.Plan, fn func(*schema.Schema, record.Row) error) error {
	rows, err := b.Rows(ctx, p)
	if err != nil {
		return err
	}
	defer rows.Close()
	var row record.Row
	for {
		if row, err = rows.Next(row[:0]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := fn(p.To, row); err != nil {
			return err
		}
	}
}

// archivePlans compiles the plan of a block once for all blocks with the same schema: mostly all of a file.
type archivePlans struct {
	under func(*schema.Schema) *schema.Schema
	text  string
	plan  *logfile.Plan
}

func (a *archivePlans) of(b *logfile.Block) (*logfile.Plan, error) {
	text := b.Header[logfile.SchemaText]
	if a.plan != nil && text == a.text {
		return a.plan, nil
	}
	from, err := b.Schema()
	if err != nil {
		return nil, err
	}
	p, err := logfile.NewPlan(from, a.under(from), "")
	if err != nil {
		return nil, corrupt.At(b.File(), b.Offset, "archive record: %w", err)
	}
	a.text, a.plan = text, p
	return p, nil
}
