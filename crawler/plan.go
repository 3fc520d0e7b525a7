package crawler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"holdfast/cdx"
	"holdfast/crawler/fetch"
	"holdfast/harvest"
)

// plan is the settings as they are followed now. It is not changed: a change of settings is another plan.
type plan struct {
	sheets *harvest.Sheets
	routes *fetch.Routes
}

func newPlan(s harvest.Settings) (*plan, error) {
	sheets, err := harvest.NewSheets(s)
	if err != nil {
		return nil, err
	}
	routes, err := fetch.NewRoutes(s.Proxies, s.SourceAddresses)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", harvest.ErrInvalid, err)
	}
	return &plan{sheets: sheets, routes: routes}, nil
}

// base is the job's own settings now.
func (c *Crawl) base() *harvest.Settings { return c.plan.Load().sheets.Base() }

// settingsOf are the settings in effect for a URI. They are shared: not to be changed.
func (c *Crawl) settingsOf(t fetch.Target) *harvest.Settings {
	sheets := c.plan.Load().sheets
	if sheets.Empty() {
		return sheets.Base()
	}
	return sheets.For(c.contextOf(t))
}

// contextOf is what sheets look at.
func (c *Crawl) contextOf(t fetch.Target) harvest.Context {
	port, err := strconv.Atoi(t.Port)
	if err != nil {
		port = 0
	}
	surt, err := cdx.SURT(t.URL)
	if err != nil {
		surt = ""
	}
	return harvest.Context{URL: t.URL, SURT: surt, Port: port, Now: c.now()}
}

// valueChanges is where settings that were changed while the crawl ran are kept.
const valueChanges = "changes"

// changed is a setting that was changed: to what, and over what the job had said.
type changed struct {
	To   json.RawMessage `json:"to"`
	Over json.RawMessage `json:"over"` // null: it did not give it
}

// Change changes settings while the crawl runs, at once and for the rest of the crawl, also after it is opened again. Scope
// is checked again when a URI's turn comes. A setting that cannot be changed then, or a value that cannot be, is refused
// with harvest.ErrInvalid, and nothing is changed.
func (c *Crawl) Change(patch map[string]json.RawMessage) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	settings, err := c.base().Change(patch)
	if err != nil {
		return err
	}
	changes, err := c.changes()
	if err != nil {
		return err
	}
	given, err := fields(c.cfg.Job.Settings)
	if err != nil {
		return err
	}
	for name, value := range patch {
		changes[name] = changed{To: value, Over: given[name]}
	}
	if err := c.apply(settings); err != nil {
		return err
	}
	if err := c.keepChanges(changes); err != nil {
		return err
	}
	return c.writeSettings()
}

// apply makes settings the plan of a crawl that runs.
func (c *Crawl) apply(s harvest.Settings) error {
	p, err := newPlan(s)
	if err != nil {
		return err
	}
	if err := c.scope.Update(p.sheets); err != nil {
		return err
	}
	before := c.base()
	c.plan.Store(p)
	for _, f := range c.files {
		f.SetInfo(c.info())
	}
	c.bandwidth.SetRate(s.Bandwidth)
	if !reflect.DeepEqual(before.Credentials, s.Credentials) {
		c.logins.Set(s.Credentials)
	}
	if before.MaxActiveQueues != s.MaxActiveQueues {
		c.frontier.SetMaxActive(s.MaxActiveQueues)
	}
	if before.Workers != s.Workers {
		c.workers.want(s.Workers)
	}
	return nil
}

// follow makes settings the plan.
func (c *Crawl) follow(s harvest.Settings) error {
	p, err := newPlan(s)
	if err != nil {
		return err
	}
	c.plan.Store(p)
	return nil
}

// changes reads what was changed while the crawl ran.
func (c *Crawl) changes() (map[string]changed, error) {
	out := map[string]changed{}
	data, err := c.frontier.Value(valueChanges)
	if err != nil || len(data) == 0 {
		return out, err
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("read changed settings: %w", err)
	}
	return out, nil
}

// recall lays the changes made while the crawl ran over the job's settings. A setting that the job gives otherwise now
// than it did then is taken as the job gives it. A change that does not fit what the job gives now, as a least pause longer than the longest, is
// forgotten, as all are if Config.Forget says so.
func (c *Crawl) recall() error {
	changes, err := c.changes()
	if err != nil || len(changes) == 0 {
		return err
	}
	given, err := fields(c.cfg.Job.Settings)
	if err != nil {
		return err
	}
	patch := map[string]json.RawMessage{}
	for name, ch := range changes {
		over := given[name]
		if over == nil {
			over = json.RawMessage("null")
		}
		if bytes.Equal(ch.Over, over) {
			patch[name] = ch.To
		}
	}
	settings, unfit := c.cfg.Job.Settings, slices.Sorted(maps.Keys(changes))
	if !c.cfg.Forget {
		settings, unfit = fitting(settings, patch)
	}
	for _, name := range unfit {
		c.log.Warn("a setting that was changed while the crawl ran is forgotten", "setting", name, "forget", c.cfg.Forget)
		delete(changes, name)
	}
	if len(unfit) > 0 {
		if err := c.keepChanges(changes); err != nil {
			return err
		}
	}
	return c.follow(settings)
}

// fitting are the settings with as many of the changes as fit them, and the names of the others.
func fitting(s harvest.Settings, patch map[string]json.RawMessage) (harvest.Settings, []string) {
	if all, err := s.Change(patch); err == nil {
		return all, nil
	}
	left := slices.Sorted(maps.Keys(patch))
	for again := true; again; { // one may fit only after another
		again = false
		left = slices.DeleteFunc(left, func(name string) bool {
			with, err := s.Change(map[string]json.RawMessage{name: patch[name]})
			if err != nil {
				return false
			}
			s, again = with, true
			return true
		})
	}
	return s, left
}

// keepChanges keeps what was changed while the crawl ran.
func (c *Crawl) keepChanges(changes map[string]changed) error {
	data, err := json.Marshal(changes)
	if err != nil {
		return fmt.Errorf("keep changed settings: %w", err)
	}
	c.frontier.SetValue(valueChanges, data)
	return nil
}

// fields are the settings by name.
func fields(s harvest.Settings) (map[string]json.RawMessage, error) {
	data, err := json.Marshal(s)
	out := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("list settings: %w", err)
	}
	return out, nil
}
