package harvester

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
	"holdfast/catalog/runs"
	"holdfast/harvest"
	"holdfast/harvest/compose"
)

// Definition is what a job was made from, as it was then. It holds no secrets.
type Definition struct {
	Harvest, Template, Schedule json.RawMessage // what there is not is nil
	Aliases                     []Alias         // of the job's domains, as they are now and were when it was made
	Continues                   []uint64        // jobs whose documents it need not store again
	Said                        runs.Asked      // of the harvest
	TemplateName                string
	TemplateComment             string
	TemplateMade                time.Time
}

// Alias is a domain that stands for another.
type Alias struct{ Domain, Of string }

// Definition finds what a job of a harvest was made from.
func (h *Harvester) Definition(job catalog.Job) (d Definition, err error) {
	err = h.cfg.Agreement.View(func(v catalog.View) error {
		view := catalog.RunsIn(v)
		asked, err := view.Harvest(job.Number)
		if err != nil {
			return fmt.Errorf("harvest %d: %w", job.Number, err)
		}
		r, err := view.Run(job.Number, job.Run)
		if err != nil {
			return fmt.Errorf("run %d of harvest %d: %w", job.Run, job.Number, err)
		}
		d.Said = r.Definition
		d.Harvest, err = json.Marshal(defined{job.Number, job.Run, asked.Kind, string(asked.Collection),
			r.Date.Std(), r.Definition})
		if err != nil {
			return err
		}
		if json.Valid([]byte(r.Schedule)) {
			d.Schedule = json.RawMessage(r.Schedule)
		}
		if d.Continues, err = continued(v, &job, &asked); err != nil {
			return err
		}
		return d.template(v, &job)
	})
	if err == nil {
		err = h.aliases(&job, &d)
	}
	return d, err
}

// defined is a harvest as documents of its jobs have it.
type defined struct {
	Number     uint64    `json:"harvestid"`
	Run        uint64    `json:"harvestnum"`
	Kind       runs.Kind `json:"kind"`
	Collection string    `json:"collection"`
	Date       time.Time `json:"date"`
	runs.Asked
}

// template adds the version of the template that the job was made of, if it was not deleted since: the job has all of
// its settings.
func (d *Definition) template(v catalog.View, job *catalog.Job) error {
	if job.Parts == nil || job.Parts.Template == "" {
		return nil
	}
	name, version, err := compose.ParseLabel(job.Parts.Template)
	if err != nil {
		return err
	}
	view := catalog.HarvestsIn(v)
	d.TemplateName = name
	kept, text, err := view.Text(harvests.Template, name, version)
	if errors.Is(err, agree.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := view.Definition(harvests.Template, name)
	if err != nil {
		return fmt.Errorf("template %s: %w", name, err)
	}
	d.TemplateComment, d.TemplateMade = now.Comment, kept.Made.Std()
	shown, err := harvest.ShownTemplate(text)
	if err != nil {
		return fmt.Errorf("template %s: %w", job.Parts.Template, err)
	}
	d.Template = json.RawMessage(shown)
	return nil
}

// aliases adds the aliases of the job's domains, which snapshots leave out.
func (h *Harvester) aliases(job *catalog.Job, d *Definition) error {
	before := ""
	return namesOf(h.cfg.Agreement, job, func(one name) error {
		if one.Domain == before {
			return nil
		}
		before = one.Domain
		return h.cfg.Agreement.View(func(v catalog.View) error {
			return d.aliasesOf(catalog.DomainsIn(v), domains.Name(one.Domain), job.Created)
		})
	})
}

func (d *Definition) aliasesOf(v domains.View, of domains.Name, when catalog.Time) error {
	all, err := v.AliasesOf(of, "", 0)
	for _, name := range all {
		alias, err := v.Domain(name)
		if errors.Is(err, agree.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if a := alias.Alias; a != nil && a.Of == of && a.Since <= when && a.Until > when {
			d.Aliases = append(d.Aliases, Alias{string(name), string(of)})
		}
	}
	return err
}
