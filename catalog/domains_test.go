package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/domains"
)

// withDomains is a cluster of the newest level with some domains.
func withDomains(t *testing.T, names ...domains.Name) *cluster {
	t.Helper()
	c := emptyCluster(t)
	c.raiseTo(t, catalog.Level)
	for _, name := range names {
		c.must(t, domains.Create, domains.Creation{Name: name, Collection: "web"})
	}
	return c
}

func (c *cluster) domains() domains.View { return catalog.DomainsIn(c.view()) }

// starting counts the keys that begin with a prefix.
func (c *cluster) starting(prefix string) (n int) {
	for key := range c.All() {
		if strings.HasPrefix(key, prefix) {
			n++
		}
	}
	return n
}

// TestDomainWithNothingOfItsOwnIsOneKey counts what a domain costs, and what is left of one that was removed.
func TestDomainWithNothingOfItsOwnIsOneKey(t *testing.T) {
	c := withDomains(t)
	before := len(c.keys())
	c.must(t, domains.Create, domains.Creation{Name: "first.org", Collection: "web"})
	first := len(c.keys())
	c.must(t, domains.Create, domains.Creation{Name: "example.org", Collection: "web"})
	if got := len(c.keys()) - first; got != 2 || first-before != 3 { // the count of the collection, and the trail's event
		t.Errorf("a domain has %d keys, and the first one %d", got-1, first-before)
	}
	d, err := c.domains().Domain("example.org")
	if err != nil || d.Index != c.index || d.Collection != "web" || d.DefaultName() != domains.DefaultConfiguration {
		t.Errorf("%+v, %v", d, err)
	}
	c.must(t, domains.SetConfiguration, domains.Configuring{Domain: "example.org", Name: "big", Template: "default"})
	c.must(t, domains.SetConfiguration, domains.Configuring{Domain: "example.org", Name: domains.DefaultConfiguration,
		Template: "default"})
	big, err := c.domains().Configuration("example.org", "big")
	if err != nil || big.Index != c.index-1 {
		t.Errorf("%+v, %v; want index %d", big, err, c.index-1)
	}
	implied, err := c.domains().Configuration("example.org", domains.DefaultConfiguration)
	if err != nil || implied.Index != d.Index {
		t.Errorf("the implied configuration was made at %d, %v; its domain at %d", implied.Index, err, d.Index)
	}
	c.must(t, domains.SetList, listing("example.org", "news", 0, "http://example.org/news\n"))
	if res := c.must(t, domains.Remove, domains.Ref{Name: "example.org"}); string(res.Value) != "false" {
		t.Errorf("removed: something is left: %s", res.Value)
	}
	if n := c.starting("domain"); n != 2 {
		t.Errorf("%d keys are left, want first.org and the count", n)
	}
	if n, err := c.domains().Count("web"); err != nil || n != 1 {
		t.Errorf("%d domains, %v", n, err)
	}
}

func (c *cluster) keys() (keys []string) {
	for key := range c.All() {
		if !strings.HasPrefix(key, "clock") {
			keys = append(keys, key)
		}
	}
	return keys
}

func listing(d domains.Name, name string, version uint64, text string) domains.Listing {
	l := domains.Listing{Domain: d, Kind: domains.Seeds, Name: name, Version: version, Text: text,
		Items: strings.Count(text, "\n"), Sum: domains.SumOf(domains.Divide(text))}
	if name == string(domains.Traps) {
		l.Kind = domains.Traps
	}
	return l
}

// TestWhatIsUsedStays asks for everything that is refused.
func TestWhatIsUsedStays(t *testing.T) {
	c := withDomains(t, "a.org", "b.org", "c.org")
	minus, year := int64(-1), catalog.Time(365*24*3600_000)
	c.must(t, domains.SetField, domains.Field{Of: domains.OfDomains, Name: "since", Type: domains.DateField})
	c.must(t, domains.Set, domains.Change{Name: "a.org", Fields: &[]domains.FieldValue{{Name: "since", Value: "2026-11-20"}}})
	c.must(t, domains.SetList, listing("a.org", "news", 0, "http://a.org/\n"))
	c.must(t, domains.SetConfiguration, domains.Configuring{Domain: "a.org", Name: "weekly", Template: "t",
		Lists: []string{"news", domains.DefaultSeedList}})
	weekly := "weekly"
	c.must(t, domains.Set, domains.Change{Name: "a.org", Version: 1, Default: &weekly})
	c.must(t, domains.SetAlias, domains.Aliasing{Name: "b.org", Of: "a.org", Until: c.now + year})
	config := domains.Configuring{Domain: "a.org", Name: "x", Template: "t"}
	with := func(change func(*domains.Configuring)) domains.Configuring {
		made := config
		change(&made)
		return made
	}
	nothing, none := "", catalog.CollectionName("none")
	for name, tt := range map[string]struct {
		kind catalog.Kind
		body any
		code catalog.Code
		says string
	}{
		"a name with a slash":      {domains.Create, domains.Creation{Name: "a/b.org", Collection: "web"}, catalog.Invalid, `"a/b.org"`},
		"a name in capitals":       {domains.Create, domains.Creation{Name: "A.org", Collection: "web"}, catalog.Invalid, "small letters"},
		"a name without a dot":     {domains.Create, domains.Creation{Name: "org", Collection: "web"}, catalog.Invalid, "such as"},
		"a domain again":           {domains.Create, domains.Creation{Name: "a.org", Collection: "web"}, catalog.Conflict, "already"},
		"no such collection":       {domains.Create, domains.Creation{Name: "d.org", Collection: "none"}, catalog.NotFound, `"none"`},
		"moved to nowhere":         {domains.Set, domains.Change{Name: "a.org", Version: 2, Collection: &none}, catalog.NotFound, `"none"`},
		"an older version":         {domains.Set, domains.Change{Name: "a.org", Version: 1, Owner: &weekly}, catalog.Conflict, "version 2"},
		"no such default":          {domains.Set, domains.Change{Name: "a.org", Version: 2, Default: &nothing}, catalog.NotFound, "configuration"},
		"no such field":            {domains.Set, domains.Change{Name: "a.org", Version: 2, Fields: &[]domains.FieldValue{{Name: "x", Value: "1"}}}, catalog.NotFound, "field"},
		"no date":                  {domains.Set, domains.Change{Name: "a.org", Version: 2, Fields: &[]domains.FieldValue{{Name: "since", Value: "2026-02-30"}}}, catalog.Invalid, "date"},
		"an alias of itself":       {domains.SetAlias, domains.Aliasing{Name: "c.org", Of: "c.org", Until: c.now + year}, catalog.Invalid, "itself"},
		"an alias of an alias":     {domains.SetAlias, domains.Aliasing{Name: "c.org", Of: "b.org", Until: c.now + year}, catalog.Conflict, "alias of a.org itself"},
		"an alias circle":          {domains.SetAlias, domains.Aliasing{Name: "a.org", Of: "b.org", Until: c.now + year}, catalog.Conflict, "alias"},
		"one that has an alias":    {domains.SetAlias, domains.Aliasing{Name: "a.org", Of: "c.org", Until: c.now + year}, catalog.Conflict, "b.org is an alias of it"},
		"an alias that expired":    {domains.SetAlias, domains.Aliasing{Name: "c.org", Of: "a.org", Until: 1}, catalog.Invalid, "past"},
		"an alias of nothing":      {domains.SetAlias, domains.Aliasing{Name: "c.org", Of: "x.org", Until: c.now + year}, catalog.NotFound, "x.org"},
		"what has an alias":        {domains.Remove, domains.Ref{Name: "a.org"}, catalog.Conflict, "b.org is an alias of it"},
		"a negative limit":         {domains.SetConfiguration, with(func(b *domains.Configuring) { b.Bytes = &minus }), catalog.Invalid, "bytes -1"},
		"a list twice":             {domains.SetConfiguration, with(func(b *domains.Configuring) { b.Lists = []string{"news", "news"} }), catalog.Invalid, "twice"},
		"a list that is not":       {domains.SetConfiguration, with(func(b *domains.Configuring) { b.Lists = []string{"olds"} }), catalog.NotFound, `"olds"`},
		"no template":              {domains.SetConfiguration, with(func(b *domains.Configuring) { b.Template = "" }), catalog.Invalid, "template"},
		"an older configuration":   {domains.SetConfiguration, with(func(b *domains.Configuring) { b.Name = "weekly" }), catalog.Conflict, "version 1"},
		"the default":              {domains.RemoveConfiguration, domains.PartRef{Domain: "a.org", Name: "weekly"}, catalog.Conflict, "default"},
		"an implied one":           {domains.RemoveConfiguration, domains.PartRef{Domain: "a.org", Name: domains.DefaultConfiguration}, catalog.NotFound, "of its own"},
		"a seed list in use":       {domains.RemoveList, domains.PartRef{Domain: "a.org", Name: "news"}, catalog.Conflict, "configuration weekly"},
		"an older list":            {domains.SetList, listing("a.org", "news", 0, "x\n"), catalog.Conflict, "version 1"},
		"another text":             {domains.SetList, domains.Listing{Domain: "a.org", Kind: domains.Seeds, Name: "x", Text: "x"}, catalog.Conflict, "meant"},
		"traps by another name":    {domains.SetList, domains.Listing{Domain: "a.org", Kind: domains.Traps, Name: "x"}, catalog.Invalid, "traps"},
		"a field in use":           {domains.RemoveField, domains.FieldRef{Of: domains.OfDomains, Name: "since"}, catalog.Conflict, "a.org has a value"},
		"a field's type":           {domains.SetField, domains.Field{Of: domains.OfDomains, Name: "since", Type: domains.TextField}, catalog.Conflict, "date"},
		"a collection in use":      {catalog.RemoveCollection, catalog.CollectionRemoval{Collection: "web"}, catalog.Conflict, "3 domains"},
		"older settings":           {domains.SetSettings, domains.SettingsChange{Version: 1, Text: "{}"}, catalog.Conflict, "version 0"},
		"an ingest by nobody":      {domains.BeginIngest, domains.IngestBeginning{ID: "i", Collection: "web", Node: "x"}, catalog.NotFound, "member"},
		"an ingest that is not":    {domains.StopIngest, domains.IngestStop{ID: "i"}, catalog.NotFound, "ingest"},
		"an alias in the year 1e6": {domains.SetAlias, domains.Aliasing{Name: "c.org", Of: "a.org", Until: 1 << 60}, catalog.Invalid, "9999"},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.starting("domain")
			res := c.apply(t, tt.kind, tt.body)
			if res.Refusal == nil || res.Refusal.Code != tt.code || !strings.Contains(res.Refusal.Message, tt.says) {
				t.Errorf("answered %+v, want %s with %q", res, tt.code, tt.says)
			}
			if c.starting("domain") != before {
				t.Error("something of it was stored")
			}
		})
	}
	c.must(t, domains.SetAlias, domains.Aliasing{Name: "b.org"})
	if res := c.must(t, domains.Remove, domains.Ref{Name: "a.org"}); string(res.Value) != "false" {
		t.Errorf("%s", res.Value)
	}
	for _, prefix := range []string{"domainlist", "domaintext", "domainconfig", "domainalias", "domainexpiry",
		"domaintemplate", "fieldof"} {
		if n := c.starting(prefix); n != 0 {
			t.Errorf("%d keys %s are left", n, prefix)
		}
	}
	c.must(t, domains.RemoveField, domains.FieldRef{Of: domains.OfDomains, Name: "since"})
}

// TestAliasesExpire lists aliases in the order in which they expire.
func TestAliasesExpire(t *testing.T) {
	c := withDomains(t, "a.org", "b.org", "c.org", "d.org")
	base := c.now + 1e9
	for i, name := range []domains.Name{"d.org", "b.org", "c.org"} {
		c.must(t, domains.SetAlias, domains.Aliasing{Name: name, Of: "a.org", Until: base + catalog.Time(i)})
	}
	c.must(t, domains.SetAlias, domains.Aliasing{Name: "d.org", Of: "a.org", Until: base + 9}) // renewed
	names := func(all []domains.Domain, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, d := range all {
			text += string(d.Name) + " "
		}
		return text
	}
	if got := names(c.domains().Aliases(nil, 0, 9)); got != "b.org c.org d.org " {
		t.Errorf("all: %s", got)
	}
	if got := names(c.domains().Aliases(nil, base+2, 9)); got != "b.org " {
		t.Errorf("expired: %s", got)
	}
	first, err := c.domains().Domain("b.org")
	if got := names(c.domains().Aliases(&first, 0, 1)); got != "c.org " || err != nil {
		t.Errorf("the next: %s %v", got, err)
	}
}

// TestAliasesStayInACollection refuses an alias of which no snapshot would have either domain.
func TestAliasesStayInACollection(t *testing.T) {
	c := withDomains(t, "a.org", "b.org")
	c.must(t, catalog.SetCollection, catalog.Collection{Name: "other"})
	move := func(name domains.Name, to catalog.CollectionName) catalog.Result {
		d, err := c.domains().Domain(name)
		if err != nil {
			t.Fatal(err)
		}
		return c.apply(t, domains.Set, domains.Change{Name: name, Version: d.Version, Collection: &to})
	}
	if r := move("b.org", "other"); r.Refusal != nil {
		t.Fatal(r.Refusal)
	}
	alias := domains.Aliasing{Name: "b.org", Of: "a.org", Until: c.now + 1e9}
	refusedAs(t, c.apply(t, domains.SetAlias, alias), catalog.Conflict, "an alias in another collection")
	if r := move("b.org", "web"); r.Refusal != nil {
		t.Fatal(r.Refusal)
	}
	c.must(t, domains.SetAlias, alias)
	refusedAs(t, move("b.org", "other"), catalog.Conflict, "an alias that leaves its collection")
	refusedAs(t, move("a.org", "other"), catalog.Conflict, "a domain that leaves its alias")
	if n, err := c.domains().Count("web"); err != nil || n != 2 {
		t.Errorf("%d domains, %v", n, err)
	}
}

// TestSeedListsHaveVersions uploads a list in parts, and replaces it.
func TestSeedListsHaveVersions(t *testing.T) {
	c := withDomains(t, "a.org")
	text := strings.Repeat("http://a.org/æøå\n", 20_000)
	parts := domains.Divide(text)
	if len(parts) < 3 || strings.Join(parts, "") != text {
		t.Fatalf("%d parts", len(parts))
	}
	add := func(upload string, n int, text string) catalog.Result {
		return c.apply(t, domains.AddText, domains.TextAddition{Domain: "a.org", Kind: domains.Seeds, List: "all",
			Upload: upload, Number: n, Text: text})
	}
	set := domains.Listing{Domain: "a.org", Kind: domains.Seeds, Name: "all", Upload: "u", Parts: len(parts), Items: 20_000,
		Sum: domains.SumOf(parts)}
	if res := add("other", 1, "x"); res.Refusal != nil {
		t.Fatal(res.Refusal)
	}
	for i, part := range parts {
		if res := add("u", i+1, part); res.Refusal != nil {
			t.Fatal(res.Refusal)
		}
		before := c.starting("domain")
		if res := add("u", i+1, part); res.Refusal != nil || c.starting("domain") != before {
			t.Errorf("part %d again: %v", i+1, res.Refusal)
		}
	}
	if res := add("other", 2, "x"); res.Refusal == nil {
		t.Error("a part of an upload that another took the place of")
	}
	if res := add("u", 1, "y"); res.Refusal == nil {
		t.Error("another part with the same number")
	}
	c.must(t, domains.SetList, set)
	first, err := c.domains().List("a.org", domains.Seeds, "all")
	if err != nil || first.Version != 1 || first.Parts != len(parts) || first.Bytes != int64(len(text)) {
		t.Errorf("%+v, %v", first, err)
	}
	c.must(t, domains.SetList, listing("a.org", "all", 1, "http://a.org/\n"))
	if got, err := c.domains().WholeText(&first); err != nil || got != text {
		t.Errorf("the first version is another one: %d bytes, %v", len(got), err)
	}
	c.must(t, domains.RemoveList, domains.PartRef{Domain: "a.org", Name: "all"})
	if all, err := c.domains().Lists("a.org", domains.Seeds); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	c.must(t, domains.SetList, listing("a.org", "all", 0, "http://a.org/again\n"))
	if l, err := c.domains().List("a.org", domains.Seeds, "all"); err != nil || l.Version != 3 {
		t.Errorf("a version is given twice: %+v, %v", l, err)
	}
	if got, err := c.domains().WholeText(&first); err != nil || got != text {
		t.Errorf("the first version is another one: %d bytes, %v", len(got), err)
	}
}

// TestLargeDomainIsRemovedInSteps removes a domain that has more than one command can remove.
func TestLargeDomainIsRemovedInSteps(t *testing.T) {
	c := withDomains(t, "a.org", "b.org")
	for i := range 450 {
		c.must(t, domains.SetConfiguration, domains.Configuring{Domain: "a.org", Name: fmt.Sprint("c", i), Template: "t"})
		c.must(t, domains.SetList, listing("a.org", fmt.Sprint("s", i), 0, "http://a.org/\n"))
	}
	rounds := 0
	for left := true; left; rounds++ {
		res := c.must(t, domains.Remove, domains.Ref{Name: "a.org"})
		if err := json.Unmarshal(res.Value, &left); err != nil {
			t.Fatal(err)
		}
		if left {
			if res := c.apply(t, domains.SetAlias, domains.Aliasing{Name: "b.org", Of: "a.org", Until: c.now + 1e9}); res.Refusal == nil {
				t.Fatal("it is used while it is removed")
			}
		}
	}
	if n := c.starting("domain"); n != 2 || rounds < 3 {
		t.Errorf("%d keys are left after %d rounds", n, rounds)
	}
}

// TestIngestCountsEachChunkOnce repeats chunks, and sends those that are out of order.
func TestIngestCountsEachChunkOnce(t *testing.T) {
	c := withDomains(t, "known.org")
	north := id("north-1")
	c.must(t, domains.BeginIngest, domains.IngestBeginning{ID: "i", Collection: "web", Node: north, Size: 1000})
	chunk := func(seq uint64, bad int) domains.IngestChunk {
		b := domains.IngestChunk{ID: "i", Node: north, Seq: seq, Line: int64(seq) * 10, At: int64(seq) * 10}
		for i := range 800 {
			b.Names = append(b.Names, domains.Name(fmt.Sprintf("d%d-%d.org", seq, i)))
		}
		b.Names[0] = "known.org"
		for i := range bad {
			b.Bad = append(b.Bad, domains.BadLine{Line: int64(i + 1), Reason: strings.Repeat("æ", 400)})
		}
		return b
	}
	for seq := uint64(1); seq <= 3; seq++ {
		c.must(t, domains.AddIngested, chunk(seq, 2))
		before := c.sum()
		c.must(t, domains.AddIngested, chunk(seq, 2))
		if after := c.sum(); after != before && c.starting("domain/d") != int(seq)*799 {
			t.Error("a chunk that was repeated changes something")
		}
	}
	if res := c.apply(t, domains.AddIngested, chunk(5, 0)); res.Refusal == nil {
		t.Error("a chunk is left out")
	}
	if res := c.send(t, catalog.Command{Kind: domains.AddIngested, Actor: "x", Node: id("north-1"), Boot: 1, Seq: 1},
		domains.IngestChunk{ID: "i", Node: "other", Seq: 4}); res.Refusal == nil {
		t.Error("another node goes on with it")
	}
	i, err := c.domains().Ingest("i")
	if err != nil || i.Made != 3*799 || i.Known != 3 || i.Bad != 6 || i.Seq != 3 || i.Line != 30 {
		t.Errorf("%+v, %v", i, err)
	}
	if n, err := c.domains().Count("web"); err != nil || n != 3*799+1 {
		t.Errorf("%d domains, %v", n, err)
	}
	c.must(t, domains.StopIngest, domains.IngestStop{ID: "i", Reason: "enough"})
	if res := c.apply(t, domains.AddIngested, chunk(4, 0)); res.Refusal == nil {
		t.Error("it goes on though it was stopped")
	}
	c.must(t, domains.EndIngest, domains.IngestEnding{ID: "i", Node: north, Seq: 3})
	if i, err = c.domains().Ingest("i"); err != nil || i.State != domains.IngestStopped {
		t.Errorf("%+v, %v", i, err)
	}
	events, err := c.view().Trail(0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, e := range events {
		if strings.HasPrefix(e.Act, "ingest.") {
			told++
		}
	}
	if told != 2 { // that it began, and that it was stopped
		t.Errorf("the trail has %d events of the ingest", told)
	}
}

// TestListThatIsNoneEnds has an ingest with too many bad lines.
func TestListThatIsNoneEnds(t *testing.T) {
	c := withDomains(t)
	c.must(t, domains.BeginIngest, domains.IngestBeginning{ID: "i", Collection: "web", Node: id("north-1"), Size: 1 << 30})
	line := int64(0)
	var i domains.Ingest
	for seq := uint64(1); i.State == "" || i.State == domains.IngestRunning; seq++ {
		b := domains.IngestChunk{ID: "i", Node: id("north-1"), Seq: seq}
		for range domains.MaxIngestBad {
			line++
			b.Bad = append(b.Bad, domains.BadLine{Line: line, Reason: "no domain"})
		}
		b.Line, b.At = line, line
		if err := json.Unmarshal(c.must(t, domains.AddIngested, b).Value, &i); err != nil {
			t.Fatal(err)
		}
	}
	bad, err := c.domains().BadLines("i", 0, 1<<20)
	if err != nil || i.State != domains.IngestFailed || i.Bad <= domains.MaxBadLines || int64(len(bad)) != i.Bad {
		t.Errorf("%+v, %d lines, %v", i, len(bad), err)
	}
}

// TestDomainsArePagedByName walks over the domains with a prefix.
func TestDomainsArePagedByName(t *testing.T) {
	c := withDomains(t, "a.org", "ab.org", "abc.org", "ab-c.org", "b.org")
	for _, tt := range []struct {
		prefix string
		after  domains.Name
		n      int
		want   string
	}{
		{"", "", 9, "a.org ab-c.org ab.org abc.org b.org"},
		{"", "ab-c.org", 2, "ab.org abc.org"},
		{"ab", "", 9, "ab-c.org ab.org abc.org"},
		{"ab", "ab.org", 9, "abc.org"},
		{"ab.org", "ab.org", 9, ""},
		{"b", "a.org", 9, "b.org"},
		{"a", "b.org", 9, ""},
	} {
		all, err := c.domains().Domains(tt.prefix, tt.after, tt.n)
		var names []string
		for _, d := range all {
			names = append(names, string(d.Name))
		}
		if got := strings.Join(names, " "); got != tt.want || err != nil {
			t.Errorf("%q behind %q: %s, want %s; %v", tt.prefix, tt.after, got, tt.want, err)
		}
	}
}
