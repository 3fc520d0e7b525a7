package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"holdfast/crawler/frontier"
	"holdfast/harvest"
)

// valueChanges is where settings that were changed while the crawl ran are kept in the frontier.
const valueChanges = "changes"

// Changes are the settings that were changed while the crawl ran, kept so that they hold after it is opened again.
type Changes struct {
	Frontier *frontier.Frontier
	Given    harvest.Settings // by the job
	Forget   bool             // drop all changes
	Log      *slog.Logger
}

// changed is a changed setting: its new value, and the job's value at that time.
type changed struct {
	To   json.RawMessage `json:"to"`
	Over json.RawMessage `json:"over"` // null: it did not give it
}

// Keeper prepares to keep a patch of settings. The function that it returns keeps it; call it once the patch is
// applied.
func (c *Changes) Keeper(patch map[string]json.RawMessage) (keep func() error, err error) {
	changes, err := c.read()
	if err != nil {
		return nil, err
	}
	given, err := fields(c.Given)
	if err != nil {
		return nil, err
	}
	for name, value := range patch {
		changes[name] = changed{To: value, Over: given[name]}
	}
	return func() error { return c.keep(changes) }, nil
}

// Recall applies the changes that were made while the crawl ran to the job's settings. If the job now gives a setting
// another value than it gave then, the job's value counts. A change that does not fit the job's settings (such as a
// least pause longer than the longest) is dropped; Forget drops all changes.
func (c *Changes) Recall() (settings harvest.Settings, err error) {
	settings = c.Given
	changes, err := c.read()
	if err != nil || len(changes) == 0 {
		return settings, err
	}
	given, err := fields(settings)
	if err != nil {
		return settings, err
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
	unfit := slices.Sorted(maps.Keys(changes))
	if !c.Forget {
		settings, unfit = fitting(settings, patch)
	}
	for _, name := range unfit {
		c.Log.Warn("a setting that was changed while the crawl ran is forgotten", "setting", name, "forget", c.Forget)
		delete(changes, name)
	}
	if len(unfit) > 0 {
		err = c.keep(changes)
	}
	return settings, err
}

// read reads the changes made while the crawl ran.
func (c *Changes) read() (map[string]changed, error) {
	out := map[string]changed{}
	data, err := c.Frontier.Value(valueChanges)
	if err != nil || len(data) == 0 {
		return out, err
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("read changed settings: %w", err)
	}
	return out, nil
}

// keep stores the changes made while the crawl ran.
func (c *Changes) keep(changes map[string]changed) error {
	data, err := json.Marshal(changes)
	if err != nil {
		return fmt.Errorf("keep changed settings: %w", err)
	}
	c.Frontier.SetValue(valueChanges, data)
	return nil
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
