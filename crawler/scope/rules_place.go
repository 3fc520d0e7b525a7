package scope

import (
	"log/slog"
	"strconv"
	"strings"

	"holdfast/harvest"
)

func hostRules() []definition {
	return []definition{
		{name: "on_domains", opposite: "not_on_domains", decision: Accept,
			values: "domains, as example.org, URLs or SURT prefixes",
			help: "The host is one of these domains, or below one. A leading www. of a value is left " +
				"out.", build: onDomains},
		{name: "on_hosts", opposite: "not_on_hosts", decision: Accept,
			values: "hosts, as www.example.org or www.example.org:8080, URLs or SURT prefixes",
			help:   "The host, and port, is one of these.", build: onHosts},
		{name: "scheme_not_in_set", opposite: "scheme_in_set", decision: Reject, values: "schemes", optional: true,
			help: "The URI's scheme is not in the list. Default list: http, https, ftp, sftp, dns and " +
				"whois.", build: schemeNotInSet},
		{name: "ip_address_set", opposite: "not_ip_address_set", values: "addresses or ranges, as 192.0.2.0/24",
			help: "The address that the URI is, or would be, fetched from is one of these.", build: addressSet},
		{name: "class_key_matches_regex", opposite: "class_key_not_matches_regex", values: "expressions",
			help:  "The name of the URI's queue matches one of these expressions as a whole.",
			build: matching((*Subject).queue, "queue ", needsNothing)},
	}
}

func readHosts(values []string, of func(string) string) (hostSet, error) {
	set := make(hostSet, len(values))
	for _, v := range values {
		host, err := hostOf(v)
		if err != nil {
			return nil, given("values", strconv.Quote(v), "a host, URL or SURT prefix")
		}
		set[of(host)] = struct{}{}
	}
	return set, nil
}

func onDomains(r harvest.Rule) (test, error) {
	set, err := readHosts(r.Values, func(authority string) string {
		var p parts
		p.read("http://" + authority + "/")
		if len(p.host) > 4 && p.host[:4] == "www." {
			return p.host[4:]
		}
		return p.host
	})
	if err != nil {
		return test{}, err
	}
	return test{
		holds: func(u *Subject) bool { _, ok := set.onDomain(u.Host()); return ok },
		fact: func(u *Subject) string {
			if d, ok := set.onDomain(u.Host()); ok {
				return "host " + u.Host() + " is on domain " + d
			}
			return "host " + u.Host() + " is on none of " + count(len(set), "domain")
		},
	}, nil
}

func onHosts(r harvest.Rule) (test, error) {
	set, err := readHosts(r.Values, func(authority string) string { return authority })
	if err != nil {
		return test{}, err
	}
	return test{
		holds: func(u *Subject) bool { return set.onHost(u.Authority()) },
		fact: func(u *Subject) string {
			if set.onHost(u.Authority()) {
				return "host " + u.Authority() + " is listed"
			}
			return "host " + u.Authority() + " is not one of " + count(len(set), "host")
		},
	}, nil
}

func schemeNotInSet(r harvest.Rule) (test, error) {
	list := r.Values
	if len(list) == 0 {
		list = []string{"http", "https", "ftp", "sftp", "dns", "whois"}
	}
	set := make(map[string]struct{}, len(list))
	for _, s := range list {
		set[s] = struct{}{}
	}
	return test{
		holds: func(u *Subject) bool { _, ok := set[u.parts().scheme]; return !ok },
		fact: func(u *Subject) string {
			if _, ok := set[u.parts().scheme]; ok {
				return "scheme " + u.parts().scheme + " is in the set"
			}
			return "scheme " + u.parts().scheme + " is not in the set"
		},
	}, nil
}

func surtRules() []definition {
	const takes = "SURT prefixes, as http://(org,example, or URLs"
	return []definition{
		{name: "surt_prefixed", decision: Accept, values: takes + "; each may have + (accept) or - (reject) before it",
			special: signedPrefixes,
			help: "The URI's SURT form begins with one of these. Where several match, the last counts: its sign " +
				"decides, or else the rule's decision."},
		{name: "not_surt_prefixed", values: takes, help: "The URI's SURT form begins with none of these.",
			build: func(r harvest.Rule) (test, error) {
				t, err := prefixed(r, "", (*Subject).surtBytes)
				return t.not(), err
			}},
		{name: "via_surt_prefixed", opposite: "via_not_surt_prefixed", decision: Accept, values: takes,
			help:  "The SURT form of the URI that this one was found at begins with one of these.",
			build: func(r harvest.Rule) (test, error) { return prefixed(r, "via ", (*Subject).viaSURT) }},
	}
}

// not is the opposite test.
func (t test) not() test {
	holds := t.holds
	t.holds = func(u *Subject) bool { return !holds(u) }
	return t
}

func readPrefixes(values []string, whole bool) ([]string, error) {
	out := make([]string, len(values))
	for i, v := range values {
		p, err := harvest.ScopePrefix(v, whole)
		if err != nil {
			return nil, given("values", strconv.Quote(v), "a SURT prefix or a URL ("+err.Error()+")")
		}
		out[i] = p
	}
	return out, nil
}

func prefixed(r harvest.Rule, what string, surt func(*Subject) []byte) (test, error) {
	not := strings.Contains(r.Rule, "not_")
	list, err := readPrefixes(r.Values, (r.Decision == "reject") != not)
	if err != nil {
		return test{}, err
	}
	set := newPrefixSet(list)
	return test{
		holds: func(u *Subject) bool { return set.last(surt(u)) >= 0 },
		fact: func(u *Subject) string {
			if i := set.last(surt(u)); i >= 0 {
				return what + string(surt(u)) + " begins with " + list[i]
			}
			return what + string(surt(u)) + " begins with none of " + count(len(list), "prefix")
		},
	}, nil
}

func signedPrefixes(at place, r harvest.Rule, decision Decision, _ *slog.Logger) (step, error) {
	s, err := prefixStep(at.name(), r.Values, decision)
	if err != nil {
		return s, at.wrong("values", err.Error(), "SURT prefixes or URLs, each with or without + or -")
	}
	return s, nil
}

// prefixStep decides by the last prefix that matches: by its sign, or with decision if it has none.
func prefixStep(name string, values []string, decision Decision) (step, error) {
	list, words, can := make([]string, len(values)), make([]Decision, len(values)), Pass
	for i, v := range values {
		words[i] = decision
		if v != "" && (v[0] == '+' || v[0] == '-') {
			words[i] = map[byte]Decision{'+': Accept, '-': Reject}[v[0]]
			v = v[1:]
		}
		p, err := harvest.ScopePrefix(v, words[i] == Reject)
		if err != nil {
			return step{}, err
		}
		list[i], can = p, can|words[i]
	}
	set := newPrefixSet(list)
	return step{
		name: name, can: can, status: codeOutOfScope,
		says: func(u *Subject) Decision {
			if i := set.last(u.surtBytes()); i >= 0 {
				return words[i]
			}
			return Pass
		},
		why: func(u *Subject) string {
			if i := set.last(u.surtBytes()); i >= 0 {
				return u.SURT() + " begins with " + list[i]
			}
			return u.SURT() + " begins with none of " + count(len(list), "prefix")
		},
	}, nil
}

func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	if of[len(of)-1] == 'x' {
		return strconv.Itoa(n) + " " + of + "es"
	}
	return strconv.Itoa(n) + " " + of + "s"
}
