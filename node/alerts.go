package node

import (
	"context"
	"sync"
	"time"

	"holdfast/alert"
	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/wire"
)

// alertCall is the kind of call by which nodes ask each other what they see. It is on the wire and keeps its meaning.
const alertCall = "alerts"

// alertLimit is how long another node may take to answer.
const alertLimit = 5 * time.Second

// watch remembers since when this node has seen its alerts.
type watch struct {
	mu sync.Mutex
	alert.Watch
}

func (w *watch) see(now time.Time, all []alert.Alert) []alert.Alert {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.See(now, all)
}

// alerts asks the other members what they see.
type alerts struct {
	others func() []catalog.NodeID
	name   func(catalog.NodeID) string
	ask    wire.Caller // in the name of who asks
	own    func(context.Context) []alert.Alert
}

// Alerts asks every other member. None is waited for longer than alertLimit.
func (a alerts) Alerts(ctx context.Context) []api.NodeAlerts {
	ctx, cancel := context.WithTimeout(ctx, alertLimit)
	defer cancel()
	replies := wire.Gather(a.others(), func(to catalog.NodeID) ([]alert.Alert, error) {
		return wire.Ask[[]alert.Alert](ctx, a.ask, to, alertCall, struct{}{})
	})
	out := make([]api.NodeAlerts, len(replies))
	for i, r := range replies {
		out[i] = api.NodeAlerts{Node: r.To, Name: a.name(r.To), Err: r.Err}
		out[i].Alerts = alert.From(out[i].Name, time.Now(), r.Answer)
	}
	return out
}

// serve answers another node what this one sees.
func (a alerts) serve(ctx context.Context, _ catalog.NodeID, _ struct{}) ([]alert.Alert, error) {
	return a.own(ctx), nil
}

// alertsOf returns what asks the other members in the name of who asks.
func alertsOf(n *Node) alerts {
	return alerts{others: n.roster.Others, name: n.roster.NameOf, ask: n.warrants.Caller(carrier{n.peer}),
		own: func(ctx context.Context) []alert.Alert { return alert.At(n.cfg.Name, n.Status(ctx).Alerts) }}
}
