package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/access"
	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/agree"
	rights "holdfast/catalog/people"
	agreed "holdfast/catalog/rules"
	"holdfast/cdx"
)

// rules are the access rules.
type rules struct{ *server }

// ByNumber is the input of an act on one access rule.
type ByNumber struct {
	Number uint64 `path:"number" minimum:"1"`
}

// ruleListing is the input of the list of rules.
type ruleListing struct {
	Paging
	URL    string `query:"url" maxLength:"8192" doc:"list only rules that are about this URL, whatever else they ask for"`
	Search string `query:"search" maxLength:"200" doc:"list only what has this text in its prefix, message or reason"`
}

// ruleTest is the input of a test.
type ruleTest struct {
	URL     string `query:"url" required:"true" minLength:"1" maxLength:"8192"`
	Date    string `query:"date" maxLength:"14" doc:"of the capture, 4 to 14 digits; none: now"`
	Role    string `query:"role" enum:"reader,curator,operator,admin" doc:"of the reader; none: of whom nothing is known"`
	Address string `query:"address" maxLength:"45" doc:"of the reader; none: one that is in no range"`
}

const rulesPath = "/api/v1/access-rules"

func (s rules) routes(api huma.API) {
	of := func(method, path, id, summary string) route {
		return route{act: rights.KeepAccess, method: method, path: rulesPath + path, id: "access-" + id, tag: "access",
			summary: summary}
	}
	handle(s.server, api, of(http.MethodGet, "", "list", "List the access rules by number, with their private reasons"),
		func(_ context.Context, in *ruleListing) (wire.Page[wire.AccessRule], error) { return s.list(in) })
	handle(s.server, api, of(http.MethodGet, "/{number}", "show", "Show an access rule"),
		func(_ context.Context, in *ByNumber) (wire.AccessRule, error) { return s.show(in.Number) })
	type adding struct{ Body wire.AccessRulesRequest }
	r := of(http.MethodPost, "", "add", "Add access rules, which say who may see which captures")
	r.status, r.once = http.StatusCreated, true
	handle(s.server, api, r, func(ctx context.Context, in *adding) (out wire.AccessRulesAdded, err error) {
		var asked agreed.Adding
		for i := range in.Body.Rules {
			one, err := askedRule(&in.Body.Rules[i])
			if err != nil {
				return out, refused("rules[%d]: %v", i, err)
			}
			asked.Rules = append(asked.Rules, one)
		}
		var added agreed.Added
		err = s.decide(ctx, agreed.Add, asked, &added)
		return wire.AccessRulesAdded(added), err
	})
	type changing struct {
		ByNumber
		Body wire.AccessRuleChange
	}
	r = of(http.MethodPut, "/{number}", "change", "Put another text in the place of an access rule's")
	r.once = true
	handle(s.server, api, r, func(ctx context.Context, in *changing) (wire.AccessRule, error) {
		one, err := askedRule(&in.Body.AccessRuleText)
		if err != nil {
			return wire.AccessRule{}, refused("%v", err)
		}
		change := agreed.Changing{Number: in.Number, Version: in.Body.Version, Asked: one}
		if err := s.decide(ctx, agreed.Change, change, nil); err != nil {
			return wire.AccessRule{}, err
		}
		return s.show(in.Number)
	})
	type removing struct{ Body wire.AccessRulesRemoval }
	r = of(http.MethodPost, "", "remove", "Remove access rules")
	r.path = "/api/v1/access-removals" // not among the rules, where it would be a number
	r.status, r.once = http.StatusNoContent, true
	register(s.server, api, r, func(ctx context.Context, in *removing) (*struct{}, error) {
		asked := agreed.Removing{Reason: in.Body.Reason}
		for _, ref := range in.Body.Rules {
			asked.Rules = append(asked.Rules, agreed.Ref(ref))
		}
		return nil, s.decide(ctx, agreed.Remove, asked, nil)
	})
	r = of(http.MethodGet, "", "test", "Tell what the access rules say of a capture and a reader, and which decides")
	r.path = "/api/v1/access-test"
	handle(s.server, api, r,
		func(_ context.Context, in *ruleTest) (wire.AccessVerdict, error) { return s.test(in) })
}

// askedRule is a rule as the catalog knows it.
func askedRule(in *wire.AccessRuleText) (agreed.Asked, error) {
	out := agreed.Asked{Reason: in.Reason}
	out.Rule = access.Rule{Prefix: in.Prefix, Exact: in.Exact}
	if in.URL != "" {
		if in.Prefix != "" || in.Exact {
			return out, errors.New("url and prefix: want one of them")
		}
		var err error
		if out.Rule, err = access.RuleFor(in.URL, access.Decision(in.Access)); err != nil {
			return out, err
		}
	}
	out.Access, out.From, out.To, out.Newer, out.Older = access.Decision(in.Access), in.From, in.To, in.Newer, in.Older
	out.Begin, out.End, out.Role, out.Addresses = in.Begin, in.End, access.Role(in.Role), in.Addresses
	out.Message = in.Message
	return out, out.Check()
}

func ruleOf(v catalog.View, r *agreed.Rule) (out wire.AccessRule, err error) {
	out = wire.AccessRule{Number: r.Number, Version: r.Version, Made: std(r.Made), Changed: std(r.Changed),
		AccessRuleText: wire.AccessRuleText{Prefix: r.Prefix, Exact: r.Exact, Access: string(r.Access), From: r.From,
			To: r.To, Newer: r.Newer, Older: r.Older, Begin: r.Begin, End: r.End, Role: string(r.Role),
			Addresses: r.Addresses, Message: r.Message, Reason: r.Reason}}
	if out.MadeBy, err = catalog.PeopleIn(v).ActorName(r.Maker); err == nil {
		out.ChangedBy, err = catalog.PeopleIn(v).ActorName(r.By)
	}
	return out, err
}

func (s rules) show(number uint64) (out wire.AccessRule, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		r, err := catalog.RulesIn(v).Rule(number)
		if errors.Is(err, catalog.ErrNotFound) {
			return fmt.Errorf("access rule %d: %w", number, ErrNotFound)
		}
		if err == nil {
			out, err = ruleOf(v, &r)
		}
		return err
	})
	return out, err
}

// rulesLooked bounds the rules that are looked at for one page of a search.
const rulesLooked = 20_000

func (s rules) list(in *ruleListing) (wire.Page[wire.AccessRule], error) {
	page := wire.Page[wire.AccessRule]{Items: []wire.AccessRule{}}
	after, _, err := openNumberCursor(in.After, "r")
	if err != nil {
		return page, err
	}
	key := ""
	if in.URL != "" {
		if key, err = cdx.Key(in.URL); err != nil {
			return page, refused("url: %v", err)
		}
	}
	wanted := strings.ToLower(in.Search)
	err = s.Catalog.View(func(v catalog.View) error {
		all, err := catalog.RulesIn(v).Page(after, rulesLooked)
		for i := range all {
			r := &all[i]
			text := strings.ToLower(r.Prefix + " " + r.Message + " " + r.Reason)
			if key != "" && !r.About(key) || !strings.Contains(text, wanted) {
				continue
			}
			if len(page.Items) == in.Limit {
				page.Next = makeNumberCursor("r", all[i-1].Number)
				return err
			}
			shown, err := ruleOf(v, r)
			if err != nil {
				return err
			}
			page.Items = append(page.Items, shown)
		}
		if len(all) == rulesLooked {
			page.Next = makeNumberCursor("r", all[len(all)-1].Number)
		}
		if n, err := catalog.RulesIn(v).State(); err == nil && key == "" && wanted == "" {
			total := int64(n.Count)
			page.Total = &total
		}
		return err
	})
	return page, err
}

// test says what the rules in force on this node say.
func (s rules) test(in *ruleTest) (wire.AccessVerdict, error) {
	now, err := inForce(s.server)
	if err != nil {
		return wire.AccessVerdict{}, err
	}
	who := access.Who{Role: access.Role(in.Role), At: s.now()}
	out := wire.AccessVerdict{Role: in.Role, Rules: now.Rules(), Unconfirmed: now.Unconfirmed}
	if out.Key, err = cdx.Key(in.URL); err != nil {
		return out, refused("url: %v", err)
	}
	out.Timestamp = cdx.Timestamp(who.At)
	if in.Date != "" {
		if out.Timestamp, err = cdx.PadTimestamp(in.Date, cdx.Low); err == nil {
			_, err = cdx.ParseTimestamp(out.Timestamp, cdx.Low)
		}
		if err != nil {
			return out, refused("date: %v", err)
		}
	}
	who.Address = netip.IPv6Unspecified() // an address that is known, and in no range
	if in.Address != "" {
		if who.Address, err = netip.ParseAddr(in.Address); err != nil {
			return out, refused("address: %.60q: want one such as 192.0.2.7", in.Address)
		}
		out.Address = who.Address.String()
	}
	verdict := now.For(who).Decide(out.Key, out.Timestamp)
	out.Access = string(verdict.Access)
	if verdict.Rule >= 0 && verdict.Rule < len(now.Numbers) {
		rule, err := s.show(now.Numbers[verdict.Rule])
		if err != nil { // it was removed just now
			return out, err
		}
		out.Rule = &rule
	}
	return out, nil
}

// inForce returns the rules by which this node answers now.
func inForce(s *server) (access.InForce, error) {
	if s.policy == nil {
		return access.InForce{}, fmt.Errorf("%w: this node keeps no access rules", ErrUnavailable)
	}
	now, err := s.policy()
	if err != nil {
		return now, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return now, nil
}

// sightOf returns what the request's caller may see.
func sightOf(ctx context.Context, s *server) (*access.Sight, access.InForce, error) {
	now, err := inForce(s)
	if err != nil {
		return nil, now, err
	}
	who := callerOf(ctx)
	return now.For(access.Who{Role: roleOf(who.Rights), Address: who.address, At: s.now()}), now, nil
}

// roleOf is what somebody with these rights is to the access rules: the highest role in the whole archive, or a reader
// with rights in a part of it.
func roleOf(rights []catalog.Right) access.Role {
	for _, role := range []catalog.Role{catalog.RoleAdmin, catalog.RoleOperator, catalog.RoleCurator} {
		if catalog.Holds(rights, role) {
			return access.Role(role)
		}
	}
	if len(rights) > 0 {
		return access.Reader
	}
	return access.Anyone
}

// papers refuses the logs, reports and indexes of jobs, as long as anything is closed to anybody: they name all that
// was fetched. They are for those who make jobs.
func papers(ctx context.Context, s *server) error {
	now, err := inForce(s)
	if err != nil || !now.Closing() {
		return err
	}
	makes := func(r catalog.Right) bool { return r.Role.Includes(catalog.RoleCurator) }
	if slices.ContainsFunc(callerOf(ctx).Rights, makes) {
		return nil
	}
	return problem(http.StatusUnavailableForLegalReasons, wire.CodeForbidden, "the logs and indexes of jobs name what "+
		"access rules close: they are for curators")
}

// unconfirmedHeader tells since when it is not known whether the rules by which an answer was made are the agreed ones.
const unconfirmedHeader = "Holdfast-Policy-Unconfirmed-Since"

// tellUnconfirmed says so.
func tellUnconfirmed(h http.Header, now access.InForce) {
	if !now.Unconfirmed.IsZero() {
		h.Set(unconfirmedHeader, now.Unconfirmed.UTC().Format(time.RFC3339))
	}
}

// veiled hides what the trail says of an access rule from those who do not keep the rules: what is excluded is to them
// as if it were not there, and reasons are private.
func veiled(ctx context.Context, e *agree.Event) bool {
	return strings.HasPrefix(e.Act, "rule.") && may(ctx, rights.KeepAccess, catalog.Where{}) != nil
}
