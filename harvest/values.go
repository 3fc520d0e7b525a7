package harvest

import "encoding/json"

// ScopeMode says which URIs, seen from the seeds, belong to a crawl.
type ScopeMode string

// The scopes, narrowest first.
const (
	ScopePath   ScopeMode = "path"   // below the folder of a seed's path, on its host and port
	ScopeHost   ScopeMode = "host"   // on a seed's host and port
	ScopeDomain ScopeMode = "domain" // on the registered domain of a seed, any subdomain
	ScopeAny    ScopeMode = "any"    // everywhere
)

// RobotsPolicy says what robots.txt means to a crawl.
type RobotsPolicy string

// The robots policies.
const (
	RobotsObey   RobotsPolicy = "obey"   // fetch, record and obey
	RobotsIgnore RobotsPolicy = "ignore" // do not fetch, do not obey
	RobotsCustom RobotsPolicy = "custom" // fetch and record, obey robots_text instead
	RobotsSome   RobotsPolicy = "some"   // fetch, record, and obey for the paths of robots_paths alone
)

// CountBy says for which domain a document counts.
type CountBy string

// The domains that a document may count for.
const (
	CountBySeed CountBy = "seed" // that of the seed that led to it; found from several seeds, of the first
	CountByURL  CountBy = "url"  // that of its URL
)

// IsZero reports whether it need not be written: it is what was done before there was a choice.
func (c CountBy) IsZero() bool { return c == CountByURL }

// Product is the name robots.txt knows this crawler by, unless the settings say otherwise.
const Product = "holdfast"

// Rule is one decide rule: it makes its Decision about the URIs that it matches, and passes on the others. In a
// sequence, the last rule that does not pass decides. The rules, by name, are those of the crawl engine
// (doc/scope.md).
type Rule struct {
	Rule     string `json:"rule"`               // its name, as "surt_prefixed"
	Decision string `json:"decision,omitempty"` // "accept" or "reject"; default: the rule's usual decision
	// prefixes, hosts, domains, expressions, types, schemes, codes: as the rule says
	Values []string `json:"values,omitempty"`
	Min    *int64   `json:"min,omitempty"` // least number matched; nil: the rule's own
	// largest number matched or tolerated, as the rule says; nil: the rule's own
	Max        *int64 `json:"max,omitempty"`
	Expression string `json:"expression,omitempty"` // CEL, of the rule "expression"
	Comment    string `json:"comment,omitempty"`    // why it is there
}

// Sheet is other settings for the URIs, and the times, that all its conditions hold for. Where several sheets set the
// same setting, the most specific wins: the longest SURT prefix, then the most conditions, then the later.
type Sheet struct {
	Name     string   `json:"name"`
	Prefixes []string `json:"surt_prefixes,omitempty"` // any of these, as "http://(org,example,"
	Regex    string   `json:"regex,omitempty"`         // found in the URI
	Ports    []int    `json:"ports,omitempty"`
	Days     []string `json:"days,omitempty"` // "mon" to "sun"
	From     string   `json:"from,omitempty"` // time of day, as "22:00"
	// time of day, not included; before From: of the next day
	Until    string                     `json:"until,omitempty"`
	Zone     string                     `json:"zone,omitempty"` // IANA time zone; default UTC
	Settings map[string]json.RawMessage `json:"settings"`       // settings that may differ by URI
}

// Window is a time at which something holds, each week again. An empty one is all the time.
type Window struct {
	Days []string `json:"days,omitempty"` // "mon" to "sun"
	From string   `json:"from,omitempty"` // time of day, as "22:00"
	// time of day, not included; before From: of the next day
	Until string `json:"until,omitempty"`
	Zone  string `json:"zone,omitempty"` // IANA time zone; default UTC
}

// Credential lets the crawl in where a login is asked for. Secrets appear in no log, record or report.
type Credential struct {
	Domain   string            `json:"domain"`             // host, or domain with its subdomains
	Kind     string            `json:"kind"`               // "basic", "digest" or "form"
	Realm    string            `json:"realm,omitempty"`    // basic and digest: for this realm alone
	User     string            `json:"user,omitempty"`     // basic and digest
	Password string            `json:"password,omitempty"` // basic and digest
	URL      string            `json:"url,omitempty"`      // form: where to send it, before anything else of the domain
	Method   string            `json:"method,omitempty"`   // form: POST (default) or GET
	Fields   map[string]string `json:"fields,omitempty"`   // form: what to send
}

// Route is a way to some hosts: through a proxy, or from an address of this machine.
type Route struct {
	Hosts []string `json:"hosts"` // patterns with *, as "*.example.org"; "*" is all
	Via   string   `json:"via"`   // proxy: http://host:port or socks5://host:port; source: an IP address; "direct"
}
