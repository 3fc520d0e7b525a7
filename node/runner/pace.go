package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast/catalog"
	"holdfast/crawler/pace"
	"holdfast/node/wire"
)

// Every so often it is looked who lives; in the first moments of a process, all members are thought to.
const (
	paceEvery  = 2 * time.Second
	paceUnsure = 10 * time.Second
)

// paceHomes reaches the homes of hosts on other nodes.
type paceHomes struct{ caller wire.Caller }

func (h paceHomes) Ask(ctx context.Context, node string, asks []pace.Ask) ([]pace.Answer, error) {
	return wire.Ask[[]pace.Answer](ctx, h.caller, catalog.NodeID(node), PaceCall, asks)
}

// AnswerPace answers another node's call for turns at hosts that have their home here.
func (c *Runner) AnswerPace() wire.Handler {
	return wire.Answer(PaceCall, func(_ context.Context, _ catalog.NodeID, asks []pace.Ask) ([]pace.Answer, error) {
		return c.paceHome.Serve(asks, time.Now()), nil
	})
}

// Pace keeps this node's jobs polite together with those of the others.
func (c *Runner) Pace(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- c.pacer.Run(ctx) }()
	tick := time.NewTicker(paceEvery)
	defer tick.Stop()
	for {
		news := c.cfg.News()
		living, cutOff, err := c.crawlingNodes()
		switch {
		case err != nil:
			c.log.Warn("who crawls is not known", "error", err)
		case len(living) > 0:
			c.pacer.SetLiving(living, cutOff, time.Now())
		}
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		case <-news:
		}
	}
}

// crawlingNodes returns who lives, and how many nodes that do not seem to have a job and may be crawling it, cut off.
// It returns nobody while the catalog here does not show this node itself: there may be others that it does not show
// either.
func (c *Runner) crawlingNodes() (living []string, cutOff int, err error) {
	alive := c.cfg.Alive()
	err = c.cfg.Agreement.View(func(v catalog.View) error {
		members, err := v.Members()
		if err != nil {
			return err
		}
		listed := map[catalog.NodeID]bool{c.cfg.Self: true}
		if !slices.ContainsFunc(members, func(m catalog.Member) bool { return m.ID == c.cfg.Self }) {
			return nil
		}
		for _, m := range members {
			if alive[m.ID] || time.Since(c.started) < paceUnsure {
				listed[m.ID] = true
			}
		}
		for id := range listed {
			living = append(living, string(id))
		}
		slices.Sort(living)
		running, err := v.RunningNodes()
		for _, node := range running {
			if !listed[node] {
				cutOff++
			}
		}
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("look who crawls: %w", err)
	}
	return living, cutOff, nil
}

// jobPace is one attempt's part in it.
type jobPace struct {
	pacer *pace.Pacer
	job   string
}

func (p jobPace) Admit(host string) pace.Grant { return p.pacer.Admit(p.job, host) }

func (p jobPace) Done(host string, rest time.Duration) { p.pacer.Done(p.job, host, rest) }
