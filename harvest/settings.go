package harvest

import (
	"encoding/json"
	"strings"
	"time"
)

// Settings say how a job is crawled. Reference describes each: what it means, its unit, default and limits, and whether
// it may differ by URI (Sheet) or be changed while the crawl runs. The JSON names are stable. DefaultSettings holds
// the defaults; the zero value is not valid.
type Settings struct {
	// Which URIs belong to the crawl.
	Scope              ScopeMode `json:"scope"`
	SURTPrefixes       []string  `json:"surt_prefixes,omitempty"`
	MaxHops            int       `json:"max_hops"`
	MaxTransHops       int       `json:"max_trans_hops"`
	MaxSpeculativeHops int       `json:"max_speculative_hops"`
	MaxPathSegments    int       `json:"max_path_segments"`
	MaxRepetitions     int       `json:"max_repetitions"`
	Rules              []Rule    `json:"rules,omitempty"`
	RulesOnly          bool      `json:"rules_only"`
	Traps              []string  `json:"traps,omitempty"`
	TrapHeuristics     bool      `json:"trap_heuristics"`
	Canonicalization   []string  `json:"canonicalization"`

	// Queues and politeness.
	QueueBy         string   `json:"queue_by"`
	QueueName       string   `json:"queue_name,omitempty"`
	HostValence     int      `json:"host_valence"`
	DelayFactor     float64  `json:"delay_factor"`
	MinDelay        Duration `json:"min_delay"`
	MaxDelay        Duration `json:"max_delay"`
	MaxCrawlDelay   Duration `json:"max_crawl_delay"`
	MaxRetryAfter   Duration `json:"max_retry_after"`
	HostBandwidth   int64    `json:"host_bandwidth"`
	Bandwidth       int64    `json:"bandwidth"`
	MaxRetries      int      `json:"max_retries"`
	RetryDelay      Duration `json:"retry_delay"`
	CostPolicy      string   `json:"cost_policy"`
	SessionBudget   int64    `json:"session_budget"`
	TotalBudget     int64    `json:"total_budget"`
	Precedence      int      `json:"precedence"`
	MaxActiveQueues int      `json:"max_active_queues"`
	Workers         int      `json:"workers"`

	// Who asks, and what may be asked.
	UserAgent       string       `json:"user_agent"`
	OperatorContact string       `json:"operator_contact"`
	Operator        string       `json:"operator,omitempty"`
	Robots          RobotsPolicy `json:"robots"`
	RobotsName      string       `json:"robots_name,omitempty"`
	RobotsText      string       `json:"robots_text,omitempty"`
	RobotsPaths     []string     `json:"robots_paths,omitempty"`
	MetaRobots      string       `json:"meta_robots"`
	AllowPrivate    bool         `json:"allow_private"`

	// The way to the server.
	Nameserver      string       `json:"nameserver,omitempty"`
	MaxDNSTTL       Duration     `json:"max_dns_ttl"`
	Proxies         []Route      `json:"proxies,omitempty"`
	SourceAddresses []Route      `json:"source_addresses,omitempty"`
	HTTP2           string       `json:"http2"`
	Compression     bool         `json:"compression"`
	Headers         []string     `json:"headers,omitempty"`
	Cookies         bool         `json:"cookies"`
	FirstCookies    string       `json:"first_cookies,omitempty"`
	Credentials     []Credential `json:"credentials,omitempty"`
	FetchTimeout    Duration     `json:"fetch_timeout"`
	IdleTimeout     Duration     `json:"idle_timeout"`

	// How much.
	MaxObjects           int64    `json:"max_objects"`
	MaxBytes             int64    `json:"max_bytes"`
	MaxTime              Duration `json:"max_time"`
	MaxDomainObjects     int64    `json:"max_domain_objects"`
	MaxDomainBytes       int64    `json:"max_domain_bytes"`
	HarvestDomainObjects int64    `json:"harvest_domain_objects"`
	HarvestDomainBytes   int64    `json:"harvest_domain_bytes"`
	MaxDocumentBytes     int64    `json:"max_document_bytes"`
	MinFreeDisk          int64    `json:"min_free_disk"`

	// What is kept of what came.
	MidFetchRules    []Rule   `json:"mid_fetch_rules,omitempty"`
	RecordRules      []Rule   `json:"record_rules,omitempty"`
	KeepTypes        []string `json:"keep_types,omitempty"`
	DiscardTypes     []string `json:"discard_types,omitempty"`
	DiscardIf        string   `json:"discard_if,omitempty"`
	Extractors       []string `json:"extractors"`
	MaxLinks         int      `json:"max_links"`
	Deduplicate      string   `json:"deduplicate"`
	DeduplicateTypes []string `json:"deduplicate_types"`
	Conditional      bool     `json:"conditional"`
	Incremental      bool     `json:"incremental"`

	// Pages loaded in a browser.
	BrowserRules      []Rule   `json:"browser_rules,omitempty"`
	BrowserTime       Duration `json:"browser_time"`
	BrowserQuiet      Duration `json:"browser_quiet"`
	BrowserMemory     int64    `json:"browser_memory"`
	BrowserScreenshot bool     `json:"browser_screenshot"`

	// The files.
	WARCBytes   int64 `json:"warc_bytes"`
	WARCLevel   int   `json:"warc_level"`
	WARCWriters int   `json:"warc_writers"`
	LogExtra    bool  `json:"log_extra"`

	// Other settings for some URIs.
	Sheets []Sheet `json:"sheets,omitempty"`
}

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

// Product is the name robots.txt knows this crawler by, unless the settings say otherwise.
const Product = "holdfast"

// Rule is one decide rule: it says Decision to the URIs it matches and nothing to the others. Of a sequence, the
// last that speaks decides. The rules, by name, are those of the crawl engine (doc/scope.md).
type Rule struct {
	Rule       string   `json:"rule"`                 // its name, as "surt_prefixed"
	Decision   string   `json:"decision,omitempty"`   // "accept" or "reject"; default: what the rule is for
	Values     []string `json:"values,omitempty"`     // prefixes, hosts, domains, expressions, types, schemes, codes: as the rule says
	Min        *int64   `json:"min,omitempty"`        // least number matched; nil: the rule's own
	Max        *int64   `json:"max,omitempty"`        // largest number matched or tolerated, as the rule says; nil: the rule's own
	Expression string   `json:"expression,omitempty"` // CEL, of the rule "expression"
	Comment    string   `json:"comment,omitempty"`    // why it is there
}

// Sheet is other settings for the URIs, and the times, that all its conditions hold for. Where several sheets set the
// same setting, the most specific wins: the longest SURT prefix, then the most conditions, then the later.
type Sheet struct {
	Name     string                     `json:"name"`
	Prefixes []string                   `json:"surt_prefixes,omitempty"` // any of these, as "http://(org,example,"
	Regex    string                     `json:"regex,omitempty"`         // found in the URI
	Ports    []int                      `json:"ports,omitempty"`
	Days     []string                   `json:"days,omitempty"`  // "mon" to "sun"
	From     string                     `json:"from,omitempty"`  // time of day, as "22:00"
	Until    string                     `json:"until,omitempty"` // time of day, not included; before From: of the next day
	Zone     string                     `json:"zone,omitempty"`  // IANA time zone; default UTC
	Settings map[string]json.RawMessage `json:"settings"`        // settings that may differ by URI
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

// DefaultSettings are the settings of a crawl for which nothing was said.
func DefaultSettings() Settings {
	return Settings{
		Scope: ScopeHost, MaxHops: 20, MaxTransHops: 2, MaxSpeculativeHops: 1, MaxPathSegments: 20, MaxRepetitions: 2, TrapHeuristics: true,
		Canonicalization: []string{"strip_userinfo", "strip_session_ids", "strip_session_cfids", "fixup_query"},
		QueueBy:          "host", HostValence: 1, DelayFactor: 5, MinDelay: Duration(3 * time.Second), MaxDelay: Duration(30 * time.Second),
		MaxCrawlDelay: Duration(5 * time.Minute), MaxRetryAfter: Duration(time.Hour), MaxRetries: 30, RetryDelay: Duration(15 * time.Minute),
		CostPolicy: "unit", SessionBudget: 3000, Precedence: 3, MaxActiveQueues: 20_000, Workers: 25,
		UserAgent: "Mozilla/5.0 (compatible; holdfast/1.0; +{contact})", Robots: RobotsObey, MetaRobots: "ignore",
		MaxDNSTTL: Duration(24 * time.Hour), HTTP2: "insisted", Compression: true, Cookies: true,
		FetchTimeout: Duration(20 * time.Minute), IdleTimeout: Duration(20 * time.Second),
		MaxDocumentBytes: 1_000_000_000, MinFreeDisk: 1_000_000_000,
		Extractors: ExtractorNames(), MaxLinks: 6000, Deduplicate: "none", DeduplicateTypes: []string{"!text/*"},
		BrowserTime: Duration(2 * time.Minute), BrowserQuiet: Duration(2 * time.Second), BrowserMemory: 1 << 30, BrowserScreenshot: true,
		WARCBytes: 1_000_000_000, WARCLevel: 2, WARCWriters: 1,
	}
}

// ExtractorNames are the kinds of documents that links are looked for in.
func ExtractorNames() []string {
	return []string{"http", "html", "css", "js", "json", "xml", "feed", "sitemap", "robots", "pdf", "svg", "m3u8", "dash", "office"}
}

// ParseSettings reads settings from JSON: what is not given has its default, an unknown key is
// refused with the nearest known one.
func ParseSettings(data []byte) (Settings, error) {
	s := DefaultSettings()
	if err := s.UnmarshalJSON(data); err != nil {
		return Settings{}, err
	}
	return s, nil
}

// ParseTemplate reads settings as ParseSettings does, from JSON of settings, or of a whole job that has them as "settings": as
// settings/job.json, and what is shown of a job.
func ParseTemplate(data []byte) (Settings, error) {
	var job struct {
		Settings json.RawMessage `json:"settings"`
	}
	if err := json.Unmarshal(data, &job); err == nil && len(job.Settings) > 0 {
		data = job.Settings
	}
	return ParseSettings(data)
}

// UnmarshalJSON reads the keys that are given and leaves the other settings as they are.
func (s *Settings) UnmarshalJSON(data []byte) error {
	type plain Settings
	p := plain(*s)
	if err := decodeStrict(data, "settings", &p); err != nil {
		return err
	}
	*s = Settings(p)
	return nil
}

// Agent is the User-Agent header's value.
func (s Settings) Agent() string {
	contact := s.OperatorContact
	if contact == "" {
		contact = "local-test"
	}
	return strings.ReplaceAll(s.UserAgent, "{contact}", contact)
}

// RobotsAgent is the name by which robots.txt speaks to this crawler: robots_name or else, as far as RFC 9309 allows, the product that
// user_agent names, in browsers' form the one that is "compatible". It is Product where that names none, or a browser.
func (s Settings) RobotsAgent() string {
	if s.RobotsName != "" {
		return s.RobotsName
	}
	agent := s.UserAgent
	if _, after, ok := strings.Cut(agent, "compatible;"); ok {
		agent = strings.TrimLeft(after, " ")
	}
	if name := agent[:productEnd(agent)]; name != "" && name != "Mozilla" {
		return name
	}
	return Product
}

// productEnd is how much of s is letters, dashes and underscores, of which RFC 9309 makes a crawler's name.
func productEnd(s string) int {
	for i := range len(s) {
		if c := s[i]; !(c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '_') {
			return i
		}
	}
	return len(s)
}

// From is the From header's value: the contact where that is an e-mail address, else "".
func (s Settings) From() string {
	if strings.Contains(s.OperatorContact, "@") && !strings.Contains(s.OperatorContact, "://") {
		return s.OperatorContact
	}
	return ""
}
