// Package parquetfile reads and writes base files: parquet with the schema, footer keys and shapes that Hudi's Java readers and writers use.
//
// It knows parquet pages, footers and statistics, and how to copy columns under an edit. It must never know a table.
//
// Reading goes by runs: stretches of one column within one page, decoded into typed buffers (column.go). Rows are assembled from runs
// (stream.go, rows.go), keys are scanned without assembling anything (scan.go). Writing goes by columns (colwriter.go): each collects a
// page, gives it dictionary codes while that pays, and encodes it beside the other columns. Splice (splice.go) joins both ends: pages that an
// edit does not touch are copied as they lie in the file.
package parquetfile
