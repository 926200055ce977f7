package tableconfig

import (
	"strings"
	"time"
)

func (d *deriver) identity(c *Config) {
	c.Name = d.text(KeyName)
	if c.Name == "" {
		d.fail(KeyName, "%s is missing", KeyName)
	}
	c.Database = d.text(KeyDatabase)
	if v := d.text(KeyBootstrapBasePath); v != "" {
		d.unsupported(KeyBootstrapBasePath, "the table was bootstrapped from %s: its rows are in files that are not part of the table; "+
			"bootstrapped tables cannot be read", v)
	}
	if v := d.text(KeyTableFormat); v != "" && !strings.EqualFold(v, "native") {
		d.unsupported(KeyTableFormat, "table format %q is not supported, only native", v)
	}
	c.Version = d.number(KeyVersion, 0)
	c.Layout = d.number(KeyLayout, LayoutOf(c.Version))
	if c.Layout == 0 {
		c.Layout = 1 // the rename-based timeline shows the same completed files
	}
	c.InitialVersion = d.number(KeyInitialVersion, c.Version)
	f, err := featuresOf(c.Version, c.Layout)
	if err != nil {
		d.unsupported(KeyVersion, "%v", err)
	}
	c.Features = f
}

func (d *deriver) shape(c *Config) {
	switch t := TableType(strings.ToUpper(d.text(KeyType))); t {
	case "", CopyOnWrite:
		c.Type = CopyOnWrite
	case MergeOnRead:
		c.Type = MergeOnRead
	default:
		d.fail(KeyType, "%s is %q, want COPY_ON_WRITE or MERGE_ON_READ", KeyType, t)
	}
	c.HiveStyle = d.flag(KeyHiveStyle, false)
	c.URLEncode = d.flag(KeyURLEncode, false)
	c.SlashDates = d.flag(KeySlashDates, false)
	c.DropPartitionColumns = d.flag(KeyDropPartitionColumns, false)
	c.MetaFields = d.flag(KeyMetaFields, true)
	c.PartitionMetaFile = d.flag(KeyPartitionMetaFormat, false)
	c.CreateSchema = d.text(KeyCreateSchema)
	c.MetaPartitions = d.list(KeyMetaPartitions)
	c.MetaInflight = d.list(KeyMetaInflight)
	c.IndexDefs = d.text(KeyIndexDefs)
	c.CDC = d.flag(KeyCDC, false)
	switch m := CDCMode(strings.ToUpper(d.text(KeyCDCMode))); m {
	case "":
		c.CDCMode = CDCBeforeAfter
	case CDCKeyOnly, CDCBefore, CDCBeforeAfter:
		c.CDCMode = m
	default:
		d.fail(KeyCDCMode, "%s is %q, want OP_KEY_ONLY, DATA_BEFORE or DATA_BEFORE_AFTER", KeyCDCMode, m)
	}
}

func (d *deriver) formats(c *Config) {
	key := KeyBaseFormat
	if d.text(key) == "" {
		key = KeyBaseFormatOld
	}
	switch v := strings.ToUpper(d.text(key)); v {
	case "", "PARQUET":
		c.BaseFormat = Parquet
	case "HFILE":
		c.BaseFormat = HFile
	default:
		d.unsupported(key, "the table's base files are in the format %s, which cannot be read; only PARQUET tables can", v)
	}
	if d.flag(KeyMultipleFormats, false) {
		d.unsupported(KeyMultipleFormats, "the table mixes several base file formats, which cannot be read; only PARQUET tables can")
	}
	logKey := KeyLogFormat
	if d.text(logKey) == "" {
		logKey = KeyLogFormatOld
	}
	if v := d.text(logKey); v != "" && !strings.EqualFold(v, "HOODIE_LOG") {
		d.unsupported(logKey, "log file format %q is not supported, only HOODIE_LOG", v)
	}
}

func (d *deriver) keys(c *Config) {
	c.RecordKeys = d.list(KeyRecordKeys)
	c.OrderingFields = d.list(KeyOrderingFields, KeyPrecombine)
	c.ExplicitOrdering = len(c.OrderingFields) > 0
	c.KeyGenClass = d.text(KeyKeyGenClass)
	for _, item := range d.list(KeyPartitionFields) {
		name, typ, typed := strings.Cut(item, ":")
		f := PartitionField{Name: strings.TrimSpace(name)}
		if typed {
			f.Type = KeyGenType(strings.ToUpper(strings.TrimSpace(typ)))
			if f.Type != KeyGenSimple && f.Type != KeyGenTimestamp {
				d.fail(KeyPartitionFields, "partition field %q has the type %q, want SIMPLE or TIMESTAMP", f.Name, typ)
			}
		}
		if f.Name == "" {
			d.fail(KeyPartitionFields, "%s has an item without a field name: %q", KeyPartitionFields, item)
		}
		c.PartitionFields = append(c.PartitionFields, f)
	}
	c.KeyGen = d.keyGen(c)
}

// keyGen finds the generator: the stored type, else the stored class, else what the shape of the table implies (timeline.md §2.7).
func (d *deriver) keyGen(c *Config) KeyGenType {
	t := KeyGenType(strings.TrimSuffix(strings.ToUpper(d.text(KeyKeyGenType)), "_AVRO"))
	switch t {
	case KeyGenSimple, KeyGenComplex, KeyGenTimestamp, KeyGenCustom, KeyGenNonPartition, KeyGenGlobalDelete, KeyGenMetadataTable:
		return t
	case "", "SPARK_SQL", "SPARK_SQL_UUID", "SPARK_SQL_MERGE_INTO", KeyGenUserProvided:
	default:
		d.fail(KeyKeyGenType, "%s is %q, which no release is known to write", KeyKeyGenType, t)
		return t
	}
	simple := c.KeyGenClass[strings.LastIndexByte(c.KeyGenClass, '.')+1:]
	if k, ok := keyGenClasses[simple]; ok {
		return k
	}
	sparkSQL := c.KeyGenClass == "" || strings.HasPrefix(c.KeyGenClass, "org.apache.spark.sql.hudi.")
	if t == KeyGenUserProvided || !sparkSQL {
		return KeyGenUserProvided
	}
	switch {
	case len(c.PartitionFields) == 0:
		return KeyGenNonPartition
	case len(c.PartitionFields) == 1 && len(c.RecordKeys) == 1:
		return KeyGenSimple
	default:
		return KeyGenComplex
	}
}

func (d *deriver) merging(c *Config) {
	c.PayloadClass = d.text(KeyPayloadClass)
	c.ExplicitPayload = c.PayloadClass != ""
	c.LegacyPayload = d.text(KeyLegacyPayloadClass)
	c.MergeStrategyID = d.text(KeyMergeStrategyID, KeyMergeStrategyOld)
	c.PartialUpdate = strings.ToUpper(d.text(KeyPartialUpdateMode))
	if c.PartialUpdate == "NONE" {
		c.PartialUpdate = ""
	}
	c.MergeProperties = map[string]string{}
	for _, k := range d.p.Keys() {
		if name, ok := strings.CutPrefix(k, KeyMergePropertyPrefix); ok {
			c.MergeProperties[name], _ = d.p.Get(k)
		}
	}
	stored := MergeMode(strings.ToUpper(d.text(KeyMergeMode)))
	switch stored {
	case "", CommitTimeOrdering, EventTimeOrdering, CustomMerge:
	default:
		d.fail(KeyMergeMode, "%s is %q, want COMMIT_TIME_ORDERING, EVENT_TIME_ORDERING or CUSTOM", KeyMergeMode, stored)
		return
	}
	c.MergeMode = mergeMode(c, stored)
}

// mergeMode applies the precedence of timeline.md §2.7: version 9 believes the mode; version 8 the strategy id, else the mode, else the
// payload class; version 6 the payload class alone.
func mergeMode(c *Config, stored MergeMode) MergeMode {
	f := c.Features
	if f.MergeModeStored && f.StrategyStored && c.MergeStrategyID != "" {
		switch c.MergeStrategyID {
		case StrategyEventTime:
			return EventTimeOrdering
		case StrategyCommitTime:
			return CommitTimeOrdering
		}
		return CustomMerge
	}
	if f.MergeModeStored && stored != "" {
		return stored
	}
	switch c.PayloadClass {
	case PayloadDefault, PayloadEventTime:
		return EventTimeOrdering
	case PayloadOverwriteLatest:
		return CommitTimeOrdering
	case "":
		if len(c.OrderingFields) > 0 {
			return EventTimeOrdering
		}
		return CommitTimeOrdering
	}
	return CustomMerge
}

func (d *deriver) timeline(c *Config) {
	c.ArchiveFolder = d.folder(KeyArchiveFolder, "archived")
	c.TimelinePath = d.folder(KeyTimelinePath, "timeline")
	c.HistoryPath = d.folder(KeyHistoryPath, "history")
	switch v := strings.ToUpper(d.text(KeyTimezone)); v {
	case "", "LOCAL":
		c.Zone = time.Local
	case "UTC":
		c.Zone, c.ZoneUTC = time.UTC, true
	default:
		d.fail(KeyTimezone, "%s is %q, want LOCAL or UTC", KeyTimezone, v)
	}
}

// folder is a directory below another; one that climbs out is refused. Very old tables have an empty archive folder on purpose.
func (d *deriver) folder(key, def string) string {
	v, ok := d.p.Get(key)
	if !ok || (v == "" && key != KeyArchiveFolder) {
		return def
	}
	v = strings.Trim(strings.TrimSpace(v), "/")
	for part := range strings.SplitSeq(v, "/") {
		if part == "." || part == ".." || (part == "" && v != "") {
			d.fail(key, "%s is %q, want a folder below .hoodie", key, v)
		}
	}
	return v
}
