package tableconfig

// The keys of hoodie.properties (timeline.md §2.5).
const (
	KeyName                 = "hoodie.table.name"
	KeyDatabase             = "hoodie.database.name"
	KeyType                 = "hoodie.table.type"
	KeyVersion              = "hoodie.table.version"
	KeyInitialVersion       = "hoodie.table.initial.version"
	KeyLayout               = "hoodie.timeline.layout.version"
	KeyRecordKeys           = "hoodie.table.recordkey.fields"
	KeyPartitionFields      = "hoodie.table.partition.fields"
	KeyPrecombine           = "hoodie.table.precombine.field"   // up to version 8
	KeyOrderingFields       = "hoodie.table.ordering.fields"    // from version 9
	KeyKeyGenClass          = "hoodie.table.keygenerator.class" // version 6
	KeyKeyGenType           = "hoodie.table.keygenerator.type"  // from version 8
	KeyHiveStyle            = "hoodie.datasource.write.hive_style_partitioning"
	KeyURLEncode            = "hoodie.datasource.write.partitionpath.urlencode"
	KeySlashDates           = "hoodie.datasource.write.slash.separated.date.partitioning"
	KeyDropPartitionColumns = "hoodie.datasource.write.drop.partition.columns"
	KeyMetaFields           = "hoodie.populate.meta.fields"
	KeyCreateSchema         = "hoodie.table.create.schema"
	KeyBaseFormat           = "hoodie.table.base.file.format"
	KeyBaseFormatOld        = "hoodie.table.ro.file.format"
	KeyLogFormat            = "hoodie.table.log.file.format"
	KeyLogFormatOld         = "hoodie.table.rt.file.format"
	KeyMultipleFormats      = "hoodie.table.multiple.base.file.formats.enable"
	KeyTableFormat          = "hoodie.table.format"
	KeyPayloadClass         = "hoodie.compaction.payload.class"
	KeyLegacyPayloadClass   = "hoodie.table.legacy.payload.class"
	KeyMergeMode            = "hoodie.record.merge.mode"
	KeyMergeStrategyID      = "hoodie.record.merge.strategy.id"
	KeyMergeStrategyOld     = "hoodie.compaction.record.merger.strategy" // the same property in version 6
	KeyPartialUpdateMode    = "hoodie.table.partial.update.mode"
	KeyMergePropertyPrefix  = "hoodie.record.merge.property."
	KeyArchiveFolder        = "hoodie.archivelog.folder"
	KeyTimelinePath         = "hoodie.timeline.path"
	KeyHistoryPath          = "hoodie.timeline.history.path"
	KeyTimezone             = "hoodie.table.timeline.timezone"
	KeyBootstrapBasePath    = "hoodie.bootstrap.base.path"
	KeyPartitionMetaFormat  = "hoodie.partition.metafile.use.base.format"
	KeyCDC                  = "hoodie.table.cdc.enabled"
	KeyCDCMode              = "hoodie.table.cdc.supplemental.logging.mode"
	KeyMetaPartitions       = "hoodie.table.metadata.partitions"
	KeyMetaInflight         = "hoodie.table.metadata.partitions.inflight"
	KeyIndexDefs            = "hoodie.table.index.defs.path"
	KeyChecksum             = "hoodie.table.checksum"
	KeyTimeKeyGenPrefix     = "hoodie.keygen.timebased."
)

// TableType says how updates are stored.
type TableType string

// The table types.
const (
	CopyOnWrite TableType = "COPY_ON_WRITE"
	MergeOnRead TableType = "MERGE_ON_READ"
)

// FileFormat is the format of a table's base files.
type FileFormat string

// The base file formats that can be read here.
const (
	Parquet FileFormat = "PARQUET"
	HFile   FileFormat = "HFILE" // metadata tables
)

// Extension is the format's file name extension, with its dot.
func (f FileFormat) Extension() string {
	if f == HFile {
		return ".hfile"
	}
	return ".parquet"
}

// MergeMode says which of two records with one key wins.
type MergeMode string

// The merge modes.
const (
	CommitTimeOrdering MergeMode = "COMMIT_TIME_ORDERING"
	EventTimeOrdering  MergeMode = "EVENT_TIME_ORDERING"
	CustomMerge        MergeMode = "CUSTOM"
)

// The merge strategy ids (timeline.md §2.5).
const (
	StrategyEventTime    = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"
	StrategyCommitTime   = "ce9acb64-bde0-424c-9b91-f6ebba25356d"
	StrategyPayloadClass = "00000000-0000-0000-0000-000000000000"
)

// The payload classes that decide a merge mode.
const (
	PayloadDefault         = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
	PayloadEventTime       = "org.apache.hudi.common.model.EventTimeAvroPayload"
	PayloadOverwriteLatest = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"
	PayloadMetadata        = "org.apache.hudi.metadata.HoodieMetadataPayload"
)

// KeyGenType names a key generator, without the _AVRO of its Java variant.
type KeyGenType string

// The key generators.
const (
	KeyGenSimple        KeyGenType = "SIMPLE"
	KeyGenComplex       KeyGenType = "COMPLEX"
	KeyGenTimestamp     KeyGenType = "TIMESTAMP"
	KeyGenCustom        KeyGenType = "CUSTOM"
	KeyGenNonPartition  KeyGenType = "NON_PARTITION"
	KeyGenGlobalDelete  KeyGenType = "GLOBAL_DELETE"
	KeyGenMetadataTable KeyGenType = "HOODIE_TABLE_METADATA"
	KeyGenUserProvided  KeyGenType = "USER_PROVIDED" // a Java class of the user's own
)

// keyGenClasses maps the simple name of a Java key generator class to its type. Spark SQL's wrappers generate keys like the
// generator of the table's shape, which inference finds.
var keyGenClasses = map[string]KeyGenType{
	"SimpleKeyGenerator":              KeyGenSimple,
	"SimpleAvroKeyGenerator":          KeyGenSimple,
	"ComplexKeyGenerator":             KeyGenComplex,
	"ComplexAvroKeyGenerator":         KeyGenComplex,
	"TimestampBasedKeyGenerator":      KeyGenTimestamp,
	"TimestampBasedAvroKeyGenerator":  KeyGenTimestamp,
	"CustomKeyGenerator":              KeyGenCustom,
	"CustomAvroKeyGenerator":          KeyGenCustom,
	"NonpartitionedKeyGenerator":      KeyGenNonPartition,
	"NonpartitionedAvroKeyGenerator":  KeyGenNonPartition,
	"GlobalDeleteKeyGenerator":        KeyGenGlobalDelete,
	"GlobalAvroDeleteKeyGenerator":    KeyGenGlobalDelete,
	"HoodieTableMetadataKeyGenerator": KeyGenMetadataTable,
}

// keyGenClassOf is the class that version 6 tables name.
func keyGenClassOf(t KeyGenType) string {
	names := map[KeyGenType]string{
		KeyGenSimple:        "org.apache.hudi.keygen.SimpleKeyGenerator",
		KeyGenComplex:       "org.apache.hudi.keygen.ComplexKeyGenerator",
		KeyGenTimestamp:     "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
		KeyGenCustom:        "org.apache.hudi.keygen.CustomKeyGenerator",
		KeyGenNonPartition:  "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
		KeyGenGlobalDelete:  "org.apache.hudi.keygen.GlobalDeleteKeyGenerator",
		KeyGenMetadataTable: "org.apache.hudi.metadata.HoodieTableMetadataKeyGenerator",
	}
	return names[t]
}

// CDCMode says what change log files hold.
type CDCMode string

// The CDC modes.
const (
	CDCKeyOnly     CDCMode = "OP_KEY_ONLY"
	CDCBefore      CDCMode = "DATA_BEFORE"
	CDCBeforeAfter CDCMode = "DATA_BEFORE_AFTER"
)
