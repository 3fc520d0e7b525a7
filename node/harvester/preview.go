package harvester

import (
	"context"
	"errors"
	"fmt"
	"math"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/runs"
	"holdfast/harvest"
	"holdfast/harvest/compose"
	"holdfast/harvest/split"
	"holdfast/internal/sorter"
)

// How many jobs and domains a preview has one by one.
const (
	previewJobs    = 1000
	previewDomains = 100
)

// Preview is what a harvest would do if a run began now.
type Preview struct {
	Jobs           []PreviewJob // the first ones
	Count          int64        // of all jobs
	Configurations int64        // in all jobs
	Expected       int64        // objects, of all jobs
	LeftOut        map[split.Reason]int64
	Busy           int64    // configurations whose domain is in an open job already
	BusyDomains    []string // the first of their domains
	Channel        string
	Served         bool   // a node that crawls serves the channel
	Error          string // why no jobs can be made; then the rest is what was found until then
}

// PreviewJob is a job that a harvest would make.
type PreviewJob struct {
	Template       string        // and its version, as default@3
	Overlay        string        // stands for the settings laid over the template; empty for none
	Bytes          harvest.Limit // the limit of each configuration
	Configurations int
	Expected       int64 // objects
}

// Preview plans the jobs of a harvest as a run that begins now would, and makes none. ErrNotFound comes from the
// catalog.
func (h *Harvester) Preview(ctx context.Context, number uint64) (p Preview, err error) {
	var m *material
	err = h.cfg.Agreement.View(func(v catalog.View) error {
		asked, err := catalog.RunsIn(v).Harvest(number)
		if err != nil {
			return err
		}
		p.Channel = asked.JobChannel()
		if p.Served, err = v.Serving(p.Channel); err != nil {
			return err
		}
		m, err = gather(v, asked, runs.Run{Harvest: number, Number: asked.Runs + 1, Begun: catalog.At(h.cfg.Now()),
			Index: math.MaxUint64, Definition: asked.Asked})
		return err
	})
	if err == nil {
		err = h.preview(ctx, m, &p)
	}
	var bad *broken
	if errors.As(err, &bad) {
		p.Error, err = bad.Error(), nil
	}
	return p, err
}

func (h *Harvester) preview(ctx context.Context, m *material, p *Preview) error {
	w := &walk{material: m, past: h.cfg.History, taken: &taken{ended: true}, sorted: sorter.New(h.cfg.Dir, previewRoom),
		leftOut: map[split.Reason]int64{}}
	defer func() { _ = w.sorted.Close() }() // nameless temporary files
	p.LeftOut = w.leftOut
	open, err := h.cfg.busy(m)
	if err != nil {
		return err
	}
	defer open.close()
	w.busy = open
	if err := w.all(ctx, h.cfg.Agreement); err != nil {
		return fmt.Errorf("read the configurations of harvest %d: %w", m.harvest.Number, err)
	}
	p.Busy, p.BusyDomains = open.count, open.domains
	fits := map[string]bool{}
	return divided(m, w.sorted, func(job *split.Job) error {
		first := &job.Configurations[0]
		if fit, err := h.fits(m, first, fits); err != nil {
			return err
		} else if !fit {
			p.LeftOut[split.BadSettings] += int64(len(job.Configurations))
			return ctx.Err()
		}
		if len(p.Jobs) < previewJobs {
			p.Jobs = append(p.Jobs, PreviewJob{Template: first.Template, Overlay: first.Overlay, Bytes: first.Bytes,
				Configurations: len(job.Configurations), Expected: job.Expected})
		}
		p.Count++
		p.Configurations += int64(len(job.Configurations))
		p.Expected += min(job.Expected, math.MaxInt64-p.Expected)
		return ctx.Err()
	})
}

// fits reports whether the settings of a configuration fit its template; if they do not, a run leaves it out. The error
// of a template that cannot be used is the reason for which a run fails. known remembers what was found.
func (h *Harvester) fits(m *material, c *split.Configuration, known map[string]bool) (bool, error) {
	mark := c.Template + " " + c.Overlay
	if fit, there := known[mark]; there {
		return fit, nil
	}
	fit := true
	err := h.cfg.Agreement.View(func(v catalog.View) error {
		r := m.at(v)
		d, there, err := r.domain(domains.Name(c.Domain))
		if err != nil || !there {
			return err
		}
		f, there, err := r.find(d, c.Name)
		if err != nil || !there {
			return err
		}
		line, err := r.line(&f)
		if err != nil {
			return err
		}
		if err = m.usable(v, c.Template, f.overlay.Patch, line); err != nil && c.Overlay != "" {
			fit = false
			err = m.usable(v, c.Template, nil, line)
		}
		return err
	})
	known[mark] = fit
	return fit, err
}

// usable reports whether a job of a template can be crawled, with something laid over it.
func (m *material) usable(v catalog.View, label string, patch harvest.Patch, line harvest.Configuration) error {
	head, template, err := m.head(v, label, patch)
	if err != nil {
		return err
	}
	return breaks(compose.Check(head, []harvest.Configuration{line}), "jobs of template %s cannot be crawled",
		template.Name)
}

// previewRoom is how many bytes of memory a preview sorts in: several may be asked for at once.
const previewRoom = 8 << 20
