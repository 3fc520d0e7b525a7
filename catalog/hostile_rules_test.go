package catalog_test

import (
	"pgregory.net/rapid"

	policy "holdfast/access"
	"holdfast/catalog"
	"holdfast/catalog/rules"
)

// rules draws a command about access rules.
func (h hostile) rules() (catalog.Kind, any) {
	number := uint64(pick(h, "number", 1, 2, 3, 0))
	asked := rules.Asked{Rule: policy.Rule{Prefix: pick(h, "prefix", "", "com,example", "com,example)/a", h.text()),
		Exact: rapid.Bool().Draw(h.t, "exact"), From: pick(h, "from", "", "2026", "x"), Newer: pick(h, "newer", "", "1y", "y"),
		Role:      policy.Role(pick(h, "role", "", "reader", "king")),
		Addresses: pick(h, "addresses", nil, []string{"10.0.0.0/8"}, []string{h.text()}),
		Access:    policy.Decision(pick(h, "access", "allow", "block", "exclude", "x")), Message: h.text()}, Reason: h.text()}
	switch pick(h, "rule", rules.Add, rules.Change, rules.Remove) {
	case rules.Add:
		return rules.Add, rules.Adding{Rules: []rules.Asked{asked, asked}}
	case rules.Change:
		return rules.Change, rules.Changing{Number: number, Version: uint64(pick(h, "version", 1, 2, 0)), Asked: asked}
	}
	return rules.Remove, rules.Removing{Rules: []rules.Ref{{Number: number}, {Number: number + 1, Version: 1}}, Reason: h.text()}
}
