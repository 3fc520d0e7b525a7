package crawler

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"holdfast/crawler/events"
	"holdfast/crawler/plan"
	"holdfast/harvest"
)

// Change changes settings while the crawl runs, at once and for the rest of the crawl, also after it is opened again.
// Scope is checked again when a URI's turn comes. A setting that cannot be changed then, or a value that cannot be, is
// refused with harvest.ErrInvalid, and nothing is changed.
func (c *Crawl) Change(patch map[string]json.RawMessage) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	settings, err := c.plan.Base().Change(patch)
	if err != nil {
		return err
	}
	keep, err := c.changes.Keeper(patch)
	if err != nil {
		return err
	}
	if err := c.apply(settings); err != nil {
		return err
	}
	if err := keep(); err != nil {
		return err
	}
	return c.writeSettings()
}

// changeBy changes settings and informs everything that depends on them.
func (c *Crawl) changeBy(ctx context.Context, patch map[string]json.RawMessage, by string) error {
	if err := c.Change(patch); err != nil {
		return err
	}
	c.events.Publish(events.Event{Kind: events.SettingsChanged, Names: slices.Sorted(maps.Keys(patch)), By: by})
	return c.treatment.Apply(ctx)
}

// apply makes settings the plan of a crawl that runs.
func (c *Crawl) apply(s harvest.Settings) error {
	p, err := plan.New(s)
	if err != nil {
		return err
	}
	if err := c.parts.Scope.Update(p.Sheets); err != nil {
		return err
	}
	before := c.plan.Base()
	c.plan.Set(p)
	for _, f := range c.files {
		f.SetInfo(c.cfg.info(c.plan.Base()))
	}
	c.parts.Bandwidth.SetRate(s.Bandwidth)
	if !reflect.DeepEqual(before.Credentials, s.Credentials) {
		c.parts.Logins.Set(s.Credentials)
	}
	if before.MaxActiveQueues != s.MaxActiveQueues {
		c.frontier.SetMaxActive(s.MaxActiveQueues)
	}
	if before.Workers != s.Workers {
		c.crew.Want(s.Workers)
	}
	return nil
}
