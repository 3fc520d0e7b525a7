package duty

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/notices"
)

// Times of notices.
const (
	// toldAfter is how long a fault lasts before somebody is told of it at once.
	toldAfter = catalog.Time(time.Minute / time.Millisecond)
	// toldAgain is how long an address is not told at once again of what went away and came back.
	toldAgain = catalog.Time(time.Hour / time.Millisecond)
	// turnTakes is how long a node has the right of way for a notice before the next in turn.
	turnTakes = 15 * time.Second
	// unservedAfter is how long a notice may wait for a node that delivers it.
	unservedAfter = 30 * time.Minute
	// oneByOne is how many faults are told one by one; more are told together.
	oneByOne = notices.MostNotices
)

// Noticing is what notices are decided from, beside the agreed state.
type Noticing struct {
	Now   time.Time
	Zones func(string) (*time.Location, error)
	Can   func(*notices.Address) bool // whether this node can deliver to the address
	// Turn says how many nodes go before this one for a notice. nil: none.
	Turn func(notice string) int
}

// Delivery is a notice that is to be claimed, and where it goes.
type Delivery struct {
	Notice  notices.Notice
	Address notices.Address
}

// NoticesDue lists the notices that a node may claim now: new ones, and those that wait for their next try. A fault is
// told once to each address whose filter it passes, unless it is acknowledged.
func NoticesDue(view catalog.View, with Noticing) (out []Delivery, err error) {
	v := catalog.NoticesIn(view)
	addresses, err := v.Addresses()
	if err != nil || len(addresses) == 0 {
		return nil, err
	}
	cluster, err := view.Cluster()
	if err != nil {
		return nil, err
	}
	faults, err := findFaults(view, catalog.At(with.Now))
	if err != nil {
		return nil, err
	}
	for i := range addresses {
		a := &addresses[i]
		if !with.Can(a) {
			continue
		}
		d := dueTo{Noticing: with, a: a, cluster: cluster.ID, now: catalog.At(with.Now)}
		all, err := d.find(v, faults)
		if err != nil {
			return nil, err
		}
		out = append(out, all...)
	}
	return out, nil
}

// known is a fault with what is looked up of it.
type known struct {
	notices.Fault
	where        catalog.Where
	told         map[uint64]notices.Told
	acknowledged bool
}

func findFaults(view catalog.View, now catalog.Time) ([]known, error) {
	v := catalog.NoticesIn(view)
	faults, err := v.Faults()
	if err != nil {
		return nil, err
	}
	out := make([]known, len(faults))
	for i := range faults {
		k := known{Fault: faults[i]}
		if k.where, err = catalog.AlertWhere(view, k.Of); err != nil {
			return nil, err
		}
		if k.told, err = v.Told(k.Of); err != nil {
			return nil, err
		}
		if _, k.acknowledged, err = v.Acknowledged(k.Of, now); err != nil {
			return nil, err
		}
		out[i] = k
	}
	slices.SortStableFunc(out, func(a, b known) int { return cmp.Compare(a.Raised, b.Raised) })
	return out, nil
}

// Passes reports whether an address is told of such a fault that is about these collections and places.
func Passes(a *notices.Address, of notices.Of, severity string, where catalog.Where) bool {
	switch {
	case len(a.Kinds) > 0 && !slices.Contains(a.Kinds, of.Kind),
		a.Least == "bad" && severity != "bad",
		a.Collection != "" && !slices.Contains(where.Collections, catalog.CollectionName(a.Collection)),
		a.Place != "" && !slices.Contains(where.Places, a.Place):
		return false
	}
	return !strings.HasPrefix(of.Kind, "notice-") || of.Subject != a.Name // that it cannot be told of itself
}

// dueTo finds what is due to one address.
type dueTo struct {
	Noticing
	a       *notices.Address
	cluster string
	now     catalog.Time
}

func (d *dueTo) find(v notices.View, faults []known) (out []Delivery, err error) {
	under, err := v.Notices(d.a)
	if err != nil {
		return nil, err
	}
	waiting := 0
	for i := range under {
		n := &under[i]
		if n.Ended() {
			continue
		}
		if !n.Test {
			waiting++
		}
		if d.turn(n.ID, n.Next) {
			out = append(out, Delivery{*n, *d.a})
		}
	}
	if d.a.When != notices.AtOnce && waiting > 0 || waiting >= notices.MostNotices {
		return out, nil
	}
	state, err := v.State(d.a)
	if err != nil {
		return nil, err
	}
	boundary, err := d.boundary()
	if err != nil || d.a.When != notices.AtOnce && boundary <= state.Last {
		return out, err
	}
	items := d.items(faults, under, boundary)
	for _, n := range d.notices(items, boundary, notices.MostNotices-waiting) {
		if d.turn(n.ID, boundary) {
			out = append(out, Delivery{n, *d.a})
		}
	}
	return out, nil
}

// boundary is the time until which a notice tells what came.
func (d *dueTo) boundary() (catalog.Time, error) {
	switch d.a.When {
	case notices.Hourly:
		return catalog.At(d.Now.Truncate(time.Hour)), nil
	case notices.Daily:
		zone, err := d.Zones(d.a.Zone)
		if err != nil {
			zone = time.UTC // a node without this zone still tells
		}
		var hour, minute int
		if _, err := fmt.Sscanf(d.a.Hour, "%2d:%2d", &hour, &minute); err != nil {
			return 0, fmt.Errorf("address %s: hour %q: %w", d.a.Name, d.a.Hour, err)
		}
		local := d.Now.In(zone)
		at := time.Date(local.Year(), local.Month(), local.Day(), hour, minute, 0, 0, zone)
		if at.After(d.Now) {
			at = time.Date(local.Year(), local.Month(), local.Day()-1, hour, minute, 0, 0, zone)
		}
		return catalog.At(at), nil
	}
	return d.now, nil
}

// item is what is to be told, and since when.
type item struct {
	notices.Item
	since catalog.Time
}

// items lists what the address was not told of.
func (d *dueTo) items(faults []known, under []notices.Notice, boundary catalog.Time) (out []item) {
	for i := range faults {
		k := &faults[i]
		told, last := k.told[d.a.Number], item{Item: notices.Item{Of: k.Of, Round: k.Round}}
		if !Passes(d.a, k.Of, k.Severity, k.where) || !d.tells(k, told, &last, boundary) {
			continue
		}
		if !slices.ContainsFunc(under, func(n notices.Notice) bool { return slices.Contains(n.Items, last.Item) }) {
			out = append(out, last)
		}
	}
	return out
}

// tells reports whether the address is to be told of the fault now, and fills in what.
func (d *dueTo) tells(k *known, told notices.Told, it *item, boundary catalog.Time) bool {
	known := told.Round == k.Round
	if !k.Open() {
		it.Cleared, it.since = true, k.Cleared
		brief := !known && d.a.When == notices.AtOnce // it was over before somebody was told
		return d.a.Cleared && !told.Cleared && !(known && told.Lost) && !brief && k.Cleared <= boundary &&
			(known || k.Raised >= d.a.Created)
	}
	if known || k.acknowledged {
		return false
	}
	if d.a.When != notices.AtOnce {
		it.since = k.Raised
		return k.Raised <= boundary
	}
	it.since = k.Raised + toldAfter
	if told.Round != 0 {
		it.since = max(it.since, told.At+toldAgain)
	}
	return it.since <= d.now
}

// notices makes notices of items, at most n.
func (d *dueTo) notices(items []item, boundary catalog.Time, n int) (out []notices.Notice) {
	if d.a.When == notices.AtOnce && len(items) <= min(oneByOne, n) {
		for _, it := range items {
			out = append(out, d.notice([]item{it}, it.since))
		}
		return out
	}
	if d.a.When == notices.AtOnce && len(items) > 0 || d.a.When == notices.Hourly && len(items) > 0 ||
		d.a.When == notices.Daily {
		due := boundary
		if d.a.When == notices.AtOnce {
			due = items[0].since
		}
		out = append(out, d.notice(items[:min(len(items), catalog.MaxItems)], due))
	}
	return out
}

func (d *dueTo) notice(items []item, due catalog.Time) notices.Notice {
	n := notices.Notice{Address: d.a.Name, Report: d.a.When == notices.Daily, Due: due}
	for _, it := range items {
		n.Items = append(n.Items, it.Item)
	}
	n.ID = NoticeID(d.cluster, d.a, &n)
	return n
}

// NoticeID is the id of a notice: the same for the same notice on every node, and however often it is tried.
func NoticeID(cluster string, a *notices.Address, n *notices.Notice) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00%d\x00", cluster, a.Number)
	if n.Report {
		fmt.Fprintf(sum, "report %d", n.Due)
	} else {
		for i := range n.Items {
			fmt.Fprintf(sum, "%s %d %t\x00", n.Items[i].Key(), n.Items[i].Round, n.Items[i].Cleared)
		}
	}
	return "msg_" + hex.EncodeToString(sum.Sum(nil)[:16])
}

// turn reports whether it is this node's turn for a notice that is due since then.
func (d *dueTo) turn(id string, since catalog.Time) bool {
	before := 0
	if d.Turn != nil {
		before = d.Turn(id)
	}
	return since+catalog.Time(time.Duration(before)*turnTakes/time.Millisecond) <= d.now
}

// Turn returns how many of the living members go before node self for a notice.
func Turn(members []catalog.Member, self catalog.NodeID, alive Alive) func(notice string) int {
	return func(notice string) (before int) {
		own := rank(string(self), notice)
		for i := range members {
			id := members[i].ID
			if id != self && alive(id) && rank(string(id), notice) < own {
				before++
			}
		}
		return before
	}
}
