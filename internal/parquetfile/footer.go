package parquetfile

// Footer keys that Hudi's Java readers and writers use (data.md §2.2). The caller sets them with Writer.SetFooter.
const (
	KeyAvroSchema      = "parquet.avro.schema"           // the file's Avro schema, meta columns included; Writer sets it by default
	KeyWriterModel     = "writer.model.name"             // "avro"; Writer sets it by default
	KeyBloomFilter     = "org.apache.hudi.bloomfilter"   // base64 of the serialized filter
	KeyBloomFilterOld  = "com.uber.hoodie.bloomfilter"   // the same in files of before 2019
	KeyBloomFilterType = "hoodie_bloom_filter_type_code" // SIMPLE or DYNAMIC_V0
	KeyMinRecordKey    = "hoodie_min_record_key"         // smallest and largest record key in the order of Java's String.compareTo
	KeyMaxRecordKey    = "hoodie_max_record_key"         //
)

// DefaultCreatedBy is the footer's name of this program, in the form whose version parquet-mr can read: its readers use a file's statistics only then.
const DefaultCreatedBy = "hudifs version 0.1.0 (build hudifs)"
