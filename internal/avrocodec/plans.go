package avrocodec

import (
	"io"
	"sync"

	"github.com/hudifs/hudifs/internal/schema"
)

// plansKept is how many schemas Plans remembers. The bodies of a timeline have a dozen between them.
const plansKept = 64

// Plans remembers what is made of a schema's text: thousands of small containers carry the same one, and parsing it costs more than reading
// the rest. The zero Plans is ready. It is safe for concurrent use.
type Plans struct {
	mu     sync.Mutex
	parsed map[string]*schema.Schema
	spare  map[*schema.Schema][]*ValueDecoder
}

// Container is NewContainerReader; the schema is shared by all containers of equal text.
func (p *Plans) Container(r io.Reader, name string) (*ContainerReader, error) {
	return newContainerReader(r, name, p.parse)
}

func (p *Plans) parse(text string) (*schema.Schema, error) {
	p.mu.Lock()
	s := p.parsed[text]
	p.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := schema.Parse(text)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if have := p.parsed[text]; have != nil {
		return have, nil
	}
	if len(p.parsed) >= plansKept {
		clear(p.parsed)
		clear(p.spare)
	}
	if p.parsed == nil {
		p.parsed, p.spare = map[string]*schema.Schema{}, map[*schema.Schema][]*ValueDecoder{}
	}
	p.parsed[text] = s
	return s, nil
}

// Decoder lends a decoder of records of s, as they were written. Give it back with Return.
func (p *Plans) Decoder(s *schema.Schema) (*ValueDecoder, error) {
	p.mu.Lock()
	if list := p.spare[s]; len(list) > 0 {
		d := list[len(list)-1]
		p.spare[s] = list[:len(list)-1]
		p.mu.Unlock()
		return d, nil
	}
	p.mu.Unlock()
	return NewValueDecoder(s, s)
}

// Return takes back a decoder of s that did not fail.
func (p *Plans) Return(s *schema.Schema, d *ValueDecoder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spare != nil && len(p.spare) < plansKept {
		p.spare[s] = append(p.spare[s], d)
	}
}
