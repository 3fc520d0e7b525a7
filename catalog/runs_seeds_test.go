package catalog_test

import (
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/runs"
)

// TestSeedsInBulk gives an event harvest seeds of domains that are there, and of one that is not. What is refused
// changes nothing.
func TestSeedsInBulk(t *testing.T) {
	t.Parallel()
	c := harvesting(t)
	number := c.defined(t, runs.Event, "election")
	limit := int64(7)
	seeding := func(d domains.Name, version uint64, lines ...string) domains.Seeding {
		s := domains.Seeding{Domain: d, Name: "election-1", Version: version, Items: len(lines)}
		for _, line := range lines {
			s.Text += line + "\n"
		}
		return s
	}
	add := func(all ...domains.Seeding) runs.SeedsAddition {
		return runs.SeedsAddition{Number: number, Template: "default", Objects: &limit, Domains: all}
	}
	c.must(t, runs.AddSeeds, add(seeding("a.org", 0, "http://a.org/1"), seeding("new.org", 0, "http://new.org/")))
	c.must(t, runs.AddSeeds, add(seeding("a.org", 1, "http://a.org/2", "http://a.org/3")))
	v := c.domains()
	l, err := v.List("a.org", domains.Seeds, "election-1")
	if err != nil || l.Version != 2 || l.Items != 3 || l.Parts != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	if text, err := v.WholeText(&l); err != nil || text != "http://a.org/1\nhttp://a.org/2\nhttp://a.org/3\n" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := v.Text("a.org", domains.Seeds, "election-1", 1, 1); err != nil || text != "http://a.org/1\n" {
		t.Errorf("version 1 is %q, %v", text, err)
	}
	d, err := v.Domain("new.org")
	if err != nil || d.Collection != "web" || d.Lists != 1 || d.Configurations != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	k, err := v.Configuration("new.org", "election-1")
	if err != nil || k.Template != "default" || *k.Objects != 7 || k.Bytes != nil || k.Lists[0] != "election-1" {
		t.Errorf("%+v, %v", k, err)
	}
	h, err := c.runs().Harvest(number)
	if err != nil || h.Configurations != 2 || h.Version != 2 {
		t.Errorf("%+v, %v", h, err)
	}
	if n, err := v.Count("web"); err != nil || n != 4 {
		t.Errorf("%d domains, %v", n, err)
	}
	c.must(t, domains.SetConfiguration, domains.Configuring{Domain: "b.org", Name: "election-1", Template: "default"})
	selective := c.defined(t, runs.Selective, "daily")
	minus := int64(-1)
	before := c.keys()
	with := func(change func(*runs.SeedsAddition)) runs.SeedsAddition {
		b := add(seeding("c.org", 0, "http://c.org/"))
		change(&b)
		return b
	}
	for name, tt := range map[string]struct {
		body runs.SeedsAddition
		code catalog.Code
	}{
		"an old version":      {add(seeding("c.org", 0, "http://c.org/"), seeding("a.org", 1, "http://a.org/4")), catalog.Conflict},
		"a version of none":   {add(seeding("c.org", 3, "http://c.org/")), catalog.Conflict},
		"another collection":  {add(seeding("r.org", 0, "http://r.org/")), catalog.Conflict},
		"another list":        {add(seeding("b.org", 0, "http://b.org/")), catalog.Conflict},
		"no seeds":            {add(seeding("c.org", 0)), catalog.Invalid},
		"no whole line":       {add(domains.Seeding{Domain: "c.org", Name: "x", Text: "x", Items: 1}), catalog.Invalid},
		"too long":            {add(seeding("c.org", 0, strings.Repeat("x", domains.MaxPartBytes))), catalog.Invalid},
		"no domain's name":    {add(seeding("c", 0, "http://c/")), catalog.Invalid},
		"no domains":          {add(), catalog.Invalid},
		"a bad name":          {add(domains.Seeding{Domain: "c.org", Name: "a b", Text: "x\n", Items: 1}), catalog.Invalid},
		"a selective harvest": {with(func(b *runs.SeedsAddition) { b.Number = selective }), catalog.Conflict},
		"no harvest":          {with(func(b *runs.SeedsAddition) { b.Number = 9 }), catalog.NotFound},
		"no template":         {with(func(b *runs.SeedsAddition) { b.Template = "" }), catalog.Invalid},
		"a limit below 0":     {with(func(b *runs.SeedsAddition) { b.Objects = &minus }), catalog.Invalid},
	} {
		refusedAs(t, c.apply(t, runs.AddSeeds, tt.body), tt.code, name)
		if now := c.keys(); len(now) != len(before) {
			t.Errorf("%s: something of it is stored", name)
		}
	}
	// A long list continues in further parts, up to its most.
	long := strings.Repeat("x", domains.MaxPartBytes-100)
	for version := uint64(2); version < 5; version++ {
		c.must(t, runs.AddSeeds, add(seeding("a.org", version, long)))
	}
	if l, err = v.List("a.org", domains.Seeds, "election-1"); err != nil || l.Parts != 3 {
		t.Fatalf("%+v, %v", l, err)
	}
	if text, err := v.WholeText(&l); err != nil || int64(len(text)) != l.Bytes || strings.Count(text, "\n") != l.Items {
		t.Errorf("%d bytes of %d, %v", len(text), l.Bytes, err)
	}
	refusedAs(t, c.apply(t, runs.AddSeeds, add(seeding("a.org", l.Version, long))), catalog.Invalid, "a list that is full")
}
