package avrocodec

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/hudifs/hudifs/internal/schema"
)

func TestPlans(t *testing.T) {
	var p Plans
	container := func(k int) []byte {
		s, err := schema.Parse(fmt.Sprintf(`{"type":"record","name":"r%d","fields":[{"name":"a","type":"string"}]}`, k))
		if err != nil {
			t.Fatal(err)
		}
		b, err := WriteContainer(s, ContainerOptions{}, []any{fmt.Sprint("value ", k)})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var wg sync.WaitGroup
	for k := range 3 * plansKept {
		data := container(k % (plansKept + 9))
		wg.Go(func() {
			c, err := p.Container(bytes.NewReader(data), "x")
			if err != nil {
				t.Error(err)
				return
			}
			d, err := p.Decoder(c.Schema())
			if err != nil {
				t.Error(err)
				return
			}
			_, block, err := c.NextBlock()
			if err != nil {
				t.Error(err)
				return
			}
			v, err := d.DecodeValue(block)
			if want := fmt.Sprint("value ", k%(plansKept+9)); err != nil || v[0] != want {
				t.Errorf("value = %v, %v, want %q", v, err, want)
			}
			p.Return(c.Schema(), d)
		})
	}
	wg.Wait()
	if len(p.parsed) > plansKept {
		t.Errorf("%d schemas kept, want at most %d", len(p.parsed), plansKept)
	}
	a, err := p.Container(bytes.NewReader(container(1)), "x")
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Container(bytes.NewReader(container(1)), "x")
	if err != nil || a.Schema() != b.Schema() {
		t.Errorf("two containers of one schema text do not share it (%v)", err)
	}
}
