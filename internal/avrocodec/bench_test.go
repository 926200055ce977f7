package avrocodec

import (
	"syscall"
	"testing"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

// benchRecord is a log record as Hudi's writers make them: five meta columns and six of the user's, all nullable, 300 bytes.
func benchRecord(b *testing.B) (*schema.Schema, []byte) {
	s, err := schema.Parse(`{"type":"record","name":"trips_record","namespace":"hoodie.trips","fields":[{"name":"id","type":["null","string"]},{"name":"ts","type":["null","long"]},` +
		`{"name":"city","type":["null","string"]},{"name":"fare","type":["null","double"]},{"name":"seats","type":["null","int"]},{"name":"note","type":["null","string"]}]}`)
	if err != nil {
		b.Fatal(err)
	}
	s = s.WithMetaFields()
	buf, err := NewValueEncoder(s).EncodeValue(nil, []any{
		"20260307162550266", "20260307162550266_0_12345", "trip-0000012345", "city=san_francisco", "0ad34fbd-dd1a-4a9e-b366-741780086539-0",
		"trip-0000012345", int64(1772922418753), "san_francisco", 12.5, int32(3), "a note of some twenty-odd characters and a few more so that it is long enough for three hundred",
	})
	if err != nil {
		b.Fatal(err)
	}
	return s, buf
}

// cpu is the processor time of this process in seconds: a busy machine does not blur it as it does the clock.
func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func BenchmarkDecode(b *testing.B) {
	s, buf := benchRecord(b)
	for name, reader := range map[string]*schema.Schema{"whole": s, "key": s.Select(schema.RecordKeyField), "key_ts": s.Select(schema.RecordKeyField, "ts")} {
		b.Run(name, func(b *testing.B) {
			d, err := NewDecoder(s, reader)
			if err != nil {
				b.Fatal(err)
			}
			row := make(record.Row, 0, 11)
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			start := cpu(b)
			for b.Loop() {
				if name == "whole" {
					row, err = d.Decode(buf, row[:0])
				} else {
					row, err = d.DecodeHead(buf, row[:0])
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/(cpu(b)-start)/1e6, "Mrows/cpu-s")
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	s, buf := benchRecord(b)
	d, err := NewDecoder(s, s)
	if err != nil {
		b.Fatal(err)
	}
	row, err := d.Decode(buf, nil)
	if err != nil {
		b.Fatal(err)
	}
	e := NewEncoder(s)
	out := make([]byte, 0, 1024)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	start := cpu(b)
	for b.Loop() {
		if out, err = e.EncodeRow(out[:0], row); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/(cpu(b)-start)/1e6, "Mrows/cpu-s")
}
