package status

import (
	"context"
	"slices"
	"time"

	"holdfast/alert"
	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/wire"
)

// The kinds of calls by which nodes ask each other what they see, and how the backups of the catalog stand that they
// make. They are on the wire and keep their meaning.
const (
	AlertsCall  = "alerts"
	BackupsCall = "backups"
)

// alertsLimit is how long another node may take to answer.
const alertsLimit = 5 * time.Second

// Nodes asks the other members what they see, for the API.
type Nodes struct {
	Own *Node
	Ask wire.Caller // in the name of who asks
}

// Alerts asks every other member. None is waited for longer than alertsLimit.
func (n Nodes) Alerts(ctx context.Context) []api.NodeAlerts {
	ctx, cancel := context.WithTimeout(ctx, alertsLimit)
	defer cancel()
	self := n.Own.cfg.Self
	others := slices.DeleteFunc(slices.Clone(n.Own.cfg.Members()),
		func(m catalog.Member) bool { return m.ID == self })
	backups := make(chan []wire.Reply[catalog.Member, *api.BackupState], 1)
	go func() {
		backups <- wire.AskAll(ctx, n.Ask, self, others, BackupsCall, struct{}{},
			func(ctx context.Context) (*api.BackupState, error) { return n.ServeBackup(ctx, self, struct{}{}) })
	}()
	replies := wire.AskAll(ctx, n.Ask, self, others, AlertsCall, struct{}{},
		func(ctx context.Context) ([]alert.Alert, error) { return n.Serve(ctx, self, struct{}{}) })
	out := make([]api.NodeAlerts, len(replies))
	for i, r := range replies {
		out[i] = api.NodeAlerts{Node: r.To.ID, Name: r.To.Name, Err: r.Err}
		out[i].Alerts = alert.From(r.To.Name, time.Now(), r.Answer)
	}
	for i, r := range <-backups {
		out[i].Backup, out[i].BackupErr = r.Answer, r.Err
	}
	return out
}

// ServeBackup answers another node how this one's backups of the catalog stand; nil if it makes none by itself.
func (n Nodes) ServeBackup(context.Context, catalog.NodeID, struct{}) (*api.BackupState, error) {
	return n.Own.cfg.Backup(), nil
}

// Serve answers another node what this one sees.
func (n Nodes) Serve(ctx context.Context, _ catalog.NodeID, _ struct{}) ([]alert.Alert, error) {
	return alert.At(n.Own.cfg.Name, n.Own.Status(ctx).Alerts), nil
}
