package jobs

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"holdfast/catalog/agree"
)

// PartKind says what a part's text is. The catalog does not read it.
type PartKind string

// The kinds of parts.
const (
	PartJob            PartKind = "job"            // a harvest.Job, or a piece of its text
	PartConfigurations PartKind = "configurations" // configurations of domains
	PartSeeds          PartKind = "seeds"          // seeds
)

// Bounds on the parts of a job.
const (
	MaxPartItems = 500       // configurations in a part
	MaxPartBytes = 256 << 10 // of a part's text
	maxParts     = 1 << 20
	MaxSecrets   = 400 // of a job: one command ends the use of all
	maxTemplate  = 100 // bytes of a template's name and version
)

// Part is a piece of what a job crawls. It is written once.
type Part struct {
	Kind  PartKind `json:"kind"`
	Items int      `json:"items,omitempty"` // configurations, or seeds
	Text  string   `json:"text"`
	// Domains are those that the text is about. The catalog finds jobs by them.
	Domains []string `json:"domains,omitempty"`
}

func (p *Part) check() error {
	switch p.Kind {
	case PartJob, PartConfigurations, PartSeeds:
	default:
		return agree.Refuse(agree.Invalid, "part of kind %q: want job, configurations or seeds",
			agree.Clip(string(p.Kind), 40))
	}
	if p.Text == "" || len(p.Text) > MaxPartBytes {
		return agree.Refuse(agree.Invalid, "part of %d bytes: want 1 to %d", len(p.Text), MaxPartBytes)
	}
	if p.Items < 0 || p.Items > MaxPartBytes || p.Kind == PartConfigurations && p.Items > MaxPartItems {
		return agree.Refuse(agree.Invalid, "part with %d items: at most %d configurations", p.Items, MaxPartItems)
	}
	return checkDomains(p.Domains)
}

// checkDomains refuses what cannot be the domains of a part.
func checkDomains(names []string) error {
	if len(names) > MaxPartItems {
		return agree.Refuse(agree.Invalid, "%d domains: at most %d for each part", len(names), MaxPartItems)
	}
	for _, name := range names {
		if !isDomain(name) {
			return agree.Refuse(agree.Invalid, "%q is no domain", agree.Clip(name, 253))
		}
	}
	return nil
}

// partHead is what stands before a stored part's text.
type partHead struct {
	Kind    PartKind `json:"kind"`
	Items   int      `json:"items,omitempty"`
	Domains []string `json:"domains,omitempty"`
}

// encodePart writes the version, what the part is, a line feed, and the text as it is: escaped, the text of an old job
// would not always fit.
func encodePart(p *Part) ([]byte, error) {
	head, err := json.Marshal(partHead{p.Kind, p.Items, p.Domains})
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, 2+len(head)+len(p.Text))
	out = append(append(out, agree.ValueVersion), head...)
	return append(append(out, '\n'), p.Text...), nil
}

func decodePart(value []byte) (Part, error) {
	head, text, whole := bytes.Cut(value, []byte{'\n'})
	if !whole || len(head) < 2 || head[0] != agree.ValueVersion {
		return Part{}, fmt.Errorf("a job's part of %d bytes is not of version %d", len(value), agree.ValueVersion)
	}
	var h partHead
	if err := json.Unmarshal(head[1:], &h); err != nil {
		return Part{}, fmt.Errorf("a job's part: %w", err)
	}
	return Part{Kind: h.Kind, Items: h.Items, Text: string(text), Domains: h.Domains}, nil
}

// add writes the next part, and counts it.
func (h *Parts) add(s *agree.State, p *Part) error {
	value, err := encodePart(p)
	if err != nil {
		return err
	}
	h.count(p, value)
	s.Put(keyPart(h.Of, h.Count), value)
	for _, domain := range p.Domains {
		s.Mark(keyDomain(domain, h.Of))
	}
	return nil
}

// count adds the next part, which is stored as the value, to what is known of all.
func (h *Parts) count(p *Part, value []byte) {
	h.Count++
	h.Bytes += int64(len(p.Text))
	h.Sum = nextSum(h.Sum, value)
	switch p.Kind {
	case PartConfigurations:
		h.Configurations += p.Items
	default:
		h.Seeds += p.Items
	}
}

// nextSum is the sum of all parts with one more.
func nextSum(sum agree.Digest, part []byte) agree.Digest {
	of := sha256.Sum256(part)
	return sha256.Sum256(append(sum[:], of[:]...))
}

// addText writes the text of a job as parts, as many as are needed. The domains are those that it is about.
func (h *Parts) addText(s *agree.State, text []byte, domains []string) error {
	for {
		n := min(len(text), MaxPartBytes)
		if err := h.add(s, &Part{Kind: PartJob, Text: string(text[:n]), Domains: domains}); err != nil {
			return err
		}
		if text, domains = text[n:], nil; len(text) == 0 {
			return nil
		}
	}
}
