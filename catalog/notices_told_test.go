package catalog_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/notices"
)

func mailTo(name string) notices.Address {
	return notices.Address{Name: name, Way: notices.Mail, To: []string{"ops@example.org"}, Language: "en", When: notices.AtOnce}
}

// told is what an address was told of a fault.
func (c *town) told(name string, of notices.Of) notices.Told {
	c.t.Helper()
	a, err := c.wire().Address(name)
	if err != nil {
		c.t.Fatal(err)
	}
	all, err := c.wire().Told(of)
	if err != nil {
		c.t.Fatal(err)
	}
	return all[a.Number]
}

// claims lets a node claim a notice; the refusal's code, if there is one.
func (c *town) claims(node string, n notices.Notice) (notices.Notice, catalog.Code) {
	c.t.Helper()
	r := c.by(node, notices.Claim, notices.Claiming{Node: id(node), Notice: n})
	if r.Refusal != nil {
		return n, r.Refusal.Code
	}
	if err := json.Unmarshal(r.Value, &n); err != nil {
		c.t.Fatal(err)
	}
	return n, ""
}

func (c *town) settles(node string, o notices.Outcome) *catalog.Refusal {
	c.t.Helper()
	o.Node = id(node)
	return c.by(node, notices.Settle, o).Refusal
}

func TestAddresses(t *testing.T) {
	c := newswire(t)
	good := mailTo("ops")
	with := func(change func(*notices.Address)) notices.Setting {
		a := good
		change(&a)
		return notices.Setting{Address: a}
	}
	for name, bad := range map[string]notices.Setting{
		"no name":         with(func(a *notices.Address) { a.Name = "" }),
		"a path":          with(func(a *notices.Address) { a.Name = "a/b" }),
		"no way":          with(func(a *notices.Address) { a.Way = "pigeon" }),
		"no recipient":    with(func(a *notices.Address) { a.To = nil }),
		"no mail address": with(func(a *notices.Address) { a.To = []string{"ops"} }),
		"a header":        with(func(a *notices.Address) { a.To = []string{"a@example.org\r\nBcc: b@example.org"} }),
		"two in one":      with(func(a *notices.Address) { a.To = []string{"a@example.org,b"} }),
		"a list in one":   with(func(a *notices.Address) { a.To = []string{"a@example.org;b@example.org"} }),
		"severity":        with(func(a *notices.Address) { a.Least = "worst" }),
		"kinds":           with(func(a *notices.Address) { a.Kinds = []string{"Disk low"} }),
		"no language":     with(func(a *notices.Address) { a.Language = "" }),
		"never":           with(func(a *notices.Address) { a.When = "never" }),
		"no hour":         with(func(a *notices.Address) { a.When = notices.Daily }),
		"25 o'clock":      with(func(a *notices.Address) { a.When, a.Hour = notices.Daily, "25:00" }),
		"hour at once":    with(func(a *notices.Address) { a.Hour = "07:30" }),
		"zone":            with(func(a *notices.Address) { a.Zone = "a b" }),
		"mail inside":     with(func(a *notices.Address) { a.Inside = true }),
		"no secret":       with(func(a *notices.Address) { a.Way, a.To = notices.Webhook, []string{"https://example.org"} }),
		"a path in clear": with(func(a *notices.Address) { a.Way, a.To = notices.Webhook, []string{"https://example.org/secret"} }),
		"two nodes":       with(func(a *notices.Address) { a.Way, a.To = notices.Standard, []string{"a", "b"} }),
		"sealed to none": with(func(a *notices.Address) {
			a.Way, a.To, a.Sealed = notices.Webhook, []string{"https://example.org"}, &notices.Sealed{ID: "x", Text: []byte("x")}
		}),
	} {
		t.Run(name, func(t *testing.T) { (&town{c.cluster, t}).refused(catalog.Invalid, local, notices.Create, bad) })
	}
	c.does(local, notices.Create, notices.Setting{Address: good})
	c.refused(catalog.Conflict, local, notices.Create, notices.Setting{Address: good})
	c.refused(catalog.Conflict, local, notices.Set, notices.Setting{Address: good}) // of another version
	c.refused(catalog.NotFound, local, notices.Remove, notices.Ref{Name: "none"})
	next := good
	next.Version, next.Least = 1, "bad"
	c.does(local, notices.Set, notices.Setting{Address: next})
	if a, err := c.wire().Address("ops"); err != nil || a.Version != 2 || a.Least != "bad" || a.Number != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	for i := range notices.MostAddresses - 1 {
		c.does(local, notices.Create, notices.Setting{Address: mailTo(fmt.Sprint("a", i))})
	}
	c.refused(catalog.Conflict, local, notices.Create, notices.Setting{Address: mailTo("more")})
}

// A notice is claimed by one node, is tried with pauses that grow, and is told once.
func TestANoticeIsToldOnce(t *testing.T) {
	c := newswire(t)
	c.does(local, notices.Create, notices.Setting{Address: mailTo("ops")})
	c.reports("north-1", raised(diskLow))
	item := notices.Item{Of: diskLow, Round: 1}
	n := notices.Notice{Address: "ops", ID: "n1", Items: []notices.Item{item}, Due: c.now}
	for what, bad := range map[string]notices.Notice{
		"no items":            {Address: "ops", ID: "x", Due: c.now},
		"a report":            {Address: "ops", ID: "x", Due: c.now, Report: true, Items: n.Items},
		"of another round":    {Address: "ops", ID: "x", Due: c.now, Items: []notices.Item{{Of: diskLow, Round: 2}}},
		"that is not over":    {Address: "ops", ID: "x", Due: c.now, Items: []notices.Item{{Of: diskLow, Round: 1, Cleared: true}}},
		"that there is not":   {Address: "ops", ID: "x", Due: c.now, Items: []notices.Item{{Of: noQuorum, Round: 1}}},
		"to nobody":           {Address: "none", ID: "x", Due: c.now, Items: n.Items},
		"of a time to come":   {Address: "ops", ID: "x", Due: c.now + days, Items: n.Items},
		"of what is no name ": {Address: "ops", ID: "a/b", Due: c.now, Items: n.Items},
	} {
		if _, code := c.claims("north-1", bad); code == "" {
			t.Errorf("a notice %s is claimed", what)
		}
	}
	got, code := c.claims("north-1", n)
	if code != "" || got.Tries != 1 || got.Node != id("north-1") {
		t.Fatalf("%+v, %s", got, code)
	}
	if _, code := c.claims("south-1", n); code != catalog.Conflict {
		t.Errorf("claimed by two: %q", code)
	}
	other := n
	other.ID = "n2"
	if _, code := c.claims("south-1", other); code != catalog.Conflict {
		t.Errorf("told twice under two ids: %q", code)
	}
	if r := c.settles("south-1", notices.Outcome{Address: "ops", ID: "n1", Tries: 1, Failed: "x"}); r == nil {
		t.Error("another node says that the try failed")
	}
	first := got.First
	for tries, last := 1, catalog.Time(0); ; tries++ { // the receiver refuses for three days
		if r := c.settles("north-1", notices.Outcome{Address: "ops", ID: "n1", Tries: tries, Failed: "mailbox full"}); r != nil {
			t.Fatal(r)
		}
		again, err := c.wire().Notice("ops", "n1")
		if err != nil {
			if c.now-first < notices.TryFor || c.now-first > notices.TryFor+2*60*60*1000 {
				t.Errorf("given up after %d h", (c.now-first)/3600000)
			}
			break
		}
		if pause := again.Next - c.now; pause < last || pause > 60*60*1000 || again.ID != "n1" || !slices.Equal(again.Items, n.Items) {
			t.Fatalf("%+v: paused %d after %d", again, pause, last)
		} else {
			last = pause
		}
		if tries == 3 { // the node that claimed it is gone
			if _, code := c.claims("south-1", n); code == "" {
				t.Error("claimed before the next try")
			}
		}
		c.now = again.Next
		if again, code := c.claims("north-1", n); code != "" || again.Tries != tries+1 {
			t.Fatalf("%+v, %s", again, code)
		}
	}
	a, _ := c.wire().Address("ops")
	if s, err := c.wire().State(&a); err != nil || s.GivenUp == 0 || s.Lost != 1 || s.Reason != "mailbox full" || s.Told != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if told := c.told("ops", diskLow); told.Round != 1 || !told.Lost {
		t.Errorf("%+v", told)
	}
	if _, code := c.claims("north-1", other); code != catalog.Conflict {
		t.Errorf("what was given up begins again: %q", code)
	}
	c.reports("north-1", nil, notices.Clearing{Of: diskLow})
	over := notices.Notice{Address: "ops", ID: "n3", Due: c.now, Items: []notices.Item{{Of: diskLow, Round: 1, Cleared: true}}}
	if _, code := c.claims("south-1", over); code != "" {
		t.Fatal(code)
	}
	c.now += notices.ClaimLasts
	if again, code := c.claims("north-1", over); code != "" || again.Tries != 2 { // the first one did not say how it ended
		t.Fatal(code)
	}
	for range 2 { // and says it now; and the second, too
		if r := c.settles("south-1", notices.Outcome{Address: "ops", ID: "n3"}); r != nil {
			t.Fatal(r)
		}
	}
	if told := c.told("ops", diskLow); !told.Cleared || told.Lost {
		t.Errorf("%+v", told)
	}
	if s, err := c.wire().State(&a); err != nil || s.GivenUp != 0 || s.Lost != 1 || s.Told != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	under, err := c.wire().Notices(&a)
	if err != nil || len(under) != 0 {
		t.Errorf("%+v, %v", under, err)
	}
}

// An address that is made again with an old name is told what the old one was told, and gets nothing of it.
func TestANewAddressInheritsNothing(t *testing.T) {
	c := newswire(t)
	c.does(local, notices.Create, notices.Setting{Address: mailTo("ops")})
	c.reports("north-1", raised(diskLow))
	n := notices.Notice{Address: "ops", ID: "n1", Items: []notices.Item{{Of: diskLow, Round: 1}}, Due: c.now}
	c.claims("north-1", n)
	c.settles("north-1", notices.Outcome{Address: "ops", ID: "n1"})
	c.does(local, notices.Test, notices.Testing{Name: "ops", ID: "t"})
	c.does(local, notices.Remove, notices.Ref{Name: "ops"})
	c.does(local, notices.Create, notices.Setting{Address: mailTo("ops")})
	a, err := c.wire().Address("ops")
	if err != nil {
		t.Fatal(err)
	}
	if under, err := c.wire().Notices(&a); err != nil || len(under) > 0 || c.told("ops", diskLow).Round != 0 {
		t.Errorf("%+v, %v, %+v", under, err, c.told("ops", diskLow))
	}
	if r := c.settles("north-1", notices.Outcome{Address: "ops", ID: "t", Tries: 1, Failed: "x"}); r == nil {
		t.Error("a try of the old address's test ends at the new one")
	}
	n.ID = "n2"
	if _, code := c.claims("north-1", n); code != "" {
		t.Errorf("the new address is not told: %s", code)
	}
}

// A test is tried once, and its outcome can be looked at for an hour.
func TestTestsOfAnAddress(t *testing.T) {
	c := newswire(t)
	c.does(local, notices.Create, notices.Setting{Address: mailTo("ops")})
	c.does(local, notices.Test, notices.Testing{Name: "ops", ID: "t1"})
	c.refused(catalog.Conflict, local, notices.Test, notices.Testing{Name: "ops", ID: "t2"})
	if n, code := c.claims("north-1", notices.Notice{Address: "ops", ID: "t1"}); code != "" || !n.Test {
		t.Fatalf("%+v %s", n, code)
	}
	c.settles("north-1", notices.Outcome{Address: "ops", ID: "t1", Tries: 1, Failed: "no such host"})
	if n, err := c.wire().Notice("ops", "t1"); err != nil || n.GivenUp == 0 || n.Reason != "no such host" || !n.Ended() {
		t.Errorf("%+v, %v", n, err)
	}
	a, _ := c.wire().Address("ops")
	if s, err := c.wire().State(&a); err != nil || s.GivenUp != 0 {
		t.Errorf("a test counts as a notice that was lost: %+v, %v", s, err)
	}
	c.now += notices.ClaimLasts
	if _, code := c.claims("south-1", notices.Notice{Address: "ops", ID: "t1"}); code != catalog.Conflict {
		t.Errorf("a test is tried again: %s", code)
	}
	c.does(local, notices.Test, notices.Testing{Name: "ops", ID: "t2"})
	if _, err := c.wire().Notice("ops", "t1"); err == nil {
		t.Error("two outcomes are kept")
	}
	c.now += notices.TestKept
	c.by("north-1", notices.Drop, notices.Dropping{Tests: []notices.NoticeRef{{Address: "ops", ID: "t2"}}})
	if _, err := c.wire().Notice("ops", "t2"); err == nil {
		t.Error("an old outcome is kept")
	}
}

// A report of a day is made once for each day.
func TestReportsOfADay(t *testing.T) {
	c := newswire(t)
	a := mailTo("morning")
	a.When, a.Hour, a.Zone = notices.Daily, "07:30", "Europe/Copenhagen"
	c.does(local, notices.Create, notices.Setting{Address: a})
	n := notices.Notice{Address: "morning", ID: "d1", Report: true, Due: c.now + 60_000}
	c.now += 60_000
	if _, code := c.claims("north-1", n); code != "" {
		t.Fatal(code)
	}
	n.ID = "d2"
	if _, code := c.claims("south-1", n); code != catalog.Conflict {
		t.Errorf("two reports of a day: %q", code)
	}
	c.settles("north-1", notices.Outcome{Address: "morning", ID: "d1"})
	if _, code := c.claims("south-1", n); code != catalog.Conflict {
		t.Errorf("a report of a day that was told: %q", code)
	}
	n.Due = c.now + 1000
	c.now += 1000
	if _, code := c.claims("south-1", n); code != "" {
		t.Errorf("the next day's: %q", code)
	}
}

// Without a quorum a node tells by itself; afterwards that counts.
func TestWhatWasToldWithoutAQuorum(t *testing.T) {
	c := newswire(t)
	c.does(local, notices.Create, notices.Setting{Address: mailTo("ops")})
	round, err := c.wire().Round(noQuorum)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"north-1", "south-1"} { // each of them told of it, and says so
		r := raised(noQuorum)
		r[0].Round = round
		if refused := c.reports(node, r, notices.Clearing{Of: noQuorum, Round: round}); refused != nil {
			t.Fatal(refused)
		}
		if r := c.settles(node, notices.Outcome{Address: "ops", ID: "any", Items: []notices.Item{{Of: noQuorum, Round: round}}}); r != nil {
			t.Fatal(r)
		}
	}
	if f := c.fault(noQuorum); f.Round != round || f.Open() {
		t.Errorf("%+v", f)
	}
	if told := c.told("ops", noQuorum); told.Round != round || told.Cleared {
		t.Errorf("%+v", told)
	}
	if next, err := c.wire().Round(noQuorum); err != nil || next != round+1 {
		t.Errorf("the next round is %d, %v", next, err)
	}
	// What was never a fault is not told.
	c.settles("north-1", notices.Outcome{Address: "ops", ID: "any", Items: []notices.Item{{Of: diskLow, Round: 1}}})
	c.reports("north-1", raised(diskLow))
	if told := c.told("ops", diskLow); told.Round != 0 {
		t.Errorf("%+v", told)
	}
}

// No text of a webhook's secret comes into the trail.
func TestTrailOfAddresses(t *testing.T) {
	c := newswire(t)
	c.does(local, notices.Create, notices.Setting{Address: mailTo("ops")})
	c.does(local, notices.Test, notices.Testing{Name: "ops", ID: "t"})
	c.does(local, notices.Remove, notices.Ref{Name: "ops"})
	events, err := c.view().Trail(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var acts []string
	for _, e := range events {
		if strings.HasPrefix(e.Act, "notice.") {
			acts = append(acts, e.Act+" "+e.Subject+" "+e.Detail)
		}
	}
	want := []string{"notice.create ops way=mail to=ops@example.org when=at-once", "notice.test ops notice=t",
		"notice.remove ops way=mail to=ops@example.org when=at-once"}
	if !slices.Equal(acts, want) {
		t.Errorf("%q", acts)
	}
}
