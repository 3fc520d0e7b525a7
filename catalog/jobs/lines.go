package jobs

import (
	"encoding/json"
	"fmt"

	"holdfast/catalog/agree"
	"holdfast/harvest"
)

// DivideConfigurations returns configurations as parts. One that is too long for a part continues in the next: lines
// of the same name, one after the other, are one configuration with the seeds and traps of all.
func DivideConfigurations(all []Configuration) (out []Part, err error) {
	var d divider
	for i := range all {
		for _, piece := range pieces(all[i]) {
			if err := d.add(piece); err != nil {
				return nil, err
			}
		}
	}
	d.end()
	return d.parts, nil
}

// divider puts lines into parts.
type divider struct {
	parts []Part
	text  []byte
	items int
	of    []string // domains
}

func (d *divider) add(c Configuration) error {
	line, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode configuration %s of %s: %w", c.Name, c.Domain, err)
	}
	if len(line) > MaxPartBytes-2 {
		return fmt.Errorf("%w: configuration %s of %s has %d bytes", harvest.ErrInvalid, c.Name, c.Domain, len(line))
	}
	if d.items == MaxPartItems || d.items > 0 && len(d.text)+len(line)+2 > partGoal {
		d.end()
	}
	between := byte(',')
	if d.items == 0 {
		between = '['
	}
	d.text = append(append(d.text, between), line...)
	d.items++
	if last := len(d.of) - 1; last < 0 || d.of[last] != c.Domain {
		d.of = append(d.of, c.Domain)
	}
	return nil
}

func (d *divider) end() {
	if d.items > 0 {
		d.parts = append(d.parts, Part{Kind: PartConfigurations, Items: d.items,
			Text: string(append(d.text, ']')), Domains: d.of})
	}
	d.text, d.items, d.of = nil, 0, nil
}

// pieces divides a configuration with very many seeds or traps.
func pieces(c Configuration) (out []Configuration) {
	size := 0
	for _, list := range [][]string{c.Seeds, c.Traps} {
		for _, text := range list {
			size += len(text)
		}
	}
	if size <= pieceGoal {
		return []Configuration{c}
	}
	rest := Configuration{Domain: c.Domain, Name: c.Name}
	next, size := c, 0
	next.Seeds, next.Traps = nil, nil
	add := func(to *[]string, text string) {
		if size += len(text) + 3; size > pieceGoal {
			out = append(out, next)
			next, size = rest, len(text)+3
		}
		*to = append(*to, text)
	}
	for _, seed := range c.Seeds {
		add(&next.Seeds, seed)
	}
	for _, trap := range c.Traps {
		add(&next.Traps, trap)
	}
	return append(out, next)
}

// pieceGoal is how many bytes of seeds and traps a line has at most: in JSON they take up to six times as many.
const pieceGoal = 16 << 10

// joined adds lines to configurations, and returns the seeds of these lines, too.
func joined(configurations []Configuration, p *Part) (_ []Configuration, seeds []string, err error) {
	var lines []Configuration
	if err := agree.DecodeStrict([]byte(p.Text), &lines); err != nil {
		return configurations, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if len(lines) != p.Items {
		return configurations, nil, fmt.Errorf("a part has %d configurations instead of %d", len(lines), p.Items)
	}
	for _, line := range lines {
		seeds = append(seeds, line.Seeds...)
		last := len(configurations) - 1
		if last < 0 || configurations[last].Domain != line.Domain || configurations[last].Name != line.Name {
			configurations = append(configurations, line)
			continue
		}
		c := &configurations[last]
		c.Seeds, c.Traps = append(c.Seeds, line.Seeds...), append(c.Traps, line.Traps...)
	}
	return configurations, seeds, nil
}
