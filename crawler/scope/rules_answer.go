package scope

import (
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"holdfast/harvest"
)

func originRules() []definition {
	return []definition{
		{name: "seed_accept", decision: Accept, help: "The URI is a seed, or counts as one.",
			build: func(harvest.Rule) (test, error) {
				return fact((*Subject).isSeed, "a seed", "not a seed"), nil
			}},
		{name: "prerequisite_accept", decision: Accept,
			help: "The URI is a prerequisite: robots.txt or an address that another URI needs.",
			build: func(harvest.Rule) (test, error) {
				return fact((*Subject).isPrerequisite, "a prerequisite", "not a prerequisite"), nil
			}},
		{name: "has_via", opposite: "has_no_via", help: "The URI was found at another.",
			build: func(harvest.Rule) (test, error) {
				return test{
					holds: func(u *Subject) bool { return u.Via != "" }, fact: func(u *Subject) string {
						if u.Via == "" {
							return "found nowhere"
						}
						return "found at " + u.Via
					}}, nil
			}},
		{name: "source_seed", opposite: "not_source_seed", values: "seeds",
			help: "The URI comes from one of these seeds.",
			build: func(r harvest.Rule) (test, error) {
				return test{
					holds: func(u *Subject) bool { return slices.Contains(r.Values, u.Source) },
					fact:  func(u *Subject) string { return "comes from seed " + u.Source }}, nil
			}},
	}
}

// fact is a test of a property that has two names.
func fact(holds func(*Subject) bool, is, isNot string) test {
	return test{holds: holds, fact: func(u *Subject) string {
		if holds(u) {
			return is
		}
		return isNot
	}}
}

func addressSet(r harvest.Rule) (test, error) {
	var ranges []netip.Prefix
	for _, v := range r.Values {
		p, err := netip.ParsePrefix(v)
		if err != nil {
			a, addrErr := netip.ParseAddr(v)
			if addrErr != nil {
				return test{}, given("values", strconv.Quote(v),
					"addresses or ranges, as 192.0.2.0/24 or 2001:db8::/32")
			}
			a = a.WithZone("")
			p = netip.PrefixFrom(a, a.BitLen())
		}
		if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 { // a URI's address is never written so
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		ranges = append(ranges, p.Masked())
	}
	within := func(u *Subject) int {
		a := u.address().Unmap().WithZone("")
		return slices.IndexFunc(ranges, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	return test{
		needs: needsAddress,
		holds: func(u *Subject) bool { return within(u) >= 0 },
		fact: func(u *Subject) string {
			if i := within(u); i >= 0 {
				return u.address().String() + " is in " + ranges[i].String()
			}
			return u.address().String() + " is in none of " + count(len(ranges), "range")
		},
	}, nil
}

func answerRules() []definition {
	status := func(u *Subject) string { return strconv.Itoa(u.Status) }
	return []definition{
		{name: "fetch_status", opposite: "not_fetch_status", values: "status codes",
			help: "The fetch's status is one of these.", build: fetchStatus},
		{name: "fetch_status_matches_regex", opposite: "fetch_status_not_matches_regex", values: "expressions",
			help:  "The fetch's status, as text, matches one of these expressions as a whole.",
			build: matching(status, "status ", needsHead)},
		{name: "matches_status_code", opposite: "not_matches_status_code", min: "least status",
			max:  "largest status (default 600)",
			help: "The fetch's status is from min to max, both included.",
			build: func(r harvest.Rule) (test, error) {
				least, most := or(r.Min, 0), or(r.Max, 600)
				return test{needs: needsHead,
					holds: func(u *Subject) bool { return int64(u.Status) >= least && int64(u.Status) <= most },
					fact: func(u *Subject) string {
						return fmt.Sprintf("status %d, asked for %d to %d", u.Status, least, most)
					}}, nil
			}},
		{name: "content_type_matches_regex", opposite: "content_type_not_matches_regex", values: "expressions",
			help:  "The answer's Content-Type, as sent, matches one of these expressions as a whole.",
			build: matching(func(u *Subject) string { return u.ContentType }, "type ", needsHead)},
		{name: "identical_digest", opposite: "not_identical_digest", decision: Reject,
			help: "The content was archived before: it is a revisit by identical digest.",
			build: func(harvest.Rule) (test, error) {
				t := fact(func(u *Subject) bool { return u.Identical }, "archived before",
					"not known to be archived before")
				t.needs = needsBody
				return t, nil
			}},
		{name: "same_validators", opposite: "other_validators", decision: Reject,
			help: "The answer, of status 200, has the ETag or, where neither has one, the Last-Modified of the " +
				"latest capture of the URI.",
			build: func(harvest.Rule) (test, error) {
				t := fact((*Subject).Unchanged, "validators as those of the latest capture",
					"not known to have the validators of the latest capture")
				t.needs = needsHead
				return t, nil
			}},
	}
}

func fetchStatus(r harvest.Rule) (test, error) {
	codes := make([]int, len(r.Values))
	for i, v := range r.Values {
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil {
			return test{}, given("values", strconv.Quote(v), "status codes, as 404 or -2")
		}
		codes[i] = n
	}
	return test{needs: needsHead,
		holds: func(u *Subject) bool { return slices.Contains(codes, u.Status) },
		fact:  func(u *Subject) string { return fmt.Sprintf("status %d, asked for %v", u.Status, codes) }}, nil
}

func contentRules() []definition {
	return []definition{
		{name: "content_length", fixed: true, max: onlyBytes,
			help: "Accepts what is shorter than max bytes, by its declared length or else as received, and rejects " +
				"the rest.", special: contentLength},
		{name: "resource_longer_than", opposite: "resource_no_longer_than", max: onlyBytes,
			help: "The declared length, or else the length received, is more than max bytes.",
			build: func(r harvest.Rule) (test, error) {
				most := *r.Max
				return test{needs: needsLength,
					holds: func(u *Subject) bool { return u.length() > most },
					fact: func(u *Subject) string {
						return fmt.Sprintf("%d bytes long, compared with %d", u.length(), most)
					}}, nil
			}},
		{name: "response_content_length", opposite: "not_response_content_length", min: "least bytes",
			max:  "most bytes (default: no limit)",
			help: "The length received is from min to max bytes, both included.",
			build: func(r harvest.Rule) (test, error) {
				least, most := or(r.Min, 0), or(r.Max, math.MaxInt64)
				return test{needs: needsBody,
					holds: func(u *Subject) bool { return u.Size >= least && u.Size <= most },
					fact: func(u *Subject) string {
						return fmt.Sprintf("%d bytes received, asked for %d to %d", u.Size, least, most)
					}}, nil
			}},
	}
}

// length returns the declared length, or else the number of bytes received.
func (u *Subject) length() int64 {
	if u.Length >= 0 {
		return u.Length
	}
	return u.Size
}

func contentLength(at place, r harvest.Rule, _ Decision, _ *slog.Logger) (step, error) {
	most := *r.Max
	return step{
		name: at.name(), can: Accept | Reject, needs: needsLength,
		says: func(u *Subject) Decision {
			switch {
			case needsLength.missing(u) != "":
				return Pass
			case u.length() < most:
				return Accept
			}
			return Reject
		},
		why: func(u *Subject) string {
			if m := needsLength.missing(u); m != "" {
				return m
			}
			return fmt.Sprintf("%d bytes long, less than %d asked for", u.length(), most)
		},
	}, nil
}
