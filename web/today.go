package web

import (
	"context"
	"slices"
	"time"

	"holdfast/alert"
	"holdfast/api/wire"
	"holdfast/client"
)

// Of the jobs that were created in the last week, as many of each state are looked at for what ended since yesterday.
const (
	lookBack  = 7 * 24 * time.Hour
	mostEnded = 500
	yesterday = 24 * time.Hour
)

// shownAlerts and shownFailed are how many of them the page lists.
const (
	shownAlerts = 10
	shownFailed = 5
)

// todayPage is what the first page shows. What is nil is not known.
type todayPage struct {
	Since   time.Time         `json:"since"`
	Looked  time.Time         `json:"lookedFrom"` // jobs that were created earlier do not count
	Done    *ended            `json:"cameIn"`
	Failed  *ended            `json:"failed"`
	Alerts  *wire.Alerts      `json:"alerts"`
	Running *wire.RunningJobs `json:"running"`
	Safe    safety            `json:"safe"`
	Audit   *wire.Audit       `json:"lastAudit"`   // the newest that ended; nil also if there is none
	Audited bool              `json:"auditsKnown"` // all audits were looked at
	Backups []backupLine      `json:"backups"`     // of the answering node alone if others were not asked
}

// ended are the jobs of a state that ended since yesterday.
type ended struct {
	Jobs    int        `json:"jobs"`
	Objects int64      `json:"objects"`
	Bytes   int64      `json:"bytes"`
	Files   int64      `json:"files"`
	More    bool       `json:"more"` // there are more jobs than were looked at: these are the least
	First   []wire.Job `json:"first"`
	Usual   *usualDay  `json:"usual"` // nil: not known, or not asked for
}

// add counts the jobs of a page that ended after since.
func (e *ended) add(p wire.Page[wire.Job], since time.Time) {
	e.More = p.Next != ""
	e.First = []wire.Job{}
	for _, j := range p.Items {
		if j.Ended.Before(since) {
			continue
		}
		e.Jobs++
		e.Objects += j.Stats.Objects
		e.Bytes += j.Stats.Bytes
		e.Files += int64(j.Stats.Files)
		if len(e.First) < shownFailed {
			j.Seeds, j.Settings = nil, nil
			e.First = append(e.First, j)
		}
	}
}

func showToday(ctx context.Context, v *visit) (any, error) {
	v.offer("archive-now")
	v.live = true
	p := &todayPage{Since: v.now.Add(-yesterday), Looked: v.now.Add(-lookBack)}
	for state, to := range map[wire.JobState]**ended{wire.JobDone: &p.Done, wire.JobFailed: &p.Failed} {
		name := "web.part-done"
		if state == wire.JobFailed {
			name = "web.part-failed"
		}
		v.ask(ctx, name, soon, func(ctx context.Context) error {
			q := client.JobQuery{State: state, From: p.Looked}
			found, err := v.api.Jobs().Page(ctx, q, client.Place{Limit: mostEnded})
			if err == nil {
				*to = &ended{}
				(*to).add(found, p.Since)
				if state == wire.JobDone {
					(*to).compare(found, p.Since)
				}
			}
			return err
		})
	}
	askAlerts(ctx, v, &p.Alerts)
	askRunning(ctx, v, &p.Running)
	v.ask(ctx, "web.part-audits", later, func(ctx context.Context) error {
		found, err := v.api.Audits().Page(ctx, "", "", client.Place{Limit: 20})
		if err != nil {
			return err
		}
		p.Audited = found.Next == "" && len(found.Silent) == 0 // else another one may have ended
		for i := range found.Items {
			if a := &found.Items[i]; !a.Ended.IsZero() && p.Audit == nil {
				p.Audit = a
			}
		}
		return nil
	})
	p.Safe = judge(v.known(), p.Alerts)
	p.Backups = backupLines(v.known(), p.Alerts)
	return p, nil
}

func askAlerts(ctx context.Context, v *visit, to **wire.Alerts) {
	v.ask(ctx, "web.part-alerts", later, func(ctx context.Context) error {
		found, err := v.api.Alerts(ctx)
		if err == nil {
			*to = &found
		}
		return err
	})
}

func askRunning(ctx context.Context, v *visit, to **wire.RunningJobs) {
	v.ask(ctx, "web.part-running", later, func(ctx context.Context) error {
		found, err := v.api.Jobs().Running(ctx)
		if err == nil {
			*to = &found
		}
		return err
	})
}

// backupLine says how the backups of the catalog stand that a node makes.
type backupLine struct {
	Node   string            `json:"node"`  // empty: no node that answered makes any
	State  *wire.BackupState `json:"state"` // nil: it makes none by itself
	Silent bool              `json:"silent"`
}

// shownBackups is of how many nodes the page tells the last backup at most.
const shownBackups = 10

// backupLines are those of the nodes that make backups, the newest first, and of those that did not say. Of a node that
// did not answer nothing is known: it is named, and counts as none.
func backupLines(st *wire.Status, alerts *wire.Alerts) (out []backupLine) {
	if alerts == nil || len(alerts.Backups) == 0 {
		if st != nil {
			out = append(out, backupLine{Node: st.Node.Name, State: st.Node.Backup})
		}
		return out
	}
	var silent []backupLine
	for _, b := range alerts.Backups {
		switch {
		case b.Silent:
			silent = append(silent, backupLine{Node: called(b.Name, b.Node), Silent: true})
		case b.State != nil:
			out = append(out, backupLine{Node: called(b.Name, b.Node), State: b.State})
		}
	}
	slices.SortStableFunc(out, func(a, b backupLine) int { return b.State.Newest.Compare(a.State.Newest) })
	out = out[:min(len(out), shownBackups)]
	if len(out) == 0 {
		out = append(out, backupLine{})
	}
	return append(out, silent...)
}

// Bad and Look count the alerts of a severity.
func (p *todayPage) Bad() (n int) { return severe(p.Alerts, alert.Bad) }

// Look counts those that wait for a person.
func (p *todayPage) Look() int { return severe(p.Alerts, alert.Look) }

// toldWaiting is of how many proposals that wait the nodes tell at most.
const toldWaiting = 20

// Waiting counts the proposals that wait for a second person, by the alerts about them.
func (p *todayPage) Waiting() (n int) {
	if p.Alerts == nil {
		return 0
	}
	for _, a := range p.Alerts.Items {
		if a.Kind == string(alert.ApprovalWaits) {
			n++
		}
	}
	return n
}

// MoreWait reports whether there may be more of them.
func (p *todayPage) MoreWait() bool { return p.Waiting() >= toldWaiting }

func severe(all *wire.Alerts, s alert.Severity) (n int) {
	if all == nil {
		return 0
	}
	for _, a := range all.Items {
		if a.Severity == string(s) {
			n++
		}
	}
	return n
}

// First are the alerts that the page lists.
func (p *todayPage) First() []wire.Alert {
	return p.Alerts.Items[:min(len(p.Alerts.Items), shownAlerts)]
}

// safety is what can be said of the copies. All is only true if everybody answered and nothing is wrong.
type safety struct {
	Known    bool  `json:"known"`
	All      bool  `json:"allVerified"`
	Empty    bool  `json:"empty"`  // no copy has to be there: nothing is verified, and nothing is wrong
	Copies   int64 `json:"copies"` // verified
	Owed     int64 `json:"owed"`
	Disputed int64 `json:"disputed"`
	Unheld   int   `json:"shardsWithoutHolder"`
	Lost     int   `json:"filesLost"`
	// What keeps the answer from being whole.
	NoQuorum bool  `json:"noQuorum"`          // what is agreed may be out of date
	Away     int   `json:"nodesAway"`         // their copies cannot be read now
	OnAway   int64 `json:"copiesOnAwayDisks"` // of the verified copies, those on disks that are away
	Unasked  bool  `json:"nodesNotAsked"`     // what nodes alone see is not known
	Silent   int   `json:"nodesSilent"`       // of those that were asked
}

// judge says how safe the copies are. Nothing is safe because nobody answered.
func judge(st *wire.Status, alerts *wire.Alerts) (s safety) {
	if st == nil {
		return s
	}
	s.Known, s.Lost, s.NoQuorum, s.Unasked = true, st.Lost, !st.Cluster.Quorum, alerts == nil
	var files int64
	whole := true
	for _, r := range st.Replicas {
		files += r.Files
		whole = whole && r.Good == r.Files
		s.Copies += r.Good - r.Away
		s.OnAway += r.Away
		s.Owed += r.Owed
		s.Disputed += r.Disputed
		s.Unheld += wire.Shards - r.Held
	}
	for _, n := range st.Nodes {
		if n.Presence.State != "alive" {
			s.Away++
		}
	}
	if alerts != nil {
		s.Silent = len(alerts.Silent)
	}
	calm := len(st.Replicas) > 0 && whole && s.Owed+s.Disputed+s.OnAway == 0 &&
		s.Unheld+s.Lost+s.Away+s.Silent == 0 && !s.NoQuorum && !s.Unasked
	s.All, s.Empty = calm && files > 0, calm && files == 0
	return s
}
