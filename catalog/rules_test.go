package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	policy "holdfast/access"
	"holdfast/catalog"
	"holdfast/catalog/rules"
)

func ruleOf(prefix string, decision policy.Decision) rules.Asked {
	return rules.Asked{Rule: policy.Rule{Prefix: prefix, Access: decision, Message: "by order"}, Reason: "case 7"}
}

// denied reports whether a command in somebody's name is refused.
func (c *town) denied(t *testing.T, actor string, kind catalog.Kind, body any) bool {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	cmd := catalog.Command{Version: 1, Kind: kind, Actor: actor, Node: id("south-1"), Body: raw}
	return c.people().Vouch(id("south-1"), &cmd, "", c.now) != nil
}

// TestAccessRulesAreKept adds, changes and removes rules; the trail says by whom, and both reasons.
func TestAccessRulesAreKept(t *testing.T) {
	c := newTown(t)
	c.raiseTo(t, rules.Level)
	c.person("anna", curator)
	c.person("berta", catalog.Giving{Role: catalog.RoleReader})
	anna, berta := catalog.PersonID("anna").Actor(), catalog.PersonID("berta").Actor()
	view := func() rules.View { return catalog.RulesIn(c.view()) }
	two := rules.Adding{Rules: []rules.Asked{ruleOf("com,example", policy.Block), ruleOf("org,", policy.Exclude)}}
	if !c.denied(t, berta, rules.Add, two) || !c.denied(t, "person:nobody", rules.Remove, rules.Removing{}) || c.denied(t, anna, rules.Add, two) {
		t.Error("who may keep rules is not who has the role curator for the whole archive")
	}
	c.does(anna, rules.Add, two)
	if e := c.lastEvent(t, string(rules.Add)); e.Actor != anna || e.Subject != "2" || !strings.Contains(e.Detail, "message=by order") ||
		!strings.Contains(e.Detail, "reason=case 7") || !strings.Contains(e.Detail, "access=exclude prefix=org,") {
		t.Errorf("the trail has %+v", e)
	}
	changing := rules.Changing{Number: 1, Version: 1, Asked: ruleOf("com,example)/a", policy.Allow)}
	c.does(anna, rules.Change, changing)
	c.refused(catalog.Conflict, anna, rules.Change, changing)
	c.refused(catalog.NotFound, anna, rules.Change, rules.Changing{Number: 9, Version: 1, Asked: changing.Asked})
	if e := c.lastEvent(t, string(rules.Change)); !strings.Contains(e.Detail, "before: access=block prefix=com,example ") {
		t.Errorf("the trail has %+v", e)
	}
	r, err := view().Rule(1)
	if err != nil || r.Version != 2 || r.By != anna || r.Maker != anna || r.Prefix != "com,example)/a" || r.Made == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	c.refused(catalog.Conflict, anna, rules.Remove, rules.Removing{Rules: []rules.Ref{{Number: 2}, {Number: 1, Version: 1}}})
	if n, err := view().State(); err != nil || n.Count != 2 {
		t.Errorf("%+v, %v", n, err)
	}
	c.does(anna, rules.Remove, rules.Removing{Rules: []rules.Ref{{Number: 1, Version: 2}}, Reason: "settled"})
	c.does(anna, rules.Add, rules.Adding{Rules: []rules.Asked{ruleOf("net,", policy.Block)}})
	p, all, err := view().Policy()
	if err != nil || len(all) != 2 || all[1].Number != 3 || p.Rules[0].Prefix != "org," || p.Rules[1].Prefix != "net," {
		t.Errorf("%+v, %v", all, err)
	}
	if n, err := view().State(); err != nil || n != (rules.State{Last: 3, Count: 2, Version: 4}) {
		t.Errorf("%+v, %v", n, err)
	}
}

// TestARebuiltCatalogMayBeShut: rules that are lost are not taken for rules that never were.
func TestARebuiltCatalogMayBeShut(t *testing.T) {
	for _, shut := range []bool{false, true} {
		c := rebuilding(t, 1000)
		c.must(t, catalog.EndRebuild, catalog.Rebuilt{Summary: "x", Shut: shut})
		p, _, err := catalog.RulesIn(c.view()).Policy()
		if err != nil {
			t.Fatal(err)
		}
		for role, want := range map[policy.Role]bool{policy.Anyone: !shut, policy.Reader: !shut, policy.Operator: true} {
			got := p.Compile().For(policy.Who{Role: role}).Decide("org,example)/", "20260101000000").Access == policy.Allow
			if got != want {
				t.Errorf("shut %t: %q sees what is there: %t", shut, role, got)
			}
		}
	}
}

// TestAccessRulesNeedLevelFive, and are checked before they are kept.
func TestAccessRulesNeedLevelFive(t *testing.T) {
	c := newTown(t)
	c.raiseTo(t, 4)
	c.person("anna", curator)
	anna := catalog.PersonID("anna").Actor()
	one := rules.Adding{Rules: []rules.Asked{ruleOf("com,example", policy.Block)}}
	c.refused(catalog.Unsupported, anna, rules.Add, one)
	c.raiseTo(t, rules.Level)
	c.refused(catalog.Invalid, anna, rules.Add, rules.Adding{})
	c.refused(catalog.Invalid, anna, rules.Add, rules.Adding{Rules: make([]rules.Asked, rules.MostAtOnce+1)})
	for _, bad := range []func(*rules.Asked){
		func(a *rules.Asked) { a.Access = "x" }, func(a *rules.Asked) { a.Message = "a\nb" }, func(a *rules.Asked) { a.Newer = "1" },
		func(a *rules.Asked) { a.Prefix = strings.Repeat("a", 3000) }, func(a *rules.Asked) { a.Reason = strings.Repeat("a", 3000) },
	} {
		asked := ruleOf("com,example", policy.Block)
		bad(&asked)
		c.refused(catalog.Invalid, anna, rules.Add, rules.Adding{Rules: []rules.Asked{ruleOf("a", policy.Block), asked}})
		if left := c.starting(rules.Prefix); left != 0 {
			t.Errorf("%d rules are kept of a list that is refused", left)
		}
	}
	many := rules.Adding{}
	for range rules.MostAtOnce {
		asked := ruleOf("com,example)/"+strings.Repeat("a", 1000), policy.Block)
		asked.Message, asked.Reason = strings.Repeat("m", policy.MaxMessage), strings.Repeat("r", rules.MaxReason)
		many.Rules = append(many.Rules, asked)
	}
	c.does(anna, rules.Add, many)
}
