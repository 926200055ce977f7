package tableconfig

import (
	"hash/crc32"
	"strconv"
)

// Checksum is the value of hoodie.table.checksum: the CRC-32 of "<database>.<table>" (timeline.md §2.2). It covers the two names
// only: it tells a truncated or foreign file, not a changed one.
func Checksum(database, table string) string {
	return strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(database+"."+table))), 10)
}

// checksumOf computes the checksum that p should have.
func checksumOf(p *Properties) string {
	db, _ := p.Get(KeyDatabase)
	name, _ := p.Get(KeyName)
	return Checksum(db, name)
}

// verifyChecksum compares the stored checksum; files from before table version 4 have none, which is accepted.
func verifyChecksum(p *Properties) error {
	have, ok := p.Get(KeyChecksum)
	if want := checksumOf(p); ok && have != want {
		return p.errorf(KeyChecksum, "%s is %s, but the table and database name make %s: the file is truncated or was edited by hand",
			KeyChecksum, have, want)
	}
	return nil
}
