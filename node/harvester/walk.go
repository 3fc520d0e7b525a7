package harvester

import (
	"context"
	"fmt"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/runs"
	"holdfast/harvest/split"
	"holdfast/internal/sorter"
)

// walkPage is how many configurations are read at a time.
const walkPage = 500

// walk is a walk over the configurations of a run, in the order of their places. It sorts those that are to be made
// into jobs, and counts the others.
type walk struct {
	*material
	past   History
	taken  *taken
	sorted *sorter.Sorter

	bests   Bests // of the page that is read
	busy    *busy // counts those that are in open jobs
	after   name
	ended   bool
	leftOut map[split.Reason]int64
	buffer  []byte
}

// all walks to the end.
func (w *walk) all(ctx context.Context, agreed Agreement) error {
	for !w.ended {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := agreed.View(w.page); err != nil {
			return err
		}
	}
	return nil
}

// page walks on over some configurations.
func (w *walk) page(v catalog.View) error {
	r := w.at(v)
	if w.snapshot() {
		return w.domainsPage(&r)
	}
	w.bests = func(domain, configuration string) (split.History, error) {
		return w.past.Best(v, domain, configuration)
	}
	number := w.harvest.Number
	page, err := catalog.RunsIn(v).Configurations(number,
		runs.Configuration{Domain: domains.Name(w.after.Domain), Name: w.after.Name}, walkPage)
	if err != nil {
		return err
	}
	for _, c := range page {
		w.after = name{string(c.Domain), c.Name}
		d, there, err := r.domain(c.Domain)
		if err == nil && there {
			err = w.look(&r, d, c.Name)
		}
		if err != nil {
			return err
		}
	}
	w.ended = len(page) < walkPage
	return nil
}

func (w *walk) domainsPage(r *reader) error {
	page, err := r.domains.Domains("", domains.Name(w.after.Domain), walkPage)
	if err != nil {
		return err
	}
	if len(page) > 0 {
		w.bests, err = w.past.Between(r.view, string(page[0].Name), string(page[len(page)-1].Name))
		if err != nil {
			return err
		}
	}
	for i := range page {
		d := &page[i]
		if w.after.Domain = string(d.Name); !r.counts(d) {
			continue
		}
		if err := w.look(r, d, d.DefaultName()); err != nil {
			return err
		}
	}
	w.ended = len(page) < walkPage
	return nil
}

// look sorts a configuration, unless it is taken or left out.
func (w *walk) look(r *reader, d *domains.Domain, configuration string) error {
	if taken, err := w.taken.has(name{string(d.Name), configuration}.place(w.snapshot())); err != nil || taken {
		if err == nil {
			err = w.busy.see(r.view, string(d.Name))
		}
		return err
	}
	f, there, err := r.find(d, configuration)
	if err != nil || !there {
		return err
	}
	reason, err := w.reason(r, &f)
	if err != nil {
		return err
	}
	if reason != "" {
		w.leftOut[reason]++
		return nil
	}
	best, err := w.bests(f.as.Domain, f.as.Name)
	if err != nil {
		return fmt.Errorf("the history of configuration %s of %s: %w", f.as.Name, f.as.Domain, err)
	}
	f.as.Expected = w.split.Expected(best, f.limits.Least(w.limits()))
	if err := w.busy.see(r.view, f.as.Domain); err != nil {
		return err
	}
	w.buffer = f.as.AppendKey(w.buffer[:0])
	return w.sorted.Add(w.buffer, "")
}

// reason says why a configuration is left out, or "".
func (w *walk) reason(r *reader, f *found) (split.Reason, error) {
	seeds, err := r.seeded(f)
	if err != nil {
		return "", err
	}
	c := split.Candidate{Seeds: seeds, Limits: f.limits}
	if alias := f.domain.Alias; alias != nil {
		c.Alias = alias.Until > w.run.Begun
	}
	for _, earlier := range w.earlier { // what one left out, those before it may have completed
		if c.Earlier, err = w.past.Earlier(r.view, earlier, f.as.Domain, f.as.Name); err != nil {
			return "", fmt.Errorf("the earlier harvest of %s: %w", f.as.Domain, err)
		}
		if c.Earlier.Stop != "" {
			break
		}
	}
	return w.split.LeftOut(c, split.Run{Snapshot: w.snapshot(), Limits: w.limits()}), nil
}
