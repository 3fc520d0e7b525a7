package notices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/alert"
	"holdfast/catalog"
	agreed "holdfast/catalog/notices"
	"holdfast/duty"
	"holdfast/notice"
)

// Letter is a notice with where it goes.
type Letter struct {
	To      agreed.Address
	Cluster string // the cluster's id
	Message notice.Message
}

// deliverDue delivers the notices that are due and that this node can deliver.
func (n *Notices) deliverDue(ctx context.Context) error {
	var due []duty.Delivery
	err := n.cfg.Agreement.View(func(v catalog.View) error {
		members, err := v.Members()
		if err == nil {
			due, err = duty.NoticesDue(v, duty.Noticing{Now: n.cfg.Now(), Zones: n.cfg.Zones, Can: n.cfg.Post.Can,
				Turn: duty.Turn(members, n.cfg.Self, n.cfg.Alive)})
		}
		return err
	})
	for i := range due {
		d := &due[i]
		n.inBackground(d.Address.Name+"/"+d.Notice.ID, func() { n.deliver(ctx, d) })
	}
	return err
}

// deliver claims a notice, and has agreed how its delivery ended.
func (n *Notices) deliver(ctx context.Context, d *duty.Delivery) {
	log := n.cfg.Log.With("address", d.Address.Name, "notice", d.Notice.ID)
	result, err := n.cfg.Agreement.Propose(ctx, agreed.Claim, agreed.Claiming{Notice: d.Notice, Node: n.cfg.Self},
		string(n.cfg.Self))
	var claimed agreed.Notice
	if err == nil && result.Refusal == nil {
		err = json.Unmarshal(result.Value, &claimed)
	}
	if err != nil || result.Refusal != nil { // another node has it, or nobody decides now
		log.Debug("notice not claimed", "error", err, "refusal", result.Refusal)
		return
	}
	how := agreed.Outcome{Address: claimed.Address, ID: claimed.ID, Node: n.cfg.Self, Tries: claimed.Tries}
	letter, err := n.letter(d.Address, &claimed)
	if err == nil {
		err = n.send(ctx, letter)
	}
	if err != nil {
		if ctx.Err() != nil {
			return // it may have arrived: who claims it next sends it with the same id
		}
		log.Warn("notice not accepted", "try", claimed.Tries, "error", err)
		how.Failed = err.Error()
	} else {
		log.Info("notice sent", "try", claimed.Tries)
	}
	n.mu.Lock()
	n.owed = append(n.owed, how)
	n.mu.Unlock()
	if err := n.settleOwed(ctx); err != nil && ctx.Err() == nil {
		log.Debug("it is not agreed yet that a notice was sent", "error", err)
	}
}

func (n *Notices) send(ctx context.Context, letter *Letter) error {
	limited, cancel := context.WithTimeout(ctx, deliverTime)
	defer cancel()
	return n.cfg.Post.Deliver(limited, letter)
}

// settleOwed has agreed how tries ended. What cannot be agreed now is kept.
func (n *Notices) settleOwed(ctx context.Context) error {
	n.mu.Lock()
	owed := n.owed
	n.owed = nil
	n.mu.Unlock()
	for i, o := range owed {
		if _, err := n.propose(ctx, agreed.Settle, o); err != nil {
			n.mu.Lock()
			n.owed = append(n.owed, owed[i:]...)
			n.mu.Unlock()
			return fmt.Errorf("settle a notice: %w", err)
		}
	}
	return nil
}

// letter puts together what a notice says.
func (n *Notices) letter(to agreed.Address, claimed *agreed.Notice) (*Letter, error) {
	out := &Letter{To: to, Message: notice.Message{ID: claimed.ID, Node: n.cfg.Name, Test: claimed.Test,
		At: claimed.Due.Std()}}
	err := n.cfg.Agreement.View(func(v catalog.View) error {
		c, err := v.Cluster()
		if err != nil {
			return err
		}
		out.Cluster, out.Message.Cluster = c.ID, c.Name
		// The address as it is now: it may have changed, or be gone.
		if out.To, err = catalog.NoticesIn(v).Address(to.Name); err != nil {
			return err
		}
		for _, it := range claimed.Items {
			f, err := catalog.NoticesIn(v).Fault(it.Of)
			if errors.Is(err, catalog.ErrNotFound) {
				f = agreed.Fault{Of: it.Of}
			} else if err != nil {
				return err
			}
			is := notice.Item{Alert: duty.AlertOf(&f)}
			if it.Cleared {
				is.Cleared = f.Cleared.Std()
			}
			out.Message.News = append(out.Message.News, is)
		}
		if claimed.Report {
			out.Message.Report, err = n.dayOf(v, &out.To, claimed)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("put a notice together: %w", err)
	}
	return out, nil
}

// lastingMost is how many alerts that last a report lists.
const lastingMost = 200

// dayOf is what a report tells beside the news.
func (n *Notices) dayOf(v catalog.View, to *agreed.Address, claimed *agreed.Notice) (*notice.Report, error) {
	in := catalog.NoticesIn(v)
	state, err := in.State(to)
	if err != nil {
		return nil, err
	}
	out := &notice.Report{From: state.Last.Std()}
	out.Done, out.Failed, out.AtLeast, err = duty.JobsEnded(v, state.Last, to.Collection)
	if err != nil {
		return nil, err
	}
	news := map[string]bool{}
	for _, it := range claimed.Items {
		news[it.Key()] = true
	}
	faults, err := in.Faults()
	if err != nil {
		return nil, err
	}
	for i := range faults {
		f := &faults[i]
		where, err := catalog.AlertWhere(v, f.Of)
		if err != nil {
			return nil, err
		}
		if !f.Open() || news[f.Key()] || !duty.Passes(to, f.Of, f.Severity, where) {
			continue
		}
		if len(out.Lasting) == lastingMost {
			out.More++
			continue
		}
		is := notice.Item{Alert: duty.AlertOf(f)}
		ack, known, err := in.Acknowledged(f.Of, catalog.At(n.cfg.Now()))
		if err != nil {
			return nil, err
		}
		if known {
			who, err := catalog.PeopleIn(v).ActorName(ack.By)
			if err != nil {
				return nil, err
			}
			is.Acknowledged, is.Until = alert.Plain(who+": "+ack.Note), ack.Until.Std()
		}
		out.Lasting = append(out.Lasting, is)
	}
	return out, nil
}
