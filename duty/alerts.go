package duty

import (
	"slices"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/catalog/notices"
)

// mostOfANode is how many alerts of one node are faults at a time. The bad ones come first.
const mostOfANode = 100

// Watching is what a node knows of alerts, beside the agreed state.
type Watching struct {
	Node  string // its name
	Leads bool   // it reports, too, what all nodes see
	Seen  []alert.Alert
	// Gone reports whether an alert with this key has not been seen for long enough to be over.
	Gone func(key string) bool
}

// AlertsToReport lists which alerts began and ended, as far as node self is to say so; at most catalog.MaxItems.
func AlertsToReport(view catalog.View, self catalog.NodeID, with Watching) (notices.Reporting, error) {
	out := notices.Reporting{Node: self}
	faults, err := catalog.NoticesIn(view).Faults()
	if err != nil {
		return out, err
	}
	open := make(map[string]bool, len(faults))
	mine := 0
	for i := range faults {
		if f := &faults[i]; f.Open() {
			open[f.Key()] = true
			if f.Node == with.Node {
				mine++
			}
		}
	}
	seen := map[string]bool{}
	for _, a := range alert.Merge(with.Seen) {
		of := OfAlert(a)
		key := of.Key()
		seen[key] = true
		if open[key] || a.Node != with.Node && (a.Node != "" || !with.Leads) {
			continue
		}
		if a.Node != "" {
			if mine >= mostOfANode {
				continue
			}
			mine++
		}
		if len(out.Raised) < catalog.MaxItems {
			out.Raised = append(out.Raised, notices.Raising{Of: of, Severity: string(a.Severity),
				Parameters: a.Parameters, Since: since(a)})
		}
	}
	members, err := view.Members()
	if err != nil {
		return out, err
	}
	for i := range faults {
		f := &faults[i]
		if !f.Open() || seen[f.Key()] || !with.Gone(f.Key()) {
			continue
		}
		ours := f.Node == with.Node || with.Leads && (f.Node == "" ||
			!slices.ContainsFunc(members, func(m catalog.Member) bool { return m.Name == f.Node }))
		if ours && len(out.Raised)+len(out.Cleared) < catalog.MaxItems {
			out.Cleared = append(out.Cleared, notices.Clearing{Of: f.Of, Round: f.Round})
		}
	}
	return out, nil
}

// OfAlert returns what names an alert in the catalog.
func OfAlert(a alert.Alert) notices.Of {
	return notices.Of{Kind: string(a.Kind), Node: a.Node, Subject: a.Subject}
}

func since(a alert.Alert) catalog.Time {
	if a.Since.IsZero() {
		return 0
	}
	return catalog.At(a.Since)
}

// AlertOf returns the alert that a fault is.
func AlertOf(f *notices.Fault) alert.Alert {
	return alert.Alert{Kind: alert.Kind(f.Kind), Severity: alert.Severity(f.Severity), Subject: f.Subject,
		Node: f.Node, Parameters: f.Parameters, Since: f.Since.Std()}
}

// OldNotices lists what need not be kept any more; at most catalog.MaxItems.
func OldNotices(view catalog.View, now time.Time) (out notices.Dropping, err error) {
	v, at := catalog.NoticesIn(view), catalog.At(now)
	faults, err := v.Faults()
	if err != nil {
		return out, err
	}
	for i := range faults {
		f := &faults[i]
		if !f.Open() && at-f.Cleared >= notices.KeptFor && len(out.Faults) < catalog.MaxItems/2 {
			out.Faults = append(out.Faults, f.Of)
		}
	}
	addresses, err := v.Addresses()
	if err != nil {
		return out, err
	}
	for i := range addresses {
		all, err := v.Notices(&addresses[i])
		if err != nil {
			return out, err
		}
		for _, n := range all {
			if n.Test && at-n.First >= notices.TestKept && len(out.Tests) < catalog.MaxItems/2 {
				out.Tests = append(out.Tests, notices.NoticeRef{Address: n.Address, ID: n.ID})
			}
		}
	}
	return out, nil
}

// NoticeAlerts says which addresses do not get what they are to be told: their receivers have refused it for days, or
// no node delivers to them.
func NoticeAlerts(view catalog.View, now time.Time, zones func(string) (*time.Location, error)) ([]alert.Alert, error) {
	v := catalog.NoticesIn(view)
	addresses, err := v.Addresses()
	if err != nil || len(addresses) == 0 {
		return nil, err
	}
	var out []alert.Alert
	for i := range addresses {
		state, err := v.State(&addresses[i])
		if err != nil {
			return nil, err
		}
		if state.GivenUp != 0 {
			out = append(out, alert.New(alert.NoticeUndelivered, addresses[i].Name, "reason", state.Reason))
		}
	}
	late, err := NoticesDue(view, Noticing{Now: now.Add(-unservedAfter), Zones: zones,
		Can: func(*notices.Address) bool { return true }})
	unserved := map[string]bool{}
	for _, d := range late {
		if !unserved[d.Address.Name] && !d.Notice.Test {
			unserved[d.Address.Name] = true
			out = append(out, alert.New(alert.NoticeUnserved, d.Address.Name, "way", string(d.Address.Way)))
		}
	}
	return out, err
}

// AddressSecret is the secret of an address whose boxes are not those of the members.
type AddressSecret struct {
	Address string
	Sealed  notices.Sealed
	To      []catalog.Member // that have no box yet; none: only that boxes are to go
}

// AddressSecrets lists the secrets of addresses that node self has to seal again: for a member that joined or has a new
// key, or to remove the boxes of those that may no longer open them. Of the nodes that can do it, the first living one
// does. It seals only to nodes that may allows.
func AddressSecrets(view catalog.View, self catalog.NodeID, alive, may func(catalog.NodeID) bool) ([]AddressSecret,
	error) {
	addresses, err := catalog.NoticesIn(view).Addresses()
	if err != nil || len(addresses) == 0 {
		return nil, err
	}
	members, err := view.Members()
	if err != nil {
		return nil, err
	}
	var out []AddressSecret
	for i := range addresses {
		x := addresses[i].Sealed
		if x == nil {
			continue
		}
		due, boxes, first := AddressSecret{Address: addresses[i].Name, Sealed: *x}, 0, catalog.NodeID("")
		for j := range members {
			m := &members[j]
			switch {
			case m.Seal == nil:
			case x.Box(m) == nil:
				if may(m.ID) {
					due.To = append(due.To, *m)
				}
			default:
				boxes++
				if first == "" && (m.ID == self || alive(m.ID)) {
					first = m.ID
				}
			}
		}
		if first == self && self != "" && (len(due.To) > 0 || boxes < len(x.Boxes)) {
			out = append(out, due)
		}
	}
	return out, nil
}
