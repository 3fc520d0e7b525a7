package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/notices"
)

const days = catalog.Time(24 * 60 * 60 * 1000)

// newswire is a town that tells people what goes wrong.
func newswire(t *testing.T) *town {
	t.Helper()
	c := newTown(t)
	c.raiseTo(t, notices.Level)
	return c
}

func (c *town) wire() notices.View { return catalog.NoticesIn(c.view()) }

// by applies a command as a member does in its own name.
func (c *town) by(node string, kind catalog.Kind, body any) catalog.Result {
	c.t.Helper()
	return c.send(c.t, catalog.Command{Kind: kind, Actor: string(id(node)), Node: id(node), Boot: 1, Seq: c.index}, body)
}

func (c *town) reports(node string, raised []notices.Raising, cleared ...notices.Clearing) *catalog.Refusal {
	c.t.Helper()
	return c.by(node, notices.Report, notices.Reporting{Node: id(node), Raised: raised, Cleared: cleared}).Refusal
}

func (c *town) fault(of notices.Of) notices.Fault {
	c.t.Helper()
	f, err := c.wire().Fault(of)
	if err != nil {
		c.t.Fatalf("%+v: %v", of, err)
	}
	return f
}

func raised(of notices.Of) []notices.Raising {
	return []notices.Raising{{Of: of, Severity: "bad", Parameters: map[string]string{"bytes": "5"}}}
}

var (
	diskLow  = notices.Of{Kind: "disk-low", Node: "north-1", Subject: "/data"}
	noQuorum = notices.Of{Kind: "no-quorum"}
)

func TestNoticesNeedLevelFive(t *testing.T) {
	c := newTown(t)
	c.raiseTo(t, 4)
	for _, kind := range []catalog.Kind{notices.Report, notices.Drop, notices.Acknowledge, notices.Withdraw, notices.Create, notices.Set,
		notices.Remove, notices.SealAgain, notices.Test, notices.Claim, notices.Settle} {
		c.refused(catalog.Unsupported, local, kind, map[string]any{})
	}
}

// A node reports what it alone sees; what all see, any member; what a member sees that is none any more, others clear.
func TestWhoReports(t *testing.T) {
	c := newswire(t)
	if r := c.reports("south-1", raised(diskLow)); r == nil || r.Code != catalog.Denied {
		t.Errorf("another node's disk is reported: %v", r)
	}
	if r := c.by("south-1", notices.Report, notices.Reporting{Node: id("north-1"), Raised: raised(diskLow)}).Refusal; r == nil || r.Code != catalog.Denied {
		t.Errorf("in another node's name: %v", r)
	}
	gone := notices.Of{Kind: "disk-low", Node: "sums-1", Subject: "/x"}
	for node, of := range map[string]notices.Of{"north-1": diskLow, "south-1": noQuorum, "sums-1": gone} {
		if r := c.reports(node, raised(of)); r != nil {
			t.Fatalf("%s: %v", node, r)
		}
	}
	if r := c.reports("north-1", nil, notices.Clearing{Of: gone}); r == nil || r.Code != catalog.Denied {
		t.Errorf("what a member sees is cleared by another: %v", r)
	}
	c.does(local, catalog.RemoveMember, catalog.MemberRemoval{ID: id("sums-1"), Lost: true})
	if r := c.reports("north-1", nil, notices.Clearing{Of: gone}); r != nil || openFault(c, gone) {
		t.Errorf("of a node that is removed: %v", r)
	}
}

// The same alert is a fault once; when it comes back it is another round, and a round that is known changes nothing,
// even after the fault was forgotten.
func TestRoundsOfAFault(t *testing.T) {
	c := newswire(t)
	begin := func(round uint64) {
		r := raised(diskLow)
		r[0].Round, r[0].Since = round, c.now-1000
		if refused := c.reports("north-1", r); refused != nil {
			t.Fatal(refused)
		}
	}
	end := func(round uint64) {
		if refused := c.reports("north-1", nil, notices.Clearing{Of: diskLow, Round: round}); refused != nil {
			t.Fatal(refused)
		}
	}
	is := func(round uint64, open bool) {
		t.Helper()
		if f := c.fault(diskLow); f.Round != round || f.Open() != open {
			t.Fatalf("%+v, want round %d, open %t", f, round, open)
		}
	}
	begin(0)
	is(1, true)
	since := c.fault(diskLow).Since
	begin(0)
	if f := c.fault(diskLow); f.Since != since {
		t.Errorf("since %d, was %d", f.Since, since)
	}
	end(1)
	is(1, false)
	begin(1) // a node counted it without a quorum, and others have, too
	is(1, false)
	begin(2)
	is(2, true)
	end(1) // another round
	is(2, true)
	end(2)
	forget := notices.Dropping{Faults: []notices.Of{diskLow}}
	c.by("north-1", notices.Drop, forget)
	is(2, false)
	c.now += notices.KeptFor
	c.by("north-1", notices.Drop, forget)
	if _, err := c.wire().Fault(diskLow); err == nil {
		t.Error("an old fault is kept")
	}
	if next, err := c.wire().Round(diskLow); err != nil || next != 3 {
		t.Errorf("the next round is %d, %v", next, err)
	}
	if next, err := c.wire().Round(noQuorum); err != nil || next != 3 {
		t.Errorf("the next round of another is %d, %v", next, err)
	}
	begin(2)
	if _, err := c.wire().Fault(diskLow); err == nil {
		t.Error("a round that was forgotten is counted again")
	}
	begin(0)
	is(3, true)
}

// Faults are bounded: beyond, they are not kept, and a place that becomes free is taken.
func TestFaultsAreBounded(t *testing.T) {
	c := newswire(t)
	all := make([]notices.Raising, 0, 100)
	for i := range notices.MostFaults + 1 {
		all = append(all, notices.Raising{Of: notices.Of{Kind: "job-held", Node: "north-1", Subject: fmt.Sprint(i)}, Severity: "look"})
		if len(all) == 100 || i == notices.MostFaults {
			if r := c.reports("north-1", all); r != nil {
				t.Fatal(r)
			}
			all = all[:0]
		}
	}
	if kept, err := c.wire().Faults(); err != nil || len(kept) != notices.MostFaults {
		t.Errorf("%d are kept, %v", len(kept), err)
	}
	first := notices.Of{Kind: "job-held", Node: "north-1", Subject: "0"}
	c.reports("north-1", nil, notices.Clearing{Of: first})
	c.now += notices.KeptFor
	c.by("north-1", notices.Drop, notices.Dropping{Faults: []notices.Of{first}})
	c.reports("north-1", raised(diskLow))
	if !openFault(c, diskLow) {
		t.Error("there is room, and a fault is not kept")
	}
}

func openFault(c *town, of notices.Of) bool {
	f, err := c.wire().Fault(of)
	return err == nil && f.Open()
}

// A fault is acknowledged by somebody, with a note, until a time; not longer than it lasts.
func TestAcknowledging(t *testing.T) {
	c := newswire(t)
	c.person("otto", operatorOne)
	otto := catalog.PersonID("otto").Actor()
	until := c.now + days
	ack := notices.Acknowledging{Of: diskLow, Note: "a new disk comes on Friday", Until: until}
	c.refused(catalog.NotFound, otto, notices.Acknowledge, ack)
	c.refused(catalog.NotFound, otto, notices.Withdraw, diskLow)
	c.reports("north-1", raised(diskLow))
	for name, bad := range map[string]notices.Acknowledging{
		"no note":       {Of: diskLow, Until: until},
		"a hidden note": {Of: diskLow, Note: "a\u202eb", Until: until},
		"in the past":   {Of: diskLow, Note: "x", Until: c.now - 5000},
		"for ever":      {Of: diskLow, Note: "x", Until: c.now + 200*days},
		"no kind":       {Note: "x", Until: until},
	} {
		if r := c.as(otto, notices.Acknowledge, bad); r == nil || r.Code != catalog.Invalid {
			t.Errorf("%s: %v", name, r)
		}
	}
	counts := func(at catalog.Time) bool {
		a, is, err := c.wire().Acknowledged(diskLow, at)
		if err != nil || is && (a.By != otto || a.Note != ack.Note || a.Until != until) {
			t.Errorf("%+v, %v", a, err)
		}
		return is
	}
	c.does(otto, notices.Acknowledge, ack)
	if !counts(c.now) || !counts(until-1) || counts(until) {
		t.Error("it does not count until the time that was said, and no longer")
	}
	c.does(otto, notices.Withdraw, diskLow)
	if counts(c.now) {
		t.Error("it was withdrawn, and counts")
	}
	c.does(otto, notices.Acknowledge, ack)
	c.reports("north-1", nil, notices.Clearing{Of: diskLow})
	c.reports("north-1", raised(diskLow))
	if counts(c.now) {
		t.Error("the fault came back, and is acknowledged still")
	}
	events, err := c.view().Trail(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var acts []string
	for _, e := range events {
		if e.Actor == otto && strings.HasPrefix(e.Act, "alert.") {
			acts = append(acts, e.Act+" "+e.Subject)
		}
	}
	if got := fmt.Sprint(acts); got != "[alert.acknowledge /data alert.withdraw /data alert.acknowledge /data]" {
		t.Errorf("the trail has %s", got)
	}
}

// What an alert is of decides who may acknowledge it, and whom an address is for, also when a member forwards it.
func TestWhoMayAcknowledgeAndKeepAddresses(t *testing.T) {
	c := newswire(t)
	c.person("anna", curatorWeb)
	c.person("berta", curator)
	c.person("otto", operatorOne)
	c.person("olga", catalog.Giving{Role: catalog.RoleOperator})
	job := fmt.Sprint(c.jobOf(t, "FOCUSED"))
	on := func(of notices.Of) any { return notices.Acknowledging{Of: of, Note: "x"} }
	to := func(a notices.Address) any { return notices.Setting{Address: a} }
	c.does(local, notices.Create, to(notices.Address{Name: "web", Way: notices.Mail, To: []string{"a@example.org"}, Language: "en", When: notices.AtOnce,
		Filter: notices.Filter{Collection: "web"}}))
	for _, tt := range []struct {
		what string
		kind catalog.Kind
		body any
		may  string
	}{
		{"a job of web", notices.Acknowledge, on(notices.Of{Kind: "job-held", Node: "south-1", Subject: job}), "anna berta olga"},
		{"a job that is gone", notices.Acknowledge, on(notices.Of{Kind: "job-held", Node: "south-1", Subject: "77"}), "berta olga"},
		{"failed jobs", notices.Acknowledge, on(notices.Of{Kind: "jobs-failed"}), "berta olga"},
		{"a disk in Northtown", notices.Acknowledge, on(diskLow), "otto olga"},
		{"a disk elsewhere", notices.Withdraw, notices.Of{Kind: "disk-low", Node: "south-1", Subject: "/"}, "olga"},
		{"a node in Northtown", notices.Acknowledge, on(notices.Of{Kind: "node-away", Subject: "north-1"}), "otto olga"},
		{"a replica in Northtown", notices.Acknowledge, on(notices.Of{Kind: "copies-disputed", Subject: "north"}), "otto olga"},
		{"no quorum", notices.Acknowledge, on(noQuorum), "olga"},
		{"a later program's", notices.Acknowledge, on(notices.Of{Kind: "of-the-future", Subject: job}), "olga"},
		{"an address for web", notices.Create, to(notices.Address{Name: "n", Filter: notices.Filter{Collection: "web"}}), "anna berta olga"},
		{"for radio, that was for web", notices.Set, to(notices.Address{Name: "web", Filter: notices.Filter{Collection: "radio"}}), "berta olga"},
		{"for all", notices.Create, to(notices.Address{Name: "n"}), "berta olga"},
		{"inside", notices.Create, to(notices.Address{Name: "n", Inside: true, Filter: notices.Filter{Collection: "web"}}), "olga"},
		{"to remove that for web", notices.Remove, notices.Ref{Name: "web"}, "anna berta olga"},
		{"to test that for web", notices.Test, notices.Testing{Name: "web", ID: "x"}, "anna berta olga"},
		{"to test none", notices.Test, notices.Testing{Name: "none", ID: "x"}, "berta olga"},
	} {
		text, err := json.Marshal(tt.body)
		if err != nil {
			t.Fatal(err)
		}
		for _, who := range []catalog.PersonID{"anna", "berta", "otto", "olga"} {
			err := c.people().Vouch(id("south-1"), &catalog.Command{Kind: tt.kind, Actor: who.Actor(), Body: text}, "", c.now)
			if want := strings.Contains(tt.may, string(who)); (err == nil) != want {
				t.Errorf("%s by %s: %v", tt.what, who, err)
			}
		}
		if err := c.people().Vouch(id("south-1"), &catalog.Command{Kind: tt.kind, Actor: string(id("south-1")), Body: text}, "", c.now); err == nil {
			t.Errorf("%s by a node", tt.what)
		}
	}
	for _, kind := range []catalog.Kind{notices.Report, notices.Claim, notices.Settle, notices.Drop, notices.SealAgain} {
		if err := c.people().Vouch(id("south-1"), &catalog.Command{Kind: kind, Actor: catalog.PersonID("olga").Actor(), Body: []byte("{}")}, "", c.now); err == nil {
			t.Errorf("%s by a person", kind)
		}
	}
}
