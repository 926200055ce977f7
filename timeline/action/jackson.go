package action

// The key orders of Java's JSON commit bodies (timeline.md §4.3).
var (
	jsonCommitKeys  = []string{"partitionToWriteStats", "compacted", "extraMetadata", "operationType"}
	jsonReplaceKeys = []string{"partitionToWriteStats", "compacted", "extraMetadata", "operationType", "partitionToReplaceFileIds"}
	jsonStatKeys    = []string{
		"fileId", "path", "cdcStats", "prevCommit", "numWrites", "numDeletes", "numUpdateWrites", "numInserts", "totalWriteBytes",
		"totalWriteErrors", "tempPath", "partitionPath", "totalLogRecords", "totalLogFilesCompacted", "totalLogSizeCompacted",
		"totalUpdatedRecordsCompacted", "totalLogBlocks", "totalCorruptLogBlock", "totalRollbackBlocks", "fileSizeInBytes",
		"minEventTime", "maxEventTime", "runtimeStats",
	}
	jsonLogKeys     = []string{"logVersion", "logOffset", "baseFile", "logFiles"}
	jsonRuntimeKeys = []string{"totalScanTime", "totalUpsertTime", "totalCreateTime"}
)

// jacksonCommit reorders a commit's tree to the form in which Java 0.15 writes it as JSON.
func jacksonCommit(o *object, replace bool) *object {
	keys := jsonCommitKeys
	if replace {
		keys = jsonReplaceKeys
	}
	out := pick(o, keys)
	stats, _ := o.get("partitionToWriteStats")
	byPartition, ok := stats.(*object)
	if !ok {
		return out
	}
	ordered := &object{isMap: true}
	for i, p := range byPartition.names {
		list, _ := byPartition.values[i].([]any)
		items := make([]any, len(list))
		for j, s := range list {
			items[j] = jacksonStat(s.(*object))
		}
		ordered.add(p, items)
	}
	out.set("partitionToWriteStats", ordered)
	return out
}

func jacksonStat(s *object) *object {
	out := pick(s, jsonStatKeys)
	if r, _ := s.get("runtimeStats"); r != nil {
		out.set("runtimeStats", pick(r.(*object), jsonRuntimeKeys))
	}
	if v, _ := s.get("logVersion"); v != nil {
		log := pick(s, jsonLogKeys)
		for i, k := range log.names {
			out.add(k, log.values[i])
		}
		out.add("recordsStats", &object{names: []string{"val"}, values: []any{nil}})
	}
	return out
}

// pick returns the named values in the order of names; missing ones are null.
func pick(o *object, names []string) *object {
	out := &object{names: make([]string, 0, len(names)+5), values: make([]any, 0, len(names)+5)}
	for _, k := range names {
		v, _ := o.get(k)
		out.add(k, v)
	}
	return out
}
