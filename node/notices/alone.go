package notices

import (
	"context"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	agreed "holdfast/catalog/notices"
	"holdfast/duty"
	"holdfast/notice"
)

// alone is what a node tells by itself while there is no quorum. It is not kept over a restart: what it tells again
// then has the same id.
type alone struct {
	tries map[string]int       // by id
	next  map[string]time.Time // by id; far away: it was told
	told  []ownTelling         // that is not agreed yet
}

// ownTelling is what was told, and of which alert.
type ownTelling struct {
	raised agreed.Raising
	how    agreed.Outcome
}

func newAlone() alone { return alone{tries: map[string]int{}, next: map[string]time.Time{}} }

// tellAlone reports what this node sees, once for each fault and address. The sends are one after the other, and a
// node without a quorum has nothing else to do here.
func (n *Notices) tellAlone(ctx context.Context, seen []alert.Alert) error {
	now := n.cfg.Now()
	var due []duty.Delivery
	var cluster catalog.Cluster
	err := n.cfg.Agreement.View(func(v catalog.View) (err error) {
		if cluster, err = v.Cluster(); err == nil {
			due, err = duty.NoticesAlone(v, duty.Noticing{Now: now, Zones: n.cfg.Zones, Can: n.cfg.Post.Can}, seen)
		}
		return err
	})
	if err != nil {
		return err
	}
	byKey := make(map[string]alert.Alert, len(seen))
	for _, a := range seen {
		byKey[duty.OfAlert(a).Key()] = a
	}
	for i := range due {
		d := &due[i]
		id := d.Address.Name + "/" + d.Notice.ID
		if now.Before(n.alone.next[id]) || n.cfg.Quorum() {
			continue
		}
		it := d.Notice.Items[0]
		a := byKey[it.Key()]
		err := n.send(ctx, &Letter{To: d.Address, Cluster: cluster.ID, Message: notice.Message{ID: d.Notice.ID,
			Cluster: cluster.Name, Node: n.cfg.Name, Alone: true, At: now, News: []notice.Item{{Alert: a}}}})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n.alone.tries[id]++
		if err != nil {
			pause := agreed.Pause(n.alone.tries[id])
			n.alone.next[id] = now.Add(time.Duration(pause) * time.Millisecond)
			n.cfg.Log.Warn("notice not accepted, without a quorum", "address", d.Address.Name, "notice", d.Notice.ID,
				"error", err)
			continue
		}
		n.cfg.Log.Info("notice sent without a quorum", "address", d.Address.Name, "notice", d.Notice.ID)
		n.alone.next[id] = now.AddDate(100, 0, 0)
		r := agreed.Raising{Of: it.Of, Severity: string(a.Severity), Parameters: a.Parameters, Round: it.Round}
		if !a.Since.IsZero() {
			r.Since = catalog.At(a.Since)
		}
		n.alone.told = append(n.alone.told, ownTelling{r, agreed.Outcome{Address: d.Address.Name, ID: d.Notice.ID,
			Node: n.cfg.Self, Items: d.Notice.Items}})
	}
	return nil
}

// settleAlone has agreed what was told without a quorum, so that nobody tells it again. That the faults are over is for
// those to say who no longer see them.
func (n *Notices) settleAlone(ctx context.Context) error {
	for len(n.alone.told) > 0 {
		t := &n.alone.told[0]
		if t.raised.Node == "" || t.raised.Node == n.cfg.Name {
			_, err := n.propose(ctx, agreed.Report, agreed.Reporting{Node: n.cfg.Self,
				Raised: []agreed.Raising{t.raised}})
			if err != nil {
				return err
			}
		}
		if _, err := n.propose(ctx, agreed.Settle, t.how); err != nil {
			return err
		}
		n.alone.told = n.alone.told[1:]
	}
	n.alone = newAlone()
	return nil
}
