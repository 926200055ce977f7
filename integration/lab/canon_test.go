package lab

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"github.com/hudifs/hudifs/internal/record"
	"github.com/hudifs/hudifs/internal/schema"
)

func big10(t *testing.T, digits string) *big.Int {
	t.Helper()
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		t.Fatalf("%q is no number", digits)
	}
	return n
}

// The wanted texts are what hudilab/canon.py prints for the same values in Python.
func TestSpellingIsPythons(t *testing.T) {
	const at = 86400 * 1_000_000 // microseconds a day
	for _, c := range []struct {
		v    any
		want string
	}{
		{0.0, "0.0"}, {math.Copysign(0, -1), "-0.0"}, {1.0, "1.0"}, {0.1, "0.1"},
		{1e15, "1000000000000000.0"}, {1e16, "1e+16"}, {123456789012345680.0, "1.2345678901234568e+17"},
		{9999999999999998.0, "9999999999999998.0"}, {1e-4, "0.0001"}, {9.9e-5, "9.9e-05"}, {5e-324, "5e-324"},
		{math.MaxFloat64, "1.7976931348623157e+308"}, {-2.5, "-2.5"},
		{math.NaN(), `"NaN"`}, {math.Inf(1), `"Infinity"`}, {math.Inf(-1), `"-Infinity"`},
		{float32(0.1), "0.10000000149011612"}, {float32(math.MaxFloat32), "3.4028234663852886e+38"},
		{"", `""`}, {"é€😀\u2028", "\"é€😀\u2028\""},
		{"tab\t nl\n cr\r bs\b ff\f q\" b\\ nul\x00 e\x1f del\x7f /", `"tab\t nl\n cr\r bs\b ff\f q\" b\\ nul\u0000 e\u001f del` + "\x7f" + ` /"`},
		{Decimal{big.NewInt(10), 2}, `"0.10"`}, {Decimal{big.NewInt(-1), 3}, `"-0.001"`}, {Decimal{big.NewInt(12), 0}, `"12"`},
		{Decimal{big.NewInt(0), 18}, `"0.000000000000000000"`},
		{Decimal{big10(t, "-99999999999999999999999999999999999999"), 18}, `"-99999999999999999999.999999999999999999"`},
		{Date(-719162), `"0001-01-01"`}, {Date(-1), `"1969-12-31"`}, {Date(2932896), `"9999-12-31"`},
		{Timestamp(-719162 * at), `"0001-01-01T00:00:00.000000"`}, {Timestamp(-1), `"1969-12-31T23:59:59.999999"`},
		{Timestamp(1709168523000004), `"2024-02-29T01:02:03.000004"`},
		{[]byte{}, `"0x"`}, {[]byte{0, 255}, `"0x00ff"`},
		{Map{{"b", 1}, {"", 2}, {"é", nil}, {"Z", 3}}, `[["",2],["Z",3],["b",1],["é",null]]`},
		{[]any{nil, []any{}, []any{1.5}}, `[null,[],[1.5]]`}, {Struct{"b": nil, "a": Struct{}}, `{"a":{},"b":null}`},
		{true, "true"}, {int64(math.MinInt64), "-9223372036854775808"}, {int32(-1), "-1"}, {nil, "null"},
		{struct{}{}, `"no spelling for struct {}"`},
	} {
		got := Line(Struct{"v": c.v, "_hoodie_file_name": "x", "_hoodie_commit_seqno": "y", "_hoodie_record_key": "k"})
		if want := `{"_hoodie_record_key":"k","v":` + c.want + "}"; got != want {
			t.Errorf("Line(%#v) = %s, want %s", c.v, got, want)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("Line(%#v) = %s is not JSON", c.v, got)
		}
	}
}

func TestFromRecordGivesLogicalTypes(t *testing.T) {
	s, err := schema.Parse(`{"type":"record","name":"r","fields":[
		{"name":"d","type":{"type":"int","logicalType":"date"}},
		{"name":"ms","type":{"type":"long","logicalType":"timestamp-millis"}},
		{"name":"us","type":["null",{"type":"long","logicalType":"timestamp-micros"}]},
		{"name":"dec","type":{"type":"bytes","logicalType":"decimal","precision":6,"scale":2}},
		{"name":"s","type":{"type":"record","name":"s","fields":[{"name":"b","type":"bytes"},{"name":"n","type":["null","string"]}]}},
		{"name":"l","type":{"type":"array","items":{"type":"int","logicalType":"date"}}},
		{"name":"m","type":{"type":"map","values":"long"}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	fields := []any{int32(1), int64(-1), nil, &record.Decimal{Unscaled: big.NewInt(-5), Scale: 2}, []any{[]byte{1}, nil}, []any{int32(0)}, []record.MapEntry{{Key: "k", Value: int64(7)}}}
	row, err := FromRecord(s, fields)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"d":"1970-01-02","dec":"-0.05","l":["1970-01-01"],"m":[["k",7]],"ms":"1969-12-31T23:59:59.999000","s":{"b":"0x01","n":null},"us":null}`
	if got := Line(row); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := FromRecord(s, fields[:3]); err == nil {
		t.Error("a row of three values for seven fields was spelt, want an error")
	}
}
