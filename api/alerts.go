package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/alert"
	"holdfast/api/wire"
	"holdfast/catalog"
	notified "holdfast/catalog/notices"
	rights "holdfast/catalog/people"
)

// watchEvery is how often it is looked for alerts when nobody asks.
const watchEvery = time.Minute

// NodeAlerts are what a node sees, or why it did not say so.
type NodeAlerts struct {
	Node   catalog.NodeID
	Name   string
	Alerts []alert.Alert
	Err    error

	Backup    *BackupState // that it makes by itself; nil: none, or BackupErr says why that is not known
	BackupErr error
}

// Alerts asks what the other nodes see.
type Alerts interface {
	Alerts(ctx context.Context) []NodeAlerts // of every other member, including those that do not answer
}

// watch remembers since when alerts were seen here.
type watch struct {
	mu sync.Mutex
	alert.Watch
}

func (w *watch) see(now time.Time, all []alert.Alert) []alert.Alert {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.See(now, all)
}

func (s alerts) routes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/alerts", id: "alert-list",
		tag:     "status",
		summary: "List what a person should know of, as all nodes see it; nodes that do not answer are named"},
		func(ctx context.Context, _ *struct{}) (wire.Alerts, error) {
			return s.list(ctx)
		})
	type acknowledge struct{ Body wire.AcknowledgeRequest }
	handle(s.server, api, route{act: rights.Acknowledge, method: http.MethodPost, path: "/api/v1/alerts/acknowledge",
		id: "alert-acknowledge", once: true, tag: "status",
		summary: "Say that you know of an alert, until a time or until it is over; notices of it rest meanwhile"},
		func(ctx context.Context, in *acknowledge) (wire.Acknowledgement, error) {
			return s.acknowledge(ctx, &in.Body)
		})
	type withdraw struct{ Body wire.AlertRef }
	register(s.server, api, route{act: rights.Acknowledge, method: http.MethodPost, path: "/api/v1/alerts/withdraw",
		id: "alert-withdraw", once: true, tag: "status", status: http.StatusNoContent,
		summary: "Withdraw the acknowledgement of an alert"},
		func(ctx context.Context, in *withdraw) (*struct{}, error) {
			of := faultOf(&in.Body)
			if err := s.mayAcknowledge(ctx, of); err != nil {
				return nil, err
			}
			return nil, s.decide(ctx, notified.Withdraw, of, nil)
		})
}

func faultOf(a *wire.AlertRef) notified.Of {
	return notified.Of{Kind: a.Kind, Node: a.Node, Subject: a.Subject}
}

// mayAcknowledge refuses a caller who has no right to what the alert is about.
func (s alerts) mayAcknowledge(ctx context.Context, of notified.Of) error {
	var act catalog.Act
	var where catalog.Where
	err := s.Catalog.View(func(v catalog.View) (err error) {
		act, where, err = catalog.AcknowledgingAct(v, of)
		return err
	})
	if err != nil {
		return err
	}
	return may(ctx, act, where)
}

func (s alerts) acknowledge(ctx context.Context, in *wire.AcknowledgeRequest) (out wire.Acknowledgement, err error) {
	of := faultOf(&in.AlertRef)
	if err := s.mayAcknowledge(ctx, of); err != nil {
		return out, err
	}
	asked := notified.Acknowledging{Of: of, Note: in.Note, Until: timeOf(in.Until)}
	if err := s.decide(ctx, notified.Acknowledge, asked, nil); err != nil {
		return out, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		is, err := acknowledgement(v, of, catalog.At(s.now()))
		if err == nil && is == nil {
			err = fmt.Errorf("alert %s: %w: it was over just then", of.Kind, ErrNotFound)
		}
		if err == nil {
			out = *is
		}
		return err
	})
	return out, err
}

// acknowledgement returns who has acknowledged the alert, nil if nobody has.
func acknowledgement(v catalog.View, of notified.Of, now catalog.Time) (*wire.Acknowledgement, error) {
	a, is, err := catalog.NoticesIn(v).Acknowledged(of, now)
	if err != nil || !is {
		return nil, err
	}
	name, err := catalog.PeopleIn(v).ActorName(a.By)
	return &wire.Acknowledgement{By: name, At: std(a.At), Until: std(a.Until), Note: a.Note}, err
}

// recall adds to alerts who knows of them, and since when they are, as far as that is agreed.
func (s *server) recall(all []wire.Alert) error {
	now := catalog.At(s.now())
	return s.own.View(func(v catalog.View) error {
		for i := range all {
			a := &all[i]
			of := notified.Of{Kind: a.Kind, Node: a.Node, Subject: a.Subject}
			f, err := catalog.NoticesIn(v).Fault(of)
			if errors.Is(err, catalog.ErrNotFound) || err == nil && !f.Open() {
				continue
			}
			if err != nil {
				return err
			}
			if since := std(f.Since); a.Since.IsZero() || since.Before(a.Since) {
				a.Since = since
			}
			if a.Acknowledged, err = acknowledgement(v, of, now); err != nil {
				return err
			}
		}
		return nil
	})
}

// list asks the nodes, and adds what this one reads in the agreed state and hears of the others.
func (s alerts) list(ctx context.Context) (wire.Alerts, error) {
	out := wire.Alerts{At: s.now().UTC(), Silent: []wire.SilentNode{}}
	st, agreed, own, err := s.overview(ctx)
	if err != nil {
		return out, err
	}
	out.Backups = []wire.NodeBackup{{Node: st.Node.ID, Name: st.Node.Name, State: st.Node.Backup}}
	lists := [][]alert.Alert{agreed, own}
	for _, n := range s.nodes.Alerts(ctx) {
		out.Backups = append(out.Backups, backupOf(n))
		if n.Err != nil {
			out.Silent = append(out.Silent, wire.SilentNode{Node: string(n.Node), Name: n.Name,
				Reason: alert.Plain(n.Err.Error())})
			continue
		}
		lists = append(lists, n.Alerts)
	}
	slices.SortFunc(out.Silent, func(a, b wire.SilentNode) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(out.Backups, func(a, b wire.NodeBackup) int { return cmp.Compare(a.Name, b.Name) })
	out.Items = shownAlerts(alert.Merge(lists...))
	return out, s.recall(out.Items)
}

// backupOf is what a node said of its backups, or why it did not.
func backupOf(n NodeAlerts) wire.NodeBackup {
	one := wire.NodeBackup{Node: string(n.Node), Name: n.Name, State: n.Backup}
	if n.BackupErr != nil {
		one.State, one.Silent, one.Reason = nil, true, alert.Plain(n.BackupErr.Error())
	}
	return one
}

// watchAlerts looks for alerts until ctx ends, so that it is known since when they are there.
func (s *server) watchAlerts(ctx context.Context) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		if _, _, _, err := s.overview(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("alerts cannot be looked for", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

func shownAlerts(all []alert.Alert) []wire.Alert {
	out := make([]wire.Alert, len(all))
	for i, a := range all {
		out[i] = wire.Alert{Kind: string(a.Kind), Severity: string(a.Severity), Subject: a.Subject, Node: a.Node,
			Parameters: a.Parameters, Since: a.Since.UTC(), Text: a.Text()}
		if a.Since.IsZero() {
			out[i].Since = time.Time{}
		}
	}
	return out
}

// agreedAlerts lists what is wrong by the agreed state.
func agreedAlerts(v catalog.View, now time.Time) (out []alert.Alert, err error) {
	unserved, err := v.Unserved()
	if err != nil {
		return nil, err
	}
	for _, u := range unserved {
		out = append(out, alert.New(alert.ChannelUnserved, fmt.Sprint(u.Channel), "jobs", fmt.Sprint(u.Jobs)))
	}
	old, err := ledgersOld(v, now)
	if err != nil {
		return nil, err
	}
	out = append(out, old...)
	jobs, err := v.Newest(catalog.JobFailed, failedShown)
	return append(out, failedSince(jobs, catalog.At(now.Add(-24*time.Hour)))...), err
}

// failedShown is how many failed jobs are looked at for those that failed recently.
const failedShown = 1000

// failedSince says which jobs have failed recently and wait for somebody to decide about them.
func failedSince(jobs []catalog.Job, since catalog.Time) []alert.Alert {
	failed := slices.DeleteFunc(slices.Clone(jobs), func(j catalog.Job) bool {
		return j.State != catalog.JobFailed || j.Wish == catalog.WishStop || j.Ended < since
	})
	if len(failed) == 0 {
		return nil
	}
	return []alert.Alert{alert.New(alert.JobsFailed, "", "jobs", alert.Number(len(failed)),
		"job", alert.Number(failed[0].ID), "reason", failed[0].Why())}
}

// majorityAt returns the place with which the majority of voters would be lost although there are three places, or "".
func majorityAt(nodes []wire.Node) string {
	places, voters, all := map[string]bool{}, map[string]int{}, 0
	for _, n := range nodes {
		if !n.OutOnly {
			places[n.Place] = true
		}
		if n.Presence.Voter {
			voters[n.Place]++
			all++
		}
	}
	for place, count := range voters {
		if len(places) >= 3 && all > 1 && 2*count > all {
			return place
		}
	}
	return ""
}

// clusterAlerts lists what is wrong with the nodes and replicas, worst first.
func clusterAlerts(st wire.Status) []alert.Alert {
	var out []alert.Alert
	if !st.Cluster.Quorum {
		out = append(out, alert.New(alert.NoQuorum, ""))
	}
	for _, n := range st.Nodes {
		if state := n.Presence.State; state != "alive" {
			out = append(out, alert.New(alert.NodeAway, n.Name, "state", state))
		}
	}
	out = append(out, behind(st.Nodes)...)
	if place := majorityAt(st.Nodes); place != "" {
		out = append(out, alert.New(alert.PlaceMajority, place))
	}
	for _, r := range st.Replicas {
		if r.Disputed > 0 {
			out = append(out, alert.New(alert.CopiesDisputed, r.Name, "copies", fmt.Sprint(r.Disputed)))
		}
		if r.Away > 0 {
			out = append(out, alert.New(alert.CopiesAway, r.Name, "copies", fmt.Sprint(r.Away)))
		}
		if !slices.ContainsFunc(st.Nodes, func(n wire.Node) bool { return n.Replica == r.Name }) {
			out = append(out, alert.New(alert.ReplicaWithoutNode, r.Name))
		} else if r.Files > 0 && r.Held < catalog.Shards {
			out = append(out, alert.New(alert.ShardsWithoutHolder, r.Name,
				"shards", alert.Number(catalog.Shards-r.Held)))
		}
	}
	return out
}

// behind lists the nodes that are alive and run an older version than others. Versions of programs that were not
// released are not compared.
func behind(nodes []wire.Node) (out []alert.Alert) {
	var newest [3]int
	text := ""
	for i := range nodes {
		if v, released := releaseOf(&nodes[i]); released && slices.Compare(v[:], newest[:]) > 0 {
			newest, text = v, nodes[i].Presence.Version
		}
	}
	for i := range nodes {
		if v, released := releaseOf(&nodes[i]); released && v != newest {
			out = append(out, alert.New(alert.VersionBehind, nodes[i].Name, "version", nodes[i].Presence.Version,
				"newest", text))
		}
	}
	return out
}

// releaseOf returns the version of a node that is alive, and false if it is not that of a release.
func releaseOf(n *wire.Node) (v [3]int, released bool) {
	count, err := fmt.Sscanf(n.Presence.Version, "v%d.%d.%d", &v[0], &v[1], &v[2])
	return v, count == 3 && err == nil && n.Presence.State == "alive" &&
		n.Presence.Version == fmt.Sprintf("v%d.%d.%d", v[0], v[1], v[2])
}
