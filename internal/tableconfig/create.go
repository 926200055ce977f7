package tableconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hudifs/hudifs/internal/storage"
)

// Options describe a new table. Zero values are Hudi's defaults.
type Options struct {
	Name     string // required
	Database string
	Type     TableType // default COPY_ON_WRITE
	Version  int       // 6, 8 or 9; default 9

	RecordKeys      []string // required by CreateTable's callers that upsert; empty: generated keys
	PartitionFields []PartitionField
	OrderingFields  []string   // with one the later event wins, without the later commit; versions 6 and 8 take one
	KeyGen          KeyGenType // default by the number of key and partition fields
	HiveStyle       bool
	URLEncode       bool
	NoMetaFields    bool // rows without the _hoodie_ columns

	CreateSchema string // Avro JSON of the rows without meta columns
	MergeMode    MergeMode
	PayloadClass string // a payload class other than the mode's own
	CDC          bool
	CDCMode      CDCMode
	UTC          bool // instants in UTC instead of the machine's zone

	Metadata bool              // this is a metadata table (timeline.md §2.6)
	Extra    map[string]string // further properties, as given; they win over derived ones
}

// ErrTableExists says that the base path already holds a table.
var ErrTableExists = errors.New("the table exists already")

// New derives the properties of a new table exactly as the Java release of the version writes them (timeline.md §2.6), and validates them.
func New(o Options) (*Properties, error) {
	if o.Version == 0 {
		o.Version = Version9
	}
	if o.Type == "" {
		o.Type = CopyOnWrite
	}
	f, err := featuresOf(o.Version, LayoutOf(o.Version))
	if err != nil {
		return nil, err
	}
	if o.KeyGen == "" {
		o.KeyGen = inferKeyGen(o)
	}
	p := NewProperties(Path)
	writeIdentity(p, o, f)
	writeKeys(p, o, f)
	if err := writeMerging(p, o, f); err != nil {
		return nil, err
	}
	for _, k := range sortedKeys(o.Extra) {
		p.Set(k, o.Extra[k])
	}
	seal(p)
	if _, err := FromProperties(p); err != nil {
		return nil, err
	}
	return p, nil
}

func inferKeyGen(o Options) KeyGenType {
	switch {
	case o.Metadata:
		return KeyGenMetadataTable
	case len(o.PartitionFields) == 0:
		return KeyGenNonPartition
	}
	for _, f := range o.PartitionFields {
		if f.Type != "" {
			return KeyGenCustom
		}
	}
	if len(o.PartitionFields) == 1 && len(o.RecordKeys) == 1 {
		return KeyGenSimple
	}
	return KeyGenComplex
}

func writeIdentity(p *Properties, o Options, f Features) {
	p.Set(KeyName, o.Name)
	if o.Database != "" {
		p.Set(KeyDatabase, o.Database)
	}
	p.Set(KeyType, string(o.Type))
	p.Set(KeyVersion, strconv.Itoa(o.Version))
	p.Set(KeyLayout, strconv.Itoa(LayoutOf(o.Version)))
	if f.CompletionInName {
		p.Set(KeyInitialVersion, strconv.Itoa(o.Version))
		p.Set(KeyTimelinePath, "timeline")
		p.Set(KeyHistoryPath, "history")
	}
	folder := "archived"
	if o.Metadata && f.LSMHistory {
		folder = "history"
	}
	p.Set(KeyArchiveFolder, folder)
	if f.TableFormatStored && !o.Metadata {
		p.Set(KeyTableFormat, "native")
	}
	if o.UTC {
		p.Set(KeyTimezone, "UTC")
	}
	if o.Metadata {
		p.Set(KeyBaseFormat, string(HFile))
	}
	if o.CreateSchema != "" {
		p.Set(KeyCreateSchema, o.CreateSchema)
	}
	if o.CDC {
		p.Set(KeyCDC, "true")
		mode := o.CDCMode
		if mode == "" {
			mode = CDCBeforeAfter
		}
		p.Set(KeyCDCMode, string(mode))
	}
}

func writeKeys(p *Properties, o Options, f Features) {
	if len(o.RecordKeys) > 0 {
		p.Set(KeyRecordKeys, strings.Join(o.RecordKeys, ","))
	}
	if len(o.PartitionFields) > 0 {
		items := make([]string, len(o.PartitionFields))
		for i, pf := range o.PartitionFields {
			items[i] = pf.Name
			if f.CustomPartitionType && o.KeyGen == KeyGenCustom {
				t := pf.Type
				if t == "" {
					t = KeyGenSimple
				}
				items[i] += ":" + string(t)
			}
		}
		p.Set(KeyPartitionFields, strings.Join(items, ","))
	}
	if f.KeyGenByType {
		p.Set(KeyKeyGenType, string(o.KeyGen))
	} else if !o.Metadata {
		p.Set(KeyKeyGenClass, keyGenClassOf(o.KeyGen))
	}
	if !o.Metadata {
		p.Set(KeyHiveStyle, strconv.FormatBool(o.HiveStyle))
		p.Set(KeyURLEncode, strconv.FormatBool(o.URLEncode))
	}
	p.Set(KeyDropPartitionColumns, "false")
	if o.NoMetaFields || o.Metadata {
		p.Set(KeyMetaFields, "false")
	}
	if len(o.OrderingFields) > 0 {
		key := KeyPrecombine
		if f.OrderingFieldsKey {
			key = KeyOrderingFields
		}
		p.Set(key, strings.Join(o.OrderingFields, ","))
	}
}

func writeMerging(p *Properties, o Options, f Features) error {
	if !f.OrderingFieldsKey && len(o.OrderingFields) > 1 {
		return fmt.Errorf("table version %d takes one ordering field, got %s", o.Version, strings.Join(o.OrderingFields, ","))
	}
	mode := o.MergeMode
	switch {
	case mode != "":
	case o.Metadata || o.PayloadClass != "" && !standardPayload(o.PayloadClass):
		mode = CustomMerge
	case o.PayloadClass == PayloadOverwriteLatest:
		mode = CommitTimeOrdering
	case len(o.OrderingFields) > 0:
		mode = EventTimeOrdering
	default:
		mode = CommitTimeOrdering
	}
	payload := o.PayloadClass
	switch {
	case payload != "":
	case o.Metadata:
		payload = PayloadMetadata
	case mode == EventTimeOrdering:
		payload = PayloadDefault
	case mode == CommitTimeOrdering:
		payload = PayloadOverwriteLatest
	default:
		return errors.New("a custom merge needs a payload class")
	}
	// Version 6 has no mode: the payload class says it, also on copy-on-write tables, so that an ordering field means the same in every version.
	if f.PayloadStored || mode == CustomMerge {
		p.Set(KeyPayloadClass, payload)
	}
	id := map[MergeMode]string{EventTimeOrdering: StrategyEventTime, CommitTimeOrdering: StrategyCommitTime, CustomMerge: StrategyPayloadClass}[mode]
	switch {
	case f.MergeModeStored:
		p.Set(KeyMergeMode, string(mode))
		if f.StrategyStored || mode == CustomMerge {
			p.Set(KeyMergeStrategyID, id)
		}
	case o.Type == MergeOnRead && !o.Metadata:
		p.Set(KeyMergeStrategyOld, StrategyEventTime) // what 0.15 writes whatever the payload
	}
	return nil
}

func standardPayload(class string) bool {
	return class == PayloadDefault || class == PayloadEventTime || class == PayloadOverwriteLatest
}

// Create publishes the properties of a new table: from then on the base path is a table. It fails with ErrTableExists if it is one already.
func Create(ctx context.Context, st storage.Store, o Options) (*Config, error) {
	p, err := New(o)
	if err != nil {
		return nil, fmt.Errorf("new table %s: %w", o.Name, err)
	}
	if _, err := st.Stat(ctx, BackupPath); err == nil {
		return nil, fmt.Errorf("%s: %w", st.URL(), ErrTableExists)
	}
	_, err = st.Put(ctx, Path, p.Bytes(headerCreate(time.Now())...), storage.PutIfAbsent)
	if errors.Is(err, storage.ErrExists) {
		return nil, fmt.Errorf("%s: %w", st.URL(), ErrTableExists)
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", Path, err)
	}
	return FromProperties(p)
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
