package action

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/hudifs/hudifs/internal/avrocodec"
	"github.com/hudifs/hudifs/internal/corrupt"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/timeline"
)

// Body is what Encode and Decode know.
type Body interface {
	CommitMetadata | RequestedReplace | CompactionPlan | CleanPlan | CleanMetadata | RollbackPlan | RollbackMetadata |
		RestorePlan | RestoreMetadata | SavepointMetadata | IndexPlan | IndexCommit | MergeArchivePlan
}

// firstAvroLayout is the first timeline layout whose commits are Avro; before it they are JSON. Plans and results of services are Avro in
// every layout.
const firstAvroLayout = 2

//go:embed schemas/*.avsc
var schemaFiles embed.FS

// loadSchemas parses the embedded schemas once. Their compact text is, but for comments, what Java embeds in its files.
var loadSchemas = sync.OnceValues(func() (map[string]*schema.Schema, error) {
	files, err := schemaFiles.ReadDir("schemas")
	if err != nil {
		return nil, err
	}
	known := map[string]*schema.Schema{}
	for _, f := range files {
		data, err := schemaFiles.ReadFile("schemas/" + f.Name())
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		if err := json.Compact(&text, data); err != nil {
			return nil, fmt.Errorf("schema %s: %w", f.Name(), err)
		}
		s, err := schema.Parse(text.String())
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", f.Name(), err)
		}
		known[strings.TrimSuffix(f.Name(), ".avsc")] = s
	}
	return known, nil
})

// schemaFile names the schema with which v is written.
func schemaFile(v any) string {
	switch v := v.(type) {
	case *CommitMetadata:
		if v.Replace || len(v.ReplacedFileIDs) > 0 {
			return "replacecommit"
		}
		return "commit"
	case *RequestedReplace:
		return "requestedreplace"
	case *CompactionPlan:
		return "compactionplan"
	case *CleanPlan:
		return "cleanplan"
	case *CleanMetadata:
		return "cleanmetadata"
	case *RollbackPlan:
		return "rollbackplan"
	case *RollbackMetadata:
		return "rollbackmetadata"
	case *RestorePlan:
		return "restoreplan"
	case *RestoreMetadata:
		return "restoremetadata"
	case *SavepointMetadata:
		return "savepoint"
	case *IndexPlan:
		return "indexplan"
	case *IndexCommit:
		return "indexcommit"
	}
	return "mergearchiveplan"
}

// Decode reads a body in whichever encoding it has: an Avro container, or JSON, or none (timeline.md §4.1). name is the file's, for
// messages. No bytes give the zero body: the caller knows whether that is allowed. Damaged bytes match corrupt.Is.
func Decode[T Body](name string, body []byte) (*T, error) {
	v := new(T)
	if len(body) == 0 {
		return v, nil
	}
	o, err := readTree(name, body)
	if err != nil {
		return nil, err
	}
	if err := fromTree(reflect.ValueOf(v).Elem(), o); err != nil {
		return nil, corrupt.At(name, -1, "body: %w", err)
	}
	return v, nil
}

// readTree tells the encoding by the first bytes.
func readTree(name string, body []byte) (*object, error) {
	if avrocodec.IsContainer(body) {
		return readContainer(name, body)
	}
	if b := bytes.TrimLeft(body, " \t\r\n"); len(b) > 0 && b[0] == '{' {
		return readJSON(name, body)
	}
	return nil, corrupt.At(name, 0, "the body is neither an Avro container nor JSON")
}

// Encode writes v as the timeline layout wants it: commits of layout 1 as JSON, everything else as an Avro container.
func Encode[T Body](layout int, v *T) ([]byte, error) {
	n, err := toTree(reflect.ValueOf(v).Elem())
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	if m, ok := any(v).(*CommitMetadata); ok && layout < firstAvroLayout {
		return appendJSON(nil, jacksonCommit(n.(*object), schemaFile(m) == "replacecommit"), 0), nil
	}
	known, err := loadSchemas()
	if err != nil {
		return nil, err
	}
	b, err := writeContainer(known[schemaFile(v)], n.(*object))
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return b, nil
}

// Read reads and decodes the body of instant i in its state.
func Read[T Body](ctx context.Context, a *timeline.Active, i timeline.Instant) (*T, error) {
	b, err := a.Read(ctx, i)
	if err != nil {
		return nil, err
	}
	return Decode[T](a.Path(i), b)
}

// ReadPlan reads and decodes the plan in the requested file of instant i, whatever its state.
func ReadPlan[T Body](ctx context.Context, a *timeline.Active, i timeline.Instant) (*T, error) {
	b, err := a.ReadRequested(ctx, i)
	if err != nil {
		return nil, err
	}
	return Decode[T](a.Path(i), b)
}

// ToJSON prints the body of any instant as indented JSON, with the field names of its own schema: {} where it has no body. A JSON body
// is returned as it is.
func ToJSON(layout int, i timeline.Instant, body []byte) ([]byte, error) {
	if len(body) == 0 {
		return []byte("{ }\n"), nil
	}
	name := i.File
	if name == "" {
		name = i.FileName(layout)
	}
	o, err := readTree(name, body)
	if err != nil {
		return nil, err
	}
	return append(appendJSON(nil, o, 0), '\n'), nil
}
