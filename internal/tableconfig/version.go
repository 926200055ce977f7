package tableconfig

import "fmt"

// Features says what a table's version and timeline layout switch on. Code asks for a feature, never for a version number.
type Features struct {
	// From the timeline layout.

	CompletionInName bool // completed instants are called T_C.action and lie in the timeline folder
	AvroBodies       bool // commits are Avro containers; otherwise JSON
	ClusteringAction bool // pending clustering is an action of its own; otherwise a replacecommit with a plan
	LSMHistory       bool // archived instants are in parquet files with a manifest; otherwise in archive log files

	// From the table version.

	LogNamedByDelta     bool // a log file is named by the delta commit that wrote it; otherwise by its slice's base instant
	RollbackBlocks      bool // rolling back log blocks appends a command block; otherwise the log files are deleted
	AppendMarkers       bool // log files have markers of type APPEND; otherwise CREATE
	MetadataSuffixes    bool // the metadata table's own instants are the data table's with three digits behind
	KeyGenByType        bool // the key generator is stored as a type; otherwise as a Java class
	MergeModeStored     bool // hoodie.record.merge.mode decides; otherwise the payload class does
	StrategyStored      bool // the standard merge strategy ids are stored beside the mode
	OrderingFieldsKey   bool // ordering fields are under hoodie.table.ordering.fields; otherwise precombine.field
	PayloadStored       bool // the standard payload classes are stored
	TableFormatStored   bool // hoodie.table.format=native
	CustomPartitionType bool // partition fields of the custom key generator carry :SIMPLE or :TIMESTAMP
}

// The table versions that can be read and written.
const (
	Version6 = 6 // Java 0.14, 0.15
	Version8 = 8 // Java 1.0
	Version9 = 9 // Java 1.1, 1.2
)

// featuresOf returns what a table of this version and layout has. Version 7 was a bridge that no release wrote; older versions need
// an upgrade by the engine that wrote them, newer ones a newer program: both are refused rather than guessed at.
func featuresOf(version, layout int) (Features, error) {
	var f Features
	switch layout {
	case 1:
	case 2:
		f.CompletionInName, f.AvroBodies, f.ClusteringAction, f.LSMHistory = true, true, true, true
	default:
		return Features{}, fmt.Errorf("timeline layout %d is not supported (supported: 1, 2)", layout)
	}
	switch version {
	case Version6:
		f.RollbackBlocks, f.AppendMarkers, f.MetadataSuffixes, f.PayloadStored = true, true, true, true
	case Version8:
		f.LogNamedByDelta, f.KeyGenByType, f.MergeModeStored, f.CustomPartitionType = true, true, true, true
		f.StrategyStored, f.PayloadStored = true, true
	case Version9:
		f.LogNamedByDelta, f.KeyGenByType, f.MergeModeStored, f.CustomPartitionType = true, true, true, true
		f.OrderingFieldsKey, f.TableFormatStored = true, true
	default:
		if version > Version9 {
			return Features{}, fmt.Errorf("table version %d is newer than this program knows (6, 8, 9): use a newer hudifs", version)
		}
		return Features{}, fmt.Errorf("table version %d is not supported (6, 8, 9): upgrade the table with the engine that writes it", version)
	}
	if want := LayoutOf(version); layout != want {
		return Features{}, fmt.Errorf("table version %d needs timeline layout %d, but the table has layout %d: finish the upgrade or downgrade that was interrupted", version, want, layout)
	}
	return f, nil
}

// LayoutOf is the timeline layout of a new table of the version.
func LayoutOf(version int) int {
	if version >= Version8 {
		return 2
	}
	return 1
}
