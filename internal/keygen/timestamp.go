package keygen

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"
	"time"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/tableconfig"
)

// oldTimePrefix is the prefix of the time settings in writers before 0.10 or so.
const oldTimePrefix = "hoodie.deltastreamer.keygen.timebased."

// timePart formats a time as a partition path (data.md §5.4).
type timePart struct {
	kind     schema.Kind
	decimal  *schema.Type
	unit     time.Duration // of numbers; 0: numbers are refused
	inputs   []*layout     // of strings, tried in order
	inZone   *time.Location
	outZone  *time.Location
	output   *layout
	nullText string // what a null string column stands for
}

// settings looks up hoodie.keygen.timebased.* under both prefixes, writer settings first.
type settings struct {
	cfg *tableconfig.Config
	o   Options
}

func (s settings) get(suffix string) string {
	for _, prefix := range []string{tableconfig.KeyTimeKeyGenPrefix, oldTimePrefix} {
		if v, ok := s.o.Properties[prefix+suffix]; ok && strings.TrimSpace(v) != "" {
			return v
		}
	}
	for _, prefix := range []string{tableconfig.KeyTimeKeyGenPrefix, oldTimePrefix} {
		if v, ok := s.cfg.Get(prefix + suffix); ok && strings.TrimSpace(v) != "" {
			return v
		}
	}
	return ""
}

func newTimePart(cfg *tableconfig.Config, o Options, t *schema.Type) (*timePart, error) {
	s := settings{cfg, o}
	tp := &timePart{kind: t.Kind, outZone: time.UTC}
	if t.Logical == schema.Decimal {
		tp.decimal = t
	}
	typ := strings.ToUpper(strings.TrimSpace(s.get("timestamp.type")))
	text := false
	switch typ {
	case "UNIX_TIMESTAMP":
		tp.unit = time.Second
	case "EPOCHMILLISECONDS":
		tp.unit = time.Millisecond
	case "EPOCHMICROSECONDS":
		tp.unit = time.Microsecond
	case "SCALAR":
		if err := tp.scalar(s.get("timestamp.scalar.time.unit")); err != nil {
			return nil, err
		}
	case "DATE_STRING", "MIXED":
		text = true
	case "":
		return nil, fmt.Errorf("%stimestamp.type is not set; the table does not keep it, so the writer must say it", tableconfig.KeyTimeKeyGenPrefix)
	default:
		return nil, fmt.Errorf("%stimestamp.type is %q, which is not known", tableconfig.KeyTimeKeyGenPrefix, typ)
	}
	var err error
	format := s.get("output.dateformat")
	if format == "" {
		return nil, fmt.Errorf("%soutput.dateformat is not set", tableconfig.KeyTimeKeyGenPrefix)
	}
	if tp.output, err = parseLayout(format); err != nil {
		return nil, err
	}
	zoned, err := tp.zones(s)
	if err != nil {
		return nil, err
	}
	if text {
		if err := tp.strings(s); err != nil {
			return nil, err
		}
	}
	if !zoned && text {
		tp.outZone = nil // the zone that the string carries
	}
	return tp, tp.check(typ)
}

// check refuses a column whose values the timestamp type cannot read, before any row is written.
func (tp *timePart) check(typ string) error {
	switch tp.kind {
	case schema.Int, schema.Long, schema.Float, schema.Double:
		if tp.unit == 0 {
			return fmt.Errorf("timestamp type %s reads strings, but the column holds numbers", typ)
		}
		return nil
	case schema.String:
		if tp.inputs == nil {
			return fmt.Errorf("timestamp type %s reads numbers, but the column holds strings", typ)
		}
		return nil
	case schema.Bytes, schema.Fixed:
		if tp.decimal != nil && tp.unit != 0 {
			return nil
		}
	}
	return fmt.Errorf("timestamp type %s cannot read a column of type %s", typ, tp.kind)
}

func (tp *timePart) scalar(unit string) error {
	units := map[string]time.Duration{
		"": time.Second, "NANOSECONDS": time.Nanosecond, "MICROSECONDS": time.Microsecond, "MILLISECONDS": time.Millisecond, "SECONDS": time.Second,
		"MINUTES": time.Minute, "HOURS": time.Hour, "DAYS": 24 * time.Hour,
	}
	d, ok := units[strings.ToUpper(strings.TrimSpace(unit))]
	if !ok {
		return fmt.Errorf("%stimestamp.scalar.time.unit is %q, which is no unit of time", tableconfig.KeyTimeKeyGenPrefix, unit)
	}
	tp.unit = d
	return nil
}

// zones reads the zones; the old single zone stands for both. zoned says whether there is one for the output.
func (tp *timePart) zones(s settings) (zoned bool, err error) {
	in, out := s.get("input.timezone"), s.get("output.timezone")
	if one := s.get("timezone"); one != "" {
		in, out = one, one
	}
	if in != "" {
		if tp.inZone, err = zone(in); err != nil {
			return false, err
		}
	}
	if out == "" {
		return false, nil
	}
	tp.outZone, err = zone(out)
	return true, err
}

// strings reads the input formats and works out what null stands for: one millisecond after the epoch, printed by the first of them.
func (tp *timePart) strings(s settings) error {
	format := s.get("input.dateformat")
	if format == "" {
		return fmt.Errorf("%sinput.dateformat is not set", tableconfig.KeyTimeKeyGenPrefix)
	}
	delimiter := s.get("input.dateformat.list.delimiter.regex")
	if delimiter == "" {
		delimiter = ","
	}
	re, err := regexp.Compile(delimiter)
	if err != nil {
		return fmt.Errorf("%sinput.dateformat.list.delimiter.regex: %w", tableconfig.KeyTimeKeyGenPrefix, err)
	}
	for _, pattern := range re.Split(format, -1) {
		l, err := parseLayout(strings.TrimSpace(pattern))
		if err != nil {
			return err
		}
		tp.inputs = append(tp.inputs, l)
	}
	at := tp.inZone
	if at == nil {
		at = tp.outZone
	}
	tp.nullText = tp.inputs[0].format(time.UnixMilli(1).In(at))
	return nil
}

// text is the row's time in the output format.
func (tp *timePart) text(p *part, row record.Row) (string, error) {
	i := record.Find(row, p.leaf.Index)
	null := i < 0 || record.IsNull(row[i], &p.leaf)
	if tp.kind == schema.String {
		s := tp.nullText
		if !null {
			s = record.Text(row[i])
		}
		return tp.fromString(s)
	}
	n := int64(1) // Java's stand-in for null
	if !null {
		var err error
		if n, err = tp.number(row[i]); err != nil {
			return "", err
		}
	}
	ms, ok := tp.millis(n)
	if !ok {
		return "", fmt.Errorf("time %d is out of range", n)
	}
	return tp.output.format(time.UnixMilli(ms).In(tp.outZone)), nil
}

// number is the whole part of a numeric value.
func (tp *timePart) number(v record.Value) (int64, error) {
	switch tp.kind {
	case schema.Int:
		return int64(v.Int32()), nil
	case schema.Long:
		return v.Int64(), nil
	case schema.Float, schema.Double:
		f := v.Double()
		if tp.kind == schema.Float {
			f = float64(v.Float())
		}
		if !(math.Abs(f) < 1<<62) {
			return 0, fmt.Errorf("%v is no time", f)
		}
		return int64(f), nil
	}
	d := record.DecimalOf(v.ByteArray(), tp.decimal.Scale)
	q := new(big.Int).Quo(d.Unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.Scale)), nil))
	if !q.IsInt64() {
		return 0, fmt.Errorf("%s is no time", d)
	}
	return q.Int64(), nil
}

// maxMillis keeps years within what the formats can print: 9999 and some.
const maxMillis = 1 << 48

// millis converts to milliseconds, cutting towards zero as Java's TimeUnit does.
func (tp *timePart) millis(n int64) (int64, bool) {
	if tp.unit < time.Millisecond {
		n /= int64(time.Millisecond / tp.unit)
		return n, n > -maxMillis && n < maxMillis
	}
	f := int64(tp.unit / time.Millisecond)
	if n > maxMillis/f || n < -maxMillis/f {
		return 0, false
	}
	return n * f, true
}

var errNoFormat = errors.New("fits none of the input formats")

func (tp *timePart) fromString(s string) (string, error) {
	for _, in := range tp.inputs {
		t, ok := in.parse(s, tp.inZone)
		if !ok {
			continue
		}
		if tp.outZone != nil {
			t = t.In(tp.outZone)
		}
		return tp.output.format(t), nil
	}
	return "", fmt.Errorf("time %q %w", s, errNoFormat)
}
