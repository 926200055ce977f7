package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/writer"
	"github.com/hudifs/hudifs/writer/ingest"
)

type createFlags struct {
	keys, partition, ordering []string
	tableType                 string
	version                   int
	name                      string
	schemaFile, like          string
	keygen                    string
	hiveStyle, urlEncode      bool
	set                       []string
}

func newCreate() *cobra.Command {
	var f createFlags
	cmd := &cobra.Command{
		Use:   "create TABLE --key id[,k2] (--schema FILE.avsc | --like FILE) [flags]",
		Short: "Make an empty table",
		Long: `Make an empty table at TABLE (a path or URL), with the columns of an Avro schema or those found in a sample file.

With --ordering the row with the larger value wins; without, the later commit does.`,
		Args: args(1, 1),
		RunE: func(cmd *cobra.Command, pos []string) error { return createTable(cmd, pos[0], f) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.keys, "key", nil, "record key fields (required)")
	fl.StringSliceVar(&f.partition, "partition", nil, "partition fields")
	fl.StringSliceVar(&f.ordering, "ordering", nil, "ordering fields")
	fl.StringVar(&f.tableType, "type", "cow", "cow (copy-on-write) or mor (merge-on-read)")
	fl.IntVar(&f.version, "table-version", tableconfig.Version9, "6, 8 or 9")
	fl.StringVar(&f.name, "name", "", "table name (default: the last element of TABLE)")
	fl.StringVar(&f.schemaFile, "schema", "", "Avro schema file")
	fl.StringVar(&f.like, "like", "", "sample file whose columns the table takes (.csv .tsv .json .jsonl .parquet .avro, also compressed)")
	fl.StringVar(&f.keygen, "keygen", "", "simple, complex, nonpartitioned, timestamp or custom (default: by the number of fields)")
	fl.BoolVar(&f.hiveStyle, "hive-style", false, "partition directories are called field=value")
	fl.BoolVar(&f.urlEncode, "url-encode", false, "partition values are percent-encoded")
	fl.StringArrayVar(&f.set, "set", nil, "further table property, key=value (may be repeated)")
	return cmd
}

var keygens = map[string]tableconfig.KeyGenType{
	"": "", "simple": tableconfig.KeyGenSimple, "complex": tableconfig.KeyGenComplex, "nonpartitioned": tableconfig.KeyGenNonPartition,
	"timestamp": tableconfig.KeyGenTimestamp, "custom": tableconfig.KeyGenCustom,
}

func createTable(cmd *cobra.Command, target string, f createFlags) error {
	log, err := logger(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	o, err := f.options(target)
	if err != nil {
		return err
	}
	s, err := f.schema(ctx, o.Name)
	if err != nil {
		return err
	}
	st, err := openStore(ctx, target, true, log)
	if err != nil {
		return err
	}
	defer st.Close()
	cfg, err := writer.CreateTable(ctx, st, s, o)
	if err != nil {
		return err
	}
	kind := "copy-on-write"
	if cfg.Type == tableconfig.MergeOnRead {
		kind = "merge-on-read"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "created %s table %s, version %d, at %s: %d columns, key %s\n",
		kind, cfg.Name, cfg.Version, target, len(s.Root().Fields), strings.Join(cfg.RecordKeys, ","))
	return nil
}

func (f *createFlags) options(target string) (tableconfig.Options, error) {
	o := tableconfig.Options{Name: f.name, Version: f.version, RecordKeys: f.keys, OrderingFields: f.ordering,
		HiveStyle: f.hiveStyle, URLEncode: f.urlEncode, Extra: map[string]string{}}
	if len(f.keys) == 0 {
		return o, usageError{errors.New("--key is missing: name the fields that identify a row")}
	}
	if o.Name == "" {
		o.Name = tableName(target)
	}
	switch strings.ToLower(f.tableType) {
	case "cow":
		o.Type = tableconfig.CopyOnWrite
	case "mor":
		o.Type = tableconfig.MergeOnRead
	default:
		return o, usageError{fmt.Errorf("--type %s: want cow or mor", f.tableType)}
	}
	kg, ok := keygens[strings.ToLower(f.keygen)]
	if !ok {
		return o, usageError{fmt.Errorf("--keygen %s: want simple, complex, nonpartitioned, timestamp or custom", f.keygen)}
	}
	o.KeyGen = kg
	for _, p := range f.partition {
		name, typ, _ := strings.Cut(p, ":")
		o.PartitionFields = append(o.PartitionFields, tableconfig.PartitionField{Name: name, Type: tableconfig.KeyGenType(strings.ToUpper(typ))})
	}
	for _, s := range f.set {
		k, v, ok := strings.Cut(s, "=")
		if !ok || k == "" {
			return o, usageError{fmt.Errorf("--set %s: want key=value", s)}
		}
		o.Extra[k] = v
	}
	if (f.schemaFile == "") == (f.like == "") {
		return o, usageError{errors.New("give either --schema FILE.avsc or --like SAMPLE")}
	}
	return o, nil
}

// tableName derives a name that Avro takes from the table's path.
func tableName(target string) string {
	base, _, _ := strings.Cut(target, "?")
	base = path.Base(filepath.ToSlash(base))
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, base)
}

func (f *createFlags) schema(ctx context.Context, table string) (*schema.Schema, error) {
	if f.schemaFile != "" {
		text, err := os.ReadFile(f.schemaFile)
		if err != nil {
			return nil, err
		}
		s, err := schema.Parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.schemaFile, err)
		}
		return s, nil
	}
	file, err := os.Open(f.like)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	s, err := ingest.Infer(ctx, ingest.Input{Name: f.like, R: file, Size: info.Size()}, table+"_record", "hoodie."+table)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.like, err)
	}
	return s, nil
}
