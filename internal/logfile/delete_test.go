package logfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/record"
)

func TestDeleteVectors(t *testing.T) {
	for _, c := range []struct {
		name string
		hex  string // after the record key and the partition path
		want []any
	}{
		{"none", "04 00", nil},
		{"null", "00", nil},
		{"int", "04 02", []any{int32(1)}},
		{"long 10", "06 14", []any{int64(10)}},
		{"long 100", "06 c8 01", []any{int64(100)}},
		{"long 0 is a value", "06 00", []any{int64(0)}},
		{"timestamp", "06 80 80 f5 f7 f0 89 87 06", []any{int64(1704412800000000)}},
		{"double", "0a 00 00 00 00 00 00 16 40", []any{5.5}},
		{"string", "0e 06 733035", []any{"s05"}},
		{"decimal", "12 0e 12 a6 d8 e1 12 20 00", []any{record.NewDecimal(5_250_000_000_000_000, 15)}},
		{"date of 0.15", "10 9e b4 02", []any{int32(19727)}},
		{"date as int", "04 9e b4 02", []any{int32(19727)}},
		{"two columns", "18 02 04 0e 20 6d7973716c2d62696e2e303030303033 06 ca 01 00", []any{"mysql-bin.000003", int64(101)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := append(unhex(t, "02 02 0e 54584e2d303032 02 00"), unhex(t, c.hex+"00")...)
			content := append([]byte{0, 0, 0, 3, 0, 0, 0, byte(len(body))}, body...)
			var out bytes.Buffer
			if _, err := NewWriter(&out).Append(DeleteBlock, Header{InstantTime: "1"}, content); err != nil {
				t.Fatal(err)
			}
			got, err := deletesOf(mustBlocks(t, out.Bytes())[0])
			want := []Delete{{Key: record.Key{RecordKey: "TXN-002"}, Ordering: ordering(t, c.want...)}}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("read %+v, %v, want %+v", got, err, want)
			}
			// What was read is written as it was, except for what Java cannot read back.
			again, err := EncodeDeletes(got)
			if err != nil {
				t.Fatal(err)
			}
			if c.name != "null" && c.name != "date of 0.15" && !bytes.Equal(again, content) {
				t.Errorf("written again: %x, want %x", again, content)
			}
		})
	}
}

func TestDeleteWriterTypes(t *testing.T) {
	for _, v := range []any{true, int32(-3), int64(1) << 40, float32(1.5), -2.5, []byte{1, 0}, "", record.NewDecimal(-525, 2)} {
		in := []Delete{{record.Key{RecordKey: "k", PartitionPath: "p=1"}, ordering(t, v)}, {record.Key{RecordKey: "l"}, ordering(t, v, nil, "x")}}
		content, err := EncodeDeletes(in)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := NewWriter(&out).Append(DeleteBlock, Header{InstantTime: "1"}, content); err != nil {
			t.Fatal(err)
		}
		got, err := deletesOf(mustBlocks(t, out.Bytes())[0])
		if _, ok := v.(*record.Decimal); ok {
			for i := range in {
				if len(got) != 2 || !got[i].Ordering.SameType(in[i].Ordering) || got[i].Ordering.Compare(in[i].Ordering) != 0 {
					t.Errorf("decimal: read %v, %v, want %v", got, err, in)
				}
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, in) {
			t.Errorf("%T: read %+v, %v, want %+v", v, got, err, in)
		}
	}
	for _, v := range []any{record.NewDecimal(1, 16), &record.Decimal{Unscaled: new(big.Int).Lsh(big.NewInt(1), 100)}} {
		if _, err := EncodeDeletes([]Delete{{Ordering: ordering(t, v)}}); err == nil {
			t.Errorf("%v can be written", v)
		}
	}
}

// ordering makes an ordering value.
func ordering(t testing.TB, vals ...any) record.Ordering {
	t.Helper()
	o, err := record.OrderingOf(vals...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// javaObjects are what Hudi 0.15 makes of keys and delete records with its own serializer.
var javaObjects = map[string]string{
	"keys0": "01005b4c6f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64656c2e486f6f6469654b6579bb0101",
	"keys": "01005b4c6f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64656c2e486f6f6469654b6579bb010401016f72672e6170616368652e6875" +
		"64692e636f6d6d6f6e2e6d6f64656c2e486f6f6469654b65f90101703db101826101010104016b6579b201010101810183c3a4e282ac",
	"del": "01005b4c6f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64656c2e44656c6574655265636f7264bb010501016f72672e617061636865" +
		"2e687564692e636f6d6d6f6e2e6d6f64656c2e44656c6574655265636f72e40101026f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64" +
		"656c2e486f6f6469654b65f90101703db1018261090a01010101020105018262020001010101020101703db20182630980897a010101010201018101" +
		"64e403017330b5",
	"types": "01005b4c6f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64656c2e44656c6574655265636f7264bb010701016f72672e617061636865" +
		"2e687564692e636f6d6d6f6e2e6d6f64656c2e44656c6574655265636f72e40101026f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64" +
		"656c2e486f6f6469654b65f90101810182610a3ff8000000000000010101010201050182620440200000010101010201050182630501010101010201" +
		"0501826401036a6176612e6d6174682e426967446563696d61ec0103cfc70601010101020105018265020d01010101020105018266090d",
	"shared": "01005b4c6f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64656c2e486f6f6469654b6579bb010301016f72672e6170616368652e6875" +
		"64692e636f6d6d6f6e2e6d6f64656c2e486f6f6469654b65f9010182700173616de5010103",
	"nul": "01005b4c6f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64656c2e44656c6574655265636f7264bb010301016f72672e617061636865" +
		"2e687564692e636f6d6d6f6e2e6d6f64656c2e44656c6574655265636f72e40101026f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64" +
		"656c2e486f6f6469654b65f9010182700182610000",
	"date": "01005b4c6f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64656c2e44656c6574655265636f7264bb010401016f72672e617061636865" +
		"2e687564692e636f6d6d6f6e2e6d6f64656c2e44656c6574655265636f72e40101026f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64" +
		"656c2e486f6f6469654b65f90101827001826101036a6176612e73716c2e446174e50180c8adb7cd310101010102010501826201046a6176612e7371" +
		"6c2e54696d657374616df001010101010102010501826301056a6176612e74696d652e4c6f63616c446174e501e80f0105",
}

func TestJavaDeletes(t *testing.T) {
	del := func(key, partition string, ordering ...any) Delete {
		return Delete{record.Key{RecordKey: key, PartitionPath: partition}, ordering1(t, ordering)}
	}
	for name, want := range map[string][]Delete{
		"keys0":  nil,
		"keys":   {del("a", "p=1"), del("key2", "p=1"), del("ä€", "")},
		"shared": {del("same", "p"), del("same", "p")},
		"del":    {del("a", "p=1", int64(5)), del("b", "p=1"), del("c", "p=2", int64(1000000)), del("dd", "", "s05")},
		"types":  {del("a", "", 1.5), del("b", "", float32(2.5)), del("c", "", true), del("d", "", record.NewDecimal(-12345, 3)), del("e", "", int32(-7)), del("f", "", int64(-7))},
	} {
		version := 2
		if strings.HasPrefix(name, "keys") || name == "shared" {
			version = 1
		}
		p := unhex(t, javaObjects[name])
		got, err := parseKryo(p, version)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
		for i := range p {
			if got, err := parseKryo(p[:i], version); err == nil {
				t.Errorf("%s cut at byte %d reads as %v", name, i, got)
			}
		}
		if _, err := parseKryo(p, 3-version); err == nil {
			t.Errorf("%s reads as version %d", name, 3-version)
		}
		content := append([]byte{0, 0, 0, byte(version), 0, 0, 0, 0}, p...)
		content[6], content[7] = byte(len(p)>>8), byte(len(p))
		if got, err := deletesOf(dataBlock(t, DeleteBlock, "{}", content)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s as a block: %+v, %v, want %+v", name, got, err, want)
		}
	}
	long := strings.Repeat("0123456789", 100)
	if got, err := parseKryo(unhex(t, longKeys(long)), 1); err != nil || len(got) != 1 || got[0].Key.RecordKey != long {
		t.Errorf("a long key: %v, %v", got, err)
	}
}

// longKeys is the serialized form of one key of 1000 characters.
func longKeys(key string) string {
	head := strings.Replace(javaObjects["keys"][:strings.Index(javaObjects["keys"], "0101703db1")], "bb0104", "bb0102", 1)
	return head + "01" + "018270" + "01e90f" + fmt.Sprintf("%x", key)
}

func ordering1(t testing.TB, vals []any) record.Ordering {
	t.Helper()
	if len(vals) == 0 {
		return record.Ordering{}
	}
	return ordering(t, vals[0])
}

// TestJavaObjectsOfOtherClasses are refused by name: a date of java.sql depends on the writer's time zone.
func TestJavaObjectsOfOtherClasses(t *testing.T) {
	for name, want := range map[string]string{"date": "java.sql.Date", "nul": kryoDelete} {
		p := unhex(t, javaObjects[name])
		content := append([]byte{0, 0, 0, 2, 0, 0, byte(len(p) >> 8), byte(len(p))}, p...)
		_, err := deletesOf(dataBlock(t, DeleteBlock, "{}", content))
		if !errors.Is(err, ErrJavaDeletes) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a refusal that names %s", name, err, want)
		}
	}
}

func FuzzKryo(f *testing.F) {
	for _, h := range javaObjects {
		f.Add(unhex(f, h))
	}
	f.Fuzz(func(_ *testing.T, p []byte) {
		_, _ = parseKryo(p, 1)
		_, _ = parseKryo(p, 2)
	})
}

func FuzzDeletes(f *testing.F) {
	f.Add(uint64(1), 3)
	f.Fuzz(func(t *testing.T, seed uint64, n int) {
		if n < 0 || n > 300 {
			t.Skip()
		}
		rnd := rand.New(rand.NewPCG(seed, 1))
		in := make([]Delete, n)
		for i := range in {
			in[i].Key = record.Key{RecordKey: fmt.Sprint(rnd.Uint64()), PartitionPath: strings.Repeat("p", rnd.IntN(3))}
			switch rnd.IntN(4) {
			case 0:
				in[i].Ordering = ordering(t, rnd.Int64()+1)
			case 1:
				in[i].Ordering = ordering(t, rnd.Float64(), nil, fmt.Sprint(i))
			case 2:
				in[i].Ordering = ordering(t, record.NewDecimal(rnd.Int64(), decimalScale))
			}
		}
		content, err := EncodeDeletes(in)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := NewWriter(&out).Append(DeleteBlock, Header{InstantTime: "1"}, content); err != nil {
			t.Fatal(err)
		}
		got, err := deletesOf(mustBlocks(t, out.Bytes())[0])
		if err != nil || len(got) != n || n > 0 && !reflect.DeepEqual(got, in) {
			t.Fatalf("read %v, %v, want %v", got, err, in)
		}
	})
}
