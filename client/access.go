package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/api/wire"
)

// AccessOf returns what there is to do with the rules that say who may see what.
func AccessOf(c *Client) Access { return Access{c} }

// Access are the access rules.
type Access struct{ c *Client }

// List lists the rules by number: all, or those about a URL, or with a text in them.
func (a Access) List(ctx context.Context, about, search string) iter.Seq2[wire.AccessRule, error] {
	return all[wire.AccessRule](ctx, a.c, asked(map[string]string{"url": about, "search": search}), "access-rules")
}

// Show shows a rule.
func (a Access) Show(ctx context.Context, number uint64) (wire.AccessRule, error) {
	return get[wire.AccessRule](ctx, a.c, "access-rules", strconv.FormatUint(number, 10))
}

// Add adds rules, all or none.
func (a Access) Add(ctx context.Context, rules ...wire.AccessRuleText) (wire.AccessRulesAdded, error) {
	return post[wire.AccessRulesAdded](ctx, a.c, wire.AccessRulesRequest{Rules: rules}, "access-rules")
}

// Change puts another text in the place of a rule's.
func (a Access) Change(ctx context.Context, number uint64, in wire.AccessRuleChange) (wire.AccessRule, error) {
	return send[wire.AccessRule](ctx, a.c, http.MethodPut, in, "access-rules", strconv.FormatUint(number, 10))
}

// Remove removes rules, all or none.
func (a Access) Remove(ctx context.Context, in wire.AccessRulesRemoval) error {
	return a.c.call(ctx, http.MethodPost, in, nil, nil, "access-removals")
}

// AccessQuestion is what Test asks.
type AccessQuestion struct{ URL, Date, Role, Address string }

// Test tells what the rules say of a capture and a reader, and which decides.
func (a Access) Test(ctx context.Context, q AccessQuestion) (out wire.AccessVerdict, err error) {
	query := url.Values{"url": {q.URL}}
	for name, value := range map[string]string{"date": q.Date, "role": q.Role, "address": q.Address} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return out, a.c.call(ctx, http.MethodGet, nil, &out, query, "access-test")
}
