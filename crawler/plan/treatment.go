package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/harvest"
)

// ValuePolicy names the frontier's value that has the settings which queues are treated by, or that it is under way to
// treat them by others.
const ValuePolicy = "policy"

// Policy tells the frontier how to treat a queue, of which uri gives a URI.
func (c *Current) Policy(queue string, uri func() string) frontier.Policy {
	s := c.Base()
	if !c.Sheets().Empty() {
		s = c.forQueue(queue, uri())
	}
	return frontier.Policy{Valence: s.HostValence, SessionBudget: s.SessionBudget, TotalBudget: s.TotalBudget,
		Precedence: s.Precedence}
}

// forQueue are the settings in effect for a queue of which uri is one: those of the root of its site, as a queue is of
// a whole site or more; of a queue that a sheet names, those of the URI that has that name.
func (c *Current) forQueue(queue, uri string) *harvest.Settings {
	t, err := fetch.ParseTarget(uri)
	if err == nil {
		if s := c.For(t); s.QueueName == queue {
			return s
		}
		queue = t.Authority
	}
	switch {
	case t.Scheme != "":
		queue = t.Scheme + "://" + queue
	case !strings.Contains(queue, "://"): // else it is named for a site
		queue = "http://" + queue
	}
	if t, err = fetch.ParseTarget(queue + "/"); err != nil {
		return c.Base()
	}
	return c.For(t)
}

// Treatment has the frontier treat its queues by the settings of the moment.
type Treatment struct {
	Plan     *Current
	Frontier *frontier.Frontier

	mu      sync.Mutex               // held while queues are treated
	windows atomic.Pointer[[]string] // the windows of sheets that were open when queues were last treated
}

// now is what decides how queues are treated now, and the windows of sheets that are open.
func (t *Treatment) now() (treatment []byte, windows []string, err error) {
	sheets := t.Plan.Sheets()
	s, windows := sheets.Base(), sheets.Windows(t.Plan.now())
	treatment, err = json.Marshal([]any{s.HostValence, s.SessionBudget, s.TotalBudget, s.Precedence,
		s.Redacted().Sheets, windows})
	if err != nil {
		return nil, nil, fmt.Errorf("encode how queues are treated: %w", err)
	}
	return treatment, windows, nil
}

// Begin keeps how the queues of a new crawl are treated.
func (t *Treatment) Begin() error {
	if before, err := t.Frontier.Value(ValuePolicy); err != nil || before != nil {
		return err
	}
	now, _, err := t.now()
	if err != nil {
		return err
	}
	t.Frontier.SetValue(ValuePolicy, now)
	return nil
}

// Apply has the frontier treat its queues otherwise than it does, if they are to be.
func (t *Treatment) Apply(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, windows, err := t.now()
	if err != nil {
		return err
	}
	before, err := t.Frontier.Value(ValuePolicy)
	if err != nil {
		return err
	}
	t.windows.Store(&windows)
	if bytes.Equal(before, now) {
		return nil
	}
	t.Frontier.SetValue(ValuePolicy, []byte("under way")) // begun again if it is interrupted
	if err := t.Frontier.Repolicy(ctx); err != nil {
		return err
	}
	t.Frontier.SetValue(ValuePolicy, now)
	return nil
}

// Applied tells whether the queues were treated since the crawl was opened.
func (t *Treatment) Applied() bool { return t.windows.Load() != nil }

// Keep applies the settings again if a sheet's time window opened or closed since the queues were last treated, even
// before the first look.
func (t *Treatment) Keep(ctx context.Context) error {
	treated := t.windows.Load()
	if treated == nil || slices.Equal(t.Plan.Windows(), *treated) {
		return nil
	}
	return t.Apply(ctx)
}
