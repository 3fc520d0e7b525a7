package batch

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/batches"
)

// plan says which shards have files that a batch processes, and finds them. It follows from the catalog and the batch:
// a node that drives the batch later makes the same plan.
type plan struct {
	b       *batches.Batch
	selects *batches.Selector
	view    func(func(catalog.View) error) error
	named   map[catalog.Shard][]catalog.FileName // nil: all names of a shard may be selected
	shards  []catalog.Shard
	counts  []int64 // of selected files, of each of the shards
	files   int64
}

// chosen is a file that is selected. If it has a reason, it cannot be processed.
type chosen struct {
	file   catalog.File
	reason string
}

// planPage is how many entries are read at a time; mostNamed bounds the names that are kept in memory.
const (
	planPage  = 1000
	mostNamed = 1_000_000
)

func newPlan(b *batches.Batch, view func(func(catalog.View) error) error) (*plan, error) {
	selects, err := batches.NewSelector(b)
	if err != nil {
		return nil, err
	}
	p := &plan{b: b, selects: selects, view: view}
	if err := p.list(); err != nil {
		return nil, err
	}
	for s := range catalog.Shard(catalog.Shards) {
		n, err := p.count(s)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			p.shards, p.counts = append(p.shards, s), append(p.counts, n)
			p.files += n
		}
	}
	return p, nil
}

// list finds the names that may be selected, where they can be found without looking at all.
func (p *plan) list() error {
	if p.b.Selection.Names > 0 {
		p.named = map[catalog.Shard][]catalog.FileName{}
		return p.view(func(v catalog.View) error {
			names, err := catalog.BatchesIn(v).Names(p.b)
			if err == nil && len(names) != p.b.Selection.Names {
				err = fmt.Errorf("the list has %d names instead of %d", len(names), p.b.Selection.Names)
			}
			for _, name := range names {
				p.named[name.Shard()] = append(p.named[name.Shard()], name)
			}
			return err
		})
	}
	prefix := p.selects.Prefix()
	if prefix == "" {
		return nil
	}
	p.named = map[catalog.Shard][]catalog.FileName{}
	found, after := 0, catalog.FileName("")
	for {
		var page []catalog.File
		err := p.view(func(v catalog.View) (err error) { page, err = v.Files(prefix, after, planPage); return err })
		if err != nil {
			return err
		}
		for i := range page {
			if after = page[i].Name; p.selects.Selects(&page[i]) {
				p.named[after.Shard()] = append(p.named[after.Shard()], after)
				found++
			}
		}
		if len(page) < planPage {
			return nil
		}
		if found > mostNamed { // each shard is looked at when its turn comes
			p.named = nil
			return nil
		}
	}
}

// groups returns the shards in groups that have at most that number of files, or one shard.
func (p *plan) groups(most int64) (out [][]catalog.Shard) {
	n := int64(0)
	for i, s := range p.shards {
		if n += p.counts[i]; len(out) == 0 || n > most {
			out, n = append(out, nil), p.counts[i]
		}
		out[len(out)-1] = append(out[len(out)-1], s)
	}
	return out
}

func (p *plan) count(s catalog.Shard) (n int64, err error) {
	if p.named != nil {
		return int64(len(p.named[s])), nil
	}
	err = p.each(s, func(chosen) { n++ })
	return n, err
}

// of returns the selected files of a shard, by name.
func (p *plan) of(s catalog.Shard) (out []chosen, err error) {
	if p.named == nil {
		err = p.each(s, func(c chosen) { out = append(out, c) })
		return out, err
	}
	err = p.view(func(v catalog.View) error {
		for _, name := range p.named[s] {
			f, err := v.File(name)
			if errors.Is(err, catalog.ErrNotFound) {
				out = append(out, chosen{file: catalog.File{Name: name}, reason: "the archive has no such file"})
				continue
			}
			if err != nil {
				return err
			}
			out = append(out, p.choose(f))
		}
		return nil
	})
	return out, err
}

// each gives the selected files of a shard.
func (p *plan) each(s catalog.Shard, take func(chosen)) error {
	for after := catalog.FileName(""); ; {
		var page []catalog.File
		err := p.view(func(v catalog.View) (err error) { page, err = v.ShardFiles(s, after, planPage); return err })
		if err != nil {
			return err
		}
		for i := range page {
			if after = page[i].Name; p.selects.Selects(&page[i]) {
				take(p.choose(page[i]))
			}
		}
		if len(page) < planPage {
			return nil
		}
	}
}

// choose says of a file that is selected or named what keeps it from being processed.
func (p *plan) choose(f catalog.File) chosen {
	c := chosen{file: f}
	switch {
	case f.RemovedAt() != 0:
		c.reason = "the file was removed at " + f.RemovedAt().Std().UTC().Format(time.RFC3339)
	case f.Lost != 0:
		c.reason = "the file is declared lost: " + f.LostWhy
	case f.Added > p.b.Begun:
		c.reason = "the file came into the archive after the batch had begun"
	case len(p.b.Selection.Collections) > 0 && !slices.Contains(p.b.Selection.Collections, f.Collection):
		c.reason = fmt.Sprintf("the file is in collection %s, which the batch does not read", f.Collection)
	case !p.selects.Selects(&f):
		c.reason = "the file is on the list, but replica, job or expression of the batch leave it out"
	}
	return c
}
