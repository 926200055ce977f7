package tableconfig

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/corrupt"
)

func TestParseProperties(t *testing.T) {
	type kv = [2]string
	tests := []struct {
		name, in string
		want     []kv
	}{
		{"plain", "a=b\nc:d\ne f\n", []kv{{"a", "b"}, {"c", "d"}, {"e", "f"}}},
		{"blanks around the separator", "  a \t= \f b \n", []kv{{"a", "b "}}},
		{"comments", "#a=b\n  !c=d\n\n \t\na=1", []kv{{"a", "1"}}},
		{"empty value and bare key", "a=\nb\nc:\n", []kv{{"a", ""}, {"b", ""}, {"c", ""}}},
		{"escapes", `a\ b\=\:=\ x\ty\nz\q\\` + "\n", []kv{{"a b=:", " x\ty\nzq\\"}}},
		{"unicode", `a=\u00fc\u4E2D\uD83D\uDE00`, []kv{{"a", "ü中😀"}}},
		{"latin-1 bytes", "a=\xfc", []kv{{"a", "ü"}}},
		{"continuation", "a=b\\\n   c\\\r\n\td\n", []kv{{"a", "bcd"}}},
		{"comment sign on a continued line is data", "a=b\\\n#c\n", []kv{{"a", "b#c"}}},
		{"even backslashes do not continue", `a=b\\` + "\nc=d\n", []kv{{"a", `b\`}, {"c", "d"}}},
		{"continuation at the end", "a=b\\\n", []kv{{"a", "b"}}},
		{"line ends", "a=1\rb=2\r\nc=3", []kv{{"a", "1"}, {"b", "2"}, {"c", "3"}}},
		{"the last of equal keys wins", "a=1\nb=2\na=3\n", []kv{{"a", "3"}, {"b", "2"}}},
		{"second separator is data", "a==b\nc = : d\n", []kv{{"a", "=b"}, {"c", ": d"}}},
		{"schema", `s={"type"\:"record","name"\:"x"}`, []kv{{"s", `{"type":"record","name":"x"}`}}},
		{"empty key", "=v\n", []kv{{"", "v"}}},
	}
	for _, tc := range tests {
		p, err := ParseProperties("f", []byte(tc.in))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var got []kv
		for _, k := range p.Keys() {
			v, _ := p.Get(k)
			got = append(got, kv{k, v})
		}
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestParsePropertiesDamaged(t *testing.T) {
	for _, in := range []string{`a=\u12`, `a=\uzzzz`, `a=\ud83d`, `a=\ud83dx`, `a=\ude00`, `\u+123=1`} {
		_, err := ParseProperties("x/hoodie.properties", []byte("ok=1\n"+in+"\n"))
		if !corrupt.Is(err) || !strings.Contains(err.Error(), "x/hoodie.properties") || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("ParseProperties(%q) = %v, want a corrupt error that names file and line 2", in, err)
		}
	}
}

func TestPrintProperties(t *testing.T) {
	p := NewProperties("f")
	p.Set("k y", " a b=:#!\\")
	p.Set("ü", "\t\n\r\f\x01~\u00e9😀")
	got := string(p.Bytes("Updated at x\ny", "date"))
	want := "#Updated at x y\n#date\n" + `k\ y=\ a b\=\:\#\!\\` + "\n" + `\u00FC=\t\n\r\f\u0001~\u00E9\uD83D\uDE00` + "\n"
	if got != want {
		t.Errorf("Bytes = %q, want %q", got, want)
	}
}

func TestPropertiesEdit(t *testing.T) {
	p, err := ParseProperties("f", []byte("a=1\nb=2\nc=3\n"))
	if err != nil {
		t.Fatal(err)
	}
	q := p.Clone()
	p.Delete("a")
	p.Delete("missing")
	p.Set("d", "4")
	p.Set("b", "5")
	if got := string(p.Bytes()); got != "b=5\nc=3\nd=4\n" {
		t.Errorf("after edits %q", got)
	}
	if got := string(q.Bytes()); got != "a=1\nb=2\nc=3\n" {
		t.Errorf("the clone changed with its origin: %q", got)
	}
	if p.Line("c") != 3 || p.Line("d") != 0 {
		t.Errorf("Line(c), Line(d) = %d, %d, want 3, 0", p.Line("c"), p.Line("d"))
	}
}

func FuzzProperties(f *testing.F) {
	for _, s := range []string{"a=b\n", `x\ y=\u00fc\uD83D\uDE00`, "a=b\\\n  c\n#d\n", "\xff=\x00\n", "=\n", `a\`, "a=\\u12\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseProperties("f", data)
		if err != nil {
			if !corrupt.Is(err) {
				t.Errorf("ParseProperties: %v, want a corrupt error", err)
			}
			return
		}
		q, err := ParseProperties("f", p.Bytes("head"))
		if err != nil {
			t.Fatalf("parse what was printed: %v", err)
		}
		if got, want := q.Bytes(), p.Bytes(); string(got) != string(want) {
			t.Errorf("printed, parsed and printed again %q, want %q", got, want)
		}
		for _, k := range p.Keys() {
			v, _ := p.Get(k)
			if w, ok := q.Get(k); !ok || w != v {
				t.Errorf("key %q: %q after a round trip, want %q", k, w, v)
			}
		}
	})
}
